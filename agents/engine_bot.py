"""Base class of the bots of UCI, AEI and Backgammon engines, and the parser of their specs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Self

import pyspiel

from agents.bot import BaseBot
from agents.limits import Limit
from athenan_spiel.games import require_open_state
from athenan_spiel.play.game_clock import GameClock
from athenan_spiel.protocols.uci_options import command_and_settings

Plan = dict[tuple[int, ...], int]
"""Actions of a turn by the history before each of them."""


class EngineBot(BaseBot):
    """Bot of an engine that chooses whole turns of one or more actions; plays either colour.

    The engine is started for the first game, and again after a failure. `pickle` keeps how it is started.

    Args:
        game: game string.
        parameters: command and limits.
    """

    elsewhere = True
    """The engine runs in another process; see `athenan_spiel.play.player`."""

    def __init__(self, game: str, parameters: Any) -> None:
        super().__init__()
        self._made_of = game, parameters
        self._command, self._settings = command_and_settings(parameters.command)
        self._clock: GameClock | None = None
        self._engine: Any = None
        self._planned: Plan = {}

    def start(self) -> Any:
        """Returns a new engine, ready to play the game.

        Raises:
            ProgramError: it cannot be started, or doesn't speak the protocol.
            AgentError: it doesn't play the game, or lacks an option.
        """
        raise NotImplementedError

    def begin(self, engine: Any) -> None:
        """Prepares the engine for a new game."""
        raise NotImplementedError

    def plan(self, engine: Any, state: pyspiel.State) -> Plan:
        """Asks the engine for its turn in `state`."""
        raise NotImplementedError

    def step(self, state: pyspiel.State) -> int:
        """Returns the action to play in `state`.

        Raises:
            SearchError: `state` is of another game, or no player is to move.
            ProgramError: the engine fails, takes too long or returns an illegal move.
            ResignedError: it resigns.
            AgentError: the restarted engine doesn't play the game.
        """
        require_open_state(self._made_of[0], state)
        history = tuple(state.history())
        if self._clock is not None:
            self._clock.arrive(state)
        if history not in self._planned:
            start = time.monotonic()
            try:
                self._planned = self.plan(self._running(), state)
            except BaseException:
                self.close()
                raise
            finally:
                if self._clock is not None:
                    self._clock.spend(time.monotonic() - start)
        return self._planned.pop(history)

    def restart(self) -> None:
        """Starts a new game.

        Raises:
            ProgramError: the engine fails.
            AgentError: the restarted engine doesn't play the game.
        """
        self._planned = {}
        if self._clock is not None:
            self._clock.restart()
        try:
            self.begin(self._running())
        except BaseException:
            self.close()
            raise

    def _running(self) -> Any:
        if self._engine is None:
            self._engine = self.start()
        return self._engine

    def clone(self) -> Self:
        """Returns the same bot with its own engine."""
        return type(self)(*self._made_of)

    def close(self) -> None:
        """Ends the engine; the next game starts a new one."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


def parse_command(text: str, limit: Limit) -> Mapping[str, object]:
    """Returns the parameters of a bot whose spec has an engine's command with options."""
    command_and_settings(text)
    return {"command": text, **limit.params}
