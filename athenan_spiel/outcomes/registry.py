"""Outcomes by name: made for a game, and made again from what a checkpoint kept.

A name of the form "module:name" is code of one's own. It is imported in one place, `kind_called`, and only where the
user has named it in this very call: a name that stands in a file is not reason enough (`allowed_kind`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any, cast, get_type_hints

import pyspiel

from athenan_spiel.errors import ConfigError, nearest, shown
from athenan_spiel.games.measures import has_measure
from athenan_spiel.outcomes.base import SETTING, Outcome, Parameter, parameter_names
from athenan_spiel.outcomes.classic import Gain, ScaledGain
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
Given = str | tuple[str, ...] | Kind | None
"""What a caller may say of an outcome that a file names; see `allowed_kind`."""


def make_outcome(name: str, game: pyspiel.Game, rng: random.Random, kind: Kind | None = None) -> Outcome:
    """The outcome called `name` for `game`; constants that the rules do not give are estimated from random matches.

    Args:
        name: of an outcome of this package, of a registered one, or the path "module:name" of one of your own, which is
            imported: a name that comes from a file has to be allowed before (`allowed_kind`).
        game: the game.
        rng: chooses the actions of the random matches.
        kind: what it is made of; by default what `name` says.

    Raises:
        ConfigError: the name is unknown, or the game has no such worth; one of your own cannot be imported, gives
            something that is not a finite number, or breaks Definition 21 on random matches.
    """
    kind = suited_kind(name, game, kind)
    if kind is Gain:
        return Gain()
    sample = sample_matches(game, rng)
    if name in BUILT_IN:
        return cast(type[Outcome], kind).for_game(game, sample)
    return made(name, kind, game, sample)


def suited_kind(name: str, game: pyspiel.Game, kind: Kind | None = None) -> Kind:
    """What the outcome called `name` is made of, if `game` may have it, as far as that is known without a match of it.

    Raises:
        ConfigError: the name is unknown, or cannot be imported, or the game has no such worth.
    """
    kind = kind or kind_called(name)
    if game.num_players() == 1 and name in BUILT_IN and name != Score.name:
        problem = f"must be 'score' in a game for one player such as {str(game)!r}, got {name!r}"
        raise ConfigError.at(SETTING, problem)
    if name in BUILT_IN and (reason := cast(type[Outcome], kind).why_none(game)):
        raise ConfigError.at(SETTING, reason)
    return kind


def outcome_from_parameters(name: str, parameters: Mapping[str, Parameter], kind: Kind | None = None) -> Outcome:
    """Rebuild an outcome from what `Outcome.parameters` said, without estimating anything again, or importing anything.

    Args:
        kind: what an outcome of your own is made of, as `allowed_kind` gives it.

    Raises:
        ConfigError: the name or the parameters are not those of an outcome, or it is code and `kind` is not given.
    """
    if kind is None and is_code(name):
        raise not_allowed(name)
    found = kind or kind_called(name)
    made_of: type[Outcome]
    constants: dict[str, Any]
    made_of, constants = (found, {}) if isinstance(found, type) else (OwnFunction, {"function": found})
    hints = get_type_hints(made_of)
    if (
        not isinstance(parameters, Mapping)
        or parameters.keys() ^ constants.keys() != set(parameter_names(made_of))
        or not all(isinstance(x, Parameter) and isinstance(x, str) == (hints[n] is str) for n, x in parameters.items())
        or not _are_numbers(parameters)
    ):
        raise ConfigError(f"expected the parameters of outcome {shown(name)}, got {shown(parameters)}")
    every: dict[str, Any] = {**constants, **parameters}
    return made_of(**every)


def outcome_to_play_by(name: str, parameters: Mapping[str, Parameter], kind: Kind | None = None) -> Outcome | None:
    """The outcome that an agent's search values the ends of matches by.

    Of one that is code, the scale is enough for two players: the gain times that stands in its place. Who wins is then
    as good as ever, and which of two won matches is better is not known.

    Returns:
        None where it is code, or registered nowhere here, and `parameters` have no scale.

    Raises:
        ConfigError: as `outcome_from_parameters`, but for code that is not given.
    """
    if kind is None and name not in BUILT_IN and name not in _REGISTERED:
        scale = parameters.get("scale") if isinstance(parameters, Mapping) else None
        if not isinstance(scale, int | float) or isinstance(scale, bool) or not _are_numbers(parameters):
            return None
        return ScaledGain(scale=float(scale))
    return outcome_from_parameters(name, parameters, kind)


def is_code(name: str) -> bool:
    """Whether an outcome of this name has to be imported."""
    return ":" in name


def allowed_kind(name: str, given: Given) -> Kind | None:
    """What the outcome `name`, which a file names, is made of, if the caller has said so in this very call.

    Args:
        given: the same name, which is then imported, or names that are allowed, of which it may be one, or the function
            or class itself; None: nothing is imported.

    Raises:
        ConfigError: another name is given, or the outcome is one of this package and needs nothing; it cannot be
            imported.
    """
    if given is None:
        return None
    if isinstance(given, str):
        if given != name:
            raise ConfigError(f"expected the outcome that was trained with, {shown(name)}, got {shown(given)}")
        return kind_called(name)
    if isinstance(given, tuple):
        return kind_called(name) if is_code(name) and name in given else None
    if name in BUILT_IN:
        raise ConfigError.at(SETTING, f"{name!r} is one of this package's own and takes no code, got {shown(given)}")
    return checked_kind(name, given)


def not_allowed(name: str) -> ConfigError:
    """The error for code that a file names and the user does not."""
    return ConfigError.at(
        SETTING,
        f"{shown(name)} is code that a file names, and that alone imports nothing: if you trust it, "
        f"name it yourself, by --allow-code {name[:100]} or in Python by outcome={shown(name)}",
    )


def register_outcome(name: str, kind: Kind) -> None:
    """Let settings call an outcome of your own by `name`, in this process.

    Whoever resumes its runs or loads their agents registers it again first; "module:name" needs no such step.

    Args:
        name: without a colon, and not the name of another outcome.
        kind: a subclass of `Outcome`, or a function from terminal states to finite numbers.

    Raises:
        ConfigError: the name is taken or has a colon, or `kind` is neither.
    """
    if not isinstance(name, str) or ":" in name or _REGISTERED.get(name, BUILT_IN.get(name, kind)) is not kind:
        raise ConfigError(f"expected a name without a colon that no other outcome has, got {shown(name)}")
    _REGISTERED[name] = checked_kind(name, kind)


def outcomes_for(game: str, players: int = 2) -> list[str]:
    """The names of this package's outcomes that the game with this short name has.

    Score is left out where it would come from `returns()` alone, unless there is one player, who has no other.
    """
    return offered(players, scored=has_measure("score", game), pieces=has_measure("pieces", game))


def offered(players: int, *, scored: bool, pieces: bool) -> list[str]:
    """The names of this package's outcomes for a game with this number of players, and with points or pieces or not."""
    if players == 1:
        return [Score.name]
    has = {Score.name: scored, Presence.name: pieces}
    return [name for name in BUILT_IN if has.get(name, True)]


