"""Every game that is said to be supported can be trained: one match, one learning phase, one checkpoint."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import athenan_spiel as ath
from athenan_spiel.config import NetworkConfig, ReplayConfig, UbfmConfig
from athenan_spiel.games import supported_games

OF_MORE_PLAYERS = [f"{name}(players=3)" for name in ("chinese_checkers", "maedn", "pig", "quoridor", "yacht")]
GAMES = [*(info.short_name for info in supported_games()), *OF_MORE_PLAYERS]
CONFIG = ath.TrainingConfig(
    matches=1,
    matches_at_once=1,
    search=UbfmConfig(iterations=1),
    network=NetworkConfig(filters=4, neurons=8),
    replay=ReplayConfig(matches=1, duplication=1.0),
)


@pytest.mark.slow("a match of each of OpenSpiel's games, some of which last hundreds of plies")
@pytest.mark.parametrize("name", GAMES)
def test_it_trains(name: str, tmp_path: Path) -> None:
    game = ath.load_game(name)
    config = CONFIG if game.num_players() > 1 else dataclasses.replace(CONFIG, outcome="score")
    run = ath.train(game, config, tmp_path / "run")
    assert (run.matches, run.reason) == (1, "matches")
    first, last = (load_file(tmp_path / "run" / "checkpoints" / f"{n:06}" / "weights.safetensors") for n in (0, 1))
    assert first.keys() == last.keys()
    assert any(not np.array_equal(first[key], last[key]) for key in first), "something was learned"
    assert all(np.isfinite(weights).all() for weights in last.values())
