"""What an outcome is: a map from terminal states to their worth for player 0, with the size of its large values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, Self

import pyspiel

from athenan_spiel.outcomes.sample import Sample

SETTING = "outcome"
"""The path of the setting that names an outcome, with which messages about one begin."""
Parameter = float | int | bool | str
"""What a constant of an outcome may be, as a checkpoint keeps it in JSON."""


@dataclass(frozen=True)
class Outcome(ABC):
    """Worth of a terminal state for player 0. Subclasses are frozen dataclasses of their constants, if they have any.

    Attributes:
        name: how settings call it; one of your own is called by its module and name, and needs none.
        path_dependent: the worth depends on how the state was reached, beyond the number of actions. A search then
            keeps all histories apart (see `transpositions.history_key`).
        scale: the size of its large values, above zero; where `make_outcome` makes it, that of the largest in random
            matches, so other matches may be worth more. It changes no worth and bounds none: networks learn
            value / scale.
    """

    name: ClassVar[str] = ""
    path_dependent: ClassVar[bool] = False
    scale: float = field(default=1.0, kw_only=True)

    @abstractmethod
    def __call__(self, state: pyspiel.State) -> float:
        """The worth of `state`, which is terminal."""

    @classmethod
    def why_none(cls, game: pyspiel.Game) -> str | None:
        """Why the game has no such worth, where that is known before a match is played; it begins with the name."""
        return None

    @classmethod
    def for_game(cls, game: pyspiel.Game, sample: Sample) -> Self:
        """The outcome for `game`, of which `sample` shows some matches; here: without constants but the scale.

        Raises:
            ConfigError: the game has no such worth.
        """
        return cls().scaled(sample)

    def scaled(self, sample: Sample) -> Self:
        """The same outcome, whose scale is the largest worth in the sample without its sign; 1 where that is 0, or not
        known."""
        return replace(self, scale=max((abs(float(self(end))) for end in sample.ends), default=0.0) or 1.0)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Its constants, from which `outcome_from_parameters` makes it again."""
        names = sorted(parameter_names(type(self)), key=lambda name: name == "scale")
        return {name: getattr(self, name) for name in names}


def parameter_names(kind: type[Outcome]) -> list[str]:
    """The names of the constants of a kind of outcome."""
    return [field.name for field in fields(kind) if field.init]
