"""What a measurement says: a `Report` of plain records, one kind for each part.

Rates are per second, sizes in bytes, shares from 0 to 1. What was not measured is None.
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
"""Of all measurements, where nothing else is said; with what has to be begun and compiled for them about a minute."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What a measurement was made on."""

    processor: str
    """Its model."""
    cores: int
    """That this process may use."""
    instructions: tuple[str, ...]
    """Instruction sets that networks are computed faster with."""
    memory: int | None
    """Bytes that this process may use."""
    device: str | None
    """The CUDA device."""
    system: str
    python: str
    torch: str
    openvino: str | None
    athenan_spiel: str


@dataclass(frozen=True, kw_only=True)
class NetworkSpeed:
    """What an engine does with batches of one size."""

    engine: str
    threads: int
    """Of the engine, on a processor."""
    batch: int
    """States in a batch."""
    states_per_second: float


@dataclass(frozen=True, kw_only=True)
class SearchSpeed:
    """What a search does, as self-play makes it or as an agent that thinks about one state."""

    play: Play
    """`self_play`: as many matches side by side, and as much thought for a move, as in a training; `thinking`: one
    state at a time, 0.1 s each."""
    network: bool
    """States are valued by the network; else by numbers that are there already, which takes no time."""
    states_per_second: float
    """States valued."""
    iterations_per_second: float | None
    """By the matches that have ended; None if there were none."""
    states_per_call: float
    """States that are valued together, on average."""
    outside_network: float | None
    """The share of the time in which values were not waited for; None without the network."""


@dataclass(frozen=True, kw_only=True)
class LearnerSpeed:
    """What the learner does in one arithmetic, minibatches drawn and unpacked from a replay."""

    precision: Precision
    threads: int
    """Of the learner, on a processor."""
    batch: int
    """States in a minibatch."""
    states_per_second: float
    flops: float
    """Floating-point operations a second: of the layers' products, forwards and backwards, as torch counts them."""
    matrix_flops: float
    """Likewise of the product of two large matrices in the same arithmetic, by as many threads."""
    matrix_share: float
    """The one divided by the other."""


@dataclass(frozen=True)
class Shares:
    """What the time of a training in one process goes into; the sum is 1."""

    search: float
    network: float
    """Values are waited for. What an engine computes beside the search is not in it."""
    learning: float
    rest: float
    """What is done between two rounds."""


@dataclass(frozen=True, kw_only=True)
class TrainingSpeed:
    """What a whole training does, over its rounds without the first, or over that one where there is no other.

    Where no match has ended in the time, only states that were valued are told of.
    """

    workers: int
    """Processes that play; 0: the one that learns does."""
    seconds: float
    """Time that was measured."""
    states_valued_per_second: float
    states_learned_per_second: float | None = None
    """Each as often as it was."""
    matches_per_second: float | None = None
    cores_busy: float | None = None
    """Processor time of the process and its workers, divided by the time."""
    learning: float | None = None
    """The share of the time in which the learner learns."""
    waiting: float | None = None
    """The share of their time in which workers wait for the learner; None without workers."""
    shares: Shares | None = None
    """None with workers, where these go on beside each other."""


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What the tree and the replay take of it."""

    nodes: int
    """Of the tree that was grown."""
    bytes_per_node: float
    """With its key and its place in the table; without the observation that is kept where it will be learned."""
    states: int
    """In the replay that was filled."""
    bytes_per_learned_state: float
    """Observation and labels as the replay keeps them, and a match until it is learned."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """All that was measured; a part that was not asked for is None."""

    machine: Machine
    game: str
    config: TrainingConfig
    choice: str | None
    """What random matches showed of the game, and which settings were chosen by that; None where none were."""
    model: str
    """One line about the network."""
    engine: str
    """What computes its values in a training with these settings."""
    network: tuple[NetworkSpeed, ...] | None = None
    search: tuple[SearchSpeed, ...] | None = None
    learner: tuple[LearnerSpeed, ...] | None = None
    training: tuple[TrainingSpeed, ...] | None = None
    memory: Memory | None = None

    def document(self) -> dict[str, Any]:
        """The report in values that JSON has."""
        return dataclasses.asdict(self)
