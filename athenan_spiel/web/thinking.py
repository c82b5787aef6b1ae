"""A bot that thinks in a thread of its own, and can be looked at meanwhile, and stopped.

A page never waits for a search. Its promises:

1. `seen` is what the search had found at some moment of the last `LOOK_SECONDS` or so, and nothing changes it any more.
   Other bots than ours show nothing until they have moved.
2. After `stop` a search of ours ends once its last question is answered. Its tree is forgotten; no move comes of it.
3. What fails is kept as `error`; nothing is raised in the thread.
4. Searching ends where less memory than `FREE_BYTES` is free: a move comes of what was found where the limit is a time,
   else `error` is a `MemoryError`.
"""

from __future__ import annotations

import random
import threading
import time

import pyspiel

from agents import AthenanBot
from athenan_spiel.config.settings import LONGEST
from athenan_spiel.evaluators.base import Evaluation, checked
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.pondering import FREE_BYTES
from athenan_spiel.search.result import SearchResult, Used, make_result
from athenan_spiel.search.tree import Tree
from athenan_spiel.system.machine import free_memory

LOOK_SECONDS = 0.2
"""Between two looks at what the search has found."""


class Thinking:
    """One move that is thought about, from `start` on until it is found or `stop` is called.

    Args:
        bot: who thinks; nobody else may ask it meanwhile.
        state: about which; nobody else changes it.

    Attributes:
        bot: as the argument.
        seen: what the search has found so far; None before its first look, and for bots that show nothing.
        tree: in which it was found; None likewise.
        action: the move, once it is found.
        error: what failed.
        seconds: since `start`, until it ended.
    """

    def __init__(self, bot: pyspiel.Bot, state: pyspiel.State) -> None:
        self.bot = bot
        self._state = state.clone()
        self._stopped = threading.Event()
        self._short_of_memory = threading.Event()
        self._began = 0.0
        self._ended: float | None = None
        self._thread = threading.Thread(target=self._run, name="thinking", daemon=True)
        self._looked = 0.0
        self._rng = random.Random(0)
        self.seen: SearchResult | None = None
        self.tree: Tree | None = None
        self.action: int | None = None
        self.error: Exception | None = None

    def start(self) -> Thinking:
        """Begin."""
        self._began = time.perf_counter()
        self._thread.start()
        return self

    @property
    def scale(self) -> float:
        """The size of the large values of its search."""
        return scale_of(self.bot.agent) if isinstance(self.bot, AthenanBot) else 1.0

    @property
    def is_over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._ended is not None

    @property
    def seconds(self) -> float:
        """How long it has thought."""
        return (time.perf_counter() if self._ended is None else self._ended) - self._began

    def stop(self) -> None:
        """Let it end soon, without a move."""
        self._stopped.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until it has ended, or so long."""
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            if isinstance(self.bot, AthenanBot):
                action = self._search(self.bot.agent)
            else:
                action = int(self.bot.step(self._state))
            if not self._stopped.is_set():
                self.action = action
        except Exception as error:  # the page tells it
            self.error = error
        finally:
            self._ended = time.perf_counter()

    def _search(self, agent: Agent) -> int | None:
        """Answer the agent's questions until it has chosen; None where it was broken off."""
        questions = agent.thinks(self._state, _ClockThatEnds(self._short_of_memory))
        try:
            question = next(questions)
            while True:
                is_endless = self._short_of_memory.is_set() and not agent.budget.timed
                if self._stopped.is_set() or is_endless:
                    questions.close()
                    agent.restart()
                    if not self._stopped.is_set():
                        raise MemoryError("memory is short: let the agent think for a time, or about a smaller board")
                    return None
                self._look(agent)
                answer = checked(agent.evaluator(question), question) if question else Evaluation([])
                question = questions.send(answer)
        except StopIteration as finished:
            self.tree, self.seen = agent.tree, agent.result
            return int(finished.value)

    def _look(self, agent: Agent) -> None:
        """Once in a while, keep what is known of the state now."""
        now = time.perf_counter()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        if (free := free_memory()) is not None and free < FREE_BYTES:
            self._short_of_memory.set()
        self.tree = agent.tree
        self.seen = look_at(agent, self._state, self._rng, now - self._began) or self.seen


def scale_of(agent: Agent) -> float:
    """The size of the large values of an agent's search."""
    return float(getattr(agent.search.outcome, "scale", 1.0))


def look_at(agent: Agent, state: pyspiel.State, rng: random.Random, seconds: float) -> SearchResult | None:
    """What an agent's tree says of a state now, while another thread may grow it; None where it holds nothing of it.

    The root is copied first. The agent's decision so selects from labels that nobody changes meanwhile.

    Args:
        rng: breaks ties.
        seconds: that were thought about it.
    """
    root = agent.tree.table.get(agent.tree.key(state))
    return None if root is None else make_result(root.copy(), rng, Used(0, 0, 0), seconds, decision=agent.decided)


class _ClockThatEnds:
    """The time of the machine, and the end of all time once an event is set."""

    def __init__(self, ended: threading.Event) -> None:
        self._ended = ended

    def __call__(self) -> float:
        return time.perf_counter() + (LONGEST if self._ended.is_set() else 0.0)
