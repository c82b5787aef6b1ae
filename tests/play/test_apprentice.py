"""Matches of an apprentice: it plays by its policy alone, and one state, drawn at random, is searched."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest
from oracles.brute_force import load
from oracles.evaluators import noise
from priors import drawn, with_priors

from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.errors import EvaluatorError
from athenan_spiel.evaluators import Evaluation
from athenan_spiel.learning.targets import root_targets, terminal_targets
from athenan_spiel.play.apprentice import apprentice_match, sharpened
from athenan_spiel.play.self_play import Round, SelfPlayGame, Thinking
from athenan_spiel.search import AlphaZeroMCTS, Budget, ExItMCTS, Search
from athenan_spiel.search.drive import answered
from athenan_spiel.search.node import Node

GAME = load("tic_tac_toe")
BUDGET = Budget(iterations=12)
EVALUATOR = with_priors(noise(0), drawn(0))


def play_alone(
    seed: int, expert: Search | None = None, temperature: float = 1.0, evaluator: Any = EVALUATOR
) -> SelfPlayGame:
    expert = expert or ExItMCTS(GAME)
    return answered(apprentice_match(expert.game, Thinking(expert, BUDGET), sharpened(temperature), seed), evaluator)


def everything(match: SelfPlayGame) -> tuple[Any, ...]:
    return (
        (match.seed, match.history, match.returns, match.values, match.policies[0][1]),
        (match.iterations, match.evaluations, match.requests),
        [(key, node.values, node.visits) for key, node in match.tree.table.items()],
    )


# The draw


def test_moves_are_drawn_by_the_policy_to_the_power_of_one_over_the_temperature() -> None:
    policy, rng, count = [0.5, 0.3, 0.2, 0.0], random.Random(0), 20_000
    for temperature in (0.5, 1.0, 3.0):
        weights = np.array(policy) ** (1 / temperature)
        shares = Counter(sharpened(temperature)(policy, rng) for _ in range(count))
        assert [shares[i] / count for i in range(4)] == pytest.approx(weights / weights.sum(), abs=0.015)
        assert shares[3] == 0


def test_it_is_the_softmax_of_the_logits_with_that_temperature() -> None:
    """0.1, the article's: logits 0.1 apart are e to 1."""
    logits = np.array([0.3, 0.2, 0.1])
    policy = np.exp(logits) / np.exp(logits).sum()
    rng, count = random.Random(0), 20_000
    shares = Counter(sharpened(0.1)(policy.tolist(), rng) for _ in range(count))
    assert [shares[i] / count for i in range(3)] == pytest.approx(
        np.exp(logits / 0.1) / np.exp(logits / 0.1).sum(), abs=0.015
    )


def test_a_temperature_near_zero_takes_the_likeliest_and_tiny_probabilities_are_no_trouble() -> None:
    assert {sharpened(1e-6)([0.3, 0.4, 0.3], random.Random(s)) for s in range(30)} == {1}
    assert {sharpened(1e-3)([1e-300, 1e-320, 0.0], random.Random(s)) for s in range(30)} == {0}


# The match


