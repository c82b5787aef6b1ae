"""Bots of one game: created in a worker thread and kept for the game."""

from __future__ import annotations

import random
from collections.abc import Collection
from concurrent.futures import Executor, Future
from typing import Literal

import pyspiel

from agents import AthenanBot
from athenan_spiel.search.tree import Tree
from athenan_spiel.web.opponents import Opponents
from athenan_spiel.web.search_limits import TreeMemory

Task = Literal["play", "analyse", "review", "threat"]
"""Task of a bot; each task has its own bots."""


class BotPool:
    """Bots by name, player and task. Used from one thread, the page's.

    Args:
        game: game to play.
        opponents: agents to choose from.
        workers: creates the bots.
        memory: limits their trees.

    Attributes:
        ponders: whether agents of this library ponder during a person's turn; may be changed.
    """

    def __init__(self, game: pyspiel.Game, opponents: Opponents, workers: Executor, memory: TreeMemory) -> None:
        self._game = game
        self._memory = memory
        self._opponents = opponents
        self._workers = workers
        self._bots: dict[tuple[str, int, Task], Future[pyspiel.Bot]] = {}
        self.ponders = False

    def begin(self, name: str, player: int, seconds: float, task: Task = "play") -> bool:
        """Starts to create a bot. Returns False if that was done before.

        Args:
            seconds: time per move, unless the agent spec gives a limit.
        """
        key = (name, player, task)
        if key in self._bots:
            return False
        opponent, seed = self._opponents.find(name), random.randrange(2**31)
        self._bots[key] = self._workers.submit(opponent.make, self._game, player, seconds, seed, self._memory)
        return True

    def find(self, name: str, player: int, task: Task = "play") -> pyspiel.Bot | None:
        """Returns a bot; None until it is created.

        Raises:
            Exception: its creation failed; it may be tried again.
        """
        future = self._bots.get((name, player, task))
        if future is None or not future.done():
            return None
        try:
            bot = future.result()
        except Exception:
            del self._bots[name, player, task]
            raise
        if isinstance(bot, AthenanBot) and task == "play":
            bot.agent.ponders = self.ponders or self._opponents.find(name).ponders
        return bot

    def is_made(self, name: str, player: int) -> bool:
        """Returns whether the creation of a bot has ended, successfully or not."""
        future = self._bots.get((name, player, "play"))
        return future is not None and future.done()

    def pondering(self) -> AthenanBot | None:
        """Returns the bot that ponders, if any."""
        return next((bot for bot in self._trees() if bot.agent.is_pondering), None)

    def stop_pondering(self) -> None:
        """Stops pondering until the next move."""
        for bot in self._trees():
            bot.stop_pondering()

    def clear(self) -> None:
        """Drops all bots."""
        self.stop_pondering()
        self._bots.clear()

    def drop(self, task: Task) -> None:
        """Drops the bots of a task; none of them may be searching."""
        self._bots = {key: bot for key, bot in self._bots.items() if key[2] != task}

    def release(self, busy: Collection[pyspiel.Bot]) -> None:
        """Drops all created bots except the busy ones; they are created again when needed."""
        for key, future in [*self._bots.items()]:
            if future.done() and (future.exception() is not None or all(future.result() is not bot for bot in busy)):
                del self._bots[key]

    @property
    def trees(self) -> list[Tree]:
        """Trees of the created bots."""
        return [bot.agent.tree for bot in self._trees()]

    def _trees(self) -> list[AthenanBot]:
        done = [future for future in self._bots.values() if future.done() and future.exception() is None]
        return [bot for bot in (future.result() for future in done) if isinstance(bot, AthenanBot)]
