"""Adam, and Muon for the matrices of hidden layers (Jordan et al. 2024, *Muon: An optimizer for hidden layers*).

torch's optimisers import its compiler when they are created, which takes a second. So Adam is torch's function here,
and none of the classes is torch's.

The weights W of a convolution are a matrix with a row per filter. For each step with the gradient G

    M ← β M + (1 - β) G,   U ← orthogonal(β M + (1 - β) G),   W ← W - η · 0.2 · √max(rows, columns) · U

`orthogonal(X)` is about the matrix with the singular vectors of X whose singular values are all 1. So a step has the
same size in every direction, where Adam's follows the few directions of the largest gradients. The factor gives steps
the mean size of Adam's, so η means the same for both (Liu et al. 2025, *Muon is scalable for LLM training*).

torch's Muon computes in bfloat16, which takes 10 to 50 times as long on processors without instructions for it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable

import torch
from torch.optim.adam import adam

BETA = 0.95
"""β of the mean of gradients (Jordan et al. 2024)."""
STEP_SIZE = 0.2
"""Root mean square of a step relative to η, about that of Adam (Liu et al. 2025)."""
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Coefficients of an iteration (Jordan et al. 2024). They move all singular values close to 1 in few iterations."""
ITERATIONS = 5
"""Number of iterations (Jordan et al. 2024)."""
TINY = 1e-7
"""Added to the norm of a gradient, which may be 0."""
WARM_UP_STEPS = 20
"""Number of first steps with Muon during which η grows linearly. Residual networks needed 200 with η = 0.023, and
none with 0.008 (`docs/strength.md`)."""


def orthogonal(matrix: torch.Tensor) -> torch.Tensor:
    """Returns a matrix with the singular vectors of `matrix`, and singular values between about 0.7 and 1.2.

    Very small singular values stay small. Each Newton-Schulz iteration X ← (a + b XXᵀ + c (XXᵀ)²) X multiplies X from
    the left by a polynomial in XXᵀ, so only matrices as large as the shorter side are iterated, and X is multiplied by
    their product.
    """
    if matrix.shape[0] > matrix.shape[1]:
        return orthogonal(matrix.T).T
    a, b, c = COEFFICIENTS
    scale = 1 / (matrix.norm() + TINY)
    gram = matrix @ matrix.T * scale.square()
    product: torch.Tensor | None = None
    for _ in range(ITERATIONS):
        factor = torch.addmm(gram, gram, gram, beta=b, alpha=c)
        factor.diagonal().add_(a)
        product = factor if product is None else factor @ product
        gram = factor @ gram @ factor
    assert product is not None
    found: torch.Tensor = product * scale @ matrix
    return found


class Optimizer(ABC):
    """Takes steps for some weights, with L2 regularisation: the gradient is G + weight_decay · W.

    Args:
        weights: weights that are learned.
        lr: step size η.
        weight_decay: factor of W in the gradient.

    Attributes:
        lr: step size of the next step.
        state: tensors kept between steps, by weights and torch's names.
    """

    def __init__(self, weights: Iterable[torch.nn.Parameter], *, lr: float, weight_decay: float) -> None:
        self.weights = list(weights)
        self.lr = lr
        self.state: dict[torch.nn.Parameter, dict[str, torch.Tensor]] = {}
        self._weight_decay = weight_decay

    @torch.no_grad()
    def step(self) -> None:
        """Takes one step for the weights that have a gradient."""
        learned = [weights for weights in self.weights if weights.grad is not None]
        for weights in learned:
            if weights not in self.state:
                self.state[weights] = self._initial_state(weights)
        self._step(learned)

    @abstractmethod
    def _initial_state(self, weights: torch.nn.Parameter) -> dict[str, torch.Tensor]: ...

    @abstractmethod
    def _step(self, learned: list[torch.nn.Parameter]) -> None: ...


class Adam(Optimizer):
    """Adam (Kingma and Ba 2015), as `torch.optim.Adam` with `fused=True`.

    Args:
        weights: weights that are learned.
        lr: step size η.
        weight_decay: factor of W in the gradient.
        betas: β₁ and β₂.
        eps: ε.
    """

    def __init__(
        self,
        weights: Iterable[torch.nn.Parameter],
        *,
        lr: float,
        weight_decay: float,
        betas: tuple[float, float],
        eps: float,
    ) -> None:
        super().__init__(weights, lr=lr, weight_decay=weight_decay)
        self._betas = betas
        self._eps = eps

    def _initial_state(self, weights: torch.nn.Parameter) -> dict[str, torch.Tensor]:
        step = torch.zeros((), dtype=torch.float32, device=weights.device)
        return {"step": step, "exp_avg": torch.zeros_like(weights), "exp_avg_sq": torch.zeros_like(weights)}

    def _step(self, learned: list[torch.nn.Parameter]) -> None:
        adam(
            [weights.data for weights in learned],
            [weights.grad for weights in learned if weights.grad is not None],
            [self.state[weights]["exp_avg"] for weights in learned],
            [self.state[weights]["exp_avg_sq"] for weights in learned],
            [],
            [self.state[weights]["step"] for weights in learned],
            fused=True,
            amsgrad=False,
            beta1=self._betas[0],
            beta2=self._betas[1],
            lr=self.lr,
            weight_decay=self._weight_decay,
            eps=self._eps,
            maximize=False,
        )


class Muon(Optimizer):
    """Muon for weights with two or more dimensions, of which the first is that of the rows."""

    def _initial_state(self, weights: torch.nn.Parameter) -> dict[str, torch.Tensor]:
        return {"momentum_buffer": torch.zeros_like(weights)}

    def _step(self, learned: list[torch.nn.Parameter]) -> None:
        for weights in learned:
            assert weights.grad is not None
            gradient = weights.grad.add(weights, alpha=self._weight_decay)
            mean = self.state[weights]["momentum_buffer"].lerp_(gradient, 1 - BETA)
            direction = orthogonal(gradient.lerp_(mean, BETA).flatten(1))
            size = STEP_SIZE * math.sqrt(max(direction.shape))
            weights.sub_(direction.view_as(weights), alpha=self.lr * size)
