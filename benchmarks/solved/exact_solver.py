"""Who wins a position, exactly: alpha-beta on the sign of the result, over the states of OpenSpiel and nothing else.

It shares no code with the searches of the library, which are measured by what it finds. A value is the first player's:
1, 0 or -1. States with the same text and the same mover are taken for one position, so it is for games in which nothing
else matters to what follows, as in those of `games.py`; and for two players, without chance.

Whoever is to move tries first the actions that leave fewest replies, and of those the ones that have decided most
positions for them so far (the history heuristic: Schaeffer 1989). Before any child is searched, all of them are looked
up among the positions that were valued (enhanced transposition cutoffs: Plaat et al. 1996).
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pyspiel


class TooManyNodesError(Exception):
    """More positions would have to be expanded than the solver may."""


class _Node(NamedTuple):
    """A state, the action that led to it, and what is known of it: its value lies in [low, high]."""

    state: pyspiel.State
    position: tuple[str, int]
    action: int
    low: int
    high: int


class ExactSolver:
    """Values positions of one game; what it has found out about them it keeps.

    Args:
        most_nodes: positions that it expands at most; none: no bound.

    Attributes:
        nodes: positions expanded so far.
    """

    def __init__(self, most_nodes: int | None = None) -> None:
        self.nodes = 0
        self._most_nodes = most_nodes
        self._bounds: dict[tuple[str, int], tuple[int, int]] = {}
        self._decided: Counter[tuple[int, int]] = Counter()

    def value(self, state: pyspiel.State) -> int:
        """What the position is worth to the first player: 1, 0 or -1.

        Raises:
            TooManyNodesError: `most_nodes` are expanded and it is not known.
        """
        return self._search(self._node(state), -1, 1)

    def keeping(self, state: pyspiel.State) -> tuple[int, ...]:
        """The legal actions that keep the result of best play, in the order of `legal_actions`.

        Raises:
            TooManyNodesError: `most_nodes` are expanded and they are not known.
        """
        best, mover = self.value(state), state.current_player()
        return tuple(action for action in state.legal_actions() if self._is_as_good(state.child(action), best, mover))

    def _is_as_good(self, state: pyspiel.State, value: int, player: int) -> bool:
        """Whether the position is worth `value` or more to that player."""
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
        """The value if it lies between alpha and beta; else a bound of it, on the side of them where it is."""
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
        """The same, by the children."""
        if self.nodes == self._most_nodes:
            raise TooManyNodesError(f"expected to know it after {self.nodes:,} positions: allow more")
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
