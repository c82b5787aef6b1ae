"""The children of a Ludii state, all made at once, as a sequence of states.

A search asks of most children no more than whether they have ended and what a network sees of them. Both come
without an object for each; that of a child is made each time it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ludii_bridge.transport import Position, Siblings

S = TypeVar("S")
"""A state; `state.LudiiState` in all that is not a test."""


class LudiiChildren(Sequence[S], Generic[S]):
    """The states after some legal actions of a state, in their order.

    Args:
        state: makes the state after an action of the position there.
        siblings: the positions after all legal actions.
        actions: which of them are meant.
    """

    __slots__ = ("_actions", "_siblings", "_state")

    def __init__(self, state: Callable[[int, Position], S], siblings: Siblings, actions: Sequence[int]) -> None:
        self._state = state
        self._siblings = siblings
        self._actions = actions

    def __len__(self) -> int:
        return len(self._actions)

    @overload
    def __getitem__(self, index: int) -> S: ...
    @overload
    def __getitem__(self, index: slice) -> LudiiChildren[S]: ...
    def __getitem__(self, index: int | slice) -> S | LudiiChildren[S]:
        if isinstance(index, slice):
            return self.some(range(len(self))[index])
        action = self._actions[index]
        return self._state(action, self._siblings[action])

    def some(self, indices: Iterable[int]) -> LudiiChildren[S]:
        """Those with these indices, as a sequence of the same kind."""
        return LudiiChildren(self._state, self._siblings, [self._actions[i] for i in indices])

    @property
    def players(self) -> list[int]:
        """The `current_player` of each."""
        players = self._siblings.players
        return players if isinstance(self._actions, range) else [players[action] for action in self._actions]

    def observe(self, out: NDArray[np.float32]) -> None:
        """Write the observation of each into a row of `out`, float32 [n, size]."""
        self._siblings.observe(self._actions, out)
