"""How the memory that a run may take (`memory.bytes`) is shared out.

1. First comes what is there in any case (`base`): the processes with torch, the networks, what learns them, what the
   processes share, the states that are asked about, and what is kept of a match whose tree is not learned.
2. Of the rest the replay gets the share `REPLAY`, for `COPIES` of what it holds, and proven states, where they are
   kept, `PROVEN`: neither more than its own setting says.
3. All else is for the trees of the matches in play and the records of those that have ended, which have as many states
   at most. So many records may wait as `workers.max_staleness` lets. A tree has no more states than its match may have
   in the replay.

What a state takes is measured on small trees of the game (`search.sizes`), the same ones each time.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyspiel

from athenan_spiel.config import MemoryConfig, TrainingConfig
from athenan_spiel.config.settings import MOST
from athenan_spiel.encoding import Encoder, ObservationStore
from athenan_spiel.encoding.compact import CHUNK
from athenan_spiel.errors import ConfigError
from athenan_spiel.games.java import java_bytes
from athenan_spiel.learning import make_targets
from athenan_spiel.learning.targets import tree_targets
from athenan_spiel.learning.warm_up import warm_up_processes
from athenan_spiel.networks import PolicyShape, learning_bytes, playing_bytes, valuing_bytes
from athenan_spiel.outcomes import Outcome
from athenan_spiel.play.driver import GROUPS
from athenan_spiel.search import make_search
from athenan_spiel.search.proven_states import DIGEST_BYTES, MOST_STATES, ResolvedStates
from athenan_spiel.search.sizes import OVERHEAD, bytes_of, node_bytes, sample_trees
from athenan_spiel.search.tree import ROWS, Tree
from athenan_spiel.system.machine import megabytes
from athenan_spiel.training.means import WORKER_BYTES, is_shared, slot_bytes

REPLAY = 0.4
PROVEN = 0.2
COPIES = 3
"""Of the replay: itself, what has left it in a round that may yet be dropped, and what a checkpoint is written from."""
LEAST_STATES = 1000
"""Of a tree: with fewer, searches would hardly have begun."""
GOING_BACK = 3
"""So many times as much as a network that plays is kept, to drop a round or a match: two times weights and moments."""
PAST_BYTES = 24
"""Of a state that a tree has let go, beside its observation."""
KEPT_COPIES = 2
"""Of proven states, where a checkpoint is written from them."""
WARM_UP_BYTES = 100_000_000
"""Of a process that plays random matches, without torch."""
LONGEST = 20_000
"""Moves of a match where its rules allow more; chess has 17,695 at most."""
PLY_BYTES = 64
"""Of a move of a match in play: the action, and the value of the state."""
POLICY_IN_PLAY = 40
POLICY_LEARNED = 12
"""Of each legal action beside that, where a policy is told: in lists, and in arrays."""


@dataclass(frozen=True)
class Shares:
    """What each part of a run may take, in bytes.

    Attributes:
        total: of all together.
        base: whatever is there in any case.
        replay: what the replay holds; it may be there `COPIES` times.
        proven: proven states, 0 where they are not kept.
        trees: matches in play, and records that wait.
        memory: the settings in which these stand.
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
            f"{self.memory.tree_states:,} states at most and matches that wait to be learned"
        )


