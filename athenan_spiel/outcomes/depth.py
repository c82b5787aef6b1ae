"""The depth heuristics (the article, Section 6.2.2): a win is worth more the sooner it comes.

They look at the number of actions played, `state.move_number()`; two histories may therefore share a node only if
they are equally long, which is what `transpositions` sees to by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import pyspiel

from athenan_spiel.games.facts import longest_match
from athenan_spiel.outcomes.base import Outcome
from athenan_spiel.outcomes.classic import gain
from athenan_spiel.outcomes.sample import Sample

TIGHT = 2.5
"""The rules' bound counts as tight when it is at most this factor times the longest playout seen. Othello,
Breakthrough and Ultimate Tic-Tac-Toe have twice that, and their bound is still a good P."""


@dataclass(frozen=True)
class AdditiveDepth(Outcome):
    """p_t, the additive depth heuristic (Section 6.2.2): gain · l, with l larger the sooner the match ends.

    Where `longest` is the true bound P on the length of a match (`exact`), l = P - p + 1 after p actions;
    otherwise l = max(1, P̃ - p) with `longest` an estimate P̃ of it.
    """

    name: ClassVar[str] = "additive_depth"
    longest: int
    exact: bool

    def __call__(self, state: pyspiel.State) -> float:
        """gain · l."""
        return float(gain(state) * max(1, self.longest - state.move_number() + self.exact))

    @classmethod
    def for_game(cls, game: pyspiel.Game, sample: Sample) -> Self:
        """P is the rules' bound where that is tight, or no match is known, else the longest one of the sample is P̃.

        Where none was won, as where all took as long as they may, the scale is that of a win at once.
        """
        bound = longest_match(game)
        longest = max(sample.lengths, default=bound)
        exact = bound <= TIGHT * longest
        longest = bound if exact else longest
        shortest = min(sample.lengths) if any(sample.returns) else 0
        return cls(longest=longest, exact=exact, scale=max(1.0, longest - shortest + exact))


@dataclass(frozen=True)
class MultiplicativeDepth(Outcome):
    """p'_t, the multiplicative depth heuristic (Section 6.2.2): gain · P' / p after p actions.

    P' is the mean length of a match, so a value near 1 is a win in average time.
    """

    name: ClassVar[str] = "multiplicative_depth"
    mean: float

    def __call__(self, state: pyspiel.State) -> float:
        """gain · P' / p."""
        return gain(state) * self.mean / float(max(1, state.move_number()))

    @classmethod
    def for_game(cls, game: pyspiel.Game, sample: Sample) -> Self:
        """P' is the mean length of the sample's matches; the rules' bound where there is none."""
        lengths = sample.lengths or (longest_match(game),)
        mean = sum(lengths) / len(lengths)
        return cls(mean=mean, scale=mean / max(1, min(lengths)))
