"""Hex."""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.facts.base import Facts, Parameters, Sides, never_cut
from athenan_spiel.games.facts.readers import merged, observed


def _fault(given: Parameters) -> str | None:
    size = given.get("board_size", 11)
    columns, rows = given.get("num_cols", size), given.get("num_rows", size)
    if given.get("swap", False) and columns != rows:
        # The swapped stone is mirrored with the columns as stride, beyond the end of the board.
        return f"OpenSpiel can swap on square boards only, got {columns} columns and {rows} rows"
    if given.get("plain_obs_tensor", False) and columns != rows:
        # Rows and columns are interchanged in the tensor: cells fall together, or beyond its end.
        return f"OpenSpiel has plain observations of square boards only, got {columns} columns and {rows} rows"
    if min(columns, rows) == 1:
        # A stone on the only line is linked to the first of its two edges, never to the second: no player wins.
        return "no player can win on a board of one row or column"
    return None


def _longest(game: pyspiel.Game) -> int:
    """A swap places no stone, and OpenSpiel 2.0.2 does not count it."""
    return int(game.max_game_length() + game.get_parameters()["swap"])


def _planes(game: pyspiel.Game) -> tuple[int, int, int]:
    """OpenSpiel declares columns before rows, and writes its rows one by one."""
    planes, columns, rows = game.observation_tensor_shape()
    return planes, rows, columns


def _sides(game: pyspiel.Game) -> Sides:
    """Black (player 0) owns the first and the last row, White the first and the last column."""
    if game.get_parameters()["plain_obs_tensor"]:  # black, white, empty
        return Sides(top=0, bottom=0, left=1, right=1)
    # White: winning, west, east, other; empty; black: other, south, north, winning.
    return Sides(top=7, bottom=6, left=1, right=2)


FACTS = Facts(
    transposition=merged(
        "The text shows every stone; which of them are linked to an edge follows. The swap is possible only when "
        "one black stone stands alone and White is to move.",
        end=observed,  # which shows the last stone of a winning line apart from the others
    ),
    marks=("x", "o"),
    fault=_fault,
    longest=_longest,
    planes=_planes,
    sides=_sides,
    cut=never_cut,
)
