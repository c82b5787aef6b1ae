"""A match that is given up is lost, and is no failure."""

from __future__ import annotations

import pyspiel
import pytest

from athenan_spiel.errors import ResignedError
from athenan_spiel.play.match import Forfeit, play_match
from athenan_spiel.play.series import play_series

GAME = "tic_tac_toe"


class First:
    """Plays the first legal action, and gives up at the ply `at`."""

    def __init__(self, at: int = 100) -> None:
        self.at = at

    def restart_at(self, state: pyspiel.State) -> None:
        pass

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        pass

    def step(self, state: pyspiel.State) -> int:
        if state.move_number() >= self.at:
            raise ResignedError("the engine resigns")
        action: int = state.legal_actions()[0]
        return action


@pytest.mark.parametrize("loser", [0, 1])
def test_who_resigns_has_lost(loser: int) -> None:
    players = [First(), First()]
    players[loser] = First(2)
    result = play_match(GAME, players)
    assert result.forfeit == Forfeit(loser, "the engine resigns", resigned=True)
    assert [result.points(i) for i in (loser, 1 - loser)] == [0, 1]
    assert result.history == ((0, 1) if loser == 0 else (0, 1, 2))


@pytest.mark.parametrize("forfeits", [True, False])
def test_a_series_counts_it_as_a_loss_and_goes_on(forfeits: bool) -> None:
    series = play_series(GAME, lambda i: First(2), lambda i: First(), 4, opening_plies=0, forfeits=forfeits)
    assert (series.wins, series.losses) == (0, 4)
    assert series.forfeits() == ([], [])
    assert all(result.forfeit for result in series.results)


def test_the_other_players_share_what_one_of_several_loses() -> None:
    result = play_match("yacht(players=3)", [First(), First(0), First()])
    assert result.forfeit == Forfeit(1, "the engine resigns", resigned=True)
    assert result.returns == (0.5, -1.0, 0.5)
