"""One memory limit for the search trees of all games of this process.

1. One half of the limit is for trees that grow. At most as many searches run at once as there are places, so each tree
   has an equal share of that half, as a maximum number of states (`Tree.most`). A search ends where its tree is full.
2. The other half is for trees that stay, such as those of games whose visitors think themselves. Where they would take
   more, `Visits` releases the ones unused longest.
3. Programs that run outside this process, such as GTP engines and Ludii's AIs, are not counted.
"""

from __future__ import annotations

from collections.abc import Collection

import pyspiel

from agents import AthenanBot
from athenan_spiel.errors import ConfigError
from athenan_spiel.search.sizes import node_bytes, sample_trees
from athenan_spiel.search.tree import Tree
from athenan_spiel.system.machine import megabytes, memory
from athenan_spiel.system.portable import occupied

SHARE_OF_MACHINE = 0.5
"""Default memory limit of the process, as a fraction of what it may use."""
DEFAULT_BYTES = 4 * 10**9
"""The same where the system does not say how much that is."""
RESERVED_BYTES = 200 * 10**6
"""Memory for networks, curves and pages, besides what the process occupies before the first visit."""
MIN_SHARE = 2 * 10**6
"""Minimum share of a tree, in bytes."""


class TreeMemory:
    """Bounds trees and tells how much they take.

    Args:
        limit: Of all trees together, in bytes.
        places: Maximum number of searches that run at once.
    """

    def __init__(self, limit: int, places: int) -> None:
        self.limit = limit
        self.share = limit // (2 * places)
        """Maximum size of a tree, in bytes."""

    @property
    def share_megabytes(self) -> int:
        """The share in MB, rounded down, as OpenSpiel's MCTS takes it."""
        return max(1, self.share // 10**6)

    def bound(self, bot: pyspiel.Bot) -> None:
        """Let the trees of a bot take no more than their share; it measures how large a state is."""
        if isinstance(bot, AthenanBot):
            search = bot.agent.search
            state = node_bytes(sample_trees(search, priors=search.tells_policy))
            bot.agent.bound_tree(max(1, self.share // state))

    def size(self, trees: Collection[Tree]) -> float:
        """Memory of bounded trees, in bytes, as far as states say it."""
        return sum(self.share * len(tree.table) / tree.most for tree in trees if tree.most is not None)

    def is_exceeded(self, trees: Collection[Tree]) -> bool:
        """Whether trees that don't grow take more than their half of the limit."""
        return self.size(trees) > self.limit / 2


def tree_memory(limit: int | None, places: int) -> TreeMemory:
    """The memory of trees in a process that may occupy `limit` bytes in all.

    Args:
        limit: None: half of what the process may use.

    Raises:
        ConfigError: the limit is less than what the process occupies already, with some room for trees.
    """
    taken = (occupied() or 0) + RESERVED_BYTES
    least = taken + 2 * places * MIN_SHARE
    if limit is None:
        limit = max(least, int(SHARE_OF_MACHINE * (memory() or DEFAULT_BYTES / SHARE_OF_MACHINE)))
    if limit < least:
        raise ConfigError(
            f"--memory must be at least {megabytes(least)} for pages and {places} searches at once, "
            f"got {megabytes(limit)}"
        )
    return TreeMemory(limit - taken, places)
