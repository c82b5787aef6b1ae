"""Expert of ExIt (expert iteration): MCTS with playouts, guided by a network's policy and values.

Sources: Anthony, Tian and Barber, *Thinking Fast and Slow with Deep Learning and Tree Search* (2017); the article,
Sections 8.1 and 8.4.2.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Unpack

import pyspiel

from athenan_spiel.config.settings import Factor, require_argument
from athenan_spiel.errors import SearchError
from athenan_spiel.evaluators.base import Evaluation
from athenan_spiel.search.base import SearchOptions
from athenan_spiel.search.choice import draw
from athenan_spiel.search.mcts import MCTS
from athenan_spiel.search.mcts_tree import MCTSNode
from athenan_spiel.search.uct import UCT
from athenan_spiel.search.walk import Requests

EXPLORATION_CONSTANT = 0.05
PRIOR_WEIGHT = 100.0
VALUE_WEIGHT = 0.75


@dataclass(frozen=True)
class ExItUCT:
    """ExIt's UCT, with the policy π and the mean Q̂ of the network's values after the action, which maximises

        UCT(s, a) + w_a · π(a|s) / (n(s, a) + 1) + w_v · Q̂(s, a)

    The mean Q of UCT is that of the playouts' results. Each simulation finds one result z and one value v. The nodes of
    `ExItMCTS` hold the means of (z + w_v v) / (1 + w_v), so Q + w_v Q̂ is 1 + w_v times that mean. Untried actions come
    first, as in UCT, the one of the largest π before the others. A virtual loss counts as a simulation that found the
    worst value. A node without priors has equal ones.

    Args:
        exploration_constant: as for `UCT`.
        prior_weight, value_weight: w_a and w_v, zero or more.
        first_play_urgency: as for `UCT`. The score of an untried action then also has the term of π.

    Raises:
        SearchError: an argument is not a finite number, out of range, or has the wrong type.
    """

    exploration_constant: float = EXPLORATION_CONSTANT
    prior_weight: float = PRIOR_WEIGHT
    value_weight: float = VALUE_WEIGHT
    first_play_urgency: bool = False

    needs_priors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        UCT(self.exploration_constant, self.first_play_urgency)  # validates both
        for name, value in {"prior_weight": self.prior_weight, "value_weight": self.value_weight}.items():
            require_argument(f"{name} of ExIt", value, Factor, SearchError)

    def __call__(self, node: MCTSNode, losses: Mapping[int, int], scale: float, rng: random.Random) -> int:
        """Selects an action as `Selection` describes."""
        priors = node.priors_or_even()
        first = node.likeliest(losses)
        if first is not None and not self.first_play_urgency:
            return first
        sign, values = node.kind.won / scale, 1 + self.value_weight
        logarithm = math.log(node.simulations + sum(losses.values()))
        best, candidates = -math.inf, []
        if first is not None:
            best, candidates = values * sign * node.own + self.prior_weight * priors[first], [first]
        for i in node.visits.keys() | losses.keys() if losses else node.visits:
            lost = losses.get(i, 0)
            n = node.count(i) + lost
            score = (
                values * (sign * node.totals[i] - lost) / n
                + self.exploration_constant * math.sqrt(logarithm / n)
                + self.prior_weight * priors[i] / (n + 1)
            )
            if score > best:
                best, candidates = score, [i]
            elif score == best:
                candidates.append(i)
        return draw(candidates, rng)


class ExItMCTS(MCTS):
    """Expert of ExIt: MCTS by `ExItUCT`, for evaluators with priors. Its decision is `choice.safest`.

    The value of a leaf is (z + w_v v) / (1 + w_v), with the result z of one playout and the network's value v. The
    value of a terminal state is its outcome. w_v = 0 ignores the network's values, as before they are learned.

    Args:
        game, outcome, key, virtual_loss_batch: as for `MCTS`.
        exploration_constant, prior_weight, value_weight, first_play_urgency: as for `ExItUCT`.

    Raises:
        UnsupportedGameError: as every search.
        SearchError: an argument is out of range, or has the wrong type.
    """

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        exploration_constant: float = EXPLORATION_CONSTANT,
        prior_weight: float = PRIOR_WEIGHT,
        value_weight: float = VALUE_WEIGHT,
        first_play_urgency: bool = False,
        virtual_loss_batch: int = 1,
        **options: Unpack[SearchOptions],
    ) -> None:
        rule = ExItUCT(exploration_constant, prior_weight, value_weight, first_play_urgency)
        super().__init__(game, selection=rule, virtual_loss_batch=virtual_loss_batch, **options)
        self._value_weight = value_weight

    def _evaluate(self, states: list[pyspiel.State], rng: random.Random) -> Requests[Evaluation]:
        """Values states by the evaluator and by one playout from each."""
        found = yield from self._request(states)
        results = yield from self._play_out(states, rng)
        weight = self._value_weight
        values = [(z + weight * v) / (1 + weight) for z, v in zip(results, found.values, strict=True)]
        return Evaluation(values, found.priors)
