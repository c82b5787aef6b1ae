"""Division of the memory limit of a run (`memory.bytes`) among its parts.

1. The fixed part (`base`) is subtracted first: processes with torch, networks and optimiser, shared memory, batches of
   states, and the records of games if their trees are not learned.
2. The replay gets the fraction `REPLAY` of the rest, for `COPIES` copies of its content. Proven states, if they are
   kept, get the fraction `PROVEN`. Neither gets more than its own setting allows.
3. The trees of games in play and the records of finished games get the remaining memory. Both have the same maximum
   number of states. `workers.max_staleness` limits the number of records. A tree has at most the number of states that
   the replay can store of one game.

The memory of a state is measured on small trees of the game (`search.sizes`), always the same ones.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyspiel

from athenan_spiel.config import MemoryConfig, MonteCarloConfig, ProverConfig, TrainingConfig, UbfmConfig
from athenan_spiel.config.settings import MOST
from athenan_spiel.encoding import Encoder, ObservationStore
from athenan_spiel.encoding.compact import CHUNK
from athenan_spiel.errors import ConfigError
from athenan_spiel.games.chance import CHANCE_SAMPLES
from athenan_spiel.games.facts import longest_match
from athenan_spiel.games.java import java_bytes
from athenan_spiel.learning import make_targets
from athenan_spiel.learning.targets import tree_targets
from athenan_spiel.learning.warm_up import warm_up_processes
from athenan_spiel.networks import PolicyShape, playing_bytes, valuing_bytes
from athenan_spiel.outcomes import Outcome
from athenan_spiel.play.driver import GROUPS
from athenan_spiel.search import make_search
from athenan_spiel.search.proven_states import DIGEST_BYTES, MOST_STATES, ResolvedStates
from athenan_spiel.search.sizes import OVERHEAD, bytes_of, node_bytes, sample_trees
from athenan_spiel.search.tree import MAX_ROWS_PER_STATE, Tree
from athenan_spiel.system.machine import megabytes
from athenan_spiel.training.preflight import WORKER_BYTES, is_shared, network_bytes, slot_bytes

REPLAY = 0.4
PROVEN = 0.2
COPIES = 3
"""Copies of the replay: the replay, the rows removed in a round that may still be dropped, and the copy from which a
checkpoint is written."""
LEAST_STATES = 1000
"""Minimum number of states of a tree; smaller trees would be full after a few iterations."""
UNDO_NETWORKS = 3
"""Memory for undoing a round and a game, as a multiple of `playing_bytes` (twice the size of the weights). It holds two
copies of the weights and of Adam's two moments."""
PRUNED_BYTES = 24
"""Bytes of a state pruned from a tree, in addition to its observation."""
KEPT_COPIES = 2
"""Number of copies of the proven states while a checkpoint is written."""
WARM_UP_BYTES = 100_000_000
"""Memory of a process that plays random games, without torch."""
MAX_PLIES = 20_000
"""Maximum length of a game whose rules give no limit, in plies; chess has at most 17,695."""
PLY_BYTES = 64
"""Bytes of a move of a game in play: the action, and the value of the state."""
POLICY_LIST_BYTES = 40
"""Additional bytes per legal action of each move of a game in play, if the search provides a policy."""
POLICY_ARRAY_BYTES = 12
"""Additional bytes per legal action of each move in a record, if the search provides a policy."""


@dataclass(frozen=True)
class MemoryBudget:
    """Memory of each part of a run, in bytes.

    Attributes:
        total: the limit.
        base: fixed part.
        replay: content of the replay, of which there may be `COPIES` copies.
        proven: proven states; 0 if they are not kept.
        trees: games in play, and records of finished games.
        memory: the settings with the limits of each part.
    """

    total: int
    base: int
    replay: int
    proven: int
    trees: int
    memory: MemoryConfig

    def __str__(self) -> str:
        proven = f", {_mb(self.proven)} for {self.memory.proven_states:,} proven states" if self.proven else ""
        return (
            f"memory: {_mb(self.total)}, of which {_mb(self.base)} for processes and networks, "
            f"{_mb(COPIES * self.replay)} for a replay of {_mb(self.replay)}{proven}, {_mb(self.trees)} for trees of "
            f"{self.memory.tree_states:,} states at most and finished games not yet learned"
        )


