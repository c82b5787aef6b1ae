"""Search in a background thread, for pondering, the web page and the UCI server.

1. The thread answers the requests of search generators. Only the thread calls the evaluator while it runs.
2. `stop` returns at once. From then on `clock` reports that all time has passed, so a search under a time limit ends
   its iteration. A search that its `progress` hook abandons ends after the answer to its current request.
3. A search that checks memory ends in the same way when less than `MIN_FREE_BYTES` of memory is free.
4. An exception ends the thread and is stored as `error`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from athenan_spiel.config.settings import LONGEST
from athenan_spiel.evaluators.base import Evaluation, Evaluator, checked
from athenan_spiel.search.walk import Requests
from athenan_spiel.system.machine import free_memory

T = TypeVar("T")
R = TypeVar("R")

MIN_FREE_BYTES = 1_000_000_000
"""Free memory, in bytes, below which a background search ends."""
MEMORY_CHECK_SECONDS = 0.2
"""Seconds between two checks of the free memory."""


def memory_is_short() -> bool:
    """Returns whether less than `MIN_FREE_BYTES` of memory is free; False if the system doesn't report it."""
    free = free_memory()
    return free is not None and free < MIN_FREE_BYTES


class BackgroundSearch(threading.Thread, Generic[T]):
    """Base class of a thread that runs `search` once.

    Args:
        name: name of the thread.
        checks_memory: whether the search ends when memory is short.

    Attributes:
        result: return value of `search`; None until it has returned.
        error: exception that ended the thread.
        evaluations: number of states evaluated so far.
    """

    def __init__(self, name: str, *, checks_memory: bool = True) -> None:
        super().__init__(name=name, daemon=True)
        self.result: T | None = None
        self.error: BaseException | None = None
        self.evaluations = 0
        self._checks_memory = checks_memory
        self._next_check = 0.0
        self._stopped = threading.Event()
        self._short_of_memory = False
        self._has_begun = False
        self._began = time.perf_counter()
        self._ended: float | None = None

    def search(self) -> T:
        """Chooses a move or grows a tree, through `answer`. Runs in the thread."""
        raise NotImplementedError

    def run(self) -> None:
        """Runs `search`."""
        try:
            self.result = self.search()
        except BaseException as error:  # for the thread that asks for the result
            self.error = error
        finally:
            self._ended = time.perf_counter()

    def stop(self) -> None:
        """Ends the search soon; doesn't wait for its end."""
        self._stopped.set()

    @property
    def is_stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    @property
    def is_short_of_memory(self) -> bool:
        """Whether memory was short during the search."""
        return self._short_of_memory

    @property
    def is_ending(self) -> bool:
        """Whether the search was stopped or memory was short."""
        return self.is_stopped or self._short_of_memory

    @property
    def is_over(self) -> bool:
        """Whether the search has ended."""
        return self._ended is not None

    @property
    def seconds(self) -> float:
        """Duration of the search so far, in seconds."""
        return (time.perf_counter() if self._ended is None else self._ended) - self._began

    def clock(self) -> float:
        """Clock for the search's time limits. It jumps to the end of all limits once the search is to end."""
        # A limit counts from the clock's value before the first request, which must not contain the jump.
        return time.perf_counter() + (LONGEST if self._has_begun and self.is_ending else 0.0)

    def answer(
        self, requests: Requests[R], evaluator: Evaluator, progress: Callable[[], bool] = lambda: False
    ) -> R | None:
        """Answers the requests of a search generator that reads `clock`. Returns its result; None if abandoned.

        Args:
            progress: called after each answer; returns whether to abandon the search.
        """
        try:
            request = next(requests)
            self._has_begun = True
            while True:
                evaluation = checked(evaluator(request), request) if request else Evaluation([])
                self.evaluations += len(request)
                self._check_memory()
                request = requests.send(evaluation)
                if progress():
                    requests.close()
                    return None
        except StopIteration as end:
            result: R = end.value
            return result
        finally:
            self._has_begun = False

    def _check_memory(self) -> None:
        now = time.perf_counter()
        if self._checks_memory and now >= self._next_check:
            self._next_check = now + MEMORY_CHECK_SECONDS
            self._short_of_memory = self._short_of_memory or memory_is_short()
