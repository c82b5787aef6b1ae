"""Evaluators with priors, and nodes of MCTS made by hand."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.evaluators import Evaluation
from athenan_spiel.search.mcts_tree import MCTSNode
from athenan_spiel.search.node import NodeKind

Values = Callable[[Sequence[pyspiel.State]], NDArray[np.floating]]
Priors = Callable[[pyspiel.State], Sequence[float]]


def even(state: pyspiel.State) -> list[float]:
    """The same prior for every action."""
    count = len(state.legal_actions())
    return [1 / count] * count


def drawn(seed: int) -> Priors:
    """Priors that a position and the seed decide, sharp ones and flat ones."""

    def priors(state: pyspiel.State) -> list[float]:
        rng = random.Random(f"{seed} {state}")
        weights = [rng.random() ** 4 + 1e-3 for _ in state.legal_actions()]
        return [weight / sum(weights) for weight in weights]

    return priors


def of_names(names: Mapping[str, Sequence[float]]) -> Priors:
    """Priors of the states of a fake game by their names; even ones of the others."""
    return lambda state: names.get(str(state)) or even(state)


def with_priors(values: Values, priors: Priors = even) -> Callable[[Sequence[pyspiel.State]], Evaluation]:
    """An evaluator of these values and priors."""
    return lambda states: Evaluation(values(states).tolist(), [list(priors(state)) for state in states])


def hand_node(
    priors: Sequence[float] | None,
    tried: Mapping[int, tuple[int, float]] | None = None,
    *,
    own: float = 0.0,
    count: int | None = None,
    kind: NodeKind = NodeKind.MAXIMISER,
    seed: int = 0,
) -> MCTSNode:
    """A node as if simulations had found this.

    Args:
        tried: by index n(s, a) and the mean, which is player 0's.
        count: of the actions, if there are no priors.
    """
    actions = range(10, 10 + (count if priors is None else len(priors)))  # type: ignore[operator]
    node = MCTSNode(actions, own, random.Random(seed), kind, priors)
    for i, (n, mean) in (tried or {}).items():
        for _ in range(n):
            node.add_simulation(i, mean)
    return node
