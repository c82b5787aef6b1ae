"""Training samples of the warm-up, in which a network learns the ends of playouts and their terminal values.

The warm-up precedes the first game (the article, Section 8.4.3).

Worker processes play uniformly random games to their ends, and send packed terminal states back in order:

1. The states do not depend on the number of processes. Games are numbered, and the number and the run's seed determine
   the random seed of a game.
2. Memory is bounded: a worker that is ahead waits until its results are requested.
3. When the iteration ends, by exhaustion, an error or `close`, all worker processes have been ended and joined.
4. If a worker cannot load the game or the outcome (for example one registered in a script without a main guard), this
   process plays the remaining games and logs a warning. A daemonic process, such as a pool's worker, may not start
   processes and plays all games itself.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import pickle
import random
from collections.abc import Generator
from dataclasses import dataclass
from multiprocessing.connection import Connection

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
from athenan_spiel.system.processes import start_process
from athenan_spiel.system.stopping import TERMINAL_SIGNALS

CHUNK = 128
"""Number of games packed and sent together. This amortises the cost, and takes at most about a second of play."""
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
                for _ in chunks:
                    result = workers.next_result()
                    if isinstance(result, str):
                        _log.warning("the warm-up continues in one process, as a worker process failed: %s", result)
                        break
                    yield result
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


class _Workers:
    """N processes. Each plays every N-th chunk, in order, until its pipe is full."""

    def __init__(self, job: _Job, chunks: range, count: int) -> None:
        self._processes: list[multiprocessing.process.BaseProcess] = []
        self._pipes: list[Connection] = []
        self._received = 0
        try:
            for i in range(count):
                self._start(job, chunks[i::count])
        except BaseException:
            self.close()
            raise

    def next_result(self) -> Ends | str:
        """Returns the next chunk, or an error message."""
        pipe = self._pipes[self._received % len(self._pipes)]
        self._received += 1
        try:
            result: Ends | str = pipe.recv()
        except (EOFError, OSError):
            result = "it ended without a result"
        return result

    def close(self) -> None:
        """Ends all processes and waits for them."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
        for pipe in self._pipes:
            pipe.close()

    def _start(self, job: _Job, chunks: range) -> None:
        reader, writer = multiprocessing.Pipe(duplex=False)
        self._pipes.append(reader)
        with writer:
            process = start_process(_work, job, chunks, writer, daemon=True, blocked_signals=TERMINAL_SIGNALS)
        self._processes.append(process)


def _work(job: _Job, chunks: range, pipe: Connection) -> None:
    """Runs in a worker process: sends its chunks, or an error message, for example if it cannot import the outcome."""
    try:
        game = load_game(job.game)
        outcome: Outcome = pickle.loads(job.outcome)
        player = _Player(game, outcome, Encoder(game, edges=job.edges), job.states, job.seed)
        for chunk in chunks:
            pipe.send(player.chunk(chunk))
    except ConnectionError:  # the reading process has closed its end
        return
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")
