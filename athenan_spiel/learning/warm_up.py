"""Training samples of the warm-up, in which a network learns states of random games and terminal values.

The warm-up precedes the first game. In the article it consists of terminal states (Section 8.4.3, method `ends`). With
the method `games` it consists of states of all parts of the games, with the terminal values of their games. So the
network learns the mean result of playouts from a state, which MCTS without a network estimates.

A pool of processes (`system.tasks`) plays uniformly random games to their ends, and sends packed states back:

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

from athenan_spiel.config import WarmUpName
from athenan_spiel.encoding.compact import CompactRows
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import is_chance
from athenan_spiel.games.playout import Choose, playout, random_moves
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.replay import Batch
from athenan_spiel.outcomes import Outcome
from athenan_spiel.system.machine import cores
from athenan_spiel.system.process_transport import ProcessTransport
from athenan_spiel.system.tasks import POLL_SECONDS, LossPolicy, TaskPool

CHUNK = 128
"""Number of states packed and sent together. This amortises the cost, and takes at most about a second of play."""
STATES_PER_GAME = 16
"""Number of states of each game with the method `games`. It divides `CHUNK`."""
AHEAD = 2
"""Number of tasks per process that are played ahead, or wait to be learned."""
MAX_CHUNKS = 8
"""Maximum number of chunks per task. A process waits for its next task until results are requested."""
RIDGE = 0.1
"""L2 penalty of `linearly_explained`, relative to the mean variance of an input."""
TEST_FRACTION = 0.25
"""Fraction of the states on which `linearly_explained` tests its function."""
SAMPLE = 1 << 63
"""Number added to that of a game for the sample of its states."""
MAX_PROCESSES_PER_CORE = 8
"""Maximum number of processes per core. More would only need memory."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """N states and their values."""

    rows: CompactRows
    """Observations of the states."""
    values: NDArray[np.float32]
    """[N]: terminal values for player 0; [N, players] in a game with rows."""


def linearly_explained(inputs: NDArray[np.float32], values: NDArray[np.float32]) -> float:
    """Returns the fraction of the variance of `values` that a linear function of `inputs` explains, at most 1.

    It is a ridge regression on the first states, tested on the last `TEST_FRACTION`. With few states it is below 0.

    Args:
        inputs: [N, D].
        values: [N]; [N, players] in a game with rows.
    """
    count = round((1 - TEST_FRACTION) * len(inputs))
    if not 0 < count < len(inputs):
        return 0.0
    values = values.reshape(len(values), -1)
    x, y = inputs - inputs[:count].mean(0), values - values[:count].mean(0)
    a, b = x[:count], y[:count]
    penalty = RIDGE * max(float((a * a).sum()) / a.shape[1], 1e-6)
    if a.shape[1] <= count:
        weights = np.linalg.solve(a.T @ a + penalty * np.eye(a.shape[1], dtype=np.float32), a.T @ b)
    else:  # the same by the dual problem, which is smaller
        weights = a.T @ np.linalg.solve(a @ a.T + penalty * np.eye(count, dtype=np.float32), b)
    variance = float(values[count:].var(0).sum())
    errors = float(((x[count:] @ weights - y[count:]) ** 2).mean(0).sum())
    return 1 - errors / variance if variance else 0.0


def warm_up_processes(requested: int | None) -> int:
    """Returns the number of processes for a requested number; None: one per core."""
    return min(requested or cores(), MAX_PROCESSES_PER_CORE * cores())


class RandomStates:
    """States of uniformly random games, the same in each iteration.

    Args:
        game: game to play.
        outcome: returns the terminal value of a state.
        encoder: encoder of the game.
        method: which states: "ends" or "games" (`WarmUpConfig.method`).
        states: total number of states.
        seed: random seed of all games.
        processes: number of worker processes, at most `MAX_PROCESSES_PER_CORE` per core; None: one for each core that
            this process may use. With 1, this process plays the games itself.
        edges: `edges` of the encoder.
        is_over: returns whether the time has passed, so no further game is played; None: no limit. Only this process
            can then play (`processes` 1).
    """

    def __init__(
        self,
        game: pyspiel.Game,
        outcome: Outcome,
        encoder: Encoder,
        *,
        method: WarmUpName = "ends",
        states: int,
        seed: int,
        processes: int | None = None,
        edges: bool = False,
        is_over: Callable[[], bool] | None = None,
    ) -> None:
        self._player = _Player(game, outcome, encoder, method, states, seed, is_over or _never)
        self._edges = edges
        self._processes = warm_up_processes(processes)

    def minibatches(self, batch_size: int, first: int = 0) -> Generator[Batch, None, None]:
        """Yields each state once, in order, from index `first` on, in minibatches.

        The last one may be smaller; it is dropped if the time has passed.
        """
        observations: list[NDArray[np.float32]] = []
        values: list[NDArray[np.float32]] = []
        waiting, skipped = 0, first % CHUNK
        with contextlib.closing(self.chunks(first // CHUNK)) as chunks:
            for chunk in chunks:
                observations.append(chunk.rows.unpack()[skipped:])
                values.append(chunk.values[skipped:])
                waiting += len(values[-1])
                skipped = 0
                if waiting >= batch_size:
                    joined = Batch(np.concatenate(observations), Labels(np.concatenate(values)))
                    whole = waiting - waiting % batch_size
                    yield from (_slice(joined, slice(i, i + batch_size)) for i in range(0, whole, batch_size))
                    rest = _slice(joined, slice(whole, None))
                    observations, values, waiting = [rest.observations], [rest.labels.values], waiting - whole
        if waiting and not self._player.is_over():
            yield Batch(np.concatenate(observations), Labels(np.concatenate(values)))

    def chunks(self, first: int = 0) -> Generator[Chunk, None, None]:
        """Yields all states in order, in chunks of `CHUNK`, from chunk `first` on, until the time has passed."""
        chunks = range(first, -(-self._player.states // CHUNK))
        may_have_children = not multiprocessing.current_process().daemon
        processes = min(self._processes, len(chunks)) if may_have_children else 1
        done = 0
        if processes > 1 and (job := self._job()) is not None:
            with contextlib.closing(_Workers(job, chunks, processes)) as workers:
                for chunk in chunks:
                    played = workers.result(chunk)
                    if played is None:
                        _log.warning("the warm-up continues in one process, as a worker failed: %s", workers.problem)
                        break
                    yield played
                    done += 1
        for chunk in chunks[done:]:
            if self._player.is_over():
                break
            yield self._player.chunk(chunk)

    def _job(self) -> _Job | None:
        """Returns the arguments of the worker processes; None if the outcome cannot be pickled."""
        player = self._player
        try:
            outcome = pickle.dumps(player.outcome)
        except Exception as error:  # pickle raises all kinds
            _log.warning("the warm-up plays in one process, as its outcome cannot be pickled: %s", error)
            return None
        return _Job(str(player.game), outcome, self._edges, player.method, player.states, player.seed)


def _never() -> bool:
    return False


def _slice(batch: Batch, rows: slice) -> Batch:
    return Batch(batch.observations[rows], batch.labels.take(rows))


@dataclass(frozen=True, slots=True)
class _Job:
    """Arguments of a worker process."""

    game: str
    outcome: bytes
    """Pickled outcome. It is imported from the module that defines it here, not looked up by its name in settings."""
    edges: bool
    method: WarmUpName
    states: int
    seed: int


@dataclass(frozen=True, slots=True)
class _Player:
    """Plays the games of a chunk."""

    game: pyspiel.Game
    outcome: Outcome
    encoder: Encoder
    method: WarmUpName
    states: int
    seed: int
    is_over: Callable[[], bool]

    def chunk(self, chunk: int) -> Chunk:
        """Plays the chunk with this number. The last one may be smaller, as is a chunk during which the time ends."""
        numbers = range(chunk * CHUNK, min((chunk + 1) * CHUNK, self.states))
        states: list[pyspiel.State] = []
        worths: list[Any] = []
        if self.method == "ends":
            for number in numbers:
                states.append(self._end(number))
                worths.append(self.outcome(states[-1]))
                if self.is_over():
                    break
        else:
            for number in range(numbers.start // STATES_PER_GAME, -(-numbers.stop // STATES_PER_GAME)):
                seen, end = self._game(number)
                states += seen
                worths += [self.outcome(end)] * len(seen)
                if self.is_over():
                    break
        states, values = states[: len(numbers)], np.array(worths[: len(numbers)], np.float32)
        rows = self.encoder.encode(states).reshape(len(states), self.encoder.size)
        return Chunk(CompactRows.pack(rows), values)

    def _end(self, number: int) -> pyspiel.State:
        """Returns the terminal state of the game with this number."""
        return playout(self.game.new_initial_state(), self._choose(number))

    def _game(self, number: int) -> tuple[list[pyspiel.State], pyspiel.State]:
        """Returns `STATES_PER_GAME` random states of the game with this number that have decisions, and its end.

        A shorter game has some of them several times.
        """
        state, sample = self.game.new_initial_state(), self._choose(SAMPLE | number)
        kept: list[pyspiel.State] = []
        count = 0
        for _ in random_moves(state, self._choose(number)):
            if is_chance(state):
                continue
            count += 1  # reservoir sampling: each of the `count` states so far is kept with the same probability
            if len(kept) < STATES_PER_GAME:
                kept.append(state.clone())
            elif (at := sample(range(count))) < STATES_PER_GAME:
                kept[at] = state.clone()
        return list(itertools.islice(itertools.cycle(kept or [state]), STATES_PER_GAME)), state

    def _choose(self, number: int) -> Choose:
        """Returns the random choices of the game, or the sample, with this number."""
        draw = random.Random(self.seed << 64 | number).random
        return lambda actions: actions[int(draw() * len(actions))]


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
    return _Player(game, outcome, Encoder(game, edges=job.edges), job.method, job.states, job.seed, _never)


class _Workers:
    """A pool of processes that plays chunks ahead.

    Attributes:
        problem: why a chunk could not be played; None if there was no problem.
    """

    def __init__(self, job: _Job, chunks: range, count: int) -> None:
        size = max(1, min(MAX_CHUNKS, len(chunks) // (AHEAD * count)))
        self._last = set(chunks[size - 1 :: size])  # chunks at the ends of tasks
        self._tasks = (ChunkTask(job, chunks[i : i + size]) for i in range(0, len(chunks), size))
        self._found: dict[int, Chunk] = {}
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

    def result(self, chunk: int) -> Chunk | None:
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

    def _on_report(self, task: ChunkTask, report: tuple[int, Chunk] | str) -> None:
        if isinstance(report, str):
            self.problem = report
        else:
            self._found[report[0]] = report[1]
