"""Depth-limited minimax, as plainly as it goes, with nothing cut off, merged or remembered.

It compares (c, v): a terminal state is (who has won, its worth), a state at the horizon (0, its estimate); without
completion c is always 0.
"""

from __future__ import annotations

from collections.abc import Callable

import pyspiel

from oracles.brute_force import who_won
from oracles.evaluators import Evaluator


class PlainMinimax:
    """Minimax to a depth.

    Args:
        estimate: of the states at the horizon.
        worth: of terminal states.
        completion: whether c counts.

    Attributes:
        estimated: how many states at the horizon were valued.
    """

    def __init__(
        self,
        estimate: Evaluator,
        worth: Callable[[pyspiel.State], float] = who_won,
        *,
        completion: bool = True,
    ) -> None:
        self._estimate = estimate
        self._worth = worth
        self._completion = completion
        self.estimated = 0

    def pair(self, state: pyspiel.State, depth: int) -> tuple[float, float]:
        """(c, v) of `state`."""
        if state.is_terminal():
            return who_won(state) if self._completion else 0.0, self._worth(state)
        if depth == 0:
            self.estimated += 1
            return 0.0, float(self._estimate([state])[0])
        pairs = [self.pair(state.child(action), depth - 1) for action in state.legal_actions()]
        return max(pairs) if state.current_player() == 0 else min(pairs)

    def action_pairs(self, state: pyspiel.State, depth: int) -> list[tuple[float, float]]:
        """(c, v) of each action of `state`, searched to `depth`."""
        return [self.pair(state.child(action), depth - 1) for action in state.legal_actions()]
