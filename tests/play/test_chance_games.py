"""Games with chance between players: rolls, openings and the dice of a series."""

import random
from collections.abc import Iterator
from typing import Any

import pyspiel
import pytest
from fake_game import ROOT, FakeGame, chance, first, second

import athenan_spiel as ath
from athenan_spiel.errors import ConfigError
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import (
    CHANCE,
    draw_outcome,
    first_mover_of,
    is_chance,
    mover_after_chance,
    outcome_name,
    possible_actions,
)
from athenan_spiel.play.match import MatchResult, play_match
from athenan_spiel.play.openings import random_openings
from athenan_spiel.play.self_play import _after_opening
from athenan_spiel.play.series import fixtures, fixtures_of, play_series, single_player_fixtures

GAMES = [
    "backgammon",
    "banqi",
    "chess(chess960=true)",
    "einstein_wurfelt_nicht",
    "maedn(players=2)",
    "pig(players=2,winscore=30)",
    "yacht",
]
PIG = load_game("pig(players=2,winscore=30)")


class First:
    """Plays the first legal action, and checks that it is asked only where it is to move."""

    def __init__(self, player_id: int) -> None:
        self.player_id = player_id

    def restart_at(self, state: pyspiel.State) -> None:
        assert not is_chance(state)

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        assert state.current_player() == player_id != self.player_id

    def step(self, state: pyspiel.State) -> int:
        assert state.current_player() == self.player_id
        return int(state.legal_actions()[0])


class Rolls(First):
    """Rolls in Pig until its turn's total is 8 or its score is enough."""

    def step(self, state: pyspiel.State) -> int:
        super().step(state)
        total = int(str(state).split("total: ")[1].split()[0])
        return int(state.legal_actions()[-1 if total >= 8 else 0])


def movers_of(game: pyspiel.Game, history: tuple[int, ...]) -> Iterator[int]:
    state = game.new_initial_state()
    for action in history:
        yield state.current_player()
        state.apply_action(action)


@pytest.mark.parametrize("name", GAMES)
def test_a_result_tells_who_made_each_action_chance_included(name: str) -> None:
    game = load_game(name)
    bots = [pyspiel.make_uniform_random_bot(player, 1) for player in range(2)]
    (opening,) = random_openings(game, 1, 2, random.Random(0))
    result = play_match(game, bots, opening=opening, seed=5)
    movers = list(movers_of(game, result.history))
    assert list(result.movers) == movers[len(opening) :]
    assert CHANCE in movers
    assert len(result.move_seconds) == len(result.movers)


def test_the_seed_alone_determines_the_rolls() -> None:
    def played(seed: int) -> MatchResult:
        return play_match(PIG, [Rolls(0), Rolls(1)], seed=seed)

    assert played(1).history == played(1).history
    assert len({played(seed).history for seed in range(8)}) == 8


def test_a_drawing_function_replaces_the_dice() -> None:
    result = play_match(PIG, [Rolls(0), Rolls(1)], draw=lambda state: 5)
    assert result.history == (0, 5, 0, 5, 1) * 4 + (0, 5, 1)
    assert result.returns == (1.0, -1.0)


def test_both_games_of_an_opening_have_the_same_dice() -> None:
    series = play_series(PIG, Rolls, Rolls, 8, seed=3)
    assert len(set(series.dice)) == 4
    assert series.dice[::2] == series.dice[1::2]
    assert [a.history == b.history for a, b in zip(series.results[::2], series.results[1::2], strict=True)] == [
        True
    ] * 4
    assert sorted(map(sum, series.points_by_opening.values())) == [1.0] * 4
    again = play_series(PIG, Rolls, Rolls, 8, seed=4)
    assert {r.history for r in series.results}.isdisjoint(r.history for r in again.results)


def test_games_without_opening_are_grouped_by_their_dice() -> None:
    series = play_series(PIG, Rolls, Rolls, 6, opening_plies=0, seed=3)
    assert {result.opening for result in series.results} == {()}
    assert [len(points) for points in series.points_by_opening.values()] == [2, 2, 2]


