"""Depth heuristics (the article, Section 6.2.2): a sooner win has a larger value.

They use the number of actions played, `state.move_number()`. Two histories may therefore share a node only if they have
the same length, which `transpositions` ensures by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import pyspiel

from athenan_spiel.games.facts import longest_match
from athenan_spiel.outcomes.base import Outcome
from athenan_spiel.outcomes.classic import gain
from athenan_spiel.outcomes.sample import Sample

MAX_BOUND_RATIO = 2.5
"""Maximum ratio of the rules' bound to the longest playout, for the bound to count as tight.

Othello, Breakthrough and Ultimate Tic-Tac-Toe have a ratio of two, and their bound is still a good P.
"""


@dataclass(frozen=True)
class AdditiveDepth(Outcome):
    """Additive depth heuristic p_t (Section 6.2.2): gain · l, with a larger l the sooner the game ends.

    If `longest` is the true bound P on the length of a game (`exact`), l = P - p + 1 after p actions. Otherwise
    l = max(1, P̃ - p) with `longest` an estimate P̃ of the bound.
    """

    name: ClassVar[str] = "additive_depth"
    longest: int
    exact: bool

    def __call__(self, state: pyspiel.State) -> float:
        """Returns gain · l."""
        return gain(state) * self.weight(state)

    def weight(self, state: pyspiel.State) -> float:
        """Returns l."""
        return float(max(1, self.longest - state.move_number() + self.exact))

    @classmethod
    def for_game(cls, game: pyspiel.Game, sample: Sample) -> Self:
        """Returns the outcome with P from the rules' bound, or P̃ from the sample.

        The rules' bound is used if it is tight, or if the sample is empty; otherwise P̃ is the longest game of the
        sample. If the sample has no win, the scale is that of an immediate win.
        """
        bound = longest_match(game)
        longest = max(sample.lengths, default=bound)
        exact = bound <= MAX_BOUND_RATIO * longest
        longest = bound if exact else longest
        shortest = min(sample.lengths) if any(sample.returns) else 0
        return cls(longest=longest, exact=exact, scale=max(1.0, longest - shortest + exact))


@dataclass(frozen=True)
class MultiplicativeDepth(Outcome):
    """Multiplicative depth heuristic p'_t (Section 6.2.2): gain · P' / p after p actions.

    P' is the mean length of a game, so a value near 1 is a win in average time.
    """

    name: ClassVar[str] = "multiplicative_depth"
    mean: float

    def __call__(self, state: pyspiel.State) -> float:
        """Returns gain · P' / p."""
        return gain(state) * self.weight(state)

    def weight(self, state: pyspiel.State) -> float:
        """Returns P' / p."""
        return self.mean / float(max(1, state.move_number()))

    @classmethod
    def for_game(cls, game: pyspiel.Game, sample: Sample) -> Self:
        """Returns the outcome with P' estimated from the sample.

        P' is the mean length of the sample's games, or the rules' bound if the sample is empty.
        """
        lengths = sample.lengths or (longest_match(game),)
        mean = sum(lengths) / len(lengths)
        return cls(mean=mean, scale=mean / max(1, min(lengths)))
