"""The one driver of matches: many are played side by side, and what they ask together is asked in one call.

A match is a generator of questions. The matches stand in two groups: what those of a group ask of one evaluator makes
one batch, and while that is being answered the other group goes on. Its promises:

1. Each match is sent just what was said of its own question. What it does depends on nothing else, so a match whose
   budgets are in iterations or evaluations is the same whatever is played beside it, but for the last bits of a
   network's values, which the size of a batch may change (promise 3 of `engines.base`).
2. The groups take turns whatever the clock says: the batches of the same matches are the same ones each time, and an
   evaluator that is changed after some `advance` is so at the same place of every match.
3. A match with a `Stopwatch` has its own time: that in which it is at work, and of each batch's the share of its
   states. The times of all matches add up to the driver's, so none pays for what another one does.
4. An error in answering a batch is raised in each match that has asked a part of it, as if its own question had failed.
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
from athenan_spiel.search.walk import Questions

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Python's cycle collector rests within: a tree is many small objects and no cycle, walked over for nothing.

    What is no longer used is freed as always, by its count of references.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


GROUPS = 2
NOTHING = Evaluation([])
"""The answer to an empty question."""


class Stopwatch:
    """A match's own seconds: it stands still while others are at work. Called while it goes, it says how many."""

    def __init__(self) -> None:
        self._spent = 0.0
        self._since = 0.0

    def go(self) -> None:
        """The match is at work from now on."""
        self._since = time.perf_counter()

    def stop(self) -> None:
        """The match waits."""
        self._spent += time.perf_counter() - self._since

    def add(self, seconds: float) -> None:
        """The match has to answer for seconds in which it waited."""
        self._spent += seconds

    def __call__(self) -> float:
        """The seconds so far."""
        return self._spent + time.perf_counter() - self._since


class Playable(Protocol[T_co]):
    """A match that the driver can play."""

    @property
    def questions(self) -> Questions[T_co]:
        """Asks, and returns what the match has come to."""

    @property
    def evaluator(self) -> Evaluator | None:
        """Who is to answer what was asked last, where that is any state."""

    @property
    def watch(self) -> Stopwatch | None:
        """The match's own time; None where it is not asked for."""


Submit = Callable[[Sequence[pyspiel.State]], Pending[Answer]]


class _Batch:
    """What some matches have asked of one evaluator."""

    def __init__(self, submit: Submit) -> None:
        self.states = Joined()
        self.error: Exception | None = None
        self.answers = NOTHING
        self._submit = submit
        self._pending: Pending[Answer] | None = None
        self._seconds = 0.0
        self._at = 0

    def ask(self) -> None:
        """Ask the evaluator, and do not wait; an error is kept for those who have asked."""
        start = time.perf_counter()
        try:
            self._pending = self._submit(self.states)
        except MemoryError:  # memory that runs out is no answer
            raise
        except Exception as error:
            self.error = error
        self._seconds = time.perf_counter() - start

    def wait(self) -> None:
        """Have the answers, or the error."""
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
        """The answers to the next question in the order in which they were asked, one of `count` states."""
        start, self._at = self._at, self._at + count
        return self.answers.part(start, self._at)

    def share(self, count: int) -> float:
        """The seconds that a question of `count` states has taken."""
        return self._seconds * count / len(self.states)


UNASKED = -1
"""In place of a number of states: the match was not asked for anything yet."""


