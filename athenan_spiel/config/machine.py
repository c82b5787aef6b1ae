"""Settings of processes, threads and memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from athenan_spiel.config.settings import Count, Range, Seconds, Settings

EngineName = Literal["auto", "openvino", "torch", "cuda"]
InferenceName = Literal["auto", "own", "shared"]
Precision = Literal["auto", "bfloat16", "float32"]

MOST_WORKERS = 1_000
"""Maximum number of workers on one machine."""
MOST_MEGABYTES = 1_000_000_000
"""Maximum of memory settings, in MB: a petabyte. A run is limited to the memory of the machine."""

Threads = Annotated[int, Range(1, 1024)]
"""Number of threads. The maximum is lower on a small machine (`engines.require_threads`)."""
Bytes = Annotated[int, Range(1, MOST_MEGABYTES * 1_000_000)]
Megabytes = Annotated[float, Range(0, MOST_MEGABYTES, above=True)]


@dataclass(frozen=True, kw_only=True)
class EngineConfig(Settings):
    """Inference backend, which runs the network for the search."""

    table: ClassVar[str] = "engine."

    name: EngineName = "auto"
    """Inference backend; `auto`: CUDA if there is a device, else OpenVINO."""
    precision: Precision = "auto"
    """Arithmetic of inference; `auto`: bfloat16 on processors with matrix units for it and on GPUs that support it,
    else float32."""
    threads: Threads | None = None
    """Inference threads on a processor; none: one for every two cores, since the search occupies another core, and
    for each of N workers the number of cores divided by N. The maximum is 64 per core: a run refuses more, an agent
    uses no more."""


@dataclass(frozen=True, kw_only=True)
class WorkersConfig(Settings):
    """Worker processes, which play games while the trainer learns."""

    table: ClassVar[str] = "workers."

    count: Annotated[int, Range(0, MOST_WORKERS)] = 0
    """Number of workers N. Each one plays `matches_at_once` games at once while this process learns, and no two such
    runs are equal. With 0 this process plays and learns in turn, and a run is bit-reproducible."""
    max_staleness: Count | None = None
    """Maximum number of learning phases between the weights of a game's last move and the phase that learns the game,
    at least 2 · count · `matches_at_once`; none: twice that. The faster side waits when it is exceeded."""
    inference: InferenceName = "auto"
    """Place of inference. `own`: each worker evaluates its states; `shared`: one process evaluates batches of all
    workers on one device; `auto`: `shared` on CUDA, else `own`."""
    patience_seconds: Seconds = 120.0
    """Time without a sign of life after which a worker is replaced, in seconds; its games are lost."""

    def staleness(self, matches_at_once: int) -> int:
        """Return the staleness limit for workers that play this many games at once."""
        return 4 * self.count * matches_at_once if self.max_staleness is None else self.max_staleness


@dataclass(frozen=True, kw_only=True)
class MemoryConfig(Settings):
    """Memory budget of a training.

    A new run computes the other settings from `bytes` (docs/scaling.md) and writes them to its `config.toml`, so that
    it resumes unchanged. A setting that is none there is computed again.
    """

    table: ClassVar[str] = "memory."

    bytes: Bytes | None = None
    """Memory of all processes of the run; none: no limit. The command line option is --memory 8g."""
    tree_states: Count | None = None
    """Maximum number of states in the tree of a game; none: computed from `bytes`, or no limit."""
    replay_bytes: Bytes | None = None
    """Maximum memory of the replay, if less than `replay.megabytes`; none: computed from `bytes`, or no limit."""
    proven_states: Count | None = None
    """Maximum number of proven states kept (`search.resolved_hours`); none: computed from `bytes`, at most
    4,000,000."""
