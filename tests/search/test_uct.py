"""Selection rules of MCTS: UCT, custom rules, and the statistics that a rule can read."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pyspiel
import pytest
from oracles.brute_force import load
from oracles.evaluators import noise

from athenan_spiel.errors import SearchError
from athenan_spiel.evaluators import Evaluation
from athenan_spiel.outcomes import make_outcome
from athenan_spiel.search import MCTS, Budget, think
from athenan_spiel.search.mcts_tree import MCTSNode, MCTSTree
from athenan_spiel.search.uct import EXPLORATION_CONSTANT, UCT

GAME = load("tic_tac_toe")
START = GAME.new_initial_state()


def skewed(states: Sequence[pyspiel.State]) -> Evaluation:
    """Returns random values, and priors that identify the state: the first action has n + 1 times the others."""
    priors = []
    for state in states:
        weights = [state.move_number() + 2.0] + [1.0] * (len(state.legal_actions()) - 1)
        priors.append([weight / sum(weights) for weight in weights])
    return Evaluation(noise(3)(states).tolist(), priors)


def plain(states: Sequence[pyspiel.State]) -> Any:
    return noise(3)(states)


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("uct", [UCT(), UCT(1.5), UCT(0.4, first_play_urgency=True)])
def test_uct_given_as_a_rule_is_what_its_arguments_make(uct: UCT, batch: int) -> None:
    by_arguments = MCTS(
        GAME,
        exploration_constant=uct.exploration_constant,
        first_play_urgency=uct.first_play_urgency,
        virtual_loss_batch=batch,
    )
    by_rule = MCTS(GAME, selection=uct, virtual_loss_batch=batch)
    one, other = (think(s, START, Budget(iterations=60), plain) for s in (by_arguments, by_rule))
    assert (one.visits.tolist(), one.value) == (other.visits.tolist(), other.value)


def test_uct_is_the_rule_where_none_is_given() -> None:
    assert MCTS(GAME).selection == UCT(EXPLORATION_CONSTANT, first_play_urgency=False)


def test_uct_does_not_look_at_priors() -> None:
    one, other = (think(MCTS(GAME), START, Budget(iterations=60), e) for e in (plain, skewed))
    assert (one.visits.tolist(), one.value) == (other.visits.tolist(), other.value)


def puct(node: MCTSNode, losses: Mapping[int, int], scale: float, rng: random.Random) -> int:
    """Q + P sqrt(N) / (1 + n) (Silver et al. 2018), an untried action as worth 0."""
    assert node.priors is not None
    assert len(node.priors) == len(node.actions)

    def worth(i: int) -> float:
        n = node.count(i) + losses.get(i, 0)
        mean = (node.kind.won / scale * node.totals[i] - losses.get(i, 0)) / n if n else 0.0
        assert node.priors is not None
        return mean + node.priors[i] * math.sqrt(node.simulations + sum(losses.values())) / (1 + n)

    return max(range(len(node.actions)), key=worth)


@pytest.mark.parametrize("batch", [1, 6])
def test_another_rule_finds_the_priors_of_every_state(batch: int) -> None:
    search = MCTS(GAME, selection=puct, virtual_loss_batch=batch)
    tree = search.new_tree()
    result = think(search, START, Budget(iterations=300), skewed, tree=tree)
    assert isinstance(tree, MCTSTree)
    assert len(tree.nodes) > 50
    assert not any(set(node.leaf_priors) - set(node.visits) for node in tree.nodes if isinstance(node, MCTSNode))
    assert result.visits.sum() == 300 * batch
    twin = tree.copy()
    assert [node.leaf_priors for node in twin.nodes] == [node.leaf_priors for node in tree.nodes]  # type: ignore[attr-defined]


def test_a_rule_is_told_the_scale_of_the_outcome() -> None:
    told = set()

    def noting(node: MCTSNode, losses: Mapping[int, int], scale: float, rng: random.Random) -> int:
        told.add(scale)
        return UCT()(node, losses, scale, rng)

    outcome = make_outcome("additive_depth", GAME, random.Random(0))
    think(MCTS(GAME, outcome=outcome, selection=noting), START, Budget(iterations=5), plain)
    assert told == {outcome.scale}


def test_a_rule_and_what_uct_takes_contradict_each_other() -> None:
    for options in ({"exploration_constant": 0.5}, {"first_play_urgency": True}):
        with pytest.raises(SearchError, match="a selection rule or arguments of UCT, not both; got UCT"):
            MCTS(GAME, selection=puct, **options)  # type: ignore[arg-type]


def test_a_rule_can_be_called() -> None:
    with pytest.raises(SearchError, match="selection must be"):
        MCTS(GAME, selection="uct")  # type: ignore[arg-type]
