"""The agent that a run makes."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from training_runs import TIC_TAC_TOE, TINY, edit_settings

from athenan_spiel.config import EngineConfig
from athenan_spiel.errors import BudgetError, CheckpointError
from athenan_spiel.evaluators import ZeroEvaluator
from athenan_spiel.play.agent import Agent
from athenan_spiel.search import UBFM, Budget
from athenan_spiel.training import load_agent, train
from athenan_spiel.training.checkpoints import CHECKSUM
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.loading import game_of
from athenan_spiel.training.model import make_model
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.run_folder import RunFolder


def test_the_trained_agent_plays(tiny_run: Path) -> None:
    agent = load_agent(tiny_run, budget=Budget(iterations=20), seed=1)
    twin = load_agent(tiny_run, budget=Budget(iterations=20), seed=1)
    state = agent.game.new_initial_state()
    while not state.is_terminal():
        action = agent.step(state)
        assert action == twin.step(state)
        state.apply_action(action)
    assert load_agent(tiny_run, seconds=0.05).budget == Budget(seconds=0.05)


def test_the_trained_agent_is_the_network_of_the_newest_checkpoint(tiny_run: Path) -> None:
    checkpoint = RunFolder(tiny_run).load()
    assert checkpoint is not None
    state = TIC_TAC_TOE.new_initial_state()
    learner = LearnerSide(plan_run(TIC_TAC_TOE, TINY, header=checkpoint.header), checkpoint)
    expected = make_model(TIC_TAC_TOE, TINY, learner.outcome, checkpoint.weights).evaluator([state])
    assert np.array_equal(load_agent(tiny_run).evaluator([state]), expected)


def test_the_network_and_what_it_is_shown_are_the_agents(tiny_run: Path) -> None:
    agent = load_agent(tiny_run)
    assert agent.network is not None
    assert agent.encoder is not None
    state = agent.game.new_initial_state()
    states = [state, *(state.child(action) for action in state.legal_actions())]
    planes = torch.from_numpy(agent.encoder.encode(states))
    assert planes.shape == (len(states), *agent.encoder.shape)
    assert not agent.network.training
    with torch.inference_mode():
        values = agent.network(planes)
    assert values.shape == (len(states),)
    assert np.allclose(values.numpy(), agent.evaluator(states), atol=1e-6)
    assert agent.clone().network is agent.network


def test_an_agent_without_a_network_has_none() -> None:
    agent = Agent(TIC_TAC_TOE, UBFM(TIC_TAC_TOE), ZeroEvaluator(), budget=Budget(iterations=1))
    assert agent.network is None
    assert agent.encoder is None


def test_any_checkpoint_is_an_agent(tmp_path: Path) -> None:
    config = dataclasses.replace(TINY, keep=9, milestone_matches=3)
    run = train(TIC_TAC_TOE, config, tmp_path / "run")
    state = TIC_TAC_TOE.new_initial_state()
    newest, first = load_agent(run.folder).evaluator([state]), load_agent(run.folder, checkpoint=0).evaluator([state])
    assert newest != first
    assert load_agent(run.folder, checkpoint=12).evaluator([state]) == newest
    assert load_agent(run.folder / "checkpoints" / "000000").evaluator([state]) == first
    with pytest.raises(CheckpointError, match=r"got 48: there are 0, 3, 6, 9, 12$"):
        load_agent(run.folder, checkpoint=48)
    assert game_of(run.folder) == game_of(run.folder, 3) == "tic_tac_toe()"
    assert game_of(run.folder / "checkpoints" / "000003") == "tic_tac_toe()"


def test_a_run_from_before_checkpoints_were_counted_is_played(tmp_path: Path) -> None:
    run = train(TIC_TAC_TOE, TINY, tmp_path / "run")
    edit_settings(run.folder, 'keep = 2\nmilestone_matches = "none"\n', "")
    state = json.loads((run.checkpoint / "state.json").read_text())
    del state["config"]["keep"], state["config"]["milestone_matches"], state[CHECKSUM]
    state["version"] = 2
    (run.checkpoint / "state.json").write_text(json.dumps(state))
    assert load_agent(run.folder, budget=Budget(iterations=1)).step(TIC_TAC_TOE.new_initial_state()) in range(9)


def test_an_agent_can_take_another_engine(tiny_run: Path) -> None:
    agent = load_agent(tiny_run, seconds=0.05, engine=EngineConfig())
    assert np.isfinite(agent.think(TIC_TAC_TOE.new_initial_state()).values).all()


def test_an_agent_needs_a_run_with_a_whole_checkpoint(tmp_path: Path, tiny_run: Path) -> None:
    with pytest.raises(CheckpointError, match="expected the folder of a run"):
        load_agent(tmp_path)
    with pytest.raises(BudgetError):
        load_agent(tiny_run, seconds=0.0)
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        folder.write_settings(str(TIC_TAC_TOE), TINY)
    with pytest.raises(CheckpointError, match="has no checkpoint yet"):
        load_agent(folder.path)
    run = train(TIC_TAC_TOE, dataclasses.replace(TINY, matches=3), tmp_path / "other")
    os.truncate(run.checkpoint / "weights.safetensors", 100)
    with pytest.raises(CheckpointError, match=r"weights.safetensors \(100 bytes\) does not match its checksum"):
        load_agent(run.folder)
