"""Limits of all games of the process: the number of concurrent searches and the memory of their trees.

1. At most `SearchSlots.count` searches run at once, one per core by default.
2. Half of the memory limit is for growing trees. Each has an equal share, as a maximum number of states (`Tree.most`).
   A search ends when its tree is full.
3. The other half is for idle trees. When they exceed it, `GameSessions` frees the ones unused longest.
4. Programs outside this process, such as GTP engines and Ludii's AIs, are not counted.
"""

from __future__ import annotations

from collections.abc import Collection

import pyspiel

from agents import AthenanBot
from athenan_spiel.errors import ConfigError
from athenan_spiel.search.sizes import node_bytes, sample_trees
from athenan_spiel.search.tree import Tree
from athenan_spiel.system.machine import cores, megabytes, memory
from athenan_spiel.system.portable import resident_memory

MEMORY_FRACTION = 0.5
"""Default memory limit of the process, as a fraction of the memory it may use."""
DEFAULT_BYTES = 4 * 10**9
"""Default memory limit, in bytes, if the system doesn't report its memory."""
RESERVED_BYTES = 200 * 10**6
"""Memory for networks, curves and pages, in bytes, in addition to what the process occupies at the start."""
MIN_TREE_BYTES = 2 * 10**6
"""Minimum share of a tree, in bytes."""


class SearchSlots:
    """Slots for concurrent searches. Used from one thread.

    Args:
        count: number of slots; the number of usable cores by default.
    """

    def __init__(self, count: int | None = None) -> None:
        self.count = cores() if count is None else count
        self._owners: set[int] = set()

    def acquire(self, owner: object) -> bool:
        """Takes a slot for `owner`. Returns False if none is free."""
        if len(self._owners) >= self.count and id(owner) not in self._owners:
            return False
        self._owners.add(id(owner))
        return True

    def release(self, owner: object) -> None:
        """Frees the slot of `owner`."""
        self._owners.discard(id(owner))


class TreeMemory:
    """Memory limit of search trees.

    Args:
        limit: limit of all trees together, in bytes.
        slots: maximum number of concurrent searches.
    """

    def __init__(self, limit: int, slots: int) -> None:
        self.limit = limit
        self.share = limit // (2 * slots)
        """Maximum size of a tree, in bytes."""

    @property
    def share_megabytes(self) -> int:
        """Share of a tree in MB, rounded down, for OpenSpiel's MCTS."""
        return max(1, self.share // 10**6)

    def bound(self, bot: pyspiel.Bot) -> None:
        """Limits the trees of a bot to their share. Measures the size of a state."""
        if isinstance(bot, AthenanBot):
            search = bot.agent.search
            state = node_bytes(sample_trees(search, priors=search.tells_policy))
            bot.agent.bound_tree(max(1, self.share // state))

    def size(self, trees: Collection[Tree]) -> float:
        """Returns the memory of bounded trees, in bytes, estimated from their number of states."""
        return sum(self.share * len(tree.table) / tree.most for tree in trees if tree.most is not None)

    def is_exceeded(self, trees: Collection[Tree]) -> bool:
        """Returns whether idle trees take more than half of the limit."""
        return self.size(trees) > self.limit / 2


def tree_memory(limit: int | None, slots: int) -> TreeMemory:
    """Returns the memory limit of trees in a process that may occupy `limit` bytes in total.

    Args:
        limit: by default half of the memory that the process may use.

    Raises:
        ConfigError: the limit leaves no room for trees.
    """
    taken = (resident_memory() or 0) + RESERVED_BYTES
    least = taken + 2 * slots * MIN_TREE_BYTES
    if limit is None:
        limit = max(least, int(MEMORY_FRACTION * (memory() or DEFAULT_BYTES / MEMORY_FRACTION)))
    if limit < least:
        raise ConfigError(
            f"--memory must be at least {megabytes(least)} for pages and {slots} searches at once, "
            f"got {megabytes(limit)}"
        )
    return TreeMemory(limit - taken, slots)
