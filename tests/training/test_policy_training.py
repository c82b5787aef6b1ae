"""Trainings whose networks learn a policy: AlphaZero's, from end to end."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path

import numpy as np
import pyspiel
import pytest
from command_line import Out, complaint
from training_runs import TIC_TAC_TOE, TINY, state_of

import athenan_spiel as ath
from athenan_spiel.config import (
    ExplorationConfig,
    GumbelConfig,
    NetworkConfig,
    PuctConfig,
    TargetsConfig,
    TrainingConfig,
)
from athenan_spiel.encoding import Encoder
from athenan_spiel.encoding.action_planes import find_action_planes
from athenan_spiel.errors import AgentError, CheckpointError, ConfigError
from athenan_spiel.evaluators import Evaluation
from athenan_spiel.learning import make_targets
from athenan_spiel.learning.augmentation import Augmentation, ChosenSymmetries
from athenan_spiel.learning.labels import Policies
from athenan_spiel.outcomes import make_outcome
from athenan_spiel.play.self_play import Round, SelfPlayGame
from athenan_spiel.search import Budget, make_search
from athenan_spiel.search.choice import safest
from athenan_spiel.search.puct import PUCT
from athenan_spiel.training import load_agent, resume, train
from athenan_spiel.training.checkpoints import read_checkpoint
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.loading import usual_search
from athenan_spiel.training.model import make_model
from athenan_spiel.training.plan import plan_run

ALPHAZERO = dataclasses.replace(
    TINY,
    outcome="gain",
    search=PuctConfig(iterations=8, root_noise=0.25),
    exploration=ExplorationConfig(distribution="visits", completed=False, plies=4),
    targets=TargetsConfig(method="terminal"),
    network=NetworkConfig(architecture="r1", layers=1, filters=4, neurons=8, policy="auto"),
)


GUMBEL = dataclasses.replace(
    ALPHAZERO,
    search=GumbelConfig(iterations=8, root_noise=1.0),
    exploration=ExplorationConfig(distribution="search", completed=False),
)


def played(config: TrainingConfig, game: pyspiel.Game = TIC_TAC_TOE) -> SelfPlayGame:
    """A match of self-play by a new network."""
    outcome = make_outcome(config.outcome, game, 0)
    model = make_model(game, config, outcome)
    model.evaluator.load(model.network)
    search = make_search(game, config.search, outcome)
    matches = Round(game, search, model.evaluator, safest, Budget(iterations=config.search.iterations), [7])
    while matches.advance():
        pass
    match = matches.take()
    assert match is not None
    return match


@pytest.mark.parametrize("method", ["terminal", "root"])
def test_each_state_but_the_last_is_learned_with_the_shares_of_its_visits(method: str) -> None:
    config = dataclasses.replace(ALPHAZERO, targets=TargetsConfig(method=method))  # type: ignore[arg-type]
    match = played(config)
    outcome = make_outcome("gain", TIC_TAC_TOE, 0)
    encoder = Encoder(TIC_TAC_TOE)
    targets = make_targets(config.targets, encoder, outcome, policies=True).read(match)
    moves = match.states[:-1]
    assert len(targets) == len(moves)
    expected = [outcome(match.states[-1])] * len(moves) if method == "terminal" else match.values[:-1]
    np.testing.assert_allclose(targets.labels.values, expected, rtol=1e-6)
    policies = targets.labels.policies
    assert policies is not None
    for i, state in enumerate(moves):
        one = policies.take(slice(i, i + 1))
        assert one.actions.tolist() == state.legal_actions()
        assert one.shares.sum() == pytest.approx(1)
        simulations = one.shares * config.search.iterations
        assert one.shares.max() > 0
        if i == 0:  # later ones have the simulations of the tree that they found
            assert simulations == pytest.approx(np.round(simulations), abs=1e-5)


def test_a_policy_is_mirrored_with_its_state() -> None:
    """The centre's neighbour to the right becomes the one to the left, and so does its share."""
    match = played(ALPHAZERO)
    outcome = make_outcome("gain", TIC_TAC_TOE, 0)
    encoder = make_model(TIC_TAC_TOE, ALPHAZERO, outcome).encoder
    targets = make_targets(ALPHAZERO.targets, encoder, outcome, policies=True).read(match)
    rng = np.random.default_rng(0)
    flip = ChosenSymmetries.find(TIC_TAC_TOE, encoder, "flip_horizontal", rng, policies=True)
    doubled = Augmentation(flip, rng)(targets)
    policies = doubled.labels.policies
    assert policies is not None
    count = len(targets)
    assert (len(doubled), policies.learned) == (2 * count, 2 * count)
    for i in range(count):
        plain, image = policies.take(slice(i, i + 1)), policies.take(slice(count + i, count + i + 1))
        flipped = {3 * (a // 3) + 2 - a % 3: s for a, s in zip(plain.actions, plain.shares, strict=True)}
        assert dict(zip(image.actions, image.shares, strict=True)) == flipped


def test_a_state_with_an_action_without_an_image_has_no_policy_there() -> None:
    policies = Policies.of([([0, 1], [0.5, 0.5]), ([2], [1.0]), ([0, 2], [0.25, 0.75])])
    mirrored = policies.renamed(np.array([[0, 1, 2], [1, 0, -1]]), np.array([1, 0, 1]))
    assert mirrored.counts.tolist() == [2, 1, 0]
    assert mirrored.actions.tolist() == [1, 0, 2]
    assert mirrored.shares.tolist() == [0.5, 0.5, 1.0]


@pytest.mark.parametrize(("settings", "symmetries"), [(ALPHAZERO, "none"), (ALPHAZERO, "all"), (GUMBEL, "none")])
def test_a_run_that_was_stopped_ends_with_the_weights_of_one_that_was_not(
    settings: TrainingConfig, symmetries: str, tmp_path: Path
) -> None:
    config = dataclasses.replace(settings, encoding=ath.EncodingConfig(symmetries=symmetries))
    whole = train(TIC_TAC_TOE, config, tmp_path / "whole")
    train(TIC_TAC_TOE, dataclasses.replace(config, matches=6), tmp_path / "parts")
    parts = resume(tmp_path / "parts", more_matches=6)
    first, second = state_of(whole.checkpoint), state_of(parts.checkpoint)
    for name in ("weights", "optimizer", "replay", "generators"):
        assert first.get(name) == second.get(name), name


def test_the_trained_agent_thinks_as_it_was_trained(tmp_path: Path) -> None:
    run = train(TIC_TAC_TOE, ALPHAZERO, tmp_path / "az")
    agent = load_agent(run.folder, budget=Budget(iterations=20), seed=0)
    assert agent.search.needs_priors
    assert usual_search(ALPHAZERO) == "puct"
    state = TIC_TAC_TOE.new_initial_state()
    assert agent.step(state) in state.legal_actions()
    answer = agent.evaluator([state])
    assert isinstance(answer, Evaluation)
    assert answer.priors is not None
    over_values = load_agent(run.folder, budget=Budget(iterations=20), seed=0, search="ubfm_s")
    assert isinstance(over_values.evaluator([state]), np.ndarray), "nobody asks for priors there"
    assert over_values.step(state) in state.legal_actions()
    values_alone = train(TIC_TAC_TOE, dataclasses.replace(TINY, matches=3), tmp_path / "values")
    with pytest.raises(AgentError, match=r"the search 'puct' needs a network with a policy, and that of .*values' has"):
        load_agent(values_alone.folder, search="puct")


def test_losses_of_both_are_told(tmp_path: Path) -> None:
    events: list[ath.Event] = []
    train(TIC_TAC_TOE, dataclasses.replace(ALPHAZERO, matches=3), tmp_path / "az", callbacks=[events.append])
    losses = [event.policy_loss for event in events if type(event).__name__ == "LearningFinished"]  # type: ignore[union-attr]
    assert len(losses) == 3
    assert all(loss is not None and 0 < loss < 2.5 for loss in losses)
    assert '"policy_loss": ' in (tmp_path / "az" / "metrics.jsonl").read_text()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--network.policy", "auto"], "network.policy must be 'none' with search.algorithm 'descent'"),
        (["--search.algorithm", "puct"], "network.policy must be 'auto', 'planes' or 'dense' with search.algorithm"),
        (
            ["--preset", "alphazero", "--targets.method", "tree"],
            "targets.method must be 'terminal' or 'root' where a policy is learned",
        ),
        (["--preset", "alphazero", "--search.iterations", "0"], "search.iterations must be"),
        (["--preset", "alphazero", "--network.policy", "planes"], "='planes' needs actions on the cells of the board"),
        (["--learner.value-loss", "cross_entropy"], "learner.value_loss must be 'squared' with outcome"),
        (["--evaluation.search", "puct"], "evaluation.search must be a search that needs no policy"),
    ],
)
def test_what_does_not_go_together_is_a_line(
    words: list[str], problem: str, tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert problem in complaint(capsys, "train", "connect_four", *words, "--folder", "run")
    assert not Path("run").exists()


def test_a_checkpoint_without_a_policy_is_refused_where_one_is_asked_for(tmp_path: Path, capsys: Out) -> None:
    run = train(TIC_TAC_TOE, dataclasses.replace(TINY, matches=3), tmp_path / "values")
    told = complaint(capsys, "eval", f"{run.folder}:puct@5i", "--against", "random", "--matches", "2")
    assert "the search 'puct' needs a network with a policy" in told


def test_a_search_without_priors_says_so() -> None:
    search = make_search(TIC_TAC_TOE, ALPHAZERO.search, make_outcome("gain", TIC_TAC_TOE, 0))
    with pytest.raises(ath.AthenanError, match=r"prior|policy"):
        ath.think(
            search,
            TIC_TAC_TOE.new_initial_state(),
            Budget(iterations=3),
            lambda states: np.zeros(len(states)),
            rng=random.Random(0),
        )


def test_memory_of_the_head_counts(tmp_path: Path) -> None:
    huge = dataclasses.replace(ALPHAZERO, network=NetworkConfig(policy="dense", filters=64, policy_filters=100_000))
    with pytest.raises(ConfigError, match="this network needs"):
        train(pyspiel.load_game("chess"), huge, tmp_path / "huge")


def test_policies_of_actions_that_there_are_not_are_refused(tmp_path: Path) -> None:
    run = train(TIC_TAC_TOE, dataclasses.replace(ALPHAZERO, matches=3), tmp_path / "az")
    checkpoint = read_checkpoint(run.checkpoint)
    plan = plan_run(TIC_TAC_TOE, ALPHAZERO, header=checkpoint.header)
    for actions in (99, -1):
        replay = {**checkpoint.replay, "policy_actions": np.full_like(checkpoint.replay["policy_actions"], actions)}
        with pytest.raises(CheckpointError, match=r"actions up to|policy_actions"):
            LearnerSide(plan, dataclasses.replace(checkpoint, replay=replay))


def test_the_agent_has_the_settings_of_the_search_that_it_was_trained_with(tmp_path: Path) -> None:
    config = dataclasses.replace(ALPHAZERO, matches=3)
    config = dataclasses.replace(config, search=dataclasses.replace(config.search, exploration_constant=3.0))
    run = train(TIC_TAC_TOE, config, tmp_path / "az")
    for search, expected in ((None, 3.0), ("puct", 3.0), ("puct(0.5)", 0.5)):
        made = load_agent(run.folder, search=search).search
        assert isinstance(made, ath.AlphaZeroMCTS)
        assert made.selection == PUCT(expected)
        assert made.noise.share == 0, "an agent plays without noise"


def test_a_game_of_any_size_is_looked_at_in_no_time() -> None:
    huge = pyspiel.load_game("hex(num_cols=100,num_rows=100)")
    assert find_action_planes(huge, Encoder(huge)) is None
