"""A round of self-play is its matches played one at a time, whatever evaluates them and in whatever order."""

from __future__ import annotations

import itertools
import random
import time
import zlib
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pyspiel
import pytest
from drivers import answered
from fake_game import EXAMPLE, FakeGame, Recorder, first, score
from numpy.typing import NDArray

from athenan_spiel.encoding import Encoder
from athenan_spiel.encoding.compact import ObservationStore
from athenan_spiel.errors import EvaluatorError
from athenan_spiel.evaluators import Evaluation, Evaluator
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import is_chance
from athenan_spiel.learning.targets import tree_targets
from athenan_spiel.outcomes import Score, make_outcome
from athenan_spiel.outcomes.rows import gain_of
from athenan_spiel.play.self_play import Round, SelfPlayGame, Thinking, self_play
from athenan_spiel.search import MCTS, UBFM, AlphaBeta, AlphaZeroMCTS, Budget, Descent, Search
from athenan_spiel.search.choice import best, completed, ordinal, uniform_exploitation
from athenan_spiel.search.node import Node, kind_of

EXPLORING = completed(ordinal(uniform_exploitation))
BUDGET = Budget(iterations=6)
SHORT = Budget(iterations=1)
SEARCHES = pytest.mark.parametrize("kind", [Descent, UBFM])
SEEDS = [11, 5, 8, 2, 30]

# Players move twice in a row in the last three; a match of two of them is long.
GAMES = {
    "tic_tac_toe": BUDGET,
    "connect_four(rows=4,columns=4)": BUDGET,
    "dots_and_boxes": BUDGET,
    "ultimate_tic_tac_toe": SHORT,
    "amazons(board_size=6)": SHORT,
}


