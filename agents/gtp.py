"""The `gtp` bot: an engine that speaks GTP, the Go Text Protocol, as a `pyspiel.Bot`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyspiel

from agents.kind import AgentKind
from agents.limits import Limit
from agents.parameters import read_parameters
from agents.state_bot import StateBot
from athenan_spiel.errors import AgentError
from athenan_spiel.games import load_game
from athenan_spiel.protocols.gtp_engine import EngineTime, GtpEngine
from athenan_spiel.protocols.program import command_of
from athenan_spiel.search.drive import Budget

EXAMPLE = "gtp:gnugo --mode gtp@1s"
_checked: set[tuple[str, str, EngineTime]] = set()
"""Games, commands and limits that have been tried in this process."""


@dataclass(frozen=True, kw_only=True)
class GtpParameters:
    """What `load_bot("gtp", ...)` takes; an engine's seed, if it has one, is an option of its own."""

    command: str
    """The engine with its options, as a shell would take it: `gnugo --mode gtp`."""
    seconds: float | None = None
    """Thinking time a move, which the engine is told if it knows `time_settings`."""
    match_seconds: float | None = None
    """Thinking time for all its moves of a match, which it is told as well."""
    match_increment: float = 0.0
    """Thinking time that each of its moves adds to that once it is made; for engines that know `kata-time_settings`."""


class GtpBot(StateBot):
    """An engine with the methods of `pyspiel.Bot`; it plays either colour.

    It looks at the state alone, from which the engine is told what the others have played. The engine is started with
    the first match, and again after an error; `pickle` keeps the command and the limit.

    Args:
        game: that it plays.
        command: the engine with its options.
        limit: of its thinking.

    Attributes:
        seconds, match_seconds: what it has for a move, and for all its moves of a match; None without such a limit.
        match_increment: the seconds that each of its moves brings to its match clock.

    Raises:
        AgentError: the game's moves cannot be written for GTP, or there is no command.
    """

    elsewhere = True
    """It takes no time of this process; see `athenan_spiel.play.player`."""

    def __init__(self, game: pyspiel.Game, command: str, limit: EngineTime) -> None:
        super().__init__()
        self._made_of = (str(game), command, limit)
        self.seconds = limit.seconds
        self.match_seconds = limit.match_seconds
        self.match_increment = limit.match_increment
        self._engine = GtpEngine(game, command_of(command), limit)

    def __reduce__(self) -> tuple[object, tuple[str, str, EngineTime]]:
        """For `pickle`."""
        return _made, self._made_of

    def check(self) -> None:
        """See whether the engine starts and knows the game; what was seen once in this process holds.

        Raises:
            AgentError: it does not know the game, or cannot be limited so.
            ProgramError: it fails otherwise.
        """
        if self._made_of not in _checked:
            self._engine.check()
            _checked.add(self._made_of)

    def step(self, state: pyspiel.State) -> int:
        """The action to play in `state`.

        Raises:
            SearchError: it is no state of the bot's game, or no player is to choose in it.
            ResignedError: the engine gives the match up.
            AgentError, ProgramError: the engine fails.
        """
        return self._engine.choose(state)

    def restart(self) -> None:
        """A new match begins."""
        self._engine.begin()

    def restart_at(self, state: pyspiel.State) -> None:
        """A new match begins at `state`, with an engine that has started by then.

        Raises:
            AgentError, ProgramError: the engine fails.
        """
        self._engine.begin_at(state)

    def clone(self) -> GtpBot:
        """The same engine, started anew."""
        return _made(*self._made_of)


def _made(game: str, command: str, limit: EngineTime) -> GtpBot:
    return GtpBot(load_game(game), command, limit)


def load_gtp(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> GtpBot:
    """An engine that speaks GTP, which is tried; see `GtpParameters`.

    Raises:
        AgentError: a parameter is unknown or of a wrong type, there are two limits, or the engine does not play `game`.
        BudgetError: a limit is not above zero.
        ProgramError: the engine cannot be started, or does not speak GTP.
    """
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
    example=EXAMPLE,
    about="an engine that speaks GTP, by its command",
    load=load_gtp,
    parse=_parse,
    limits=("seconds", "match_seconds", "match_increment"),
    seeded=False,
    command=True,
)
