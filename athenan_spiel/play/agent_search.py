"""Search of an agent in a background thread that reports its current result at intervals, for GTP and UCI.

The laws of `background_search` hold. A stopped search ends with its iteration. A long iteration is abandoned soon
after, and the tree then holds what was found.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import pyspiel

from athenan_spiel.play.agent import Agent
from athenan_spiel.play.background_search import BackgroundSearch
from athenan_spiel.search.node import Node
from athenan_spiel.search.result import SearchResult, Used, make_result
from athenan_spiel.search.walk import Requests

T = TypeVar("T")
R = TypeVar("R")

GRACE_SECONDS = 0.1
"""Seconds after the time limit that an iteration has to end."""
FIRST_GRACE_SECONDS = 1.0
"""Additional seconds of the first iteration, without which no move has a value."""


class AgentSearch(BackgroundSearch[T]):
    """Base class of searches by an agent, which belongs to the thread until it has ended.

    Args:
        name: name of the thread.
        agent: searches.
        interval: seconds between two reports.
        checks_memory: as for `BackgroundSearch`.
    """

    def __init__(self, name: str, agent: Agent, interval: float, *, checks_memory: bool = True) -> None:
        super().__init__(name, checks_memory=checks_memory)
        self._agent = agent
        self._interval = interval
        self._next_report = interval
        self._rng = random.Random(0)

    def reported(
        self,
        requests: Requests[R],
        state: pyspiel.State,
        report: Callable[[SearchResult], None],
        *,
        root_actions: Sequence[int] | None = None,
        seconds: float = math.inf,
    ) -> R | None:
        """Answers the requests of the agent's search of `state`, and reports its results at intervals.

        Returns None if the search was abandoned.

        Args:
            requests: search of the agent that reads `clock`.
            report: called in this thread with the current result.
            root_actions: actions to which the search is restricted.
            seconds: time limit of the search.
        """
        until = time.perf_counter() + seconds + GRACE_SECONDS

        def progress() -> bool:
            nonlocal until
            now, root = time.perf_counter(), self._agent.tree.search_root
            if self.is_ending:
                until = min(until, now + GRACE_SECONDS)
            elif root is None and now <= until + FIRST_GRACE_SECONDS:
                return False
            if now > until:
                return True
            if root is not None and self.seconds >= self._next_report:
                report(self.found(root, state, root_actions, self._rng))
                self.reports_later()
            return False

        return self.answer(requests, self._agent.evaluator, progress)

    def reports_later(self) -> None:
        """Starts a new interval, after a report."""
        self._next_report = self.seconds + self._interval

    def found(
        self, root: Node, state: pyspiel.State, root_actions: Sequence[int] | None, rng: random.Random
    ) -> SearchResult:
        """Returns the current result of the search of `state` from `root`.

        Args:
            rng: breaks ties. The agent's own generator selects the move, so reports use another one.
        """
        used, seconds = Used(0, self.evaluations, 0), self.seconds
        return make_result(
            root,
            rng,
            used,
            seconds,
            state,
            decision=self._agent.decided,
            calibration=self._agent.search.calibration,
            root_actions=root_actions,
            order=self._agent.decision,
        )