def share_out(
    config: TrainingConfig, game: pyspiel.Game, outcome: Outcome, encoder: Encoder, policy: PolicyShape | None
) -> Shares:
    """The shares of a run with these settings, which have `memory.bytes`; what they say of a part already stays so.

    Args:
        policy: the actions that the network tells a policy of, if it does.

    Raises:
        ConfigError: it is too little.
    """
    memory, total = config.memory, config.memory.bytes
    assert total is not None, "who asks has a bound"
    sizes = _measured(config, game, outcome, encoder, policy)
    split = _split(config, sizes, total - sizes.base)
    if split.states < LEAST_STATES and memory.tree_states is None:
        rest = 10**6
        while _split(config, sizes, rest).states < LEAST_STATES:
            rest = rest * 101 // 100
        raise ConfigError.at(
            "memory.bytes",
            f"must be at least {megabytes(sizes.base + rest)} for these settings, got {megabytes(total)}: take fewer "
            "workers, matches_at_once or network.filters",
        )
    return Shares(
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
    """Bytes, as they are measured or follow from the settings.

    Attributes:
        base: what is there in any case.
        state: what one state more in each tree, and in each record that waits, takes in all.
        row: a state in a record, images by symmetries included; 0 where trees are not learned.
        proven: a proven state, in all processes that know it.
    """

    base: int
    state: int
    row: int
    proven: int


class _Split(NamedTuple):
    """What the parts have: bytes of the replay, proven states, states of a tree."""

    replay: int
    proven: int
    states: int


def _split(config: TrainingConfig, sizes: _Sizes, rest: int) -> _Split:
    """Share out what is left of the memory when the base is there; what is too little gives no states."""
    memory = config.memory
    replay = memory.replay_bytes or max(1, int(min(config.replay.megabytes * 1e6, REPLAY * rest / COPIES)))
    most_replay = max(replay, ROWS * LEAST_STATES * sizes.row)  # as the newest match stays, however much it takes
    proven = 0
    if config.search.resolved_hours is not None:
        proven = memory.proven_states or max(1, min(MOST_STATES, int(PROVEN * rest / sizes.proven)))
    left = max(0, rest - COPIES * most_replay - sizes.proven * proven)
    most = most_replay // (ROWS * sizes.row) if sizes.row else MOST
    return _Split(replay, proven, memory.tree_states or min(left // sizes.state, most, MOST))


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
    images = 1 if config.encoding.symmetries == "none" else 2
    row = images * max(_row_bytes(tree, config) for tree in trees)
    node = node_bytes(trees)

    base = _processes(config, game, encoder, policy)
    asked = (config.search.virtual_loss_batch or 1) if search.tells_policy else (config.search.lines or 1) * branching
    at_once = max(1, workers) * -(-config.matches_at_once // GROUPS) * asked
    base += at_once * valuing_bytes(encoder.shape, config.network, policy)
    ply = PLY_BYTES + (branching * POLICY_IN_PLAY if search.tells_policy else 0)
    if new_store is None:
        ply_learned = row + (branching * POLICY_LEARNED if policy is not None else 0)
        base += min(game.max_game_length(), LONGEST) * (in_play * ply + records * ply_learned)
        return _Sizes(base, in_play * node, 0, _proven_bytes(workers))
    base += min(game.max_game_length(), LONGEST) * in_play * ply
    base += in_play * 4 * CHUNK * encoder.size * (1 + config.targets.playout_ends)
    state = in_play * (node + ROWS * (row + PAST_BYTES)) + records * ROWS * row
    return _Sizes(base, state, row, _proven_bytes(workers))


def _processes(config: TrainingConfig, game: pyspiel.Game, encoder: Encoder, policy: PolicyShape | None) -> int:
    """Processes, and the networks in them; those of the warm-up have ended when others begin."""
    workers, others = config.workers.count, int(config.evaluation.asked)
    slots = 0
    if workers and is_shared(config):
        others += 1
        slots = slot_bytes(workers, encoder.shape, 1 if policy is None else 1 + policy.actions)
    boards = int(workers > 0)
    networks = GOING_BACK + max(1, workers) + others + boards
    java = java_bytes(game)
    beside = (workers + others) * (WORKER_BYTES + java)
    if config.warm_up.states is not None and (players := warm_up_processes(config.warm_up.processes)) > 1:
        beside = max(beside, players * (WARM_UP_BYTES + java))
    return (
        (WORKER_BYTES + java)
        + beside
        + learning_bytes(encoder.shape, config.network, config.learner.batch_size, policy)
        + networks * playing_bytes(encoder.shape, config.network, policy)
        + slots
    )


def _mb(count: float) -> str:
    return f"{count / 1e6:,.0f} MB"


def _plain_store(encoder: Encoder, seed: int) -> ObservationStore:
    return ObservationStore(encoder)


def _row_bytes(tree: Tree, config: TrainingConfig) -> int:
    """Of an observation, with what is learned of it and its place in the order in which a replay draws."""
    assert tree.store is not None, "it was given one"
    nbytes = tree_targets(tree, coefficients=config.targets.coefficients).nbytes
    return 4 + -(-nbytes // len(tree.store))


def _proven_bytes(workers: int) -> int:
    """Of a proven state in each process that knows it, and where a checkpoint is written."""
    count = 1000
    memory = ResolvedStates()
    memory.add_arrays(
        {
            "digests": np.random.default_rng(0).integers(256, size=(count, DIGEST_BYTES), dtype=np.uint8),
            "plies": np.zeros(count, np.int32),
            "completions": np.ones(count, np.int8),
            "values": np.linspace(0, 1, count),
        }
    )
    return int((1 + workers + KEPT_COPIES) * OVERHEAD * bytes_of(memory) / count)
