"""Every method of learning trains as its settings say, and a run that was cut short ends with the same weights."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from training_runs import TINY, state_of

from athenan_spiel.config import ExplorationConfig, ReplayConfig, TargetsConfig, TrainingConfig
from athenan_spiel.search.choice import Decision, make_decision
from athenan_spiel.training import resume, train
from athenan_spiel.training.actor import Actor
from athenan_spiel.training.events import Event, LearningFinished, MatchFinished
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.plan import plan_run

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")

METHODS: dict[str, dict[str, Any]] = {
    "coefficients in a plain replay": {
        "targets": TargetsConfig(coefficients=True),
        "replay": ReplayConfig(method="plain", states=300, sampling=0.2),
        "exploration": ExplorationConfig(distribution="epsilon_greedy", schedule="annealed"),
    },
    "leaves in a per-match replay": {
        "targets": TargetsConfig(leaves=True),
        "replay": ReplayConfig(method="per_match", matches=4, sampling=0.1),
        "exploration": ExplorationConfig(distribution="softmax"),
    },
    "roots without replay": {
        "targets": TargetsConfig(method="root"),
        "replay": ReplayConfig(method="none"),
        "exploration": ExplorationConfig(distribution="best", completed=False),
    },
    "ends in a stratified replay": {
        "targets": TargetsConfig(method="terminal"),
        "exploration": ExplorationConfig(schedule="constant", exploitation=0.5, completed=False),
    },
    "coefficients and leaves in a stratified replay": {
        "targets": TargetsConfig(coefficients=True, leaves=True),
    },
}


def case(**changes: Any) -> TrainingConfig:
    return dataclasses.replace(TINY, **changes)


@pytest.mark.parametrize("changes", METHODS.values(), ids=METHODS)
def test_a_run_that_was_stopped_ends_with_the_weights_of_one_that_was_not(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    played = 0

    def callback(event: Event) -> None:
        nonlocal played
        played = max(played, event.matches)

    config = case(**changes)
    stopped = train(TIC_TAC_TOE, config, tmp_path / "run", callbacks=[callback], stop=lambda: played >= 6)
    assert (stopped.reason, stopped.matches) == ("stopped", 6)
    resumed = resume(tmp_path / "run")
    assert resumed.matches == config.matches
    assert state_of(resumed.checkpoint) == state_of(train(TIC_TAC_TOE, config, tmp_path / "whole").checkpoint)


def learned(config: TrainingConfig, folder: Path) -> tuple[list[MatchFinished], list[LearningFinished], bytes]:
    """What three matches had to teach, what was learned of it, and the weights in the end."""
    events: list[Event] = []
    run = train(TIC_TAC_TOE, dataclasses.replace(config, matches=3), folder, callbacks=[events.append])
    weights: dict[str, bytes] = state_of(run.checkpoint)["weights"]
    return (
        [event for event in events if isinstance(event, MatchFinished)],
        [event for event in events if isinstance(event, LearningFinished)],
        b"".join(weights.values()),
    )


def test_each_method_of_targets_has_its_own_states_and_weights(tmp_path: Path) -> None:
    """The first round's matches are the same for all, as no weights have been learned yet."""
    methods = {
        "tree": TargetsConfig(),
        "coefficients": TargetsConfig(coefficients=True),
        "leaves": TargetsConfig(leaves=True),
        "root": TargetsConfig(method="root"),
        "terminal": TargetsConfig(method="terminal"),
    }
    states, weights = {}, set()
    for name, targets in methods.items():
        matches, _, final = learned(case(targets=targets), tmp_path / name)
        states[name] = [match.targets for match in matches]
        weights.add(final)
        lengths = [match.length for match in matches]
    assert states["root"] == states["terminal"] == [length + 1 for length in lengths]
    assert states["coefficients"] == states["tree"]
    both = zip(states["tree"], states["leaves"], lengths, strict=True)
    assert all(length + 1 < tree < leaves for tree, leaves, length in both)
    assert len(weights) == len(methods)


def test_moves_are_decided_by_progress_and_the_outcomes_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[ExplorationConfig, float, float]] = []

    def spy(config: ExplorationConfig, progress: float, scale: float, own: Decision) -> Decision:
        asked.append((config, progress, scale))
        return make_decision(config, progress, scale, own)

    monkeypatch.setattr("athenan_spiel.training.actor.make_decision", spy)
    learner = LearnerSide(plan_run(TIC_TAC_TOE, case(exploration=ExplorationConfig(distribution="softmax"))))
    Actor(TIC_TAC_TOE, learner.config, learner.outcome).play(learner.published(), None, learner.new_round(), 0.3)
    assert asked == [(learner.config.exploration, 0.3, learner.outcome.scale)]
    assert learner.outcome.scale > 1


def test_each_method_of_replay_learns_its_own_number_of_states(tmp_path: Path) -> None:
    methods: list[Any] = ["stratified", "plain", "per_match", "none"]
    learning: dict[str, list[int]] = {}
    for method in methods:
        replay = ReplayConfig(method=method, matches=2, duplication=1.0, states=50, sampling=0.4)
        matches, phases, _ = learned(case(replay=replay), tmp_path / method)
        learning[method] = [phase.states_learned for phase in phases]
        states = [match.targets for match in matches]
    assert learning["none"] == states
    assert learning["plain"] == [20, 20, 20]
    kept = [states[0], states[0] + states[1], states[1] + states[2]]
    assert learning["per_match"] == [-(-2 * count // 5) for count in kept]
    halves = [-(-count // 2) for count in states]
    assert learning["stratified"] == [halves[0], halves[0] + halves[1], halves[1] + halves[2]]
