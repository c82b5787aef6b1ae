"""Observations: corrected shapes, planes of Hex's sides, and the observation of Morpion Solitaire.

Morpion Solitaire has no observation tensor in OpenSpiel. The one here has five planes of 13 x 13: the
placed points, then for each direction the points used by its lines. Two lines of one direction share no point, so these
planes determine the drawn lines, and thereby the whole state: the possible lines, and the score, which is the number of
lines.

An action is a line of four points, numbered by direction, and within it by rows: 130 along a row (a, b) to (a, b + 3),
130 down a column to (a + 3, b), 100 down a diagonal to (a + 3, b + 3), 100 up one, from (a + 3, b) to (a, b + 3).
"""

from __future__ import annotations

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.games.facts.base import Observation, Sides

MORPION_SIZE, MORPION_LINE = 13, 4
MORPION_SHAPE = (5, MORPION_SIZE, MORPION_SIZE)


def gomoku_planes(game: pyspiel.Game) -> tuple[int, int, int] | None:
    """Returns the planes in two dimensions, else None. OpenSpiel declares [3, cells] for any number of dimensions."""
    parameters = game.get_parameters()
    if parameters["dims"] != 2:
        return None
    return game.observation_tensor_shape()[0], parameters["size"], parameters["size"]


def hex_planes(game: pyspiel.Game) -> tuple[int, int, int]:
    """Returns (C, rows, columns): OpenSpiel declares columns before rows, and writes row by row."""
    planes, columns, rows = game.observation_tensor_shape()
    return planes, rows, columns


def hex_sides(game: pyspiel.Game) -> Sides:
    """Returns the sides: Black (player 0) owns the first and the last row, White the first and the last column."""
    if game.get_parameters()["plain_obs_tensor"]:  # black, white, empty
        return Sides(top=0, bottom=0, left=1, right=1)
    # White: winning, west, east, other; empty; black: other, south, north, winning.
    return Sides(top=7, bottom=6, left=1, right=2)


def morpion_line_points() -> NDArray[np.intp]:
    """Returns the points of each action's line as row * 13 + column, [460, 4]."""
    starts = MORPION_SIZE - MORPION_LINE + 1
    lines = []
    for row_step, column_step in ((0, 1), (1, 0), (1, 1), (-1, 1)):
        first_row = MORPION_LINE - 1 if row_step < 0 else 0
        for row in range(first_row, first_row + (starts if row_step else MORPION_SIZE)):
            for column in range(starts if column_step else MORPION_SIZE):
                points = [(row + i * row_step, column + i * column_step) for i in range(MORPION_LINE)]
                lines.append([r * MORPION_SIZE + c for r, c in points])
    return np.array(lines, np.intp)


def morpion_observation(game: pyspiel.Game) -> Observation:
    """Returns the shape of the planes and the function that fills them."""
    printed = str(game.new_initial_state()).replace("\n", "")
    initial = np.zeros(MORPION_SHAPE, np.float32)
    initial[0].flat = [int(point) for point in printed]
    points = morpion_line_points()
    directions = np.repeat(np.arange(1, 5), (130, 130, 100, 100))
    drawn = np.concatenate([points, points + directions[:, None] * MORPION_SIZE * MORPION_SIZE], axis=1)

    def fill(state: pyspiel.State, planes: NDArray[np.float32]) -> None:
        planes[:] = initial
        planes.reshape(-1)[drawn[state.history()]] = 1.0

    return MORPION_SHAPE, fill
