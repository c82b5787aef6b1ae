"""The training targets of one match: pairs (s, v), by tree, root or terminal learning (Sections 2.2 and 3.1).

`make_targets` says by the settings what a match's tree must store, and how the pairs are read off a finished match.
Which search grew the tree makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.config import TargetsConfig
from athenan_spiel.encoding.compact import CompactRows, ObservationStore
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.errors import LearningError
from athenan_spiel.learning.playout_ends import PlayoutEndsStore
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Tree


class Played(Protocol):
    """What is asked of a finished match; see `play.self_play.Match`."""

    @property
    def tree(self) -> Tree:
        """Everything searched, with the values as they are in the end."""

    @property
    def states(self) -> Sequence[pyspiel.State]:
        """The states of the match, from the initial to the terminal one."""

    @property
    def values(self) -> Sequence[float]:
        """v(s) of each of them when its action was decided, and the worth of the terminal one."""


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The data set D of one match: N states and what the network shall answer for them."""

    rows: list[CompactRows]
    """The N observations; laid end to end, the packs are in the order of `values`."""
    values: NDArray[np.float32]
    """[N]: v(s), the first player's view."""
    weights: NDArray[np.float32] | None = None
    """[N]: how much each counts in the loss, above zero; none: 1 each."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        weights = 0 if self.weights is None else self.weights.nbytes
        return self.values.nbytes + weights + sum(pack.nbytes for pack in self.rows)


@dataclass(frozen=True)
class TargetsMethod:
    """A way to learn from matches."""

    read: Callable[[Played], Targets]
    """D of a match."""
    new_store: Callable[[int], ObservationStore] | None
    """Makes, of a match's seed, the store that its tree needs; none: the tree's observations are not learned."""


def make_targets(config: TargetsConfig, encoder: Encoder, outcome: Callable[[pyspiel.State], float]) -> TargetsMethod:
    """The method of the settings, with observations by `encoder`; ends of playouts are worth their `outcome`."""

    def new_store(seed: int) -> ObservationStore:
        if config.playout_ends:
            return PlayoutEndsStore(encoder, outcome, seed, leaves=config.leaves)
        return ObservationStore(encoder, leaves=config.leaves)

    match config.method:
        case "tree":
            return TargetsMethod(lambda played: tree_targets(played.tree, coefficients=config.coefficients), new_store)
        case "root":
            return TargetsMethod(lambda played: root_targets(played, encoder), None)
        case "terminal":
            return TargetsMethod(lambda played: terminal_targets(played, encoder), None)


def tree_targets(tree: Tree, *, coefficients: bool = False) -> Targets:
    """D ← {(s, v(s)) | s ∈ S}: every non-leaf and every terminal state of the match's tree (Algorithm 3).

    v(s) is the value as the tree holds it at the end of the match, for a resolved state too. Non-terminal leaves are
    left out, as their values are the network's own, and there are many of them (Remark 3); where the tree's store
    wants them nonetheless, they are learned with v(s, a). Where it holds ends of playouts, these are learned in place
    of the terminal states.

    Args:
        coefficients: weigh states as `coefficient` says; else all alike.

    Raises:
        LearningError: the tree stores no observations, or some without a state that they belong to.
    """
    store = tree.store
    if not isinstance(store, ObservationStore):
        raise LearningError(
            f"expected a tree that keeps observations, got store={store!r}: give it an ObservationStore"
        )
    ends = store if isinstance(store, PlayoutEndsStore) else None
    nodes, leaves, terminals = tree.nodes, tree.leaves.values(), [] if ends else tree.terminals
    indices = [n.observation for n in nodes] + [i for i, _ in terminals] + [leaf.observation for leaf in leaves]
    if len(indices) != len(store):
        raise LearningError(f"expected a state for each of {len(store)!r} observations, got {len(indices)!r}")
    values = np.empty(len(store), np.float32)
    values[indices] = [n.value for n in nodes] + [worth for _, worth in terminals] + [leaf.value for leaf in leaves]
    weights = None
    if coefficients:
        weights = np.ones(len(store), np.float32)
        weights[indices[: len(nodes)]] = list(map(coefficient, nodes))
    targets = Targets(store.chunks(), values, weights)
    return targets if ends is None else _with_ends(targets, ends)


def _with_ends(targets: Targets, store: PlayoutEndsStore) -> Targets:
    """`targets`, and the ends of playouts with their worth, each of weight 1."""
    worths = np.array(store.worths, np.float32)
    weights = None if targets.weights is None else np.concatenate([targets.weights, np.ones_like(worths)])
    return Targets([*targets.rows, *store.ends.chunks()], np.concatenate([targets.values, worths]), weights)


def coefficient(node: Node) -> int:
    """1 + ⌊log2(n + 1)⌋, where n counts how often the value of the state was updated: Σ_a n(s, a).

    Coefficiented tree learning is of *Apprendre à jouer aux jeux à deux joueurs à information parfaite sans
    connaissance* (Cohen-Solal, 2019), Section 3.1. A leaf was never updated and counts once. There each pair is
    duplicated that many times; here it has that weight, so a phase takes fewer steps, and no minibatch holds a
    state twice.
    """
    return (sum(node.visits.values()) + 1).bit_length()


def root_targets(played: Played, encoder: Encoder) -> Targets:
    """D ← D ∪ {(s, v(s))} for each state of the match, with v(s) as it was when s was played in (Algorithm 4)."""
    return Targets(_observations(played.states, encoder), np.array(played.values, np.float32))


def terminal_targets(played: Played, encoder: Encoder) -> Targets:
    """D ← {(s', f_t(s)) | s' ∈ G}: all states of the match with the worth of its end (Algorithm 5)."""
    values = np.full(len(played.states), played.values[-1], np.float32)
    return Targets(_observations(played.states, encoder), values)


def _observations(states: Sequence[pyspiel.State], encoder: Encoder) -> list[CompactRows]:
    return [CompactRows.pack(encoder.encode(states).reshape(len(states), -1))]
