"""Conditions that a game must meet, and the games of OpenSpiel that meet them.

A game has players who move in turn (one may move several times in a row), with or without chance, perfect information,
a result at the end, and an observation tensor for the network. In a game for one player (Section 12 of the article) the
result is `returns()` at the end, rewards during play included. This module plays no games.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyspiel

from athenan_spiel.errors import UnsupportedGameError, shown
from athenan_spiel.games.extensions import own_fixed_actions
from athenan_spiel.games.facts import facts_of
from athenan_spiel.games.rows import has_bounds
from athenan_spiel.games.spec import Spec, registered_type

_UNMET: Mapping[str, Mapping[str, str]] = {
    "dynamics": {
        "SIMULTANEOUS": "its players move at the same time",
        "MEAN_FIELD": "it is a mean-field game",
    },
    "information": {
        "IMPERFECT_INFORMATION": "it hides information",
        "ONE_SHOT": "it is a one-shot game",
    },
    "reward_model": {
        "REWARDS": "it rewards during play, not only at the end",
    },
}
"""Meaning of each unsupported value, by attribute of `pyspiel.GameType`."""
_NO_TENSOR = "it has no observation tensor"
_OF_SEVERAL_PLAYERS = frozenset({"reward_model"})
"""Conditions that do not apply to games for one player."""
_FIXED: Mapping[str, tuple[str, ...]] = {
    "cached_tree": ("information",),
    "coop_to_1p": ("information",),
    "efg_game": (),
    "nfg_game": ("dynamics", "information"),
    "normal_form_extensive_game": ("dynamics", "information"),
    "repeated_game": ("dynamics",),
    "repeated_poker": ("information",),
    "restricted_nash_response": ("information",),
    "turn_based_simultaneous_game": ("information",),
}
"""Attributes of the registered type that no parameter changes, for games without default parameters.

OpenSpiel registers such games with a placeholder type, and finds the true one by loading the game inside. Each game
here is unsupported whatever is inside it, so nothing is loaded: `normal_form_extensive_game` would enumerate all
strategies of the game inside it, and `efg_game` would read a file.
"""
_HIDING = re.compile(r"python_hangman|rnr_\w+")
"""Names of games whose type denies that they hide information.

Hangman hides the word that chance chooses. A restricted Nash response (`rnr_`) has the type of the game inside, but
hides whether the opponent's policy is fixed.
"""


@dataclass(frozen=True, kw_only=True)
class GameInfo:
    """Game registered with OpenSpiel, assessed with its default parameters."""

    short_name: str
    long_name: str
    supported: bool
    reasons: tuple[str, ...]
    """Reasons why it is not supported; empty if it is."""
    parameters: tuple[tuple[str, str], ...]
    """Names and defaults of its parameters."""
    note: str
    """Advice about a supported game; usually empty."""
    players: tuple[int, int]
    """Minimum and maximum number of players."""


def unmet_conditions(game: pyspiel.Game) -> list[str]:
    """Returns a reason for each condition that `game`, with its parameters, does not meet, such as "it hides
    information".

    Raises:
        UnsupportedGameError: `game` is not a game.
    """
    require_game(game)
    if not isinstance(game, pyspiel.Game):
        raise UnsupportedGameError(f"expected a game of OpenSpiel, got {shown(game)}, which has no type")
    unmet = type_conditions(game.get_type(), (game.num_players(), game.num_players()))
    return unmet if has_bounds(game) else [*unmet, "its returns have no bounds"]


def require_game(game: object) -> None:
    """Raises `UnsupportedGameError` unless `game` is a game, supported or not: an object with `new_initial_state`."""
    if not hasattr(game, "new_initial_state"):
        raise UnsupportedGameError(f"expected a game, such as load_game('connect_four') gives, got {shown(game)}")


def require_fixed_actions(game: pyspiel.Game) -> None:
    """Raises `UnsupportedGameError` if an action number of `game`, or of a game inside it, depends on the state."""
    if not own_fixed_actions(game):
        raise UnsupportedGameError(
            f"a policy needs actions that are the same move in every state; those of {game} are indices into the legal "
            "moves of each state"
        )
    for value in game.get_parameters().values():
        if isinstance(value, dict):
            inner = dict(value)
            require_fixed_actions(pyspiel.load_game(inner.pop("name"), inner))


def type_conditions(kind: pyspiel.GameType, players: tuple[int, int]) -> list[str]:
    """Returns the unmet conditions of a type of game.

    Args:
        kind: type of the game.
        players: minimum and maximum number of players.
    """
    alone = players[1] == 1
    unmet = [] if players[1] else ["it has no players"]
    for attribute, meanings in _UNMET.items():
        meaning = meanings.get(getattr(kind, attribute).name)
        if attribute == "information" and _HIDING.fullmatch(kind.short_name):
            meaning = meanings["IMPERFECT_INFORMATION"]
        if meaning and not (alone and attribute in _OF_SEVERAL_PLAYERS):
            unmet.append(meaning)
    if not kind.provides_observation_tensor and facts_of(kind.short_name).observation is None:
        unmet.append(_NO_TENSOR)
    if kind.action_structs_only:
        unmet.append("its actions are not integers")
    return unmet


def spec_conditions(read: Spec) -> list[str]:
    """Returns the unmet conditions of a game string, as far as the registered types show; loads nothing.

    Games inside a transformation are included, as OpenSpiel loads them first. `unmet_conditions` may find more once the
    game is loaded.
    """
    kind = registered_type(read.name)
    if kind.default_loadable or read.name in _FIXED:
        return _registered_conditions(kind)
    unmet = [reason for inner in read.inner for reason in spec_conditions(inner)]
    return list(dict.fromkeys(unmet))


def _registered_conditions(kind: pyspiel.GameType) -> list[str]:
    """Returns the unmet conditions of all games registered with this type."""
    if kind.default_loadable:
        return type_conditions(kind, (kind.min_num_players, kind.max_num_players))
    fixed = _FIXED.get(kind.short_name, ())
    return [_UNMET[attribute][getattr(kind, attribute).name] for attribute in fixed] or (
        [_NO_TENSOR] if kind.short_name in _FIXED else []
    )


def all_games() -> list[GameInfo]:
    """Returns every game currently registered with OpenSpiel, sorted by short name."""
    return [_info(kind) for kind in sorted(pyspiel.registered_games(), key=lambda kind: kind.short_name)]


def supported_games() -> list[GameInfo]:
    """Returns the games of `all_games()` that `load_game` accepts with their default parameters."""
    return [info for info in all_games() if info.supported]


def _info(kind: pyspiel.GameType) -> GameInfo:
    parameters = tuple((name, str(default)) for name, default in sorted(kind.parameter_specification.items()))
    reasons = tuple(_registered_conditions(kind))
    if not kind.default_loadable and not reasons:
        names = ", ".join(name for name, _ in parameters)
        reasons = (f"it depends on its parameters ({names})",)
    return GameInfo(
        short_name=kind.short_name,
        long_name=kind.long_name,
        supported=not reasons,
        reasons=reasons,
        parameters=parameters,
        note=facts_of(kind.short_name).note,
        players=(kind.min_num_players, kind.max_num_players),
    )
