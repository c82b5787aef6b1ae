"""Morpion Solitaire, for one player, which has no observation tensor in OpenSpiel.

Its own has five planes of 13 x 13: the points that are placed, then for each direction those that a line in it has
used. Two lines of one direction share no point, so these planes tell which lines are drawn, hence all there is to the
state: which lines can follow, and the score, which is their number.

An action is a line of four points, numbered by direction, and within it by rows: 130 along a row (a, b) to (a, b + 3),
130 down a column to (a + 3, b), 100 down a diagonal to (a + 3, b + 3), 100 up one, from (a + 3, b) to (a, b + 3).
"""

from __future__ import annotations

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.games.facts.base import Facts, Observation, Text, never_cut
from athenan_spiel.games.facts.readers import merged

SIZE, POINTS_OF_A_LINE = 13, 4
SHAPE = (5, SIZE, SIZE)


def line_points() -> NDArray[np.intp]:
    """The points of each line as row * 13 + column, [460, 4], by action."""
    starts = SIZE - POINTS_OF_A_LINE + 1
    lines = []
    for row_step, column_step in ((0, 1), (1, 0), (1, 1), (-1, 1)):
        first_row = POINTS_OF_A_LINE - 1 if row_step < 0 else 0
        for row in range(first_row, first_row + (starts if row_step else SIZE)):
            for column in range(starts if column_step else SIZE):
                lines.append([(row + i * row_step) * SIZE + column + i * column_step for i in range(POINTS_OF_A_LINE)])
    return np.array(lines, np.intp)


def _observation(game: pyspiel.Game) -> Observation:
    """The shape of the planes and what fills them."""
    printed = str(game.new_initial_state()).replace("\n", "")
    initial = np.zeros(SHAPE, np.float32)
    initial[0].flat = [int(point) for point in printed]
    points = line_points()
    directions = np.repeat(np.arange(1, 5), (130, 130, 100, 100))
    drawn = np.concatenate([points, points + directions[:, None] * SIZE * SIZE], axis=1)

    def fill(state: pyspiel.State, planes: NDArray[np.float32]) -> None:
        planes[:] = initial
        planes.reshape(-1)[drawn[state.history()]] = 1.0

    return SHAPE, fill


def _text(game: pyspiel.Game) -> Text:
    return lambda state: tuple(sorted(state.history()))


FACTS = Facts(
    transposition=merged(
        "An action is a line. The points are the first ones and those of the lines drawn, which lines can follow "
        "depends on points and lines, and the score is the number of lines: their order does not matter.",
        "the actions played, sorted",
        _text,
    ),
    score=None,
    pieces=None,
    lasting=True,
    observation=_observation,
    cut=never_cut,
)
