"""Selection rules of MCTS: their protocol, and UCT."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from athenan_spiel.arguments import require_kind
from athenan_spiel.config.settings import Factor, require_argument
from athenan_spiel.errors import SearchError
from athenan_spiel.search.choice import draw
from athenan_spiel.search.mcts_tree import MCTSNode

EXPLORATION_CONSTANT = 0.4
"""c of UCT (the article, Section 3.3)."""


class Selection(Protocol):
    """Selection rule, such as `UCT()`."""

    def __call__(self, node: MCTSNode, losses: Mapping[int, int], scale: float, rng: random.Random) -> int:
        """Returns the index of the action that a simulation selects at `node`.

        Args:
            losses: number of virtual losses of each action that the same batch has selected.
            scale: scale of the outcome, the unit of the node's totals.
            rng: breaks ties.
        """


@dataclass(frozen=True)
class UCT:
    """UCT, which maximises Q(s, a) + c · sqrt(ln N(s) / n(s, a)) (Kocsis and Szepesvári 2006).

    A virtual loss counts as a simulation that found the worst value. Untried actions come first, from the end of
    `untried`.

    Args:
        exploration_constant: c, zero or more; 0.4 in the article. Zero selects the best mean.
        first_play_urgency: gives an untried action the value of its state, so it need not come first (*Minimax Strikes
            Back*, first version, Section 3.4).

    Raises:
        SearchError: c is negative, not finite or too large; or another argument has the wrong type.
    """

    exploration_constant: float = EXPLORATION_CONSTANT
    first_play_urgency: bool = False

    def __post_init__(self) -> None:
        require_argument("the exploration constant of MCTS", self.exploration_constant, Factor, SearchError)
        require_kind("first_play_urgency", self.first_play_urgency, bool, SearchError)

    def __call__(self, node: MCTSNode, losses: Mapping[int, int], scale: float, rng: random.Random) -> int:
        """Selects an action as `Selection` describes."""
        untried = next((i for i in reversed(node.untried) if i not in losses), None) if node.untried else None
        if untried is not None and not self.first_play_urgency:
            return untried
        sign = node.kind.won / scale
        logarithm = math.log(node.simulations + sum(losses.values()))
        best, candidates = -math.inf, []
        if untried is not None:
            best, candidates = sign * node.own, [untried]
        for i in node.visits.keys() | losses.keys() if losses else node.visits:
            lost = losses.get(i, 0)
            n = node.count(i) + lost
            score = (sign * node.totals[i] - lost) / n + self.exploration_constant * math.sqrt(logarithm / n)
            if score > best:
                best, candidates = score, [i]
            elif score == best:
                candidates.append(i)
        return draw(candidates, rng)