def guess(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
    """A value for each state that looks random, and depends on the state alone."""
    return np.array([zlib.crc32(str(state).encode()) / 2**31 - 1 for state in states])


def make_search(kind: type[Search], spec: str) -> Search:
    game = pyspiel.load_game(spec)
    return kind(game, outcome=make_outcome("additive_depth", game, random.Random(0)))


def finish(matches: Round) -> list[SelfPlayGame]:
    while matches.advance():
        pass
    return matches.matches()


def play_round(
    search: Search, evaluator: Evaluator, seeds: Sequence[int], budget: Budget = BUDGET, **options: Any
) -> list[SelfPlayGame]:
    return finish(Round(search.game, search, evaluator, EXPLORING, budget, seeds, **options))


def play_alone(search: Search, seed: int, budget: Budget = BUDGET) -> SelfPlayGame:
    """One match, its requests answered as they come."""
    return answered(self_play(search.game, Thinking(search, budget), EXPLORING, seed), guess)[0]


def everything(match: SelfPlayGame) -> tuple[Any, ...]:
    """All that can be known of a match; floats are compared to the last bit."""
    return (
        (match.seed, match.history, match.returns, match.values, match.iterations, match.evaluations),
        [(key, node_contents(node)) for key, node in match.tree.table.items()],
    )


def node_contents(node: Node) -> tuple[Any, ...]:
    arcs = (node.actions.tolist(), node.values, node.completions.tolist(), bytes(node.resolutions), node.visits)
    return (*arcs, node.kind, node.value, node.completion, node.resolved)


# The same matches


@SEARCHES
@pytest.mark.parametrize("most", [1, 2, 4])
def test_dropped_matches_leave_the_others_as_they_are(kind: type[Search], most: int) -> None:
    search = make_search(kind, "connect_four(rows=4,columns=4)")
    alone = [everything(play_alone(search, seed)) for seed in SEEDS]
    matches = Round(search.game, search, guess, EXPLORING, BUDGET, SEEDS)
    for _ in range(5):
        matches.advance()
    assert matches.reduce(search, BUDGET, most) == SEEDS[most:]
    assert matches.alive == most
    assert matches.reduce(search, BUDGET, 5) == []
    assert [everything(match) for match in finish(matches)] == alone[:most]


def test_a_smaller_budget_applies_to_the_moves_in_progress() -> None:
    search = make_search(Descent, "connect_four")
    matches = Round(search.game, search, guess, EXPLORING, Budget(iterations=10**6), SEEDS[:2])
    for _ in range(200):
        matches.advance()
    assert matches.alive == 2, "the first move takes for ever"
    matches.reduce(search, SHORT, 2)
    assert len(finish(matches)) == 2


@SEARCHES
@pytest.mark.parametrize("spec", GAMES)
def test_matches_of_a_round_are_those_played_one_at_a_time(kind: type[Search], spec: str) -> None:
    search = make_search(kind, spec)
    budget = GAMES[spec]
    alone = [everything(play_alone(search, seed, budget)) for seed in SEEDS]
    for matches_at_once in range(1, 6) if budget is BUDGET else (1, 5):
        together = play_round(search, guess, SEEDS[:matches_at_once], budget)
        assert [everything(match) for match in together] == alone[:matches_at_once]


@pytest.mark.parametrize("most", [1, 4])
def test_a_match_begins_with_random_actions(most: int) -> None:
    search = make_search(Descent, "tic_tac_toe")
    first: set[tuple[int, ...]] = set()
    for seed in range(60):
        match = answered(self_play(search.game, Thinking(search, BUDGET), EXPLORING, seed, opening_plies=most), guess)[
            0
        ]
        opening = len(match.history) + 1 - len(match.values)
        first.add(tuple(match.history[:opening]))
        assert 0 <= opening <= most
        assert [len(state.history()) for state in match.states] == [*range(opening, len(match.history) + 1)]
        root = match.states[0]
        assert search.key(root) in match.tree.table, "the first thought is about the state behind them"
        assert not opening or search.key(search.game.new_initial_state()) not in match.tree.table
    assert {len(opening) for opening in first} == {*range(most + 1)}
    assert len([opening for opening in first if len(opening) == 1]) > 4, "any action"


def test_random_actions_that_end_the_match_are_none() -> None:
    """Of Tic-Tac-Toe at 20 random actions: no match is so long."""
    search = make_search(Descent, "tic_tac_toe")
    for seed in range(20):
        match = answered(self_play(search.game, Thinking(search, BUDGET), EXPLORING, seed, opening_plies=20), guess)[0]
        assert len(match.values) > 1, "something is left to think about"


@pytest.mark.parametrize("spec", ["tic_tac_toe", "dots_and_boxes"])
@pytest.mark.parametrize(
    ("kind", "options", "budget"),
    [
        (AlphaBeta, {}, Budget(iterations=2)),
        (AlphaBeta, {"completion": False}, Budget(evaluations=40)),
        (MCTS, {}, BUDGET),
        (MCTS, {"virtual_loss_batch": 3}, BUDGET),
        (MCTS, {"rollouts": True}, BUDGET),
        (MCTS, {"rollouts": True}, Budget(evaluations=8)),
    ],
)
def test_rounds_of_the_other_searches(kind: type[Search], options: dict[str, Any], budget: Budget, spec: str) -> None:
    """Two or three matches at once are those played alone, and each state of a tree is stored once."""
    game = pyspiel.load_game(spec)
    search = kind(game, outcome=make_outcome("additive_depth", game, random.Random(0)), **options)
    alone = [everything(play_alone(search, seed, budget)) for seed in SEEDS[:3]]
    encoder = Encoder(game)
    for count in (2, 3):
        together = play_round(search, guess, SEEDS[:count], budget, new_store=lambda seed: ObservationStore(encoder))
        for match, expected in zip(together, alone, strict=False):
            indices = [node.observation for node in match.tree.nodes] + [i for i, _ in match.tree.terminals]
            assert sorted(indices) == list(range(len(indices)))
            for node in match.tree.nodes:
                node.observation = -1
            assert everything(match) == expected
    assert (alone[0][0][-1] == 0) == bool(options.get("rollouts")), "rollouts ask nothing"


def test_a_round_that_asks_nothing_goes_on_a_move_at_a_time() -> None:
    """So that it can be broken off between two moves, as any other."""
    search = MCTS(pyspiel.load_game("tic_tac_toe"), rollouts=True)
    matches = Round(search.game, search, guess, EXPLORING, BUDGET, SEEDS[:2])
    steps = 0
    while matches.advance():
        steps += 1
    assert steps >= 8
    assert (matches.alive, matches.evaluations) == (0, 0)
    assert all(match.history for match in matches.matches())


@pytest.mark.parametrize("budget", [Budget(evaluations=25), Budget(iterations=4, evaluations=10)], ids=repr)
def test_other_budgets_that_can_be_repeated(budget: Budget) -> None:
    search = make_search(Descent, "tic_tac_toe")
    matches = finish(Round(search.game, search, guess, EXPLORING, budget, SEEDS))
    assert [everything(match) for match in matches] == [everything(play_alone(search, seed, budget)) for seed in SEEDS]


def test_seeds_make_the_match() -> None:
    search = make_search(Descent, "connect_four(rows=4,columns=4)")
    one, same, other = play_round(search, guess, [4, 4, 5])
    assert everything(one) == everything(same)
    assert one.history != other.history


class LateEvaluator:
    """Answers from threads, every second request long before the one asked ahead of it."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(4)
        self._unanswered = 0
        self.asked = 0
        self.most_unanswered = 0
        self.order: list[int] = []

    def submit(self, states: Sequence[pyspiel.State]) -> Future[NDArray[np.float64]]:
        number = self.asked
        self.asked += 1
        self.most_unanswered = max(self.most_unanswered, self.asked - len(self.order))
        return self._pool.submit(self._answer, number, list(states))

    def _answer(self, number: int, states: list[pyspiel.State]) -> NDArray[np.float64]:
        if number % 2 == 0:
            time.sleep(0.002)
        self.order.append(number)
        return guess(states)

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        raise AssertionError("an evaluator that can answer later is not waited for")


@SEARCHES
@pytest.mark.parametrize("matches_at_once", [1, 2, 5])
def test_late_answers_change_nothing(kind: type[Search], matches_at_once: int) -> None:
    search = make_search(kind, "tic_tac_toe")
    seeds = SEEDS[:matches_at_once]
    evaluator = LateEvaluator()
    late = play_round(search, evaluator, seeds)
    assert [everything(match) for match in late] == [everything(match) for match in play_round(search, guess, seeds)]
    if matches_at_once == 1:
        assert evaluator.most_unanswered == 1
    else:
        assert evaluator.order != sorted(evaluator.order), "answers came out of order"
        assert evaluator.most_unanswered == 2, "one group's trees grow while the other's values are computed"


def test_questions_of_a_group_are_merged() -> None:
    """Five matches stand in groups of three and two: the first requests ask for their roots' children together."""
    sizes: list[int] = []

    def evaluator(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        sizes.append(len(states))
        return guess(states)

    search = make_search(Descent, "tic_tac_toe")
    matches = play_round(search, evaluator, SEEDS)
    assert sizes[:4] == [3 * 9, 2 * 9, 3 * 8, 2 * 8]
    assert sum(sizes) == sum(match.evaluations for match in matches)


def test_a_round_tells_how_far_it_is() -> None:
    search = make_search(UBFM, "tic_tac_toe")
    matches = Round(search.game, search, guess, EXPLORING, BUDGET, SEEDS)
    assert (matches.alive, matches.matches(), matches.evaluations) == (5, [], 0)
    seen = [matches.alive]
    while matches.advance():
        seen.append(matches.alive)
        ended = [match.seed for match in matches.matches()]
        assert ended == [seed for seed in SEEDS if seed in ended], "in the order of the seeds"
        assert len(ended) == 5 - matches.alive
    assert seen == sorted(seen, reverse=True)
    assert matches.alive == 0
    assert [match.seed for match in matches.matches()] == SEEDS
    assert matches.evaluations == sum(match.evaluations for match in matches.matches())
    assert not matches.advance(), "nothing is left to do"


# Legality


@SEARCHES
@pytest.mark.parametrize("spec", GAMES)
def test_matches_are_played_by_the_rules(kind: type[Search], spec: str) -> None:
    search = make_search(kind, spec)
    for match in play_round(search, guess, SEEDS[:3], GAMES[spec]):
        state = search.game.new_initial_state()
        movers = []
        for action in match.history:
            node = match.tree.table[search.key(state)]
            assert action in state.legal_actions()
            assert list(node.actions) == state.legal_actions()
            assert node.kind is kind_of(state)
            movers.append(state.current_player())
            state.apply_action(action)
        assert state.is_terminal()
        assert match.returns == state.returns()
        twice = any(one == other for one, other in itertools.pairwise(movers))
        assert twice == (spec not in ("tic_tac_toe", "connect_four(rows=4,columns=4)"))


# What a match leaves to be learned


class KeyStore:
    """A store that keeps what tells its states apart: keys, and for ends the observation and the worth."""

    leaves = False

    def __init__(self, search: Search) -> None:
        self.search = search
        self.keys: list[Hashable] = []

    def identity(self, state: pyspiel.State) -> Hashable:
        if state.is_terminal():
            return tuple(state.observation_tensor(0)), self.search.outcome(state)
        return self.search.key(state)

    def append(self, state: pyspiel.State) -> int:
        self.keys.append(self.identity(state))
        return len(self.keys) - 1


@SEARCHES
@pytest.mark.parametrize("spec", ["tic_tac_toe", "dots_and_boxes"])
def test_every_expanded_and_every_terminal_state_is_stored_once(kind: type[Search], spec: str) -> None:
    search = make_search(kind, spec)
    stores: list[KeyStore] = []

    def new_store(seed: int) -> KeyStore:
        stores.append(KeyStore(search))
        return stores[-1]

    matches = play_round(search, guess, SEEDS, new_store=new_store)
    assert [match.tree.store for match in matches] == stores
    for match, store in zip(matches, stores, strict=True):
        assert len(set(store.keys)) == len(store.keys)
        assert [store.keys[node.observation] for node in match.tree.nodes] == list(match.tree.table)
        terminals = {store.keys[index] for index, _ in match.tree.terminals}
        assert len(terminals) + len(match.tree.nodes) == len(store.keys)
        assert all(store.keys[index][1] == worth for index, worth in match.tree.terminals)  # type: ignore[index]
        state = search.game.new_initial_state()
        for action in match.history:
            state.apply_action(action)
        assert store.identity(state) in terminals, "the match's own end is among them"


@SEARCHES
@pytest.mark.parametrize("spec", ["tic_tac_toe", "dots_and_boxes"])
def test_a_match_keeps_its_states_with_their_values_when_each_action_was_decided(kind: type[Search], spec: str) -> None:
    """v(s) of Algorithm 4, whatever becomes of the tree's own values later."""
    search = make_search(kind, spec)
    decided: list[float] = []

    def decision(node: Node, rng: random.Random) -> int:
        decided.append(node.value)
        action = EXPLORING(node, rng)
        node.value = 99.0
        return action

    (match,) = finish(Round(search.game, search, guess, decision, BUDGET, SEEDS[:1]))
    assert [state.history() for state in match.states] == [match.history[:i] for i in range(len(match.history) + 1)]
    assert match.values == [*decided, search.outcome(match.states[-1])]
    assert len(set(decided)) > 1


@pytest.mark.parametrize("kind", [UBFM, AlphaZeroMCTS])
@pytest.mark.parametrize("spec", ["pig(players=2,winscore=8)", "pig(players=3,winscore=8)", "backgammon", "2048"])
def test_a_chance_state_has_the_value_of_the_state_after_it(kind: Any, spec: str) -> None:
    game, decided = load_game(spec), list[Any]()
    search = kind(game, outcome=Score() if spec == "2048" else gain_of(game))
    players = game.num_players()

    def evaluator(states: Sequence[pyspiel.State]) -> Evaluation:
        values = [[value] * players if players > 2 else value for value in guess(states).tolist()]
        counts = [len(state.legal_actions()) for state in states]
        return Evaluation(values, [[1 / n] * n for n in counts] if kind is AlphaZeroMCTS else None)

    def decision(node: Node, rng: random.Random) -> int:
        decided.append(node.value)
        return rng.randrange(len(node.actions))

    (match,) = finish(Round(game, search, evaluator, decision, Budget(iterations=3), SEEDS[:1]))
    states, values, policies = list(match.states), match.values, match.policies
    assert (states[-1].is_terminal(), values[-1]) == (True, search.outcome(states[-1]))
    first = states[0].move_number()
    assert [state.history() for state in states] == [match.history[: first + i] for i in range(len(states))]
    searched = [i for i, state in enumerate(states[:-1]) if not is_chance(state)]
    assert [values[i] for i in searched] == decided
    assert len(searched) < len(states) - 1
    for i, state in enumerate(states[:-1]):
        assert not is_chance(state) or values[i] == values[i + 1]
        if policies:
            assert list(policies[i][0]) == ([] if is_chance(state) else state.legal_actions())
    assert len(policies) == (len(states) - 1 if kind is AlphaZeroMCTS else 0)


@SEARCHES
@pytest.mark.parametrize("spec", ["tic_tac_toe", "dots_and_boxes"])
def test_values_at_the_end_of_a_match_are_those_of_each_states_last_visit(kind: type[Search], spec: str) -> None:
    """Clause 4 holds of every node; the match's own states stay as their searches left them (Algorithm 3)."""
    search = make_search(kind, spec)
    for match in play_round(search, guess, SEEDS):
        for node in match.tree.nodes:
            best_arc = node.kind.best
            assert (node.completion, node.value) == best_arc(zip(node.completions, node.values, strict=True))
            assert node.resolved == (node.completion != 0 or all(node.resolutions))


class HistoryEncoder:
    """Stands for an `Encoder`: the history, padded."""

    size = 9

    def encode_into(self, state: pyspiel.State, row: NDArray[np.float32]) -> None:
        row[:] = [*state.history(), *[-1] * (9 - state.move_number())]


def test_targets_are_the_values_of_the_tree() -> None:
    search = make_search(Descent, "tic_tac_toe")
    for match in play_round(search, guess, SEEDS[:2], new_store=lambda seed: ObservationStore(HistoryEncoder())):  # type: ignore[arg-type]
        targets = tree_targets(match.tree)
        rows = np.concatenate([pack.unpack() for pack in targets.rows])
        assert len(rows) == len(targets.labels.values) == len(match.tree.nodes) + len(match.tree.terminals)
        for row, value in zip(rows, targets.labels.values, strict=True):
            state = search.game.new_initial_state()
            for action in row[row >= 0]:
                state.apply_action(int(action))
            worth = search.outcome(state) if state.is_terminal() else match.tree.table[search.key(state)].value
            assert value == np.float32(worth)


# What goes wrong, and what ends early


class BrokenError(Exception):
    pass


class FailingEvaluator:
    """Fails at the n-th request."""

    def __init__(self, requests: int) -> None:
        self.left = requests

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        self.left -= 1
        if self.left == 0:
            raise BrokenError
        return guess(states)


class FailingLater(FailingEvaluator):
    """Fails in its future."""

    def submit(self, states: Sequence[pyspiel.State]) -> Future[NDArray[np.float64]]:
        future: Future[NDArray[np.float64]] = Future()
        try:
            future.set_result(self(states))
        except BrokenError as failure:
            future.set_exception(failure)
        return future


@pytest.mark.parametrize("evaluator", [FailingEvaluator, FailingLater])
@pytest.mark.parametrize("asked", [1, 2, 3, 20])
def test_an_evaluators_error_ends_the_round(evaluator: type[FailingEvaluator], asked: int) -> None:
    search = make_search(Descent, "tic_tac_toe")
    failing = evaluator(asked)
    with pytest.raises(BrokenError):
        play_round(search, failing, SEEDS[:3])
    assert failing.left <= 0


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.zeros(n + 1), r"one value for each of 18 states, got shape \(19,\)"),
        (lambda n: np.full(n, np.nan), "finite values, got .*nan.* among 18"),
    ],
)
def test_bad_answers_are_refused(answer: Callable[[int], NDArray[np.float64]], message: str) -> None:
    search = make_search(Descent, "tic_tac_toe")
    matches = Round(search.game, search, lambda states: answer(len(states)), EXPLORING, BUDGET, SEEDS[:3])
    with pytest.raises(EvaluatorError, match=message):
        matches.advance()


