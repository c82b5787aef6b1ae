"""Stochastic gradient descent on a network: Adam with L2 regularisation (the article, Algorithm 7), or Muon.

For each minibatch the learner takes one step that decreases

    mean over the minibatch of ((f_θ(s) - v) / scale)² + l2 · Σ w²

The mean is weighted if states have weights. For a network with a policy, policy_weight times the mean policy loss over
the states with a policy is added. While values are not learned yet, only the policy loss counts. `losses` defines the
policy loss and another value loss.

`scale` is that of the network's outcome (`Outcome.scale`), the size of its large values. So for every reinforcement
heuristic a loss of 1 means an error of that size. The article learns heuristics unscaled, so its `l2` has less weight
if values are large; for the gain there is no difference.

As in Keras, which the article used, the squared error is a mean, not a sum, and biases are not penalised. The penalty
has no factor ½, so its gradient is 2 · l2 · w. torch's Adam adds weight_decay · w to the gradient before its moments,
so `weight_decay` is 2 · l2. Muon does the same.

With the same processor and number of threads, the same weights and minibatches give bit-identical weights.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from athenan_spiel.config import LearnerConfig, Precision
from athenan_spiel.engines import half_of_the_cores, torch_threads
from athenan_spiel.engines.base import split_answers
from athenan_spiel.engines.threads import has_matrix_units
from athenan_spiel.errors import CheckpointError, DivergedError, shown
from athenan_spiel.learning.losses import VALUE_LOSSES, policy_loss
from athenan_spiel.learning.optimizers import WARM_UP_STEPS, Adam, Muon, Optimizer
from athenan_spiel.learning.replay import Batch

if TYPE_CHECKING:
    from athenan_spiel.networks import ValueNetwork

LEAST_RATE = 0.01
"""Fraction of the step size at the end of a schedule. It is not 0, so that a resumed run still learns."""
_SMALLEST_NORMAL = sys.float_info.min
"""Smallest normal float64; half of it is denormal."""
BETA1 = 0.9
"""β₁ of Adam (the article, Section 3.3.1); β₂ and ε are settings."""
ADAM_STATE = ("step", "exp_avg", "exp_avg_sq")
"""Names of Adam's step and moments in torch."""
MUON_STATE = ("momentum_buffer",)
"""Name of Muon's mean of gradients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningReport:
    """Result of learning some minibatches."""

    loss: float | None
    """(Weighted) mean value loss over the states, before each step; None without states."""
    policy_loss: float | None
    """Mean policy loss over the states with a policy; None without such states."""
    states: int
    batches: int
    seconds: float


@contextlib.contextmanager
def _denormals_as_zero() -> Iterator[None]:
    """Context that treats denormal numbers as zero, in this thread and threads started in it.

    L2 makes weights of inactive neurons denormal, and processors are far slower with such numbers.
    """
    was_on = _SMALLEST_NORMAL / 2 == 0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(was_on)


class _Mean:
    """Weighted mean of scalars that may still be computed on a GPU."""

    def __init__(self, device: torch.device) -> None:
        self._total = torch.zeros((), dtype=torch.float64, device=device)
        self._weight = 0.0

    def add(self, scalar: torch.Tensor, weight: float) -> None:
        """Adds a scalar."""
        self._total.add_(scalar, alpha=weight)
        self._weight += weight

    def mean(self) -> float | None:
        """Returns the mean; None without scalars."""
        return self._total.item() / self._weight if self._weight else None


class Learner:
    """Trains `network` in place, and keeps the optimiser's moments between learning phases.

    Args:
        network: network to train. It is moved to `device`.
        config: optimiser, step size, L2 and precision; its batch size is used by the replay.
        device: torch device.
    """

    def __init__(self, network: ValueNetwork, config: LearnerConfig, device: torch.device | str = "cpu") -> None:
        self.network = network.to(device)
        self._config = config
        self._device = torch.device(device)
        self._bfloat16 = uses_bfloat16(config.precision, self._device)
        self._threads = config.threads or half_of_the_cores()
        self._value_loss = VALUE_LOSSES[config.value_loss]
        weights = [p for p in network.parameters() if p.ndim > 1]
        biases = [p for p in network.parameters() if p.ndim <= 1]
        self._parameters = [*weights, *biases]
        self._matrices: set[nn.Parameter] = set()
        if config.optimizer == "muon":
            self._matrices = {p for p in network.layers.parameters() if p.ndim > 1}
        others = [p for p in weights if p not in self._matrices]
        rate, decay, betas = config.learning_rate, 2 * config.l2, (BETA1, config.beta2)
        self._optimizers: list[Optimizer] = [
            Adam(others, lr=rate, weight_decay=decay, betas=betas, eps=config.epsilon),
            Adam(biases, lr=rate, weight_decay=0.0, betas=betas, eps=config.epsilon),
        ]
        if self._matrices:
            matrices = [p for p in weights if p in self._matrices]
            self._optimizers.append(Muon(matrices, lr=rate, weight_decay=decay))
        self._factor = 1.0
        self._steps = 0

    def set_progress(self, progress: float) -> None:
        """Sets the step size by `config.schedule`. `progress` is the fraction of the run completed, in [0, 1]."""
        if self._config.schedule == "cosine":
            self._factor = LEAST_RATE + (1 - LEAST_RATE) * (1 + math.cos(math.pi * progress)) / 2

    def learn(self, batches: Iterable[Batch], *, values: bool = True) -> LearningReport:
        """Takes one step for each of `batches`, in order.

        Args:
            values: whether values are learned; if not, minibatches without policies change nothing.

        Raises:
            DivergedError: the loss, a weight or a moment became infinite or NaN. The weights are then
                unusable.
        """
        self.network.train()
        try:
            with torch_threads(self._threads), _denormals_as_zero():
                return self._learn(batches, values)
        finally:
            self.network.eval()

    def _learn(self, batches: Iterable[Batch], with_values: bool) -> LearningReport:
        started = time.perf_counter()
        states = count = 0
        values, policies = _Mean(self._device), _Mean(self._device)
        for batch in batches:
            labels = batch.labels
            value_loss, policy_loss = self._step(batch, with_values)
            values.add(value_loss, len(labels) if labels.weights is None else float(labels.weights.sum(dtype=float)))
            if policy_loss is not None and labels.policies is not None:
                policies.add(policy_loss, labels.policies.learned)
            states += len(labels)
            count += 1
        loss, mean_policy_loss = values.mean(), policies.mean()
        for mean in (loss, mean_policy_loss):
            if mean is not None and not math.isfinite(mean):
                raise self._diverged(f"a finite loss, got {mean!r}")
        if count and not _are_finite([*self.network.state_dict().values(), *self._moments()]):
            raise self._diverged("finite weights and moments after learning, got infinite or NaN numbers")
        seconds = time.perf_counter() - started
        return LearningReport(loss=loss, policy_loss=mean_policy_loss, states=states, batches=count, seconds=seconds)

    def _moments(self) -> list[torch.Tensor]:
        states = [state for optimizer in self._optimizers for state in optimizer.state.values()]
        return [tensor for state in states for name, tensor in state.items() if name != "step"]

    def _diverged(self, expected: str) -> DivergedError:
        rate = self._config.learning_rate
        return DivergedError(f"expected {expected}: lower learner.learning_rate, now {rate!r}")

    def _step(self, batch: Batch, with_values: bool) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Takes one step. Returns the value and policy loss before it, without waiting for a GPU."""
        network, labels = self.network, batch.labels
        observations = torch.from_numpy(batch.observations).view(-1, *network.shape)
        targets = torch.from_numpy(labels.values).to(self._device)
        if len(network.shape) == 3:  # faster for convolutions, especially in bfloat16
            observations = observations.contiguous(memory_format=torch.channels_last)
        with torch.autocast(self._device.type, dtype=torch.bfloat16, enabled=self._bfloat16):
            answers = network(observations.to(self._device)).float()
        values, logits = split_answers(answers, getattr(network, "values", 1))
        errors = self._value_loss(values, targets, network.scale)
        value_loss = self._mean(errors if errors.ndim == 1 else errors.mean(1), labels.weights)
        mean_policy_loss = None
        parts = [value_loss] if with_values else []
        if labels.policies is not None and logits is not None and labels.policies.learned:
            mean_policy_loss = policy_loss(logits, labels.policies).sum() / labels.policies.learned
            parts.append(self._config.policy_weight * mean_policy_loss)
        if parts:
            self.network.zero_grad(set_to_none=True)
            sum(parts[1:], parts[0]).backward()  # type: ignore[no-untyped-call]
            if not with_values:
                for weights in network.of_values():
                    weights.grad = None  # so that L2 doesn't change them
            self._steps += 1
            warm_up = min(1.0, self._steps / WARM_UP_STEPS) if self._matrices else 1.0
            for optimizer in self._optimizers:
                optimizer.lr = warm_up * self._factor * self._config.learning_rate
                optimizer.step()
        return value_loss.detach(), None if mean_policy_loss is None else mean_policy_loss.detach()

    def _mean(self, errors: torch.Tensor, weights: NDArray[np.float32] | None) -> torch.Tensor:
        """Returns the mean of the errors [B], or Σ w · error / Σ w."""
        if weights is None:
            return errors.mean()
        w = torch.from_numpy(weights).to(self._device)
        return (w * errors).sum() / w.sum()

    def values(self, observations: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns the network's values of encoded states [B, n]: [B], or [B, players] in a game with rows."""
        states = torch.from_numpy(observations).view(-1, *self.network.shape).to(self._device)
        with torch.no_grad(), torch_threads(self._threads):
            values, _ = split_answers(self.network(states).float(), getattr(self.network, "values", 1))
        found: NDArray[np.float32] = values.cpu().numpy()
        return found

    def state_dict(self) -> dict[str, torch.Tensor]:
        """Returns a copy of the moments without the weights: `{"INDEX.NAME": tensor}`, INDEX being a parameter's."""
        states = {p: state for optimizer in self._optimizers for p, state in optimizer.state.items()}
        return {
            f"{i}.{name}": tensor.clone()
            for i, p in enumerate(self._parameters)
            for name, tensor in states.get(p, {}).items()
        }

    def load_state_dict(self, state: Mapping[str, torch.Tensor]) -> None:
        """Restores the moments from `state_dict`; the step size and L2 stay those of this learner's config.

        Raises:
            CheckpointError: the state belongs to a learner of another network or with another optimiser.
        """
        found: dict[nn.Parameter, dict[str, torch.Tensor]] = {}
        for i, p in enumerate(self._parameters):
            names = {name: f"{i}.{name}" for name in (MUON_STATE if p in self._matrices else ADAM_STATE)}
            if not state.keys().isdisjoint(names.values()):
                found[p] = {name: _require_moment(state, key, name, p) for name, key in names.items()}
        if sum(map(len, found.values())) != len(state):
            kinds = "Adam's and Muon's moments" if self._matrices else "Adam's step and moments"
            raise CheckpointError(f"expected {kinds} of {len(self._parameters)} parameters, got {shown([*state])}")
        for optimizer in self._optimizers:
            optimizer.state = {p: found[p] for p in optimizer.weights if p in found}
        self._steps = max((int(moments["step"]) for moments in found.values() if "step" in moments), default=0)


def _are_finite(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether all numbers are finite, which holds if their sum in float64 is."""
    return bool(torch.stack([tensor.sum(dtype=torch.float64) for tensor in tensors]).isfinite().all())


def _require_moment(state: Mapping[str, torch.Tensor], key: str, name: str, weights: nn.Parameter) -> torch.Tensor:
    """Returns a copy of the step or moment `name` of `weights`, on their device.

    Raises:
        CheckpointError: it is missing, of another shape or type, or not finite.
    """
    owner = "Muon's" if name in MUON_STATE else "Adam's"
    shape = () if name == "step" else tuple(weights.shape)
    tensor = state.get(key)
    if tensor is None or tensor.dtype != torch.float32 or tuple(tensor.shape) != shape:
        found = "none" if tensor is None else f"{tuple(tensor.shape)!r} of {tensor.dtype}"
        raise CheckpointError(
            f"expected {owner} {key!r} of shape {shape!r} in float32, got {found}: it belongs to another network"
        )
    if not _are_finite([tensor]):
        raise CheckpointError(f"expected {owner} {key!r} to be finite, got infinite or NaN numbers")
    return tensor.to(weights.device, copy=True)


def uses_bfloat16(precision: Precision, device: torch.device) -> bool:
    """Whether the forward and backward pass use bfloat16; loss, weights and moments are always float32.

    `auto` selects bfloat16 where it is faster and the loss decreases equally: on GPUs that support it, and on
    processors with matrix units for it.
    """
    if precision != "auto":
        return precision == "bfloat16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and has_matrix_units()
