"""The training targets of one match: pairs (s, v), by tree, root or terminal learning (Sections 2.2 and 3.1).

`make_targets` says by the settings what a match's tree must store, and how the pairs are read off a finished match.
Which search grew the tree makes no difference.

Ends of random playouts in place of the terminal states that a search has seen.

*Apprendre à jouer aux jeux à deux joueurs à information parfaite sans connaissance* (Cohen-Solal, 2019), Section 4.1:
after a match the terminal states leave D, and from every other state that stays in it a random playout is played, whose
end comes into D with its worth. So what is learned of ends varies more, and is exact as before.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, Self

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.config import TargetsConfig
from athenan_spiel.encoding.compact import CHUNK, CompactRows, ObservationStore
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.errors import LearningError
from athenan_spiel.games.playout import playout
from athenan_spiel.learning.labels import Labels, Policies
from athenan_spiel.search.tree import Tree

NOT_KEPT = -1
"""The index of a terminal state."""


class PlayoutEndsStore(ObservationStore):
    """The store of a match that keeps no terminal states, but ends of playouts.

    A playout is played when its state comes in, which is the same as after the match: it looks at nothing else.

    Args:
        outcome: f_t, the worth of an end.
        seed: of the playouts.

    Attributes:
        ends: the observations of the ends, in order of their states.
        worths: f_t of each of them.
    """

    def __init__(
        self, encoder: Encoder, outcome: Callable[[pyspiel.State], float], seed: int, *, leaves: bool = False
    ) -> None:
        super().__init__(encoder, leaves=leaves)
        self.ends = ObservationStore(encoder)
        self.worths: list[float] = []
        self._begun: list[int] = []  # the index of the state from which each was played
        self._outcome = outcome
        self._rng = random.Random(seed)

    def append(self, state: pyspiel.State) -> int:
        """Encode `state`, unless it is terminal, and return its index; from every other one play to an end."""
        if state.is_terminal():
            return NOT_KEPT
        index = super().append(state)
        if index % 2 == 0:
            end = playout(state.clone(), self._rng.choice)
            self.ends.append(end)
            self.worths.append(float(self._outcome(end)))
            self._begun.append(index)
        return index

    def kept(self, indices: Sequence[int]) -> Self:
        """As `ObservationStore.kept`, with the ends of the playouts from these."""
        twin, new = super().kept(indices), {index: i for i, index in enumerate(indices)}
        ends = [i for i, index in enumerate(self._begun) if index in new]
        twin.ends = self.ends.kept(ends)
        twin.worths = [self.worths[i] for i in ends]
        twin._begun = [new[self._begun[i]] for i in ends]
        return twin


class Played(Protocol):
    """What is asked of a finished match; see `play.self_play.Match`."""

    @property
    def tree(self) -> Tree:
        """Everything searched, with the values as they are in the end."""

    @property
    def states(self) -> Sequence[pyspiel.State]:
        """Those that were searched, in order, and the terminal one: all states of the match, or one analysed state."""

    @property
    def values(self) -> Sequence[float]:
        """v(s) of each of them when its search had ended, and the worth of the terminal one."""

    @property
    def policies(self) -> Sequence[tuple[Sequence[int], Sequence[float]]]:
        """(legal actions, probabilities): what the search would have learned of each of them but the terminal one, when
        it had ended; none where the search tells no policy."""


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The data set D of one match: N states and what the network shall answer for them."""

    rows: list[CompactRows]
    """The N observations; laid end to end, the packs are in the order of `labels`."""
    labels: Labels
    """What is to be learned of each."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        return self.labels.nbytes + sum(pack.nbytes for pack in self.rows)


@dataclass(frozen=True)
class TargetsMethod:
    """A way to learn from matches."""

    read: Callable[[Played], Targets]
    """D of a match."""
    new_store: Callable[[int], ObservationStore] | None
    """Makes, of a match's seed, the store that its tree needs; none: the tree's observations are not learned."""


def make_targets(
    config: TargetsConfig, encoder: Encoder, outcome: Callable[[pyspiel.State], float], *, policies: bool = False
) -> TargetsMethod:
    """The method of the settings, with observations by `encoder`; ends of playouts are worth their `outcome`.

    Args:
        policies: policies are learned, too, of root and terminal learning.
    """

    def new_store(seed: int) -> ObservationStore:
        if config.playout_ends:
            return PlayoutEndsStore(encoder, outcome, seed, leaves=config.leaves)
        return ObservationStore(encoder, leaves=config.leaves)

    match config.method:
        case "tree":
            return TargetsMethod(lambda played: tree_targets(played.tree, coefficients=config.coefficients), new_store)
        case "root":
            return TargetsMethod(lambda played: root_targets(played, encoder, policies=policies), None)
        case "terminal":
            return TargetsMethod(lambda played: terminal_targets(played, encoder, policies=policies), None)


def tree_targets(tree: Tree, *, coefficients: bool = False) -> Targets:
    """D ← {(s, v(s)) | s ∈ S}: every non-leaf and every terminal state of the match's tree (Algorithm 3).

    v(s) is the value as the tree holds it at the end of the match, for a resolved state too. Non-terminal leaves are
    left out, as their values are the network's own, and there are many of them (Remark 3); where the tree's store
    wants them nonetheless, they are learned with v(s, a). Where it holds ends of playouts, these are learned in place
    of the terminal states. States that the tree has let go have the value that they had then.

    Args:
        coefficients: weigh states as `coefficient` says; else all alike.

    Raises:
        LearningError: the tree stores no observations, or some without a state that they belong to.
    """
    store, pruned = tree.store, tree.pruned
    if not isinstance(store, ObservationStore):
        raise LearningError(
            f"expected a tree that keeps observations, got store={store!r}: give it an ObservationStore"
        )
    ends = store if isinstance(store, PlayoutEndsStore) else None
    nodes, leaves, terminals = tree.nodes, tree.leaves.values(), [] if ends else tree.terminals
    indices = [n.observation for n in nodes] + [i for i, _ in terminals] + [leaf.observation for leaf in leaves]
    found = len(indices) + len(pruned.values)
    if found != len(store):
        raise LearningError(f"expected a state for each of {len(store)!r} observations, got {found!r}")
    values = np.empty(len(store), np.float32)
    values[indices] = [n.value for n in nodes] + [worth for _, worth in terminals] + [leaf.value for leaf in leaves]
    gone = np.array(pruned.observations, np.int64)
    values[gone] = pruned.values
    weights = None
    if coefficients:
        weights = np.ones(len(store), np.float32)
        weights[indices[: len(nodes)]] = [coefficient(sum(node.visits.values())) for node in nodes]
        weights[gone] = list(map(coefficient, pruned.updates))
    targets = Targets(store.chunks(), Labels(values, weights))
    return targets if ends is None else _with_ends(targets, ends)


def _with_ends(targets: Targets, store: PlayoutEndsStore) -> Targets:
    """`targets`, and the ends of playouts with their worth, each of weight 1."""
    labels = Labels.joined([targets.labels, Labels(np.array(store.worths, np.float32))])
    return Targets([*targets.rows, *store.ends.chunks()], labels)


def coefficient(updates: int) -> int:
    """1 + ⌊log2(n + 1)⌋, where n counts how often the value of the state was updated: Σ_a n(s, a).

    Coefficiented tree learning is of *Apprendre à jouer aux jeux à deux joueurs à information parfaite sans
    connaissance* (Cohen-Solal, 2019), Section 3.1. A leaf was never updated and counts once. There each pair is
    duplicated that many times; here it has that weight, so a phase takes fewer steps, and no minibatch holds a
    state twice.
    """
    return (updates + 1).bit_length()


def root_targets(played: Played, encoder: Encoder, *, policies: bool = False) -> Targets:
    """D ← D ∪ {(s, v(s))} for each state of the match, with v(s) as it was when s was played in (Algorithm 4).

    Args:
        policies: with P(s) of each state, and without the terminal one, in which nothing is played.
    """
    return _of_match(played, encoder, np.array(played.values, np.float32), policies=policies)


def terminal_targets(played: Played, encoder: Encoder, *, policies: bool = False) -> Targets:
    """D ← {(s', f_t(s)) | s' ∈ G}: all states of the match with the worth of its end (Algorithm 5).

    Args:
        policies: D ← {(s', f_t(s), P(s'))}, without the terminal state (*Minimax Strikes Back*, Algorithm 2).
    """
    values = np.full(len(played.values), played.values[-1], np.float32)
    return _of_match(played, encoder, values, policies=policies)


def _of_match(played: Played, encoder: Encoder, values: NDArray[np.float32], *, policies: bool) -> Targets:
    if not policies:
        return Targets(_observations(played.states, encoder), Labels(values))
    labels = Labels(values[:-1], policies=Policies.of(played.policies))
    return Targets(_observations(played.states[:-1], encoder), labels)


def _observations(states: Iterable[pyspiel.State], encoder: Encoder) -> list[CompactRows]:
    coming, packs = iter(states), []
    while chunk := list(islice(coming, CHUNK)):
        packs.append(CompactRows.pack(encoder.encode(chunk).reshape(len(chunk), -1)))
    return packs
