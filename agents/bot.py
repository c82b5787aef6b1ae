"""Base class of this package's bots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyspiel


class BaseBot(pyspiel.Bot):
    """Base class with defaults of `pyspiel.Bot`'s methods; a subclass defines `step` and `restart`.

    By default, `pickle` calls the class again with `_made_of`, so the copy is in its initial state.
    """

    _made_of: tuple[Any, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns the class and its arguments, for `pickle`."""
        return type(self), self._made_of

    def step(self, state: pyspiel.State) -> int:
        """Returns the action to play in `state`."""
        raise NotImplementedError

    def restart(self) -> None:
        """Starts a new game at the initial state."""
        raise NotImplementedError

    def restart_at(self, state: pyspiel.State) -> None:
        """Starts a new game at `state`."""
        self.restart()

    def provides_policy(self) -> bool:
        """Returns whether `get_policy` and `step_with_policy` are implemented."""
        return type(self).get_policy is not pyspiel.Bot.get_policy

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Called after another player chose `action` in `state`."""

    def inform_actions(self, state: pyspiel.State, actions: Sequence[int]) -> None:
        """Called after simultaneous moves, which the supported games don't have."""

    def is_clonable(self) -> bool:
        """Returns whether `clone` is implemented."""
        return type(self).clone is not pyspiel.Bot.clone
