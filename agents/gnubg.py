"""The `gnubg` bot: GNU Backgammon as a `pyspiel.Bot`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyspiel

from agents.engine_bot import EngineBot, Plan
from agents.kind import AgentKind
from agents.limits import Limit
from agents.parameters import read_parameters
from athenan_spiel.errors import AgentError, ProgramError, shown
from athenan_spiel.games import load_game
from athenan_spiel.protocols.gnubg import (
    DEFAULT_COMMAND,
    DEFAULT_SETTING,
    Gnubg,
    actions_to,
    after,
    dice_of,
    half_of,
    points_of,
    require_backgammon,
    setting_of,
)
from athenan_spiel.protocols.program import command_of

_COMMAND = "command="


@dataclass(frozen=True, kw_only=True)
class GnubgParameters:
    """Parameters of `load_bot("gnubg", ...)`. GNU Backgammon has no time limit, and its noise no seed."""

    setting: str = DEFAULT_SETTING
    """Setting by its name or plies, a key of `athenan_spiel.protocols.gnubg.SETTINGS`."""
    command: str = DEFAULT_COMMAND
    """Program and its options, as in a shell."""


class GnubgBot(EngineBot):
    """GNU Backgammon as a `pyspiel.Bot`; plays either side, without the doubling cube.

    It chooses all moves of doubles at once. If a game starts within doubles, the bot plays two moves of the choice for
    all four.

    Args:
        game: game string.
        parameters: setting and command.

    Raises:
        AgentError: the game is not Backgammon, or the setting is unknown.
    """

    def __init__(self, game: str, parameters: GnubgParameters) -> None:
        super().__init__(game, parameters)
        loaded = load_game(game)
        require_backgammon(loaded)
        self._gammons = loaded.get_parameters()["scoring_type"] != "winloss_scoring"
        self._setting = setting_of(parameters.setting)

    def start(self) -> Gnubg:
        """Starts the program."""
        return Gnubg(self._command, self._setting, gammons=self._gammons)

    def begin(self, engine: Gnubg) -> None:
        """Starts a new game, for which the program needs no preparation."""

    def plan(self, engine: Gnubg, state: pyspiel.State) -> Plan:
        """Asks the program for a turn, unless only one action is possible."""
        player = state.current_player()
        history = tuple(state.history())
        actions = state.legal_actions()
        if len(actions) == 1 and state.child(actions[0]).current_player() != player:
            return {history: actions[0]}
        points, dice = points_of(state, player), dice_of(state)
        move = engine.hint(points, dice).move
        try:
            turn = actions_to(state, after(points, move))
            if not turn and dice[0] == dice[1]:  # the second half of doubles
                half = half_of(state, move)
                turn = () if half is None else (half,)
        except ProgramError as error:
            raise ProgramError(f"{engine.name}: {error}") from None
        if not turn:
            raise ProgramError(f"{engine.name}: expected a legal move, got {shown(move)} with the dice {dice}")
        return {history + turn[:i]: action for i, action in enumerate(turn)}


def load_gnubg(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> GnubgBot:
    """Returns GNU Backgammon; see `GnubgParameters`. It is started once to check it.

    Raises:
        AgentError: a parameter is unknown or of a wrong type, the setting is unknown, or the game is not Backgammon.
        ProgramError: the program cannot be started, or is not GNU Backgammon.
    """
    bot = GnubgBot(str(game), read_parameters(GnubgParameters, "gnubg", params))
    bot.start().close()
    return bot


def _parse(text: str, limit: Limit) -> Mapping[str, object]:
    setting, semicolon, option = text.partition(";")
    setting_of(setting or DEFAULT_SETTING)
    if semicolon and not option.startswith(_COMMAND):
        raise AgentError(f"expected gnubg:SETTING or gnubg:SETTING;{_COMMAND}COMMAND, got {shown(limit.spec)}")
    command = option.removeprefix(_COMMAND) if semicolon else DEFAULT_COMMAND
    command_of(command)
    return {"setting": setting or DEFAULT_SETTING, "command": command}


GNUBG = AgentKind(
    name="gnubg",
    example="gnubg:intermediate",
    about="GNU Backgammon by its setting or plies",
    load=load_gnubg,
    parse=_parse,
    seeded=False,
    command=True,
)
