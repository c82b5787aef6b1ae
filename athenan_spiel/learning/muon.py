"""Muon, an optimiser for the matrices of hidden layers (Jordan et al. 2024, *Muon: An optimizer for hidden layers*).

The weights W of a convolution are a matrix with a row per filter. For each step with the gradient G

    M ← β M + (1 - β) G,   U ← orthogonal(β M + (1 - β) G),   W ← W - η · 0.2 · √max(rows, columns) · U

`orthogonal(X)` is about the matrix with the singular vectors of X whose singular values are all 1. So a step has the
same size in every direction, where Adam's follows the few directions of the largest gradients. The factor gives steps
the mean size of Adam's, so η means the same for both (Liu et al. 2025, *Muon is scalable for LLM training*).

torch's Muon computes in bfloat16, which takes 10 to 50 times as long on processors without instructions for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch

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


class Muon(torch.optim.Optimizer):
    """Muon with L2 regularisation, whose gradient is part of G, as that of torch's Adam.

    Args:
        weights: weights with two or more dimensions, of which the first is that of the rows.
        lr: step size η.
        weight_decay: factor of W in G.
    """

    def __init__(self, weights: Iterable[torch.nn.Parameter], *, lr: float, weight_decay: float) -> None:
        super().__init__(list(weights), {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Take one step for the weights that have a gradient."""
        assert closure is None, "the gradients are computed"
        for group in self.param_groups:
            for weights in group["params"]:
                if weights.grad is not None:
                    self._step(weights, group)

    def _step(self, weights: torch.nn.Parameter, group: dict[str, Any]) -> None:
        gradient = weights.grad.add(weights, alpha=group["weight_decay"])  # type: ignore[union-attr]
        state = self.state[weights]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(weights)
        mean = state["momentum_buffer"].lerp_(gradient, 1 - BETA)
        direction = orthogonal(gradient.lerp_(mean, BETA).flatten(1))
        size = STEP_SIZE * math.sqrt(max(direction.shape))
        weights.sub_(direction.view_as(weights), alpha=group["lr"] * size)
