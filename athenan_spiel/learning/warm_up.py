"""Training samples of the warm-up, in which a network learns the ends of playouts and their terminal values.

The warm-up precedes the first game (the article, Section 8.4.3).

A pool of processes (`system.tasks`) plays uniformly random games to their ends, and sends packed terminal states back:

1. The states do not depend on the number of processes. Games are numbered, and the number and the run's seed determine
   the random seed of a game.
2. Memory is bounded: at most `AHEAD` tasks per process, of `MAX_CHUNKS` chunks each, are played ahead.
3. When the iteration ends, by exhaustion, an error or `close`, all worker processes have been ended and joined.
4. If a worker cannot load the game or the outcome (for example one registered in a script without a main guard), this
   process plays the remaining games and logs a warning. A daemonic process, such as a pool's worker, may not start
   processes and plays all games itself.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import logging
import math
import multiprocessing
import pickle
import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.encoding.compact import CompactRows
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.games import load_game
from athenan_spiel.games.playout import playout
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.replay import Batch
from athenan_spiel.outcomes import Outcome
from athenan_spiel.system.machine import cores
from athenan_spiel.system.process_transport import ProcessTransport
from athenan_spiel.system.tasks import POLL_SECONDS, LossPolicy, TaskPool

CHUNK = 128
"""Number of games packed and sent together. This amortises the cost, and takes at most about a second of play."""
AHEAD = 2
"""Number of tasks per process that are played ahead, or wait to be learned."""
MAX_CHUNKS = 8
"""Maximum number of chunks per task. A process waits for its next task until results are requested."""
MAX_PROCESSES_PER_CORE = 8
"""Maximum number of processes per core. More would only need memory."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """N terminal states and their values."""

    rows: CompactRows
    """Observations of the states."""
    values: NDArray[np.float32]
    """[N]: terminal values for player 0."""


def warm_up_processes(requested: int | None) -> int:
    """Returns the number of processes for a requested number; None: one per core."""
    return min(requested or cores(), MAX_PROCESSES_PER_CORE * cores())


class RandomEnds:
    """Terminal states of uniformly random games, the same in each iteration.

    Args:
        game: game to play.
        outcome: returns the terminal value of a state.
        encoder: encoder of the game.
        states: total number of terminal states.
        seed: random seed of all games.
        processes: number of worker processes, at most `MAX_PROCESSES_PER_CORE` per core; None: one for each core that
            this process may use. With 1, this process plays the games itself.
        edges: `edges` of the encoder.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        outcome: Outcome,
        encoder: Encoder,
        *,
        states: int,
        seed: int,
        processes: int | None = None,
        edges: bool = False,
    ) -> None:
        self._player = _Player(game, outcome, encoder, states, seed)
        self._edges = edges
        self._processes = warm_up_processes(processes)

    def minibatches(self, batch_size: int, first: int = 0) -> Generator[Batch, None, None]:
        """Yields each state once, in order, from index `first` on, in minibatches; the last one may be smaller."""
        observations: list[NDArray[np.float32]] = []
        values: list[NDArray[np.float32]] = []
        waiting, skipped = 0, first % CHUNK
        with contextlib.closing(self.chunks(first // CHUNK)) as chunks:
            for ends in chunks:
                observations.append(ends.rows.unpack()[skipped:])
                values.append(ends.values[skipped:])
                waiting += len(values[-1])
                skipped = 0
                if waiting >= batch_size:
                    joined = Batch(np.concatenate(observations), Labels(np.concatenate(values)))
                    whole = waiting - waiting % batch_size
                    yield from (_slice(joined, slice(i, i + batch_size)) for i in range(0, whole, batch_size))
                    rest = _slice(joined, slice(whole, None))
                    observations, values, waiting = [rest.observations], [rest.labels.values], waiting - whole
        if waiting:
            yield Batch(np.concatenate(observations), Labels(np.concatenate(values)))

    def chunks(self, first: int = 0) -> Generator[Ends, None, None]:
        """Yields all states in order, in chunks of `CHUNK`, from chunk `first` on; the last one may be smaller."""
        chunks = range(first, -(-self._player.states // CHUNK))
        may_have_children = not multiprocessing.current_process().daemon
        processes = min(self._processes, len(chunks)) if may_have_children else 1
        done = 0
        if processes > 1 and (job := self._job()) is not None:
            with contextlib.closing(_Workers(job, chunks, processes)) as workers:
                for chunk in chunks:
                    ends = workers.result(chunk)
                    if ends is None:
                        _log.warning("the warm-up continues in one process, as a worker failed: %s", workers.problem)
                        break
                    yield ends
                    done += 1
        for chunk in chunks[done:]:
            yield self._player.chunk(chunk)

    def _job(self) -> _Job | None:
        """Returns the arguments of the worker processes; None if the outcome cannot be pickled."""
        player = self._player
        try:
            outcome = pickle.dumps(player.outcome)
        except Exception as error:  # pickle raises all kinds
            _log.warning("the warm-up plays in one process, as its outcome cannot be pickled: %s", error)
            return None
        return _Job(str(player.game), outcome, self._edges, player.states, player.seed)


def _slice(batch: Batch, rows: slice) -> Batch:
    return Batch(batch.observations[rows], batch.labels.take(rows))


@dataclass(frozen=True, slots=True)
class _Job:
    """Arguments of a worker process."""

    game: str
    outcome: bytes
    """Pickled outcome. It is imported from the module that defines it here, not looked up by its name in settings."""
    edges: bool
    states: int
    seed: int


@dataclass(frozen=True, slots=True)
class _Player:
    """Plays the games of a chunk."""

    game: pyspiel.Game
    outcome: Outcome
    encoder: Encoder
    states: int
    seed: int

    def chunk(self, chunk: int) -> Ends:
        """Plays the chunk with this number; the last one may be smaller."""
        numbers = range(chunk * CHUNK, min((chunk + 1) * CHUNK, self.states))
        ends = [self._end(number) for number in numbers]
        values = np.array([self.outcome(end) for end in ends], np.float32)
        rows = self.encoder.encode(ends).reshape(len(ends), self.encoder.size)
        return Ends(CompactRows.pack(rows), values)

    def _end(self, number: int) -> pyspiel.State:
        """Returns the terminal state of the game with this number."""
        draw = random.Random(self.seed << 64 | number).random
        return playout(self.game.new_initial_state(), lambda actions: actions[int(draw() * len(actions))])


@dataclass(frozen=True, slots=True)
class ChunkTask:
    """A task that plays chunks. It reports the number and the states of each, or as text why it cannot.

    For example, it may not be able to import the outcome.
    """

    keeps_results: ClassVar[bool] = False
    processes_option: ClassVar[str] = "--warm-up.processes"
    job: _Job
    chunks: range

    def run(self, report: Callable[[Any], None], stop: Callable[[], bool]) -> bool:
        """Plays the chunks."""
        try:
            for chunk in self.chunks:
                report((chunk, _player_of(self.job).chunk(chunk)))
        except Exception as error:
            report(f"{type(error).__name__}: {error}")
        return True


@functools.lru_cache(maxsize=1)
def _player_of(job: _Job) -> _Player:
    """Loads the game once per process."""
    game = load_game(job.game)
    outcome: Outcome = pickle.loads(job.outcome)
    return _Player(game, outcome, Encoder(game, edges=job.edges), job.states, job.seed)


class _Workers:
    """A pool of processes that plays chunks ahead.

    Attributes:
        problem: why a chunk could not be played; None if there was no problem.
    """

    def __init__(self, job: _Job, chunks: range, count: int) -> None:
        size = max(1, min(MAX_CHUNKS, len(chunks) // (AHEAD * count)))
        self._last = set(chunks[size - 1 :: size])  # chunks at the ends of tasks
        self._tasks = (ChunkTask(job, chunks[i : i + size]) for i in range(0, len(chunks), size))
        self._found: dict[int, Ends] = {}
        self.problem: str | None = None
        self._pool = TaskPool[ChunkTask](
            count,
            ChunkTask.processes_option,
            self._on_report,
            lambda task: None,
            transport=ProcessTransport(daemon=True, exits=True),
            losses=LossPolicy(self._on_lost, math.inf),
        )
        try:
            self._pool.start()
            self._add(AHEAD * count)
        except BaseException:
            self._pool.close()
            raise

    def result(self, chunk: int) -> Ends | None:
        """Returns a chunk; None if a problem occurred first. Chunks are requested in order, each once."""
        while self.problem is None and chunk not in self._found:
            self._pool.listen(POLL_SECONDS)
            if self._pool.error is not None:
                self.problem = str(self._pool.error)
        if chunk in self._last:
            self._add(1)
        return self._found.pop(chunk, None)

    def close(self) -> None:
        """Ends all processes and waits for them."""
        self._pool.close()

    def _on_lost(self, task: ChunkTask, reason: str) -> Sequence[ChunkTask]:
        self.problem = reason
        return ()

    def _add(self, count: int) -> None:
        self._pool.add(itertools.islice(self._tasks, count))

    def _on_report(self, task: ChunkTask, report: tuple[int, Ends] | str) -> None:
        if isinstance(report, str):
            self.problem = report
        else:
            self._found[report[0]] = report[1]
