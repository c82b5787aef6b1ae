"""PUCT, the selection rule of AlphaZero, and AlphaZero's search: MCTS by PUCT with noise at the root.

Sources: Silver et al., *A general reinforcement learning algorithm that masters chess, shogi, and Go through self-play*
(Science, 2018), with its pseudocode; the noise first in *Mastering the game of Go without human knowledge* (2017).
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Unpack

import pyspiel

from athenan_spiel.config.settings import Factor, PositiveFactor, Share, require_argument
from athenan_spiel.errors import SearchError
from athenan_spiel.search.base import SearchOptions
from athenan_spiel.search.choice import draw
from athenan_spiel.search.mcts import MCTS
from athenan_spiel.search.mcts_tree import MCTSNode, MCTSTree, with_losses

C_INIT = 1.25
C_BASE = 19_652
CONCENTRATION = 10.0
"""Default product of the noise's α and the number of legal actions.

It is close to AlphaZero's 0.3, 0.15 and 0.03 for chess, shogi and Go, where α is inversely proportional to the number
of legal moves in a typical position.
"""


@dataclass(frozen=True)
class PUCT:
    """PUCT, which maximises Q(s, a) + c(s) · P(s, a) · sqrt(N(s)) / (1 + n(s, a)) with priors P and

        c(s) = ln((1 + N(s) + c_base) / c_base) + c_init

    Q is the mean value from the mover's view, divided by the outcome's scale, so in about [-1, 1]. N(s) counts the
    simulation that valued the state, as the pseudocode does. An untried action has the value of its state minus
    `reduction`. The default reduction is 0, since the network's value of the state is the best estimate for an untried
    action. `untried` is in random order, and the first of its actions with the largest prior is selected. A
    virtual loss counts as a simulation that found the worst value. A node with `noise` uses it in place of its priors;
    without priors, all actions have equal ones.

    Args:
        c_init: zero or more; 1.25 in AlphaZero.
        c_base: above zero; 19,652 in AlphaZero.
        reduction: subtracted from the value of an untried action, as a fraction of the outcome's scale.

    Raises:
        SearchError: an argument is not a finite number, or out of range.
    """

    c_init: float = C_INIT
    c_base: float = C_BASE
    reduction: float = 0.0

    needs_priors: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, value in {"c_init": self.c_init, "c_base": self.c_base, "reduction": self.reduction}.items():
            require_argument(f"{name} of PUCT", value, PositiveFactor if name == "c_base" else Factor, SearchError)

    def __call__(self, node: MCTSNode, losses: Mapping[int, int], scale: float, rng: random.Random) -> int:
        """Selects an action as `Selection` describes."""
        visits, totals = with_losses(node, losses, scale)
        priors = node.noise or node.priors_or_even()
        simulations = node.simulations + sum(losses.values()) if losses else node.simulations
        c = math.log((1 + simulations + self.c_base) / self.c_base) + self.c_init
        exploration = c * math.sqrt(simulations)
        sign = node.kind.won / scale
        best, candidates = -math.inf, []
        first = node.likeliest(losses, node.noise)
        if first is not None:
            best, candidates = sign * node.own - self.reduction + exploration * priors[first], [first]
        for i, n in visits.items():
            score = sign * totals[i] / n + exploration * priors[i] / (1 + n)
            if score > best:
                best, candidates = score, [i]
            elif score == best:
                candidates.append(i)
        return draw(candidates, rng)


@dataclass(frozen=True)
class DirichletNoise:
    """Noisy priors of the root: (1 - e) · P(s, a) + e · η(a), with η drawn from Dirichlet(α).

    Args:
        share: e, in [0, 1]; 0.25 in AlphaZero.
        alpha: α, above zero. None is 10 divided by the number of legal actions.

    Raises:
        SearchError: an argument is not a number, or out of range.
    """

    share: float
    alpha: float | None = None

    def __post_init__(self) -> None:
        require_argument("the share of the root's noise", self.share, Share, SearchError)
        require_argument("alpha of the root's noise", self.alpha, PositiveFactor, SearchError, or_none=True)

    def __call__(self, node: MCTSNode, rng: random.Random) -> list[float]:
        """Returns the priors of `node` with noise."""
        count = len(node.actions)
        alpha = CONCENTRATION / count if self.alpha is None else self.alpha
        drawn = [rng.gammavariate(alpha, 1.0) for _ in range(count)]
        total = math.fsum(drawn)
        if total == 0.0:  # with a very small alpha all draws underflow, and one action receives all noise
            drawn[rng.randrange(count)] = total = 1.0
        return [
            (1 - self.share) * p + self.share * d / total for p, d in zip(node.priors_or_even(), drawn, strict=True)
        ]


class AlphaZeroMCTS(MCTS):
    """AlphaZero's search: MCTS by PUCT, for evaluators with priors. Its decision is `choice.safest`.

    Noise is drawn once when a state becomes the root, and kept while it is the root. No other node has noise.

    Args:
        game, outcome, key, virtual_loss_batch: as for `MCTS`.
        exploration_constant: c_init of `PUCT`.
        root_noise: share of the `DirichletNoise` at the root; None or 0 for no noise.
        dirichlet_alpha: alpha of the `DirichletNoise`.

    Raises:
        UnsupportedGameError: as every search.
        SearchError: an argument is out of range, or has the wrong type.
    """

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        exploration_constant: float = C_INIT,
        root_noise: float | None = None,
        dirichlet_alpha: float | None = None,
        virtual_loss_batch: int = 1,
        **options: Unpack[SearchOptions],
    ) -> None:
        rule = PUCT(exploration_constant)
        super().__init__(game, selection=rule, virtual_loss_batch=virtual_loss_batch, **options)
        self.noise = DirichletNoise(0.0 if root_noise is None else root_noise, dirichlet_alpha)

    def _move_root(self, tree: MCTSTree, node: MCTSNode, rng: random.Random) -> None:
        super()._move_root(tree, node, rng)
        if self.noise.share:
            node.noise = self.noise(node, rng)
