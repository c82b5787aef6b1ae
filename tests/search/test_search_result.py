"""Pictures of search results, and their errors."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Sequence

import numpy as np
import pyspiel
import pytest
from hand_nodes import node_of
from numpy.typing import NDArray

import athenan_spiel as ath
from athenan_spiel.evaluators import UniformRandomEvaluator
from athenan_spiel.search import choice
from athenan_spiel.search.drive import answered, search_under
from athenan_spiel.search.node import Node
from athenan_spiel.search.policy import SoftPolicy
from athenan_spiel.search.result import Used, action_evaluations, make_result, ranking, state_evaluation

GAME = ath.load_game("tic_tac_toe")
STATE = GAME.new_initial_state()
BUDGET = ath.Budget(iterations=8)


def zeros(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
    return np.zeros(len(states))


def result_without_state() -> ath.SearchResult:
    search, rng = ath.UBFM(GAME), random.Random(0)
    node, used = answered(search_under(search, search.new_tree(), STATE, BUDGET, rng), UniformRandomEvaluator(0))
    return make_result(node, rng, used, 0.0)


def test_a_result_keeps_a_copy_of_its_state() -> None:
    state = GAME.new_initial_state()
    result = ath.think(ath.UBFM(GAME), state, BUDGET, UniformRandomEvaluator(0))
    assert result.state is not state
    assert str(result.state) == str(state)
    result.state.apply_action(0)  # type: ignore[union-attr]
    assert state.history() == []


def test_so_does_that_of_an_agent_which_is_not_misled_by_it() -> None:
    agent = ath.Agent(GAME, ath.UBFM(GAME), UniformRandomEvaluator(0), budget=BUDGET)
    action = agent.step(STATE)
    assert agent.result is not None
    assert "<svg" in str(agent.result._repr_html_())
    agent.result.state.apply_action(action)  # type: ignore[union-attr]
    assert agent.step(STATE) == action


def test_a_result_that_does_not_know_its_state_is_told() -> None:
    result = result_without_state()
    assert result._repr_html_() is None
    assert result._repr_mimebundle_() == {}
    with pytest.raises(ath.SearchError, match=r"^this result does not hold its state: .* got state=None$"):
        result.picture()
    assert "<svg" in result.picture(STATE)._repr_html_()


def test_another_state_is_refused() -> None:
    result = result_without_state()
    for state in (STATE.child(4), ath.load_game("hex(board_size=4)").new_initial_state()):
        with pytest.raises(ath.SearchError, match=r"^expected the state that was searched, got .*legal$"):
            result.picture(state)
    with pytest.raises(ath.SearchError, match=r"^expected a state of a game, got 3$"):
        result.picture(3)


def test_a_picture_shows_expected_scores_or_raw_values() -> None:
    result = result_without_state()
    result.values[:3] = (0.5, math.inf, -0.25)
    text = result.picture(STATE).text()
    assert "75.0 %" in text
    assert "99.9 %" in text
    assert "37.5 %" in text
    raw = result.picture(STATE, raw=True).text()
    assert "+0.5" in raw
    assert "+inf" in raw
    assert "-0.25" in raw
    assert "value of x" in raw
    assert "%" not in raw


def test_a_picture_says_how_many_moves_were_searched() -> None:
    some = ath.think(ath.UBFM(GAME), STATE, BUDGET, zeros, root_actions=[0, 4, 8])
    every = ath.think(ath.UBFM(GAME), STATE, BUDGET, zeros)
    assert "score of x, 3 of 9 moves searched: " in some.picture().text()
    assert "score of x, 3 of 9 moves searched: " in some.picture().html()
    assert "score of x: " in every.picture().text()


def test_judgements_are_those_of_the_result() -> None:
    result = ath.think(ath.Descent(GAME), STATE.child(0), ath.Budget(iterations=300), UniformRandomEvaluator(0))
    state = STATE.child(0)
    actions = action_evaluations(result, state)
    assert sorted(action.action for action in actions) == state.legal_actions()
    assert actions[0].action == result.best_action
    for action in actions:
        i = int(np.flatnonzero(result.actions == action.action)[0])
        evaluation = action.evaluation
        proof = int(result.completions[i]) if result.resolved[i] else None
        assert (evaluation.value, evaluation.completion, evaluation.visits) == (
            result.values[i],
            proof,
            result.visits[i],
        )
    assert state_evaluation(result, state).completion == (result.completion if result.is_resolved else None)


@pytest.mark.parametrize("maximises", [True, False], ids=["maximiser", "minimiser"])
def test_the_ranking_is_in_the_order_of_the_decision(maximises: bool) -> None:
    """Action 0 has the best value, 1 is most visited, 2 is proven to draw, 3 to win, 4 to lose, and 5 is the worst."""
    visits = {0: 5, 1: 9, 2: 1, 3: 1, 4: 20, 5: 5}
    worth, proven = [0.9, 0.1, 0.0, 1.0, -1.0, -0.5], {2: 0, 3: 1, 4: -1}
    node, rng = node_of(worth, maximises=maximises, proven=proven, visits=visits), random.Random(0)

    def ranked(selected: int, order: choice.Decision) -> list[int]:
        return ranking(make_result(node, rng, Used(0, 0, 0), 0.0, decision=lambda *_: selected, order=order))

    assert ranked(3, choice.best) == [3, 0, 1, 2, 5, 4]
    assert ranked(3, choice.safest) == [3, 1, 0, 5, 2, 4]
    assert ranked(3, choice.securest) == [3, 2, 1, 0, 5, 4]
    assert ranked(5, choice.safest) == [5, 3, 1, 0, 2, 4]  # as a random decision may select


@pytest.mark.parametrize("decision", [choice.best, choice.safest])
def test_an_agent_shows_its_moves_in_the_order_of_its_decision(decision: choice.Decision) -> None:
    game, differ = ath.load_game("connect_four"), 0
    for seed in range(20):
        evaluator, budget = UniformRandomEvaluator(seed), ath.Budget(iterations=20 + seed)
        result = ath.Agent(game, ath.UBFM(game), evaluator, decision=decision, budget=budget).think(
            game.new_initial_state()
        )
        shown = result.picture().actions
        own = [(x.evaluation.visits if decision is choice.safest else x.mover_score) for x in shown[1:]]
        assert own == sorted(own, reverse=True)
        assert shown[0].action == result.action
        differ += max(x.mover_score for x in shown) > shown[0].mover_score
    assert (differ > 0) == (decision is choice.safest)


def test_a_proven_loss_comes_last_whatever_its_value() -> None:
    result = ath.think(ath.UBFM(GAME), STATE, ath.Budget(iterations=1), zeros)
    values, resolved, gains = np.linspace(-0.1, 0.1, 9), np.zeros(9, bool), np.zeros(9, np.int8)
    order = [a for a in result.actions.tolist() if a != result.action]
    win, draw, loss = order[:3]
    for action, gain in ((win, 1), (draw, 0), (loss, -1)):
        i = result.actions.tolist().index(action)
        resolved[i], gains[i], values[i] = True, gain, -5.0 * gain
    changed = dataclasses.replace(result, values=values, resolved=resolved, completions=gains)
    ranked = [action.action for action in action_evaluations(changed, STATE)]
    assert ranked[:2] == [result.action, win]
    assert ranked[-1] == loss


def test_the_shortest_win_and_the_longest_loss_come_first() -> None:
    seen = 0
    for seed in range(12):
        state, rng = GAME.new_initial_state(), random.Random(seed)
        for _ in range(3):
            state.apply_action(rng.choice(state.legal_actions()))
        search = ath.AlphaBeta(GAME).with_exact_actions(9)
        result = ath.think(search, state, ath.Budget(iterations=3000), UniformRandomEvaluator(1))
        mover = state.current_player()
        for word, sign in (("win", 1), ("loss", -1)):
            found = [x.evaluation for x in action_evaluations(result, state)[1:]]
            moves = [x.moves for x in found if x.moves is not None and x.text(mover).startswith(word)]
            assert moves == sorted(moves, reverse=sign < 0)
            seen += len(set(moves)) > 1
    assert seen > 2


@pytest.mark.parametrize("game", ["tic_tac_toe", "connect_four(rows=4,columns=4,x_in_row=3)", "nim(pile_sizes=1;2;3)"])
def test_a_proven_line_has_as_many_moves_as_it_says(game: str) -> None:
    """The winner makes the last move; the line need be neither the shortest win nor the longest defence."""
    loaded, rng, seen = ath.load_game(game), random.Random(3), 0

    def shortest(state: pyspiel.State) -> tuple[int, int]:
        """Returns the gain of player 0 and the number of moves to the end, which the winner keeps small."""
        if state.is_terminal():
            gain = state.returns()[0]
            return (gain > 0) - (gain < 0), 0
        sign = 1 if state.current_player() == 0 else -1
        found = [(gain, moves + 1) for gain, moves in map(shortest, map(state.child, state.legal_actions()))]
        gain = sign * max(sign * gain for gain, _ in found)
        lengths = [moves for own, moves in found if own == gain]
        return gain, min(lengths) if gain == sign else max(lengths)

    for _ in range(25):
        state = loaded.new_initial_state()
        while not state.is_terminal() and (
            len(state.legal_actions()) > 5 or ("four" in game and state.move_number() < 8)
        ):
            state.apply_action(rng.choice(state.legal_actions()))
        if state.is_terminal():
            continue
        search = rng.choice([ath.UBFM, ath.Descent])(loaded)
        result = ath.think(search, state, ath.Budget(iterations=rng.choice([2, 10, 2000])), UniformRandomEvaluator(1))
        for action in action_evaluations(result, state):
            evaluation = action.evaluation
            if evaluation.moves is None:
                continue
            gain, moves = shortest(state.child(action.action))
            seen += 1
            assert evaluation.completion == gain
            if gain:
                assert (evaluation.moves - moves - 1) % 2 == 0
    assert seen > 10


@pytest.mark.parametrize("decision", [choice.best, choice.safest, choice.securest, SoftPolicy(100.0)])
def test_the_line_begins_with_the_action_that_is_selected(decision: choice.Decision) -> None:
    """The decision is asked once; other rules that tie between its action and others report the same one."""
    asked: list[int] = []

    def counted(node: Node, rng: random.Random) -> int:
        asked.append(decision(node, rng))
        return asked[-1]

    for seed in range(30):
        asked.clear()
        search, rng = ath.UBFM(GAME), random.Random(seed)
        result = ath.think(search, STATE, ath.Budget(iterations=seed + 1), zeros, rng=rng, decision=counted)
        assert [result.action] == [result.node.actions[i] for i in asked] == result.principal_variation[:1]
        assert action_evaluations(result, STATE)[0].action == result.action
        assert result.picture().line[0] == result.action
        i = asked[0]
        for other, candidates in (
            (result.best_action, choice.best_candidates(result.node)),
            (result.safest_action, choice.safest_candidates(result.node)),
        ):
            assert other in [result.node.actions[j] for j in candidates]
            assert other == result.action or i not in candidates


def test_a_decision_is_called() -> None:
    with pytest.raises(ath.SearchError, match="decision"):
        ath.think(ath.UBFM(GAME), STATE, BUDGET, UniformRandomEvaluator(0), decision=3)  # type: ignore[arg-type]


def test_the_tree_is_left_out_where_a_result_is_written_in_short() -> None:
    assert "node" not in repr(result_without_state())
    assert "best_action=" in repr(result_without_state())
