"""The `uci` bot: a UCI engine as a `pyspiel.Bot`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyspiel

from agents.engine_bot import EngineBot, Plan, parse_command
from agents.kind import AgentKind
from agents.parameters import DEFAULT_SECONDS, read_parameters
from athenan_spiel.errors import AgentError, ProgramError, shown
from athenan_spiel.games import load_game
from athenan_spiel.play.game_clock import ClockedPlayer, clock_of
from athenan_spiel.protocols.uci import UciEngine, UciLimit
from athenan_spiel.protocols.uci_moves.table import uci_game
from athenan_spiel.search.drive import Budget


@dataclass(frozen=True, kw_only=True)
class UciParameters:
    """Parameters of `load_bot("uci", ...)`: one limit, by default one second per move. UCI has no seed."""

    command: str
    """Program and arguments of the engine, as in a shell, then UCI options, each after a `;`:
    "fairy-stockfish;Skill Level=3;Threads=1".
    """
    seconds: float | None = None
    """Time per move."""
    evaluations: int | None = None
    """Nodes per move, as the engine counts them."""
    match_seconds: float | None = None
    """Time for all moves of a game."""
    match_increment: float = 0.0
    """Seconds that each own move adds to it."""


class UciBot(ClockedPlayer, EngineBot):
    """UCI engine as a `pyspiel.Bot`. It sends the engine all moves of the game each time.

    Args:
        game: game string.
        parameters: command, options and exactly one limit.

    Attributes:
        seconds: time per move; None with another limit.

    Raises:
        AgentError: UCI doesn't support the game.
        BudgetError: the game clock is invalid.
    """

    def __init__(self, game: str, parameters: UciParameters) -> None:
        super().__init__(game, parameters)
        self._game = load_game(game)
        self._uci = uci_game(self._game)
        self.seconds = parameters.seconds
        self._clock = clock_of(self._game, parameters.match_seconds, parameters.match_increment)

    def start(self) -> UciEngine:
        """Starts the engine, and selects the game."""
        engine = UciEngine(self._command, dict(self._settings))
        try:
            engine.choose(self._uci, self._game)
        except BaseException:
            engine.close()
            raise
        return engine

    def begin(self, engine: UciEngine) -> None:
        """Starts a new game."""
        engine.begin()

    def plan(self, engine: UciEngine, state: pyspiel.State) -> Plan:
        """Asks the engine for a turn."""
        moves, start = self._uci.written(state)
        done = tuple(state.history()[len(start.history()) :])
        only: Sequence[str] = ()
        if done:  # the opening ends within this turn
            only = [move for move, turn in self._uci.turns(start).items() if turn[: len(done)] == done]
        move = engine.best_move(moves, self._limit(), only)
        try:
            turn = self._uci.read(start, move)
        except ProgramError as error:
            raise ProgramError(f"{engine.name}: {error}") from None
        if turn[: len(done)] != done:
            raise ProgramError(f"{engine.name}: expected one of {len(only)} moves, got {shown(move)}")
        history = tuple(start.history())
        return {history + turn[:i]: turn[i] for i in range(len(done), len(turn))}

    def _limit(self) -> UciLimit:
        if self._clock is not None:
            increment = self._clock.increment * self._uci.turn_length  # one for each action of a turn
            return UciLimit(clock=self._clock.left, increment=increment)
        return UciLimit(seconds=self.seconds, nodes=self._made_of[1].evaluations)


def load_uci(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> UciBot:
    """Returns a UCI engine; see `UciParameters`. It is started once to check it.

    Raises:
        AgentError: a parameter is unknown, missing or of a wrong type; UCI doesn't support the game, or the engine
            doesn't play it or lacks an option.
        BudgetError: a limit is not positive.
        ProgramError: the engine cannot be started, or doesn't speak UCI.
    """
    given = read_parameters(UciParameters, "uci", params)
    limits = (given.seconds, given.evaluations, given.match_seconds)
    if sum(limit is not None for limit in limits) > 1:
        raise AgentError(f"expected one of seconds, evaluations and match_seconds for a UCI engine, got {limits}")
    if limits == (None, None, None):
        given = replace(given, seconds=DEFAULT_SECONDS)
    if given.match_seconds is None:
        Budget(seconds=given.seconds, evaluations=given.evaluations)
    bot = UciBot(str(game), given)
    bot.start().close()
    return bot


UCI = AgentKind(
    name="uci",
    example="uci:fairy-stockfish@0.1s",
    about="UCI engine by its command",
    load=load_uci,
    parse=parse_command,
    limits=("seconds", "evaluations", "match_seconds", "match_increment"),
    seeded=False,
    command=True,
)
