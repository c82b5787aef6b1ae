"""ExIt from end to end: its phases, what is learned in each, and that a run of it can be repeated and resumed."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Out, complaint
from training_runs import TIC_TAC_TOE, TINY, after, of_type, state_of

import athenan_spiel as ath
from athenan_spiel.config import (
    ExitConfig,
    ExplorationConfig,
    LearnerConfig,
    NetworkConfig,
    ReplayConfig,
    SelfPlayConfig,
    TargetsConfig,
    TrainingConfig,
)
from athenan_spiel.errors import ConfigError
from athenan_spiel.evaluators import Evaluation, Evaluator
from athenan_spiel.search import Budget, ExItMCTS
from athenan_spiel.search.exit import ExItUCT
from athenan_spiel.training import load_agent, preset, resume, train
from athenan_spiel.training.actor import WARM_START, Actor, RoundInPlay, search_at
from athenan_spiel.training.events import LearningFinished, MatchFinished
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.plan import plan_run

pytestmark = pytest.mark.usefixtures("forked_workers")

EXIT = dataclasses.replace(
    TINY,
    outcome="gain",
    search=ExitConfig(iterations=8, prior_weight=3.0, value_weight=0.5),
    self_play=SelfPlayConfig(method="apprentice", warm_start=0.25, values_after=0.5),
    exploration=ExplorationConfig(distribution="visits", completed=False),
    targets=TargetsConfig(method="terminal"),
    network=NetworkConfig(architecture="r1", layers=1, filters=4, neurons=8, policy="auto"),
    replay=ReplayConfig(method="plain", states=1000, sampling=0.032),
    learner=LearnerConfig(batch_size=32, precision="float32", value_loss="cross_entropy"),
)
"""Of twelve matches in rounds of three the first round is the warm start, and values are learned in the last two."""


def changed(**settings: Any) -> TrainingConfig:
    return dataclasses.replace(EXIT, **settings)


def with_self_play(**settings: Any) -> TrainingConfig:
    return changed(self_play=dataclasses.replace(EXIT.self_play, **settings))


# The phases


def test_what_is_searched_with_follows_the_run() -> None:
    base = dataclasses.replace(WARM_START, iterations=8)
    guided = EXIT.search
    blind = dataclasses.replace(guided, value_weight=0.0)
    for progress, expected in ((0.0, base), (0.24, base), (0.25, blind), (0.49, blind), (0.5, guided), (1.0, guided)):
        assert search_at(EXIT, progress) == (expected, expected is not base)
    assert (base.algorithm, base.rollouts, base.exploration_constant) == ("mcts", True, 0.25)


def test_without_phases_the_apprentice_plays_and_values_count_from_the_beginning() -> None:
    config = with_self_play(warm_start=None, values_after=None)
    assert search_at(config, 0.0) == (EXIT.search, True)
    assert config.self_play.has_values(0.0)


def test_values_that_are_never_learned_never_count() -> None:
    config = changed(
        search=dataclasses.replace(EXIT.search, value_weight=0.0),
        self_play=dataclasses.replace(EXIT.self_play, values_after=1.0),
    )
    assert not config.self_play.has_values(1.0)
    assert search_at(config, 1.0)[0].value_weight == 0.0


def played(config: TrainingConfig, progress: float) -> tuple[RoundInPlay, list[Any]]:
    """A round of three matches at this progress, and its records."""
    learner = LearnerSide(plan_run(TIC_TAC_TOE, config))
    actor = Actor(TIC_TAC_TOE, config, learner.outcome)
    playing = actor.play(learner.published(), learner.proven, learner.new_round(progress), progress)
    while playing.advance():
        pass
    return playing, [*iter(playing.take, None)]


def test_the_warm_start_asks_the_network_nothing_and_every_state_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_asked(*arguments: Any) -> None:
        raise AssertionError("the network is asked")

    monkeypatch.setattr("athenan_spiel.evaluators.network.NetworkEvaluator.submit", none_asked)
    playing, records = played(EXIT, 0.0)
    assert (playing.calls, playing.evaluations) == (0, 0)
    for record in records:
        assert (record.evaluations, record.requests) == (0, 0)
        assert len(record.targets) == record.length
        assert record.iterations == 8 * record.length
        assert set(record.targets.labels.values) == {record.returns[0]}
        assert record.targets.labels.policies.learned == record.length


@pytest.mark.parametrize("progress", [0.25, 0.75])
def test_after_it_one_state_of_a_match_is_learned(progress: float) -> None:
    playing, records = played(EXIT, progress)
    assert playing.plies == sum(record.length for record in records)
    assert playing.evaluations == sum(record.evaluations for record in records)
    for record in records:
        assert len(record.targets) == 1
        assert record.iterations == 8
        assert record.length < record.evaluations <= record.length + 1 + 8
        assert record.targets.labels.values.tolist() == [record.returns[0]]
        assert record.targets.labels.policies.learned == 1


@pytest.mark.parametrize(("temperature", "same"), [(1e-6, True), (100.0, False)])
def test_the_temperature_is_that_of_the_settings(temperature: float, same: bool) -> None:
    """Near zero all matches of one network are the same."""
    config = dataclasses.replace(with_self_play(temperature=temperature), matches_at_once=6)
    learner = LearnerSide(plan_run(TIC_TAC_TOE, config))
    asked = set()
    actor = Actor(TIC_TAC_TOE, config, learner.outcome)
    playing = actor.play(learner.published(), None, learner.new_round(0.5), 0.5)
    while playing.advance():
        pass
    while (match := playing._round.take()) is not None:
        asked.add(tuple(match.history))
    assert (len(asked) == 1) == same


def values_alone(learner: LearnerSide) -> list[bytes]:
    """The weights that the policy does not depend on."""
    return [weights.detach().numpy().tobytes() for weights in learner.network.of_values()]


@pytest.mark.parametrize(("progress", "learns_values"), [(0.0, False), (0.4, False), (0.5, True), (1.0, True)])
def test_the_policy_alone_is_learned_before_values(progress: float, learns_values: bool) -> None:
    learner = LearnerSide(plan_run(TIC_TAC_TOE, EXIT))
    actor = Actor(TIC_TAC_TOE, EXIT, learner.outcome)
    before, weights = values_alone(learner), {n: t.clone() for n, t in learner.network.state_dict().items()}
    assert before
    playing = actor.play(learner.published(), learner.proven, learner.new_round(progress), progress)
    while playing.advance():
        pass
    for record in iter(playing.take, None):
        _, learned = learner.learn(record, lambda: None)
        assert learned.loss is not None
        assert learned.policy_loss is not None
    assert (values_alone(learner) != before) == learns_values
    assert any((tensor != weights[name]).any() for name, tensor in learner.network.state_dict().items())


# Runs


def test_a_run_goes_through_its_phases(tmp_path: Path) -> None:
    events: list[ath.Event] = []
    run = train(TIC_TAC_TOE, EXIT, tmp_path / "run", callbacks=[events.append])
    matches = of_type(events, MatchFinished)
    assert [match.targets == match.length for match in matches] == [True] * 3 + [False] * 9
    assert [match.targets for match in matches[3:]] == [1] * 9
    assert [match.evaluations > 0 for match in matches] == [False] * 3 + [True] * 9
    assert all(0 < learned.policy_loss < 2.5 for learned in of_type(events, LearningFinished))
    assert 'method = "apprentice"' in (run.folder / "config.toml").read_text()


def test_a_run_is_repeated_and_resumed_to_the_bit(tmp_path: Path) -> None:
    whole = train(TIC_TAC_TOE, EXIT, tmp_path / "whole")
    again = train(TIC_TAC_TOE, EXIT, tmp_path / "again")
    parts = train(TIC_TAC_TOE, EXIT, tmp_path / "parts", stop=after(40))
    stops = []
    while parts.reason == "stopped":
        stops.append(parts.matches)
        parts = resume(tmp_path / "parts", stop=after(40))
    assert {3, 6, 9} <= set(stops), "between all its rounds, so in each of its phases"
    states = [state_of(run.checkpoint) for run in (whole, again, parts)]
    for name in ("weights", "optimizer", "replay", "generators"):
        assert states[0][name] == states[1][name] == states[2][name], name


def test_an_agent_thinks_as_the_expert_and_counts_values_that_are_learned(tmp_path: Path) -> None:
    run = train(TIC_TAC_TOE, dataclasses.replace(EXIT, milestone_matches=6), tmp_path / "run")
    agent = load_agent(run.folder, budget=Budget(iterations=20), seed=0)
    assert isinstance(agent.search, ExItMCTS)
    assert agent.search.selection == ExItUCT(0.05, 3.0, 0.5)
    state = TIC_TAC_TOE.new_initial_state()
    assert agent.step(state) in state.legal_actions()
    assert isinstance(agent.evaluator([state]), Evaluation)
    said = load_agent(run.folder, budget=Budget(iterations=20), search="exit(0.4)")
    assert isinstance(said.search, ExItMCTS)
    assert said.search.selection == ExItUCT(0.4, 3.0, 0.5)
    early = train(TIC_TAC_TOE, EXIT, tmp_path / "early", stop=lambda: True)
    before = load_agent(early.folder, budget=Budget(iterations=20))
    assert isinstance(before.search, ExItMCTS)
    assert before.search.selection == ExItUCT(0.05, 3.0, 0.0)


def test_the_preset_has_the_articles_loss_batch_and_head() -> None:
    config = preset("exit")
    assert (config.learner.value_loss, config.learner.batch_size, config.outcome) == ("cross_entropy", 250, "gain")
    assert (config.replay.method, config.targets.method) == ("plain", "terminal")
    assert (config.self_play.method, config.self_play.temperature) == ("apprentice", None)
    assert config.evaluation.search == "exit"


@pytest.mark.slow("480 games, half a minute")
def test_its_policy_learns_to_beat_random_play(tmp_path: Path) -> None:
    """The likeliest action without search, against random play, which wins 44 of 100 against itself."""
    config = changed(
        matches=480,
        matches_at_once=16,
        checkpoint_seconds=1000.0,
        search=dataclasses.replace(EXIT.search, iterations=60, prior_weight=10.0),
        network=dataclasses.replace(EXIT.network, filters=32),
        replay=ReplayConfig(method="plain", states=10_000, sampling=0.0256),
        learner=dataclasses.replace(EXIT.learner, batch_size=256, learning_rate=3e-3, l2=1e-5),
    )
    run = train(TIC_TAC_TOE, config, tmp_path / "run")
    evaluator = load_agent(run.folder, budget=Budget(iterations=1)).evaluator
    results = [met_at_random(evaluator, player, random.Random(i)) for i in range(50) for player in (0, 1)]
    assert results.count(1) >= 64
    assert results.count(-1) <= 14


def met_at_random(evaluator: Evaluator, player: int, rng: random.Random) -> int:
    """The gain of who plays the likeliest action, as this player."""
    state = TIC_TAC_TOE.new_initial_state()
    while not state.is_terminal():
        actions = state.legal_actions()
        if state.current_player() == player:
            answer = evaluator([state])
            assert isinstance(answer, Evaluation)
            assert answer.priors is not None
            state.apply_action(actions[int(np.argmax(answer.priors[0]))])
        else:
            state.apply_action(rng.choice(actions))
    return int(state.player_return(player))


# Refusals


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ["--network.policy", "none"],
            "network.policy must be 'auto', 'planes' or 'dense' with search.algorithm 'exit'",
        ),
        (
            ["--search.algorithm", "mcts", "--search.prior-weight", "none", "--network.policy", "none"],
            "network.policy must be 'auto', 'planes' or 'dense' with self_play.method 'apprentice', got 'none'",
        ),
        (["--self-play.values-after", "1"], "search.value_weight must be 0 with self_play.values_after 1"),
        (["--self-play.values-after", "1.5"], "self_play.values_after must be at most 1, got 1.5"),
        (["--self-play.warm-start", "-0.1"], "self_play.warm_start must be at least 0, got -0.1"),
        (["--self-play.temperature", "0"], "self_play.temperature must be more than zero, got 0"),
        (["--self-play.method", "search"], "self_play.warm_start must be none, as only 'apprentice' has it"),
        (["--search.prior-weight", "-1"], "search.prior_weight must be at least 0, got -1"),
        (["--search.value-weight", "-1"], "search.value_weight must be at least 0, got -1"),
        (
            ["--search.algorithm", "puct", "--search.prior-weight", "none"],
            "self_play.values_after must be none with search.algorithm 'puct', which uses values from the "
            "beginning, got 0.",
        ),
        (["--learner.policy-weight", "0"], "learner.policy_weight must be more than zero with self_play.method"),
        (["--targets.method", "tree"], "targets.method must be 'terminal' or 'root' where a policy is learned"),
        (["--outcome", "additive_depth"], "learner.value_loss must be 'squared' with outcome 'additive_depth'"),
        (["--seconds", "none"], "self_play.warm_start must be none in a run without an end, got"),
    ],
)
def test_what_does_not_go_together_is_a_line(
    words: list[str], problem: str, tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert problem in complaint(capsys, "train", "tic_tac_toe", "--preset", "exit", *words, "--folder", "run")
    assert not Path("run").exists()


def test_phases_need_an_end() -> None:
    with pytest.raises(ConfigError, match=r"self_play.values_after must be none in a run without an end, got 0.5: set"):
        dataclasses.replace(with_self_play(warm_start=None), matches=None)
    assert (
        dataclasses.replace(with_self_play(warm_start=None, values_after=None), matches=None).self_play.temperature
        is None
    )


def test_only_with_an_apprentice_are_there_its_settings() -> None:
    for name, value in {"temperature": 1.0, "warm_start": 0.1, "values_after": 0.1}.items():
        with pytest.raises(ConfigError, match=f"self_play.{name} must be none, as only 'apprentice' has it, got"):
            SelfPlayConfig(**{name: value})
