"""Pondering: searching in the background during the opponent's turn, from the state after the agent's move.

The thread grows the tree of the game, so the next search starts with what it found. Guarantees:

1. When `Ponderer.stop` has returned, the thread has ended: it touches neither the tree nor the evaluator. `stop`
   waits at most for the answer to its current request and the end of an iteration that makes no further request.
2. An agent and its clones share an evaluator, and only one thread at a time calls it: before one of them ponders or
   thinks, any other pondering of them ends.
3. Pondering ends when its root is resolved, when the tree is full, and when memory is short (`background_search`).
4. An exception in the thread is raised by `Ponderer.end`.
5. Pondering has its own random generator. An agent draws the seed from its generator when it starts to ponder, so an
   agent that does not ponder draws nothing for it.
"""

from __future__ import annotations

import contextlib
import random
import threading
import weakref
from dataclasses import dataclass

import pyspiel

from athenan_spiel.config.settings import LONGEST
from athenan_spiel.evaluators.base import Evaluator
from athenan_spiel.play.background_search import BackgroundSearch
from athenan_spiel.search.base import Search
from athenan_spiel.search.drive import Budget, search_under
from athenan_spiel.search.tree import Tree


@dataclass(frozen=True, eq=False)
class Ponderable:
    """Arguments of a search to ponder.

    Attributes:
        search: grows the tree.
        tree: tree of the game.
        state: root of the search, not terminal; must not be changed by others.
        evaluator: answers the requests of the search.
        rng: breaks ties; must not be used by others.
    """

    search: Search
    tree: Tree
    state: pyspiel.State
    evaluator: Evaluator
    rng: random.Random


class _Pondering(BackgroundSearch[None]):
    """Searches until it is stopped or nothing is left to find.

    An `interruptible` search is abandoned after its current request, which leaves its tree sound. Other searches end
    their iteration.
    """

    def __init__(self, subject: Ponderable) -> None:
        super().__init__("pondering")
        self.subject = subject

    def search(self) -> None:
        if not self.is_stopped:
            subject, budget = self.subject, Budget(seconds=LONGEST)
            requests = search_under(
                *(subject.search, subject.tree, subject.state, budget, subject.rng, self.clock), punctual=True
            )
            self.answer(requests, subject.evaluator, lambda: subject.search.interruptible and self.is_ending)


class _Slot:
    """Slot for the one thread of an agent and its clones, which share an evaluator.

    The thread ends with the last of these agents, and with the program.
    """

    def __init__(self) -> None:
        self._running: list[_Pondering] = []
        weakref.finalize(self, _end_all, self._running)

    def start(self, thread: _Pondering) -> None:
        """Starts a thread after the previous one has ended."""
        self.clear()
        self._running.append(thread)
        thread.start()

    def clear(self) -> None:
        """Stops the running thread and waits for its end."""
        _end_all(self._running)


def _end_all(running: list[_Pondering]) -> None:
    for thread in [*running]:
        thread.stop()
        # The current thread may be the one that drops the last reference to an agent.
        if thread.ident is not None and thread is not threading.current_thread():
            thread.join()  # if Ctrl-C interrupts it, the thread stays in the list and the next call waits for it
        with contextlib.suppress(ValueError):  # another caller has removed it
            running.remove(thread)


class Ponderer:
    """Pondering of one agent; the module's docstring lists its guarantees. Called from the agent's thread."""

    def __init__(self, slot: _Slot | None = None) -> None:
        self._slot = slot or _Slot()
        self._subject: Ponderable | None = None
        self._thread: _Pondering | None = None

    def twin(self) -> Ponderer:
        """Returns an idle ponderer for a clone of the agent."""
        return Ponderer(self._slot)

    @property
    def is_pondering(self) -> bool:
        """Whether the thread is running."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self, subject: Ponderable) -> None:
        """Starts to ponder `subject`."""
        self.end()
        self._subject = subject
        self.resume()

    def resume(self) -> None:
        """Continues the last pondering, unless the game has moved on or the pondering failed."""
        failed = self._thread is not None and self._thread.error is not None
        if self._subject is not None and not failed and not self.is_pondering:
            self._thread = _Pondering(self._subject)
            self._slot.start(self._thread)

    def stop(self) -> None:
        """Stops all pondering of the agent and its clones, and waits for its end. Has no effect if none ponders."""
        self._slot.clear()

    def leave(self) -> None:
        """Stops because the game has moved on: `resume` has nothing to continue."""
        self.stop()
        self._subject = None

    def end(self) -> None:
        """Stops because another search begins.

        Raises:
            BaseException: the exception that ended the thread; raised once.
        """
        self.leave()
        thread, self._thread = self._thread, None
        if thread is not None and thread.error is not None:
            raise thread.error

    def forget(self) -> None:
        """Stops because a new game begins; drops an error of the previous one."""
        self.leave()
        self._thread = None
