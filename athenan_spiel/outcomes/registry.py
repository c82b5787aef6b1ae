"""Outcomes by name: made for a game, and made again from what a checkpoint kept."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, cast, get_type_hints

import pyspiel

from athenan_spiel.errors import ConfigError, nearest
from athenan_spiel.games.measures import has_measure
from athenan_spiel.outcomes.base import Outcome, Parameter, parameter_names
from athenan_spiel.outcomes.classic import Gain
from athenan_spiel.outcomes.depth import AdditiveDepth, MultiplicativeDepth
from athenan_spiel.outcomes.mobility import Mobility
from athenan_spiel.outcomes.own import Kind, OwnFunction, checked_kind, found_by_path, made
from athenan_spiel.outcomes.presence import Presence
from athenan_spiel.outcomes.sample import sample_matches
from athenan_spiel.outcomes.score import Score

BUILT_IN: Mapping[str, type[Outcome]] = {
    kind.name: kind for kind in (Gain, AdditiveDepth, MultiplicativeDepth, Score, Mobility, Presence)
}
_REGISTERED: dict[str, Kind] = {}


def make_outcome(name: str, game: pyspiel.Game, rng: random.Random) -> Outcome:
    """The outcome called `name` for `game`; constants that the rules do not give are estimated from random matches.

    Args:
        name: of an outcome of this package, of a registered one, or the path "module:name" of one of your own.
        game: the game.
        rng: chooses the actions of the random matches.

    Raises:
        ConfigError: the name is unknown, or the game has no such worth; one of your own cannot be imported, gives
            something that is not a finite number, or breaks Definition 21 on random matches.
    """
    kind = _kind(name)
    if game.num_players() == 1 and name in BUILT_IN and name != Score.name:
        raise ConfigError(f"outcome must be 'score' in a game for one player such as {str(game)!r}, got {name!r}")
    if kind is Gain:
        return Gain()
    sample = sample_matches(game, rng)
    if name in BUILT_IN:
        return cast(type[Outcome], kind).for_game(game, sample)
    return made(name, kind, game, sample)


def outcome_from_parameters(name: str, parameters: Mapping[str, Parameter]) -> Outcome:
    """Rebuild an outcome from what `Outcome.parameters` said, without estimating anything again.

    Raises:
        ConfigError: the name or the parameters are not those of an outcome, or it can no longer be imported.
    """
    found = _kind(name)
    kind: type[Outcome]
    constants: dict[str, Any]
    kind, constants = (found, {}) if isinstance(found, type) else (OwnFunction, {"function": found})
    hints = get_type_hints(kind)
    if (
        not isinstance(parameters, Mapping)
        or parameters.keys() ^ constants.keys() != set(parameter_names(kind))
        or not all(isinstance(x, Parameter) and isinstance(x, str) == (hints[n] is str) for n, x in parameters.items())
    ):
        raise ConfigError(f"expected the parameters of outcome {name!r}, got {parameters!r}")
    every: dict[str, Any] = {**constants, **parameters}
    return kind(**every)


def register_outcome(name: str, kind: Kind) -> None:
    """Let settings call an outcome of your own by `name`, in this process.

    Whoever resumes its runs or loads their agents registers it again first; "module:name" needs no such step.

    Args:
        name: without a colon, and not the name of another outcome.
        kind: a subclass of `Outcome`, or a function from terminal states to finite numbers.

    Raises:
        ConfigError: the name is taken or has a colon, or `kind` is neither.
    """
    if ":" in name or _REGISTERED.get(name, BUILT_IN.get(name, kind)) is not kind:
        raise ConfigError(f"expected a name without a colon that no other outcome has, got {name!r}")
    _REGISTERED[name] = checked_kind(name, kind)


def outcomes_for(game: str, players: int = 2) -> list[str]:
    """The names of this package's outcomes that the game with this short name has.

    Score is left out where it would come from `returns()` alone, unless there is one player, who has no other.
    """
    if players == 1:
        return [Score.name]
    has = {Score.name: has_measure("score", game), Presence.name: has_measure("pieces", game)}
    return [name for name in BUILT_IN if has.get(name, True)]


def _kind(name: str) -> Kind:
    """What the outcome called `name` is made of."""
    if ":" in name:
        return found_by_path(name)
    known = {**BUILT_IN, **_REGISTERED}
    if name not in known:
        raise ConfigError(
            f'outcome must be one of {", ".join(known)}, or "module:name" for one of your own, got {name!r}'
            f"{nearest(name, known)}"
        )
    return known[name]
