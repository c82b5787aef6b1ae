"""Cells of a game's actions: a policy as planes, like the network input.

OpenSpiel numbers the actions of most board games by cell and kind of move, but does not document how. Possible
numberings are therefore tested on random play, as symmetries are (`symmetries.py`). The actions run over all cells for
each plane, or over all planes for each cell. Cells are counted by rows or by columns, from any corner. Up to two
actions before or after them have no cell, such as a pass.

A numbering is accepted if each played action changed the observation at its cell. Planes that change at all cells at
once (the side to move, a count) are ignored.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.config import SYMMETRIES
from athenan_spiel.encoding.board_maps import IDENTITY, turn
from athenan_spiel.encoding.encoder import Encoder

PLIES = 3000
"""Number of plies of random play on which numberings are tested."""
MAX_WITHOUT_CELL = 2
"""Maximum number of actions without a cell."""
MAX_CELLS = 64 * 64
"""Maximum number of cells of a board on which action planes are searched for."""
MIN_SEEN_FRACTION = 0.25
"""Minimum fraction of cells on which an action was played."""
_SEED = 0


@dataclass(frozen=True, eq=False)
class ActionPlanes:
    """Planes over the encoded board that contain a game's actions."""

    planes: int
    """Number of planes of actions, P."""
    indices: NDArray[np.int64]
    """int64 [A]: index of each action into a flattened [P, H, W] over the encoder's board; -1 without a cell."""


@dataclass(frozen=True, eq=False)
class _Layout:
    """Numbering of actions by planes and cells."""

    without_cell: int
    """Number of actions without a cell."""
    by_plane: bool
    """Whether actions run over the cells of each plane, rather than over the planes of each cell."""
    planes: int
    cells: NDArray[np.int64]
    """[A]: cell of each action on the board, counted by rows, or -1."""
    plane_of: NDArray[np.int64]
    """[A]: plane of each action."""


def find_action_planes(game: pyspiel.Game, encoder: Encoder) -> ActionPlanes | None:
    """Returns the planes of the game's actions, found and verified on random play. The result is deterministic.

    If several numberings are accepted, the one with the fewest actions without a cell is preferred, then one by cell:
    a move numbered by two cells belongs to the first.

    Returns:
        The planes. None if the observation is not a stack of boards of at most `MAX_CELLS` cells, if no numbering is
        accepted, or if several remain after these preferences.
    """
    if len(encoder.shape) != 3 or math.prod(encoder.shape[1:]) > MAX_CELLS:
        return None
    margin = encoder.margin
    _, height, width = encoder.shape
    board = height - 2 * margin, width - 2 * margin
    layouts = list(_layouts(game.num_distinct_actions(), *board))
    if not layouts:
        return None
    actions, changed = _random_play(game, encoder)
    accepted = [layout for layout in layouts if _is_accepted(layout, actions, changed)]
    for _, group in groupby(accepted, key=lambda layout: (layout.without_cell, layout.by_plane)):
        best = list(group)
        if any(not np.array_equal(layout.cells, best[0].cells) for layout in best[1:]):
            return None
        return _with_margin(best[0], board, margin)
    return None


def _layouts(number: int, height: int, width: int) -> Iterator[_Layout]:
    """Yields the numberings that fit the number of actions, the preferred ones first."""
    size = height * width
    orders = list(_cell_orders(height, width))
    for without_cell in range(MAX_WITHOUT_CELL + 1):
        planes, rest = divmod(number - without_cell, size)
        if rest or planes < 1:
            continue
        numbers = np.arange(planes * size)
        for by_plane in (False, True) if planes > 1 else (False,):
            counted, plane_of = (numbers % size, numbers // size) if by_plane else (numbers // planes, numbers % planes)
            for order in orders:
                for before in {0, without_cell}:
                    around = before, without_cell - before
                    yield _Layout(
                        without_cell,
                        by_plane,
                        planes,
                        np.pad(order[counted], around, constant_values=-1),
                        np.pad(plane_of, around),
                    )


def _cell_orders(height: int, width: int) -> Iterator[NDArray[np.int64]]:
    """Yields the eight ways to count cells: the cell of each number."""
    for name in (IDENTITY, *SYMMETRIES):
        keeps_shape = turn(name, np.empty((1, 2))).shape == (1, 2)
        numbers = np.arange(height * width).reshape((height, width) if keeps_shape else (width, height))
        yield np.argsort(turn(name, numbers).reshape(-1))


def _random_play(game: pyspiel.Game, encoder: Encoder) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Plays `PLIES` random plies; returns their actions [n], and where each changed the observation, [n, cells]."""
    rng = random.Random(_SEED)
    inner = slice(encoder.margin, -encoder.margin or None)
    rows = np.empty((2, encoder.size), np.float32)
    before, after = (row.reshape(encoder.shape)[:, inner, inner] for row in rows)
    _, height, width = before.shape
    actions = np.empty(PLIES, np.int64)
    changed = np.empty((PLIES, height, width), np.bool_)
    state = game.new_initial_state()
    encoder.encode_into(state, rows[0])
    for ply in range(PLIES):
        actions[ply] = action = rng.choice(state.legal_actions())
        state.apply_action(action)
        encoder.encode_into(state, rows[1])
        differs = before != after
        differs[differs.all(axis=(1, 2))] = False
        differs.any(axis=0, out=changed[ply])
        rows[0] = rows[1]
        if state.is_terminal():
            state = game.new_initial_state()
            encoder.encode_into(state, rows[0])
    return actions, changed.reshape(PLIES, height * width)


def _is_accepted(layout: _Layout, actions: NDArray[np.int64], changed: NDArray[np.bool_]) -> bool:
    """Returns whether each action changed its cell, and enough cells had an action."""
    cells = layout.cells[actions]
    plies = np.flatnonzero(cells >= 0)
    cells = cells[plies]
    return bool(changed[plies, cells].all()) and len(np.unique(cells)) >= MIN_SEEN_FRACTION * changed.shape[1]


def _with_margin(layout: _Layout, board: tuple[int, int], margin: int) -> ActionPlanes:
    height, width = board
    encoded_width = width + 2 * margin
    encoded_size = (height + 2 * margin) * encoded_width
    rows, columns = np.divmod(layout.cells, width)
    indices = layout.plane_of * encoded_size + (rows + margin) * encoded_width + columns + margin
    return ActionPlanes(layout.planes, np.where(layout.cells < 0, -1, indices))
