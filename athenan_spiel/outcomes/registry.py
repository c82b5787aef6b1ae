"""Registry of outcomes: creates an outcome for a game by name, and rebuilds it from a checkpoint's parameters.

A name "module:name" is custom code. Only `kind_called` imports it, and only if the user has named it in the same call:
a name in a file is not sufficient (`allowed_kind`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any, cast, get_type_hints

import pyspiel

from athenan_spiel.errors import ConfigError, nearest, shown
from athenan_spiel.games.measures import has_measure
from athenan_spiel.games.rows import rows_of
from athenan_spiel.outcomes.base import SETTING, Outcome, Parameter, parameter_names
from athenan_spiel.outcomes.classic import Gain, ScaledGain
from athenan_spiel.outcomes.depth import AdditiveDepth, MultiplicativeDepth
from athenan_spiel.outcomes.mobility import Mobility
from athenan_spiel.outcomes.own import FunctionOutcome, Kind, checked_kind, found_by_path, made
from athenan_spiel.outcomes.presence import Presence
from athenan_spiel.outcomes.rows import ROW_OUTCOMES, GainRow, gain_of
from athenan_spiel.outcomes.sample import sample_matches
from athenan_spiel.outcomes.score import Score

BUILT_IN: Mapping[str, type[Outcome]] = {
    kind.name: kind for kind in (Gain, AdditiveDepth, MultiplicativeDepth, Score, Mobility, Presence)
}
_REGISTERED: dict[str, Kind] = {}
Given = str | tuple[str, ...] | Kind | None
"""Permission of a caller for the outcome that a file names; see `allowed_kind`."""


def make_outcome(name: str, game: pyspiel.Game, rng: random.Random, kind: Kind | None = None) -> Outcome:
    """Creates the outcome `name` for `game`. Constants that the rules do not give are estimated from random games.

    Args:
        name: name of a built-in or registered outcome, or the path "module:name" of a custom one, which is imported. A
            name from a file has to be allowed before (`allowed_kind`).
        game: game of the outcome.
        rng: selects the actions of the random games.
        kind: class or function of the outcome; by default the one that `name` refers to.

    Raises:
        ConfigError: the name is unknown, or the game does not support the outcome. A custom outcome cannot be imported,
            returns a value that is not a finite number, or breaks Definition 21 on random games.
    """
    kind = suited_kind(name, game, kind)
    if kind in (Gain, GainRow):
        return gain_of(game)
    sample = sample_matches(game, rng)
    if name in BUILT_IN:
        return cast(type[Outcome], kind).for_game(game, sample)
    return made(name, kind, game, sample)


def suited_kind(name: str, game: pyspiel.Game, kind: Kind | None = None) -> Kind:
    """Returns the class or function of the outcome `name`, if `game` supports it as far as is known without a random
    game.

    Raises:
        ConfigError: the name is unknown or cannot be imported, or the game does not support the outcome.
    """
    kind = kind or kind_called(name)
    if rows_of(game) is not None and name in BUILT_IN:
        if name not in ROW_OUTCOMES:
            problem = (
                f"must be one of {', '.join(ROW_OUTCOMES)}, or custom, in a game with a value for each player, such as "
                f"{str(game)!r}, got {shown(name)}"
            )
            raise ConfigError.at(SETTING, problem)
        return ROW_OUTCOMES[name]
    if game.num_players() == 1 and name in BUILT_IN and name != Score.name:
        problem = f"must be 'score' in a game for one player such as {str(game)!r}, got {name!r}"
        raise ConfigError.at(SETTING, problem)
    if name in BUILT_IN and (reason := cast(type[Outcome], kind).why_none(game)):
        raise ConfigError.at(SETTING, reason)
    return kind


def outcome_from_parameters(name: str, parameters: Mapping[str, Parameter], kind: Kind | None = None) -> Outcome:
    """Rebuilds an outcome from `Outcome.parameters`, without estimating constants or importing code.

    Args:
        name: name of the outcome.
        parameters: constants, as `Outcome.parameters` returned them.
        kind: class or function of a custom outcome, as `allowed_kind` returns it.

    Raises:
        ConfigError: the name or the parameters are invalid, or the outcome is custom code and `kind` is missing.
    """
    if kind is None and is_code(name):
        raise not_allowed(name)
    rows = isinstance(parameters, Mapping) and "bound" in parameters
    found = kind or (ROW_OUTCOMES.get(name) if rows else None) or kind_called(name)
    made_of: type[Outcome]
    constants: dict[str, Any]
    made_of, constants = (found, {}) if isinstance(found, type) else (FunctionOutcome, {"function": found})
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
    """Returns the outcome that an agent's search uses for terminal states.

    For custom code that is not allowed, two players with a zero sum need only the scale: `ScaledGain` replaces the
    outcome. It ranks wins above losses as before, but cannot rank two wins.

    Returns:
        The outcome. None if it is custom code or not registered here, and `parameters` have no scale.

    Raises:
        ConfigError: as `outcome_from_parameters`, except for missing custom code.
    """
    if kind is None and name not in BUILT_IN and name not in _REGISTERED:
        scale = parameters.get("scale") if isinstance(parameters, Mapping) else None
        if not isinstance(scale, int | float) or isinstance(scale, bool) or not _are_numbers(parameters):
            return None
        return ScaledGain(scale=float(scale))
    return outcome_from_parameters(name, parameters, kind)


def is_code(name: str) -> bool:
    """Returns whether an outcome of this name has to be imported."""
    return ":" in name


def allowed_kind(name: str, given: Given) -> Kind | None:
    """Returns the class or function of the outcome that a file names, if the caller has allowed it in the same call.

    Args:
        name: name of the outcome in the file.
        given: the same name, which is then imported; a tuple of allowed names; or the function or class itself. None
            imports nothing.

    Raises:
        ConfigError: `given` is another name, or code for a built-in outcome; or the outcome cannot be imported.
    """
    if given is None:
        return None
    if isinstance(given, str):
        if given != name:
            raise ConfigError(f"expected the outcome used in training, {shown(name)}, got {shown(given)}")
        return kind_called(name)
    if isinstance(given, tuple):
        return kind_called(name) if is_code(name) and name in given else None
    if name in BUILT_IN:
        raise ConfigError.at(SETTING, f"{name!r} is a built-in outcome and takes no code, got {shown(given)}")
    return checked_kind(name, given)


def not_allowed(name: str) -> ConfigError:
    """Returns the error for custom code that a file names and the user has not allowed."""
    return ConfigError.at(
        SETTING,
        f"{shown(name)} is custom code named in a file, which is not imported by itself: if you trust it, "
        f"allow it by --allow-code {name[:100]} or in Python by outcome={shown(name)}",
    )


def register_outcome(name: str, kind: Kind) -> None:
    """Registers a custom outcome under `name`, in this process.

    Processes that resume its runs or load their agents have to register it first. "module:name" needs no registration.

    Args:
        name: name without a colon, not used by another outcome.
        kind: a subclass of `Outcome`, or a function from terminal states to finite numbers, or rows of them.

    Raises:
        ConfigError: the name is taken or has a colon, or `kind` is neither.
    """
    if not isinstance(name, str) or ":" in name or _REGISTERED.get(name, BUILT_IN.get(name, kind)) is not kind:
        raise ConfigError(f"expected a name without a colon that no other outcome has, got {shown(name)}")
    _REGISTERED[name] = checked_kind(name, kind)


def outcomes_for(game: str, players: int = 2) -> list[str]:
    """Returns the names of the built-in outcomes that a game supports, by its short name.

    Score is left out if it would come from `returns()` alone, except in games for one player, which have no other.
    """
    return offered(players, scored=has_measure("score", game), pieces=has_measure("pieces", game))


def offered(players: int, *, scored: bool, pieces: bool) -> list[str]:
    """Returns the names of the built-in outcomes for a number of players, with or without a score and pieces."""
    if players == 1:
        return [Score.name]
    if players > 2:
        return list(ROW_OUTCOMES)
    has = {Score.name: scored, Presence.name: pieces}
    return [name for name in BUILT_IN if has.get(name, True)]


def suggested(
    players: int, *, scored: bool, fixed_turns: bool = False, chance: bool = False, zero_sum: bool = True
) -> tuple[str, str]:
    """Returns the default outcome of a game and the reason for it.

    Minimax over a reinforcement heuristic prefers a certain win to anything else (Definition 21). The expectation of a
    heuristic does not: with chance, a quick or large win may outweigh a likelier one. The score is the default
    nevertheless if the number of turns is fixed (`fixed_turns`), as in Yacht, where three minutes of training by the
    gain taught nothing (`docs/heuristics.md`).
    """
    if players == 1:
        return Score.name, "games for one player have no other outcome"
    if chance and players == 2 and fixed_turns:
        return Score.name, "with a fixed number of turns, more expected points are a good aim even with chance"
    if chance:
        return Gain.name, "with chance, only the expectation of the gain ranks moves by their chance of a win"
    if not zero_sum:
        return Gain.name, "without a zero sum, only the gain keeps the order of all returns"
    if scored and players == 2:
        return Score.name, "the game has a score, so training also learns the margin of a win"
    return AdditiveDepth.name, "the game has no score; a sooner win has a larger value"


def kind_called(name: str) -> Kind:
    """Returns the class or function of the outcome `name`. "module:name" is imported.

    Raises:
        ConfigError: the outcome does not exist, or cannot be imported.
    """
    if is_code(name):
        return found_by_path(name)
    known = {**BUILT_IN, **_REGISTERED}
    if name not in known:
        raise ConfigError.at(
            SETTING,
            f'must be one of {", ".join(known)}, or "module:name" for a custom outcome, got {shown(name)}'
            f"{nearest(name, known)}",
        )
    return known[name]


def _are_numbers(parameters: Mapping[str, Parameter]) -> bool:
    """Returns whether all numbers are finite and the scale is above zero."""
    numbers = {name: x for name, x in parameters.items() if isinstance(x, int | float)}
    scale = numbers.get("scale", 1.0)
    try:
        return all(math.isfinite(x) for x in numbers.values()) and scale > 0 and scale is not True
    except OverflowError:  # a whole number that no float holds
        return False
