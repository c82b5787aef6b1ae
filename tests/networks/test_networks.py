"""The networks are those of the papers' tables, and start from weights that the seed alone decides."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from athenan_spiel.config import NetworkConfig, NetworkName
from athenan_spiel.errors import ConfigError
from athenan_spiel.networks import GlobalSumPooling, ResidualBlock, SqueezeExcitation, ValueNetwork, make_network
from athenan_spiel.training import preset

HEX_11 = (10, 11, 11)
CONNECT_FOUR = (4, 6, 7)
FLAT = (40,)
ARCHITECTURES: list[tuple[NetworkName, tuple[int, ...]]] = [
    ("c", HEX_11),
    ("r1", CONNECT_FOUR),
    ("r2", CONNECT_FOUR),
    ("r3", CONNECT_FOUR),
    ("mlp", CONNECT_FOUR),
    ("mlp", FLAT),
    ("auto", CONNECT_FOUR),
    ("auto", FLAT),
]


def network(
    architecture: NetworkName = "auto",
    shape: tuple[int, ...] = CONNECT_FOUR,
    *,
    bounded: bool = True,
    scale: float = 1.0,
    seed: int = 0,
    filters: int = 16,
    layers: int | None = None,
) -> ValueNetwork:
    config = NetworkConfig(architecture=architecture, filters=filters, layers=layers, neurons=20)
    return make_network(shape, config, bounded=bounded, scale=scale, seed=seed)


def some_positions(shape: tuple[int, ...], count: int = 64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return (torch.rand((count, *shape), generator=generator) < 0.3).float()


def kinds(of: ValueNetwork) -> list[str]:
    return [type(layer).__name__ for layer in of.layers]


@pytest.mark.parametrize(("architecture", "shape"), ARCHITECTURES)
@pytest.mark.parametrize("bounded", [True, False])
def test_one_value_for_each_state(architecture: NetworkName, shape: tuple[int, ...], bounded: bool) -> None:
    values = network(architecture, shape, bounded=bounded)(some_positions(shape, 5))
    assert values.shape == (5,)
    assert values.dtype == torch.float32


def test_a_network_is_made_to_evaluate() -> None:
    assert not network().training


def test_the_c_network_is_the_articles() -> None:
    made = make_network(HEX_11, NetworkConfig(architecture="c"), bounded=True, seed=0)
    assert kinds(made) == ["Convolution", "ReLU"] * 3 + ["Flatten", "Linear", "ReLU"]
    assert [layer.padding for layer in made.layers if isinstance(layer, nn.Conv2d)] == [(0, 0)] * 3
    convolutions = (10 + 64 + 64) * 9 * 64 + 3 * 64
    dense = 64 * 5 * 5 * 100 + 100 + 100 + 1
    assert sum(parameter.numel() for parameter in made.parameters()) == convolutions + dense
    assert made.description == (
        f"C-network of 3 x 64 convolutions (0 padded), 100 neurons, tanh output, {convolutions + dense:,} weights"
    )


def test_the_residual_networks_are_the_tables() -> None:
    assert kinds(network("r1")) == ["Convolution"] + ["ResidualBlock"] * 2 + [
        "Convolution",
        "Flatten",
        "Linear",
        "ReLU",
    ]
    assert kinds(network("r2")) == ["Convolution"] + ["ResidualBlock"] * 8 + ["Flatten"] + ["Linear", "ReLU"] * 2
    head = ["Convolution", "ReLU", "GlobalSumPooling", "PreciseLinear", "ReLU"]
    assert kinds(network("r3")) == ["Convolution"] + ["ResidualBlock"] * 8 + head
    pointwise = network("r1").layers[3]
    assert isinstance(pointwise, nn.Conv2d)
    assert pointwise.kernel_size == (1, 1)


@pytest.mark.parametrize("architecture", ["c", "r1", "r2"])
def test_there_are_as_many_dense_layers_as_are_asked_for(architecture: NetworkName) -> None:
    def dense_layers(count: int | None) -> int:
        config = NetworkConfig(architecture=architecture, filters=4, layers=1, neurons=5, dense_layers=count)
        made = make_network(CONNECT_FOUR, config, bounded=True, seed=0)
        assert made(some_positions(CONNECT_FOUR, 3)).shape == (3,)
        assert (f"{count} x 5 neurons" in made.description) == (count not in (None, usual))
        return kinds(made).count("Linear")

    usual = 2 if architecture == "r2" else 1
    assert [dense_layers(count) for count in (None, 1, 2, 3)] == [usual, 1, 2, 3]


def test_what_has_dense_layers_alone_takes_their_number_as_layers() -> None:
    with pytest.raises(ConfigError, match=r"dense_layers must be none for an observation that is not a stack"):
        make_network(FLAT, NetworkConfig(dense_layers=2), bounded=True, seed=0)


@pytest.mark.parametrize(
    ("shape", "config", "weights"),
    [
        # Section 10.3, Othello, with 4 planes
        (
            (4, 8, 8),
            preset("othello").network,
            41_695_147,
        ),
        # Section 11.4, Arimaa, with 10 planes
        (
            (10, 8, 8),
            preset("arimaa").network,
            10_511_017,
        ),
        # Section 12.4, Morpion Solitaire, with 5 planes of 16 x 16
        (
            (5, 16, 16),
            preset("morpion_solitaire").network,
            9_989_285,
        ),
    ],
    ids=["othello", "arimaa", "morpion"],
)
def test_the_articles_numbers_of_weights_are_met(shape: tuple[int, ...], config: NetworkConfig, weights: int) -> None:
    """The article tells neither planes nor board; for these the numbers are its own."""
    made = make_network(shape, config, bounded=True, seed=0)
    assert sum(parameter.numel() for parameter in made.parameters()) == weights
    assert made.description.endswith(f" {weights:,} weights")


def test_the_description_names_what_r3_has() -> None:
    config = NetworkConfig(
        architecture="r3", filters=16, layers=2, neurons=20, squeeze_excitation=4, pointwise_filters=24
    )
    made = make_network(CONNECT_FOUR, config, bounded=True, seed=0)
    assert made.description.startswith(
        "R3-network of 2 blocks x 16 filters (squeeze-and-excitation 4), 24 pointwise filters, 20 neurons, tanh output"
    )


def test_as_many_pointwise_filters_as_neurons_where_none_are_given() -> None:
    assert [layer.out_channels for layer in network("r3").layers if isinstance(layer, nn.Conv2d)] == [16, 20]


def test_the_pooling_sums_each_plane() -> None:
    planes = torch.arange(12.0).reshape(1, 2, 2, 3)
    assert GlobalSumPooling()(planes).tolist() == [[15.0, 51.0]]


def test_squeeze_and_excitation_scales_each_plane_by_what_the_means_decide() -> None:
    layer = SqueezeExcitation(2, 2)
    with torch.no_grad():
        layer.squeeze.weight.copy_(torch.tensor([[1.0, -1.0]]))
        layer.excite.weight.copy_(torch.tensor([[2.0], [-1.0]]))
    planes = torch.tensor([[1.0, 3.0], [0.0, 1.0]]).reshape(1, 2, 1, 2)  # means 2 and 0.5, so 1.5 between
    up, down = torch.sigmoid(torch.tensor([3.0, -1.5])).tolist()
    expected = torch.tensor([up, 3 * up, 0.0, down])
    torch.testing.assert_close(layer(planes).flatten(), expected)
    torch.testing.assert_close(layer(-planes).flatten(), torch.tensor([-0.5, -1.5, 0.0, -0.5]))  # ReLU, then σ(0)


@pytest.mark.parametrize(("filters", "ratio", "between"), [(373, 16, 23), (186, 16, 11), (8, 16, 1)])
def test_the_squeeze_has_the_whole_part_of_filters_by_ratio(filters: int, ratio: int, between: int) -> None:
    layer = SqueezeExcitation(filters, ratio)
    assert layer.squeeze.weight.shape == (between, filters)
    assert layer.squeeze.bias is layer.excite.bias is None


def test_squeeze_and_excitation_comes_before_the_blocks_input_is_added() -> None:
    block = ResidualBlock(2, squeeze_excitation=1)
    assert block.excitation is not None
    for parameter in block.parameters():
        nn.init.zeros_(parameter)
    assert block.second.bias is not None
    nn.init.constant_(block.second.bias, 0.5)
    planes = torch.tensor([-2.0, 3.0]).reshape(1, 2, 1, 1)
    assert block(planes).flatten().tolist() == [0.0, 3.25]  # 3 + σ(0) · 0.5


@pytest.mark.parametrize(("architecture", "blocks"), [("r1", 2), ("r2", 8), ("r3", 8)])
def test_each_residual_block_may_have_squeeze_and_excitation(architecture: NetworkName, blocks: int) -> None:
    config = NetworkConfig(architecture=architecture, filters=16, neurons=20, squeeze_excitation=4)
    made = make_network(CONNECT_FOUR, config, bounded=True, seed=0)
    assert sum(isinstance(layer, SqueezeExcitation) for layer in made.modules()) == blocks
    made(some_positions(CONNECT_FOUR)).sum().backward()
    assert all(parameter.grad is not None for parameter in made.parameters())


def test_layers_of_each_kind_can_be_chosen() -> None:
    assert kinds(network("c", HEX_11, layers=5)).count("Convolution") == 5
    assert kinds(network("r1", layers=3)).count("ResidualBlock") == 3
    assert kinds(network("r2", layers=1)).count("ResidualBlock") == 1
    assert kinds(network("mlp", layers=4)).count("Linear") == 4


def test_a_residual_block_adds_its_input_before_the_last_relu() -> None:
    block = ResidualBlock(2)
    for convolution in (block.first, block.second):
        assert convolution.bias is not None
        nn.init.zeros_(convolution.weight)
        nn.init.constant_(convolution.bias, 0.5)
    planes = torch.tensor([-2.0, 3.0]).reshape(1, 2, 1, 1)
    assert block(planes).flatten().tolist() == [0.0, 3.5]


@pytest.mark.parametrize(
    ("board", "padded"),
    [((19, 19), 0), ((8, 8), 0), ((7, 7), 1), ((6, 7), 1), ((5, 9), 2), ((4, 4), 2), ((3, 3), 3), ((1, 7), 3)],
    ids=str,
)
def test_auto_pads_no_more_convolutions_than_a_small_board_needs(board: tuple[int, int], padded: int) -> None:
    shape = (4, *board)
    made = network("auto", shape)
    paddings = [layer.padding for layer in made.layers if isinstance(layer, nn.Conv2d)]
    assert paddings == [(1, 1)] * padded + [(0, 0)] * (3 - padded)
    made(some_positions(shape, 2))


def test_auto_takes_an_mlp_for_what_is_no_board() -> None:
    assert kinds(network("auto", FLAT)) == ["Flatten", *(["Linear", "ReLU"] * 3)]


@pytest.mark.parametrize("architecture", ["c", "r1", "r2", "r3"])
def test_planes_are_needed_for_convolutions(architecture: NetworkName) -> None:
    with pytest.raises(
        ConfigError, match=rf"'{architecture}' needs an observation of boards .* got \(40,\): use 'mlp'"
    ):
        network(architecture, FLAT)


def test_a_board_too_small_for_a_c_network_is_refused() -> None:
    with pytest.raises(ConfigError, match="3 convolutions without padding need a board of at least 7 x 7, got 6 x 7"):
        network("c", CONNECT_FOUR)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_a_scale_is_a_positive_number(scale: float) -> None:
    with pytest.raises(ConfigError, match="scale must be a finite number above zero"):
        network(bounded=False, scale=scale)


def test_a_bounded_network_has_no_scale() -> None:
    with pytest.raises(ConfigError, match=r"scale must be 1 if the output is bounded, got 42.0"):
        network(bounded=True, scale=42.0)


def test_the_seed_alone_decides_the_weights() -> None:
    torch.manual_seed(0)
    first = network(seed=3).state_dict()
    torch.manual_seed(1)
    second = network(seed=3).state_dict()
    other = network(seed=4).state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["layers.0.weight"], other["layers.0.weight"])


def test_torchs_global_generator_is_left_alone() -> None:
    before = torch.get_rng_state()
    for architecture, shape in ARCHITECTURES:
        network(architecture, shape)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(("architecture", "shape"), ARCHITECTURES)
@pytest.mark.parametrize("seed", range(3))
def test_first_values_are_small_and_differ(architecture: NetworkName, shape: tuple[int, ...], seed: int) -> None:
    positions = some_positions(shape).unique(dim=0)
    with torch.no_grad():
        values = network(architecture, shape, seed=seed)(positions)
    assert values.abs().max() < 0.5
    assert values.std() > 0.002
    assert len(values.unique()) == len(positions)


def test_a_bounded_output_is_the_tanh_and_a_linear_one_the_multiple_of_the_same_number() -> None:
    positions = some_positions(CONNECT_FOUR)
    bounded = network(bounded=True)
    linear = network(bounded=False, scale=42.0)
    with torch.no_grad():
        bounded.output.weight *= 50  # large enough for tanh to bend
        linear.output.weight *= 50
        torch.testing.assert_close(bounded(positions), torch.tanh(linear(positions) / 42.0))
        assert bounded(positions).abs().max() <= 1.0
        assert linear(positions).abs().max() > 42.0
    assert linear.scale.item() == 42.0


@pytest.mark.parametrize(("architecture", "shape"), ARCHITECTURES)
def test_every_weight_is_trained(architecture: NetworkName, shape: tuple[int, ...]) -> None:
    made = network(architecture, shape)
    made(some_positions(shape)).sum().backward()
    assert all(parameter.grad is not None for parameter in made.parameters())
    assert made.scale.grad is None


def test_the_scale_is_saved_with_the_weights() -> None:
    saved = network(bounded=False, scale=42.0).state_dict()
    loaded = network(bounded=False, scale=1.0)
    loaded.load_state_dict(saved)
    assert loaded.scale.item() == 42.0


def test_the_last_layer_computes_in_float32_under_autocast() -> None:
    positions = some_positions(HEX_11, 200).unique(dim=0)
    made = network("c", HEX_11)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        values = made(positions)
    assert values.dtype == torch.float32
    assert len(values.unique()) == len(positions)
