"""An agent keeps its tree through a match and no longer, whoever tells it or not that another one has begun."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pyspiel
import pytest
from numpy.typing import NDArray

from athenan_spiel.errors import EvaluatorError, SearchError
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.match import play_match
from athenan_spiel.play.series import play_series
from athenan_spiel.search import UBFM, Budget, Descent
from athenan_spiel.search.choice import best
from athenan_spiel.search.policy import SoftPolicy

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")
CONNECT_FOUR = pyspiel.load_game("connect_four")


class Counting:
    """Values every state at zero, and counts how many it was asked for."""

    def __init__(self) -> None:
        self.states = 0

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.floating]:
        self.states += len(states)
        return np.zeros(len(states))


def make_agent(game: pyspiel.Game, iterations: int = 30, seed: int = 0) -> Agent:
    return Agent(game, UBFM(game), Counting(), budget=Budget(iterations=iterations), rng=random.Random(seed))


def test_the_repr_names_game_search_values_and_limits() -> None:
    assert repr(make_agent(TIC_TAC_TOE)) == "Agent('tic_tac_toe()', UBFM, Counting, budget=Budget(iterations=30))"
    agent = Agent(TIC_TAC_TOE, Descent(TIC_TAC_TOE), Counting(), budget=Budget(0.5), match_seconds=60, ponder=True)
    assert repr(agent).endswith("Descent, Counting, budget=Budget(seconds=0.5), match_seconds=60, ponder=True)")


def after(game: pyspiel.Game, *actions: int) -> pyspiel.State:
    state = game.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def test_takes_a_win_and_prevents_a_loss() -> None:
    assert make_agent(TIC_TAC_TOE).step(after(TIC_TAC_TOE, 0, 3, 1, 4)) == 2
    assert make_agent(TIC_TAC_TOE, 300).step(after(TIC_TAC_TOE, 0, 4, 8, 2)) == 6
    assert make_agent(CONNECT_FOUR, 100).step(after(CONNECT_FOUR, 3, 0, 3, 0, 3)) == 3


@pytest.mark.parametrize("search", [UBFM, Descent])
def test_never_loses_a_solved_game(search: type[UBFM] | type[Descent]) -> None:
    def perfect(player: int) -> Agent:
        return Agent(TIC_TAC_TOE, search(TIC_TAC_TOE), Counting(), decision=best, budget=Budget(iterations=10_000))

    series = play_series(TIC_TAC_TOE, perfect, lambda player: pyspiel.make_uniform_random_bot(player, 3), 10)
    # Two random plies may lose the match for whoever comes first, but not against random play as a rule.
    assert series.losses == 0
    assert series.wins >= 5


def test_the_tree_lasts_for_the_match() -> None:
    agent = make_agent(CONNECT_FOUR)
    state = CONNECT_FOUR.new_initial_state()
    agent.think(state)
    tree, nodes = agent.tree, len(agent.tree.table)
    for action in (3, 3):
        state.apply_action(action)
    known = agent.tree.table.get(agent.tree.key(state))
    result = agent.think(state)
    assert agent.tree is tree
    assert len(tree.table) > nodes
    assert known is not None
    assert result.node is known


def test_the_last_search_can_be_looked_at() -> None:
    agent = make_agent(TIC_TAC_TOE)
    assert agent.result is None
    state = after(TIC_TAC_TOE, 0, 3, 1, 4)
    assert agent.step(state) == 2
    result = agent.result
    assert result is not None
    assert result.completion == 1
    assert agent.step(state) == 2
    assert agent.result is result
    agent.restart()
    assert agent.result is None


def test_the_same_position_again_is_thought_about_further() -> None:
    agent = make_agent(CONNECT_FOUR)
    state = CONNECT_FOUR.new_initial_state()
    first = agent.think(state).visits.sum()
    assert agent.think(state).visits.sum() > first


def test_asked_again_it_answers_the_same_without_thinking() -> None:
    agent = make_agent(CONNECT_FOUR)
    state = CONNECT_FOUR.new_initial_state()
    action = agent.step(state)
    valued = agent.evaluator.states
    assert agent.step(state) == action
    assert agent.policy(state) == [(a, 1.0 if a == action else 0.0) for a in range(7)]
    assert agent.evaluator.states == valued


@pytest.mark.parametrize(
    "actions",
    [
        (),  # an earlier position
        (2, 3),  # another line
        (3, 2),
        (3,),
    ],
)
def test_a_position_that_does_not_continue_begins_another_match(actions: tuple[int, ...]) -> None:
    agent = make_agent(CONNECT_FOUR)
    agent.think(after(CONNECT_FOUR, 3, 3))
    tree = agent.tree
    agent.think(after(CONNECT_FOUR, *actions))
    assert agent.tree is not tree


def test_equal_histories_of_different_beginnings_are_different_matches() -> None:
    chess = pyspiel.load_game("chess")
    agent = make_agent(chess, iterations=2)
    agent.think(chess.new_initial_state("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"))
    tree = agent.tree
    other = chess.new_initial_state("4k3/8/8/8/8/8/3P4/4K3 w - - 0 1")
    agent.think(other)
    assert agent.tree is not tree
    tree = agent.tree
    # e2-e3 can be played in the first only.
    ahead = chess.new_initial_state("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")
    ahead.apply_action(next(a for a in ahead.legal_actions() if ahead.action_to_string(0, a) == "e3"))
    agent.think(ahead)
    assert agent.tree is not tree


def test_restarting_forgets() -> None:
    agent = make_agent(CONNECT_FOUR)
    state = CONNECT_FOUR.new_initial_state()
    for forget in (agent.restart, lambda: agent.restart_at(state)):
        agent.think(state)
        assert agent.tree.table
        forget()
        assert not agent.tree.table


def test_callers_may_go_on_to_play_in_the_state_that_they_passed() -> None:
    agent = make_agent(CONNECT_FOUR)
    state = CONNECT_FOUR.new_initial_state()
    state.apply_action(agent.step(state))
    tree = agent.tree
    agent.inform_action(state, 1, 0)
    state.apply_action(0)
    agent.step(state)
    assert agent.tree is tree


def test_the_action_that_was_reported_is_the_one_that_is_played() -> None:
    """Also where all actions tie, and the decision draws."""
    game = pyspiel.load_game("tic_tac_toe")
    for seed in range(20):
        agent = Agent(
            game,
            Descent(game),
            lambda states: np.zeros(len(states)),
            budget=Budget(iterations=3),
            decision=SoftPolicy(100.0),
            rng=random.Random(seed),
        )
        action = agent.step(game.new_initial_state())
        assert agent.result is not None
        assert action == agent.result.action == agent.result.principal_variation[0]


def test_what_is_proven_is_selected_once() -> None:
    game = pyspiel.load_game("tic_tac_toe")
    state = game.new_initial_state()
    for action in (0, 1, 4, 2):
        state.apply_action(action)  # 3, 6 and 8 are proven, and 3 and 6 win later than 8
    agent = Agent(game, Descent(game), lambda states: np.zeros(len(states)), budget=Budget(iterations=10**4))
    agent.decision = SoftPolicy(100.0)
    first = agent.think(state)
    assert first.is_resolved
    assert {agent.think(state).action for _ in range(30)} | {agent.step(state)} == {first.action}
    free = agent.think(state, root_actions=[5, 7]).action
    assert free in (5, 7)


def test_what_is_proven_is_selected_once_though_all_actions_tie() -> None:
    game = pyspiel.load_game("tic_tac_toe")
    state = after(game, 0, 2, 1, 3, 5, 4, 6)  # 7 and 8 are left, and either is a draw
    for seed in range(20):
        agent = Agent(
            game,
            Descent(game),
            lambda states: np.zeros(len(states)),
            budget=Budget(iterations=100),
            decision=SoftPolicy(100.0),
            rng=random.Random(seed),
        )
        known = agent.think(state)
        assert (known.is_resolved, known.completions.tolist(), known.actions.tolist()) == (True, [0, 0], [7, 8])
        assert agent.think(state).action == agent.step(state) == known.action


def test_a_clone_goes_on_alike_and_apart() -> None:
    agent = make_agent(CONNECT_FOUR, seed=7)
    state = CONNECT_FOUR.new_initial_state()
    agent.think(state)
    clone = agent.clone()
    assert not {id(node) for node in agent.tree.table.values()} & {id(node) for node in clone.tree.table.values()}
    before = {key: list(node.values) for key, node in agent.tree.table.items()}
    results = [twin.think(state) for twin in (clone, agent.clone())]
    assert {key: list(node.values) for key, node in agent.tree.table.items()} == before
    results.append(agent.think(state))
    for result in results[1:]:
        np.testing.assert_array_equal(result.visits, results[0].visits)
        np.testing.assert_array_equal(result.values, results[0].values)
        assert result.safest_action == results[0].safest_action


def test_a_clone_of_a_deep_tree_needs_no_deep_stack() -> None:
    game = pyspiel.load_game("hex(board_size=8)")
    agent = Agent(game, Descent(game), Counting(), budget=Budget(iterations=3))
    agent.think(game.new_initial_state())
    assert len(agent.clone().tree.table) == len(agent.tree.table)


def test_the_same_seed_plays_the_same_match() -> None:
    def play(seed: int) -> tuple[int, ...]:
        agents = make_agent(CONNECT_FOUR, 20, seed), make_agent(CONNECT_FOUR, 20, seed + 1)
        return play_match(CONNECT_FOUR, agents).history

    assert play(1) == play(1) != play(2)


@pytest.mark.parametrize(
    "spec", ["amazons(board_size=6)", "breakthrough(rows=4,columns=4)", "clobber(rows=4,columns=4)"]
)
def test_plays_whole_matches_of_either_colour(spec: str) -> None:
    game = pyspiel.load_game(spec)
    agent = make_agent(game, iterations=4)
    for colour in range(2):
        players = [agent, pyspiel.make_uniform_random_bot(1, 5)]
        if colour:
            players = [pyspiel.make_uniform_random_bot(0, 5), agent]
        assert sum(play_match(game, players).returns) == 0


def test_a_finished_match_has_no_action_to_play() -> None:
    with pytest.raises(SearchError, match="terminal"):
        make_agent(TIC_TAC_TOE).step(after(TIC_TAC_TOE, 0, 3, 1, 4, 2))


def test_an_evaluator_that_fails_once_costs_one_move() -> None:
    agent = make_agent(CONNECT_FOUR)
    state = CONNECT_FOUR.new_initial_state()
    good = agent.evaluator
    agent.evaluator = lambda states: np.full(len(states), np.nan)
    with pytest.raises(EvaluatorError, match="finite"):
        agent.step(state)
    agent.evaluator = good
    assert agent.step(state) in state.legal_actions()
