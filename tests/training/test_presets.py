"""The presets: those of the papers say what the papers' sections say, number by number."""

from __future__ import annotations

import dataclasses

import pytest

from athenan_spiel.cli.main import main
from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import ConfigError
from athenan_spiel.training import PRESETS, preset, settings_from_toml, settings_to_toml
from athenan_spiel.training.presets import ALL

RIVALS = {"alphazero", "gumbel", "exit"}
HOURS = 3600.0


def replay_of(config: TrainingConfig) -> tuple[object, ...]:
    """The method and those of its settings that it has."""
    replay = config.replay
    match replay.method:
        case "stratified":
            return replay.method, replay.matches, replay.duplication
        case "plain":
            return replay.method, replay.states, replay.sampling
        case "per_match":
            return replay.method, replay.matches, replay.sampling
        case _:
            return (replay.method,)


@pytest.mark.parametrize(
    ("name", "seconds_a_move", "batch", "rate", "adam", "replay"),
    [
        ("tables_2_and_3", 2, 128, 1e-3, (0.999, 1e-7), ("plain", 1_000_000, 0.04)),
        ("table_4", 2, 128, 1e-3, (0.999, 1e-7), ("plain", 1_000_000, 0.04)),
        ("paper", 3, 3000, 1e-4, (0.999, 1e-7), ("stratified", 100, 3.0)),
        ("hex_11", 2, 3000, 1e-3, (0.999, 1e-7), ("per_match", 100, 0.05)),
        ("hex_13", 5, 3000, 1e-3, (0.999, 1e-7), ("per_match", 250, 0.02)),
        ("othello", 5, 4000, 1e-4, (0.999, 1e-5), ("stratified", 100, 3.0)),
        ("arimaa", 5, 4000, 1e-4, (0.99, 1e-7), ("stratified", 100, 3.0)),
        ("morpion_solitaire", 1, 3000, 1e-4, (0.99, 1e-8), ("stratified", 100, 3.0)),
        ("strikes_back", 3, 3000, 1e-3, (0.999, 1e-7), ("stratified", 100, 3.0)),
        ("strikes_back_breakthrough", 1, 3000, 1e-3, (0.999, 1e-7), ("plain", 2_000_000, 0.05)),
        ("strikes_back_othello", 1, 3000, 1e-3, (0.999, 1e-7), ("plain", 2_000_000, 0.05)),
        ("strikes_back_othello_10", 1, 3000, 1e-3, (0.999, 1e-7), ("plain", 2_000_000, 0.05)),
        ("strikes_back_hex", 2, 3000, 1e-3, (0.999, 1e-7), ("per_match", 250, 0.02)),
        ("strikes_back_hex_c", 1, 2048, 1e-3, (0.999, 1e-7), ("none",)),
    ],
)
def test_search_and_learning(
    name: str, seconds_a_move: float, batch: int, rate: float, adam: tuple[float, float], replay: tuple[object, ...]
) -> None:
    config = preset(name)
    assert config.matches_at_once == 1
    assert (config.search.algorithm, config.search.seconds) == ("descent", seconds_a_move)
    assert (config.search.iterations, config.search.evaluations) == (None, None)
    assert config.targets.method == "tree"
    learner = config.learner
    assert (learner.batch_size, learner.learning_rate, learner.l2) == (batch, rate, 1e-3)
    assert (learner.beta2, learner.epsilon) == adam
    assert replay_of(config) == replay


@pytest.mark.parametrize(
    ("name", "architecture", "filters", "layers", "neurons", "dense_layers"),
    [
        ("tables_2_and_3", "auto", 64, 3, 100, None),
        ("table_4", "auto", 64, 3, 100, None),
        ("paper", "r2", 132, 8, 228, None),
        ("hex_11", "r2", 83, 4, 74, 1),
        ("hex_13", "r2", 186, 8, 220, None),
        ("othello", "r3", 373, 8, 4453, None),
        ("arimaa", "r3", 263, 4, 2217, None),
        ("morpion_solitaire", "r2", 186, 8, 104, None),
        ("strikes_back", "r2", 132, 8, 477, None),
        ("strikes_back_breakthrough", "c", 166, None, 751, None),
        ("strikes_back_othello", "r2", 59, None, 213, None),
        ("strikes_back_othello_10", "r2", 59, None, 128, None),
        ("strikes_back_hex", "r1", 240, None, 1024, None),
        ("strikes_back_hex_c", "c", 150, None, 81, None),
    ],
)
def test_networks(
    name: str, architecture: str, filters: int, layers: int | None, neurons: int, dense_layers: int | None
) -> None:
    network = preset(name).network
    assert (network.architecture, network.filters, network.layers) == (architecture, filters, layers)
    assert (network.neurons, network.dense_layers) == (neurons, dense_layers)
    assert network.squeeze_excitation == (16 if name in ("othello", "morpion_solitaire") else None)


