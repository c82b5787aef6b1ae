"""Games for one player: what is seen of Morpion Solitaire, what is proven, and that scores take the place of wins."""

from __future__ import annotations

import dataclasses
import gc
import io
import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from command_line import fails_in_match
from oracles.brute_force import BruteForce
from oracles.evaluators import noise
from training_runs import TINY

from athenan_spiel.arena import Scores, mean_interval
from athenan_spiel.cli.eval_tables import scores_table
from athenan_spiel.cli.main import main
from athenan_spiel.config import EvaluationConfig, TrainingConfig, UbfmConfig
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.errors import AgentError, ConfigError
from athenan_spiel.games import load_game
from athenan_spiel.games.conditions import supported_games
from athenan_spiel.games.facts import FACTS
from athenan_spiel.games.facts.observations import morpion_line_points
from athenan_spiel.outcomes import Score, gain
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.match import MatchResult
from athenan_spiel.play.series import play_series, play_single_player
from athenan_spiel.search import UBFM, Budget, Descent, Search, think
from athenan_spiel.search.choice import best, safest, safest_alone
from athenan_spiel.search.node import Node, NodeKind, StochasticNode
from athenan_spiel.training import load_agent, train
from athenan_spiel.training.callbacks import RunSummary
from athenan_spiel.training.events import MatchFinished

pytestmark = pytest.mark.usefixtures("forked_workers")

MORPION = load_game("morpion_solitaire")
CLIFF = load_game("cliff_walking(height=3,width=4,horizon=12)")
ALONE = dataclasses.replace(TINY, outcome="score", matches=2, matches_at_once=2, search=UbfmConfig(iterations=2))


def score_of(state: pyspiel.State) -> float:
    return float(state.returns()[0])


def random_state(game: pyspiel.Game, seed: int, plies: int) -> pyspiel.State:
    """After so many random actions; the match has not ended."""
    rng = random.Random(seed)
    while True:
        state = game.new_initial_state()
        while not state.is_terminal() and state.move_number() < plies:
            state.apply_action(rng.choice(state.legal_actions()))
        if not state.is_terminal():
            return state


def test_lines_have_the_points_that_openspiel_says() -> None:
    state = MORPION.new_initial_state()
    for action, points in enumerate(morpion_line_points()):
        said = state.action_to_string(0, action).split()
        assert [f"[{point // 13},{point % 13}]" for point in sorted(points)] == said


def test_the_planes_after_a_first_line_down_a_column() -> None:
    """Action 163: [2,7] is placed, and with [3,7], [4,7] and [5,7] used down the column."""
    state = MORPION.new_initial_state()
    encoder = Encoder(MORPION)
    assert encoder.shape == (5, 13, 13)
    before, after = encoder.encode([state, state.child(163)])
    printed = [[float(point) for point in row] for row in str(state).split()]
    np.testing.assert_array_equal(before[0], printed)
    assert before[0].sum() == 24
    assert not before[1:].any()
    assert {tuple(map(int, cell)) for cell in np.argwhere(after - before)} == {
        (0, 2, 7),
        *((2, row, 7) for row in (2, 3, 4, 5)),
    }


@pytest.mark.parametrize(("action", "plane"), [(52, 1), (163, 2), (285, 3), (384, 4)])
def test_each_direction_has_its_plane(action: int, plane: int) -> None:
    (planes,) = Encoder(MORPION).encode([MORPION.new_initial_state().child(action)])
    assert [int(planes[i].sum()) for i in range(1, 5)] == [4 * (i == plane) for i in range(1, 5)]


def test_a_position_is_seen_the_same_by_an_encoder_that_has_seen_others() -> None:
    encoder = Encoder(MORPION)
    state, other = random_state(MORPION, 1, 12), random_state(MORPION, 2, 18)
    first = encoder.encode([state])
    np.testing.assert_array_equal(encoder.encode([other, state])[1:], first)
    np.testing.assert_array_equal(first[0, 0], [[float(point) for point in row] for row in str(state).split()])


def test_what_is_loaded_without_a_tensor_has_an_observer() -> None:
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    without = {info.short_name for info in supported_games() if not kinds[info.short_name].provides_observation_tensor}
    assert without == {"morpion_solitaire"}
    assert without <= {name for name, facts in FACTS.items() if facts.observation}, "others only complete the tensor"


def test_states_outlive_those_they_come_from() -> None:
    """OpenSpiel's own would read freed memory here."""
    state = load_game("morpion_solitaire").new_initial_state().clone()
    gc.collect()
    others = [load_game("morpion_solitaire").new_initial_state() for _ in range(50)]
    del others
    rng = random.Random(0)
    while not state.is_terminal():
        state.apply_action(rng.choice(state.legal_actions()))
        assert state.returns() == [state.move_number()]


