"""D ← D ∪ {(sym(s), v)}: images come behind the states with their values, and a run with them repeats to the bit."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from training_runs import TINY, state_of

from athenan_spiel.config import EncodingConfig
from athenan_spiel.encoding import CompactRows, Encoder
from athenan_spiel.encoding.symmetries import find_symmetries
from athenan_spiel.errors import ConfigError
from athenan_spiel.games import load_game
from athenan_spiel.learning.augmentation import Augmentation, ChosenSymmetries
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.targets import Targets
from athenan_spiel.search import Budget
from athenan_spiel.training import load_agent, resume, train

GAME = load_game("tic_tac_toe")
ENCODER = Encoder(GAME)


def augmentation(setting: str, seed: int = 0) -> Augmentation:
    rng = np.random.default_rng(seed)
    return Augmentation(ChosenSymmetries.find(GAME, ENCODER, setting, rng), rng)


def rows_of(targets: Targets) -> NDArray[np.float32]:
    return np.concatenate([pack.unpack() for pack in targets.rows])


def some_targets(count: int, *, weights: bool = False) -> Targets:
    """The state after action 1, `count` times with other values, in two packs of unequal length."""
    row = ENCODER.encode([GAME.new_initial_state().child(1)]).reshape(1, -1)
    packs = [CompactRows.pack(np.repeat(row, n, axis=0)) for n in (count // 3, count - count // 3)]
    values = np.linspace(-1.0, 1.0, count, dtype=np.float32)
    return Targets(packs, Labels(values, np.arange(1, count + 1, dtype=np.float32) if weights else None))


def test_each_state_is_joined_by_an_image_with_its_value_and_weight() -> None:
    targets = some_targets(10, weights=True)
    doubled = augmentation("rotate_180")(targets)
    rows = rows_of(doubled)
    assert len(doubled) == len(rows) == 20
    np.testing.assert_array_equal(rows[:10], rows_of(targets))
    image = ENCODER.encode([GAME.new_initial_state().child(7)]).reshape(-1)
    np.testing.assert_array_equal(rows[10:], np.repeat(image[None], 10, axis=0))
    np.testing.assert_array_equal(doubled.labels.values, np.concatenate([targets.labels.values] * 2))
    assert doubled.labels.weights is not None
    np.testing.assert_array_equal(doubled.labels.weights, np.concatenate([np.arange(1, 11)] * 2))


def test_targets_without_weights_stay_without() -> None:
    assert augmentation("transpose")(some_targets(4)).labels.weights is None


def test_the_images_are_in_the_order_of_the_states() -> None:
    states = [GAME.new_initial_state().child(action) for action in (0, 1, 2, 3)]
    targets = Targets([CompactRows.pack(ENCODER.encode(states).reshape(4, -1))], Labels(np.zeros(4, np.float32)))
    expected = [GAME.new_initial_state().child(action) for action in (2, 1, 0, 5)]
    images = rows_of(augmentation("flip_horizontal")(targets))[4:]
    np.testing.assert_array_equal(images, ENCODER.encode(expected).reshape(4, -1))


def test_all_draws_evenly_from_all_but_the_identity() -> None:
    """The state after action 1 has four images: itself by a flip, and each of the others by two of the seven."""
    targets = some_targets(7000)
    images = rows_of(augmentation("all")(targets))[7000:]
    places = {ENCODER.encode([GAME.new_initial_state().child(a)]).tobytes(): a for a in (1, 3, 5, 7)}
    counts = Counter(places[image.tobytes()] for image in images)
    assert counts.keys() == {1, 3, 5, 7}
    assert abs(counts[1] - 1000) < 150
    assert all(abs(counts[a] - 2000) < 200 for a in (3, 5, 7))


def test_named_ones_are_drawn_evenly() -> None:
    images = rows_of(augmentation("rotate_180,transpose")(some_targets(2000)))[2000:]
    counts = Counter(image.tobytes() for image in images)
    assert len(counts) == 2
    assert all(abs(count - 1000) < 150 for count in counts.values())


def test_none_adds_nothing_and_draws_nothing() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    targets = some_targets(5)
    symmetries = ChosenSymmetries.find(GAME, ENCODER, "none", rng)
    assert Augmentation(symmetries, rng)(targets) is targets
    assert symmetries.names == ()
    assert rng.bit_generator.state == before


def test_all_of_a_game_without_symmetries_adds_nothing() -> None:
    game = load_game("mancala")
    rng = np.random.default_rng(0)
    symmetries = ChosenSymmetries.find(game, Encoder(game), "all", rng)
    targets = some_targets(5)
    assert Augmentation(symmetries, rng)(targets) is targets


def test_the_names_are_told() -> None:
    rng = np.random.default_rng(0)
    assert ChosenSymmetries.find(GAME, ENCODER, "transpose,rotate_90", rng).names == ("transpose", "rotate_90")
    assert (
        ChosenSymmetries.find(GAME, ENCODER, "all", rng).names
        == find_symmetries(GAME, np.random.default_rng(1)).names[1:]
    )


# In a run

WITH_IMAGES = dataclasses.replace(TINY, encoding=EncodingConfig(symmetries="all"))
HEX = load_game("hex(board_size=3)")


def test_a_run_that_is_resumed_learns_the_same_images(tmp_path: Path) -> None:
    whole = train(GAME, WITH_IMAGES, tmp_path / "whole")
    train(GAME, dataclasses.replace(WITH_IMAGES, matches=6), tmp_path / "parts")
    parts = resume(tmp_path / "parts", more_matches=6)
    assert state_of(parts.checkpoint) == state_of(whole.checkpoint)
    started = json.loads((tmp_path / "parts" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert len(started["symmetries"]) == 7


def test_a_run_learns_twice_as_many_states(tmp_path: Path) -> None:
    def first_match(config: EncodingConfig, name: str) -> int:
        run = train(HEX, dataclasses.replace(TINY, matches=1, encoding=config), tmp_path / name)
        lines = (run.folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return next(int(e["targets"]) for e in map(json.loads, lines) if e["event"] == "match_finished")

    assert first_match(EncodingConfig(symmetries="rotate_180"), "with") == 2 * first_match(EncodingConfig(), "without")


@pytest.mark.parametrize(
    ("encoding", "problem"),
    [
        (EncodingConfig(symmetries="transpose"), "'transpose' is not a symmetry of the game"),
        (EncodingConfig(edges=True), "encoding.edges=true requires a game"),
    ],
    ids=["symmetry", "edges"],
)
def test_what_the_game_does_not_have_is_refused_before_there_is_a_folder(
    encoding: EncodingConfig, problem: str, tmp_path: Path
) -> None:
    game = load_game("breakthrough(rows=4,columns=4)")
    with pytest.raises(ConfigError, match=problem):
        train(game, dataclasses.replace(TINY, encoding=encoding), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_encoding_of_a_run_stays(tmp_path: Path) -> None:
    train(HEX, dataclasses.replace(TINY, matches=3), tmp_path / "run")
    file = tmp_path / "run" / "config.toml"
    file.write_text(
        file.read_text(encoding="utf-8").replace('symmetries = "none"', 'symmetries = "all"'), encoding="utf-8"
    )
    with pytest.raises(ConfigError, match="encoding must stay"):
        resume(tmp_path / "run", more_matches=3)


def test_an_agent_sees_the_edges_that_its_run_saw(tmp_path: Path) -> None:
    train(HEX, dataclasses.replace(TINY, matches=3, encoding=EncodingConfig(edges=True)), tmp_path / "run")
    agent = load_agent(tmp_path / "run", budget=Budget(iterations=2))
    state = HEX.new_initial_state()
    assert agent.step(state) in state.legal_actions()
