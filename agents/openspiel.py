"""The `pyspiel` bot: any bot of OpenSpiel's own registry, whose bots are written in C++."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyspiel

from agents.bot import BaseBot
from agents.kind import AgentKind
from agents.limits import Limit
from agents.parameters import read_parameters
from athenan_spiel.errors import AgentError, SearchError, nearest, shown
from athenan_spiel.games import load_game, require_open_state
from athenan_spiel.games.loading import silent_stderr
from athenan_spiel.system.files import DEEPEST

_SPEC = re.compile(r"(?P<name>\w+)(?:\((?P<parameters>.*)\))?", re.ASCII | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class OpenSpielParameters:
    """Parameters of `load_bot("pyspiel", ...)`."""

    name: str
    """Name of the bot, one of `pyspiel.registered_bots()`."""
    parameters: str = ""
    """Parameters of the bot in OpenSpiel's notation, such as `actions=0:1:2`."""


class WrappedBot(BaseBot):
    """C++ bot of one player; checks each state, as some of these bots end the process in states of other players.

    Args:
        game: game or game string.
        player_id: player of the bot.
        bot: chooses the actions.
    """

    def __init__(self, game: pyspiel.Game | str, player_id: int, bot: pyspiel.Bot) -> None:
        super().__init__()
        self._game = game
        self._player = player_id
        self._bot = bot

    def step(self, state: pyspiel.State) -> int:
        """Returns the action to play in `state`.

        Raises:
            SearchError: `state` is of another game, or this player is not to move.
            pyspiel.SpielError: the bot fails.
        """
        self._require_turn(state)
        return int(self._bot.step(state))

    def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
        """Returns the policy in `state`, and an action drawn from it; raises as `step`."""
        self._require_turn(state)
        drawn: tuple[list[tuple[int, float]], int] = self._bot.step_with_policy(state)
        return drawn

    def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """Returns (action, probability) for each legal action; raises as `step`."""
        self._require_turn(state)
        policy: list[tuple[int, float]] = self._bot.get_policy(state)
        return policy

    def provides_policy(self) -> bool:
        """Returns whether the bot has a policy."""
        return bool(self._bot.provides_policy())

    def restart(self) -> None:
        """Starts a new game."""
        self._bot.restart()

    def restart_at(self, state: pyspiel.State) -> None:
        """Starts a new game at `state`."""
        self._bot.restart_at(state)

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Passes the action to the C++ bot."""
        self._bot.inform_action(state, player_id, action)

    def _require_turn(self, state: pyspiel.State) -> None:
        require_open_state(self._game, state)
        if (mover := state.current_player()) != self._player:
            raise SearchError(
                f"expected a state in which player {self._player} is to move, got one where player {mover} is"
            )


class OpenSpielBot(WrappedBot):
    """Bot of OpenSpiel's registry. OpenSpiel gives these bots no seed.

    Raises:
        AgentError: OpenSpiel cannot create it.
    """

    def __init__(self, game: pyspiel.Game, player_id: int, name: str, parameters: str) -> None:
        super().__init__(game, player_id, load_openspiels_bot(name, game, player_id, _read(parameters)))
        self._made_of = player_id, name, parameters

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns a function and its arguments, for `pickle`."""
        return _unpickled, (str(self._game), *self._made_of)


def _unpickled(game: str, *arguments: Any) -> OpenSpielBot:
    return OpenSpielBot(load_game(game), *arguments)


def load_openspiels_bot(name: str, game: pyspiel.Game, player_id: int, parameters: Mapping[str, object]) -> pyspiel.Bot:
    """Calls `pyspiel.load_bot`.

    Raises:
        AgentError: OpenSpiel refuses the parameters.
    """
    try:
        return pyspiel.load_bot(name, game, player_id, dict(parameters))
    except (TypeError, pyspiel.SpielError) as error:
        reason = str(error).strip().splitlines()[0]
        raise AgentError(
            f"OpenSpiel's bot {name!r} cannot be created with the parameters {shown(parameters)}: {reason}"
        ) from None


def load_openspiel(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> OpenSpielBot:
    """Returns a bot of OpenSpiel's registry; see `OpenSpielParameters`.

    Raises:
        AgentError: there is no such bot, it doesn't play this game, or it refuses its parameters.
    """
    given = read_parameters(OpenSpielParameters, "pyspiel", params)
    known = pyspiel.registered_bots()
    if given.name not in known:
        raise AgentError(f"expected one of OpenSpiel's bots {_listed(known)}; got {_hint(given.name, known)}")
    playing = pyspiel.bots_that_can_play_game(game, player_id)
    if given.name not in playing:
        raise AgentError(
            f"OpenSpiel's bot {given.name!r} does not play {str(game)!r} as player {player_id}; "
            f"these bots do: {_listed(playing)}"
        )
    return OpenSpielBot(game, player_id, given.name, given.parameters)


def _hint(name: str, known: Sequence[str]) -> str:
    return f"{shown(name)}{nearest(name, known)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _read(parameters: str) -> dict[str, object]:
    """Parses parameters in OpenSpiel's notation.

    Raises:
        AgentError: they are not in that notation.
    """
    depths = list(itertools.accumulate({"(": 1, ")": -1}.get(sign, 0) for sign in parameters))
    if max(depths, default=0) > DEEPEST:  # OpenSpiel's reader recurses
        raise AgentError(f"expected parameters with at most {DEEPEST} nested brackets, got {shown(parameters)}")
    first = next(filter(None, parameters.split(",")), "=")
    try:
        if min(depths, default=0) < 0 or depths[-1:] not in ([], [0]) or "=" not in first:
            raise ValueError
        with silent_stderr():
            read: dict[str, object] = dict(pyspiel.game_parameters_from_string(f"x({parameters})"))
    except (ValueError, pyspiel.SpielError):
        raise AgentError(
            "expected parameters in OpenSpiel's notation, such as pyspiel:fixed_action_preference(actions=0:1:2); "
            f"got {shown(parameters)}"
        ) from None
    del read["name"]
    return read


def _parse(text: str, limit: Limit) -> Mapping[str, object]:
    match = _SPEC.fullmatch(text)
    known = pyspiel.registered_bots()
    if match is None or match["name"] not in known:
        name = text.partition("(")[0]
        raise AgentError(f"expected one of OpenSpiel's bots {_listed(known)} after pyspiel:; got {_hint(name, known)}")
    _read(match["parameters"] or "")
    return {"name": match["name"], **({"parameters": match["parameters"]} if match["parameters"] else {})}


PYSPIEL = AgentKind(
    name="pyspiel",
    example="pyspiel:uniform_random",
    about="bot of OpenSpiel's registry by its name, with its parameters in brackets",
    load=load_openspiel,
    parse=_parse,
    seeded=False,
)
