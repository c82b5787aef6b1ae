"""Gumbel AlphaZero's search: MCTS that divides the root's simulations by sequential halving.

Source: Danihelka, Guez, Schrittwieser, Silver, *Policy improvement by planning with Gumbel* (ICLR 2022), Sections 3 to
5 and Appendix D. In its symbols, with the priors π of a node and logits = ln π:

1. q(a) is the mean of the simulations through a from the mover's view, mapped to about [0, 1]: (1 + v / scale) / 2. An
   action without a simulation has v_mix, which mixes the state's own value with the prior-weighted mean of the known
   q(a).
2. σ(q) = (c_visit + the most visits of an action) · c_scale · q. The improved policy π' is softmax(logits + σ(q)).
3. Inside the tree an action maximises π'(a) - n(a) / (1 + Σ n), so visits follow π'.
4. At the root, g(a) is drawn from the Gumbel distribution in self-play, and is 0 otherwise. The m actions of best
   g + logits + σ(q) are considered. Sequential halving simulates fewer and fewer of them more and more often, over the
   budget's iterations since the state became the root. Without an iteration limit, or once it is used up, the root
   follows rule 3 with g + logits in place of the logits.
5. The action of best g + logits + σ(q) among those simulated most often as a root is played.
6. A virtual loss counts as a simulation that found the worst value.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Unpack, cast

import pyspiel

from athenan_spiel.arguments import require_kind
from athenan_spiel.config.settings import Count, Factor, Share, require_argument
from athenan_spiel.errors import SearchError
from athenan_spiel.search.base import SearchOptions
from athenan_spiel.search.choice import argmax, draw, safest
from athenan_spiel.search.mcts import MCTS
from athenan_spiel.search.mcts_tree import MCTSNode, MCTSTree, with_losses
from athenan_spiel.search.node import Node

CONSIDERED_ACTIONS = 16
"""Default m of the paper, the number of considered actions."""
MIN_PRIOR = 2.0**-126
"""Replacement for a prior of zero, which has no logarithm: the least normal float32."""
MIN_VALUE_SPAN = 1e-8
"""Minimum range of a node's values for rescaling to [0, 1]."""


