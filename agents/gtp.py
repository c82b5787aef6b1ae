"""The `gtp` bot: a GTP engine as a `pyspiel.Bot`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyspiel

from agents.bot import BaseBot
from agents.kind import AgentKind
from agents.limits import Limit
from agents.parameters import read_parameters
from athenan_spiel.errors import AgentError
from athenan_spiel.games import load_game
from athenan_spiel.protocols.gtp_engine import EngineTime, GtpEngine
from athenan_spiel.protocols.program import command_of
from athenan_spiel.search.drive import Budget

_checked: set[tuple[str, str, EngineTime]] = set()
"""Games, commands and limits already checked in this process."""


@dataclass(frozen=True, kw_only=True)
class GtpParameters:
    """Parameters of `load_bot("gtp", ...)`. A seed can only be set by an option of the engine."""

    command: str
    """Program and options of the engine, as in a shell: `gnugo --mode gtp`."""
    seconds: float | None = None
    """Time per move; sent to engines that support `time_settings`."""
    match_seconds: float | None = None
    """Time for all moves of a game; sent in the same way."""
    match_increment: float = 0.0
    """Seconds that each own move adds to it, for engines that support `kata-time_settings`."""


class GtpBot(BaseBot):
    """GTP engine as a `pyspiel.Bot`; plays either colour.

    It depends on the state only, and sends the engine the moves of others. The engine is started with the first game,
    and again after an error. `pickle` keeps the command and the limit.

    Args:
        game: game to play.
        command: program and options of the engine.
        limit: time limit.

    Attributes:
        seconds, match_seconds: time per move, and for all moves of a game; None without such a limit.
        match_increment: seconds that each own move adds to the game clock.

    Raises:
        AgentError: the game's moves have no GTP notation, or the command is missing.
    """

    elsewhere = True
    """The engine runs in another process; see `athenan_spiel.play.player`."""

    def __init__(self, game: pyspiel.Game, command: str, limit: EngineTime) -> None:
        super().__init__()
        self._made_of = (str(game), command, limit)
        self.seconds = limit.seconds
        self.match_seconds = limit.match_seconds
        self.match_increment = limit.match_increment
        self._engine = GtpEngine(game, command_of(command), limit)

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns a function and its arguments, for `pickle`."""
        return _unpickled, self._made_of

    def check(self) -> None:
        """Checks that the engine starts and knows the game; the result is cached in this process.

        Raises:
            AgentError: it doesn't know the game or the time limit.
            ProgramError: it fails otherwise.
        """
        if self._made_of not in _checked:
            self._engine.check()
            _checked.add(self._made_of)

    def step(self, state: pyspiel.State) -> int:
        """Returns the action to play in `state`.

        Raises:
            SearchError: `state` is of another game, or no player is to move.
            ResignedError: the engine resigns.
            AgentError, ProgramError: the engine fails.
        """
        return self._engine.choose(state)

    def restart(self) -> None:
        """Starts a new game."""
        self._engine.begin()

    def restart_at(self, state: pyspiel.State) -> None:
        """Starts a new game at `state` and waits until the engine is ready.

        Raises:
            AgentError, ProgramError: the engine fails.
        """
        self._engine.begin_at(state)

    def clone(self) -> GtpBot:
        """Returns the same bot with its own engine."""
        return _unpickled(*self._made_of)


def _unpickled(game: str, command: str, limit: EngineTime) -> GtpBot:
    return GtpBot(load_game(game), command, limit)


def load_gtp(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> GtpBot:
    """Returns a GTP engine after checking it; see `GtpParameters`.

    Raises:
        AgentError: a parameter is unknown or of a wrong type, there are two limits, or the engine doesn't play `game`.
        BudgetError: a limit is not positive.
        ProgramError: the engine cannot be started, or doesn't speak GTP.
    """
    if game.num_players() != 2:
        raise AgentError(
            f"GTP is for two players, got {str(game)!r}, which has {game.num_players()}: use another agent"
        )
    given = read_parameters(GtpParameters, "gtp", params)
    if given.seconds is not None:
        Budget(seconds=given.seconds)
    if given.seconds is not None and given.match_seconds is not None:
        raise AgentError(f"expected seconds or match_seconds of the bot 'gtp', got both with {given.command!r}")
    bot = GtpBot(game, given.command, EngineTime(given.seconds, given.match_seconds, given.match_increment))
    bot.check()
    return bot


def _parse(text: str, limit: Limit) -> Mapping[str, object]:
    command_of(text)
    return {"command": text, **limit.params}


GTP = AgentKind(
    name="gtp",
    example="gtp:gnugo --mode gtp@1s",
    about="GTP engine by its command",
    load=load_gtp,
    parse=_parse,
    limits=("seconds", "match_seconds", "match_increment"),
    seeded=False,
    command=True,
)
