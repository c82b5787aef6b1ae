"""The driver of matches: whose answer is whose, what a batch is, whose time is whose, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyspiel
import pytest
from clocks import Clock
from drivers import answered
from fake_game import EXAMPLE, score
from numpy.typing import NDArray

from athenan_spiel.errors import EvaluatorError
from athenan_spiel.evaluators.base import Evaluator
from athenan_spiel.play import driver
from athenan_spiel.play.driver import Driver, Stopwatch
from athenan_spiel.play.self_play import Round, SelfPlayGame, Thinking, self_play
from athenan_spiel.search import Budget, Descent, drive
from athenan_spiel.search.choice import best
from athenan_spiel.search.node import Node
from athenan_spiel.search.walk import Requests

GAME = pyspiel.load_game("tic_tac_toe")
STATES = [GAME.new_initial_state().child(action) for action in range(9)]


@dataclass
class Asks:
    """A match that asks about these many states, one request after another, and returns what it was sent."""

    counts: Sequence[int]
    evaluator: Evaluator
    works: Callable[[], None] = lambda: None
    watch: Stopwatch | None = None
    requests: Requests[list[list[float]]] = field(init=False)

    def __post_init__(self) -> None:
        self.requests = self._requests()

    def _requests(self) -> Requests[list[list[float]]]:
        sent = []
        for count in self.counts:
            self.works()
            sent.append((yield STATES[:count]).values)
        return sent


@dataclass
class Numbers:
    """Values states by their numbers from `first` on, and keeps the sizes of its batches."""

    first: float = 0.0
    sizes: list[int] = field(default_factory=list)

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        self.sizes.append(len(states))
        return self.first + np.arange(len(states))


def finish(matches: Driver[Any]) -> list[Any]:
    while matches.advance():
        pass
    return [result for _, result in matches.take_all()]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(drive, "time", clock)
    monkeypatch.setattr(driver, "time", clock)
    return clock


# Whose answer is whose


def test_each_match_is_sent_its_part_of_a_batch() -> None:
    """Matches 0 and 2 are one group, match 1 the other."""
    evaluator = Numbers()
    matches = Driver([Asks([2, 1], evaluator), Asks([3], evaluator), Asks([1], evaluator)])
    assert finish(matches) == [[[0, 1], [0]], [[0, 1, 2]], [[2]]]
    assert evaluator.sizes == [3, 3, 1]
    assert matches.evaluations == 7


def test_two_evaluators_are_two_batches() -> None:
    one, other = Numbers(), Numbers(100)
    matches = Driver([Asks([n], e) for n, e in [(2, one), (9, one), (3, other), (9, other), (4, one)]])
    answers = finish(matches)
    assert (answers[0], answers[2], answers[4]) == ([[0, 1]], [[100, 101, 102]], [[2, 3, 4, 5]])
    assert (one.sizes, other.sizes) == ([6, 9], [3, 9])


def test_an_empty_question_is_sent_an_empty_answer() -> None:
    evaluator = Numbers()
    assert finish(Driver([Asks([0, 2, 0], evaluator), Asks([], evaluator)])) == [[[], [0, 1], []], []]
    assert evaluator.sizes == [2]


def test_what_has_ended_is_told_once() -> None:
    matches = Driver([Asks([1, 1], Numbers()), Asks([], Numbers())])
    assert (matches.alive, matches.take_all()) == (1, [(1, [])])
    assert matches.advance()
    assert not matches.advance()
    assert (matches.alive, matches.take_all(), matches.take_all()) == (0, [(0, [[0], [0]])], [])


# Whose time is whose


def test_the_times_of_all_matches_add_up_to_the_drivers(clock: Clock) -> None:
    """Game 0 works 5 seconds before each of its requests, game 2 one; both wait for batches of 4 and 1 states."""

    def answers(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        clock.now += 8.0
        return np.zeros(len(states))

    def works(seconds: float) -> Callable[[], None]:
        return lambda: clock.__setattr__("now", clock.now + seconds)

    begun = clock.now
    slow, quick = Stopwatch(), Stopwatch()
    finish(Driver([Asks([3, 1], answers, works(5), slow), Asks([], answers), Asks([1], answers, works(1), quick)]))
    for watch in (slow, quick):
        watch.go()
    assert (slow(), quick()) == (5 + 8 * 3 / 4 + 5 + 8, 1 + 8 * 1 / 4)
    assert clock.now - begun == slow() + quick()


class Slow(Descent):
    """Each iteration takes a quarter of a second; which trees it was asked to grow is kept."""

    clock: Clock
    log: list[int]

    def iteration(self, tree: Any, state: Any, rng: Any, root: Any = None) -> Requests[Node]:
        self.log.append(id(tree))
        node = yield from super().iteration(tree, state, rng, root)
        self.clock.now += 0.25
        return node


def slow_search(clock: Clock) -> Slow:
    search = Slow(EXAMPLE, outcome=score, key=str, completion=False)
    search.clock, search.log = clock, []
    return search


def known(match: SelfPlayGame) -> tuple[Any, ...]:
    nodes = {key: (node.values, node.visits) for key, node in match.tree.table.items()}
    return match.history, match.iterations, match.evaluations, nodes


def nothing(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
    return np.zeros(len(states))


def test_a_match_whose_line_is_exhausted_takes_nobodys_seconds(clock: Clock) -> None:
    """Without completion Descent goes down an exhausted line until its seconds end, and asks nothing there."""
    budget = Budget(seconds=5.0)
    seeds = range(4)
    alone = [
        known(answered(self_play(EXAMPLE, Thinking(slow_search(clock), budget), best, seed), nothing)[0])
        for seed in seeds
    ]
    history, iterations, evaluations, _ = alone[0]
    assert iterations == 20 * len(history)
    assert evaluations < 9, "there are no more states than eight to be asked about"
    together = Round(EXAMPLE, slow_search(clock), nothing, best, budget, seeds)
    while together.advance():
        pass
    assert [known(match) for match in together.matches()] == alone


def test_a_match_that_asks_nothing_lets_the_others_go_on_after_each_iteration(clock: Clock) -> None:
    search = slow_search(clock)
    matches = Round(EXAMPLE, search, nothing, best, Budget(seconds=9.0), range(4))
    while matches.advance():
        pass
    first, third = search.log[0], next(tree for tree in search.log[1:] if tree != search.log[0])
    mine = [tree for tree in search.log if tree in (first, third)]
    assert len(mine) >= 2 * 36, "a quarter of a second each"
    runs = [mine[i] == mine[i + 1] for i in range(len(mine) - 1)]
    assert sum(runs) <= 4, "the two of a group take turns, but where one has ended its move"


# What goes wrong


class Fails:
    """Fails where a batch has more than `most` states."""

    def __init__(self, most: int, error: Exception) -> None:
        self.most, self.error = most, error

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        if len(states) > self.most:
            raise self.error
        return np.zeros(len(states))


class FailsAtOnce(Fails):
    """Fails as it is asked, and not where it is waited for."""

    def submit(self, states: Sequence[pyspiel.State]) -> Any:
        return self(states)


class Hears(Asks):
    """Returns the error that it hears of."""

    def _requests(self) -> Any:
        try:
            yield STATES[: self.counts[0]]
        except KeyError as error:
            return error


@pytest.mark.parametrize("kind", [Fails, FailsAtOnce])
def test_an_error_in_a_batch_is_raised_in_each_of_its_matches(kind: type[Fails]) -> None:
    error = KeyError("weights")
    failing, well = kind(1, error), Numbers()
    matches = Driver([Hears([1], failing), Asks([1], well), Hears([1], failing), Asks([9], well), Asks([2], well)])
    assert finish(matches) == [error, [[0]], error, [[*range(1, 10)]], [[0, 1]]]


@pytest.mark.parametrize("kind", [Fails, FailsAtOnce])
def test_memory_that_runs_out_is_no_answer(kind: type[Fails]) -> None:
    with pytest.raises(MemoryError):
        finish(Driver([Hears([1], kind(0, MemoryError()))]))


def test_bad_values_are_an_error_of_the_batch() -> None:
    with pytest.raises(EvaluatorError, match=r"one value for each of 2 states, got shape \(3,\)"):
        finish(Driver([Asks([2], lambda states: np.zeros(len(states) + 1))]))
