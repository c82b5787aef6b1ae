"""What a network's answers cost, state by state: the error of its value, and of its policy.

With z the value that a state should have and v the network's, both of the first player and divided by the outcome's
scale, and with π the policy that it should have and p the network's over the legal actions:

    squared         (v - z)²                                     the article, Algorithm 7; AlphaZero
    cross_entropy   -z' log v' - (1 - z') log(1 - v')            ExIt's KL loss (the article, Section 8.1)
                    where x' = (1 + x) / 2 is the chance to win
    policy          -Σ_a π(a) log p(a)                           AlphaZero; ExIt's tree-policy target (Section 8.1)

An illegal action has no probability whatever its logit, and no gradient.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from athenan_spiel.config import ValueLossName
from athenan_spiel.learning.labels import Policies

ValueLoss = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Of the values of states, [B], those that they should have, [B], and the scale, a scalar: the errors [B]."""


def squared(values: torch.Tensor, targets: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """(v - z)², [B]."""
    return ((values - targets) / scale).square()


def cross_entropy(values: torch.Tensor, targets: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """-z' log v' - (1 - z') log(1 - v'), [B], of v and z in [-1, 1]; log 0 counts as that of the least float32, -87."""
    chances, wanted = (1 + values / scale) / 2, (1 + targets / scale) / 2
    least = torch.finfo(torch.float32).tiny
    return -wanted * chances.clamp_min(least).log() - (1 - wanted) * (1 - chances).clamp_min(least).log()


VALUE_LOSSES: dict[ValueLossName, ValueLoss] = {"squared": squared, "cross_entropy": cross_entropy}


def policy_loss(logits: torch.Tensor, policies: Policies) -> torch.Tensor:
    """-Σ_a π(a) log p(a) of each state, [B]; 0 of a state without a policy.

    Args:
        logits: of all actions of the game, [B, A].
        policies: of the B states.
    """
    rows = np.repeat(np.arange(len(policies)), policies.counts)
    learned = policies.counts > 0
    legal = np.zeros(tuple(logits.shape), np.bool_)
    legal[rows, policies.actions] = True
    legal[~learned] = True  # so that no row is without any
    wanted = np.zeros(tuple(logits.shape), np.float32)
    wanted[rows, policies.actions] = policies.shares
    illegal = torch.from_numpy(~legal).to(logits.device)
    logarithms = logits.masked_fill(illegal, -torch.inf).log_softmax(1).masked_fill(illegal, 0.0)
    return -(torch.from_numpy(wanted).to(logits.device) * logarithms).sum(1)
