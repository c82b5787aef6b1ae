"""Searches restricted to some actions of the root: the laws of `search.tree`, for every search by name."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyspiel
import pytest

import athenan_spiel as ath
from athenan_spiel.encoding.compact import ObservationStore
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.evaluators.base import Evaluation
from athenan_spiel.outcomes import Gain
from athenan_spiel.search.algorithms import SEARCH_NAMES, parse_search
from athenan_spiel.search.base import Search

GAME = ath.load_game("breakthrough(rows=5,columns=4)")
START = GAME.new_initial_state()
SOME = START.legal_actions()[1:4]
ITERATIONS = {"alphabeta": 4}


def evaluation(states: Sequence[pyspiel.State]) -> Evaluation:
    """Returns values and priors that depend only on the states."""
    priors = []
    for state in states:
        rng = random.Random(f"priors {state}")
        weights = [rng.random() + 0.1 for _ in state.legal_actions()]
        priors.append([weight / sum(weights) for weight in weights])
    return Evaluation([random.Random(str(state)).uniform(-1, 1) for state in states], priors)


def made(word: str, game: pyspiel.Game = GAME) -> Search:
    return parse_search(word).make(game, Gain())


def thought(word: str, iterations: int, **more: Any) -> ath.SearchResult:
    search, decision = more.pop("search", None) or made(word), parse_search(word).algorithm.decision
    budget = ath.Budget(iterations=min(iterations, ITERATIONS.get(word, iterations)))
    evaluator = more.pop("evaluator", evaluation)
    return ath.think(search, START, budget, evaluator, rng=random.Random(3), decision=decision, **more)


@pytest.mark.parametrize("word", SEARCH_NAMES)
@pytest.mark.parametrize("iterations", [1, 2, 3, 25])
def test_all_actions_are_no_restriction(word: str, iterations: int) -> None:
    free, all_ = thought(word, iterations), thought(word, iterations, root_actions=START.legal_actions()[::-1])
    for name in ("actions", "values", "completions", "resolved", "visits"):
        assert getattr(free, name).tolist() == getattr(all_, name).tolist()
    for name in ("value", "action", "principal_variation", "best_action", "safest_action", "iterations", "evaluations"):
        assert getattr(free, name) == getattr(all_, name)


def test_so_it_is_with_a_bound_on_descents() -> None:
    for longest in (1, 2, 3):
        free, all_ = (
            ath.think(
                ath.Descent(GAME, longest=longest), START, ath.Budget(iterations=7), evaluation, root_actions=only
            )
            for only in (None, START.legal_actions())
        )
        assert (free.values == all_.values).all()
        assert free.evaluations == all_.evaluations


@pytest.mark.parametrize("word", SEARCH_NAMES)
def test_no_other_action_is_searched(word: str) -> None:
    begins: set[int] = set()

    def watched(states: Sequence[pyspiel.State]) -> Evaluation:
        begins.update(state.history()[0] for state in states if state.history())
        return evaluation(states)

    result = thought(word, 50, root_actions=[*SOME, SOME[0]], evaluator=watched)
    assert begins <= set(SOME)
    assert result.actions.tolist() == SOME == list(result.root_actions or ())
    assert result.action in SOME
    assert result.principal_variation[0] == result.action
    assert len(result.values) == len(result.completions) == len(result.resolved) == len(result.visits) == len(SOME)
    assert "<svg" in result.picture().html()


@pytest.mark.parametrize("word", SEARCH_NAMES)
def test_a_restricted_root_stays_outside_the_tree(word: str) -> None:
    search = made(word)
    tree = search.new_tree()
    one = thought(word, 30, search=search, tree=tree, root_actions=SOME[:1])
    assert tree.key(START) not in tree.table
    assert one.node not in tree.nodes
    assert tree.search_root is one.node
    assert not any(child is one.node for node in tree.nodes for child in node.children.values())
    free = thought(word, 5, search=search, tree=tree)
    assert free.actions.tolist() == START.legal_actions()
    assert free.node is tree.table[tree.key(START)]
    twin = tree.copy()
    assert len(twin.nodes) == len(tree.nodes)
    assert twin.search_root is None


@pytest.mark.parametrize("make", [ath.Descent, ath.UBFM, ath.AlphaBeta])
def test_its_proofs_are_not_those_of_the_state(make: Callable[..., Search]) -> None:
    """Player 0 wins by 2; of 5 and 8 alone both are worse, which proves nothing of the state."""
    game = ath.load_game("tic_tac_toe")
    state = game.new_initial_state()
    for action in (0, 3, 1, 4):
        state.apply_action(action)
    search = make(game)
    tree = search.new_tree()
    budget = ath.Budget(iterations=5000)
    zeros = lambda states: np.zeros(len(states))  # noqa: E731
    lost = ath.think(search, state, budget, zeros, tree=tree, root_actions=[6])
    assert (lost.is_resolved, lost.completion) == (True, -1)
    assert all(node.completion == 0 or node.ply > 4 for node in tree.nodes)
    won = ath.think(search, state, budget, zeros, tree=tree)
    assert (won.is_resolved, won.completion, won.best_action) == (True, 1, 2)
    again = ath.think(search, state, budget, zeros, tree=tree, root_actions=[6, 7])
    assert (again.is_resolved, again.completion) == (True, -1)
    assert tree.table[tree.key(state)].completion == 1
    assert {key: proof[0] for key, _, proof in tree.proofs()}[tree.key(state)] == 1


@pytest.mark.parametrize("iterations", [2, 30])
@pytest.mark.parametrize("word", ["descent", "ubfm_k", "alphabeta", "mcts"])
def test_a_store_has_no_observation_of_it(word: str, iterations: int) -> None:
    search = made(word)
    store = ObservationStore(Encoder(GAME), leaves=True)
    tree = search.new_tree(store)
    thought(word, iterations, search=search, tree=tree, root_actions=SOME)
    assert all(node.observation >= 0 for node in tree.nodes)
    assert all(leaf.parent in tree.nodes for leaf in tree.leaves.values())
    assert len(tree.copy().leaves) == len(tree.leaves)


@pytest.mark.parametrize("word", ["descent", "ubfm_k", "ubfm_s", "alphabeta", "mcts"])
def test_a_full_tree_is_no_obstacle(word: str) -> None:
    search = made(word)
    search.most_states = 20
    tree = search.new_tree()
    for only in (SOME, None, SOME, SOME[:1]):
        result = thought(word, 40, search=search, tree=tree, root_actions=only)
        assert result.action in (only or START.legal_actions())
        assert len(tree.table) < 20 + getattr(search, "lines", 1)


@pytest.mark.parametrize(
    ("only", "problem"),
    [
        ([], r"^expected at least one legal action as root_actions, got none: omit it to search all$"),
        ([10**6], r"^expected legal actions as root_actions, got 1000000: take some of \["),
        ([True], r"^expected legal actions as root_actions, got True"),
        (["a"], r"^expected legal actions as root_actions, got 'a'"),
        (3, r"^expected root_actions as a sequence of legal actions, got 3$"),
        ([[1]], r"^expected root_actions as a sequence of legal actions, got \[\[1\]\]$"),
    ],
)
def test_what_is_no_restriction(only: Any, problem: str) -> None:
    with pytest.raises(ath.SearchError, match=problem):
        ath.think(ath.UBFM(GAME), START, ath.Budget(iterations=1), evaluation, root_actions=only)


def test_an_agent_is_restricted_for_one_thought() -> None:
    agent = ath.Agent(GAME, ath.UBFM(GAME), evaluation, budget=ath.Budget(iterations=20))
    result = agent.think(START, root_actions=SOME[:1])
    assert result.action == SOME[0]
    assert agent.result is result
    agent.step(START)
    assert agent.result.actions.tolist() == START.legal_actions()
    with pytest.raises(ath.SearchError, match="expected legal actions"):
        agent.think(START, root_actions=[-1])
