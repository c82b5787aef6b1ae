"""Training in games whose values are rows: what is learned, what a checkpoint holds, and agents of such runs."""

from __future__ import annotations

import dataclasses
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
import torch
from command_line import Out, complaint
from training_runs import TINY

import athenan_spiel as ath
from athenan_spiel.config import (
    AlphaBetaConfig,
    DescentConfig,
    EvaluationConfig,
    GumbelConfig,
    MctsConfig,
    PuctConfig,
    SearchConfig,
    TargetsConfig,
    TrainingConfig,
    UbfmConfig,
)
from athenan_spiel.errors import CheckpointError, ConfigError
from athenan_spiel.games.chance import roll
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.learner import Learner
from athenan_spiel.learning.replay import Batch
from athenan_spiel.networks import make_network
from athenan_spiel.search import Budget
from athenan_spiel.search.minimax import MinimaxSearch
from athenan_spiel.training import load_agent, resume, train
from athenan_spiel.training.checkpoints import read_checkpoint, write_checkpoint
from athenan_spiel.training.events import EvaluationFinished

SPEC = "pig(players=3,winscore=8)"


def values_of(folder: Path) -> np.ndarray:
    found: np.ndarray = read_checkpoint(folder).replay["values"]
    return found


@pytest.mark.parametrize("outcome", ["gain", "additive_depth", "multiplicative_depth"])
def test_rows_that_sum_to_zero_are_learned(outcome: str, tmp_path: Path) -> None:
    run = train(SPEC, dataclasses.replace(TINY, matches=3, outcome=outcome), tmp_path / "run")
    values = values_of(run.checkpoint)
    assert values.ndim == 2
    assert values.shape[1] == 3
    assert np.isfinite(values).all()
    assert np.abs(values).max() > 0
    ended = values[np.abs(values).max(axis=1) == np.abs(values).max()]
    assert np.abs(ended.sum(axis=1)).max() == pytest.approx(0.0, abs=1e-4 * float(np.abs(values).max()))


@pytest.mark.parametrize(
    ("search", "targets"),
    [
        (UbfmConfig(iterations=3, lines=4), TargetsConfig()),
        (DescentConfig(iterations=3), TargetsConfig(leaves=True, coefficients=True)),
        (DescentConfig(iterations=3), TargetsConfig(playout_ends=True)),
        (DescentConfig(iterations=3), TargetsConfig(method="root")),
        (UbfmConfig(iterations=1), TargetsConfig(method="root", trace_decay=0.9)),
        (MctsConfig(iterations=8), TargetsConfig(method="terminal")),
        (PuctConfig(iterations=8), TargetsConfig(method="terminal")),
        (GumbelConfig(iterations=8), TargetsConfig(method="terminal")),
    ],
)
def test_every_search_and_method_learns(search: SearchConfig, targets: TargetsConfig, tmp_path: Path) -> None:
    policy = "dense" if search.algorithm in ("puct", "gumbel") else "none"
    network = dataclasses.replace(TINY.network, policy=policy)
    config = dataclasses.replace(TINY, matches=3, search=search, targets=targets, network=network)
    run = train(SPEC, config, tmp_path / "run")
    assert (run.matches, run.reason) == (3, "matches")
    assert values_of(run.checkpoint).shape[1] == 3
    agent = load_agent(tmp_path / "run", budget=Budget(iterations=4))
    game = ath.load_game(SPEC)
    state = game.new_initial_state()
    rng = random.Random(0)
    while not state.is_terminal():
        roll(state, rng.random)
        if not state.is_terminal():
            state.apply_action(agent.step(state))


def test_an_agent_searches_rows_and_chance_as_its_run_did(tmp_path: Path) -> None:
    kinds: list[dict[str, Any]] = [{}, {"paranoid": True}, {"evaluate_outcomes": True}]
    for settings in kinds:
        config = dataclasses.replace(TINY, matches=1, search=UbfmConfig(iterations=3, **settings))
        run = train(SPEC, config, tmp_path / "-".join(["run", *settings]))
        for algorithm in ("ubfm_k", "descent"):
            search = load_agent(run.folder, search=algorithm, budget=Budget(iterations=4)).search
            assert isinstance(search, MinimaxSearch)
            assert search.paranoid == ("paranoid" in settings)
            assert search.evaluate_outcomes == ("evaluate_outcomes" in settings)


