"""Outcomes of games whose values are rows (`games.rows`): the gain of each player, with or without a depth factor.

The factor is the same for all players, so the rows of a zero-sum game sum to zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pyspiel

from athenan_spiel.games.rows import rows_of
from athenan_spiel.outcomes.base import Outcome
from athenan_spiel.outcomes.classic import Gain
from athenan_spiel.outcomes.depth import AdditiveDepth, MultiplicativeDepth
from athenan_spiel.outcomes.sample import Sample


@dataclass(frozen=True)
class RowOutcome(Outcome):
    """Row of terminal values, one for each player: its return times `weight(state)`, divided by `bound`."""

    bound: float = field(default=1.0, kw_only=True)
    """Largest absolute return of a player."""

    def __call__(self, state: pyspiel.State) -> Any:
        """Returns the value of `state`, which is terminal, for each player, as a tuple."""
        weight = self.weight(state) / self.bound
        return tuple(weight * returned for returned in state.returns())

    @classmethod
    def for_game(cls, game: pyspiel.Game, sample: Sample) -> Self:
        """As `Outcome.for_game`. The bound is that of the rules."""
        rows = rows_of(game)
        assert rows is not None, "an outcome of rows is for games with rows"
        return replace(super().for_game(game, sample), bound=rows.bound)


@dataclass(frozen=True)
class GainRow(RowOutcome, Gain):
    """Gain of each player."""


@dataclass(frozen=True)
class AdditiveDepthRow(RowOutcome, AdditiveDepth):
    """Additive depth heuristic for each player: gain · l."""


@dataclass(frozen=True)
class MultiplicativeDepthRow(RowOutcome, MultiplicativeDepth):
    """Multiplicative depth heuristic for each player: gain · P' / p."""


def gain_of(game: pyspiel.Game) -> Outcome:
    """Returns the gain as the outcome of `game`."""
    rows = rows_of(game)
    return Gain() if rows is None else GainRow(bound=rows.bound)


ROW_OUTCOMES: Mapping[str, type[RowOutcome]] = {
    kind.name: kind for kind in (GainRow, AdditiveDepthRow, MultiplicativeDepthRow)
}
