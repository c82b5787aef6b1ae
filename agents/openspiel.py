"""The `pyspiel` bot: any bot of OpenSpiel's own registry, which is of bots written in C++."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyspiel

from agents.kind import AgentKind
from agents.limits import Limit
from agents.parameters import read_parameters
from athenan_spiel.errors import AgentError, SearchError, nearest, shown
from athenan_spiel.games import load_game, require_open_state
from athenan_spiel.games.loading import silent_stderr
from athenan_spiel.system.files import DEEPEST

_WORD = re.compile(r"(?P<name>\w+)(?:\((?P<parameters>.*)\))?", re.ASCII | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class OpenSpielParameters:
    """What `load_bot("pyspiel", ...)` takes."""

    name: str
    """Of the bot, one of `pyspiel.registered_bots()`."""
    parameters: str = ""
    """Its parameters as OpenSpiel writes them, such as `actions=0:1:2`."""


class OpenSpielBot(pyspiel.Bot):
    """A bot of OpenSpiel's registry, which `pickle` takes: what comes back is as new.

    OpenSpiel gives these bots no seed: what is random in one is so anew each time. It is asked in states of its own
    game and player alone, as some bots end the process in others.

    Args:
        game: that it plays.
        parameters: by their names.

    Raises:
        AgentError: OpenSpiel cannot make it.
    """

    def __init__(self, game: pyspiel.Game, player_id: int, name: str, parameters: str) -> None:
        super().__init__()
        self._game = game
        self._made_of = player_id, name, parameters
        self._bot = load_openspiels_bot(name, game, player_id, _read(parameters))

    def __reduce__(self) -> tuple[object, tuple[str, int, str, str]]:
        """For `pickle`."""
        return _again, (str(self._game), *self._made_of)

    def step(self, state: pyspiel.State) -> int:
        """The action to play in `state`.

        Raises:
            SearchError: it is no state of the bot's game, or one in which another player is to move or none.
            pyspiel.SpielError: the bot fails.
        """
        self._require_turn(state)
        action: int = self._bot.step(state)
        return action

    def step_with_policy(self, state: pyspiel.State) -> tuple[list[tuple[int, float]], int]:
        """The policy in `state`, and an action drawn from it.

        Raises:
            SearchError, pyspiel.SpielError: as `step`.
        """
        self._require_turn(state)
        drawn: tuple[list[tuple[int, float]], int] = self._bot.step_with_policy(state)
        return drawn

    def provides_policy(self) -> bool:
        """Whether `get_policy` and `step_with_policy` answer."""
        return bool(self._bot.provides_policy())

    def get_policy(self, state: pyspiel.State) -> list[tuple[int, float]]:
        """(action, probability) for each legal action.

        Raises:
            SearchError, pyspiel.SpielError: as `step`.
        """
        self._require_turn(state)
        policy: list[tuple[int, float]] = self._bot.get_policy(state)
        return policy

    def restart(self) -> None:
        """A new match begins."""
        self._bot.restart()

    def restart_at(self, state: pyspiel.State) -> None:
        """A new match begins at `state`."""
        self._bot.restart_at(state)

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Another player chose `action` in `state`."""
        self._bot.inform_action(state, player_id, action)

    def inform_actions(self, state: pyspiel.State, actions: Sequence[int]) -> None:
        """All players chose at once, which does not happen in the games that are played here."""

    def _require_turn(self, state: pyspiel.State) -> None:
        require_open_state(self._game, state)
        player, mover = self._made_of[0], state.current_player()
        if mover != player:
            raise SearchError(f"expected a state in which player {player} is to move, got one where player {mover} is")


def load_openspiels_bot(name: str, game: pyspiel.Game, player_id: int, parameters: Mapping[str, object]) -> pyspiel.Bot:
    """`pyspiel.load_bot`.

    Raises:
        AgentError: OpenSpiel refuses these parameters.
    """
    try:
        return pyspiel.load_bot(name, game, player_id, dict(parameters))
    except (TypeError, pyspiel.SpielError) as error:
        reason = str(error).strip().splitlines()[0]
        raise AgentError(
            f"OpenSpiel's bot {name!r} cannot be made with the parameters {shown(parameters)}: {reason}"
        ) from None


def load_openspiel(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> OpenSpielBot:
    """A bot of OpenSpiel's registry; see `OpenSpielParameters`.

    Raises:
        AgentError: there is none of that name, it does not play this game, or its parameters are not as it wants them.
    """
    given = read_parameters(OpenSpielParameters, "pyspiel", params)
    known = pyspiel.registered_bots()
    if given.name not in known:
        raise AgentError(f"expected one of OpenSpiel's bots {_listed(known)}; got {_hint(given.name, known)}")
    playing = pyspiel.bots_that_can_play_game(game, player_id)
    if given.name not in playing:
        raise AgentError(
            f"OpenSpiel's bot {given.name!r} does not play {str(game)!r} as player {player_id}; "
            f"those that do are {_listed(playing)}"
        )
    return OpenSpielBot(game, player_id, given.name, given.parameters)


def _hint(name: str, known: Sequence[str]) -> str:
    return f"{shown(name)}{nearest(name, known)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _again(game: str, player_id: int, name: str, parameters: str) -> OpenSpielBot:
    return OpenSpielBot(load_game(game), player_id, name, parameters)


def _read(parameters: str) -> dict[str, object]:
    """The parameters by name.

    Raises:
        AgentError: they are not written as OpenSpiel writes parameters.
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
            "expected parameters as OpenSpiel writes them, such as pyspiel:fixed_action_preference(actions=0:1:2); "
            f"got {shown(parameters)}"
        ) from None
    del read["name"]
    return read


def _parse(text: str, limit: Limit) -> Mapping[str, object]:
    match = _WORD.fullmatch(text)
    known = pyspiel.registered_bots()
    if match is None or match["name"] not in known:
        name = text.partition("(")[0]
        raise AgentError(f"after pyspiel: comes one of OpenSpiel's bots {_listed(known)}; got {_hint(name, known)}")
    _read(match["parameters"] or "")
    return {"name": match["name"], **({"parameters": match["parameters"]} if match["parameters"] else {})}


PYSPIEL = AgentKind(
    name="pyspiel",
    example="pyspiel:uniform_random",
    about="a bot of OpenSpiel's own registry, by its name there, with its parameters in brackets",
    load=load_openspiel,
    parse=_parse,
    seeded=False,
)