def test_networks_are_evaluated_in_every_seat_during_training(tmp_path: Path) -> None:
    evaluation = EvaluationConfig(
        every_matches=2, opponents=("random",), matches=8, seconds=None, iterations=2, final_seconds=60.0
    )
    found: list[EvaluationFinished] = []
    run = train(
        SPEC,
        dataclasses.replace(TINY, matches=2, evaluation=evaluation),
        tmp_path / "run",
        callbacks=[lambda event: found.append(event) if isinstance(event, EvaluationFinished) else None],
    )
    (event,) = found
    assert event.wins + event.draws + event.losses == 12, "8 games are rounded up to two openings in three seats"
    assert event.points == pytest.approx((event.wins + event.draws / 2) / 12)
    assert load_agent(run.folder, checkpoint="best").game.num_players() == 3


def test_the_loss_of_a_row_is_the_mean_over_the_players() -> None:
    shape, scale = (4,), 3.0
    network = make_network(shape, TINY.network, bounded=False, scale=scale, seed=1, values=3)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 4)).astype(np.float32), rng.normal(size=(8, 3)).astype(np.float32)
    with torch.no_grad():
        errors = (network(torch.from_numpy(x)).numpy() - y) / scale
    learner = Learner(network, dataclasses.replace(TINY.learner, learning_rate=1e-30))
    weights = np.arange(1, 9, dtype=np.float32)
    assert learner.learn([Batch(x, Labels(y))]).loss == pytest.approx(np.mean(errors**2), rel=1e-5)
    expected = np.average((errors**2).mean(axis=1), weights=weights)
    assert learner.learn([Batch(x, Labels(y, weights))]).loss == pytest.approx(expected, rel=1e-5)


def newest(folder: Path) -> Path:
    return max((folder / "checkpoints").iterdir())


def damaged(folder: Path, **changes: Any) -> None:
    """Replaces parts of the newest checkpoint, with valid checksums."""
    path = newest(folder)
    checkpoint = dataclasses.replace(read_checkpoint(path), **changes)
    shutil.rmtree(path)
    write_checkpoint(path.parent, checkpoint)


def test_a_replay_with_other_values_is_refused(tmp_path: Path) -> None:
    run = train(SPEC, dataclasses.replace(TINY, matches=3), tmp_path / "run")
    arrays = read_checkpoint(run.checkpoint).replay
    damaged(tmp_path / "run", replay={**arrays, "values": arrays["values"][:, :2].copy()})
    with pytest.raises(CheckpointError, match="expected 3 values for each state of its replay"):
        resume(tmp_path / "run", more_matches=3)


def test_weights_for_another_number_of_players_are_refused(tmp_path: Path, capsys: Out) -> None:
    run = train(SPEC, dataclasses.replace(TINY, matches=3), tmp_path / "run")
    weights = read_checkpoint(run.checkpoint).weights
    assert weights["output.weight"].shape[0] == 3
    smaller = {name: weights[name][:2].clone() for name in ("output.weight", "output.bias")}
    damaged(tmp_path / "run", weights={**weights, **smaller})
    with pytest.raises(CheckpointError, match=r"do not fit.*train again"):
        load_agent(tmp_path / "run", budget=Budget(iterations=4))
    agent = f"{tmp_path / 'run'}@4i"
    assert "do not fit" in complaint(capsys, "eval", agent, "--against", "random", "--matches", "6")


def test_an_agent_is_for_the_number_of_players_of_its_run(tmp_path: Path, capsys: Out) -> None:
    train(SPEC, dataclasses.replace(TINY, matches=3), tmp_path / "run")
    agent, two = f"{tmp_path / 'run'}@4i", "pig(players=2,winscore=8)"
    assert f"and cannot play {two!r}" in complaint(capsys, "eval", agent, "--game", two, "--against", "random")
    assert "--seat must be a player from 0 to 2" in complaint(capsys, "play", agent, "--seat", "3")


def test_what_needs_two_players_is_refused() -> None:
    three = pyspiel.load_game(SPEC)
    for changes, message in (
        ({"outcome": "score"}, "must be one of gain, additive_depth, multiplicative_depth"),
        ({"search": AlphaBetaConfig(iterations=2)}, "alpha-beta is for games whose values are"),
    ):
        with pytest.raises((ConfigError, ath.AthenanError), match=message):
            train(three, TrainingConfig(**changes), Path("never"))  # type: ignore[arg-type]
    assert not Path("never").exists()
