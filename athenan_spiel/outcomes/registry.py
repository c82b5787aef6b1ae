"""Outcomes by name: made for a game, and made again from what a checkpoint kept."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pyspiel

from athenan_spiel.errors import ConfigError
from athenan_spiel.outcomes.base import Outcome, Parameter, parameter_names
from athenan_spiel.outcomes.classic import Gain
from athenan_spiel.outcomes.depth import AdditiveDepth, MultiplicativeDepth
from athenan_spiel.outcomes.sample import sample_matches
from athenan_spiel.outcomes.score import Score

_BY_NAME: Mapping[str, type[Outcome]] = {kind.name: kind for kind in (Gain, AdditiveDepth, MultiplicativeDepth, Score)}


def make_outcome(name: str, game: pyspiel.Game, rng: random.Random) -> Outcome:
    """The outcome called `name` for `game`; constants that the rules do not give are estimated from random matches.

    Raises:
        ConfigError: the name is unknown, or the game has no such worth.
    """
    kind = _BY_NAME.get(name)
    if kind is None:
        raise ConfigError(f"outcome must be one of {', '.join(_BY_NAME)}, got {name!r}")
    if kind is Gain:
        return Gain()
    return kind.for_game(game, sample_matches(game, rng))


def outcome_from_parameters(name: str, parameters: Mapping[str, Parameter]) -> Outcome:
    """Rebuild an outcome from what `Outcome.parameters` said, without estimating anything again.

    Raises:
        ConfigError: the name or the parameters are not those of an outcome.
    """
    kind = _BY_NAME.get(name)
    if (
        kind is None
        or not isinstance(parameters, Mapping)
        or set(parameters) != set(parameter_names(kind))
        or not all(isinstance(value, int | float) for value in parameters.values())
    ):
        raise ConfigError(f"expected the name and parameters of an outcome, got {name!r} with {parameters!r}")
    return kind(**parameters)  # type: ignore[arg-type]  # whatever its constants are