@pytest.mark.parametrize("game", [MORPION, CLIFF], ids=str)
def test_nobody_wins_alone(game: pyspiel.Game) -> None:
    state = random_state(game, 0, 2)
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    assert score_of(state) != 0
    assert gain(state) == 0


@pytest.mark.parametrize("kind", [Descent, UBFM])
@pytest.mark.parametrize(("game", "plies"), [(MORPION, 19), (CLIFF, 0), (CLIFF, 3)], ids=str)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_resolved_state_is_worth_what_brute_force_says(
    kind: type[Search], game: pyspiel.Game, plies: int, seed: int
) -> None:
    state = random_state(game, seed, plies)
    oracle = BruteForce(score_of, key=lambda state: (sorted_or_text(state), state.move_number(), state.is_terminal()))
    result = think(kind(game, outcome=Score()), state, Budget(iterations=100_000), noise(seed))
    assert result.is_resolved
    assert result.value == oracle.value(state)
    assert len(oracle.values_seen) > 1
    assert not result.completions.any()
    values = oracle.action_values(state)
    assert [values[action] for action in result.actions] == result.values.tolist()
    assert values[result.best_action] == max(values.values())


def sorted_or_text(state: pyspiel.State) -> object:
    return (
        tuple(sorted(state.history()))
        if state.get_game().get_type().short_name == "morpion_solitaire"
        else (
            str(state),
            tuple(state.returns()),
        )
    )


def test_in_a_resolved_state_and_with_chance_the_best_is_played_and_else_the_safest() -> None:
    node = Node([4, 5], [30.0, 20.0], NodeKind.MAXIMISER)
    node.visits = {0: 1, 1: 9}
    rng = random.Random(0)
    assert (safest(node, rng), safest_alone(node, rng)) == (1, 1)
    node.resolve(0, 0)
    node.resolve(1, 0)
    node.backup()
    assert (safest(node, rng), safest_alone(node, rng)) == (1, 0)
    rolled = StochasticNode([4, 5], [30.0, 20.0], NodeKind.MAXIMISER)
    rolled.visits = {0: 1, 1: 9}
    assert (safest(rolled, rng), safest_alone(rolled, rng)) == (1, 0)
    budget = Budget(iterations=1)
    assert Agent(MORPION, UBFM(MORPION), noise(0), budget=budget).decision is safest_alone
    tic_tac_toe = load_game("tic_tac_toe")
    assert Agent(tic_tac_toe, UBFM(tic_tac_toe), noise(0), budget=budget).decision is safest


@pytest.mark.parametrize("game", [MORPION, CLIFF], ids=str)
def test_it_trains_by_its_score(game: pyspiel.Game, tmp_path: Path) -> None:
    told: list[Any] = []
    run = train(game, ALONE, tmp_path / "run", callbacks=[told.append])
    assert (run.reason, run.matches) == ("matches", 2)
    matches = [event for event in told if isinstance(event, MatchFinished)]
    assert [len(match.returns) for match in matches] == [1, 1]
    if game is MORPION:
        assert all(match.returns == (match.length,) for match in matches)
    decisions = [load_agent(run.folder, search=search).decision for search in (None, "ubfm_s", "ubfm", "mcts")]
    assert decisions == [safest_alone, safest_alone, best, safest_alone]


