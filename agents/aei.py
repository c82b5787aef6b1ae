"""The `aei` bot: an engine that plays Arimaa and speaks AEI, as a `pyspiel.Bot` for Ludii's Arimaa."""

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
    """What `load_bot("aei", ...)` takes; there is no seed, as AEI has none. One second a move if no limit is given."""

    command: str
    """The engine's program and its words, as in a shell; then, each after a `;`, AEI options: "sharp aei;hash=200"."""
    seconds: float | None = None
    """Thinking time a move, which is a turn of up to four steps."""


class AeiBot(StateBot):
    """An engine with the methods of `pyspiel.Bot`; it plays either colour, from a state in which a turn begins.

    `pickle` keeps how the engine is started, and not the engine, which is begun with the match.

    Args:
        game: that it plays, as it prints.
        command, settings: the engine's program and its words, and its AEI options.
        seconds: thinking time a move.
    """

    elsewhere = True
    """It takes no time of this process; see `athenan_spiel.play.player`."""

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
        """The action to play in `state`.

        Raises:
            SearchError: it is no state of the bot's game, or no player is to choose in it.
            ProgramError: the engine fails, takes too long or answers no legal move; or a turn has begun that it has
                not chosen.
            ResignedError: it gives the match up.
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
        """Check that a match can begin at `state`, as `athenan_spiel.play.player.ParticularPlayer` has it.

        Raises:
            AgentError: a turn has begun before it.
        """
        before, mover = state.get_game().new_initial_state(), None
        for action in state.history():
            mover = before.current_player()
            before.apply_action(action)
        if mover == state.current_player():
            raise AgentError(BETWEEN_TURNS)

    def _plan(self, state: pyspiel.State) -> None:
        """Tell the engine of the turns since it was last told, and ask it for one."""
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
        """A new match begins.

        Raises:
            ProgramError: the engine cannot be started.
        """
        self._planned = {}
        self._told = None
        self._running()

    def clone(self) -> AeiBot:
        """The same bot with an engine of its own."""
        return AeiBot(*self._made_of)

    def close(self) -> None:
        """End the engine; the next match begins with a new one."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


def load_aei(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> AeiBot:
    """An engine that speaks AEI; see `AeiParameters`. It is started once, to see that it does.

    Raises:
        AgentError: a parameter is unknown, missing or of a wrong type, or the game is not Ludii's Arimaa.
        BudgetError: the limit is not above zero.
        ProgramError: the engine cannot be started, or does not speak AEI.
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
