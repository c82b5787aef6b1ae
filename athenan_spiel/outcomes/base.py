"""Base class of outcomes, which map terminal states to values for player 0."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import pyspiel

from athenan_spiel.outcomes.sample import Sample

SETTING = "outcome"
"""Path of the setting that names an outcome. Error messages about outcomes start with it."""
Parameter = float | int | bool | str
"""Type of an outcome's constant, as a checkpoint stores it in JSON."""


@dataclass(frozen=True)
class Outcome(ABC):
    """Terminal value for player 0, or in a game with rows (`games.rows`) for each player.

    A subclass is a frozen dataclass of its constants, if it has any.

    Attributes:
        name: name in settings. A custom outcome is named by its module and name, and needs none.
        path_dependent: whether the value depends on how the state was reached, beyond the number of actions. A search
            then shares no node between histories (see `transpositions.history_key`).
        scale: size of large values, above zero. `make_outcome` sets it to the largest absolute value in random games,
            so other games may exceed it. It neither changes nor bounds a value: networks learn value / scale.
    """

    name: ClassVar[str] = ""
    path_dependent: ClassVar[bool] = False
    scale: float = field(default=1.0, kw_only=True)

    @abstractmethod
    def __call__(self, state: pyspiel.State) -> Any:
        """Returns the value of `state`, which is terminal: a number, or a row as a sequence."""

    def weight(self, state: pyspiel.State) -> float:
        """Returns the factor of the gain in the terminal value of `state`, for heuristics of that form; else 1."""
        return 1.0

    @classmethod
    def why_none(cls, game: pyspiel.Game) -> str | None:
        """Returns why the game does not support this outcome, if known without a random game. The text starts with the
        name."""
        return None

    @classmethod
    def for_game(cls, game: pyspiel.Game, sample: Sample) -> Self:
        """Returns the outcome for `game`, with constants estimated from `sample`. The base class sets only the scale.

        Raises:
            ConfigError: the game does not support this outcome.
        """
        return cls().scaled(sample)

    def scaled(self, sample: Sample) -> Self:
        """Returns the same outcome with the largest absolute value in the sample as its scale.

        The scale is 1 if that value is 0 or unknown.
        """
        largest = (float(np.max(np.abs(self(end)))) for end in sample.ends)
        return replace(self, scale=max(largest, default=0.0) or 1.0)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Constants of the outcome, from which `outcome_from_parameters` rebuilds it."""
        names = sorted(parameter_names(type(self)), key=lambda name: name == "scale")
        return {name: getattr(self, name) for name in names}


def parameter_names(kind: type[Outcome]) -> list[str]:
    """Returns the names of the constants of an outcome class."""
    return [field.name for field in fields(kind) if field.init]
