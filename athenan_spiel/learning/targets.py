"""What one match has to teach: the states of its tree with their values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.encoding.compact import CompactRows, ObservationStore
from athenan_spiel.errors import LearningError
from athenan_spiel.tree import Tree


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The data set D of one match: N states and what the network shall answer for them."""

    rows: list[CompactRows]
    """The N observations; laid end to end, the packs are in the order of `values`."""
    values: NDArray[np.float32]
    """[N]: v(s), the first player's view."""

    def __len__(self) -> int:
        return len(self.values)


def tree_targets(tree: Tree) -> Targets:
    """D ← {(s, v(s)) | s ∈ S}: every non-leaf and every terminal state of the match's tree (Algorithm 3).

    Non-terminal leaves are left out: their values are the network's own, and there are many of them (Remark 3).
    v(s) is the value as the tree holds it at the end of the match, for a resolved state too.

    Raises:
        LearningError: the tree stores no observations, or some without a state that they belong to.
    """
    store = tree.store
    if not isinstance(store, ObservationStore):
        raise LearningError(
            f"expected a tree that keeps observations, got store={store!r}: give it an ObservationStore"
        )
    indices = [node.observation for node in tree.nodes] + [index for index, _ in tree.terminals]
    if len(indices) != len(store):
        raise LearningError(f"expected a state for each of {len(store)!r} observations, got {len(indices)!r}")
    values = np.empty(len(store), np.float32)
    values[indices] = [node.value for node in tree.nodes] + [value for _, value in tree.terminals]
    return Targets(store.chunks(), values)
