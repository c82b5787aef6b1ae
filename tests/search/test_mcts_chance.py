"""MCTS, PUCT, Gumbel AlphaZero and ExIt in games with chance: law 10 of `search.mcts`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pyspiel
import pytest
from fake_game import FakeGame, FakeState, chance, first, second
from hand_mcts import mcts
from numpy.typing import NDArray
from priors import even, with_priors

from athenan_spiel.encoding import Encoder
from athenan_spiel.encoding.compact import ObservationStore
from athenan_spiel.errors import EvaluatorError
from athenan_spiel.evaluators import Evaluation
from athenan_spiel.evaluators.base import checked
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import is_chance, roll
from athenan_spiel.search import MCTS, AlphaZeroMCTS, Budget, ExItMCTS, GumbelMCTS, Search, think
from athenan_spiel.search.mcts_tree import ChanceNode, MCTSNode
from athenan_spiel.search.tree import Tree

SEARCHES = pytest.mark.parametrize("kind", [MCTS, AlphaZeroMCTS, GumbelMCTS, ExItMCTS])
GAMES = ["pig(players=2,winscore=20)", "einstein_wurfelt_nicht", "backgammon", "yacht(players=1)", "2048"]

BET = FakeGame(
    first(
        0.0,
        SAFE=0.2,
        BET=chance(0.1, [0.75, 0.25], WON=1, REST=second(-0.5, LOST=-1, HALF=0)),
    )
)
"""The bet is worth 0.75 - 0.25 = 0.5, since player 1 takes -1."""


def written(states: Sequence[FakeState]) -> Evaluation:
    return Evaluation([state.value for state in states], [even(state) for state in states])


def guess(states: Sequence[pyspiel.State]) -> Evaluation:
    """Values by the length of the game; a chance state has no priors."""
    return Evaluation(
        [math.sin(state.move_number()) / 2 for state in states],
        [[] if is_chance(state) else even(state) for state in states],
    )


def check_sums(tree: Tree) -> None:
    for node in tree.table.values():
        assert isinstance(node, MCTSNode)
        assert node.simulations == 1 + sum(node.visits.values())
        assert node.total == pytest.approx(node.own + sum(node.totals))
        assert node.value == pytest.approx(node.total / node.simulations)
        for i, n in node.visits.items():
            assert node.values[i] == pytest.approx(node.totals[i] / n)
        if isinstance(node, ChanceNode):
            assert not node.untried
            assert all(node.values[i] == node.own for i in range(len(node.actions)) if i not in node.visits)
            assert sum(node.probabilities) == pytest.approx(1)
        else:
            assert set(node.untried) == set(range(len(node.actions))) - set(node.visits)


@SEARCHES
def test_10_the_value_of_a_bet_is_its_expectation(kind: type[Search]) -> None:
    search = kind(BET, key=str, outcome=lambda state: state.player_return(0))
    result = think(search, BET.new_initial_state(), Budget(iterations=4000), written, rng=random.Random(1))
    assert result.values[1] == pytest.approx(0.5, abs=0.06)
    assert BET.new_initial_state().child(result.action).value == 0.1
    assert result.visits[1] >= 2000  # sequential halving gives each of two actions half


def test_10_probabilities_draw_the_outcomes_also_in_a_batch() -> None:
    for batch in (1, 8):
        game = FakeGame(first(0.0, A=chance(0.0, [0.6, 0.3, 0.1], X=-1, Y=0, Z=1)))
        search = mcts(game, virtual_loss_batch=batch)
        tree = search.new_tree()
        think(search, game.new_initial_state(), Budget(iterations=6000 // batch), written, tree=tree)
        node = tree.table["A"]
        assert isinstance(node, ChanceNode)
        drawn = [node.count(i) / sum(node.visits.values()) for i in range(3)]
        assert drawn == pytest.approx([0.6, 0.3, 0.1], abs=0.02)


def test_2_a_chance_state_is_a_leaf_before_it_is_a_node() -> None:
    tree = (search := mcts(BET)).new_tree()
    asked: list[str] = []

    def recorded(states: Sequence[FakeState]) -> NDArray[np.float64]:
        asked.extend(map(str, states))
        return np.array([state.value for state in states])

    rng = random.Random(0)
    for _ in range(8):
        think(search, BET.new_initial_state(), Budget(iterations=1), recorded, tree=tree, rng=rng)
    assert asked[:2] == ["root", "BET"]
    assert asked.count("BET") == 1
    assert tree.table["BET"].own == 0.1  # type: ignore[attr-defined]


@SEARCHES
@pytest.mark.parametrize("name", GAMES)
def test_searches_keep_their_laws_through_a_game(kind: type[Search], name: str) -> None:
    game = load_game(name)
    search = kind(game, virtual_loss_batch=3)
    tree, rng, state = search.new_tree(), random.Random(2), game.new_initial_state()
    roll(state, rng.random)
    for _ in range(4):
        if state.is_terminal():
            break
        result = think(search, state, Budget(iterations=12), guess, tree=tree, rng=rng)
        assert sorted(result.actions) == state.legal_actions()
        policy = search.policy(result.node)
        assert policy is not None
        assert sum(policy) == pytest.approx(1)
        check_sums(tree)
        check_sums(tree.copy())
        state.apply_action(result.action)
        roll(state, rng.random)
    assert any(isinstance(node, ChanceNode) for node in tree.nodes)


@SEARCHES
def test_the_seed_determines_all_draws(kind: type[Search]) -> None:
    game = load_game("einstein_wurfelt_nicht")
    state = game.new_initial_state()
    roll(state, random.Random(3).random)
    found = [
        think(kind(game), state, Budget(iterations=60), guess, rng=random.Random(seed)).values.tolist()
        for seed in (1, 1, 2)
    ]
    assert found[0] == found[1] != found[2]


@SEARCHES
def test_a_restricted_root_searches_its_actions_alone(kind: type[Search]) -> None:
    game = load_game("pig(players=2,winscore=20)")
    result = think(kind(game), game.new_initial_state(), Budget(iterations=30), guess, root_actions=[0])
    assert (result.actions.tolist(), result.visits.tolist()) == ([0], [30])


def test_sequential_halving_follows_its_plan() -> None:
    game = load_game("backgammon")
    state = game.new_initial_state()
    roll(state, random.Random(0).random)
    search = GumbelMCTS(game, considered_actions=8)
    result = think(search, state, Budget(iterations=48), guess)
    assert sorted(result.visits[result.visits > 0]) == [2, 2, 2, 2, 6, 6, 14, 14]


def test_leaves_at_chance_become_training_samples() -> None:
    game = load_game("pig(players=2,winscore=20)")
    store = ObservationStore(Encoder(game), 1000, leaves=True)
    search = MCTS(game)
    tree = search.new_tree(store)
    think(search, game.new_initial_state(), Budget(iterations=40), guess, tree=tree)
    assert len(store) == len(tree.table) + len(tree.leaves) + len(tree.terminals)
    assert all(node.observation >= 0 for node in tree.nodes)


def test_priors_of_a_chance_state_are_neither_required_nor_used() -> None:
    decision = BET.new_initial_state()
    rolls = BET.state("BET")
    found = checked(Evaluation([0.0, 1.0, 2.0], [[0.5, 0.5], [], [0.25, 0.75]]), [decision, rolls, decision])
    assert found.priors == [[0.5, 0.5], [], [0.25, 0.75]]
    with pytest.raises(EvaluatorError, match="one prior for each of 2"):
        checked(Evaluation([0.0, 1.0], [[1.0], []]), [decision, rolls])
    search = AlphaZeroMCTS(BET, key=str)
    with pytest.raises(EvaluatorError, match="needs priors"):
        think(search, BET.new_initial_state(), Budget(iterations=3), lambda states: np.zeros(len(states)))


def wrapped(depth: int, rng: random.Random, *, through: bool) -> object:
    """A tree of decisions; `through` puts a chance state of one outcome before each state below the root."""
    if depth == 0:
        return rng.choice([-1.0, 0.0, 1.0])
    number = rng.getrandbits(40)
    children = {f"s{number}{i}": wrapped(depth - 1, rng, through=through) for i in range(2)}
    if through:
        children = {f"c{name}": chance(0.0, [1.0], **{name: child}) for name, child in children.items()}  # type: ignore[dict-item]
    return (first, second)[depth % 2](0.0, **children)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [lambda game: mcts(game), lambda game: AlphaZeroMCTS(game, key=str)])
def test_trivial_chance_changes_no_decision(make: Callable[[FakeGame], Search]) -> None:
    for seed in range(20):
        games = [FakeGame(wrapped(4, random.Random(seed), through=through)) for through in (False, True)]  # type: ignore[arg-type]
        found = [
            think(make(game), game.new_initial_state(), Budget(iterations=3000), with_priors(zeros)) for game in games
        ]
        clear = abs(found[0].values[0] - found[0].values[1]) > 0.2
        assert not clear or found[0].action == found[1].action, seed
        assert found[0].value == pytest.approx(found[1].value, abs=0.15), seed


def zeros(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
    return np.zeros(len(states))
