"""Maximum game lengths where OpenSpiel's are wrong, and whether the length limit ended a game."""

from __future__ import annotations

import re

import pyspiel

NINE_MENS_MORRIS_TURNS = 200
"""Number of turns after which OpenSpiel ends Nine Men's Morris as a draw; removing a man is no turn."""
_TURN = re.compile(r"Turn number: (\d+)")


def never_cut(state: pyspiel.State) -> bool:
    """Returns False, for games that always end by their rules before `max_game_length()`."""
    return False


def cut_if_undecided(state: pyspiel.State) -> bool:
    """Returns whether a game ended as a draw at `max_game_length()`; a win by the last action is not cut short."""
    return len(state.history()) >= state.get_game().max_game_length() and not any(state.returns())


def undecided(state: pyspiel.State) -> bool:
    """Returns whether the game is a draw, in games that only a limit of turns ends without a winner."""
    return not any(state.returns())


def nine_mens_morris_cut(state: pyspiel.State) -> bool:
    """Returns whether the limit of turns is reached."""
    found = _TURN.search(str(state))
    assert found is not None, "the text of a state of Nine Men's Morris gives the number of the turn"
    return int(found[1]) >= NINE_MENS_MORRIS_TURNS


def declared_longest(game: pyspiel.Game) -> int:
    """Returns `max_game_length()`, which counts the outcomes of chance in 2048."""
    return int(game.max_game_length())


def dots_and_boxes_longest(game: pyspiel.Game) -> int:
    """Returns the number of lines of the board, which OpenSpiel 2.0.2 counts as if it were square."""
    given = game.get_parameters()
    rows, columns = given["num_rows"], given["num_cols"]
    return int(rows * (columns + 1) + columns * (rows + 1))


def go_longest(game: pyspiel.Game) -> int:
    """Returns at least two plies: OpenSpiel 2.0.2 does not end a game after the first one, whatever its limit."""
    return max(2, int(game.max_game_length()))


def hex_longest(game: pyspiel.Game) -> int:
    """Returns the length including a swap, which places no stone and which OpenSpiel 2.0.2 does not count."""
    return int(game.max_game_length() + game.get_parameters()["swap"])
