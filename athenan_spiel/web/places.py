"""How many think at once: as many as the machine has cores, whoever came first."""

from __future__ import annotations

from athenan_spiel.system.machine import cores


class Places:
    """Places of those who think at once; all of it is called from one thread.

    Args:
        count: of places; by default the cores that this process may use.

    Attributes:
        count: as the argument.
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = cores() if count is None else count
        self._taken: set[int] = set()

    def take(self, who: object) -> bool:
        """Take a place; False where none is free."""
        if len(self._taken) >= self.count and id(who) not in self._taken:
            return False
        self._taken.add(id(who))
        return True

    def leave(self, who: object) -> None:
        """Give the place back."""
        self._taken.discard(id(who))
