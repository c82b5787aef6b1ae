"""The `uci` bot: a UCI engine as a `pyspiel.Bot`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyspiel

from agents.kind import AgentKind
from agents.limits import Limit
from agents.parameters import DEFAULT_SECONDS, read_parameters
from agents.state_bot import StateBot
from athenan_spiel.errors import AgentError, ProgramError, shown
from athenan_spiel.games import load_game, require_open_state
from athenan_spiel.play.game_clock import clock_of
from athenan_spiel.protocols.uci import UciEngine, UciLimit
from athenan_spiel.protocols.uci_moves.base import UciGame
from athenan_spiel.protocols.uci_moves.table import uci_game
from athenan_spiel.protocols.uci_options import command_and_settings
from athenan_spiel.search.drive import Budget


@dataclass(frozen=True, kw_only=True)
class UciParameters:
    """Parameters of `load_bot("uci", ...)`. UCI has no seed. The default limit is one second per move."""

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


@dataclass(frozen=True)
class Setup:
    """Start-up settings and limit of an engine; part of a bot's pickle.

    Attributes:
        command: program and arguments.
        settings: UCI options and their values.
        seconds, evaluations, match_seconds: as in `UciParameters`; exactly one.
        match_increment: as in `UciParameters`.
    """

    command: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    seconds: float | None
    evaluations: int | None
    match_seconds: float | None
    match_increment: float = 0.0

    def started(self, uci: UciGame, game: pyspiel.Game) -> UciEngine:
        """Starts the engine, ready to play `game`.

        Raises:
            ProgramError: it cannot be started, or doesn't speak UCI.
            AgentError: it doesn't play the game, or has no such option.
        """
        engine = UciEngine(self.command, dict(self.settings))
        try:
            engine.choose(uci, game)
        except BaseException:
            engine.close()
            raise
        return engine


class UciBot(StateBot):
    """UCI engine as a `pyspiel.Bot`; plays either colour.

    It depends on the state only, and sends the engine all moves of the game each time. The engine is started for the
    first game, and again after a failure. `pickle` keeps how the engine is started.

    Args:
        game: game string.
        setup: start-up settings and limit.

    Attributes:
        seconds: time per move; None with another limit.
        match_seconds: time for all moves of a game; None with a limit per move.
        match_increment: seconds that each own move adds to the match clock.

    Raises:
        AgentError: UCI doesn't support the game.
        BudgetError: the match clock is invalid.
    """

    elsewhere = True
    """The engine runs in another process; see `athenan_spiel.play.player`."""

    def __init__(self, game: str, setup: Setup) -> None:
        super().__init__()
        self._made_of = game, setup
        self._game = load_game(game)
        self._uci = uci_game(self._game)
        self._engine: UciEngine | None = None
        self._planned: dict[tuple[int, ...], int] = {}
        self.seconds = setup.seconds
        self.match_seconds, self.match_increment = setup.match_seconds, setup.match_increment
        self._clock = clock_of(self._game, self.match_seconds, self.match_increment)

    def __reduce__(self) -> tuple[type[UciBot], tuple[str, Setup]]:
        """For `pickle`."""
        return type(self), self._made_of

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
                self._plan(state)
            except BaseException:
                self.close()
                raise
            finally:
                if self._clock is not None:
                    self._clock.spend(time.monotonic() - start)
        return self._planned.pop(history)

    def _plan(self, state: pyspiel.State) -> None:
        """Asks the engine for a turn, and keeps its actions for the following states."""
        engine = self._running()
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
        self._planned = {history + turn[:i]: turn[i] for i in range(len(done), len(turn))}

    def _limit(self) -> UciLimit:
        setup = self._made_of[1]
        if self._clock is not None:
            increment = self._clock.increment * self._uci.turn_length  # one for each action of a turn
            return UciLimit(clock=self._clock.left, increment=increment)
        return UciLimit(seconds=setup.seconds, nodes=setup.evaluations)

    def _running(self) -> UciEngine:
        """Returns the engine, started if necessary."""
        if self._engine is None:
            self._engine = self._made_of[1].started(self._uci, self._game)
        return self._engine

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
            self._running().begin()
        except BaseException:
            self.close()
            raise

    def clone(self) -> UciBot:
        """Returns the same bot with its own engine."""
        return UciBot(*self._made_of)

    def close(self) -> None:
        """Ends the engine; the next game starts a new one."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


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
    seconds = DEFAULT_SECONDS if limits == (None, None, None) else given.seconds
    if given.match_seconds is None:
        Budget(seconds=seconds, evaluations=given.evaluations)
    command, settings = command_and_settings(given.command)
    setup = Setup(command, settings, seconds, given.evaluations, given.match_seconds, given.match_increment)
    bot = UciBot(str(game), setup)
    setup.started(bot._uci, game).close()
    return bot


def _parse(text: str, limit: Limit) -> Mapping[str, object]:
    command_and_settings(text)
    return {"command": text, **limit.params}


UCI = AgentKind(
    name="uci",
    example="uci:fairy-stockfish@0.1s",
    about="an engine that speaks UCI, by its command",
    load=load_uci,
    parse=_parse,
    limits=("seconds", "evaluations", "match_seconds", "match_increment"),
    seeded=False,
    command=True,
)