class _Group(Generic[T]):
    """Some of the matches, each with the batch in which its question is (none if it was empty), and its states."""

    def __init__(self, matches: Sequence[tuple[int, Playable[T]]]) -> None:
        self.running: list[tuple[int, Playable[T], _Batch | None, int]] = []
        self.batches: dict[int, _Batch] = {}
        self._dropped: set[int] = set()
        for index, match in matches:
            self.add(index, match)

    def add(self, index: int, match: Playable[T]) -> None:
        """Let a match take part from the next `advance` on."""
        self.running.append((index, match, None, UNASKED))

    def alive(self) -> list[tuple[int, Playable[T]]]:
        """The matches that have neither ended nor been dropped, each with its index."""
        return [(index, match) for index, match, _, _ in self.running if index not in self._dropped]

    def drop(self, index: int) -> None:
        """Drop a match. The answer to its question is not used."""
        self._dropped.add(index)

    def wait(self) -> int:
        """Have all answers; the number of states that were valued."""
        valued = 0
        for batch in self.batches.values():
            batch.wait()
            valued += len(batch.answers.values)
        return valued

    def advance(self, submits: dict[int, Submit], ended: dict[int, T]) -> None:
        """Send each match its answer, a new one none, and ask together what they ask then.

        Args:
            submits: how evaluators are asked, by their `id`.
            ended: what matches have come to, by index.
        """
        running, self.running, self.batches = self.running, [], {}
        asked: _Batch | None = None
        last: Evaluator | None = None  # most matches ask the same one
        for index, match, batch, count in running:
            if index in self._dropped:
                if batch is not None and batch.error is None:
                    batch.next_part(count)
                continue
            try:
                if batch is None or batch.error is not None or match.watch is not None:
                    question = _asked_next(match, batch, count)
                else:
                    question = match.questions.send(batch.next_part(count))
            except StopIteration as end:
                ended[index] = end.value
                continue
            if not question:
                self.running.append((index, match, None, 0))
                continue
            evaluator = match.evaluator
            if asked is None or evaluator is not last:
                last, asked = evaluator, self._batch_of(evaluator, submits)
            asked.states.append(question)
            self.running.append((index, match, asked, len(question)))
        for batch in self.batches.values():
            batch.ask()

    def _batch_of(self, evaluator: Evaluator | None, submits: dict[int, Submit]) -> _Batch:
        assert evaluator is not None, "a match that asks says whom"
        key = id(evaluator)
        batch = self.batches.get(key)
        if batch is None:
            if key not in submits:
                submits[key] = submitting(evaluator)
            batch = self.batches[key] = _Batch(submits[key])
        return batch


def _asked_next(match: Playable[T], batch: _Batch | None, count: int) -> Sequence[pyspiel.State]:
    """What a match asks when it is sent the answer to what it asked last, if it has asked."""
    watch = match.watch
    if watch is not None:
        if batch is not None:
            watch.add(batch.share(count))
        watch.go()
    try:
        if count == UNASKED:
            return next(match.questions)
        if batch is None:
            return match.questions.send(NOTHING)
        if batch.error is not None:
            return match.questions.throw(batch.error)
        return match.questions.send(batch.next_part(count))
    finally:
        if watch is not None:
            watch.stop()


class Driver(Generic[T]):
    """Plays `matches`; `advance` until it says there is nothing more to do. The file's docstring numbers its promises.

    Attributes:
        evaluations, calls: states valued so far, and batches in which they were.
    """

    def __init__(self, matches: Sequence[Playable[T]]) -> None:
        self.evaluations = self.calls = 0
        self._ended: dict[int, T] = {}
        self._submits: dict[int, Submit] = {}
        self._waiting: deque[_Group[T]] = deque()
        numbered = list(enumerate(matches))
        for part in (numbered[0::2], numbered[1::2]):
            self._begin(_Group(part))

    @property
    def alive(self) -> int:
        """Number of matches that have not ended."""
        return sum(len(group.alive()) for group in self._waiting)

    def playing(self) -> list[tuple[int, Playable[T]]]:
        """The matches that have neither ended nor been dropped, each with its index, in the order of these."""
        return sorted((item for group in self._waiting for item in group.alive()), key=lambda item: item[0])

    def drop(self, indices: Collection[int]) -> None:
        """Drop these matches."""
        for group in self._waiting:
            for index, _ in group.alive():
                if index in indices:
                    group.drop(index)

    def add(self, index: int, match: Playable[T]) -> None:
        """Let a further match take part, in the group that has fewer.

        Args:
            index: that no other match has.
        """
        if len(self._waiting) < GROUPS:
            self._begin(_Group([(index, match)]))
        else:
            min(self._waiting, key=lambda group: len(group.running)).add(index, match)

    def _begin(self, group: _Group[T]) -> None:
        group.advance(self._submits, self._ended)
        if group.running:
            self._waiting.append(group)

    def advance(self) -> bool:
        """Answer the group that has waited longest and let it ask again; False once every match has ended.

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
        """What matches that have ended have come to, by index; the driver lets go of it."""
        ended, self._ended = sorted(self._ended.items(), key=lambda item: item[0]), {}
        return ended