@dataclass(frozen=True)
class GumbelSelection:
    """Selection rule of Gumbel AlphaZero, inside the tree and at the root. The module's docstring numbers its parts.

    Args:
        c_visit, c_scale: constants of σ, zero or more. The paper uses 50 and 1 for board games. The default c_scale is
            0.1, which won more games than 1 and than mctx's variant when leaves were valued by a few playouts: it
            relies less on values with errors.
        rescaled: rescales a node's q(a) to [0, 1] before σ, so its best action exceeds its worst by (c_visit + max n) ·
            c_scale. `GumbelSelection(c_scale=0.1, rescaled=True)` is the rule of the library mctx.

    Raises:
        SearchError: an argument has the wrong type, or is out of range.
    """

    c_visit: float = 50.0
    c_scale: float = 0.1
    rescaled: bool = False

    needs_priors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        require_argument("c_visit of Gumbel", self.c_visit, Factor, SearchError)
        require_argument("c_scale of Gumbel", self.c_scale, Factor, SearchError)
        require_kind("rescaled", self.rescaled, bool, SearchError)

    def __call__(self, node: MCTSNode, losses: Mapping[int, int], scale: float, rng: random.Random) -> int:
        """Selects an action as `Selection` describes."""
        visits, totals = with_losses(node, losses, scale)
        tried, other = self._sigma(node, visits, totals, scale)
        priors = node.priors_or_even()
        if isinstance(node.plan, RootPlan):
            considered = node.plan.considered(visits, len(node.actions))
            if considered:
                return argmax({i: node.plan.score(node, i, tried.get(i, other)) for i in considered}, rng)
            if node.noise is not None:
                priors = node.plan.with_noise(node)
        return self._inside(node, priors, visits, tried, other, rng)

    def policy(self, node: MCTSNode, scale: float) -> list[float]:
        """Returns π' of each action, softmax(logits + σ(q))."""
        tried, other = self._sigma(node, node.visits, node.totals, scale)
        return _softmax([_logit(prior) + tried.get(i, other) for i, prior in enumerate(node.priors_or_even())])

    def sigma(self, node: MCTSNode, scale: float) -> list[float]:
        """Returns σ(q) of each action, with v_mix for actions without a simulation."""
        tried, other = self._sigma(node, node.visits, node.totals, scale)
        return [tried.get(i, other) for i in range(len(node.actions))]

    def _sigma(
        self, node: MCTSNode, visits: Mapping[int, int], totals: Sequence[float], scale: float
    ) -> tuple[dict[int, float], float]:
        """Returns σ(q) of the actions with a simulation, and the common σ(q) of all others."""
        half = node.kind.won / scale / 2
        own = 0.5 + half * node.own
        q = {i: 0.5 + half * totals[i] / n for i, n in visits.items()}
        factor, low = self.c_visit * self.c_scale, 0.0
        if q:
            priors = node.priors_or_even()
            share = weighted = 0.0
            for i, value in q.items():
                prior = priors[i] or MIN_PRIOR
                share += prior
                weighted += prior * value
            simulations = sum(visits.values())
            mixed = (own + simulations * weighted / share) / (simulations + 1)
            factor += max(visits.values()) * self.c_scale
        else:
            mixed = own
        if self.rescaled:
            values = [*q.values(), mixed] if len(q) < len(node.actions) else list(q.values())
            low = min(values)
            factor /= max(max(values) - low, MIN_VALUE_SPAN)
        return {i: factor * (value - low) for i, value in q.items()}, factor * (mixed - low)

    def _inside(
        self,
        node: MCTSNode,
        priors: Sequence[float],
        visits: Mapping[int, int],
        tried: Mapping[int, float],
        other: float,
        rng: random.Random,
    ) -> int:
        """Selects by rule 3. Among actions without a simulation only the one of the largest prior can be the best."""
        untried = node.untried if visits is node.visits else [i for i in node.untried if i not in visits]
        high = max([*tried.values(), other] if untried else tried.values())
        weights = {i: (priors[i] or MIN_PRIOR) * math.exp(sigma - high) for i, sigma in tried.items()}
        total = sum(weights.values())
        best, candidates = -math.inf, []
        if untried:
            first = max(untried, key=priors.__getitem__)
            each = math.exp(other - high)
            total += each * (sum(map(priors.__getitem__, untried)) or MIN_PRIOR)
            best, candidates = each * (priors[first] or MIN_PRIOR) / total, [first]
        simulations = 1 + sum(visits.values())
        for i, weight in weights.items():
            score = weight / total - visits[i] / simulations
            if score > best:
                best, candidates = score, [i]
            elif score == best:
                candidates.append(i)
        return draw(candidates, rng)


@dataclass(frozen=True, eq=False)
class RootPlan:
    """Plan that divides the simulations of a root among its actions.

    Attributes:
        rule: selection rule.
        scale: scale of the outcome.
        simulations: number of simulations of the root. None applies rule 3 instead of the plan.
        most: m, the maximum number of considered actions.
        earlier: n(s, a) when the state became the root, which are not counted. Empty if `simulations` is None.
    """

    rule: GumbelSelection
    scale: float
    simulations: int | None
    most: int
    earlier: Mapping[int, int]

    def considered(self, visits: Mapping[int, int], count: int) -> list[int]:
        """Returns the candidates of the next simulation, out of `count` actions. An empty list means that no plan
        applies."""
        done = sum(visits.values()) - sum(self.earlier.values())
        if self.simulations is None or done >= self.simulations:
            return []
        visit = considered_visit(min(self.most, count), self.simulations, done)
        return [i for i in range(count) if visits.get(i, 0) - self.earlier.get(i, 0) == visit]

    def score(self, node: MCTSNode, i: int, sigma: float) -> float:
        """Returns g + logits + σ(q) of the i-th action."""
        noise = node.noise[i] if node.noise else 0.0
        return noise + _logit(node.priors_or_even()[i]) + sigma

    def with_noise(self, node: MCTSNode) -> list[float]:
        """Returns softmax(g + logits)."""
        return _softmax([self.score(node, i, 0.0) for i in range(len(node.actions))])


