"""Branches of a tree: labels of the nodes, the mover's best first, within the limits."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import athenan_spiel as ath
from athenan_spiel.drawing.tree import Branch
from athenan_spiel.evaluators import UniformRandomEvaluator
from athenan_spiel.games.calibration import GAINS
from athenan_spiel.search.branches import MAX_BRANCHES, MAX_CHILDREN, MAX_LEVELS, branch_of
from athenan_spiel.search.node import Node

GAME = ath.load_game("tic_tac_toe")
START = GAME.new_initial_state()


def root_after(iterations: int) -> Node:
    return ath.think(ath.UBFM(GAME), START, ath.Budget(iterations=iterations), UniformRandomEvaluator(1)).node


def below(branch: Branch, level: int = 0) -> Iterator[tuple[int, Branch]]:
    yield level, branch
    for child in branch.children:
        yield from below(child, level + 1)


def test_a_branch_says_what_its_node_says() -> None:
    node = root_after(20)
    root = branch_of(node, START, GAINS, width=9)
    assert (root.name, root.evaluation.value, root.evaluation.visits) == ("now", node.value, sum(node.visits.values()))
    assert root.more == 0
    for child in root.children:
        i = next(i for i, action in enumerate(node.actions) if START.action_to_string(0, action) == child.name)
        assert (child.evaluation.value, child.evaluation.visits) == (node.values[i], node.count(i))
        assert child.evaluation.completion == (node.completions[i] if node.resolutions[i] else None)


@pytest.mark.parametrize("by", ["value", "visits"])
def test_the_best_for_the_mover_come_first(by: str) -> None:
    root = branch_of(root_after(50), START, GAINS, by=by, width=9)  # type: ignore[arg-type]
    keys = [
        (child.evaluation.value, child.evaluation.visits)
        if by == "value"
        else (child.evaluation.visits, child.evaluation.value)
        for child in root.children
    ]
    assert keys == sorted(keys, reverse=True)
    replies = [child.evaluation.value for child in root.children[0].children]
    if by == "value":
        assert replies == sorted(replies)


def test_what_is_proven_comes_before_all_else() -> None:
    state = GAME.new_initial_state()
    for action in (0, 3, 1, 4):
        state.apply_action(action)
    node = ath.think(ath.UBFM(GAME), state, ath.Budget(iterations=50), UniformRandomEvaluator(1)).node
    first = branch_of(node, state, GAINS).children[0]
    assert (first.evaluation.completion, first.name) == (1, "x(0,2)")


def test_by_proof_all_that_is_proven_comes_first_and_lost_ones_last_of_it() -> None:
    state = GAME.new_initial_state()
    for action in (0, 3, 1, 4, 8):
        state.apply_action(action)
    node = ath.think(ath.UBFM(GAME), state, ath.Budget(iterations=3), UniformRandomEvaluator(1)).node
    proofs = [child.evaluation.completion for child in branch_of(node, state, GAINS, by="proof").children]
    known = [proof for proof in proofs if proof is not None]
    assert known == sorted(known), "player 1 moves, so his wins are the best"
    assert proofs == known + [None] * (len(proofs) - len(known))


def test_depth_width_and_number_are_bounds() -> None:
    node = root_after(3000)
    whole = [*below(branch_of(node, START, GAINS))]
    assert MAX_BRANCHES <= len(whole) <= MAX_BRANCHES + MAX_CHILDREN
    assert max(level for level, _ in whole) <= MAX_LEVELS
    assert max(len(branch.children) for _, branch in whole) <= MAX_CHILDREN
    narrow = branch_of(node, START, GAINS, width=2, depth=3, most=10_000)
    assert max(level for level, _ in below(narrow)) == 3
    assert {len(branch.children) for _, branch in below(narrow)} == {0, 2}
    assert narrow.more == 7
    assert branch_of(node, START, GAINS, most=1).children == ()


def test_the_most_visited_states_are_unfolded() -> None:
    root = branch_of(root_after(200), START, GAINS, most=20)
    unfolded = [child.evaluation.visits for child in root.children if child.children]
    folded = [child.evaluation.visits for child in root.children if not child.children]
    assert unfolded
    assert min(unfolded) >= max(folded)


def test_a_tree_may_grow_meanwhile() -> None:
    search, ends = ath.UBFM(GAME), threading.Event()
    tree = search.new_tree()
    ath.think(search, START, ath.Budget(iterations=1), UniformRandomEvaluator(1), tree=tree)

    def grow() -> None:
        while not ends.is_set():
            ath.think(search, START, ath.Budget(iterations=5), UniformRandomEvaluator(1), tree=tree)

    grower = threading.Thread(target=grow)
    grower.start()
    try:
        for _ in range(50):
            branch_of(tree.table[tree.key(START)], START, GAINS)
    finally:
        ends.set()
        grower.join()
