"""UBFM_s + UCT of the 2019 article, Section 4.3: values and UCT's term, by hand and on whole games."""

from __future__ import annotations

import math
import pickle
import random
from typing import Any

import pytest
from hand_nodes import node_of
from oracles.brute_force import BruteForce, load
from oracles.evaluators import noise
from oracles.proofs import check_proofs

from athenan_spiel.errors import SearchError
from athenan_spiel.outcomes.infinite import InfiniteTerminal
from athenan_spiel.search import UBFM, Budget, think
from athenan_spiel.search.ubfm import BestWithUCT

GAME = load("tic_tac_toe")
START = GAME.new_initial_state()


@pytest.mark.parametrize("maximises", [True, False])
def test_the_formula_by_hand(maximises: bool) -> None:
    """N = 1 + 3 + 0 = 4, n = 4 and 1: (1 + 0.5) / 2 + c sqrt(ln 4 / 4) against (1 + 0.1) / 2 + c sqrt(ln 4).

    They are equal where c (1.1774 - 0.5887) = 0.2, at c = 0.33972.
    """
    node = node_of([0.5, 0.1], visits={0: 3}, maximises=maximises)
    crossing = 0.2 / (math.sqrt(math.log(4)) - math.sqrt(math.log(4) / 4))
    assert crossing == pytest.approx(0.33972, abs=1e-5)
    rng = random.Random(0)
    assert BestWithUCT(crossing - 1e-6, 1.0)(node, rng) == 0
    assert BestWithUCT(crossing + 1e-6, 1.0)(node, rng) == 1


def test_values_are_shares_of_the_outcomes_scale() -> None:
    node = node_of([4.0, 0.8], visits={0: 3})
    assert BestWithUCT(0.33, 8.0)(node, random.Random(0)) == 0
    assert BestWithUCT(0.35, 8.0)(node, random.Random(0)) == 1


def test_of_a_state_just_expanded_the_best_is_taken_and_ties_are_drawn() -> None:
    assert BestWithUCT(9.0, 1.0)(node_of([0.1, 0.3, 0.2], visits={}), random.Random(0)) == 1
    drawn = {BestWithUCT(9.0, 1.0)(node_of([0.3, 0.1, 0.3], visits={}), random.Random(seed)) for seed in range(30)}
    assert drawn == {0, 2}


def test_resolved_actions_are_not_gone_into() -> None:
    node = node_of([0.9, 0.1], visits={})
    node.resolve(0, 0)
    assert BestWithUCT(0.0, 1.0)(node, random.Random(0)) == 1


def test_it_spreads_the_more_the_larger_the_constant() -> None:
    budget = Budget(iterations=150)
    spread = [
        max(think(UBFM(load("connect_four"), exploration_constant=c), load("connect_four").new_initial_state(), budget,
                  noise(4)).visits)
        for c in (0.0, 1.0, 100.0)
    ]  # fmt: skip
    assert spread[0] > spread[1] > spread[2]
    assert spread[2] <= 150 / 7 + 2


@pytest.mark.parametrize("completion", [True, False])
def test_what_it_proves_is_true(completion: bool) -> None:
    search = UBFM(GAME, exploration_constant=0.2, completion=completion)
    tree = search.new_tree()
    result = think(search, START, Budget(iterations=8000 if completion else 500), noise(0), tree=tree)
    check_proofs(tree, START, BruteForce().value)
    assert result.is_resolved == completion


def test_without_a_constant_it_is_ubfm_and_with_one_it_can_be_pickled() -> None:
    assert UBFM(GAME).exploration_constant is None
    assert UBFM(GAME).select is UBFM(GAME, exploration_constant=None).select
    search = pickle.loads(pickle.dumps(UBFM(GAME, exploration_constant=1.25)))
    assert search.select == BestWithUCT(1.25, 1.0)


@pytest.mark.parametrize("constant", [-0.1, math.nan, math.inf, 1e7])
def test_a_constant_out_of_range_is_refused(constant: float) -> None:
    with pytest.raises(SearchError, match=r"exploration constant of UBFM must be at (least 0|most 1,000,000), got"):
        UBFM(GAME, exploration_constant=constant)


def test_a_constant_is_a_number_and_the_outcome_finite() -> None:
    wrong: Any = "1"
    with pytest.raises(SearchError, match="exploration constant of UBFM must be a number"):
        UBFM(GAME, exploration_constant=wrong)
    with pytest.raises(SearchError, match="requires finite values, got"):
        UBFM(GAME, outcome=InfiniteTerminal(), exploration_constant=1.0)