@pytest.mark.parametrize(
    ("name", "outcome", "seconds", "matches", "warm_up", "resolved_hours", "edges", "symmetries"),
    [
        ("tables_2_and_3", "gain", 48 * HOURS, None, None, None, False, "none"),
        ("table_4", "gain", 48 * HOURS, None, None, None, False, "none"),
        ("paper", "gain", 360 * HOURS, None, 10_000_000, 12, False, "none"),
        ("hex_11", "additive_depth", None, 34_321, 15_168_000, 48, True, "rotate_180"),
        ("hex_13", "additive_depth", None, 5_288, None, 48, True, "rotate_180"),
        ("othello", "score", None, 52_470, 10_000_000, 12, False, "all"),
        ("arimaa", "presence", None, 6_317, 10_000_000, 12, False, "all"),
        ("morpion_solitaire", "score", None, 58_971, 10_000_000, 12, False, "all"),
        ("strikes_back", "gain", 360 * HOURS, None, None, None, False, "none"),
        ("strikes_back_breakthrough", "additive_depth", 720 * HOURS, None, 10_000_000, None, False, "none"),
        ("strikes_back_othello", "score", 720 * HOURS, None, 10_000_000, None, False, "none"),
        ("strikes_back_othello_10", "score", 720 * HOURS, None, 10_000_000, None, False, "none"),
        ("strikes_back_hex", "additive_depth", 720 * HOURS, None, 10_000_000, None, True, "rotate_180"),
        ("strikes_back_hex_c", "additive_depth", 720 * HOURS, None, 10_000_000, None, True, "rotate_180"),
    ],
)
def test_what_is_played_for_and_for_how_long(
    name: str,
    outcome: str,
    seconds: float | None,
    matches: int | None,
    warm_up: int | None,
    resolved_hours: float | None,
    edges: bool,
    symmetries: str,
) -> None:
    config = preset(name)
    assert (config.outcome, config.seconds, config.matches) == (outcome, seconds, matches)
    assert (config.warm_up.states, config.search.resolved_hours) == (warm_up, resolved_hours)
    assert (config.encoding.edges, config.encoding.symmetries) == (edges, symmetries)


def test_only_tables_2_and_3_and_the_rivals_do_without_completion() -> None:
    without = {name for name, config in PRESETS.items() if not getattr(config.search, "completion", False)}
    assert without == {"tables_2_and_3", *RIVALS}
    assert without == {name for name, config in PRESETS.items() if not config.exploration.completed}


def test_every_preset_can_be_written_and_changed() -> None:
    for config in PRESETS.values():
        assert settings_from_toml(settings_to_toml("hex", config))[1] == config
        assert dataclasses.replace(config, matches=3).matches == 3


def test_a_misspelt_preset_suggests_the_nearest() -> None:
    expected = r"must be one of quick, hour, day, td_lambda, .*, got 'quik': did you mean 'quick'"
    with pytest.raises(ConfigError, match=expected):
        preset("quik")


def test_the_command_lists_them_with_their_sections(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--preset"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(ALL)
    assert [line for line in lines if "Section" not in line] == [
        f"{'quick':25}  minutes on two cores",
        f"{'hour':25}  an hour on two cores",
        f"{'day':25}  a day on several cores",
        f"{'td_lambda':25}  TD(λ), for games with chance, for minutes on two cores",
        f"{'alphazero':25}  AlphaZero, for minutes on two cores",
        f"{'gumbel':25}  Gumbel AlphaZero, for minutes on two cores",
    ]
