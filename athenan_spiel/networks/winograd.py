"""Winograd's minimal filtering: 3 x 3 convolutions of boards with far fewer multiplications.

The m outputs y_i = Σ_k g_k d_{i+k} of a filter g with r weights correspond to a product of polynomials, which its
values at n = m + r - 1 points determine. There it takes n multiplications instead of m · r (Winograd 1980; Lavin and
Gray 2016, Section 4):

    y = A [(G g) ∘ (B d)]      A: m x n, G: n x r, B: n x n

A is Vₘᵀ, G is Vᵣ and B is Vₙ⁻ᵀ, where V_k evaluates a polynomial with k coefficients at the points. They are the
output, filter and input transform. On a board they act on rows and on columns. With F input and F' output planes, each
point needs one matrix product [N, F] x [F, F']: 7 x 7 outputs need 81 of these, and direct computation 9 · 49.

Usual points are 0, ±1, ±2, ..., ∞, for which rounding errors grow quickly. Here points are directions at equal angles,
and polynomials are homogeneous: Σ_j c_j cos^{k-1-j}θ sin^jθ. Then float32 suffices for 9 outputs in a row: the root
mean square error is about 1e-4 of the outputs' standard deviation, and several times that at corners (bfloat16: 3e-3).
Longer sides are divided into tiles of equal size, the last of which may extend beyond the board.

Boards are [H, W, N, F] here, "board first", so each step is a matrix product without a copy in between.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

KERNEL = 3
"""Side of a filter in cells, r."""
MAX_TILE = 9
"""Maximum number of outputs of a tile per axis, m. Each further output more than doubles the error."""
ROUNDING_ERROR = 1e-12
"""Bound below which entries of B and cosines are rounding errors of zero; all other entries are above 1e-4."""
MAX_JOINT_COST = 3.0
"""Maximum ratio of multiplications for which both axes are transformed in one step instead of two. One step reads and
writes memory only once."""


@dataclass(frozen=True, slots=True)
class Step:
    """Matrix product: multiplies `matrix`, [M, K], by cells [batch · K, ...] viewed as [batch, K, rest]."""

    matrix: NDArray[np.float32]
    batch: int


@dataclass(frozen=True)
class Side:
    """Transforms along one axis of a board.

    Attributes:
        outputs: number of outputs along the axis.
        points: number of points per tile, n.
        tiles: number of tiles along the axis.
        input_transform: B for all tiles, [points · tiles, cells]; the tile index varies fastest.
        filter_transform: G, [points, KERNEL].
        output_transform: A for all tiles, [outputs, points · tiles].
    """

    outputs: int
    points: int
    tiles: int
    input_transform: NDArray[np.float64]
    filter_transform: NDArray[np.float64]
    output_transform: NDArray[np.float64]


@functools.cache
def side(cells: int, padding: int) -> Side:
    """Returns the transforms for an axis of `cells` cells, with `padding` cells at each end."""
    outputs = cells + 2 * padding - KERNEL + 1
    tiles = -(-outputs // MAX_TILE)
    m = -(-outputs // tiles)
    n = m + KERNEL - 1
    B = np.linalg.inv(_evaluation(n, n)).T
    lengths = np.linalg.norm(B, axis=1, keepdims=True)  # scales the values at points to the size of the cells
    A, G, B = _evaluation(n, m).T, _evaluation(n, KERNEL) * lengths, _without_rounding_errors(B / lengths)
    inputs, sums = np.zeros((n, tiles, cells)), np.zeros((outputs, n, tiles))
    for tile in range(tiles):
        first = tile * m
        for i in range(n):
            cell = first + i - padding
            if 0 <= cell < cells:  # cells outside the board are zero
                inputs[:, tile, cell] = B[:, i]
        sums[first : first + m, :, tile] = A[: outputs - first]
    return Side(outputs, n, tiles, inputs.reshape(n * tiles, cells), G, sums.reshape(outputs, n * tiles))


def _evaluation(points: int, coefficients: int) -> NDArray[np.float64]:
    """Returns V, [points, coefficients], for homogeneous polynomials at directions of equal angles."""
    angles = np.pi * np.arange(points)[:, None] / points
    powers = np.arange(coefficients)
    values: NDArray[np.float64] = _without_rounding_errors(np.cos(angles)) ** powers[::-1] * np.sin(angles) ** powers
    return values


def _without_rounding_errors(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replaces rounding errors of zero by zero, such as 6e-17 for cos(π/2).

    Products of such numbers are denormal, and processors are about a hundred times slower with these. Learning took
    more than twice as long.
    """
    return np.where(np.abs(matrix) < ROUNDING_ERROR, 0.0, matrix)


