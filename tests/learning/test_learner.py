"""The learner against Adam and L2 written out by hand, and what it promises about repetition and resumption."""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import nn

from athenan_spiel.config import LearnerConfig, Precision
from athenan_spiel.errors import CheckpointError, DivergedError, LearningError
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.learner import Learner, uses_bfloat16
from athenan_spiel.learning.replay import Batch

SHAPE = (3, 4, 5)
CPU = torch.device("cpu")


pytestmark = pytest.mark.usefixtures("one_torch_thread")


class TinyNetwork(nn.Module):
    """Stands for a `ValueNetwork`: a convolution, a dense layer, and values of about the size of `scale`."""

    def __init__(self, scale: float = 1.0, filters: int = 6, shape: Sequence[int] = SHAPE) -> None:
        super().__init__()
        self.shape, self.scale = tuple(shape), scale
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.convolution = nn.Conv2d(shape[0], filters, 3, padding=1)
            self.dense = nn.Linear(filters * math.prod(shape[1:]), 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        values: torch.Tensor = self.dense(torch.relu(self.convolution(x)).flatten(1))
        return values.squeeze(-1) * self.scale


def make_learner(scale: float = 1.0, filters: int = 6, **settings: Any) -> Learner:
    config = LearnerConfig(**{"precision": "float32", **settings})
    return Learner(TinyNetwork(scale, filters), config)  # type: ignore[arg-type]


def network_of(learner: Learner) -> TinyNetwork:
    return cast(TinyNetwork, learner.network)


def some_batches(count: int, size: int = 16, scale: float = 1.0, seed: int = 0) -> list[Batch]:
    """Random planes of zeros and ones; the value is what one half of the board has more of than the other."""
    rng = np.random.default_rng(seed)
    batches = []
    for _ in range(count):
        x = rng.integers(0, 2, (size, math.prod(SHAPE))).astype(np.float32)
        half = x.shape[1] // 2
        values = np.tanh((x[:, :half].sum(axis=1) - x[:, half:].sum(axis=1)) / 4).astype(np.float32)
        batches.append(Batch(x, Labels(values * np.float32(scale))))
    return batches


def weights_of(learner: Learner) -> list[torch.Tensor]:
    return [p.detach().clone() for p in learner.network.parameters()]


def assert_same_weights(one: Learner, other: Learner) -> None:
    for got, expected in zip(weights_of(one), weights_of(other), strict=True):
        assert torch.equal(got, expected)


@pytest.mark.parametrize(("beta2", "epsilon"), [(0.999, 1e-7), (0.9, 1e-2)])
def test_steps_are_adams_on_the_mean_squared_error_with_keras_l2(beta2: float, epsilon: float) -> None:
    """Ten steps by hand: gradient of MSE + l2 · Σ w² without biases, then the update of Kingma and Ba."""
    rate, l2, scale = 0.01, 0.05, 3.0
    learner = make_learner(scale, learning_rate=rate, l2=l2, beta2=beta2, epsilon=epsilon)
    network = copy.deepcopy(network_of(learner))
    parameters = list(network.parameters())
    first, second = [torch.zeros_like(p) for p in parameters], [torch.zeros_like(p) for p in parameters]
    batches = some_batches(10, scale=scale)
    for t, batch in enumerate(batches, start=1):
        x = torch.from_numpy(batch.observations).view(-1, *SHAPE)
        error = (network(x) - torch.from_numpy(batch.labels.values)) / scale
        penalty = l2 * ((network.convolution.weight**2).sum() + (network.dense.weight**2).sum())
        gradients = torch.autograd.grad((error**2).mean() + penalty, parameters)
        with torch.no_grad():
            for p, g, m, v in zip(parameters, gradients, first, second, strict=True):
                m += (1 - 0.9) * (g - m)
                v += (1 - beta2) * (g * g - v)
                p.sub_(rate * (m / (1 - 0.9**t)) / ((v / (1 - beta2**t)).sqrt() + epsilon))
    learner.learn(batches)
    for got, expected in zip(weights_of(learner), parameters, strict=True):
        torch.testing.assert_close(got, expected.detach(), rtol=1e-4, atol=1e-5)


def test_the_loss_is_the_mean_over_states_of_the_squared_error_over_scale() -> None:
    scale = 20.0
    learner = make_learner(scale, learning_rate=1e-30)  # too small a step to change a float32
    batches = [*some_batches(2, size=16, scale=scale), *some_batches(1, size=5, scale=scale, seed=1)]
    x = np.concatenate([batch.observations for batch in batches])
    y = np.concatenate([batch.labels.values for batch in batches])
    with torch.no_grad():
        errors = learner.network(torch.from_numpy(x).view(-1, *SHAPE)).numpy() - y
    report = learner.learn(iter(batches))
    assert report.loss == pytest.approx(np.mean((errors / scale) ** 2), rel=1e-5)
    assert (report.states, report.batches) == (37, 3)
    assert report.seconds > 0


def weighted(batch: Batch, weights: Sequence[float]) -> Batch:
    return batch._replace(labels=Labels(batch.labels.values, np.array(weights, np.float32)))


def duplicated(batch: Batch, times: Sequence[int]) -> Batch:
    return Batch(np.repeat(batch.observations, times, axis=0), Labels(np.repeat(batch.labels.values, times)))


def test_a_weight_is_worth_as_many_duplicates() -> None:
    """Ten steps and the loss are those of minibatches in which each state stands as often as it weighs."""
    by_weight, by_hand, unweighted = make_learner(learning_rate=0.01), make_learner(learning_rate=0.01), make_learner()
    times = [[1 + (i * k) % 4 for k in range(16)] for i in range(10)]
    batches = some_batches(10)
    report = by_weight.learn(weighted(batch, w) for batch, w in zip(batches, times, strict=True))
    expected = by_hand.learn(duplicated(batch, w) for batch, w in zip(batches, times, strict=True))
    assert report.loss == pytest.approx(expected.loss, rel=1e-5)
    assert report.loss != pytest.approx(unweighted.learn(batches).loss, rel=1e-2)
    for got, wanted in zip(weights_of(by_weight), weights_of(by_hand), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)
    assert (report.states, expected.states) == (160, sum(map(sum, times)))


def test_only_the_shares_of_weights_count() -> None:
    small, large = make_learner(), make_learner()
    (batch,) = some_batches(1)
    weights = [1.0, 2.0, 4.0, 1.0] * 4
    reports = small.learn([weighted(batch, weights)]), large.learn([weighted(batch, [8 * w for w in weights])])
    assert reports[0].loss == reports[1].loss
    assert_same_weights(small, large)


@pytest.mark.parametrize("size", [1, 5, 16, 100])
def test_weights_of_one_change_no_bit(size: int) -> None:
    without, ones = make_learner(), make_learner()
    batches = some_batches(5, size=size)
    report = ones.learn(weighted(batch, [1.0] * size) for batch in batches)
    assert report.loss == without.learn(batches).loss
    assert_same_weights(without, ones)


def test_learning_does_not_depend_on_the_size_of_the_values() -> None:
    small, large = make_learner(1.0), make_learner(64.0)
    report, scaled_report = small.learn(some_batches(20)), large.learn(some_batches(20, scale=64.0))
    assert report.loss == scaled_report.loss
    assert_same_weights(small, large)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "auto"])
