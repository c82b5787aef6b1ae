"""Matches and series: who is asked what, what is refused, and that both colours play each opening."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pyspiel
import pytest
from clocks import Clock

from athenan_spiel.errors import AgentError, ConfigError, SearchError
from athenan_spiel.play import driver
from athenan_spiel.play.driver import Driver
from athenan_spiel.play.match import MatchResult, OngoingGame, play_match
from athenan_spiel.play.openings import random_openings
from athenan_spiel.play.player import Player
from athenan_spiel.play.series import Series, Tally, play_series

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")


class Script:
    """Plays the given actions in turn, else the smallest legal one, and writes down what it was told."""

    def __init__(self, actions: Sequence[int] = ()) -> None:
        self.actions = list(actions)
        self.log: list[tuple[object, ...]] = []

    def restart_at(self, state: pyspiel.State) -> None:
        self.log.append(("restart_at", state.history()))

    def step(self, state: pyspiel.State) -> int:
        self.log.append(("step", state.history()))
        return self.actions.pop(0) if self.actions else state.legal_actions()[0]

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        self.log.append(("inform_action", state.history(), player_id, action))


class Saboteur(Script):
    """Plays in the states that it is shown."""

    def step(self, state: pyspiel.State) -> int:
        action = super().step(state)
        state.apply_action(action)
        return action


def test_a_match_asks_and_informs_as_evaluate_bots_does() -> None:
    players = Script([0, 1, 2]), Script([3, 4])
    result = play_match(TIC_TAC_TOE, players)
    assert result.history == (0, 3, 1, 4, 2)
    assert result.returns == (1.0, -1.0)
    assert players[1].log == [
        ("restart_at", []),
        ("inform_action", [], 0, 0),
        ("step", [0]),
        ("inform_action", [0, 3], 0, 1),
        ("step", [0, 3, 1]),
        ("inform_action", [0, 3, 1, 4], 0, 2),
    ]


def test_the_opening_is_played_first_and_the_players_start_after_it() -> None:
    players = Script(), Script()
    result = play_match(TIC_TAC_TOE, players, opening=(4, 0, 8))
    assert result.opening == (4, 0, 8)
    assert result.history[:3] == (4, 0, 8)
    assert players[0].log[0] == ("restart_at", [4, 0, 8])
    assert players[1].log[1] == ("step", [4, 0, 8])


def test_a_player_may_move_several_times_in_a_row() -> None:
    game = pyspiel.load_game("amazons(board_size=6)")
    players = [pyspiel.make_uniform_random_bot(player, player) for player in range(2)]
    result = play_match(game, players)
    assert sorted(result.returns) == [-1.0, 1.0]
    assert len(result.history) > 6


def test_a_player_cannot_change_the_match_through_the_states_it_is_shown() -> None:
    assert play_match(TIC_TAC_TOE, (Saboteur([0, 1, 2]), Saboteur([3, 4]))).history == (0, 3, 1, 4, 2)


def test_thinking_time_is_counted_by_player(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "time", Clock(step=1.0))  # it is looked at before and after a move
    result = play_match(TIC_TAC_TOE, (Script([0, 1, 2]), Script([3, 4])))
    assert result.seconds == (3.0, 2.0)


@pytest.mark.parametrize("action", [4, 9, -1, None])
def test_an_illegal_action_is_an_error_that_names_the_player_and_the_action(action: int) -> None:
    with pytest.raises(
        AgentError, match=r"player 1 \(Script\) must choose a legal action, .* after \[4\]; got"
    ) as error:
        play_match(TIC_TAC_TOE, (Script([4]), Script([action])))
    assert str(error.value).endswith(f"got {action!r}")


def test_the_error_about_an_illegal_action_stays_short() -> None:
    game = pyspiel.load_game("hex")
    with pytest.raises(AgentError) as error:
        play_match(game, (Script([*range(0, 60, 2), 0]), Script(range(1, 60, 2))))
    assert str(error.value) == (
        "player 0 (Script) must choose a legal action, [60, 61, 62, 63, 64, 65, 66, 67, ...], "
        "after [..., 52, 53, 54, 55, 56, 57, 58, 59]; got 0"
    )


def test_an_illegal_opening_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"the opening must choose a legal action, .* after \[4\]; got 4"):
        play_match(TIC_TAC_TOE, (Script(), Script()), opening=(4, 4))


@pytest.mark.parametrize(
    ("returns", "points"),
    [
        ((1.0, -1.0), (1, 0)),
        ((0.0, 0.0), (0.5, 0.5)),
        ((-6.0, 6.0), (0, 1)),
        ((1.0, 2.0), (0, 1)),
        ((2.0, 2.0), (0.5, 0.5)),
    ],
)
def test_points_compare_the_returns(returns: tuple[float, float], points: tuple[float, float]) -> None:
    result = MatchResult((), 0, returns, (0.0, 0.0))
    assert (result.points(0), result.points(1)) == points


def test_a_series_plays_each_opening_with_both_colours() -> None:
    series = play_series(TIC_TAC_TOE, lambda player: Script(), lambda player: Script(), 8, opening_plies=2, seed=3)
    openings = [result.opening for result in series.results]
    assert openings[0::2] == openings[1::2]
    assert len(set(openings)) == 4
    assert all(len(opening) == 2 for opening in openings)
    assert series.colours == (0, 1) * 4
    # The same players on both sides: what one colour wins the other loses.
    assert series.points == 0.5
    assert series.as_player(0).wins == series.as_player(1).losses


def test_a_series_counts_from_the_contenders_side() -> None:
    asked: list[tuple[str, int]] = []

    def first_row(player: int) -> Player:
        asked.append(("contender", player))
        return Script()

    def loser(player: int) -> Player:
        asked.append(("opponent", player))
        return Script([3, 4, 8] if player == 1 else [8, 3, 7])

    progress: list[Tally] = []
    series = play_series(
        TIC_TAC_TOE, first_row, loser, 2, opening_plies=0, on_match=lambda so_far: progress.append(so_far.tally)
    )
    assert sorted(asked) == [("contender", 0), ("contender", 1), ("opponent", 0), ("opponent", 1)]
    assert (series.wins, series.draws, series.losses) == (2, 0, 0)
    assert series.points == 1.0
    assert series.as_player(0) == series.as_player(1) == Tally(wins=1)
    assert progress == [Tally(wins=1), Tally(wins=2)]


def test_a_series_groups_points_by_opening_and_adds_up_time() -> None:
    draw, win = MatchResult((1, 5), 1, (0.0, 0.0), (1.0, 2.0)), MatchResult((2, 5), 1, (-1.0, 1.0), (4.0, 8.0))
    series = Series((draw, draw, win), (0, 1, 1))
    assert series.points_by_opening == {(1,): [0.5, 0.5], (2,): [1.0]}
    assert series.seconds == (1.0 + 2.0 + 8.0, 2.0 + 1.0 + 4.0)
    assert series.tally == Tally(wins=1, draws=2)


def test_no_match_has_no_share_of_the_points() -> None:
    assert Series().tally == Tally()
    with pytest.raises(ZeroDivisionError):
        _ = Series().points


@pytest.mark.parametrize("matches", [0, 1, 7, -2])
def test_a_series_needs_an_even_number_of_matches(matches: int) -> None:
    with pytest.raises(ConfigError, match=f"even and at least 2, got {matches}"):
        play_series(TIC_TAC_TOE, lambda player: Script(), lambda player: Script(), matches)


def test_the_same_seed_gives_the_same_openings() -> None:
    openings = [random_openings(TIC_TAC_TOE, 10, 3, random.Random(seed)) for seed in (1, 1, 2)]
    assert openings[0] == openings[1] != openings[2]


def test_openings_repeat_only_when_there_is_no_other() -> None:
    openings = random_openings(TIC_TAC_TOE, 21, 1, random.Random(0))
    assert set(openings) == {(action,) for action in range(9)}
    # Two whole rounds, up to bad luck in drawing the last one of a round, and three more.
    assert max(Counter(openings).values()) <= 4
    assert len(set(openings[:7])) == 7


def test_an_opening_never_ends_the_match() -> None:
    # Random play ends Tic-Tac-Toe within seven plies two times in five.
    for opening in random_openings(TIC_TAC_TOE, 100, 7, random.Random(0)):
        state = TIC_TAC_TOE.new_initial_state()
        for action in opening:
            state.apply_action(action)
        assert not state.is_terminal()


def test_openings_that_all_end_the_match_are_refused() -> None:
    with pytest.raises(ConfigError, match="9 random plies must not end the game"):
        random_openings(TIC_TAC_TOE, 1, 9, random.Random(0))
    with pytest.raises(ConfigError, match="20 random plies must not end the game"):
        random_openings(TIC_TAC_TOE, 1, 20, random.Random(0))


def test_an_opening_of_less_than_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="zero plies or more, got -1"):
        random_openings(TIC_TAC_TOE, 1, -1, random.Random(0))


def test_no_plies_is_the_empty_opening() -> None:
    assert random_openings(TIC_TAC_TOE, 2, 0, random.Random(0)) == [(), ()]


def test_a_state_without_a_single_mover_is_not_the_last_players() -> None:
    """No such game comes in by `play_match`; a mover of -2 is the index of a player, too."""
    game = pyspiel.load_game("goofspiel")
    match = OngoingGame(game, [Script(), Script()], ())
    with pytest.raises(SearchError, match="expected a state in which one player is to move, got one where"):
        Driver([match])