def test_games_without_chance_have_no_dice() -> None:
    game = load_game("tic_tac_toe")
    assert {fixture.dice for fixture in fixtures(game, 6, 1, 9)} == {0}
    assert play_series(game, First, First, 4).dice == ()
    assert {fixture.dice for fixture in single_player_fixtures(load_game("morpion_solitaire"), 2, 0, 1)} == {0}


def test_dice_depend_on_the_seed_and_the_number_of_the_game_alone() -> None:
    few, many = (fixtures_of(PIG, [()] * count, 7) for count in (2, 5))
    assert few == many[:4]
    assert fixtures_of(PIG, [()], 8)[0].dice != few[0].dice
    alone = single_player_fixtures(load_game("catch"), 5, 0, 7)
    assert len({fixture.dice for fixture in alone}) == 5


@pytest.mark.parametrize("name", [*GAMES, "2048", "catch", "stones_and_gems"])
@pytest.mark.parametrize("plies", [1, 3])
def test_an_opening_counts_the_players_actions_and_ends_before_one(name: str, plies: int) -> None:
    game = load_game(name)
    for opening in random_openings(game, 3, plies, random.Random(2)):
        movers = list(movers_of(game, opening))
        assert sum(mover != CHANCE for mover in movers) == plies
        state = game.new_initial_state()
        for action in opening:
            assert action in possible_actions(state)
            state.apply_action(action)
        assert not is_chance(state)
        assert not state.is_terminal()


def test_an_opening_may_end_before_a_roll() -> None:
    result = play_match(PIG, [Rolls(0), Rolls(1)], opening=[0], seed=2)
    assert result.movers[0] == CHANCE
    assert result.opening == (0,)


def test_an_opening_with_an_impossible_outcome_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"the opening must choose an outcome of chance, \[0, 1, 2, 3, 4, 5\].*got 6"):
        play_match(PIG, [Rolls(0), Rolls(1)], opening=[0, 6])


@pytest.mark.parametrize(
    ("name", "first"),
    [("backgammon", None), ("chess(chess960=true)", 1), ("einstein_wurfelt_nicht", 1), ("pig(players=2)", 0)],
)
def test_the_first_mover_is_found_after_the_first_rolls(name: str, first: int | None) -> None:
    game = load_game(name)
    assert mover_after_chance(game.new_initial_state()) == first
    find, found = first_mover_of(game), set()
    for seed in range(30):
        result = play_match(game, [First(0), First(1)], seed=seed) if name.startswith("back") else None
        state = game.new_initial_state()
        while is_chance(state):
            state.apply_action(draw_outcome(state, random.Random(seed).random()))
        history = state.history() if result is None else result.history
        found.add(find(history))
        assert find(history) == next(m for m in [*movers_of(game, tuple(history)), state.current_player()] if m >= 0)
    assert found == ({0, 1} if first is None else {first})


def test_names_of_outcomes_are_short() -> None:
    start = load_game("backgammon").new_initial_state()
    assert outcome_name(start, 29) == "O starts, roll 65"
    start.apply_action(29)
    start.apply_action(start.legal_actions()[0])
    assert outcome_name(start, 0) == "roll 12"
    assert outcome_name(load_game("maedn(players=2)").new_initial_state(), 0) == "roll 1"
    assert outcome_name(load_game("2048").new_initial_state(), 0) == "2 added to row 1, column 1"


def test_agents_play_with_chance() -> None:
    agents = [
        ath.Agent(PIG, ath.UBFM(PIG), lambda states: [0.0] * len(states), budget=ath.Budget(iterations=5))
        for _ in range(2)
    ]
    result = play_match(PIG, agents, seed=1)
    assert max(result.returns) == 1.0
    assert min(result.evaluations) > 0


def test_random_openings_of_self_play_roll_by_the_probabilities() -> None:
    """Two actions of players; the second outcome has probability 0."""
    game: Any = FakeGame(first(0.0, A=chance(0.0, [1.0, 0.0], B=first(0.0, C=second(0.0, E=1.0)), D=-1.0)))
    found = {str(_after_opening(game, 2, random.Random(seed))) for seed in range(50)}
    assert found == {ROOT, "A", "C"}
