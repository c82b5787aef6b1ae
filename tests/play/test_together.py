"""Matches between agents that are played side by side are those that are played one after the other."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest
from numpy.typing import NDArray

import agents
from athenan_spiel.errors import AgentError, EvaluatorError
from athenan_spiel.evaluators.base import Evaluator
from athenan_spiel.play import series as series_module
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.match import MatchResult, play_match
from athenan_spiel.play.openspiel_mcts import mcts_bot
from athenan_spiel.play.player import AskingPlayer, PerGamePlayer, Player, seed_of_game
from athenan_spiel.play.series import (
    Series,
    agents_of,
    is_timed,
    parts,
    play_series,
    play_single_player,
    seats_of,
    sides_by_agent,
)
from athenan_spiel.search import MCTS, UBFM, Budget, Descent

GAME = pyspiel.load_game("connect_four(rows=4,columns=4)")
FEW = Budget(iterations=5)


class Guess:
    """A value for each state that looks random, and depends on the state and `salt` alone."""

    def __init__(self, salt: str = "") -> None:
        self.salt = salt
        self.sizes: list[int] = []

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        self.sizes.append(len(states))
        return np.array([zlib.crc32(f"{self.salt}{state}".encode()) % 5 - 2.0 for state in states])


def agent(evaluator: Evaluator, seed: int, budget: Budget = FEW, kind: Callable[..., Any] = UBFM) -> Agent:
    return Agent(GAME, kind(GAME), evaluator, budget=budget, rng=random.Random(seed))


def sides(evaluator: Evaluator, other: Evaluator, **options: Any) -> list[Callable[[int], Player]]:
    return [lambda player: agent(evaluator, player, **options), lambda player: agent(other, 7 + player, **options)]


def histories(series: Series) -> list[tuple[int, ...]]:
    return [result.history for result in series.results]


@pytest.mark.parametrize("kind", [UBFM, Descent, MCTS])
@pytest.mark.parametrize("budget", [FEW, Budget(evaluations=30)])
def test_a_series_is_its_matches_played_alone(kind: Callable[..., Any], budget: Budget) -> None:
    contender, opponent = sides(Guess("a"), Guess("b"), kind=kind, budget=budget)
    series = play_series(GAME, contender, opponent, 12, seed=4)
    assert series.colours == (0, 1) * 6
    for i, result in enumerate(series.results):
        first, second = (contender(0), opponent(1)) if i % 2 == 0 else (opponent(0), contender(1))
        alone = play_match(GAME, [p.for_game(i // 2) for p in (first, second)], opening=result.opening)  # type: ignore[attr-defined]
        assert alone.history == result.history
    assert len(set(histories(series))) > 6


def test_the_questions_of_agents_with_one_evaluator_are_merged() -> None:
    """Eight matches are played at once, in two groups of four: those of one colour, where one agent moves first."""
    shared = Guess()
    play_series(GAME, *sides(shared, shared), 8, seed=4)
    assert shared.sizes[0] == 4 * 4
    a, b = Guess(), Guess()
    play_series(GAME, *sides(a, b), 8, seed=4)
    assert sum(a.sizes) + sum(b.sizes) == sum(shared.sizes)
    assert a.sizes[0] == b.sizes[0] == 4 * 4


def test_what_is_random_in_a_match_comes_from_its_number() -> None:
    """One opening, no value to go by: only chance tells the matches apart, and it does so again."""
    contender, opponent = sides(lambda states: np.zeros(len(states)), lambda states: np.zeros(len(states)))
    played = [histories(play_series(GAME, contender, opponent, 12, opening_plies=0)) for _ in range(2)]
    assert played[0] == played[1]
    assert len(set(played[0])) > 6
    assert histories(play_series(GAME, contender, opponent, 4, opening_plies=0)) == played[0][:4]


def test_the_first_match_is_played_by_the_agent_as_it_is() -> None:
    contender, opponent = sides(lambda states: np.zeros(len(states)), lambda states: np.zeros(len(states)))
    first, second = play_series(GAME, contender, opponent, 2, opening_plies=0).results
    assert play_match(GAME, [contender(0), opponent(1)]).history == first.history
    assert play_match(GAME, [opponent(0), contender(1)]).history == second.history


def test_an_agent_in_a_series_stays_as_it_was() -> None:
    players = [agent(Guess(), seed) for seed in range(2)]
    before = [player.rng.getstate() for player in players]
    play_series(GAME, lambda i: players[i], lambda i: players[i], 2)
    assert [player.rng.getstate() for player in players] == before
    assert all(player.result is None for player in players)


def test_players_without_one_for_each_match_play_in_turn() -> None:
    class Counts(pyspiel.Bot):  # type: ignore[misc]
        begun = 0

        def restart_at(self, state: pyspiel.State) -> None:
            self.begun += 1

        def step(self, state: pyspiel.State) -> int:
            assert self.begun == at[0]
            return int(state.legal_actions()[0])

        def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
            pass

    at = [1]
    evaluator = Guess()

    def on_match(series: Series) -> None:
        at[0] = 1 + len(series.results) // 2

    series = play_series(GAME, lambda player: agent(evaluator, 0), lambda player: Counts(), 8, on_match=on_match)
    assert len(series.results) == 8
    assert max(evaluator.sizes) <= 4, "one match at a time"


@pytest.mark.parametrize(
    "make", [lambda seed: mcts_bot(GAME, 5, seed), lambda seed: agents.make_bot("random", GAME, 0, seed)]
)
def test_bots_with_a_seed_have_one_for_each_match(make: Callable[[int], Any]) -> None:
    def drawn(bot: pyspiel.Bot) -> list[int]:
        return [bot.step(GAME.new_initial_state()) for _ in range(40)]

    bot = make(3)
    assert isinstance(bot, PerGamePlayer)
    assert drawn(bot.for_game(0)) == drawn(make(3))
    assert drawn(bot.for_game(1)) == drawn(bot.for_game(1)) == drawn(make(seed_of_game(3, 1)))
    assert drawn(bot.for_game(1)) != drawn(bot.for_game(2))
    assert drawn(bot.for_game(1)) != drawn(make(4).for_game(1))


def test_an_athenan_bot_asks_as_its_agent_does() -> None:
    bot = agents.AthenanBot(agent(Guess(), 5))
    assert isinstance(bot, AskingPlayer)
    assert isinstance(bot, PerGamePlayer)
    assert (bot.budget, bot.evaluator) == (bot.agent.budget, bot.agent.evaluator)
    played = [histories(play_series(GAME, *[make] * 2, 4)) for make in (lambda _: bot, lambda _: bot.agent)]
    assert played[0] == played[1]


# How many at once


@pytest.mark.parametrize(
    ("matches", "budget", "sizes"),
    [
        (2, FEW, [2]),
        (20, FEW, [8, 8, 4]),
        (100, FEW, [13] * 7 + [9]),
        (1000, FEW, [32] * 31 + [8]),
        (12, Budget(iterations=5000), [4, 4, 4]),
        (4, Budget(iterations=50000), [1, 1, 1, 1]),
        (4, Budget(iterations=5, evaluations=10000), [2, 2]),
        (4, Budget(seconds=1.0), [1, 1, 1, 1]),
        (4, Budget(seconds=1.0, iterations=5), [1, 1, 1, 1]),
    ],
)
def test_parts(matches: int, budget: Budget, sizes: list[int]) -> None:
    """By what is known before the first match, so that batches are the same each time; trees do not fill the memory."""
    contender, opponent = sides(Guess(), Guess(), budget=budget)
    players = series_module.sides_of(contender, opponent)
    planned = series_module.fixtures(GAME, matches, 4, 0)
    found = parts(players, planned)
    assert [len(part) for part in found] == sizes
    assert [fixture for part in found for fixture in part] == planned
    assert is_timed(players) == (budget.seconds is not None)


def test_agents_that_ask_nobody_gain_nothing_side_by_side() -> None:
    bots = [[mcts_bot(GAME, 5, 0), mcts_bot(GAME, 5, 1)]] * 2
    assert len(parts(bots, series_module.fixtures(GAME, 4, 2, 0))) == 4


# What goes wrong


class Fussy(Guess):
    """Fails of any batch with a state that has a stone in the last column."""

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        if any(3 in state.history() for state in states):
            raise ValueError("the last column")
        return super().__call__(states)


def test_an_evaluator_that_fails_costs_its_agent_those_matches_alone() -> None:
    """The same ones as if each were played by itself."""

    def played(count: int) -> list[MatchResult]:
        contender = lambda player: agent(Fussy(), player, Budget(iterations=1))  # noqa: E731
        opponent = lambda player: agents.make_bot("random", GAME, player, 3)  # noqa: E731
        players = series_module.sides_of(contender, opponent)
        planned = series_module.fixtures(GAME, 16, 2, 1)
        results: dict[int, MatchResult] = {}
        for start in range(0, 16, count):
            series_module.play_together(
                GAME,
                players,
                planned[start : start + count],
                lambda fixture, result: results.__setitem__(fixture.index, result),
                forfeits=True,
            )
        return [results[i] for i in range(16)]

    alone, together = played(1), played(16)
    assert [(r.history, r.forfeit, r.returns) for r in alone] == [(r.history, r.forfeit, r.returns) for r in together]
    forfeits = [result.forfeit for result in alone]
    assert any(forfeits)
    for index, forfeit in enumerate(forfeits):
        if forfeit is not None:
            assert (forfeit.player_id, forfeit.reason) == (index % 2, "ValueError: the last column")


def test_without_forfeits_an_evaluators_error_comes_out() -> None:
    with pytest.raises(EvaluatorError, match="one value for each of 4 states"):
        play_series(GAME, *sides(lambda states: np.zeros(7), Guess()), 4, opening_plies=0)


def test_an_error_takes_no_match_with_it_that_had_ended() -> None:
    told: list[Series] = []

    class Late(Guess):
        def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
            if told:
                raise ValueError("late")
            return super().__call__(states)

    with pytest.raises(ValueError, match="late"):
        play_series(GAME, *sides(Late(), Guess("b")), 8, on_match=told.append)
    assert 1 <= len(told[-1].results) < 8


def test_an_illegal_move_names_the_player() -> None:
    chooses = agent(Guess(), 0)
    chooses.decision = lambda node, rng: 99
    with pytest.raises(AgentError, match="must be the index of one of 4 actions"):
        play_series(GAME, lambda player: chooses, lambda player: agent(Guess(), 1), 4)


def test_a_single_player_plays_side_by_side_too() -> None:
    game = pyspiel.load_game("morpion_solitaire")
    evaluator = Guess()
    player = Agent(game, UBFM(game, outcome=lambda state: state.returns()[0]), evaluator, budget=Budget(iterations=1))
    results = play_single_player(game, player, 4, opening_plies=2, seed=1)
    for number, result in enumerate(results):
        assert play_match(game, [player.for_game(number)], opening=result.opening).history == result.history
    assert len({result.history for result in results}) == 4
    assert max(evaluator.sizes) > 28


@pytest.mark.parametrize("players", [2, 3, 5])
def test_each_agent_is_alone_once_in_every_seat(players: int) -> None:
    one, other = ([f"{name}{seat}" for seat in range(players)] for name in "ab")
    sides = sides_by_agent([one, other])  # type: ignore[list-item]
    names = [["".join(seat)[0] for seat in side] for side in sides]
    assert all(seat == f"{seat[0]}{i}" for side in sides for i, seat in enumerate(side)), "each bot keeps its seat"  # type: ignore[index]
    for colour, side in enumerate(names):
        assert tuple(i for i, name in enumerate(side) if name == "a") == seats_of(colour, players)
    assert len(names) == (2 if players == 2 else 2 * players) == len({tuple(side) for side in names})
    assert agents_of(sides) == [one, other]
