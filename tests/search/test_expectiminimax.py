"""Laws of `search.expectiminimax`, against brute force over drawn trees."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from chance_trees import Trees, brute_force, points, without_chance, wrapped
from fake_game import FakeGame, FakeState, Place, Recorder, chance, first, second
from numpy.typing import NDArray
from oracles.evaluators import noise

from athenan_spiel.errors import SearchError
from athenan_spiel.evaluators.simple import UniformRandomEvaluator, ZeroEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import is_chance, roll
from athenan_spiel.outcomes import Gain, gain
from athenan_spiel.search import AlphaBeta, Budget, Expectiminimax, Search, think
from athenan_spiel.search.expectiminimax import ExpectiminimaxNode

DEEP = Budget(iterations=100)
Label = tuple[float, float, bool]
"""c, v and r of a state."""


def written(states: Sequence[FakeState]) -> NDArray[np.float64]:
    return np.array([state.value for state in states])


def labelled(state: FakeState, depth: int, outcome: Callable[[FakeState], float], *, completion: bool) -> Label:
    """The labels of the tree cut at `depth`, by laws 4, 7 and 8 of `search.node`."""
    if state.is_terminal():
        return (gain(state) if completion else 0.0, outcome(state), completion)
    if depth == 0:
        return 0.0, state.value, False
    below = depth if is_chance(state) else depth - 1
    found = [labelled(state.child(action), below, outcome, completion=completion) for action in state.legal_actions()]
    proven = all(resolved for _, _, resolved in found)
    if is_chance(state):
        weights = [p for _, p in state.chance_outcomes()]
        value = math.fsum(p * v for p, (_, v, _) in zip(weights, found, strict=True))
        return (math.fsum(p * c for p, (c, _, _) in zip(weights, found, strict=True)) if proven else 0.0), value, proven
    best = max if state.current_player() == 0 else min
    c, v = best((c if proven else math.trunc(c), v) for c, v, _ in found)
    return c, v, proven or abs(c) == 1


@pytest.mark.parametrize("completion", [False, True])
@pytest.mark.parametrize("block", range(3))
def test_1_each_iteration_finds_what_brute_force_finds_at_its_depth(block: int, completion: bool) -> None:
    for seed in range(200 * block, 200 * (block + 1)):
        game = FakeGame(Trees(seed).root(6))
        outcome = Gain() if completion else points  # a first win ends a search, whatever other wins are worth
        search = Expectiminimax(game, key=str, outcome=outcome, completion=completion)
        tree, rng, start = search.new_tree(), random.Random(seed), game.new_initial_state()
        for depth in range(1, 9):
            result = think(search, start, Budget(iterations=1), written, tree=tree, rng=rng)
            c, v, resolved = labelled(start, depth, outcome, completion=completion)
            assert result.value == pytest.approx(v, abs=1e-9), f"seed {seed}, depth {depth}"
            assert (result.completion, result.is_resolved) == (pytest.approx(c, abs=1e-9), resolved), f"{seed}, {depth}"
            chosen = labelled(start.child(result.action), depth - 1, outcome, completion=completion)
            assert chosen[1] == pytest.approx(v, abs=1e-9), f"seed {seed}, depth {depth}"
            assert result.visits.sum() == result.visits[result.actions.tolist().index(result.action)]
            if search.finished(result.node):
                break
        else:
            pytest.fail(f"seed {seed}: the whole tree has a depth of at most 6")


@pytest.mark.parametrize("batched", [True, False])
def test_2_a_proof_is_true(batched: bool) -> None:
    for seed in range(300):
        game = FakeGame(Trees(seed).root(5))
        search = Expectiminimax(game, key=str, outcome=points, batched=batched)
        result = think(search, game.new_initial_state(), DEEP, written, rng=random.Random(seed))
        assert result.is_resolved
        assert result.completion == pytest.approx(brute_force(game.new_initial_state()), abs=1e-9), seed
        assert result.iterations <= 6


@pytest.mark.parametrize("name", ["pig(players=2,winscore=20)", "einstein_wurfelt_nicht", "backgammon"])
def test_5_an_iteration_evaluates_only_states_at_its_depth(name: str) -> None:
    game = load_game(name)
    search, rng = Expectiminimax(game), random.Random(0)
    state = game.new_initial_state()
    roll(state, rng.random)
    tree, start = search.new_tree(), state.move_number()
    zero = UniformRandomEvaluator(0)

    def decisions(state: FakeState) -> int:
        """Actions of players after the start."""
        passed, count = game.new_initial_state(), 0
        for ply, action in enumerate(state.history()):
            count += ply >= start and not is_chance(passed)
            passed.apply_action(action)
        return count

    for depth in (1, 2):
        asked: list[FakeState] = []

        def recorded(states: Sequence[FakeState]) -> NDArray[np.float64]:
            asked.extend(states)  # noqa: B023
            return zero(states)

        think(search, state, Budget(iterations=1), recorded, tree=tree)
        assert {decisions(state) for state in asked} == {depth}


def test_5_outcomes_share_requests() -> None:
    leaves = {f"L{i}": second(0.1 * i, **{f"X{i}": 1, f"Y{i}": first(0.2, **{f"Z{i}": 0})}) for i in range(3)}
    game = FakeGame(first(0.0, A=chance(0.3, [0.5, 0.25, 0.25], **leaves)))
    recorder = Recorder()
    think(Expectiminimax(game, key=str), game.new_initial_state(), Budget(iterations=2), recorder)
    assert recorder.asked == ["A", "Y0 Y1 Y2"]


def test_7_an_abandoned_iteration_leaves_the_root() -> None:
    game = load_game("einstein_wurfelt_nicht")
    state = game.new_initial_state()
    roll(state, random.Random(1).random)
    search, evaluator = Expectiminimax(game), UniformRandomEvaluator(1)
    whole = think(search, state, Budget(iterations=2), evaluator)
    cut = think(search, state, Budget(evaluations=whole.evaluations + 40), evaluator)
    assert cut.iterations == 2
    assert cut.values.tolist() == whole.values.tolist()
    assert cut.value == whole.value


def test_a_depth_ends_the_search_and_later_moves_use_its_results() -> None:
    game = load_game("pig(players=2,winscore=20)")
    search, evaluator = Expectiminimax(game, depth=3), UniformRandomEvaluator(1)
    tree, state = search.new_tree(), game.new_initial_state()
    result = think(search, state, DEEP, evaluator, tree=tree)
    assert (result.iterations, search.depth_of(result.node)) == (3, 3)
    deeper = search.to_depth(4)
    assert think(deeper, state, DEEP, evaluator).iterations == 4
    state.apply_action(0)
    roll(state, random.Random(0).random)
    node = tree.table[tree.key(state)]
    assert isinstance(node, ExpectiminimaxNode)
    assert node.depth == 2
    again = think(search, state, DEEP, evaluator, tree=tree)
    fresh = think(search, state, DEEP, evaluator)
    assert again.iterations == 2  # depths 2 and 3
    assert again.values.tolist() == pytest.approx(fresh.values.tolist())


def test_root_actions_restrict_the_search() -> None:
    game = load_game("pig(players=2,winscore=20)")
    result = think(
        Expectiminimax(game), game.new_initial_state(), Budget(iterations=3), ZeroEvaluator(), root_actions=[1]
    )
    assert result.actions.tolist() == [1]


def test_a_sample_of_the_outcomes_proves_nothing_and_ends() -> None:
    outcomes = {f"O{i}": float(i % 3 - 1) for i in range(9)}
    game = FakeGame(first(0.0, A=chance(0.3, [1 / 9] * 9, **outcomes), B=-1))
    result = think(Expectiminimax(game, key=str, chance_samples=3), game.new_initial_state(), DEEP, written)
    assert (result.is_resolved, result.iterations) == (False, 2)
    assert think(Expectiminimax(game, key=str), game.new_initial_state(), DEEP, written).is_resolved


@pytest.mark.parametrize("name", ["tic_tac_toe", "nim(pile_sizes=1;2;3)", "connect_four"])
def test_without_chance_it_agrees_with_alpha_beta(name: str) -> None:
    game = load_game(name)
    for seed in range(5):
        state, rng = game.new_initial_state(), random.Random(seed)
        for _ in range(2):
            state.apply_action(rng.choice(state.legal_actions()))
        found = [think(kind(game, depth=4), state, DEEP, noise(seed)) for kind in (Expectiminimax, AlphaBeta)]
        assert found[0].value == found[1].value
        assert found[0].completion == found[1].completion


def test_trivial_chance_changes_no_decision_at_any_depth() -> None:
    for seed in range(100):
        root = without_chance(5, random.Random(seed))
        if not isinstance(root, Place):
            continue
        plain, around = FakeGame(root), FakeGame(wrapped(root))
        start = plain.new_initial_state()
        options: dict[str, Any] = {"key": str, "outcome": points, "completion": False}
        searches: list[Search] = [AlphaBeta(plain, **options), Expectiminimax(around, **options)]
        trees = [search.new_tree() for search in searches]
        for depth in range(1, 7):
            found = [
                think(search, search.game.new_initial_state(), Budget(iterations=1), written, tree=tree)
                for search, tree in zip(searches, trees, strict=True)
            ]
            value = labelled(start, depth, points, completion=False)[1]
            for result in found:
                assert result.value == value, seed
                assert labelled(start.child(result.best_action), depth - 1, points, completion=False)[1] == value, seed


@pytest.mark.parametrize("depth", [0, 257, 1.5])
def test_depths_out_of_range_are_refused(depth: object) -> None:
    with pytest.raises(SearchError, match="depth of Expectiminimax"):
        Expectiminimax("pig(players=2)", depth=depth)  # type: ignore[arg-type]


def test_alpha_beta_refuses_chance() -> None:
    with pytest.raises(SearchError, match="Expectiminimax"):
        AlphaBeta("pig(players=2)")
