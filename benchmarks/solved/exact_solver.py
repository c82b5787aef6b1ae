"""Exact solver for any two-player game without chance: alpha-beta on the sign of the result, over OpenSpiel's states.

Shares no code with the library's searches, which are measured by its results. Values are those of the first player: 1,
0 or -1. States with the same text and mover count as one position, which must be true of the game, as it is in
`games.py`.

Actions with the fewest replies are tried first, then those that have decided the most positions for the mover (history
heuristic: Schaeffer 1989). Before a child is searched, all children are looked up among the solved positions (enhanced
transposition cutoffs: Plaat et al. 1996).
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pyspiel


class TooManyNodesError(Exception):
    """The limit of expanded positions is reached."""


class _Node(NamedTuple):
    """A state, the action that led to it, and bounds of its value: [low, high]."""

    state: pyspiel.State
    position: tuple[str, int]
    action: int
    low: int
    high: int


class ExactSolver:
    """Solves positions of one game, and stores bounds of their values.

    Args:
        most_nodes: maximum number of expanded positions; None: no limit.

    Attributes:
        nodes: number of expanded positions.
    """

    def __init__(self, most_nodes: int | None = None) -> None:
        self.nodes = 0
        self._most_nodes = most_nodes
        self._bounds: dict[tuple[str, int], tuple[int, int]] = {}
        self._decided: Counter[tuple[int, int]] = Counter()

    def value(self, state: pyspiel.State) -> int:
        """Returns the value of the position for the first player: 1, 0 or -1.

        Raises:
            TooManyNodesError: `most_nodes` positions don't suffice.
        """
        return self._search(self._node(state), -1, 1)

    def keeping(self, state: pyspiel.State) -> tuple[int, ...]:
        """Returns the legal actions that keep the result of best play, in the order of `legal_actions`.

        Raises:
            TooManyNodesError: `most_nodes` positions don't suffice.
        """
        best, mover = self.value(state), state.current_player()
        return tuple(action for action in state.legal_actions() if self._is_at_least(state.child(action), best, mover))

    def _is_at_least(self, state: pyspiel.State, value: int, player: int) -> bool:
        """Returns whether the position has at least this value for the player."""
        if player == 0:
            return self._search(self._node(state), value - 1, value) >= value
        return self._search(self._node(state), value, value + 1) <= value

    def _node(self, state: pyspiel.State, action: int = -1) -> _Node:
        position = str(state), state.current_player()
        if state.is_terminal():
            first, second = state.returns()
            value = (first > second) - (first < second)
            return _Node(state, position, action, value, value)
        return _Node(state, position, action, *self._bounds.get(position, (-1, 1)))

    def _search(self, node: _Node, alpha: int, beta: int) -> int:
        """Returns the value if it is between alpha and beta, otherwise a bound on the same side."""
        low, high = self._bounds.get(node.position, (node.low, node.high))
        if low >= beta or low == high:
            return low
        if high <= alpha:
            return high
        alpha, beta = max(alpha, low), min(beta, high)
        found = self._expand(node.state, alpha, beta)
        self._bounds[node.position] = (found if found > alpha else low, found if found < beta else high)
        return found

    def _expand(self, state: pyspiel.State, alpha: int, beta: int) -> int:
        """Returns the same value, computed from the children."""
        if self.nodes == self._most_nodes:
            raise TooManyNodesError(f"not solved after {self.nodes:,} positions: increase the limit")
        self.nodes += 1
        mover = state.current_player()
        children = [self._node(state.child(action), action) for action in state.legal_actions()]
        known = max(child.low for child in children) if mover == 0 else min(child.high for child in children)
        if known >= beta if mover == 0 else known <= alpha:
            return known
        best = -1 if mover == 0 else 1
        children.sort(key=lambda child: (len(child.state.legal_actions()), -self._decided[mover, child.action]))
        for child in children:
            value = self._search(child, alpha, beta)
            if mover == 0:
                best = max(best, value)
                alpha = max(alpha, best)
            else:
                best = min(best, value)
                beta = min(beta, best)
            if alpha >= beta:
                self._decided[mover, child.action] += 1
                break
        return best
