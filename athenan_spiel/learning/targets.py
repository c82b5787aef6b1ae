"""Training samples of a game: pairs (s, v), by tree, root or terminal learning (the article, Sections 2.2 and 3.1).

`make_targets` returns a method: the store that a game's tree needs, and the function that reads samples from a finished
game. Both are independent of the search that grew the tree.

`PlayoutEndsStore` replaces the terminal states that the search has seen by ends of random playouts (*Apprendre à jouer
aux jeux à deux joueurs à information parfaite sans connaissance*, Cohen-Solal, 2019, Section 4.1): terminal states
leave D after a game, and a random playout from every second remaining state adds its end with its value. So the ends
that are learned vary more, and their values are still exact.
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
from athenan_spiel.search.node import Value
from athenan_spiel.search.tree import Tree

NOT_KEPT = -1
"""Index of terminal states, which are not stored."""


class PlayoutEndsStore(ObservationStore):
    """Store of a game that contains ends of playouts in place of terminal states.

    A playout is played when its state is added. It doesn't affect the search, as it has its own random generator. So
    this is equivalent to playing it after the game.

    Args:
        outcome: returns the terminal value f_t of an end.
        seed: random seed of the playouts.

    Attributes:
        ends: observations of the ends, in the order of their states.
        terminal_values: terminal value of each end, a number or a row.
    """

    def __init__(
        self, encoder: Encoder, outcome: Callable[[pyspiel.State], float], seed: int, *, leaves: bool = False
    ) -> None:
        super().__init__(encoder, leaves=leaves)
        self.ends = ObservationStore(encoder)
        self.terminal_values: list[Value] = []
        self._origins: list[int] = []  # index of the state where each playout started
        self._outcome = outcome
        self._rng = random.Random(seed)

    def append(self, state: pyspiel.State) -> int:
        """Encodes `state` unless it is terminal, and returns its index. Every second state gets a playout."""
        if state.is_terminal():
            return NOT_KEPT
        index = super().append(state)
        if index % 2 == 0:
            end = playout(state.clone(), self._rng.choice)
            self.ends.append(end)
            self.terminal_values.append(self._outcome(end))
            self._origins.append(index)
        return index

    def kept(self, indices: Sequence[int]) -> Self:
        """As `ObservationStore.kept`, with the ends of playouts from these states."""
        twin, new = super().kept(indices), {index: i for i, index in enumerate(indices)}
        ends = [i for i, index in enumerate(self._origins) if index in new]
        twin.ends = self.ends.kept(ends)
        twin.terminal_values = [self.terminal_values[i] for i in ends]
        twin._origins = [new[self._origins[i]] for i in ends]
        return twin


class PlayedGame(Protocol):
    """A finished game; see `play.self_play.SelfPlayGame`."""

    @property
    def tree(self) -> Tree:
        """The search tree with its final values."""

    @property
    def states(self) -> Sequence[pyspiel.State]:
        """Searched states in order, and the terminal state: all states of the game, or one analysed state. Chance
        states between them are included."""

    @property
    def values(self) -> Sequence[Value]:
        """v(s) of each after its search, and the terminal value. A chance state has the value of the next state."""

    @property
    def policies(self) -> Sequence[tuple[Sequence[int], Sequence[float]]]:
        """(legal actions, probabilities) of each searched state after its search, empty for a chance state; an empty
        sequence if the search has no policy."""


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """Data set D of one game: N states and their labels."""

    rows: list[CompactRows]
    """The N observations, in packs; concatenated they are in the order of `labels`."""
    labels: Labels
    """Label of each state."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def nbytes(self) -> int:
        """Size of the arrays, in bytes."""
        return self.labels.nbytes + sum(pack.nbytes for pack in self.rows)


@dataclass(frozen=True)
class TargetsMethod:
    """A method of reading training samples from games."""

    read: Callable[[PlayedGame], Targets]
    """Returns D of a game."""
    new_store: Callable[[int], ObservationStore] | None
    """Makes the store of a tree from the seed of its game; None if observations of the tree are not learned."""


def make_targets(
    config: TargetsConfig, encoder: Encoder, outcome: Callable[[pyspiel.State], float], *, policies: bool = False
) -> TargetsMethod:
    """Returns the method of `config`.

    Args:
        outcome: returns the terminal value of an end of a playout.
        policies: whether root and terminal learning also learn policies.
    """

    def new_store(seed: int) -> ObservationStore:
        if config.playout_ends:
            return PlayoutEndsStore(encoder, outcome, seed, leaves=config.leaves)
        return ObservationStore(encoder, leaves=config.leaves)

    match config.method:
        case "tree":
            return TargetsMethod(lambda played: tree_targets(played.tree, coefficients=config.coefficients), new_store)
        case "root":
            return TargetsMethod(
                lambda played: root_targets(played, encoder, policies=policies, trace_decay=config.trace_decay), None
            )
        case "terminal":
            return TargetsMethod(lambda played: terminal_targets(played, encoder, policies=policies), None)