def considered_visit(considered: int, simulations: int, index: int) -> int:
    """Returns n(s, a) of the candidates of the simulation with this index, by sequential halving.

    Args:
        considered: m, the number of considered actions.
        simulations: n, the number of simulations of the search; more than `index`.
    """
    if considered <= 1:
        return index
    phases = math.ceil(math.log2(considered))
    visits = 0
    while True:
        each = max(1, simulations // (phases * considered))
        if index < each * considered:
            return visits + index // considered
        index -= each * considered
        visits += each
        considered = max(2, considered // 2)


def gumbel_choice(node: Node, rng: random.Random) -> int:
    """Selects an action by rule 5, the decision of `GumbelMCTS`. At any other node it selects as `safest`."""
    plan = node.plan if isinstance(node, MCTSNode) else None
    if not isinstance(plan, RootPlan):
        return safest(node, rng)
    root = cast(MCTSNode, node)
    counts = [root.count(i) - plan.earlier.get(i, 0) for i in range(len(root.actions))]
    most = max(counts)
    sigma = plan.rule.sigma(root, plan.scale)
    return argmax({i: plan.score(root, i, sigma[i]) for i, count in enumerate(counts) if count == most}, rng)


def _logit(prior: float) -> float:
    return math.log(prior or MIN_PRIOR)


def _softmax(logits: Sequence[float]) -> list[float]:
    high = max(logits)
    weights = [math.exp(logit - high) for logit in logits]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


class GumbelMCTS(MCTS):
    """Gumbel AlphaZero's search, for evaluators with priors. The module's docstring numbers its rules.

    Its decision is `gumbel_choice`. `policy` returns the improved policy π' of a node.

    Args:
        game, outcome, key, virtual_loss_batch: as for `MCTS`.
        considered_actions: m, the maximum number of actions considered at the root.
        root_noise: factor of g, in [0, 1]; 1 in the paper's self-play. None or 0 sets g to 0.
        selection: selection rule, with the constants of σ.

    Raises:
        UnsupportedGameError: as every search.
        SearchError: an argument is out of range, or has the wrong type.
    """

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        considered_actions: int = CONSIDERED_ACTIONS,
        root_noise: float | None = None,
        selection: GumbelSelection | None = None,
        virtual_loss_batch: int = 1,
        **options: Unpack[SearchOptions],
    ) -> None:
        require_kind("selection", selection, GumbelSelection, SearchError, or_none=True)
        self._rule = selection or GumbelSelection()
        super().__init__(game, selection=self._rule, virtual_loss_batch=virtual_loss_batch, **options)
        require_argument("the actions that Gumbel considers", considered_actions, Count, SearchError)
        self.considered_actions = considered_actions
        self.root_noise = 0.0 if root_noise is None else root_noise
        require_argument("the root's noise", self.root_noise, Share, SearchError)

    def _move_root(self, tree: MCTSTree, node: MCTSNode, rng: random.Random) -> None:
        super()._move_root(tree, node, rng)
        planned = None if tree.planned is None else tree.planned * self.virtual_loss_batch
        earlier = {} if planned is None else node.visits.copy()
        node.plan = RootPlan(self._rule, self.scale, planned, self.considered_actions, earlier)
        if self.root_noise:
            node.noise = [self.root_noise * gumbel(rng) for _ in node.actions]

    def policy(self, node: Node) -> list[float]:
        """Returns the improved policy π' of `node`."""
        return self._rule.policy(cast(MCTSNode, node), self.scale)


def gumbel(rng: random.Random) -> float:
    """Draws from the standard Gumbel distribution: -ln(-ln u) of a uniform u."""
    return -math.log(rng.expovariate(1.0) or MIN_PRIOR)
