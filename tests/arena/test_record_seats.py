"""Saved games of more than two players."""

from __future__ import annotations

import json

import pytest

from agents import make_bot
from athenan_spiel.arena.record import SavedMatch, match_of
from athenan_spiel.errors import ArenaError
from athenan_spiel.games import load_game
from athenan_spiel.play.match import MatchResult, play_match

GAME = load_game("pig(players=3,winscore=10)")


def saved() -> SavedMatch:
    result = play_match(GAME, [make_bot("random", GAME, i, i) for i in range(3)], seed=1)
    return SavedMatch(str(GAME), ("x", "y", "z"), ("random",) * 3, 0, 0, 0, result)


def test_a_game_of_three_is_read_as_written() -> None:
    back = match_of(json.dumps(saved().to_json()).encode(), "here")
    assert back.require_true().is_terminal()
    assert back.players == ("x", "y", "z")
    assert len(back.result.winners) == 1
    assert sorted(back.result.returns) == [-0.5, -0.5, 1.0]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"agents": ["x", "y"]}, "agents and specs must be one for each player"),
        ({"agents": ["x", "y"], "specs": ["x", "y"]}, "returns must be a list of 2"),
        ({"colour": 1}, "colour must be a whole number from 0 to 0, got 1"),
        ({"forfeit": {"player": 3, "reason": "", "resigned": False}}, "player must be a whole number from 0 to 2"),
    ],
)
def test_invalid_games_of_three_are_refused(changes: dict[str, object], problem: str) -> None:
    with pytest.raises(ArenaError, match=problem):
        match_of(json.dumps(saved().to_json() | changes).encode(), "here")


def test_no_player_wins_a_draw() -> None:
    assert MatchResult((), 0, (0.0, 0.0, 0.0), (0.0,) * 3).winners == ()
    assert MatchResult((), 0, (1.0, -1.0), (0.0,) * 2).winners == (0,)
