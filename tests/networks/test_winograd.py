"""Winograd's filtering against torch's direct convolutions in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import conv2d

from athenan_spiel.config import NetworkConfig, NetworkName
from athenan_spiel.networks import make_network, winograd
from athenan_spiel.networks.layers import Convolution, convolution

BOARDS = [  # height, width, padding, largest error as a share of the sums' spread, in the mean square
    (3, 3, 1, 1e-6),
    (4, 5, 0, 1e-6),
    (6, 7, 0, 3e-6),
    (6, 7, 1, 2e-5),
    (8, 8, 1, 5e-5),
    (11, 11, 0, 2e-4),
    (9, 9, 1, 2e-4),
    (13, 13, 1, 2e-5),
    (19, 19, 1, 2e-5),
    (10, 5, 1, 3e-6),
    (5, 12, 0, 3e-6),
    (26, 3, 1, 2e-5),
    (3, 40, 0, 2e-5),
]
"""One tile and several, along one axis or both, in one step for both axes and in two."""


def some_planes(count: int, planes: int, height: int, width: int) -> torch.Tensor:
    """As behind a ReLU."""
    generator = torch.Generator().manual_seed(0)
    return torch.randn((count, planes, height, width), generator=generator).relu()


def some_weights(inputs: int, filters: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn((filters, inputs, 3, 3), generator=generator) / (9 * inputs) ** 0.5
    return weight, torch.randn(filters, generator=generator)


def error(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).square().mean().sqrt() / expected.std())


@pytest.mark.parametrize("padding", [0, 1, 2])
def test_no_matrix_holds_what_rounding_has_left_of_zero(padding: int) -> None:
    """Products of such numbers are denormal, and slow."""
    for cells in range(winograd.KERNEL, 46):
        side = winograd.side(cells, padding)
        for matrix in (side.input_transform, side.filter_transform, side.output_transform):
            assert np.abs(matrix[matrix != 0]).min() > 1e-8


@given(cells=st.integers(1, 45), padding=st.integers(0, 2), seed=st.integers(0, 99))
def test_along_one_axis_the_sums_are_those_of_a_correlation(cells: int, padding: int, seed: int) -> None:
    if cells + 2 * padding < winograd.KERNEL:
        return
    rng = np.random.default_rng(seed)
    board, filters = rng.standard_normal(cells), rng.standard_normal(winograd.KERNEL)
    side = winograd.side(cells, padding)
    points = (side.input_transform @ board).reshape(side.points, side.tiles) * (side.filter_transform @ filters)[
        :, None
    ]
    expected = np.correlate(np.pad(board, padding), filters, "valid")
    assert side.outputs == len(expected)
    np.testing.assert_allclose(side.output_transform @ points.ravel(), expected, atol=1e-11)


@pytest.mark.parametrize(("height", "width", "padding", "bound"), BOARDS)
def test_sums_are_those_of_a_direct_convolution(height: int, width: int, padding: int, bound: float) -> None:
    planes = some_planes(5, 32, height, width)
    weight, bias = some_weights(32, 6)
    found = winograd.convolution(planes, weight, bias, padding)
    expected = conv2d(planes.double(), weight.double(), bias.double(), padding=padding)
    assert found.shape == expected.shape
    assert found.dtype == torch.float32
    assert error(found, expected) < bound


@pytest.mark.parametrize(("height", "width", "padding", "bound"), BOARDS)
def test_gradients_are_those_of_a_direct_convolution(height: int, width: int, padding: int, bound: float) -> None:
    planes = some_planes(5, 4, height, width).requires_grad_()
    inputs = (planes, *(tensor.requires_grad_() for tensor in some_weights(4, 32)))
    found = winograd.convolution(*inputs, padding)
    expected = conv2d(*(tensor.double() for tensor in inputs), padding=padding)
    towards = torch.randn(found.shape, generator=torch.Generator().manual_seed(2))
    gradients = torch.autograd.grad((found * towards).sum(), inputs)
    exact = torch.autograd.grad((expected * towards).sum(), inputs)
    for one, other in zip(gradients, exact, strict=True):
        assert error(one, other) < bound


def test_a_board_of_7_x_7_sums_takes_81_products_of_matrices() -> None:
    how = winograd.filtering(9, 9, 0)
    assert how.shape == (7, 7)
    assert how.points == 81


def test_both_axes_are_transformed_at_once_where_that_is_not_far_more_work() -> None:
    assert len(winograd.filtering(4, 5, 0).input_transform) == 1
    assert len(winograd.filtering(11, 11, 0).input_transform) == 2


def test_boards_stay_first_in_memory_from_layer_to_layer() -> None:
    weight, bias = some_weights(4, 4)
    board = torch.relu(winograd.convolution(some_planes(5, 4, 6, 7), weight, bias, 1))
    assert board.shape == (5, 4, 6, 7)
    assert board.permute(2, 3, 0, 1).is_contiguous()


def test_a_layer_goes_by_it_while_it_learns_in_float32_and_by_torchs_own_sums_else() -> None:
    layer = convolution(4, 8, padding=1)
    weight, bias = some_weights(4, 8)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)  # type: ignore[union-attr]
        planes = some_planes(5, 4, 6, 7)
        direct = nn.Conv2d.forward(layer, planes)
        layer.train()
        assert torch.equal(layer(planes), winograd.convolution(planes, weight, bias, 1))
        assert not torch.equal(layer(planes), direct)
        with torch.autocast("cpu", torch.bfloat16):
            assert layer(planes).dtype == torch.bfloat16
        assert layer(planes[:0]).shape == (0, 8, 6, 7)
        layer.eval()
        assert torch.equal(layer(planes), direct)
        layer.train().double()
        assert layer(planes.double()).dtype == torch.float64


def test_a_convolution_of_1_x_1_is_torchs() -> None:
    layer = convolution(4, 8, kernel=1).train()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(0.1)
        planes = some_planes(5, 4, 6, 7)
        assert torch.equal(layer(planes), nn.Conv2d.forward(layer, planes))


@pytest.mark.parametrize(
    ("architecture", "ratio"), [("c", None), ("r1", None), ("r1", 4), ("r2", None), ("r2", 4), ("r3", None), ("r3", 4)]
)
def test_networks_learn_along_the_same_gradients(architecture: NetworkName, ratio: int | None) -> None:
    config = NetworkConfig(architecture=architecture, filters=16, neurons=20, squeeze_excitation=ratio)
    network = make_network((4, 7, 8), config, bounded=True, seed=0)
    assert any(isinstance(layer, Convolution) for layer in network.modules())
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.ndim == 1:  # without biases sums of an empty board are zero, where a ReLU has no gradient
                parameter += 0.1
    boards = (some_planes(30, 4, 7, 8) > 0.7).float()

    def gradients(learning: bool) -> list[torch.Tensor]:
        network.train(learning)
        network.zero_grad()
        (network(boards) - 1).square().mean().backward()
        return [parameter.grad.clone() for parameter in network.parameters() if parameter.grad is not None]

    for found, expected in zip(gradients(True), gradients(False), strict=True):
        assert (found - expected).norm() <= 1e-3 * expected.norm()