def test_the_same_minibatches_give_the_same_weights_bit_for_bit(precision: Precision, threads: int) -> None:
    torch.set_num_threads(threads)
    one, other = make_learner(precision=precision), make_learner(precision=precision)
    assert one.learn(some_batches(10)).loss == other.learn(some_batches(10)).loss
    assert_same_weights(one, other)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_learning_goes_on_bit_for_bit_after_a_restart(precision: Precision) -> None:
    whole = make_learner(precision=precision)
    whole.learn(some_batches(20))
    weights, moments = copy.deepcopy((whole.network.state_dict(), whole.state_dict()))
    whole.learn(some_batches(20, seed=1))
    resumed = make_learner(precision=precision)
    resumed.network.load_state_dict(weights)
    resumed.load_state_dict(moments)
    resumed.learn(some_batches(20, seed=1))
    assert_same_weights(resumed, whole)


def test_a_state_is_a_copy() -> None:
    learner = make_learner()
    learner.learn(some_batches(3))
    state = learner.state_dict()
    before = copy.deepcopy(state)
    other = make_learner()
    other.load_state_dict(state)
    learner.learn(some_batches(3))
    other.learn(some_batches(3))
    assert all(torch.equal(state[name], tensor) for name, tensor in before.items())


def test_a_state_from_before_the_first_step_can_be_loaded() -> None:
    one, other = make_learner(), make_learner()
    other.load_state_dict(one.state_dict())
    one.learn(some_batches(3))
    other.learn(some_batches(3))
    assert_same_weights(one, other)


def test_a_state_from_before_the_first_step_drops_the_moments_of_later_ones() -> None:
    one, other = make_learner(), make_learner()
    before = one.network.state_dict(), one.state_dict()
    weights = copy.deepcopy(before[0])
    one.learn(some_batches(3))
    one.network.load_state_dict(weights)
    one.load_state_dict(before[1])
    one.learn(some_batches(3, seed=1))
    other.learn(some_batches(3, seed=1))
    assert_same_weights(one, other)


def test_step_size_and_l2_are_those_of_the_config_not_of_the_state() -> None:
    saved = make_learner(learning_rate=0.5, l2=0.5).state_dict()
    one, other = make_learner(learning_rate=0.01), make_learner(learning_rate=0.01)
    one.load_state_dict(saved)
    one.learn(some_batches(3))
    other.learn(some_batches(3))
    assert_same_weights(one, other)