def plan_memory(
    config: TrainingConfig, game: pyspiel.Game, outcome: Outcome, encoder: Encoder, policy: PolicyShape | None
) -> MemoryBudget:
    """Returns the memory budget of a run with `memory.bytes`. Limits that the settings already contain are kept.

    Args:
        policy: shape of the network's policy; None without a policy.

    Raises:
        ConfigError: `memory.bytes` is too small.
    """
    memory, total = config.memory, config.memory.bytes
    assert total is not None, "memory.bytes is set"
    sizes = _measured(config, game, outcome, encoder, policy)
    split = _split(config, sizes, total - sizes.base)
    if split.states < LEAST_STATES and memory.tree_states is None:
        rest = 10**6
        while _split(config, sizes, rest).states < LEAST_STATES:
            rest = rest * 101 // 100
        raise ConfigError.at(
            "memory.bytes",
            f"must be at least {megabytes(sizes.base + rest)} for these settings, got {megabytes(total)}: reduce "
            "workers, matches_at_once or network.filters",
        )
    return MemoryBudget(
        total=total,
        base=sizes.base,
        replay=split.replay,
        proven=sizes.proven * split.proven,
        trees=sizes.state * split.states,
        memory=dataclasses.replace(
            memory, tree_states=split.states, replay_bytes=split.replay, proven_states=split.proven or None
        ),
    )


@dataclass(frozen=True)
class _Sizes:
    """Memory in bytes, measured or computed from the settings.

    Attributes:
        base: fixed part.
        state: one more state in each tree and in each record.
        row: a state in a record, with its augmented copy; 0 if trees are not learned.
        proven: a proven state, in all processes that store it.
    """

    base: int
    state: int
    row: int
    proven: int


class _Split(NamedTuple):
    """Bytes of the replay, number of proven states, and states of a tree."""

    replay: int
    proven: int
    states: int