def suggested(players: int, *, scored: bool) -> tuple[str, str]:
    """The outcome to begin with where nothing more is known of a game, and why."""
    if players == 1:
        return Score.name, "a game for one player has no other"
    if scored:
        return Score.name, "the game keeps one, so training learns by how much a match is won, too"
    return AdditiveDepth.name, "the game keeps no score; a win is worth more the sooner it comes"


def kind_called(name: str) -> Kind:
    """What the outcome called `name` is made of; "module:name" is imported.

    Raises:
        ConfigError: there is no such outcome, or it cannot be imported.
    """
    if is_code(name):
        return found_by_path(name)
    known = {**BUILT_IN, **_REGISTERED}
    if name not in known:
        raise ConfigError.at(
            SETTING,
            f'must be one of {", ".join(known)}, or "module:name" for one of your own, got {shown(name)}'
            f"{nearest(name, known)}",
        )
    return known[name]


def _are_numbers(parameters: Mapping[str, Parameter]) -> bool:
    """Whether all numbers are finite, and the scale is more than zero."""
    numbers = {name: x for name, x in parameters.items() if isinstance(x, int | float)}
    scale = numbers.get("scale", 1.0)
    try:
        return all(math.isfinite(x) for x in numbers.values()) and scale > 0 and scale is not True
    except OverflowError:  # a whole number that no float holds
        return False
