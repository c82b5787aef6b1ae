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

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.errors import ConfigError
from athenan_spiel.games.facts import FACTS, facts_of


def framed_board(game: pyspiel.Game, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """A board larger by one cell on each side, with the edges painted and nothing else in it.

    Args:
        game: one whose `facts` have sides.
        shape: (C, H, W), of the board without edges and the plane that tells who moves.

    Returns:
        float32 [C, H + 2, W + 2].

    Raises:
        ConfigError: the sides of the game's board belong to no player.
    """
    name = game.get_type().short_name
    sides_of = facts_of(name).sides
    if sides_of is None:
        owned = ", ".join(known for known, facts in FACTS.items() if facts.sides)
        raise ConfigError.at(
            "encoding.edges",
            f"=true is for games whose sides are the players' ({owned}), got {name!r}: take false",
        )
    sides = sides_of(game)
    channels, height, width = shape
    board = np.zeros((channels, height + 2, width + 2), np.float32)
    board[sides.top, 0] = 1.0
    board[sides.bottom, -1] = 1.0
    board[sides.left, :, 0] = 1.0
    board[sides.right, :, -1] = 1.0
    return board
