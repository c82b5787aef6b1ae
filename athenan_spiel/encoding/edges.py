"""Board edges in the network input, for games in which the sides of the board belong to the players.

The board is extended by one line at the top, bottom, left and right. Each line is filled with stones of the player who
owns that side (the article, Section 9.3.1, after Young et al. 2016 and Anthony et al. 2017). The lines have the full
length of the larger board, so a corner has stones of both players. All other planes are empty in the margin, including
the one of empty cells.

If the observation distinguishes stones linked to a side, the line consists of stones linked to that side.

Hex is the only such game of OpenSpiel with an observation of one board. TwixT's sides are owned as well, but its
observation has two boards of different shapes, the blue one turned by 90°, each without the rows closed to its player.
In Y and Havannah both players may use every side.
"""

from __future__ import annotations

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.errors import ConfigError
from athenan_spiel.games.facts import FACTS, facts_of


def framed_board(game: pyspiel.Game, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Returns an empty board with its edges, larger by one cell on each side.

    Args:
        game: game with `sides` in its facts.
        shape: (C, H, W) of the board without edges and without the plane of the side to move.

    Returns:
        float32 [C, H + 2, W + 2].

    Raises:
        ConfigError: the sides of the game's board do not belong to players.
    """
    name = game.get_type().short_name
    sides_of = facts_of(name).sides
    if sides_of is None:
        owned = ", ".join(known for known, facts in FACTS.items() if facts.sides)
        raise ConfigError.at(
            "encoding.edges",
            f"=true requires a game whose sides belong to the players ({owned}), got {name!r}: use false",
        )
    sides = sides_of(game)
    channels, height, width = shape
    board = np.zeros((channels, height + 2, width + 2), np.float32)
    board[sides.top, 0] = 1.0
    board[sides.bottom, -1] = 1.0
    board[sides.left, :, 0] = 1.0
    board[sides.right, :, -1] = 1.0
    return board
