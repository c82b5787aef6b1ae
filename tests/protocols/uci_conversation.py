"""A UCI server of ours in a test: what it is told, and what it says."""

from __future__ import annotations

import itertools
import queue
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyspiel

from athenan_spiel.outcomes import Gain
from athenan_spiel.play.agent import Agent
from athenan_spiel.protocols.uci_server import UciServer
from athenan_spiel.search.algorithms import parse_search
from athenan_spiel.search.drive import Budget

PATIENT = 60.0
"""Seconds in which anything here is long done, however busy the machine is."""


def noise(states: Sequence[pyspiel.State]) -> Any:
    """Values that the states decide."""
    return np.array([random.Random(str(state)).uniform(-1, 1) for state in states])


def zeros(states: Sequence[pyspiel.State]) -> Any:
    return np.zeros(len(states))


def line_of(info: str) -> list[str]:
    """The moves of an info's principal variation."""
    return info.partition(" pv ")[2].split()


def pairs_of(info: str) -> dict[str, str]:
    """The numbers of an info, by the word before each, such as `multipv`, `cp` and `mate`; `wdl` has three."""
    words = info.partition(" pv ")[0].split()
    found = {word: number for word, number in itertools.pairwise(words) if re.fullmatch(r"-?[0-9]+", number)}
    return found | ({"wdl": " ".join(words[words.index("wdl") + 1 :][:3])} if "wdl" in words else {})


class Conversation:
    """A server that runs in a thread, and what it has said."""

    def __init__(self, name: str, evaluator: Callable[..., Any] = zeros, search: str = "ubfm_s") -> None:
        game = pyspiel.load_game(name)
        word = parse_search(search)
        self.agent = Agent(
            game,
            word.make(game, Gain()),
            evaluator,
            decision=word.algorithm.decision,
            budget=Budget(iterations=5),
            rng=random.Random(0),
        )
        self.said: queue.Queue[str] = queue.Queue()
        self.told: queue.Queue[str | None] = queue.Queue()
        self.server = UciServer(self.agent, "ours", self.said.put)

    def lines(self) -> Iterator[str]:
        while (line := self.told.get()) is not None:
            yield line

    def tell(self, *lines: str) -> None:
        """What the other side says, at once."""
        self.server.run(lines)

    def take(self) -> list[str]:
        """What was said since."""
        return [self.said.get() for _ in range(self.said.qsize())]

    def go(self, *lines: str) -> list[str]:
        """What is said from the lines to the best move."""
        for line in lines:
            self.server._answer(line.split())
        found = []
        while not found or not found[-1].startswith("bestmove"):
            found.append(self.said.get(timeout=PATIENT))
        return found
