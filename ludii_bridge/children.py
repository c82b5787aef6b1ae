"""The children of a Ludii state, created in one call, as a sequence of states.

For most children a search needs only whether they have ended, and their observation. Both are available without a
Python object per child; that object is created on access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ludii_bridge.transport import Position, Siblings

S = TypeVar("S")
"""Type of a state: `state.LudiiState`, except in tests."""


class LudiiChildren(Sequence[S], Generic[S]):
    """The states after some legal actions of a state, in order.

    Args:
        state: creates a child from its action and its position.
        siblings: positions after all legal actions.
        actions: the selected actions.
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
        """Returns the children with these indices."""
        return LudiiChildren(self._state, self._siblings, [self._actions[i] for i in indices])

    @property
    def players(self) -> list[int]:
        """`current_player` of each child."""
        players = self._siblings.players
        return players if isinstance(self._actions, range) else [players[action] for action in self._actions]

    def observe(self, out: NDArray[np.float32]) -> None:
        """Writes the observation of each child into a row of `out`, float32 [n, size]."""
        self._siblings.observe(self._actions, out)
