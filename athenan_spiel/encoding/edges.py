"""The edges of the board painted around it, for games in which the sides belong to the players.

The board is extended by one line at the top, bottom, left and right; each line is completely filled with the stones of
the player who owns that side (the article, Section 9.3.1, after Young et al. 2016 and Anthony et al. 2017). The lines
have the full length of the larger board, so a corner holds a stone of both players: a cell next to it is near both
sides. No other plane has anything in the margin, the one of the empty cells included.

Where the observation tells stones that are linked to a side from others, the line shows stones linked to it.

Hex is the only such game of OpenSpiel that is shown as one board. TwixT's sides are owned too, but its observation
shows the red pegs on a board of one shape and the blue ones on another, turned by 90°, without the rows in which the
other player may not peg; there is no line to paint. In Y and Havannah each player may use every side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.errors import ConfigError


class Sides(NamedTuple):
    """The plane that holds the stones which each side is made of."""

    top: int
    bottom: int
    left: int
    right: int


def _hex(game: pyspiel.Game) -> Sides:
    """Black (player 0) owns the first and the last row, White the first and the last column."""
    if game.get_parameters()["plain_obs_tensor"]:  # black, white, empty
        return Sides(top=0, bottom=0, left=1, right=1)
    # White: winning, west, east, other; empty; black: other, south, north, winning.
    return Sides(top=7, bottom=6, left=1, right=2)


OWNED_SIDES: Mapping[str, Callable[[pyspiel.Game], Sides]] = MappingProxyType({"hex": _hex})
"""The games with sides to paint, by short name."""


def framed_board(game: pyspiel.Game, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """A board larger by one cell on each side, with the edges painted and nothing else in it.

    Args:
        game: one of `OWNED_SIDES`.
        shape: (C, H, W), of the board without edges and the plane that tells who moves.

    Returns:
        float32 [C, H + 2, W + 2].

    Raises:
        ConfigError: the game's sides belong to nobody.
    """
    name = game.get_type().short_name
    if name not in OWNED_SIDES:
        raise ConfigError.at(
            "encoding.edges",
            f"=true is for games whose sides are the players' ({', '.join(OWNED_SIDES)}), got {name!r}: take false",
        )
    sides = OWNED_SIDES[name](game)
    channels, height, width = shape
    board = np.zeros((channels, height + 2, width + 2), np.float32)
    board[sides.top, 0] = 1.0
    board[sides.bottom, -1] = 1.0
    board[sides.left, :, 0] = 1.0
    board[sides.right, :, -1] = 1.0
    return board
