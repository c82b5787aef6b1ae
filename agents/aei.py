"""The `aei` bot: an AEI engine that plays Ludii's Arimaa, as a `pyspiel.Bot`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyspiel

from agents.engine_bot import EngineBot, Plan, parse_command
from agents.kind import AgentKind
from agents.parameters import DEFAULT_SECONDS, read_parameters
from athenan_spiel.errors import AgentError, ProgramError
from athenan_spiel.protocols.aei import AeiEngine
from athenan_spiel.protocols.arimaa import is_arimaa, read_turn, write_turn
from athenan_spiel.search.drive import Budget

BETWEEN_TURNS = "an AEI engine plays from the start of a turn: use openings of 0 plies, or of 32 after the setup"


@dataclass(frozen=True, kw_only=True)
class AeiParameters:
    """Parameters of `load_bot("aei", ...)`. AEI has no seed."""

    command: str
    """Program and arguments of the engine, as in a shell, then AEI options, each after a `;`: "sharp aei;hash=200"."""
    seconds: float | None = None
    """Time per move, a turn of up to four steps; None: one second."""


class AeiBot(EngineBot):
    """AEI engine as a `pyspiel.Bot`.

    Attributes:
        seconds: time per move.
    """

    _sent: pyspiel.State | None = None
    """Position of the engine; None before a game."""

    def __init__(self, game: str, parameters: Any) -> None:
        super().__init__(game, parameters)
        self.seconds: float = DEFAULT_SECONDS if parameters.seconds is None else parameters.seconds

    def start(self) -> AeiEngine:
        """Starts the engine."""
        self._sent = None
        return AeiEngine(self._command, dict(self._settings))

    def begin(self, engine: AeiEngine) -> None:
        """Starts a new game with the next move."""
        self._sent = None

    def require_start(self, state: pyspiel.State) -> None:
        """Checks that a game can start at `state`; see `athenan_spiel.play.player.RestrictedPlayer`.

        Raises:
            AgentError: it is in the middle of a turn.
        """
        before, mover = state.get_game().new_initial_state(), None
        for action in state.history():
            mover = before.current_player()
            before.apply_action(action)
        if mover == state.current_player():
            raise AgentError(BETWEEN_TURNS)

    def plan(self, engine: AeiEngine, state: pyspiel.State) -> Plan:
        """Sends the engine the turns played since its last one, and asks for the next."""
        self._send_turns(engine, state)
        move = engine.best_move(self.seconds)
        try:
            turn = read_turn(state, move)
        except ProgramError as error:
            raise ProgramError(f"{engine.name}: {error}") from None
        history = tuple(state.history())
        return {history + turn[:i]: action for i, action in enumerate(turn)}

    def _send_turns(self, engine: AeiEngine, state: pyspiel.State) -> None:
        history = state.history()
        sent = self._sent
        if sent is None or history[: len(sent.history())] != sent.history():
            engine.begin(self.seconds)
            sent = self._sent = state.get_game().new_initial_state()
        turn: list[int] = []
        before = sent.clone()
        for action in history[len(sent.history()) :]:
            mover = sent.current_player()
            turn.append(action)
            sent.apply_action(action)
            if sent.current_player() != mover:
                engine.make(write_turn(before, turn))
                before, turn = sent.clone(), []
        if turn:
            raise ProgramError(BETWEEN_TURNS)


def load_aei(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> AeiBot:
    """Returns an AEI engine; see `AeiParameters`. It is started once to check it.

    Raises:
        AgentError: a parameter is unknown, missing or of a wrong type, or the game is not Ludii's Arimaa.
        BudgetError: the limit is not positive.
        ProgramError: the engine cannot be started, or doesn't speak AEI.
    """
    bot = AeiBot(str(game), read_parameters(AeiParameters, "aei", params))
    Budget(seconds=bot.seconds)
    if not is_arimaa(game):
        raise AgentError(f"AEI engines play 'ludii(game=Arimaa)', got {str(game)!r}: use another agent")
    bot.start().close()
    return bot


AEI = AgentKind(
    name="aei",
    example="aei:sharp aei@5s",
    about="AEI engine by its command, for Arimaa",
    load=load_aei,
    parse=parse_command,
    limits=("seconds",),
    seeded=False,
    command=True,
)
