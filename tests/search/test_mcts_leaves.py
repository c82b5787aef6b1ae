"""Leaf evaluation in MCTS: first-play urgency, and batches by virtual loss."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyspiel
import pytest
from fake_game import FakeGame, Recorder, first, second
from hand_mcts import check_sums, counts_after, mcts
from oracles.brute_force import load
from oracles.evaluators import noise

from athenan_spiel.search import MCTS, Budget, think

# First-play urgency


def test_first_play_urgency() -> None:
    """Untried counts as 0.1, the root's own value. The search stays with A = 0.5; it does not with B = 0.05."""
    game = FakeGame(first(0.1, A=second(0.5, C=0.5), B=second(0.05, D=0.05), E=second(0.2, F=0.2)))
    asked = set()
    for seed in range(30):
        recorder = Recorder()
        search = mcts(game, exploration_constant=0.0, first_play_urgency=True)
        think(search, game.new_initial_state(), Budget(iterations=4), recorder, rng=random.Random(seed))
        asked.add(" ".join(recorder.asked[1:]))
    # C, D, F are terminal, so once a first value beats 0.1 nothing else is asked.
    assert asked == {"A", "E", "B A", "B E"}
    for seed in range(5):
        recorder = Recorder()
        search = mcts(game, exploration_constant=0.0)
        think(search, game.new_initial_state(), Budget(iterations=4), recorder, rng=random.Random(seed))
        assert set(recorder.asked) == {"root", "A", "B", "E"}


def test_first_play_urgency_is_the_movers() -> None:
    game = FakeGame(second(-0.1, A=first(-0.5, C=-0.5), B=first(0.0, D=0.0)))
    for seed in range(10):
        recorder = Recorder()
        search = mcts(game, exploration_constant=0.0, first_play_urgency=True)
        think(search, game.new_initial_state(), Budget(iterations=3), recorder, rng=random.Random(seed))
        assert recorder.asked in (["root", "A"], ["root", "B", "A"])


def test_urgency_has_no_exploration_term() -> None:
    """A = 0.1 and own = 0.3, c = 0.4: A scores 0.1 + 0.4 sqrt(ln 2) = 0.433 > 0.3, so B waits until n(A) is 3.

    n(A) = 2, N = 3: 0.1 + 0.4 sqrt(ln 3 / 2) = 0.396; n(A) = 3, N = 4: 0.372; n(A) = 6, N = 7: 0.328;
    n(A) = 8, N = 9: 0.3096; n(A) = 9, N = 10: 0.3023; n(A) = 10, N = 11: 0.2959 < 0.3.
    """
    game = FakeGame(first(0.3, A=0.1, B=0.1))
    counts = counts_after(mcts(game, first_play_urgency=True), game.new_initial_state(), 11)
    assert sorted(counts[9]) == [0, 10]
    assert sorted(counts[10]) == [1, 10]


# Batches with virtual loss


def batch_game(a: float, b: float) -> FakeGame:
    """A and B are worth `a` and `b`, as is all below them."""
    return FakeGame(
        first(
            0.0,
            A=second(a, C=first(a, I=a), D=first(a, J=a)),
            B=second(b, E=first(b, K=b), F=first(b, L=b)),
        )
    )


@pytest.mark.parametrize(
    ("a", "b", "second_leaf"),
    [
        (0.5, -0.2, "EF"),  # with a virtual loss A is worth (0.5 - 1) / 2 = -0.25
        (0.5, -0.3, "CD"),
        (0.9, 0.0, "EF"),  # (0.9 - 1) / 2 = -0.05
        (0.9, -0.1, "CD"),
    ],
)
def test_a_virtual_loss_counts_one(a: float, b: float, second_leaf: str) -> None:
    game, recorder = batch_game(a, b), Recorder()
    search = mcts(game, exploration_constant=0.0, virtual_loss_batch=2)
    tree = search.new_tree()
    think(search, game.new_initial_state(), Budget(iterations=2), recorder, tree=tree)
    assert recorder.asked[0] == "root"
    assert set(recorder.asked[1].split()) == {"A", "B"}, "the first batch tries both"
    leaves = recorder.asked[2].split()
    assert len(leaves) == 2
    assert leaves[0] in ("C", "D")
    assert leaves[1] in second_leaf
    check_sums(tree)
    assert tree.table["root"].values == pytest.approx([a, b]), "no virtual loss is left behind"


