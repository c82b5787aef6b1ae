"""Losses of values and policies, per state.

With z the target value and v the network's value, both for player 0 and divided by the outcome's scale, and
with π the target policy and p the network's policy over the legal actions:

    squared         (v - z)²                                     the article, Algorithm 7; AlphaZero
    cross_entropy   -z' log v' - (1 - z') log(1 - v')            ExIt's KL loss (the article, Section 8.1)
                    where x' = (1 + x) / 2 is the probability of a win
    policy          -Σ_a π(a) log p(a)                           AlphaZero; ExIt's tree-policy target (Section 8.1)

Illegal actions have probability zero and no gradient.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from athenan_spiel.config import ValueLossName
from athenan_spiel.learning.labels import Policies

ValueLoss = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Maps values [B], targets [B] and the scalar scale to errors [B]."""


def squared(values: torch.Tensor, targets: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """(v - z)², [B]."""
    return ((values - targets) / scale).square()


def cross_entropy(values: torch.Tensor, targets: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """-z' log v' - (1 - z') log(1 - v'), [B], for v and z in [-1, 1]; log 0 is replaced by -87, the log of the
    smallest normal float32.
    """
    wins, expected = (1 + values / scale) / 2, (1 + targets / scale) / 2
    least = torch.finfo(torch.float32).tiny
    return -expected * wins.clamp_min(least).log() - (1 - expected) * (1 - wins).clamp_min(least).log()


VALUE_LOSSES: dict[ValueLossName, ValueLoss] = {"squared": squared, "cross_entropy": cross_entropy}


def policy_loss(logits: torch.Tensor, policies: Policies) -> torch.Tensor:
    """Returns -Σ_a π(a) log p(a) of each state, [B]; 0 for a state without a policy.

    Args:
        logits: logits of all actions of the game, [B, A].
        policies: target policies of the B states.
    """
    rows = np.repeat(np.arange(len(policies)), policies.counts)
    learned = policies.counts > 0
    legal = np.zeros(tuple(logits.shape), np.bool_)
    legal[rows, policies.actions] = True
    legal[~learned] = True  # softmax needs an action in every row
    expected = np.zeros(tuple(logits.shape), np.float32)
    expected[rows, policies.actions] = policies.shares
    illegal = torch.from_numpy(~legal).to(logits.device)
    logarithms = logits.masked_fill(illegal, -torch.inf).log_softmax(1).masked_fill(illegal, 0.0)
    return -(torch.from_numpy(expected).to(logits.device) * logarithms).sum(1)
