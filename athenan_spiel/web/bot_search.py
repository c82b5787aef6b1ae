"""Background search for a bot's move, with snapshots of what it has found.

1. `latest` is a snapshot, at most about `SNAPSHOT_SECONDS` old, that doesn't change any more. Bots without a search
   tree of this library have none.
2. After `stop` a search of this library ends with the answer to its current request. Its tree is dropped and no move
   is chosen.
3. When memory is short, a search under a time limit ends with the move found so far. Another one fails with
   `MemoryError`.
"""

from __future__ import annotations

import dataclasses
import random

import pyspiel

from agents import AthenanBot
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.background_search import BackgroundSearch
from athenan_spiel.search.result import SearchResult, Used, make_result
from athenan_spiel.search.tree import Tree

SNAPSHOT_SECONDS = 0.2
"""Seconds between two snapshots of a search."""


class BotSearch(BackgroundSearch["int | None"]):
    """Search for one move of a bot, from `start` until the move is found or `stop` is called.

    Args:
        bot: chooses the move; must not be used by others meanwhile.
        state: state to move in; it is copied.

    Attributes:
        bot: as the argument.
        latest: latest snapshot; None before the first.
        tree: tree of the latest snapshot; None before the first.
    """

    def __init__(self, bot: pyspiel.Bot, state: pyspiel.State) -> None:
        super().__init__("bot-search")
        self.bot = bot
        self._state = state.clone()
        self._next_snapshot = 0.0
        self._rng = random.Random(0)
        self.latest: SearchResult | None = None
        self.tree: Tree | None = None

    @property
    def action(self) -> int | None:
        """Move of the bot; None until it is found, or if the search was stopped before."""
        return self.result

    def search(self) -> int | None:
        """Returns the bot's move; None if stopped."""
        action = None
        if not self.is_stopped:
            action = self._step(self.bot.agent) if isinstance(self.bot, AthenanBot) else int(self.bot.step(self._state))
        return None if self.is_stopped else action

    def _step(self, agent: Agent) -> int | None:
        action = self.answer(agent.thinks(self._state, self.clock), agent.evaluator, lambda: self._progress(agent))
        if action is None:
            agent.restart()
            if not self.is_stopped:
                raise MemoryError("memory is short: give the agent a time limit, or choose a smaller board")
            return None
        assert agent.result is not None
        self.tree, self.latest = agent.tree, agent.result
        if self.is_ending:  # the search's own clock has jumped
            self.latest = dataclasses.replace(self.latest, seconds=self.seconds)
        return action

    def _progress(self, agent: Agent) -> bool:
        if self.is_stopped or (self.is_short_of_memory and not agent.budget.timed):
            return True
        if self.seconds >= self._next_snapshot:
            self._next_snapshot = self.seconds + SNAPSHOT_SECONDS
            self.tree = agent.tree
            self.latest = snapshot(agent, self._state, self._rng, self.seconds) or self.latest
        return False


def snapshot(agent: Agent, state: pyspiel.State, rng: random.Random, seconds: float) -> SearchResult | None:
    """Returns the search result of a state from an agent's tree, which another thread may grow; None without one.

    The root is copied first, so the agent's decision selects from labels that don't change.

    Args:
        rng: breaks ties.
        seconds: duration of the search so far.
    """
    root = agent.tree.table.get(agent.tree.key(state))
    if root is None:
        return None
    return make_result(
        root.copy(),
        rng,
        Used(0, 0, 0),
        seconds,
        decision=agent.decided,
        calibration=agent.search.calibration,
        order=agent.decision,
    )