@dataclass(frozen=True)
class Filtering:
    """Transforms for boards of one size.

    Attributes:
        shape: [H', W'] of the outputs.
        grid: shape of the result of `input_transform`: row points, row tiles, column points, column tiles.
        input_transform: steps from cells to points.
        filter_transform: [points, KERNEL²]: matrix from a filter's weights to their values at the points.
        output_transform: steps from points to outputs.
    """

    shape: tuple[int, int]
    grid: tuple[int, int, int, int]
    input_transform: tuple[Step, ...]
    filter_transform: NDArray[np.float32]
    output_transform: tuple[Step, ...]

    @property
    def points(self) -> int:
        """Number of points, and so of matrix products [N, F] x [F, F']."""
        return self.grid[0] * self.grid[2]

    def weights_at_points(self, weight: torch.Tensor) -> torch.Tensor:
        """Transforms filters, [F', F, KERNEL, KERNEL], to [points, F, F']."""
        filters, inputs = weight.shape[:2]
        flat = weight.permute(2, 3, 1, 0).reshape(KERNEL**2, -1)
        return (torch.from_numpy(self.filter_transform) @ flat).view(self.points, inputs, filters)

    @property
    def interleaved(self) -> bool:
        """Whether axes 1 and 2 of `grid` must be swapped to make the tiles of each point contiguous."""
        return self.grid[1] > 1


@functools.cache
def filtering(height: int, width: int, padding: int) -> Filtering:
    """Returns the transforms for boards [height, width] with `padding` cells around them."""
    rows, columns = side(height, padding), side(width, padding)
    return Filtering(
        shape=(rows.outputs, columns.outputs),
        grid=(rows.points, rows.tiles, columns.points, columns.tiles),
        input_transform=_steps(rows.input_transform, columns.input_transform, rows_first=True),
        filter_transform=np.kron(rows.filter_transform, columns.filter_transform).astype(np.float32),
        output_transform=_steps(rows.output_transform, columns.output_transform, rows_first=False),
    )


def _steps(rows: NDArray[np.float64], columns: NDArray[np.float64], *, rows_first: bool) -> tuple[Step, ...]:
    """Returns the steps that apply `rows` to the first axis and `columns` to the second: one for both, or one each."""
    if rows_first:
        row_count, column_count = rows.shape[0], columns.shape[1]  # size of one axis while the other is transformed
    else:
        row_count, column_count = rows.shape[1], columns.shape[0]
    if rows.size * columns.size <= MAX_JOINT_COST * (rows.size * column_count + columns.size * row_count):
        return (Step(np.kron(rows, columns).astype(np.float32), 1),)
    along_rows, along_columns = Step(rows.astype(np.float32), 1), Step(columns.astype(np.float32), row_count)
    return (along_rows, along_columns) if rows_first else (along_columns, along_rows)


def convolution(planes: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, padding: int) -> torch.Tensor:
    """Equals `torch.nn.functional.conv2d` for 3 x 3 filters, up to rounding. It is differentiable.

    The result is board first in memory. Elementwise layers keep that layout, so the next convolution needs no copy.

    Args:
        planes: float32 [N, F, H, W].
        weight: float32 [F', F, 3, 3].
        bias: float32 [F'].
        padding: number of zero cells around the board.

    Returns:
        float32 [N, F', H', W'].
    """
    count, inputs, height, width = planes.shape
    plan = filtering(height, width, padding)
    p, t, q, s = plan.grid
    cells = _apply(planes.permute(2, 3, 0, 1).contiguous(), plan.input_transform)
    if plan.interleaved:
        cells = cells.view(p, t, q, s, count * inputs).transpose(1, 2)
    points = torch.bmm(cells.reshape(plan.points, t * s * count, inputs), plan.weights_at_points(weight))
    if plan.interleaved:
        points = points.view(p, q, t, s, count * len(bias)).transpose(1, 2).contiguous()
    sums = _apply(points, plan.output_transform).view(*plan.shape, count, len(bias)) + bias
    return sums.permute(2, 3, 0, 1)


def _apply(cells: torch.Tensor, steps: tuple[Step, ...]) -> torch.Tensor:
    for step in steps:
        K = step.matrix.shape[1]
        cells = torch.from_numpy(step.matrix) @ cells.view(step.batch, K, cells.numel() // (step.batch * K))
    return cells