@pytest.mark.parametrize(
    ("game", "history", "returns"),
    [
        pytest.param(FakeGame(-2), [], [-2, 2], id="over before it begins"),
        pytest.param(FakeGame(first(0, A=1)), [10], [1, -1], id="one action, and nothing to ask"),
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_matches_that_end_at_once(game: FakeGame, history: list[int], returns: list[float], count: int) -> None:
    search = Descent(game, outcome=score, key=str)
    matches = Round(game, search, FailingEvaluator(1), best, BUDGET, range(count))
    assert (matches.alive, matches.evaluations, matches.advance()) == (0, 0, False)
    for match in matches.matches():
        assert (match.history, match.returns, match.evaluations) == (history, returns, 0)
        assert (len(match.states), match.values[-1]) == (len(history) + 1, returns[0])


def test_a_round_of_no_match() -> None:
    search = make_search(Descent, "tic_tac_toe")
    matches = Round(search.game, search, guess, EXPLORING, BUDGET, [])
    assert (matches.alive, matches.advance(), matches.matches()) == (0, False, [])


def test_a_match_by_hand() -> None:
    """EXAMPLE by Descent, as in its trace: four iterations prove the draw, A and D lead to it, H's best is P.

    Nothing is left to think about on the way: A, D and H are proven already.
    """
    search = Descent(EXAMPLE, outcome=score, key=str)
    evaluator = Recorder()
    (match,) = finish(Round(EXAMPLE, search, evaluator, best, Budget(iterations=9), [0]))
    assert evaluator.asked == ["A B", "D E", "H", "K N", "M"]
    assert (match.history, match.returns) == ([10, 10, 11, 10], [0, 0])
    assert (match.iterations, match.evaluations) == (4, 8)
    assert [str(state) for state in match.states] == ["root", "A", "D", "H", "P"]
    assert match.values == [0, 0, 0, 0, 0]
    assert set(match.tree.table) == {"root", "A", "B", "D", "E", "H", "K", "N"}


def test_no_global_generator_is_touched() -> None:
    search = make_search(Descent, "tic_tac_toe")
    before = random.getstate(), repr(np.random.get_state())  # noqa: NPY002 (it is only looked at)
    play_round(search, lambda states: np.zeros(len(states)), SEEDS)
    assert before == (random.getstate(), repr(np.random.get_state()))  # noqa: NPY002
