"""Which action to play once a search has ended.

A decision takes the root's node and an `rng`, and answers the index of an action. A rule does the same among
given candidates only; `completed` makes a decision of a rule (Section 5.2 of the article): what is proven won is
played, what is proven lost is not, and the rule chooses among the rest.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from athenan_spiel.errors import ConfigError
from athenan_spiel.tree import Node, completed_best_action, safest_action

Decision = Callable[[Node, random.Random], int]
Rule = Callable[[Node, Sequence[int], random.Random], int]

best: Decision = completed_best_action
"""By (c(s, a), v(s, a), n(s, a)): Algorithm 11."""

safest: Decision = safest_action
"""By (c(s, a), n(s, a), v(s, a)): Algorithm 13, the decision of UBFM_s."""


def _by_worth(node: Node, candidates: Sequence[int], rng: random.Random) -> list[int]:
    """The candidates from the mover's best value to its worst, equal ones in random order."""
    shuffled = list(candidates)
    rng.shuffle(shuffled)
    shuffled.sort(key=node.values.__getitem__, reverse=node.maximises)
    return shuffled


def ordinal(exploitation: Callable[[random.Random], float]) -> Rule:
    """The ordinal distribution (Section 7, Algorithm 14).

    The best action is played with probability p, else the second best with about the same probability, and so on.

    Args:
        exploitation: ε' in [0, 1], asked before each choice; 0 is uniform play, 1 plays the best action.
    """

    def rule(node: Node, candidates: Sequence[int], rng: random.Random) -> int:
        parameter = exploitation(rng)
        ranked = _by_worth(node, candidates, rng)
        n = len(ranked)
        for i, action in enumerate(ranked[:-1]):
            if rng.random() <= (parameter * (n - i - 1) + 1) / (n - i):
                return action
        return ranked[-1]

    return rule


def uniform_exploitation(rng: random.Random) -> float:
    """A parameter drawn from [0, 1] for each move (Section 8.4.3)."""
    return rng.random()


def constant_exploitation(value: float) -> Callable[[random.Random], float]:
    """The same parameter for each move.

    Raises:
        ConfigError: `value` is outside [0, 1].
    """
    if not 0.0 <= value <= 1.0:
        raise ConfigError(f"the exploitation parameter must be in [0, 1], got {value!r}")
    return lambda rng: value


def completed(rule: Rule) -> Decision:
    """Completed action selection (Section 5.2, point 3) around `rule`.

    The best of the actions proven won, if there are any; else the rule's choice among those not proven lost; else,
    all being lost, the one of best value.
    """

    def decision(node: Node, rng: random.Random) -> int:
        won = 1 if node.maximises else -1
        winning = [i for i, c in enumerate(node.completions) if c == won]
        if winning:
            return _by_worth(node, winning, rng)[0]
        open_ = [i for i, c in enumerate(node.completions) if c == 0]
        if open_:
            return rule(node, open_, rng)
        return _by_worth(node, range(len(node.values)), rng)[0]

    return decision