@pytest.mark.parametrize("outcome", ["gain", "additive_depth", "multiplicative_depth", "mobility", "presence"])
def test_another_worth_than_the_score_is_refused(outcome: str, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="outcome must be 'score' in a game for one player such as 'morpion_solitaire"
    ):
        train(MORPION, TrainingConfig(outcome=outcome), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_matches_against_mcts_are_refused(tmp_path: Path) -> None:
    config = dataclasses.replace(ALONE, evaluation=EvaluationConfig(every_matches=1))
    with pytest.raises(ConfigError, match=r"evaluation\.every_matches must be none in a game for one player .*, got 1"):
        train(MORPION, config, tmp_path / "run")


def test_the_summary_speaks_of_scores() -> None:
    summary = RunSummary()
    for number, score in enumerate([20.0, 31.0, 24.0], start=1):
        summary(
            MatchFinished(
                matches=number, length=9, returns=(score,), iterations=1, evaluations=1, requests=1, targets=1
            )
        )
    assert summary.results_text == "score 25 on average; the best of this session is 31"
    summary(MatchFinished(matches=4, length=9, returns=(15_112.0,), iterations=1, evaluations=1, requests=1, targets=1))
    assert str(summary.results_text).endswith("the best of this session is 15112")


class First:
    """Plays the first legal action, or one that is not legal."""

    def __init__(self, *, legal: bool = True) -> None:
        self.legal = legal

    def restart_at(self, state: pyspiel.State) -> None:
        self.began = state.history()

    def step(self, state: pyspiel.State) -> int:
        return int(state.legal_actions()[0]) if self.legal else -1

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        raise AssertionError("there is no other player")


def test_matches_by_oneself() -> None:
    heard: list[MatchResult] = []
    results = play_single_player(MORPION, First(), 3, opening_plies=2, seed=4, on_match=heard.append)
    assert list(results) == heard
    assert len({result.opening for result in results}) == 3
    assert all(result.returns == (len(result.history),) for result in results)
    assert play_single_player(MORPION, First(), 2)[0].history == play_single_player(MORPION, First(), 1)[0].history


def test_matches_that_cannot_be_played_are_refused() -> None:
    with pytest.raises(ConfigError, match="expected a game for one player, got 'tic_tac_toe"):
        play_single_player(load_game("tic_tac_toe"), First(), 1)
    with pytest.raises(ConfigError, match="matches must be at least 1, got 0"):
        play_single_player(MORPION, First(), 0)
    with pytest.raises(AgentError, match="player 0"):
        play_single_player(MORPION, First(legal=False), 1)
    with pytest.raises(ConfigError, match="a series needs a game for two or more players, got 'morpion_solitaire"):
        play_series(MORPION, lambda _: First(), lambda _: First(), 2)


def scored(*scores: float) -> Scores:
    return Scores("runs/ms", tuple(MatchResult((1, 2), 0, (score,), (0.5,)) for score in scores))


def test_the_interval_of_a_mean_by_hand() -> None:
    """Of 20, 22, 27: mean 23, standard deviation √13, Student's quantile with two degrees of freedom 4.3027."""
    scores = scored(20.0, 22.0, 27.0)
    mean = scores.mean
    reach = 4.302653 * math.sqrt(13 / 3)
    assert (mean.estimate, mean.low, mean.high) == pytest.approx((23.0, 23 - reach, 23 + reach))
    assert (scores.best, scores.worst) == (27.0, 20.0)
    assert scores.to_json() == {
        "agent": "runs/ms",
        "matches": 3,
        "mean": mean.to_json(),
        "best": 27.0,
        "worst": 20.0,
        "scores": [20.0, 22.0, 27.0],
        "seconds": 1.5,
        "cut": 0,
        "failed": [],
    }
    for equal in (scored(5.0), scored(5.0, 5.0, 5.0)):
        assert equal.mean.to_json() == {"estimate": 5.0, "low": None, "high": None, "confidence": 0.95}


def test_means_of_nothing_or_of_no_confidence_are_refused() -> None:
    with pytest.raises(ConfigError, match="at least one game, got none"):
        mean_interval([])
    with pytest.raises(ConfigError, match=r"between 0 and 1, got 1\.5"):
        mean_interval([1.0], 1.5)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(train(MORPION, ALONE, tmp_path_factory.mktemp("runs") / "ms").folder)


def test_eval_compares_scores(trained: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["eval", f"{trained}@1i", "--against", "random", "--matches", "3"]
    assert main([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["game"], document["opening_plies"], document["finished"]) == ("morpion_solitaire()", 0, True)
    assert [(scores["agent"], scores["matches"]) for scores in document["scores"]] == [
        (f"{trained}@1i", 3),
        ("random", 3),
    ]
    assert len(set(document["scores"][1]["scores"])) > 1, "matches differ"
    assert main(words) == 0
    table = capsys.readouterr().out
    assert "mean score" in table
    assert "won" not in table


def test_large_scores_are_shown_in_full() -> None:
    results = tuple(MatchResult((), 0, (score,), (0.0,)) for score in (12_000.5, 14_000.5))
    table = scores_table(MORPION, [Scores("a", results)])
    assert [next(iter(column.cells)) for column in table.columns][1:3] == ["2", "13000.5"]


def test_an_agent_that_fails_takes_no_score_with_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fails_in_match(monkeypatch, 4, AgentError("an illegal move"))
    words = ["eval", "random", "--against", "random", "--game", "morpion_solitaire", "--matches", "2", "--json"]
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.err == "athenan eval: an illegal move\n"
    answer = json.loads(captured.out)
    assert (answer["finished"], answer["reason"]) == (False, "an illegal move")
    assert [one["matches"] for one in answer["scores"]] == [2, 1]


@pytest.mark.parametrize(("side", "said"), [([], "You have scored"), (["--second"], "The agent has scored")])
def test_one_plays_alone_or_lets_the_agent_play(
    trained: str, side: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = MORPION.new_initial_state()
    lines = []
    while not state.is_terminal():
        lines.append(str(state.legal_actions()[0]))
        state.apply_action(state.legal_actions()[0])
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))
    assert main(["play", trained, "--seconds", "0.001", *side]) == 0
    ending = capsys.readouterr().out.splitlines()[-1]
    assert ending.startswith(said)
    if not side:
        assert ending == f"You have scored {len(lines)}."


def test_games_says_how_it_is_trained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "morpion"]) == 0
    assert "yes, for one player: by --outcome score" in capsys.readouterr().out