def test_the_step_size_falls_as_a_cosine_does() -> None:
    """Weights are those of a learner that has had that step size all along."""
    for progress, share in ((0.0, 1.0), (0.25, 0.01 + 0.99 * (1 + 0.5**0.5) / 2), (0.5, 0.505), (1.0, 0.01)):
        falling, constant = make_learner(learning_rate=0.1, schedule="cosine"), make_learner(learning_rate=0.1 * share)
        falling.set_progress(progress)
        for learner in (falling, constant):
            learner.learn(some_batches(3))
        for got, expected in zip(weights_of(falling), weights_of(constant), strict=True):
            torch.testing.assert_close(got, expected, rtol=1e-6, atol=1e-9)


def test_a_constant_step_size_is_that_whatever_lies_behind() -> None:
    one, other = make_learner(), make_learner()
    one.set_progress(0.9)
    one.learn(some_batches(3))
    other.learn(some_batches(3))
    assert_same_weights(one, other)


def test_the_state_of_another_networks_learner_is_refused() -> None:
    learner, other = make_learner(filters=6), make_learner(filters=8)
    other.learn(some_batches(1))
    with pytest.raises(CheckpointError, match=r"exp_avg' of shape \(6, 3, 3, 3\) in float32, got \(8, 3, 3, 3\) of"):
        learner.load_state_dict(other.state_dict())


def test_the_state_of_a_larger_networks_learner_is_refused() -> None:
    learner = make_learner()
    learner.learn(some_batches(1))
    state = learner.state_dict()
    state |= {f"4.{name}": state[f"0.{name}"] for name in ("step", "exp_avg", "exp_avg_sq")}
    with pytest.raises(CheckpointError, match="moments of 4 parameters, got "):
        learner.load_state_dict(state)


def test_a_state_that_is_not_adams_is_refused() -> None:
    learner = make_learner()
    learner.learn(some_batches(1))
    state = learner.state_dict()
    for other in (
        {"x": torch.zeros(())},
        state | {"0.more": torch.zeros(())},
        {name: tensor for name, tensor in state.items() if name != "0.exp_avg_sq"},
        state | {"0.step": torch.zeros(3)},
        state | {"0.exp_avg_sq": state["0.exp_avg_sq"].double()},
    ):
        with pytest.raises(CheckpointError, match=r"expected Adam's"):
            learner.load_state_dict(other)
    learner.load_state_dict(state)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_is_an_error(value: float) -> None:
    batches = some_batches(3)
    batches[1].labels.values[0] = value
    with pytest.raises(LearningError, match=r"finite loss, got \w+: lower learner.learning_rate, now 0.001"):
        make_learner().learn(batches)


@pytest.mark.parametrize(("moment", "value"), [("exp_avg", math.nan), ("exp_avg_sq", math.inf)])
def test_weights_and_moments_that_are_not_finite_are_an_error(moment: str, value: float) -> None:
    """The loss is that before the step, which spoils the weights, or lets them stay as they are for ever."""
    learner = make_learner()
    learner.learn(some_batches(1))
    learner._optimizers[0].state[network_of(learner).dense.weight][moment][0, 0] = value
    with pytest.raises(DivergedError, match=r"finite weights and moments .*: lower learner.learning_rate, now 0.001"):
        learner.learn(some_batches(1))


def test_moments_that_are_not_finite_are_refused() -> None:
    learner = make_learner()
    learner.learn(some_batches(1))
    state = learner.state_dict()
    state["0.exp_avg_sq"].view(-1)[0] = math.inf
    with pytest.raises(CheckpointError, match=r"expected Adam's '0.exp_avg_sq' to be finite"):
        learner.load_state_dict(state)


def test_the_loss_of_nothing_is_none() -> None:
    learner = make_learner()
    before = weights_of(learner)
    report = learner.learn([])
    assert (report.loss, report.states, report.batches) == (None, 0, 0)
    assert all(torch.equal(a, b) for a, b in zip(weights_of(learner), before, strict=True))


def test_minibatches_are_taken_one_at_a_time() -> None:
    learner = make_learner()
    before = weights_of(learner)[0]

    def batches() -> Any:
        yield from some_batches(1)
        assert not torch.equal(weights_of(learner)[0], before)  # the first was learned before the second is asked for
        yield from some_batches(1)

    assert learner.learn(batches()).batches == 2


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_the_loss_goes_down(precision: Precision) -> None:
    learner = make_learner(precision=precision, l2=0.0, learning_rate=0.01)
    batches = some_batches(10)
    losses = [learner.learn(batches).loss for _ in range(20)]
    first, last = losses[0], losses[-1]
    assert first is not None
    assert last is not None
    assert last < first / 5