def _split(config: TrainingConfig, sizes: _Sizes, rest: int) -> _Split:
    """Divide the memory left by the fixed part; a tree has 0 states if it is not enough."""
    memory = config.memory
    replay = memory.replay_bytes or max(1, int(min(config.replay.megabytes * 1e6, REPLAY * rest / COPIES)))
    most_replay = max(replay, MAX_ROWS_PER_STATE * LEAST_STATES * sizes.row)  # the replay always keeps the newest game
    proven = 0
    if isinstance(config.search, ProverConfig) and config.search.resolved_hours is not None:
        proven = memory.proven_states or max(1, min(MOST_STATES, int(PROVEN * rest / sizes.proven)))
    remaining = max(0, rest - COPIES * most_replay - sizes.proven * proven)
    most = most_replay // (MAX_ROWS_PER_STATE * sizes.row) if sizes.row else MOST
    return _Split(replay, proven, memory.tree_states or min(remaining // sizes.state, most, MOST))


def _measured(
    config: TrainingConfig, game: pyspiel.Game, outcome: Outcome, encoder: Encoder, policy: PolicyShape | None
) -> _Sizes:
    workers, search = config.workers.count, make_search(game, config.search, outcome)
    in_play = max(1, workers) * config.matches_at_once
    records = 2 + (config.workers.staleness(config.matches_at_once) // 2 + 2 * workers if workers else 0)
    new_store = make_targets(config.targets, encoder, outcome, policies=policy is not None).new_store
    plain = functools.partial(_plain_store, encoder)
    trees = sample_trees(search, new_store or plain, priors=policy is not None)
    branching = max(len(node.actions) for tree in trees for node in tree.nodes)
    copies = 1 if config.encoding.symmetries == "none" else 2
    row = copies * max(_row_bytes(tree, config) for tree in trees)
    node = node_bytes(trees)

    base = _processes(config, game, encoder, policy)
    batch_states = branching
    if isinstance(config.search, MonteCarloConfig):
        batch_states = config.search.virtual_loss_batch or 1
    elif isinstance(config.search, UbfmConfig):
        batch_states *= config.search.lines or 1
    if isinstance(config.search, ProverConfig) and config.search.evaluate_outcomes:
        batch_states *= max(1, min(game.max_chance_outcomes(), config.search.chance_samples or CHANCE_SAMPLES))
    batch_states *= -(-config.matches_at_once // GROUPS)
    base += max(1, workers) * valuing_bytes(encoder.shape, config.network, batch_states, policy)
    plies = min(longest_match(game), MAX_PLIES)
    ply = PLY_BYTES + (branching * POLICY_LIST_BYTES if search.tells_policy else 0)
    if new_store is None:
        ply_learned = row + (branching * POLICY_ARRAY_BYTES if policy is not None else 0)
        base += plies * (in_play * ply + records * ply_learned)
        return _Sizes(base, in_play * node, 0, _proven_bytes(workers))
    base += plies * in_play * ply
    base += in_play * 4 * CHUNK * encoder.size * (1 + config.targets.playout_ends)
    state = in_play * (node + MAX_ROWS_PER_STATE * (row + PRUNED_BYTES)) + records * MAX_ROWS_PER_STATE * row
    return _Sizes(base, state, row, _proven_bytes(workers))


def _processes(config: TrainingConfig, game: pyspiel.Game, encoder: Encoder, policy: PolicyShape | None) -> int:
    """Returns the memory of all processes and their networks. Warm-up processes end before workers start."""
    workers, others = config.workers.count, int(config.evaluation.asked)
    slots = 0
    if workers and is_shared(config):
        others += 1
        slots = slot_bytes(workers, encoder.shape, 1 if policy is None else 1 + policy.actions)
    shared_weights = int(workers > 0)
    networks = UNDO_NETWORKS + max(1, workers) + others + shared_weights
    java = java_bytes(game)
    other_processes = (workers + others) * (WORKER_BYTES + java)
    if config.warm_up.states is not None and (players := warm_up_processes(config.warm_up.processes)) > 1:
        other_processes = max(other_processes, players * (WARM_UP_BYTES + java))
    return (
        (WORKER_BYTES + java)
        + other_processes
        + network_bytes(config, encoder.shape, policy)
        + networks * playing_bytes(encoder.shape, config.network, policy)
        + slots
    )


def _mb(count: float) -> str:
    return f"{count / 1e6:,.0f} MB"


def _plain_store(encoder: Encoder, seed: int) -> ObservationStore:
    return ObservationStore(encoder)


def _row_bytes(tree: Tree, config: TrainingConfig) -> int:
    """Returns the bytes of a training sample, including its index in the replay's sampling order."""
    assert tree.store is not None, "sample trees have a store"
    nbytes = tree_targets(tree, coefficients=config.targets.coefficients).nbytes
    return 4 + -(-nbytes // len(tree.store))


def _proven_bytes(workers: int) -> int:
    """Returns the bytes of a proven state in all processes that store it, and in a checkpoint being written."""
    count = 1000
    states = ResolvedStates()
    states.add_arrays(
        {
            "digests": np.random.default_rng(0).integers(256, size=(count, DIGEST_BYTES), dtype=np.uint8),
            "plies": np.zeros(count, np.int32),
            "completions": np.ones(count, np.int8),
            "values": np.linspace(0, 1, count),
        }
    )
    return int((1 + workers + KEPT_COPIES) * OVERHEAD * bytes_of(states) / count)
