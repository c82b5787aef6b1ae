"""Winograd's minimal filtering: 3 x 3 convolutions of boards with far fewer multiplications.

The m sums y_i = Σ_k g_k d_{i+k} of r weights over cells belong to a product of polynomials, which n = m + r - 1 points
decide. There it takes n multiplications instead of m · r (Winograd 1980; Lavin and Gray 2016, Section 4):

    y = A [(G g) ∘ (B d)]      A: m x n, G: n x r, B: n x n

A is Vₘᵀ, G is Vᵣ and B is Vₙ⁻ᵀ, where V_k evaluates a polynomial of k coefficients at the points. On a board the
matrices act on rows and on columns. With F planes in and F' out, each point is a product of matrices [N, F] x [F, F']:
7 x 7 sums take 9 · 49 of these when they are computed directly, and 81 this way.

Points are usually 0, ±1, ±2, ..., ∞, with which rounding errors soon grow. Here they are directions at equal angles,
and polynomials are homogeneous: Σ_j c_j cos^{k-1-j}θ sin^jθ. Then float32 suffices for 9 sums in a row, where errors
are some 1e-4 of the sums' spread in the mean square, several times that at corners, and those of bfloat16 3e-3. Longer
sides are cut into tiles of one size, the last of which may reach beyond the board.

Boards are [H, W, N, F] here, "board first": so each step is a product of matrices, with no copy between.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

KERNEL = 3
"""r, cells of a filter's side."""
LARGEST_TILE = 9
"""m at most: each further sum more than doubles the error."""
NOISE = 1e-12
"""What is smaller in the matrices B, or a cosine, comes from rounding: all others are above 1e-4."""
WORTH_JOINING = 3.0
"""Both axes are transformed at once where that takes at most this factor times the multiplications of one after the
other: it goes through memory once instead of twice."""


@dataclass(frozen=True, slots=True)
class Step:
    """One product of matrices: cells [batch · K, ...] seen as [batch, K, rest] become `matrix` [M, K] times them."""

    matrix: NDArray[np.float32]
    batch: int


@dataclass(frozen=True)
class Side:
    """One axis of a board: `tiles` pieces side by side, each with `points` points.

    Attributes:
        outputs: sums along this axis.
        spread: B for all tiles, [points · tiles, cells]; rows count points first, then tiles.
        weights: G, [points, KERNEL].
        collect: A for all tiles, [outputs, points · tiles].
    """

    outputs: int
    points: int
    tiles: int
    spread: NDArray[np.float64]
    weights: NDArray[np.float64]
    collect: NDArray[np.float64]