def test_weights_stay_float32_and_contiguous_in_bfloat16() -> None:
    """Engines and files take them as they are."""
    learner = make_learner(precision="bfloat16")
    learner.learn(some_batches(2))
    for weight in weights_of(learner):
        assert weight.dtype == torch.float32
        assert weight.is_contiguous()


def test_l2_pulls_weights_towards_zero_but_not_biases() -> None:
    batches = [Batch(np.zeros((8, math.prod(SHAPE)), np.float32), Labels(np.zeros(8, np.float32)))] * 200
    learner = make_learner(l2=0.1)
    weight, bias = network_of(learner).convolution.parameters()
    with torch.no_grad():
        bias.fill_(-1.0)
    before = weight.norm().item()
    learner.learn(batches)
    assert weight.norm().item() < before / 2
    assert bias.tolist() == [-1.0] * 6


def test_learning_leaves_no_denormal_numbers() -> None:
    """L2 alone moves the weights of a neuron that answers nothing, ever nearer to zero."""
    learner = make_learner()
    network = network_of(learner)
    with torch.no_grad():
        network.convolution.weight[0] = 1e-38
        network.convolution.bias[0] = -100.0  # its ReLU answers nothing
    learner.learn(some_batches(200))
    numbers = torch.cat([x.flatten() for x in [*network.state_dict().values(), *learner._moments()]]).abs()
    assert not ((numbers > 0) & (numbers < torch.finfo(torch.float32).tiny)).any()
    assert network.convolution.weight[0].abs().max() < 1e-30


@pytest.mark.parametrize("was_on", [False, True])
def test_learning_leaves_the_threads_arithmetic_as_it_was(was_on: bool) -> None:
    torch.set_flush_denormal(was_on)
    try:
        make_learner().learn(some_batches(1))
        assert (sys.float_info.min / 2 == 0) == was_on
    finally:
        torch.set_flush_denormal(False)


def test_entries_without_planes_are_learned_too() -> None:
    class Dense(nn.Linear):
        shape, scale = (7,), 1.0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).squeeze(-1)

    rng = np.random.default_rng(0)
    batches = [Batch(x, Labels(x[:, 0] - x[:, 1])) for x in rng.random((300, 32, 7), np.float32)]
    network = Dense(7, 1)
    nn.init.zeros_(network.weight)
    nn.init.zeros_(network.bias)
    learner = Learner(network, LearnerConfig(l2=0.0, learning_rate=0.01, precision="float32"))  # type: ignore[arg-type]
    learner.learn(batches)
    loss = learner.learn(batches[:10]).loss
    assert loss is not None
    assert loss < 1e-3


@pytest.mark.parametrize(("amx", "expected"), [(True, True), (False, False)])
def test_auto_is_bfloat16_where_the_processor_has_matrix_units_for_it(
    monkeypatch: pytest.MonkeyPatch, amx: bool, expected: bool
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": amx, "avx512_bf16": True}, raising=False)
    assert uses_bfloat16("auto", CPU) == expected


def test_auto_is_float32_where_torch_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    assert not uses_bfloat16("auto", CPU)


@pytest.mark.parametrize("supported", [True, False])
def test_auto_asks_a_gpu(monkeypatch: pytest.MonkeyPatch, supported: bool) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: supported)
    assert uses_bfloat16("auto", torch.device("cuda")) == supported


def test_a_precision_that_is_named_is_used() -> None:
    assert uses_bfloat16("bfloat16", CPU)
    assert not uses_bfloat16("float32", CPU)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_learns_what_the_processor_learns() -> None:
    config = LearnerConfig(precision="float32")
    learners = [Learner(TinyNetwork(), config, device) for device in ("cpu", "cuda")]  # type: ignore[arg-type]
    losses = [learner.learn(some_batches(20)).loss for learner in learners]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    moments = learners[1].state_dict()
    learners[0].load_state_dict(moments)
    learners[1].load_state_dict({name: tensor.cpu() for name, tensor in moments.items()})
    assert learners[1].learn(some_batches(5)).loss == pytest.approx(learners[0].learn(some_batches(5)).loss, rel=0.05)


def test_minibatches_without_policies_change_nothing_where_values_are_not_learned() -> None:
    learner = make_learner()
    before = [weights.clone() for weights in network_of(learner).parameters()]
    report = learner.learn(some_batches(2), values=False)
    assert report.loss is not None
    assert (report.policy_loss, report.states, report.batches) == (None, 32, 2)
    assert all(torch.equal(w, b) for w, b in zip(network_of(learner).parameters(), before, strict=True))
    learner.learn(some_batches(2))
    assert not any(torch.equal(w, b) for w, b in zip(network_of(learner).parameters(), before, strict=True))
