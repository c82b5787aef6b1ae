"""Results of a measurement: a `Report` of plain records, one kind for each part.

Rates are per second, sizes in bytes, shares in [0, 1]. None: not measured.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from athenan_spiel.config import Precision

if TYPE_CHECKING:
    from athenan_spiel.config import TrainingConfig

Part = Literal["network", "search", "learner", "training", "memory"]
PARTS: tuple[Part, ...] = get_args(Part)
Play = Literal["self_play", "thinking"]
SECONDS = 40.0
"""Default time of all measurements; with start-up and compilation they take about a minute."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The machine of a measurement."""

    processor: str
    """Model of the processor."""
    cores: int
    """Number of cores that this process may use."""
    instructions: tuple[str, ...]
    """Instruction sets that accelerate networks."""
    memory: int | None
    """Memory that this process may use, in bytes."""
    device: str | None
    """The CUDA device."""
    system: str
    python: str
    torch: str
    openvino: str | None
    athenan_spiel: str


@dataclass(frozen=True, kw_only=True)
class NetworkSpeed:
    """Speed of an engine for one batch size."""

    engine: str
    threads: int
    """Threads of the engine, on a CPU."""
    batch: int
    """States in a batch."""
    states_per_second: float


@dataclass(frozen=True, kw_only=True)
class SearchSpeed:
    """Speed of a search, in self-play or for a single state."""

    play: Play
    """`self_play`: concurrent games and limits per move as in a training; `thinking`: one state at a time, 0.1 s each.
    """
    network: bool
    """Whether the network evaluates states; otherwise an `InstantEngine` returns prepared numbers."""
    states_per_second: float
    """Evaluations."""
    iterations_per_second: float | None
    """Iterations, from finished games; None without one."""
    states_per_call: float
    """Mean number of states per batch."""
    outside_network: float | None
    """Share of the time that is not spent waiting for evaluations; None without the network."""


@dataclass(frozen=True, kw_only=True)
class LearnerSpeed:
    """Speed of the learner in one precision, including drawing and unpacking minibatches."""

    precision: Precision
    threads: int
    """Threads of the learner, on a CPU."""
    batch: int
    """States in a minibatch."""
    states_per_second: float
    flops: float
    """Floating-point operations per second in matrix products, forward and backward, as counted by torch."""
    matrix_flops: float
    """Floating-point operations per second of the product of two large matrices with the same precision and threads."""
    matrix_share: float
    """`flops` divided by `matrix_flops`."""


@dataclass(frozen=True)
class TimeShares:
    """Shares of the time of a training in one process; the sum is 1."""

    search: float
    network: float
    """Waiting for evaluations. Computation of the engine during the search is not included."""
    learning: float
    rest: float
    """Work between two rounds."""


@dataclass(frozen=True, kw_only=True)
class TrainingSpeed:
    """Speed of a whole training over its rounds without the first, or over the first if there is only one.

    If no game ended in time, only the rate of evaluations is known.
    """

    workers: int
    """Number of worker processes that play; 0: the learning process plays."""
    seconds: float
    """Measured time."""
    states_valued_per_second: float
    states_learned_per_second: float | None = None
    """Training samples, counted with repeats."""
    matches_per_second: float | None = None
    cores_busy: float | None = None
    """CPU time of the process and its workers, divided by the time."""
    learning: float | None = None
    """Share of the time in which the learner learns."""
    waiting: float | None = None
    """Share of their time in which workers wait for the learner; None without workers."""
    shares: TimeShares | None = None
    """None with workers, where the parts overlap."""


@dataclass(frozen=True, kw_only=True)
class MemoryUse:
    """Memory of the tree and the replay buffer."""

    nodes: int
    """Nodes of the measured tree."""
    bytes_per_node: float
    """Size of a node with its key and its hash table entry, without the observation that is stored for learning."""
    states: int
    """States in the measured replay buffer."""
    bytes_per_learned_state: float
    """Size of the observation and labels of a training sample, in the replay buffer or in a game before it."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """All measurements; parts that were not requested are None."""

    machine: Machine
    game: str
    config: TrainingConfig
    choice: str | None
    """Measured facts about the game, and settings chosen by them; None if no settings were chosen."""
    model: str
    """One line about the network."""
    engine: str
    """Engine that evaluates states in a training with these settings."""
    network: tuple[NetworkSpeed, ...] | None = None
    search: tuple[SearchSpeed, ...] | None = None
    learner: tuple[LearnerSpeed, ...] | None = None
    training: tuple[TrainingSpeed, ...] | None = None
    memory: MemoryUse | None = None

    def document(self) -> dict[str, Any]:
        """Returns the report as JSON values."""
        return dataclasses.asdict(self)
