"""The `uci` bot: an engine that speaks UCI, a program of its own, as a `pyspiel.Bot`."""

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
from athenan_spiel.play.match_clock import clock_of
from athenan_spiel.protocols.uci import UciEngine, UciLimit
from athenan_spiel.protocols.uci_moves.base import UciGame
from athenan_spiel.protocols.uci_moves.table import uci_game
from athenan_spiel.protocols.uci_options import command_and_settings
from athenan_spiel.search.drive import Budget


@dataclass(frozen=True, kw_only=True)
class UciParameters:
    """What `load_bot("uci", ...)` takes; there is no seed, as UCI has none. One second a move if no limit is given."""

    command: str
    """The engine's program and its words, as in a shell; then, each after a `;`, UCI options:
    "fairy-stockfish;Skill Level=3;Threads=1"."""
    seconds: float | None = None
    """Thinking time a move."""
    evaluations: int | None = None
    """States of its search a move, as it counts them: its nodes."""
    match_seconds: float | None = None
    """Thinking time for all its moves of a match."""
    match_increment: float = 0.0
    """Thinking time that each of its moves adds to that once it is made."""


@dataclass(frozen=True)
class Setup:
    """How an engine is started and told to think; goes along with a bot's pickle.

    Attributes:
        command: the program and its words.
        settings: UCI options and their values.
        seconds, evaluations, match_seconds: as `UciParameters`; one of them.
        match_increment: as `UciParameters`.
    """

    command: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    seconds: float | None
    evaluations: int | None
    match_seconds: float | None
    match_increment: float = 0.0

    def started(self, uci: UciGame, game: pyspiel.Game) -> UciEngine:
        """The engine, ready to play `game`.

        Raises:
            ProgramError: it cannot be started, or does not speak UCI.
            AgentError: it does not play the game, or has no such option.
        """
        engine = UciEngine(self.command, dict(self.settings))
        try:
            engine.choose(uci, game)
        except BaseException:
            engine.close()
            raise
        return engine


class UciBot(StateBot):
    """An engine with the methods of `pyspiel.Bot`; it plays either colour.

    It looks at the state alone, and tells the engine all moves of the match each time. The engine is started for the
    first match, or for the next one after it has failed. `pickle` keeps how it is started, and not the engine.

    Args:
        game: that it plays, as it prints.
        setup: how the engine is started, and how long it thinks.

    Attributes:
        seconds: its time for a move; None where its limit is another.
        match_seconds: its time for all its moves of a match; None where it has a limit for each move.
        match_increment: the seconds that each of its moves brings to its match clock.

    Raises:
        AgentError: UCI has no such game.
        BudgetError: there is no such match clock.
    """

    elsewhere = True
    """It takes no time of this process; see `athenan_spiel.play.player`."""

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
        """The action to play in `state`.

        Raises:
            SearchError: it is no state of the bot's game, or no player is to choose in it.
            ProgramError: the engine fails, takes too long or answers no legal move.
            ResignedError: it gives the match up.
            AgentError: the engine, started anew, does not play the game.
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
        """Ask the engine, and keep the actions of its turn for the states in which they are to be played."""
        engine = self._running()
        moves, start = self._uci.written(state)
        done = tuple(state.history()[len(start.history()) :])
        only: Sequence[str] = ()
        if done:  # the opening has begun this turn
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
            increment = self._clock.increment * self._uci.turn_length  # each action of a turn brings one
            return UciLimit(clock=self._clock.left, increment=increment)
        return UciLimit(seconds=setup.seconds, nodes=setup.evaluations)

    def _running(self) -> UciEngine:
        """The engine, which is started if there is none."""
        if self._engine is None:
            self._engine = self._made_of[1].started(self._uci, self._game)
        return self._engine

    def restart(self) -> None:
        """A new match begins.

        Raises:
            ProgramError: the engine fails.
            AgentError: the engine, started anew, does not play the game.
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
        """The same bot with an engine of its own."""
        return UciBot(*self._made_of)

    def close(self) -> None:
        """End the engine; the next match begins with a new one."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


def load_uci(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> UciBot:
    """An engine that speaks UCI; see `UciParameters`. It is started once, to see that it plays the game.

    Raises:
        AgentError: a parameter is unknown, missing or of a wrong type; UCI has no such game, or the engine does not
            play it, or has no such option.
        BudgetError: a limit is not above zero.
        ProgramError: the engine cannot be started, or does not speak UCI.
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
