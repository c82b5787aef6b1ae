"""What bots have in common that look at the state alone and tell nothing but their choice."""

from __future__ import annotations

from collections.abc import Sequence

import pyspiel

OWN = ("step", "restart", "clone")
"""What each of them says itself: OpenSpiel's own `restart` does nothing, its `step` and `clone` fail when called."""


class StateBot(pyspiel.Bot):
    """A bot that need not be told what others do, as the next state says so; it has no policy, and can be cloned.

    Raises:
        TypeError: as a subclass is made that lacks one of `OWN`.
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if missing := [name for name in OWN if getattr(cls, name) is getattr(pyspiel.Bot, name)]:
            raise TypeError(f"{cls.__name__} must define {', '.join(OWN)}, and lacks {', '.join(missing)}")

    def restart_at(self, state: pyspiel.State) -> None:
        """A new match begins at `state`: as `restart`."""
        self.restart()

    def provides_policy(self) -> bool:
        """False: it tells its choice alone."""
        return False

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Another player chose `action` in `state`; the next state says so too."""

    def inform_actions(self, state: pyspiel.State, actions: Sequence[int]) -> None:
        """All players chose at once, which does not happen in the games that are played here."""

    def is_clonable(self) -> bool:
        """True: `clone` answers."""
        return True
