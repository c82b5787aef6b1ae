"""Losses against hand calculations: AlphaZero's, and ExIt's of Section 8.1 of the article."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from athenan_spiel.config import LearnerConfig, ValueLossName
from athenan_spiel.learning.labels import Labels, Policies
from athenan_spiel.learning.learner import Learner
from athenan_spiel.learning.losses import VALUE_LOSSES, cross_entropy, policy_loss, squared
from athenan_spiel.learning.replay import Batch

ONE = torch.tensor(1.0)


def test_squared_error_is_of_values_in_the_unit_of_the_scale() -> None:
    errors = squared(torch.tensor([3.0, -10.0]), torch.tensor([1.0, 10.0]), torch.tensor(10.0))
    assert errors.tolist() == pytest.approx([0.04, 4.0])


def test_cross_entropy_is_exits() -> None:
    """-z log v - (1 - z) log(1 - v), with chances to win in [0, 1]."""
    values, results = torch.tensor([0.0, 0.5, -0.5, 0.2]), torch.tensor([1.0, 1.0, 1.0, 0.0])
    expected = [
        -math.log(0.5),
        -math.log(0.75),
        -math.log(0.25),
        -0.5 * math.log(0.6) - 0.5 * math.log(0.4),
    ]
    assert cross_entropy(values, results, ONE).tolist() == pytest.approx(expected)
    certain = cross_entropy(torch.tensor([1.0, -1.0, 1.0]), torch.tensor([1.0, -1.0, -1.0]), ONE).tolist()
    assert certain == pytest.approx([0.0, 0.0, -math.log(2.0**-126)])


def test_what_is_not_a_number_stays_so() -> None:
    """The learner sees by the loss that weights are of no use."""
    for loss in VALUE_LOSSES.values():
        assert torch.isnan(loss(torch.tensor([math.nan, 0.0]), torch.zeros(2), ONE))[0]


def test_a_saturated_value_has_a_finite_gradient() -> None:
    raw = torch.tensor([40.0, -40.0], requires_grad=True)
    cross_entropy(torch.tanh(raw), torch.tensor([-1.0, -1.0]), ONE).sum().backward()  # type: ignore[no-untyped-call]
    assert raw.grad is not None
    assert torch.isfinite(raw.grad).all()


def test_the_policys_loss_is_the_cross_entropy_over_legal_actions() -> None:
    logits = torch.tensor([[0.0, math.log(3.0), 50.0], [1.0, 1.0, 1.0], [2.0, 0.0, 0.0]])
    policies = Policies.of([([0, 1], [0.25, 0.75]), ([], []), ([0, 1, 2], [1.0, 0.0, 0.0])])
    expected = [
        -0.25 * math.log(0.25) - 0.75 * math.log(0.75),
        0.0,
        -(2.0 - math.log(math.exp(2.0) + 2.0)),
    ]
    assert policy_loss(logits, policies).tolist() == pytest.approx(expected)


def test_its_gradient_is_the_difference_of_probabilities_and_none_for_illegal_actions() -> None:
    logits = torch.tensor([[0.0, math.log(3.0), 50.0], [1.0, 1.0, 1.0]], requires_grad=True)
    policy_loss(logits, Policies.of([([0, 1], [1.0, 0.0]), ([], [])])).sum().backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    np.testing.assert_allclose(logits.grad.numpy(), [[0.25 - 1.0, 0.75, 0.0], [0.0, 0.0, 0.0]], atol=1e-6)


class Table(nn.Module):
    """Answers a value and three logits for the only state there is."""

    shape = (1,)
    scale = ONE

    def __init__(self) -> None:
        super().__init__()
        self.answers = nn.Parameter(torch.zeros(4))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        answers = self.answers.expand(len(observations), -1)
        return torch.cat([torch.tanh(answers[:, :1]), answers[:, 1:]], 1)


@pytest.mark.parametrize("value_loss", VALUE_LOSSES)
def test_a_network_comes_to_what_it_is_taught(value_loss: ValueLossName) -> None:
    """Both losses have their least where the answers are the targets: a value of 0.5, and shares of 0.2 and 0.8."""
    network = Table()
    learner = Learner(network, LearnerConfig(learning_rate=0.05, l2=0.0, value_loss=value_loss))  # type: ignore[arg-type]
    labels = Labels(np.full(8, 0.5, np.float32), policies=Policies.of([([0, 2], [0.2, 0.8])] * 6 + [([], [])] * 2))
    report = learner.learn([Batch(np.zeros((8, 1), np.float32), labels)] * 500)
    answers = network(torch.zeros(1, 1))[0]
    assert answers[0].item() == pytest.approx(0.5, abs=0.01)
    assert torch.softmax(answers[[1, 3]], 0).tolist() == pytest.approx([0.2, 0.8], abs=0.01)
    assert answers[2].item() == 0.0
    assert report.policy_loss is not None
    assert report.policy_loss < math.log(2)


def test_the_report_has_both_losses_and_the_policys_counts_by_its_weight() -> None:
    observations = np.zeros((4, 1), np.float32)
    labels = Labels(np.ones(4, np.float32), policies=Policies.of([([0, 1], [1.0, 0.0]), ([], [])] * 2))
    grown = []
    for weight in (0.0, 1.0, 3.0):
        network = Table()
        learner = Learner(network, LearnerConfig(policy_weight=weight, l2=0.0, epsilon=1.0))  # type: ignore[arg-type]
        report = learner.learn([Batch(observations, labels)])
        assert report.loss == pytest.approx(1.0)
        assert report.policy_loss == pytest.approx(math.log(2))
        grown.append(network.answers[1].item())
    assert grown[0] == 0.0
    assert 0 < grown[1] < grown[2]
    values_alone = Learner(Table(), LearnerConfig()).learn([Batch(observations, Labels(labels.values))])  # type: ignore[arg-type]
    assert values_alone.policy_loss is None
