"""The `aei` bot: an AEI engine that plays Ludii's Arimaa, as a `pyspiel.Bot`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyspiel

from agents.kind import AgentKind
from agents.limits import Limit
from agents.parameters import DEFAULT_SECONDS, read_parameters
from agents.state_bot import StateBot
from athenan_spiel.errors import AgentError, ProgramError
from athenan_spiel.games import require_open_state
from athenan_spiel.protocols.aei import AeiEngine
from athenan_spiel.protocols.arimaa import is_arimaa, read_turn, write_turn
from athenan_spiel.protocols.uci_options import command_and_settings
from athenan_spiel.search.drive import Budget

BETWEEN_TURNS = "an AEI engine begins where a turn begins: take openings of 0 plies, or of 32, by which all is set up"


@dataclass(frozen=True, kw_only=True)
class AeiParameters:
    """Parameters of `load_bot("aei", ...)`. AEI has no seed. The default limit is one second per move."""

    command: str
    """Program and arguments of the engine, as in a shell, then AEI options, each after a `;`: "sharp aei;hash=200"."""
    seconds: float | None = None
    """Time per move, a turn of up to four steps."""


class AeiBot(StateBot):
    """AEI engine as a `pyspiel.Bot`; plays either colour, from the start of a turn.

    `pickle` keeps how the engine is started. The copy starts its own engine with the next game.

    Args:
        game: game string.
        command, settings: program and arguments of the engine, and its AEI options.
        seconds: time per move.
    """

    elsewhere = True
    """The engine runs in another process; see `athenan_spiel.play.player`."""

    def __init__(
        self, game: str, command: tuple[str, ...], settings: tuple[tuple[str, str], ...], seconds: float
    ) -> None:
        super().__init__()
        self._made_of = game, command, settings, seconds
        self.seconds = seconds
        self._engine: AeiEngine | None = None
        self._told: pyspiel.State | None = None
        self._planned: dict[tuple[int, ...], int] = {}

    def __reduce__(self) -> tuple[type[AeiBot], tuple[object, ...]]:
        """For `pickle`."""
        return type(self), self._made_of

    def step(self, state: pyspiel.State) -> int:
        """Returns the action to play in `state`.

        Raises:
            SearchError: `state` is of another game, or no player is to move.
            ProgramError: the engine fails, takes too long or returns an illegal move; or it has not chosen the begun
                turn.
            ResignedError: it resigns.
        """
        require_open_state(self._made_of[0], state)
        history = tuple(state.history())
        if history not in self._planned:
            try:
                self._plan(state)
            except BaseException:
                self.close()
                raise
        return self._planned.pop(history)

    def require_start(self, state: pyspiel.State) -> None:
        """Checks that a game can start at `state`; see `athenan_spiel.play.player.ParticularPlayer`.

        Raises:
            AgentError: it is in the middle of a turn.
        """
        before, mover = state.get_game().new_initial_state(), None
        for action in state.history():
            mover = before.current_player()
            before.apply_action(action)
        if mover == state.current_player():
            raise AgentError(BETWEEN_TURNS)

    def _plan(self, state: pyspiel.State) -> None:
        """Sends the engine the turns played since its last one, and asks for the next."""
        engine = self._running()
        self._tell(engine, state)
        move = engine.best_move(self.seconds)
        try:
            turn = read_turn(state, move)
        except ProgramError as error:
            raise ProgramError(f"{engine.name}: {error}") from None
        history = tuple(state.history())
        self._planned = {history + turn[:i]: action for i, action in enumerate(turn)}

    def _tell(self, engine: AeiEngine, state: pyspiel.State) -> None:
        history = state.history()
        past = None if self._told is None else self._told.history()
        if past is None or history[: len(past)] != past:
            engine.begin(self.seconds)
            self._told = state.get_game().new_initial_state()
            past = []
        told = self._told
        assert told is not None
        turn: list[int] = []
        before = told.clone()
        for action in history[len(past) :]:
            mover = told.current_player()
            turn.append(action)
            told.apply_action(action)
            if told.current_player() != mover:
                engine.make(write_turn(before, turn))
                before, turn = told.clone(), []
        if turn:
            raise ProgramError(BETWEEN_TURNS)

    def _running(self) -> AeiEngine:
        if self._engine is None:
            _, command, settings, _ = self._made_of
            self._told = None
            self._engine = AeiEngine(command, dict(settings))
        return self._engine

    def restart(self) -> None:
        """Starts a new game.

        Raises:
            ProgramError: the engine cannot be started.
        """
        self._planned = {}
        self._told = None
        self._running()

    def clone(self) -> AeiBot:
        """Returns the same bot with its own engine."""
        return AeiBot(*self._made_of)

    def close(self) -> None:
        """Ends the engine; the next game starts a new one."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


def load_aei(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> AeiBot:
    """Returns an AEI engine; see `AeiParameters`. It is started once to check it.

    Raises:
        AgentError: a parameter is unknown, missing or of a wrong type, or the game is not Ludii's Arimaa.
        BudgetError: the limit is not positive.
        ProgramError: the engine cannot be started, or doesn't speak AEI.
    """
    given = read_parameters(AeiParameters, "aei", params)
    seconds = DEFAULT_SECONDS if given.seconds is None else given.seconds
    Budget(seconds=seconds)
    command, settings = command_and_settings(given.command)
    if not is_arimaa(game):
        raise AgentError(f"AEI engines play 'ludii(game=Arimaa)', got {str(game)!r}: take another agent")
    AeiEngine(command, dict(settings)).close()
    return AeiBot(str(game), command, settings, seconds)


def _parse(text: str, limit: Limit) -> Mapping[str, object]:
    command_and_settings(text)
    return {"command": text, **limit.params}


AEI = AgentKind(
    name="aei",
    example="aei:sharp aei@5s",
    about="an engine that plays Arimaa and speaks AEI, by its command",
    load=load_aei,
    parse=_parse,
    limits=("seconds",),
    seeded=False,
    command=True,
)
