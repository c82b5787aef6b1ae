"""Driver that plays many games concurrently and batches their requests for evaluations.

A game is a generator of requests. The games form two groups. The requests of a group to one evaluator form one batch;
while that batch is evaluated, the other group continues. The driver guarantees:

1. A game receives the evaluations of its own requests and depends on nothing else. With a budget in iterations or
   evaluations it is therefore the same whatever games run beside it, except that the batch size may change the last
   bits of a network's values (law 3 of `engines.base`).
2. The groups alternate independently of the clock. The same games form the same batches each time. If an evaluator gets
   new weights after the same call of `advance`, each game receives its first value from them at the same request
   each time.
3. A game with a `Stopwatch` has its own time: the time of its own computation, and the part of each batch's time that
   is proportional to its states. If every game has one, their times add up to the driver's time, except for the
   driver's own overhead.
4. An error in a batch is raised in each game with a request in that batch, as if its own request had failed. A
   `MemoryError` is not passed to the games; it ends the driver.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

import pyspiel

from athenan_spiel.engines.base import Pending
from athenan_spiel.evaluators.base import Answer, Evaluation, Evaluator, checked, submitting
from athenan_spiel.games.children import Joined
from athenan_spiel.search.walk import Requests

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Disables Python's garbage collector, which would traverse the many small objects of a tree and find no cycle.

    Reference counting still frees unused objects.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def collect_between_games() -> None:
    """Frees unreachable cycles inside `without_garbage_collection`, at a time when no player is waiting for a move."""
    if not gc.isenabled():
        gc.collect()


GROUPS = 2
"""Number of groups of games."""
EMPTY_EVALUATION = Evaluation([])
"""Answer to an empty request."""


class Stopwatch:
    """Measures the time of one game, in seconds, and pauses while other games run. Calling it returns the time."""

    def __init__(self) -> None:
        self._spent = 0.0
        self._since = 0.0

    def go(self) -> None:
        """Starts measuring."""
        self._since = time.perf_counter()

    def stop(self) -> None:
        """Pauses."""
        self._spent += time.perf_counter() - self._since

    def add(self, seconds: float) -> None:
        """Adds seconds in which the stopwatch was paused."""
        self._spent += seconds

    def __call__(self) -> float:
        """Returns the seconds so far. The stopwatch must be running."""
        return self._spent + time.perf_counter() - self._since


class Playable(Protocol[T_co]):
    """Protocol of a game that the driver can play."""

    @property
    def requests(self) -> Requests[T_co]:
        """Generator of the game's requests, which returns the game's result."""

    @property
    def evaluator(self) -> Evaluator | None:
        """Evaluator for the last request; None is allowed if the request is empty."""

    @property
    def watch(self) -> Stopwatch | None:
        """Stopwatch of the game; None if nobody needs its time."""


Submit = Callable[[Sequence[pyspiel.State]], Pending[Answer]]


class _Batch:
    """Requests of several games to one evaluator."""

    def __init__(self, submit: Submit) -> None:
        self.states = Joined()
        self.error: Exception | None = None
        self.answers = EMPTY_EVALUATION
        self._submit = submit
        self._pending: Pending[Answer] | None = None
        self._seconds = 0.0
        self._offset = 0

    def submit(self) -> None:
        """Starts the evaluation without waiting. Stores an exception for the games with a request."""
        start = time.perf_counter()
        try:
            self._pending = self._submit(self.states)
        except MemoryError:  # ends the whole driver
            raise
        except Exception as error:
            self.error = error
        self._seconds = time.perf_counter() - start

    def wait(self) -> None:
        """Waits for the evaluations or the exception."""
        if self._pending is None:
            return
        start = time.perf_counter()
        try:
            self.answers = checked(self._pending.result(), self.states)
        except MemoryError:
            raise
        except Exception as error:
            self.error = error
        self._seconds += time.perf_counter() - start

    def next_part(self, count: int) -> Evaluation:
        """Returns the evaluation of the next request, which has `count` states, in the order of the requests."""
        start, self._offset = self._offset, self._offset + count
        return self.answers.part(start, self._offset)

    def share(self, count: int) -> float:
        """Returns the share of a request with `count` states in the duration of the batch, in seconds."""
        return self._seconds * count / len(self.states)


NOT_STARTED = -1
"""Stands for the number of requested states of a game that has not started."""


class _Group(Generic[T]):
    """A group of games.

    `running` holds (index, game, batch of its request, number of requested states). The batch is None for an empty
    request.
    """

    def __init__(self, games: Sequence[tuple[int, Playable[T]]]) -> None:
        self.running: list[tuple[int, Playable[T], _Batch | None, int]] = []
        self.batches: dict[int, _Batch] = {}
        self._dropped: set[int] = set()
        for index, game in games:
            self.add(index, game)

    def add(self, index: int, game: Playable[T]) -> None:
        """Adds a game, which starts in the next `advance`."""
        self.running.append((index, game, None, NOT_STARTED))

    def alive(self) -> list[tuple[int, Playable[T]]]:
        """Returns the games that have neither ended nor been dropped, with their indices."""
        return [(index, game) for index, game, _, _ in self.running if index not in self._dropped]

    def drop(self, index: int) -> None:
        """Drops a game. The evaluation of its request is not used."""
        self._dropped.add(index)

    def wait(self) -> int:
        """Waits for all evaluations and returns the number of evaluated states."""
        evaluated = 0
        for batch in self.batches.values():
            batch.wait()
            evaluated += len(batch.answers.values)
        return evaluated

    def advance(self, submits: dict[int, Submit], ended: dict[int, T]) -> None:
        """Sends each game its evaluation, or starts it, and submits their next requests in batches.

        Args:
            submits: `submitting` of each evaluator, by the evaluator's `id`. New evaluators are added.
            ended: receives the results of games that end, by index.
        """
        running, self.running, self.batches = self.running, [], {}
        current: _Batch | None = None
        last: Evaluator | None = None  # usually the evaluator of all games
        for index, game, batch, count in running:
            if index in self._dropped:
                if batch is not None and batch.error is None:
                    batch.next_part(count)
                continue
            try:
                if batch is None or batch.error is not None or game.watch is not None:
                    request = _next_request(game, batch, count)
                else:
                    request = game.requests.send(batch.next_part(count))
            except StopIteration as end:
                ended[index] = end.value
                continue
            if not request:
                self.running.append((index, game, None, 0))
                continue
            evaluator = game.evaluator
            if current is None or evaluator is not last:
                last, current = evaluator, self._batch_of(evaluator, submits)
            current.states.append(request)
            self.running.append((index, game, current, len(request)))
        for batch in self.batches.values():
            batch.submit()

    def _batch_of(self, evaluator: Evaluator | None, submits: dict[int, Submit]) -> _Batch:
        assert evaluator is not None, "a game with a request has an evaluator"
        key = id(evaluator)
        batch = self.batches.get(key)
        if batch is None:
            if key not in submits:
                submits[key] = submitting(evaluator)
            batch = self.batches[key] = _Batch(submits[key])
        return batch


def _next_request(game: Playable[T], batch: _Batch | None, count: int) -> Sequence[pyspiel.State]:
    """Starts a game, or sends it the evaluation of its last request. Returns its next request.

    Args:
        game: game to run until its next request.
        batch: batch of its last request; None if that was empty or the game has not started.
        count: number of states in its last request, or `NOT_STARTED`.
    """
    watch = game.watch
    if watch is not None:
        if batch is not None:
            watch.add(batch.share(count))
        watch.go()
    try:
        if count == NOT_STARTED:
            return next(game.requests)
        if batch is None:
            return game.requests.send(EMPTY_EVALUATION)
        if batch.error is not None:
            return game.requests.throw(batch.error)
        return game.requests.send(batch.next_part(count))
    finally:
        if watch is not None:
            watch.stop()


class Driver(Generic[T]):
    """Plays `games`: call `advance` until it returns False. The module's docstring lists its guarantees.

    Attributes:
        evaluations: number of states evaluated so far.
        calls: number of batches of these states.
    """

    def __init__(self, games: Sequence[Playable[T]]) -> None:
        self.evaluations = self.calls = 0
        self._ended: dict[int, T] = {}
        self._submits: dict[int, Submit] = {}
        self._waiting: deque[_Group[T]] = deque()
        numbered = list(enumerate(games))
        for part in (numbered[0::2], numbered[1::2]):
            self._start(_Group(part))

    @property
    def alive(self) -> int:
        """Number of games that have neither ended nor been dropped."""
        return sum(len(group.alive()) for group in self._waiting)

    def playing(self) -> list[tuple[int, Playable[T]]]:
        """Returns the games that have neither ended nor been dropped, with their indices, in ascending order."""
        return sorted((item for group in self._waiting for item in group.alive()), key=lambda item: item[0])

    def drop(self, indices: Collection[int]) -> None:
        """Drops the games with these indices."""
        for group in self._waiting:
            for index, _ in group.alive():
                if index in indices:
                    group.drop(index)

    def add(self, index: int, game: Playable[T]) -> None:
        """Adds a game to the smaller group.

        Args:
            index: index that no other game has.
            game: game to add.
        """
        if len(self._waiting) < GROUPS:
            self._start(_Group([(index, game)]))
        else:
            min(self._waiting, key=lambda group: len(group.running)).add(index, game)

    def _start(self, group: _Group[T]) -> None:
        group.advance(self._submits, self._ended)
        if group.running:
            self._waiting.append(group)

    def advance(self) -> bool:
        """Evaluates the batches of the group that has waited longest, and runs its games until their next requests.

        Returns:
            Whether any game is left.

        Raises:
            EvaluatorError: as `think`.
        """
        if not self._waiting:
            return False
        group = self._waiting.popleft()
        self.calls += len(group.batches)
        self.evaluations += group.wait()
        group.advance(self._submits, self._ended)
        if group.running:
            self._waiting.append(group)
        return bool(self._waiting)

    def take_all(self) -> list[tuple[int, T]]:
        """Returns (index, result) of each game that has ended since the last call, in ascending order."""
        ended, self._ended = sorted(self._ended.items(), key=lambda item: item[0]), {}
        return ended
