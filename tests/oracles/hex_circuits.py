"""How near each player is to connecting a Hex board, seen as electrical circuits (V. Anshelevich, 2002).

Own cells conduct well, empty ones less, the opponent's hardly; the more current flows between a player's sides the
nearer they are, and the cells that carry most of it matter most. A guide for the order of moves, and an evaluator.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyspiel
from numpy.typing import NDArray

OWN, EMPTY, OPPONENT = 8.0, 1.0, 1e-3


class HexCircuits:
    """The two circuits of a board of `size` x `size` cells; the first player connects the first and the last row."""

    def __init__(self, size: int) -> None:
        self.cells = cells = size * size
        self._bits = 1 << np.arange(cells, dtype=np.int64)
        self._wires = np.zeros((2, cells + 2, cells + 2))
        for cell in range(cells):
            row, column = divmod(cell, size)
            for y, x in ((row, column + 1), (row + 1, column), (row + 1, column - 1)):
                if y < size and 0 <= x < size:
                    self._connect(slice(None), cell, y * size + x)
            for player, line in enumerate((row, column)):
                if line == 0:
                    self._connect(player, cell, cells)
                if line == size - 1:
                    self._connect(player, cell, cells + 1)

    def _connect(self, player: int | slice, one: int, other: int) -> None:
        self._wires[player, one, other] = self._wires[player, other, one] = 1.0

    def currents(self, positions: Sequence[tuple[int, int]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """For each position, of each player: the current through each cell [n, 2, cells], and all of it [n, 2].

        Args:
            positions: both players' stones, bit i for cell i.
        """
        cells = self.cells
        mine = (np.array(positions, np.int64)[:, :, None] & self._bits) != 0
        g = np.full((len(positions), 2, cells + 2), OWN)
        g[..., :cells] = np.where(mine, OWN, np.where(mine[:, ::-1], OPPONENT, EMPTY))
        conductance = self._wires * (g[..., :, None] * g[..., None, :] / (g[..., :, None] + g[..., None, :]))
        laplacian = -conductance[..., :cells, :cells]
        diagonal = np.arange(cells)
        laplacian[..., diagonal, diagonal] += conductance[..., :cells, :].sum(-1)
        # The beginning side is at 1 V, the other one at 0 V.
        potential = np.ones((len(positions), 2, cells + 2))
        potential[..., cells + 1] = 0.0
        potential[..., :cells] = np.linalg.solve(laplacian, conductance[..., :cells, cells, None])[..., 0]
        through = (conductance * np.abs(potential[..., :, None] - potential[..., None, :])).sum(-1)
        return through[..., :cells], through[..., cells]


class CircuitEvaluator:
    """Values Hex states in (-1, 1) by the currents of both players."""

    def __init__(self, size: int) -> None:
        self._circuits = HexCircuits(size)

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        """One value a state, for player 0."""
        _, totals = self._circuits.currents([stones_of(state) for state in states])
        first, second = totals.T
        values: NDArray[np.float64] = (first - second) / (first + second)
        return values


def stones_of(state: pyspiel.State) -> tuple[int, int]:
    """The two players' stones of a Hex state without swap."""
    history = state.history()
    return sum(1 << cell for cell in history[0::2]), sum(1 << cell for cell in history[1::2])
