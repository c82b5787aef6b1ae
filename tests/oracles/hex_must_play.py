"""Hex solved by must-play regions on bitboards: no OpenSpiel, and no search of the package under test.

A proof carries the set of empty cells that it needs, its carrier: the winner's stones connect the winner's sides
through those cells whatever is played elsewhere. If the opponent wins against a move with carrier C, then every move
outside C loses too, as the same answers still stand. So only moves in the intersection of the carriers seen so far
have to be tried (R. Hayward et al., "Solving 7 x 7 Hex with domination, fill-in, and virtual connections", 2005).

The first player connects the first row to the last one; cells are numbered row by row, as OpenSpiel's actions are.
"""

from __future__ import annotations

import numpy as np
import pyspiel

from oracles.hex_circuits import HexCircuits, stones_of

FIRST, SECOND = 0, 1
Proof = tuple[int, int]
"""The winner, and the carrier."""


class HexSolver:
    """Who wins Hex positions of `size` x `size` cells; what was proven is remembered.

    Positions are two integers, the stones of the first and of the second player, bit i for cell i; who has fewer
    stones is to move.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._cells = size * size
        self._circuits = HexCircuits(size)
        self._full = (1 << self._cells) - 1
        row = (1 << size) - 1
        column = sum(1 << (i * size) for i in range(size))
        self._sides = ((row, row << (size * (size - 1))), (column, column << (size - 1)))
        self._not_left = self._full & ~column
        self._not_right = self._full & ~(column << (size - 1))
        self._proofs: dict[tuple[int, int], Proof] = {}

    @property
    def positions(self) -> int:
        """Number of positions proven."""
        return len(self._proofs)

    def value(self, state: pyspiel.State) -> float:
        """1 if the first player wins `state`, a Hex state without swap, else -1."""
        return 1.0 if self.winner(*stones_of(state)) == FIRST else -1.0

    def winner(self, first: int, second: int) -> int:
        """FIRST or SECOND: who wins."""
        for player, stones in enumerate((first, second)):
            if self._linking_cells(stones, self._full & ~stones, player) is None:
                return player
        return self._solve(first, second)[0]

    def winning_openings(self) -> list[int]:
        """The cells on which the first player begins and wins."""
        return [cell for cell in range(self._cells) if self.winner(1 << cell, 0) == FIRST]

    def _solve(self, first: int, second: int) -> Proof:
        """The proof of a position in which nobody is connected, looked up as it is and turned by 180 degrees."""
        proof = self._proofs.get((first, second))
        if proof is None:
            turned = self._proofs.get((self._turned(first), self._turned(second)))
            proof = self._prove(first, second) if turned is None else (turned[0], self._turned(turned[1]))
            self._proofs[first, second] = proof
        return proof

    def _prove(self, first: int, second: int) -> Proof:
        mover = SECOND if first.bit_count() > second.bit_count() else FIRST
        opponent = 1 - mover
        stones = (first, second)
        empty = self._full & ~(first | second)
        if wins := self._linking_cells(stones[mover], empty, mover):
            return mover, wins & -wins
        must_play, needed = empty, 0
        if threats := self._linking_cells(stones[opponent], empty, opponent):
            one = threats & -threats
            if rest := threats & ~one:
                return opponent, one | (rest & -rest)
            must_play = needed = one
        for bit in self._ordered(first, second, must_play):
            if must_play & bit:
                winner, carrier = (
                    self._solve(first | bit, second) if mover == FIRST else self._solve(first, second | bit)
                )
                if winner == mover:
                    return mover, carrier | bit
                must_play &= carrier
                needed |= carrier
        return opponent, needed

    def _ordered(self, first: int, second: int, cells: int) -> list[int]:
        """The single bits of `cells`, those through which most current flows first."""
        if cells & (cells - 1) == 0:
            return [cells]
        through, total = self._circuits.currents([(first, second)])
        order = np.argsort(-(through / total[..., None])[0].sum(0)).tolist()
        return [1 << cell for cell in order if cells >> cell & 1]

    def _linking_cells(self, stones: int, empty: int, player: int) -> int | None:
        """The cells of `empty` each of which would connect the player's sides; None if they are connected."""
        start, goal = (side & stones for side in self._sides[player])
        from_start, from_goal = self._filled(start, stones), self._filled(goal, stones)
        if from_start & from_goal:
            return None
        reach = [
            side | self._neighbours(group)
            for side, group in zip(self._sides[player], (from_start, from_goal), strict=True)
        ]
        return reach[0] & reach[1] & empty

    def _filled(self, group: int, stones: int) -> int:
        """The stones linked to those of `group`."""
        while True:
            grown = group | self._neighbours(group) & stones
            if grown == group:
                return group
            group = grown

    def _neighbours(self, cells: int) -> int:
        """The cells next to `cells`: left and right, above and above right, below and below left."""
        size = self._size
        right, left = (cells & self._not_right) << 1, (cells & self._not_left) >> 1
        below, above = cells << size | (left << size), cells >> size | (right >> size)
        return (right | left | below | above) & self._full

    def _turned(self, cells: int) -> int:
        return int(format(cells, f"0{self._cells}b")[::-1], 2)
