"""Cells of the actions of a game: a policy as planes, like the network input.

OpenSpiel numbers the actions of most board games by the cell of a piece and by what it does there, but does not say
how. So layouts are proposed and tried on random play, as symmetries are (`symmetries.py`). The numbers of a layout run
over all cells for each plane, or over all planes for each cell; cells are counted by rows or by columns, from any
corner; up to two numbers before or behind them are actions beside the board, such as a pass.

A layout is right if each action that was played has changed what is observed at its cell. A plane that changes at all
cells at once tells of no cell (the side to move, a count) and is not looked at.
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
"""Plies of random play on which the layouts are tried."""
MOST_BESIDE = 2
"""Maximum number of actions on no cell."""
MOST_CELLS = 64 * 64
"""Maximum number of cells of a board on which action planes are searched for."""
LEAST_SEEN = 0.25
"""Minimum fraction of cells on which an action was played."""
_SEED = 0


@dataclass(frozen=True, eq=False)
class ActionPlanes:
    """Planes over the encoded board that hold a game's actions."""

    planes: int
    """P."""
    indices: NDArray[np.int64]
    """[A]: for each action its index into a flattened [P, H, W] over the encoder's board; -1 where it is on no cell."""


@dataclass(frozen=True, eq=False)
class _Layout:
    """One way to number actions by planes and cells."""

    beside: int
    """Actions on no cell."""
    by_plane: bool
    """All cells of the first plane come first, and not all planes of the first cell."""
    planes: int
    cells: NDArray[np.int64]
    """[A]: the cell of each action on the board, counted by rows, or -1."""
    plane_of: NDArray[np.int64]
    """[A]: its plane."""


def find_action_planes(game: pyspiel.Game, encoder: Encoder) -> ActionPlanes | None:
    """The planes of the game's actions, found and verified on random play; the same each time.

    Where several layouts are right, one with fewer actions beside the board is taken, and then one by cell: of moves
    numbered by their two cells, the first is theirs.

    Returns:
        None where what is observed is no stack of boards, or of boards of more than `MOST_CELLS`; where no layout is
        right, or where several are of which none is to be preferred.
    """
    if len(encoder.shape) != 3 or math.prod(encoder.shape[1:]) > MOST_CELLS:
        return None
    margin = encoder.margin
    _, height, width = encoder.shape
    board = height - 2 * margin, width - 2 * margin
    layouts = list(_layouts(game.num_distinct_actions(), *board))
    if not layouts:
        return None
    actions, changed = _random_play(game, encoder)
    right = [layout for layout in layouts if _is_right(layout, actions, changed)]
    for _, group in groupby(right, key=lambda layout: (layout.beside, layout.by_plane)):
        best = list(group)
        if any(not np.array_equal(layout.cells, best[0].cells) for layout in best[1:]):
            return None
        return _on_the_encoded_board(best[0], board, margin)
    return None


def _layouts(number: int, height: int, width: int) -> Iterator[_Layout]:
    """All that fit the number of actions, in the order of preference."""
    size = height * width
    orders = list(_cell_orders(height, width))
    for beside in range(MOST_BESIDE + 1):
        planes, rest = divmod(number - beside, size)
        if rest or planes < 1:
            continue
        numbers = np.arange(planes * size)
        for by_plane in (False, True) if planes > 1 else (False,):
            counted, plane_of = (numbers % size, numbers // size) if by_plane else (numbers // planes, numbers % planes)
            for order in orders:
                for before in {0, beside}:
                    around = before, beside - before
                    yield _Layout(
                        beside,
                        by_plane,
                        planes,
                        np.pad(order[counted], around, constant_values=-1),
                        np.pad(plane_of, around),
                    )


def _cell_orders(height: int, width: int) -> Iterator[NDArray[np.int64]]:
    """The eight ways to count cells: for each number, the cell that has it."""
    for name in (IDENTITY, *SYMMETRIES):
        keeps_shape = turn(name, np.empty((1, 2))).shape == (1, 2)
        numbers = np.arange(height * width).reshape((height, width) if keeps_shape else (width, height))
        yield np.argsort(turn(name, numbers).reshape(-1))


def _random_play(game: pyspiel.Game, encoder: Encoder) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """`PLIES` random plies: their actions [n], and the cells at which each changed the observation [n, cells]."""
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


def _is_right(layout: _Layout, actions: NDArray[np.int64], changed: NDArray[np.bool_]) -> bool:
    """Whether each action changed its cell, and enough of the cells were seen."""
    cells = layout.cells[actions]
    plies = np.flatnonzero(cells >= 0)
    cells = cells[plies]
    return bool(changed[plies, cells].all()) and len(np.unique(cells)) >= LEAST_SEEN * changed.shape[1]


def _on_the_encoded_board(layout: _Layout, board: tuple[int, int], margin: int) -> ActionPlanes:
    height, width = board
    encoded_width = width + 2 * margin
    encoded_size = (height + 2 * margin) * encoded_width
    rows, columns = np.divmod(layout.cells, width)
    indices = layout.plane_of * encoded_size + (rows + margin) * encoded_width + columns + margin
    return ActionPlanes(layout.planes, np.where(layout.cells < 0, -1, indices))
