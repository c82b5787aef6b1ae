"""Base class of bots that depend on the state only and have no policy."""

from __future__ import annotations

from collections.abc import Sequence

import pyspiel

OWN = ("step", "restart", "clone")
"""Methods that a subclass must define: OpenSpiel's `restart` does nothing, and its `step` and `clone` fail."""


class StateBot(pyspiel.Bot):
    """Bot that needs no `inform_action`, has no policy, and can be cloned.

    Raises:
        TypeError: a subclass lacks a method of `OWN`.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if missing := [name for name in OWN if getattr(cls, name) is getattr(pyspiel.Bot, name)]:
            raise TypeError(f"{cls.__name__} must define {', '.join(OWN)}, and lacks {', '.join(missing)}")

    def restart_at(self, state: pyspiel.State) -> None:
        """Starts a new game, as `restart` does."""
        self.restart()

    def provides_policy(self) -> bool:
        """Returns False."""
        return False

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Ignored: the next state contains the action."""

    def inform_actions(self, state: pyspiel.State, actions: Sequence[int]) -> None:
        """Called after simultaneous moves, which the supported games don't have."""

    def is_clonable(self) -> bool:
        """Returns True: `clone` is implemented."""
        return True
