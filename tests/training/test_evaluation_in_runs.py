"""Requests and scores of evaluations during a run, and the selection of the best network."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from training_runs import EVALUATED, TIC_TAC_TOE, TINY

import agents
from agents import parse_spec
from athenan_spiel.arena.evaluation import evaluate
from athenan_spiel.config import EvaluationConfig, TrainingConfig
from athenan_spiel.config.evaluation import EvaluationRequest
from athenan_spiel.errors import AgentError, CheckpointError, ConfigError
from athenan_spiel.system.process_call import CallResult
from athenan_spiel.training import evaluation, resume, train
from athenan_spiel.training.best import BEST, RECORD, EvaluationScore, conditions, points_to_beat
from athenan_spiel.training.evaluation import (
    EvaluationError,
    OpponentScore,
    agent_spec,
    evaluation_request,
    require_opponents,
    scores,
)
from athenan_spiel.training.events import BestReplaced, EvaluationFailed, Event

pytestmark = pytest.mark.usefixtures("forked_workers")

GAME = "tic_tac_toe()"


def row(opponent: str, wins: int = 3, losses: int = 1, forfeits: int = 0) -> dict[str, Any]:
    """What `athenan eval --json` says of an opponent, as far as it counts here."""
    share = wins / (wins + losses)
    return {
        "opponent": opponent,
        "total": {"wins": wins, "draws": 0, "losses": losses},
        "points": {"estimate": share, "low": share / 2, "high": (1 + share) / 2, "confidence": 0.95},
        "forfeits": {"contender": [], "opponent": ["it crashed"] * forfeits},
    }


def result(*rows: dict[str, Any]) -> CallResult:
    return CallResult(value=list(rows))


def score_of(matches: int, *shares: float, config: TrainingConfig = TINY) -> EvaluationScore:
    told = [
        OpponentScore(
            opponent=f"mcts:{number}",
            wins=0,
            draws=0,
            losses=0,
            points=share,
            low=share - 0.1,
            high=share + 0.1,
            confidence=0.95,
            forfeits=0,
        )
        for number, share in enumerate(shares, 1)
    ]
    return EvaluationScore(matches, told, conditions(GAME, config))


@pytest.mark.parametrize(
    ("limit", "word"),
    [
        ({"seconds": 0.1}, "@0.1s"),
        ({"seconds": 0.00001}, "@0.00001s"),
        ({"seconds": 2}, "@2s"),
        ({"seconds": None, "iterations": 200}, "@200i"),
        ({"seconds": None, "evaluations": 5000}, "@5000e"),
    ],
)
def test_the_limit_of_a_move_is_part_of_the_word(limit: dict[str, Any], word: str) -> None:
    settings = EvaluationConfig(search="mcts(0.5)", **limit)
    assert agent_spec(settings, Path("/runs/x/evaluating")) == f"/runs/x/evaluating:mcts(0.5){word}"


def test_the_word_is_the_networks_whatever_its_folder_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("run", "-run", "a#1", "b@2s", "c:ubfm", "d e"):
        folder = Path(name) / "evaluating"
        folder.mkdir(parents=True)
        word = parse_spec(agent_spec(EvaluationConfig(), folder))
        assert word.bot == "athenan"
        assert word.params["checkpoint"] == str(tmp_path / name / "evaluating")
        assert (word.params["search"], word.params["seconds"]) == ("ubfm_k", 0.1)


def test_the_request_has_the_settings_of_the_run() -> None:
    network = Path("/runs/x/evaluating")
    plain = EvaluationRequest(
        agent="/runs/x/evaluating:ubfm_k@2i",
        opponents=("mcts:2", "random"),
        game="tic_tac_toe()",
        matches=2,
        opening_plies=2,
    )
    assert evaluation_request(GAME, EVALUATED, network) == plain
    there = evaluation_request(GAME, EVALUATED, network, cluster="10.0.0.1:6379")
    assert there == dataclasses.replace(plain, cluster="10.0.0.1:6379")
    own = dataclasses.replace(EVALUATED, outcome="my_module:worth")
    assert evaluation_request(GAME, own, network).allow_code == ("my_module:worth",)
    assert evaluation_request(GAME, EVALUATED, network, programs=()).allow_programs == ()


def test_scores_are_read_from_the_result() -> None:
    first, second = scores(result(row("mcts:2", 3, 1), row("random", 4, 0, forfeits=2)))
    assert (first.opponent, first.wins, first.draws, first.losses, first.forfeits) == ("mcts:2", 3, 0, 1, 0)
    assert (first.points, first.low, first.high, first.confidence) == (0.75, 0.375, 0.875, 0.95)
    assert (second.points, second.forfeits) == (1.0, 2)


def test_an_evaluation_that_failed_has_no_scores() -> None:
    with pytest.raises(EvaluationError, match=r"^no engine$"):
        scores(CallResult(problem="no engine"))


def test_a_series_that_was_only_forfeited_is_no_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(pyspiel.Bot):
        def restart_at(self, state: pyspiel.State) -> None:
            pass

        def step(self, state: pyspiel.State) -> int:
            raise AgentError("it crashed")

    make = agents.make_bot

    def make_bot(spec: agents.AgentSpec, game: pyspiel.Game, player_id: int, seed: int) -> pyspiel.Bot:
        return Failing() if spec.text == "random" else make(spec, game, player_id, seed)

    monkeypatch.setattr(agents, "make_bot", make_bot)
    request = EvaluationRequest(agent="mcts:2", opponents=("random",), game=GAME, matches=2)
    with pytest.raises(ConfigError, match=r"random forfeited 2 of 2 games, the first as .*it crashed"):
        evaluate(request)


@pytest.mark.parametrize(
    ("opponents", "problem"),
    [
        (("random", "mtcs:5"), "evaluation.opponents cannot be used: expected an agent.*did you mean 'mcts:5'"),
        (("runs/nowhere@1s",), "evaluation.opponents cannot be used: expected the folder of a run"),
        (("human",), "evaluation.opponents cannot be used: expected agents that play by themselves"),
    ],
)
def test_opponents_that_cannot_be_met_are_refused(opponents: tuple[str, ...], problem: str) -> None:
    config = dataclasses.replace(TINY, evaluation=EvaluationConfig(every_matches=3, opponents=opponents))
    with pytest.raises(ConfigError, match=problem) as raised:
        require_opponents(GAME, config)
    assert len(str(raised.value).splitlines()) == 1


def test_opponents_that_can_be_met_are_looked_at_alone() -> None:
    require_opponents(GAME, EVALUATED)
    too_long = dataclasses.replace(EVALUATED, evaluation=dataclasses.replace(EVALUATED.evaluation, opening_plies=9))
    with pytest.raises(ConfigError, match=r"evaluation.opponents cannot be used: openings of 9 random plies"):
        require_opponents(GAME, too_long)


def test_opponents_that_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "CHECK_SECONDS", 0.0)
    with pytest.raises(ConfigError, match=r"evaluation.opponents could not be loaded within 0 s"):
        require_opponents(GAME, EVALUATED)


def test_a_process_that_cannot_be_begun_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> None:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(evaluation, "ProcessCall", refused)
    with pytest.raises(ConfigError, match=r"evaluation.opponents cannot be checked: Resource temporarily"):
        require_opponents(GAME, EVALUATED)


# The best one


def test_points_are_the_mean_over_opponents() -> None:
    assert score_of(3, 0.6, 0.2).points == pytest.approx(0.4)
    low, high = score_of(3, 0.6, 0.2).interval
    assert (low, high) == pytest.approx((0.4 - math.sqrt(0.02) / 2, 0.4 + math.sqrt(0.02) / 2))
    assert score_of(3, 0.05).interval == pytest.approx((0.0, 0.15))
    assert score_of(3, 1.0).interval[1] == 1.0


def kept(folder: Path, content: bytes) -> Path:
    (folder / BEST).mkdir(exist_ok=True)
    (folder / BEST / RECORD).write_bytes(content)
    return folder


def test_points_are_compared_under_the_same_conditions_alone(tmp_path: Path) -> None:
    now = conditions(GAME, EVALUATED)
    assert points_to_beat(tmp_path, now) is None
    kept(tmp_path, score_of(3, 0.6, 0.2, config=EVALUATED).record())
    assert points_to_beat(tmp_path, now) == pytest.approx(0.4)
    evaluation = EVALUATED.evaluation
    for other in (
        dataclasses.replace(evaluation, opponents=("random", "mcts:2")),
        dataclasses.replace(evaluation, opening_plies=1),
        dataclasses.replace(evaluation, matches=4),
        dataclasses.replace(evaluation, iterations=3),
        dataclasses.replace(evaluation, search="ubfm"),
    ):
        assert points_to_beat(tmp_path, conditions(GAME, dataclasses.replace(EVALUATED, evaluation=other))) is None
    assert points_to_beat(tmp_path, conditions(GAME, dataclasses.replace(EVALUATED, seed=1))) is None
    assert points_to_beat(tmp_path, conditions("nim()", EVALUATED)) is None
    when = dataclasses.replace(evaluation, every_matches=7, every_seconds=3.0, final_seconds=None)
    assert points_to_beat(tmp_path, conditions(GAME, dataclasses.replace(EVALUATED, evaluation=when))) is not None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b"{" * 200,
        b'{"format": "athenan_spiel best", "conditions": CONDITIONS}',
        b'{"format": "athenan_spiel best", "conditions": CONDITIONS, "points": "1"}',
        b'{"format": "athenan_spiel best", "conditions": CONDITIONS, "points": true}',
        b'{"format": "athenan_spiel best", "conditions": CONDITIONS, "points": 1e300}',
        b'{"format": "another", "conditions": CONDITIONS, "points": 0.5}',
        b" " * 2**21,
    ],
)
def test_a_record_that_cannot_be_understood_is_not_replaced(tmp_path: Path, content: bytes) -> None:
    now = conditions(GAME, EVALUATED)
    kept(tmp_path, content.replace(b"CONDITIONS", json.dumps(now).encode()))
    with pytest.raises(CheckpointError, match=r"best.json cannot be read \(.*\): move .*best away; the next"):
        points_to_beat(tmp_path, now)


@pytest.mark.parametrize("kind", ["link", "FIFO", "missing"])
def test_a_record_that_is_no_file_is_not_replaced(tmp_path: Path, kind: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(score_of(3, 0.5, config=EVALUATED).record())
    (tmp_path / BEST).mkdir()
    if kind == "link":
        (tmp_path / BEST / RECORD).symlink_to(elsewhere)
    elif kind == "FIFO":
        os.mkfifo(tmp_path / BEST / RECORD)
    with pytest.raises(CheckpointError, match=r"best.json cannot be read \(.*\): move .*best away"):
        points_to_beat(tmp_path, conditions(GAME, EVALUATED))


def test_a_run_keeps_a_best_network_whose_record_is_damaged(tmp_path: Path) -> None:
    config = dataclasses.replace(EVALUATED, evaluation=dataclasses.replace(EVALUATED.evaluation, opponents=("random",)))
    run = train(TIC_TAC_TOE, config, tmp_path / "run")
    best = run.folder / BEST
    (best / RECORD).write_bytes(b"damaged")
    before = {path.name: path.read_bytes() for path in best.iterdir()}
    told: list[Event] = []
    resume(run.folder, more_matches=6, callbacks=[told.append])
    assert {path.name: path.read_bytes() for path in best.iterdir()} == before
    problems = [event.problem for event in told if isinstance(event, EvaluationFailed)]
    assert problems
    assert all("best.json cannot be read" in problem for problem in problems)
    assert not [event for event in told if isinstance(event, BestReplaced)]