@functools.cache
def side(cells: int, padding: int) -> Side:
    """The matrices for an axis of a number of cells, with a number of cells of padding at each end."""
    outputs = cells + 2 * padding - KERNEL + 1
    tiles = -(-outputs // LARGEST_TILE)
    m = -(-outputs // tiles)
    n = m + KERNEL - 1
    B = np.linalg.inv(_evaluation(n, n)).T
    lengths = np.linalg.norm(B, axis=1, keepdims=True)  # the points' values should be about as large as the cells'
    A, G, B = _evaluation(n, m).T, _evaluation(n, KERNEL) * lengths, _without_noise(B / lengths)
    spread, collect = np.zeros((n, tiles, cells)), np.zeros((outputs, n, tiles))
    for tile in range(tiles):
        first = tile * m
        for i in range(n):
            cell = first + i - padding
            if 0 <= cell < cells:  # what lies outside is zero
                spread[:, tile, cell] = B[:, i]
        collect[first : first + m, :, tile] = A[: outputs - first]
    return Side(outputs, n, tiles, spread.reshape(n * tiles, cells), G, collect.reshape(outputs, n * tiles))


def _evaluation(points: int, coefficients: int) -> NDArray[np.float64]:
    """V [points, coefficients]: homogeneous polynomials at directions of equal angles."""
    angles = np.pi * np.arange(points)[:, None] / points
    powers = np.arange(coefficients)
    values: NDArray[np.float64] = _without_noise(np.cos(angles)) ** powers[::-1] * np.sin(angles) ** powers
    return values


def _without_noise(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Zero in place of what rounding has left of it, such as 6e-17 of cos(π/2).

    The products of such numbers are denormal, with which processors compute a hundred times as slowly: learning took
    more than twice as long.
    """
    return np.where(np.abs(matrix) < NOISE, 0.0, matrix)


@dataclass(frozen=True)
class Filtering:
    """How boards of one size are convolved.

    Attributes:
        shape: [H', W'] of the sums.
        grid: [points of rows, tiles of rows, points of columns, tiles of columns], as `spread` leaves them.
        spread: steps from cells to points.
        filters: from the weights [KERNEL², ...] to those of each point, [points, KERNEL²].
        collect: steps from points to sums.
    """

    shape: tuple[int, int]
    grid: tuple[int, int, int, int]
    spread: tuple[Step, ...]
    filters: NDArray[np.float32]
    collect: tuple[Step, ...]

    @property
    def points(self) -> int:
        """Products of matrices that there are, for the points of rows and columns."""
        return self.grid[0] * self.grid[2]

    def weights_at_points(self, weight: torch.Tensor) -> torch.Tensor:
        """From [F', F, KERNEL, KERNEL] to [points, F, F']."""
        filters, inputs = weight.shape[:2]
        of_cells = weight.permute(2, 3, 1, 0).reshape(KERNEL**2, -1)
        return (torch.from_numpy(self.filters) @ of_cells).view(self.points, inputs, filters)

    @property
    def interleaved(self) -> bool:
        """Whether the second and third axis of `grid` must change places for each point's tiles to be together."""
        return self.grid[1] > 1


@functools.cache
def filtering(height: int, width: int, padding: int) -> Filtering:
    """How boards [height, width] are convolved, with a number of cells of padding around them."""
    rows, columns = side(height, padding), side(width, padding)
    return Filtering(
        shape=(rows.outputs, columns.outputs),
        grid=(rows.points, rows.tiles, columns.points, columns.tiles),
        spread=_both(rows.spread, columns.spread, rows_first=True),
        filters=np.kron(rows.weights, columns.weights).astype(np.float32),
        collect=_both(rows.collect, columns.collect, rows_first=False),
    )


def _both(rows: NDArray[np.float64], columns: NDArray[np.float64], *, rows_first: bool) -> tuple[Step, ...]:
    """The steps by which `rows` acts on the first axis and `columns` on the second: one for both, or one for each."""
    if rows_first:
        batch, beside = rows.shape[0], columns.shape[1]  # cells along one axis while the other is transformed
    else:
        batch, beside = rows.shape[1], columns.shape[0]
    if rows.size * columns.size <= WORTH_JOINING * (rows.size * beside + columns.size * batch):
        return (Step(np.kron(rows, columns).astype(np.float32), 1),)
    along_rows, along_columns = Step(rows.astype(np.float32), 1), Step(columns.astype(np.float32), batch)
    return (along_rows, along_columns) if rows_first else (along_columns, along_rows)


def convolution(planes: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, padding: int) -> torch.Tensor:
    """What `torch.nn.functional.conv2d` gives for 3 x 3 filters, up to rounding; gradients flow through.

    The result lies in memory board first. Elementwise layers leave it so, and the next convolution need not copy it.

    Args:
        planes: float32 [N, F, H, W].
        weight: float32 [F', F, 3, 3].
        bias: float32 [F'].
        padding: cells of zeros around the board.

    Returns:
        float32 [N, F', H', W'].
    """
    count, inputs, height, width = planes.shape
    how = filtering(height, width, padding)
    p, t, q, s = how.grid
    cells = _through(planes.permute(2, 3, 0, 1).contiguous(), how.spread)
    if how.interleaved:
        cells = cells.view(p, t, q, s, count * inputs).transpose(1, 2)
    points = torch.bmm(cells.reshape(how.points, t * s * count, inputs), how.weights_at_points(weight))
    if how.interleaved:
        points = points.view(p, q, t, s, count * len(bias)).transpose(1, 2).contiguous()
    sums = _through(points, how.collect).view(*how.shape, count, len(bias)) + bias
    return sums.permute(2, 3, 0, 1)


def _through(cells: torch.Tensor, steps: tuple[Step, ...]) -> torch.Tensor:
    for step in steps:
        K = step.matrix.shape[1]
        cells = torch.from_numpy(step.matrix) @ cells.view(step.batch, K, cells.numel() // (step.batch * K))
    return cells
