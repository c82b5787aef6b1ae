"""Pondering: thinking on while the opponent does, in a thread beside, from the state after one's own move.

The thread grows the tree of the match, so what it finds is there when the next move is thought about. Its promises:

1. Once `Ponderer.stop` has returned, the thread has ended: it touches neither the tree nor the evaluator any more. That
   takes no longer than the answer to its last question, and the end of an iteration that asks for none.
2. One evaluator has one thread at a time: who ponders or thinks by it ends what another one began with it.
3. It ends by itself where its root is resolved, where the tree is full, and where less than `FREE_BYTES` of memory are
   free.
4. What fails in the thread is kept, and raised by `Ponderer.end`.
5. It draws from a generator of its own. Who does not ponder plays as if there were no such thing.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
import weakref
from dataclasses import dataclass

import pyspiel

from athenan_spiel.config.settings import LONGEST
from athenan_spiel.evaluators.base import Evaluation, Evaluator, checked
from athenan_spiel.search.base import Search
from athenan_spiel.search.drive import Budget, search_under
from athenan_spiel.search.tree import Tree
from athenan_spiel.system.machine import free_memory

FREE_BYTES = 1_000_000_000
"""Thinking that nobody waits for ends where less memory is free."""
LOOK_SECONDS = 0.5
"""Between two looks at how much memory is free."""


@dataclass(frozen=True, eq=False)
class Ponderable:
    """What is pondered.

    Attributes:
        search: grows the tree.
        tree: of the match.
        state: from which to think, not terminal; nobody else changes it.
        evaluator: answers the search.
        rng: breaks ties; nobody else draws from it.
    """

    search: Search
    tree: Tree
    state: pyspiel.State
    evaluator: Evaluator
    rng: random.Random


class _Pondering(threading.Thread):
    """One search, from when it is started until it is stopped or has nothing more to find.

    Attributes:
        error: what has ended it, where that is an error.
    """

    def __init__(self, subject: Ponderable) -> None:
        super().__init__(name="pondering", daemon=True)
        self.subject = subject
        self.error: BaseException | None = None
        self._stopped = threading.Event()
        self._began = False
        self._looks_at = 0.0

    def run(self) -> None:
        """Think, until `stop`."""
        try:
            if not self._stopped.is_set():
                self._think()
        except BaseException as error:  # whoever asks for the next move is to hear of it
            self.error = error

    def _think(self) -> None:
        """Search for as long as there is something to find.

        A search whose iterations may be long is broken off, which leaves its tree sound; the others come to the end of
        their iteration, which is near.
        """
        of, budget = self.subject, Budget(seconds=LONGEST)
        questions = search_under(of.search, of.tree, of.state, budget, of.rng, self._clock, punctual=True)
        try:
            question = next(questions)
            while not (of.search.interruptible and self._is_over()):
                answer = checked(of.evaluator(question), question) if question else Evaluation([])
                question = questions.send(answer)
        except StopIteration:
            return
        questions.close()

    def stop(self) -> None:
        """Let it come to its end, and wait for that."""
        self._stopped.set()
        begun = self.ident is not None
        if begun and self is not threading.current_thread():  # which may be the one that lets go of an agent
            self.join()

    def _clock(self) -> float:
        """The time by which the search counts: it stands still, and all of it is over where it is time to stop."""
        if not self._began:  # the beginning, from which it counts
            self._began = True
            return 0.0
        return LONGEST if self._is_over() else 0.0

    def _is_over(self) -> bool:
        """Whether it was stopped, as it is where memory is short."""
        if (now := time.monotonic()) >= self._looks_at:
            self._looks_at = now + LOOK_SECONDS
            free = free_memory()
            if free is not None and free < FREE_BYTES:
                self._stopped.set()
        return self._stopped.is_set()


class _Place:
    """Where at most one thread ponders: agents with the same evaluator have one place.

    What is pondered there ends with the last of these agents, and with the program.
    """

    def __init__(self) -> None:
        self._running: list[_Pondering] = []
        weakref.finalize(self, _end_all, self._running)

    def take(self, thread: _Pondering) -> None:
        """Let this thread begin, once any other one has ended."""
        self.clear()
        self._running.append(thread)
        thread.start()

    def clear(self) -> None:
        """Let no thread ponder here."""
        _end_all(self._running)


def _end_all(running: list[_Pondering]) -> None:
    for thread in [*running]:
        thread.stop()  # where Ctrl-C breaks off the waiting, the thread stays here, and the next one who asks waits
        with contextlib.suppress(ValueError):  # another one has waited for it, too
            running.remove(thread)


class Ponderer:
    """What an agent ponders with; the file's docstring numbers its promises. It is called from the agent's thread."""

    def __init__(self, place: _Place | None = None) -> None:
        self._place = place or _Place()
        self._subject: Ponderable | None = None
        self._thread: _Pondering | None = None

    def twin(self) -> Ponderer:
        """That of an agent that thinks by the same evaluator; it has pondered nothing yet."""
        return Ponderer(self._place)

    @property
    def is_pondering(self) -> bool:
        """Whether its thread is at work."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self, subject: Ponderable) -> None:
        """Ponder this."""
        self.end()
        self._subject = subject
        self.resume()

    def resume(self) -> None:
        """Go on with what was pondered last, unless the match has gone on since, or it has failed."""
        failed = self._thread is not None and self._thread.error is not None
        if self._subject is not None and not failed and not self.is_pondering:
            self._thread = _Pondering(self._subject)
            self._place.take(self._thread)

    def stop(self) -> None:
        """Ponder no more, nor may any other by this evaluator; stopped already, nothing happens."""
        self._place.clear()

    def leave(self) -> None:
        """Stop, as the match goes on: what was pondered is not resumed."""
        self.stop()
        self._subject = None

    def end(self) -> None:
        """Stop, as something else is to be thought about.

        Raises:
            BaseException: what has failed in the thread, once.
        """
        self.leave()
        thread, self._thread = self._thread, None
        if thread is not None and thread.error is not None:
            raise thread.error

    def forget(self) -> None:
        """Stop, as the match is another one; what has failed in this one does not matter any more."""
        self.leave()
        self._thread = None
