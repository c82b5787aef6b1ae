"""Warm-up: the ends of playouts and their worth, to be learned before the first match (the article, Section 8.4.3).

Uniformly random matches are played to their ends, in many processes, and come back packed, in order. Promises:

1. What comes does not depend on the number of processes: matches are numbered, and each is played from a seed that
   only its number and the run's seed decide.
2. Little is held at a time: a process that is ahead waits until what it has played is asked for.
3. Whenever the iteration is ended, by its end, an error or `close`, its processes are ended and waited for.
4. A game or an outcome that another process cannot load (one that an unguarded script has registered, say) is played
   in this process, and a warning of the log says so. A process that may have no children, such as a pool's, plays
   itself.
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
"""Matches that are packed and sent together: enough to spread what that costs, a second of play at most."""
MOST_PER_CORE = 8
"""Processes for each core: more would only take memory."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Some terminal states with their worth."""

    rows: CompactRows
    """N observations."""
    values: NDArray[np.float32]
    """[N], for player 0."""


def warm_up_processes(asked: int | None) -> int:
    """How many play at the same time where so many are asked for; see `RandomEnds`."""
    return min(asked or cores(), MOST_PER_CORE * cores())


class RandomEnds:
    """Terminal states of uniformly random matches, always the same.

    Args:
        game, outcome, encoder: what is played, what its ends are worth, and how they are seen.
        edges: the encoder's.
        states: how many there are in all.
        seed: of all matches.
        processes: that play at the same time, `MOST_PER_CORE` for each core at most, as what comes does not depend on
            it; none: one for each core that this process may use. With one, this process plays itself.
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
        """Each state once, in order, from the `first` on, `batch_size` together; the last minibatch may be smaller."""
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
                    together = Batch(np.concatenate(observations), Labels(np.concatenate(values)))
                    whole = waiting - waiting % batch_size
                    yield from (_part(together, slice(i, i + batch_size)) for i in range(0, whole, batch_size))
                    rest = _part(together, slice(whole, None))
                    observations, values, waiting = [rest.observations], [rest.labels.values], waiting - whole
        if waiting:
            yield Batch(np.concatenate(observations), Labels(np.concatenate(values)))

    def chunks(self, first: int = 0) -> Generator[Ends, None, None]:
        """All states in order, `CHUNK` together, from the `first` chunk on; the last chunk may be smaller."""
        chunks = range(first, -(-self._player.states // CHUNK))
        may_have_children = not multiprocessing.current_process().daemon
        processes = min(self._processes, len(chunks)) if may_have_children else 1
        done = 0
        if processes > 1 and (order := self._order()) is not None:
            with contextlib.closing(_Workers(order, chunks, processes)) as workers:
                for _ in chunks:
                    answer = workers.answer()
                    if isinstance(answer, str):
                        _log.warning("the warm-up plays in one process, as another one failed: %s", answer)
                        break
                    yield answer
                    done += 1
        for chunk in chunks[done:]:
            yield self._player.chunk(chunk)

    def _order(self) -> _Order | None:
        """What other processes are told; None if the outcome cannot be pickled."""
        player = self._player
        try:
            outcome = pickle.dumps(player.outcome)
        except Exception as error:  # pickle raises all kinds
            _log.warning("the warm-up plays in one process, as its outcome cannot be sent to another: %s", error)
            return None
        return _Order(str(player.game), outcome, self._edges, player.states, player.seed)


def _part(batch: Batch, rows: slice) -> Batch:
    return Batch(batch.observations[rows], batch.labels.take(rows))


@dataclass(frozen=True, slots=True)
class _Order:
    """All that another process must be told."""

    game: str
    outcome: bytes
    """Pickled: its code is looked for where this process has it, and not by any name in the run's settings."""
    edges: bool
    states: int
    seed: int


@dataclass(frozen=True, slots=True)
class _Player:
    """Plays the matches of a chunk."""

    game: pyspiel.Game
    outcome: Outcome
    encoder: Encoder
    states: int
    seed: int

    def chunk(self, chunk: int) -> Ends:
        """Play the chunk of this number; the last one may be smaller."""
        numbers = range(chunk * CHUNK, min((chunk + 1) * CHUNK, self.states))
        ends = [self._end(number) for number in numbers]
        values = np.array([self.outcome(end) for end in ends], np.float32)
        rows = self.encoder.encode(ends).reshape(len(ends), self.encoder.size)
        return Ends(CompactRows.pack(rows), values)

    def _end(self, number: int) -> pyspiel.State:
        """The end of the match of this number."""
        draw = random.Random(self.seed << 64 | number).random
        return playout(self.game.new_initial_state(), lambda actions: actions[int(draw() * len(actions))])


class _Workers:
    """Processes that play every n-th chunk each, in order, as far ahead as their pipes take."""

    def __init__(self, order: _Order, chunks: range, count: int) -> None:
        self._processes: list[multiprocessing.process.BaseProcess] = []
        self._pipes: list[Connection] = []
        self._answers = 0
        try:
            for i in range(count):
                self._begin(order, chunks[i::count])
        except BaseException:
            self.close()
            raise

    def answer(self) -> Ends | str:
        """The next chunk, or what went wrong."""
        pipe = self._pipes[self._answers % len(self._pipes)]
        self._answers += 1
        try:
            answer: Ends | str = pipe.recv()
        except (EOFError, OSError):
            answer = "it ended without an answer"
        return answer

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
        for pipe in self._pipes:
            pipe.close()

    def _begin(self, order: _Order, chunks: range) -> None:
        here, there = multiprocessing.Pipe(duplex=False)
        self._pipes.append(here)
        with there:
            process = start_process(_work, order, chunks, there, daemon=True, blocked_signals=TERMINAL_SIGNALS)
        self._processes.append(process)


def _work(order: _Order, chunks: range, pipe: Connection) -> None:
    """What a process does: send each of its chunks, or what is wrong, such as an outcome whose code is not found."""
    try:
        game = load_game(order.game)
        outcome: Outcome = pickle.loads(order.outcome)
        player = _Player(game, outcome, Encoder(game, edges=order.edges), order.states, order.seed)
        for chunk in chunks:
            pipe.send(player.chunk(chunk))
    except ConnectionError:  # the other process has stopped reading
        return
    except Exception as error:
        pipe.send(f"{type(error).__name__}: {error}")