class Watched(ExItMCTS):
    """Counts the states from which it is asked to search."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.roots: list[list[int]] = []

    def iteration(self, tree: Any, state: pyspiel.State, rng: random.Random, root: Node | None = None) -> Any:
        self.roots.append(state.history())
        return super().iteration(tree, state, rng, root)


def test_one_state_of_a_match_is_searched() -> None:
    for seed in range(20):
        expert = Watched(GAME)
        match = play_alone(seed, expert)
        analysed, end = match.states
        assert expert.roots == [analysed.history()] * BUDGET.iterations
        assert end.is_terminal()
        assert end.history() == match.history
        assert match.history[: len(analysed.history())] == analysed.history()
        assert len(analysed.history()) < len(match.history)
        assert match.iterations == BUDGET.iterations
        assert match.values[1] == end.player_return(0) == match.returns[0]


def test_each_state_but_the_last_is_searched_as_often() -> None:
    """Among matches of one length; χ² of 6 degrees of freedom is above 22.5 once in a thousand."""

    def first_legal(policy: Sequence[float], rng: random.Random) -> int:
        return 0

    plies = Counter()
    expert = ExItMCTS(GAME)
    for seed in range(700):
        requests = apprentice_match(GAME, Thinking(expert, Budget(iterations=1)), first_legal, seed)
        match = answered(requests, EVALUATOR)
        plies[match.states[0].move_number()] += 1
    assert len(match.history) == 7, "the match in which the first action is played each time"
    assert sorted(plies) == list(range(7))
    assert sum((n - 100) ** 2 / 100 for n in plies.values()) < 22.5


def test_its_questions_are_a_state_a_move_and_then_the_experts() -> None:
    asked: list[list[str]] = []

    def recorded(states: Sequence[pyspiel.State]) -> Evaluation:
        asked.append([state.history_str() for state in states])
        return EVALUATOR(states)

    match = play_alone(3, evaluator=recorded)
    moves = len(match.history)
    states = [", ".join(map(str, match.history[:ply])) for ply in range(moves)]
    assert asked[:moves] == [[state] for state in states]
    assert asked[moves] == [match.states[0].history_str()], "the expert's tree is new"
    assert (match.requests, match.evaluations) == (len(asked), sum(map(len, asked)))


def test_moves_follow_the_policy_and_are_legal() -> None:
    def sure(state: pyspiel.State) -> list[float]:
        actions = state.legal_actions()
        return [float(action == actions[-1]) for action in actions]

    match = play_alone(1, evaluator=with_priors(noise(0), sure))
    assert match.history == [8, 7, 6, 5, 4, 3, 2][: len(match.history)]
    for seed in range(10):
        state = GAME.new_initial_state()
        for action in play_alone(seed).history:
            assert action in state.legal_actions()
            state.apply_action(action)


@pytest.mark.parametrize("expert", [ExItMCTS(GAME), AlphaZeroMCTS(GAME)], ids=["exit", "puct"])
def test_what_is_learned_is_one_state_with_its_visits_and_the_end(expert: Search) -> None:
    encoder = Encoder(GAME)
    match = play_alone(5, expert)
    node = match.tree.table[match.tree.key(match.states[0])]
    visits = np.array([node.count(i) for i in range(len(node.actions))])
    for method, value in ((terminal_targets, match.returns[0]), (root_targets, match.values[0])):
        targets = method(match, encoder, policies=True)
        assert len(targets) == 1
        assert targets.labels.values.tolist() == pytest.approx([value])
        policies = targets.labels.policies
        assert policies is not None
        assert policies.actions.tolist() == match.states[0].legal_actions()
        assert policies.shares == pytest.approx(visits / visits.sum())
        observation = np.empty((1, *encoder.shape), np.float32)
        encoder.encode([match.states[0]], observation)
        np.testing.assert_array_equal(targets.rows[0].unpack().reshape(observation.shape), observation)


def test_a_policy_is_needed() -> None:
    with pytest.raises(EvaluatorError, match="an apprentice plays by the probability of each action"):
        play_alone(1, evaluator=noise(0))


# Many at once


@pytest.mark.parametrize("spec", ["tic_tac_toe", "dots_and_boxes(num_rows=1,num_cols=2)"])
def test_matches_of_a_round_are_those_played_one_at_a_time(spec: str) -> None:
    game, seeds = load(spec), [11, 5, 8, 2, 30]
    expert = ExItMCTS(game)
    alone = [everything(play_alone(seed, expert)) for seed in seeds]
    assert len({tuple(one[0][1]) for one in alone}) > 1
    for count in range(1, 6):
        together = Round(game, expert, EVALUATOR, sharpened(1.0), BUDGET, seeds[:count], play=apprentice_match)
        while together.advance():
            pass
        assert [everything(match) for match in together.matches()] == alone[:count]


def test_the_budget_may_be_in_seconds() -> None:
    budget = Budget(seconds=0.05)
    together = Round(GAME, ExItMCTS(GAME), EVALUATOR, sharpened(0.1), budget, [1, 2, 3], play=apprentice_match)
    while together.advance():
        pass
    matches = together.matches()
    assert len(matches) == 3
    assert all(match.iterations > 1 for match in matches)