def test_virtual_losses_count_in_both_counts_of_the_formula() -> None:
    """c = 1, A = 0.5, B = -0.575, once each, and a loss on A: N = 4, where N = 3 would keep to A.

    N = 4: (0.5 - 1) / 2 + sqrt(ln 4 / 2) = 0.583 < -0.575 + sqrt(ln 4) = 0.602.
    N = 3: (0.5 - 1) / 2 + sqrt(ln 3 / 2) = 0.491 > -0.575 + sqrt(ln 3) = 0.473.
    """
    game, recorder = batch_game(0.5, -0.575), Recorder()
    search = mcts(game, exploration_constant=1.0, virtual_loss_batch=2)
    think(search, game.new_initial_state(), Budget(iterations=2), recorder)
    assert [leaf in "CD" for leaf in recorder.asked[2].split()] == [True, False]


def test_virtual_losses_of_a_batch_add_up() -> None:
    """c = 0, A = 0.9 and B = -0.2, once each: (0.9 - 1) / 2 = -0.05 keeps to A, and (0.9 - 2) / 3 = -0.37 goes to B."""
    game, recorder = batch_game(0.9, -0.2), Recorder()
    one, three = (mcts(game, exploration_constant=0.0, virtual_loss_batch=batch) for batch in (1, 3))
    tree = one.new_tree()
    think(one, game.new_initial_state(), Budget(iterations=2), recorder, tree=tree)
    think(three, game.new_initial_state(), Budget(iterations=1), recorder, tree=tree)
    assert [leaf in "CD" for leaf in recorder.asked[-1].split()] == [True, True, False]


def test_one_at_a_time_the_better_one_is_followed() -> None:
    """What a batch of 2 gives B, simulations one after another give A."""
    game = batch_game(0.5, -0.2)
    assert counts_after(mcts(game, exploration_constant=0.0), game.new_initial_state(), 4)[-1] == [3, 1]
    batched = mcts(game, exploration_constant=0.0, virtual_loss_batch=2)
    assert counts_after(batched, game.new_initial_state(), 2)[-1] == [2, 2]


def test_a_leaf_chosen_twice_is_asked_once_and_counts_twice() -> None:
    game, recorder = FakeGame(first(0.0, A=second(0.5, C=1))), Recorder()
    result = think(mcts(game, virtual_loss_batch=3), game.new_initial_state(), Budget(iterations=1), recorder)
    assert recorder.asked == ["root", "A"]
    assert (result.visits.tolist(), result.values.tolist()) == ([3], [0.5])


def test_a_batch_is_one_question() -> None:
    game = load("connect_four")
    sizes: list[int] = []

    def evaluator(states: Sequence[pyspiel.State]) -> object:
        sizes.append(len(states))
        return noise(0)(states)

    think(MCTS(game, virtual_loss_batch=8), game.new_initial_state(), Budget(iterations=30), evaluator)  # type: ignore[arg-type]
    assert sizes[:2] == [1, 7]  # the eighth simulation meets a leaf of the first seven
    assert len(sizes) == 31
    assert sum(sizes) > 6 * 30


def test_a_batch_given_up_leaves_no_trace() -> None:
    game = load("connect_four")
    search = MCTS(game, virtual_loss_batch=5)
    tree, rng, state = search.new_tree(), random.Random(0), game.new_initial_state()
    think(search, state, Budget(iterations=10), noise(0), tree=tree, rng=rng)
    before = [(node.visits.copy(), node.values[:], node.value) for node in tree.table.values()]
    iteration = search.iteration(tree, state, rng, tree.table[tree.key(state)])
    assert len(next(iteration)) > 1
    iteration.close()
    nodes = list(tree.table.values())
    assert [(node.visits, node.values, node.value) for node in nodes[: len(before)]] == before
    assert all(not node.visits for node in nodes[len(before) :])
    think(search, state, Budget(iterations=10), noise(0), tree=tree, rng=rng)
    check_sums(tree)