def tree_targets(tree: Tree, *, coefficients: bool = False) -> Targets:
    """D ← {(s, v(s)) | s ∈ S}: every non-leaf and every terminal state of a game's tree (Algorithm 3).

    v(s) is the final value in the tree, also for a resolved state. Non-terminal leaves are left out, as they are many
    and their values are the network's own (Remark 3), unless the store has `leaves`; then they are learned with
    v(s, a). Ends of playouts replace terminal states if the store has them. Pruned states have
    their last value; if there are many, D contains only a random sample of them.

    Args:
        coefficients: whether states are weighted by `coefficient`.

    Raises:
        LearningError: the tree stores no observations, or one that belongs to none of its states.
    """
    store, pruned = tree.store, tree.pruned
    if not isinstance(store, ObservationStore):
        raise LearningError(
            f"expected a tree that keeps observations, got store={store!r}: give it an ObservationStore"
        )
    ends = store if isinstance(store, PlayoutEndsStore) else None
    nodes, leaves, terminals = tree.nodes, tree.leaves.values(), [] if ends else tree.terminals
    indices = [n.observation for n in nodes] + [i for i, _ in terminals] + [leaf.observation for leaf in leaves]
    found = len(indices) + len(pruned)
    if found != len(store):
        raise LearningError(f"expected a state for each of {len(store)!r} observations, got {found!r}")
    values = np.empty((len(store),) if tree.rows is None else (len(store), tree.rows.players), np.float32)
    values[indices] = [n.value for n in nodes] + [value for _, value in terminals] + [leaf.value for leaf in leaves]
    gone = np.array(pruned.observations, np.int64)
    values[gone] = np.reshape(pruned.values, (len(gone), *values.shape[1:]))
    weights = None
    if coefficients:
        weights = np.ones(len(store), np.float32)
        weights[indices[: len(nodes)]] = [coefficient(sum(node.visits.values())) for node in nodes]
        weights[gone] = list(map(coefficient, pruned.updates))
    targets = Targets(store.chunks(), Labels(values, weights))
    return targets if ends is None else _with_ends(targets, ends)


def _with_ends(targets: Targets, store: PlayoutEndsStore) -> Targets:
    """Returns `targets` and the ends of playouts, each with weight 1."""
    values = np.array(store.terminal_values, np.float32).reshape(-1, *targets.labels.values.shape[1:])
    labels = Labels.joined([targets.labels, Labels(values)])
    return Targets([*targets.rows, *store.ends.chunks()], labels)


def coefficient(updates: int) -> int:
    """Returns 1 + ⌊log2(n + 1)⌋, where n is the number of updates of the state's value: Σ_a n(s, a).

    This is coefficiented tree learning (the 2019 article, Section 3.1), which duplicates each pair that many times.
    Here the pair has that weight instead, so a phase has fewer steps, and no minibatch contains a state twice. A leaf
    was never updated and has weight 1.
    """
    return (updates + 1).bit_length()


def root_targets(
    played: PlayedGame, encoder: Encoder, *, policies: bool = False, trace_decay: float | None = None
) -> Targets:
    """D ← D ∪ {(s, v(s))} for each state of the game, with v(s) after the search in s (Algorithm 4).

    With λ these are the λ-returns z(s) = (1 - λ) v(s) + λ z(s') instead, where s' follows s in the game, and z of
    the terminal state is its terminal value (TD(λ), Sutton 1988, on the values of the search).

    Args:
        policies: adds P(s) of each state, and leaves out the terminal state.
        trace_decay: λ in [0, 1]; 1 is terminal learning. None: v(s) itself, as with 0.
    """
    values = np.array(played.values, np.float32)
    if trace_decay is not None:
        for i in range(len(values) - 2, -1, -1):
            values[i] += trace_decay * (values[i + 1] - values[i])
    return _game_targets(played, encoder, values, policies=policies)


def terminal_targets(played: PlayedGame, encoder: Encoder, *, policies: bool = False) -> Targets:
    """D ← {(s', f_t(s)) | s' ∈ G}: all states of the game with its terminal value (Algorithm 5).

    Args:
        policies: D ← {(s', f_t(s), P(s'))}, without the terminal state (*Minimax Strikes Back*, Algorithm 2).
    """
    last = np.array(played.values[-1], np.float32)
    values = np.broadcast_to(last, (len(played.values), *last.shape)).copy()
    return _game_targets(played, encoder, values, policies=policies)


def _game_targets(played: PlayedGame, encoder: Encoder, values: NDArray[np.float32], *, policies: bool) -> Targets:
    if not policies:
        return Targets(_observations(played.states, encoder), Labels(values))
    labels = Labels(values[:-1], policies=Policies.of(played.policies))
    return Targets(_observations(played.states[:-1], encoder), labels)


def _observations(states: Iterable[pyspiel.State], encoder: Encoder) -> list[CompactRows]:
    coming, packs = iter(states), []
    while chunk := list(islice(coming, CHUNK)):
        packs.append(CompactRows.pack(encoder.encode(chunk).reshape(len(chunk), -1)))
    return packs
