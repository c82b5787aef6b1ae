"""Softmax policy over the values of a search's root, with proofs taken first.

The formula, for a temperature τ > 0 in the unit of the outcome's scale s:

1. If actions are proven to win for the mover, they share all probability evenly.
2. Otherwise, among the actions that are not proven to lose (all of them, if all are), P(a) is proportional to
   exp((v(s, a) - v(s, b)) / (τ · s)), with values from the mover's view and b the best action. The others have 0.

This is the distribution of Section 2.3 with the completed action selection of Section 5.2. The probabilities sum to 1.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Annotated

from athenan_spiel.config.settings import MOST, Range, require_argument
from athenan_spiel.errors import AgentError
from athenan_spiel.search.node import Node

_Temperature = Annotated[float, Range(0, MOST, above=True)]


@dataclass(frozen=True)
class SoftPolicy:
    """Softmax policy. Calling it draws an action, so it can be used as a decision.

    Args:
        temperature: τ. Near 0 the best action has all probability; a large τ approaches the uniform distribution.
        scale: s, the scale of the outcome.

    Raises:
        AgentError: the temperature is not above zero, or too large.
    """

    temperature: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        require_argument("the temperature of a policy", self.temperature, _Temperature, AgentError)

    def probabilities(self, node: Node) -> list[float]:
        """Returns P(a) for each action of `node`, in order."""
        won = node.kind.won
        winning = [i for i, c in enumerate(node.completions) if c == won]
        if winning:
            return _normalised(len(node.actions), dict.fromkeys(winning, 1.0))
        candidates = [i for i, c in enumerate(node.completions) if c != -won] or list(range(len(node.actions)))
        best = node.kind.best([node.values[i] for i in candidates])
        return _normalised(len(node.actions), {i: self._weight(abs(best - node.values[i])) for i in candidates})

    def __call__(self, node: Node, rng: random.Random) -> int:
        """Draws an action and returns its index."""
        return rng.choices(range(len(node.actions)), self.probabilities(node))[0]

    def _weight(self, gap: float) -> float:
        """Returns exp(-gap / (τ · s)). Equal infinite values have no gap."""
        return 1.0 if not gap > 0 else math.exp(-gap / (self.temperature * self.scale))


def _normalised(count: int, weights: dict[int, float]) -> list[float]:
    total = math.fsum(weights.values())
    return [weights.get(i, 0.0) / total for i in range(count)]
