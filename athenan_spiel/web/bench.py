"""The bots of one match: made in a thread beside, kept for the match, and told when nobody is to ponder any more."""

from __future__ import annotations

import random
from collections.abc import Collection
from concurrent.futures import Executor, Future

import pyspiel

from agents import AthenanBot
from athenan_spiel.search.tree import Tree
from athenan_spiel.web.opponents import Opponents
from athenan_spiel.web.tree_memory import TreeMemory


class Bench:
    """Bots by who they are and whom they play; all of it is called from one thread, the page's.

    Args:
        game: what is played.
        opponents: who may be chosen.
        workers: where bots are made.
        memory: bounds their trees.

    Attributes:
        ponders: whether agents with a tree of ours think on while a person does; it may be changed.
    """

    def __init__(self, game: pyspiel.Game, opponents: Opponents, workers: Executor, memory: TreeMemory) -> None:
        self._game = game
        self._memory = memory
        self._opponents = opponents
        self._workers = workers
        self._made: dict[tuple[str, int, bool], Future[pyspiel.Bot]] = {}
        self.ponders = False

    def begin(self, name: str, player: int, seconds: float, *, advises: bool = False) -> bool:
        """Begin to make a bot; whether that is news.

        Args:
            seconds: for a move, where its word says nothing of that.
            advises: it analyses positions for a person, and is another one than who plays.
        """
        key = (name, player, advises)
        if key in self._made:
            return False
        opponent, seed = self._opponents.find(name), random.randrange(2**31)
        self._made[key] = self._workers.submit(opponent.make, self._game, player, seconds, seed, self._memory)
        return True

    def find(self, name: str, player: int, *, advises: bool = False) -> pyspiel.Bot | None:
        """A bot; None until it is made.

        Raises:
            Exception: what has failed as it was made; it may be made again.
        """
        made = self._made.get((name, player, advises))
        if made is None or not made.done():
            return None
        try:
            bot = made.result()
        except Exception:
            del self._made[name, player, advises]
            raise
        if isinstance(bot, AthenanBot) and not advises:
            bot.agent.ponders = self.ponders or self._opponents.find(name).ponders
        return bot

    def is_made(self, name: str, player: int) -> bool:
        """Whether a bot was made, or has failed to be."""
        made = self._made.get((name, player, False))
        return made is not None and made.done()

    def pondering(self) -> AthenanBot | None:
        """Who thinks on while a person does."""
        return next((bot for bot in self._trees() if bot.agent.is_pondering), None)

    def stop_pondering(self) -> None:
        """Let nobody ponder any more until the next move."""
        for bot in self._trees():
            bot.stop_pondering()

    def clear(self) -> None:
        """Forget all of them."""
        self.stop_pondering()
        self._made.clear()

    def release(self, busy: Collection[pyspiel.Bot]) -> None:
        """Forget those that are made, but for some; they are made again once they are needed."""
        for key, made in [*self._made.items()]:
            if made.done() and (made.exception() is not None or all(made.result() is not bot for bot in busy)):
                del self._made[key]

    @property
    def trees(self) -> list[Tree]:
        """The trees of those that are made."""
        return [bot.agent.tree for bot in self._trees()]

    def _trees(self) -> list[AthenanBot]:
        """Those that are made and have a tree of ours."""
        done = [made for made in self._made.values() if made.done() and made.exception() is None]
        return [bot for bot in (made.result() for made in done) if isinstance(bot, AthenanBot)]
