"""Adam and Muon against torch's, singular values and the formulas written out, and their use by the learner."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch
from test_learner import SHAPE, assert_same_weights, some_batches
from torch import nn

from athenan_spiel.config import LearnerConfig, NetworkConfig
from athenan_spiel.errors import CheckpointError
from athenan_spiel.learning.learner import Learner
from athenan_spiel.learning.optimizers import BETA, COEFFICIENTS, ITERATIONS, WARM_UP_STEPS, Adam, Muon, orthogonal
from athenan_spiel.networks import make_network
from athenan_spiel.training import PRESETS

pytestmark = pytest.mark.usefixtures("one_torch_thread")
SHAPES = [(1, 7), (7, 1), (4, 4), (6, 27), (27, 6), (32, 288), (100, 30)]


def make_learner(optimizer: str = "muon", **settings: object) -> Learner:
    network = make_network(SHAPE, NetworkConfig(filters=6, layers=2, neurons=5), bounded=False, seed=0)
    config = {"optimizer": optimizer, "precision": "float32", "learning_rate": 0.01, **settings}
    return Learner(network, LearnerConfig(**config))  # type: ignore[arg-type]


def mapped(values: torch.Tensor) -> torch.Tensor:
    """What the iterations make of singular values, one by one."""
    a, b, c = COEFFICIENTS
    for _ in range(ITERATIONS):
        values = a * values + b * values**3 + c * values**5
    return values


@pytest.mark.parametrize("shape", SHAPES)
def test_singular_vectors_stay_and_values_become_one(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    expected = left @ torch.diag(mapped(values / matrix.norm())) @ right
    torch.testing.assert_close(orthogonal(matrix), expected, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(orthogonal(matrix.float()).double(), expected, rtol=1e-3, atol=1e-4)
    assert torch.linalg.svdvals(orthogonal(matrix)).min() > 0.6
    assert torch.linalg.svdvals(orthogonal(matrix)).max() < 1.25


@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_adam_is_torchs_to_the_bit(decay: float) -> None:
    generator = torch.Generator().manual_seed(1)
    starts = [torch.randn(shape, generator=generator) for shape in [(5,), (3, 4), (2, 3, 3, 3)]]
    ours, theirs = ([nn.Parameter(start.clone()) for start in starts] for _ in range(2))
    settings = {"lr": 0.1, "weight_decay": decay, "betas": (0.9, 0.99), "eps": 1e-7}
    adam, expected = Adam(ours, **settings), torch.optim.Adam(theirs, fused=True, **settings)
    for number in range(5):
        for one, other in zip(ours, theirs, strict=True):
            one.grad = other.grad = None if number == 2 and one.ndim == 1 else torch.randn(one.shape)
        adam.step()
        expected.step()
        for one, other in zip(ours, theirs, strict=True):
            assert torch.equal(one, other)
            for name, tensor in expected.state[other].items():
                assert torch.equal(adam.state[one][name], tensor)


def test_a_matrix_of_small_rank_or_of_zeros_makes_no_nan() -> None:
    assert torch.equal(orthogonal(torch.zeros(3, 5)), torch.zeros(3, 5))
    one = torch.outer(torch.tensor([1.0, 2.0, 0.0]), torch.tensor([3.0, 0.0, 1.0, 1e-20]))
    found = orthogonal(one * 1e-18)
    torch.testing.assert_close(torch.linalg.svdvals(found)[1:], torch.zeros(2), rtol=0, atol=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_steps_are_those_of_torchs_muon(shape: tuple[int, int]) -> None:
    """torch computes them in bfloat16, so the directions are compared."""
    generator = torch.Generator().manual_seed(1)
    start = torch.randn(shape, generator=generator)
    ours, theirs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    steps = (
        Muon([ours], lr=0.1, weight_decay=0.0),
        torch.optim.Muon([theirs], lr=0.1, weight_decay=0.0, momentum=BETA, adjust_lr_fn="match_rms_adamw"),
    )
    for _ in range(5):
        ours.grad = torch.randn(shape, generator=generator)
        theirs.grad = ours.grad.clone()
        for optimizer in steps:
            optimizer.step()
    one, other = ours.detach() - start, theirs.detach() - start
    assert nn.functional.cosine_similarity(one.flatten(), other.flatten(), dim=0) > 0.999
    assert 0.97 < one.norm() / other.norm() < 1.03


def test_the_learner_takes_these_steps() -> None:
    """Matrices of hidden layers by Muon with L2; the last layer and biases by Adam, as without Muon."""
    learner, adams = make_learner(l2=0.1), make_learner("adam", l2=0.1)
    learner._steps = WARM_UP_STEPS
    before = copy.deepcopy(dict(learner.network.named_parameters()))
    means: dict[str, torch.Tensor] = {}
    (batch,) = some_batches(1)
    twin = copy.deepcopy(learner.network).train()
    loss = (twin(torch.from_numpy(batch.observations).view(-1, *SHAPE)) - torch.from_numpy(batch.labels.values)) ** 2
    loss.mean().backward()
    for one in (learner, adams):
        one.learn([batch])
    matrices = 0
    of_adam = dict(adams.network.named_parameters())
    for name, weights in learner.network.named_parameters():
        gradient = dict(twin.named_parameters())[name].grad
        assert gradient is not None
        if weights.ndim == 1 or name.startswith("output"):
            torch.testing.assert_close(weights, of_adam[name])
            continue
        matrices += 1
        gradient = (gradient + 0.2 * before[name]).flatten(1)
        means[name] = (1 - BETA) * gradient
        direction = orthogonal(BETA * means[name] + (1 - BETA) * gradient).view_as(weights)
        size = 0.01 * 0.2 * math.sqrt(max(weights.flatten(1).shape))
        torch.testing.assert_close(weights, before[name] - size * direction, rtol=1e-4, atol=1e-6)
    assert matrices == 3  # two convolutions and a dense layer


def test_it_learns_with_a_falling_step_size() -> None:
    learner = make_learner()
    first = learner.learn(some_batches(5)).loss
    learner.set_progress(1.0)
    learner.learn(some_batches(300, seed=1))
    assert {one.lr for one in learner._optimizers} == {0.01}
    falling = make_learner(schedule="cosine")
    falling._steps = WARM_UP_STEPS
    falling.set_progress(1.0)
    falling.learn(some_batches(1))
    assert {one.lr for one in falling._optimizers} == {0.01 * 0.01}
    last = learner.learn(some_batches(5)).loss
    assert first is not None
    assert last is not None
    assert last < first / 2


@pytest.mark.parametrize(("optimizer", "first"), [("muon", 0.01 / WARM_UP_STEPS), ("adam", 0.01)])
def test_the_first_steps_of_muon_grow(optimizer: str, first: float) -> None:
    learner = make_learner(optimizer)
    learner.learn(some_batches(1))
    assert {one.lr for one in learner._optimizers} == {first}
    learner.learn(some_batches(3))
    resumed = make_learner(optimizer)
    resumed.load_state_dict(learner.state_dict())
    resumed.learn(some_batches(1))
    assert {one.lr for one in resumed._optimizers} == {0.01 if optimizer == "adam" else 5 * first}


@pytest.mark.parametrize("architecture", ["r1", "r2", "r3"])
def test_a_residual_network_learns_with_the_step_size_of_the_presets(architecture: str) -> None:
    """Its loss halves within 80 steps; with 0.023 and without warm-up it would answer the same for all states."""
    settings = PRESETS["quick"].learner
    network = make_network(SHAPE, NetworkConfig(architecture=architecture, layers=2), bounded=False, seed=0)
    learner = Learner(network, replace(settings, precision="float32", threads=1))
    losses = [learner.learn(some_batches(20, seed=seed)).loss for seed in range(4)]
    assert losses[0] is not None
    assert losses[-1] is not None
    assert losses[-1] < losses[0] / 2


def test_learning_goes_on_bit_for_bit_after_a_restart() -> None:
    whole = make_learner()
    whole.learn(some_batches(5))
    weights, moments = copy.deepcopy((whole.network.state_dict(), whole.state_dict()))
    whole.learn(some_batches(5, seed=1))
    resumed = make_learner()
    resumed.network.load_state_dict(weights)
    resumed.load_state_dict(moments)
    resumed.learn(some_batches(5, seed=1))
    assert_same_weights(resumed, whole)


def test_the_state_of_another_optimiser_is_refused() -> None:
    one, other = make_learner(), make_learner("adam")
    for learner in (one, other):
        learner.learn(some_batches(1))
    with pytest.raises(CheckpointError, match="expected Adam's and Muon's moments of 8 parameters"):
        one.load_state_dict(other.state_dict())
    with pytest.raises(CheckpointError, match="expected Adam's step and moments of 8 parameters"):
        other.load_state_dict(one.state_dict())
    state = one.state_dict()
    name = next(name for name in state if name.endswith("momentum_buffer"))
    with pytest.raises(
        CheckpointError, match=r"expected Muon's '\d.momentum_buffer' of shape .*, got .* of torch.float64"
    ):
        make_learner().load_state_dict({**state, name: state[name].double()})
    state[name].view(-1)[0] = math.nan
    with pytest.raises(CheckpointError, match=r"expected Muon's '\d.momentum_buffer' to be finite"):
        make_learner().load_state_dict(state)
