"""How the matches of a training are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from athenan_spiel.config.search import LARGEST_FACTOR
from athenan_spiel.config.settings import Settings

MOST_OPENING_PLIES = 10_000
"""More than matches are long."""

SelfPlayName = Literal["search", "apprentice"]

APPRENTICE_ALONE = ("temperature", "warm_start", "values_after")
"""What there is for the matches of an apprentice alone."""


@dataclass(frozen=True, kw_only=True)
class SelfPlayConfig(Settings):
    """How the matches of a training are made: by the search alone, or as in ExIt (the article, Section 8.1)."""

    table: ClassVar[str] = "self_play."

    method: SelfPlayName = "search"
    """`search`: it finds each move. `apprentice`: the network's policy plays without search, and the search analyses
    one state of each match, drawn at random, which alone is learned (Algorithm 15)."""
    temperature: float | None = None
    """Of the apprentice's moves, which it draws by π(a|s)^(1/temperature); none: 0.1 (Section 8.4.2)."""
    warm_start: float | None = None
    """The share of the run, at its beginning, in which MCTS with playouts alone finds each move, and every state is
    learned; c is 0.25, and `exploration` draws the moves. None: there is none. The article: 1/30, 12 hours of 15
    days."""
    opening_plies: int | None = None
    """Of `search` alone: a match begins with random actions, so many at most; how many is drawn for each match, from
    zero on. They are not searched, nor are the states before them learned. None: there are none, as in the article."""
    values_after: float | None = None
    """The share of the run after which values are learned beside the policy, and count in ExIt's search; 1: never.
    None: from the beginning. The article: 2/15, from the third day of 15."""

    def check(self) -> None:
        """What an apprentice alone has is not given without it, and numbers are in their range."""
        if self.method != "apprentice":
            for name in APPRENTICE_ALONE:
                self.require(getattr(self, name) is None, name, "none, as only 'apprentice' has it")
        else:
            self.require(self.opening_plies is None, "opening_plies", "none, as only 'search' has them")
        self.require_some(1, "opening_plies", most=MOST_OPENING_PLIES)
        self.require_positive("temperature")
        self.require_at_most(LARGEST_FACTOR, "temperature")
        for name in ("warm_start", "values_after"):
            value = getattr(self, name)
            self.require(value is None or 0 <= value <= 1, name, "in [0, 1]")

    @property
    def has_phases(self) -> bool:
        """Whether matches or learning depend on how much of the run lies behind."""
        return self.warm_start is not None or self.values_after is not None

    def is_warm_start(self, progress: float) -> bool:
        """Whether plain MCTS plays when `progress` of the run, in [0, 1], lies behind."""
        return self.warm_start is not None and progress < self.warm_start

    def has_values(self, progress: float) -> bool:
        """Whether values are learned when `progress` of the run, in [0, 1], lies behind."""
        after = self.values_after
        return after is None or (after < 1 and progress >= after)
