"""Alpha-beta equals plain minimax at every depth, evaluates fewer states, and stops at its limits."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable

import pyspiel
import pytest
from fake_game import EXAMPLE, FakeGame, Recorder, first, score, second
from oracles.brute_force import BruteForce, load, same_history, who_won
from oracles.evaluators import Counting, coarse, constant, noise
from oracles.plain_minimax import PlainMinimax
from oracles.positions import late_position

from athenan_spiel.outcomes import make_outcome
from athenan_spiel.outcomes.infinite import InfiniteTerminal
from athenan_spiel.search import UBFM, AlphaBeta, Budget, Descent, SearchResult, think
from athenan_spiel.search.alphabeta_tree import AlphaBetaNode
from athenan_spiel.search.choice import best, greedy, safest
from athenan_spiel.search.node import NodeKind

# spec: greatest depth compared. Mancala and Dots and Boxes have double moves; all but Oware merge histories.
GAMES = {
    "tic_tac_toe": 4,
    "nim(pile_sizes=1;2;3)": 7,
    "dots_and_boxes(num_rows=1,num_cols=2)": 7,
    "hex(board_size=3)": 4,
    "breakthrough(rows=4,columns=2)": 6,
    "clobber(rows=3,columns=3)": 5,
    "mancala": 4,
    "oware(num_houses_per_player=2,num_seeds_per_house=2)": 6,
    "ultimate_tic_tac_toe": 3,
}
both = pytest.mark.parametrize("completion", [True, False], ids=["completion", "plain"])


def position(spec: str, seed: int, most: int = 8) -> pyspiel.State:
    """A state after up to `most` random actions, not terminal."""
    rng = random.Random(seed)
    state = load(spec).new_initial_state()
    for _ in range(rng.randrange(most)):
        child = state.child(rng.choice(state.legal_actions()))
        if child.is_terminal():
            break
        state = child
    return state


def pairs_of(result: SearchResult) -> list[tuple[int, float]]:
    return list(zip(result.completions.tolist(), result.values.tolist(), strict=True))


# Promise 1


@both
@pytest.mark.parametrize("spec", GAMES)
def test_every_depth_is_plain_minimax(spec: str, completion: bool) -> None:
    game = load(spec)
    compared = 0
    for seed, make in itertools.product(range(5), (noise, coarse)):
        state, evaluator = position(spec, seed), make(seed)
        plain = PlainMinimax(evaluator, completion=completion)
        search = AlphaBeta(game, completion=completion)
        tree = search.new_tree()
        for depth in range(1, GAMES[spec] + 1):
            result = think(search, state, Budget(iterations=1), evaluator, tree=tree)
            if result.iterations == 0:
                break
            compared += 1
            expected = plain.action_pairs(state, depth)
            extreme = (max if state.current_player() == 0 else min)(expected)
            assert (result.completion, result.value) == extreme
            got = pairs_of(result)
            optimal = {i for i, pair in enumerate(got) if pair == extreme}
            if abs(extreme[0]) == 1:  # one win is enough: the others need not be known
                assert optimal <= {i for i, pair in enumerate(expected) if pair == extreme}
            else:
                assert optimal == {i for i, pair in enumerate(expected) if pair == extreme}
            assert result.actions.tolist().index(result.best_action) in optimal
            assert not any((b > extreme) if state.current_player() == 0 else (b < extreme) for b in got)
    assert compared >= 10


@both
@pytest.mark.parametrize("spec", ["tic_tac_toe", "mancala", "breakthrough(rows=4,columns=2)", "hex(board_size=3)"])
@pytest.mark.parametrize("count", [2, 3, 50])
def test_several_best_actions_have_their_values(spec: str, completion: bool, count: int) -> None:
    """Each has the pair of plain minimax, and no other action seems better; a win needs no further depth."""
    compared = 0
    for seed, make in itertools.product(range(4), (noise, coarse)):
        state, evaluator = position(spec, seed), make(seed)
        plain = PlainMinimax(evaluator, completion=completion)
        search = AlphaBeta(load(spec), completion=completion).with_exact_actions(count)
        tree = search.new_tree()
        for depth in range(1, GAMES[spec] + 1):
            result = think(search, state, Budget(iterations=1), evaluator, tree=tree)
            if result.iterations == 0:
                break
            maximises = state.current_player() == 0
            expected = sorted(plain.action_pairs(state, depth), reverse=maximises)[:count]
            got = sorted(pairs_of(result), reverse=maximises)[:count]
            assert got == expected
            compared += 1
    assert compared >= 10


@pytest.mark.parametrize("spec", ["tic_tac_toe", "breakthrough(rows=4,columns=2)"])
def test_more_exact_actions_are_searched_for_from_the_first_depth_on(spec: str) -> None:
    """The tree of a search with one exact action is continued by one with three, and the other way round."""
    repeated = 0
    for seed in range(10):
        state, evaluator = position(spec, seed, 4), noise(seed)
        one = AlphaBeta(load(spec), depth=3)
        tree = one.new_tree()
        first_result = think(one, state, Budget(iterations=9), evaluator, tree=tree)
        three = one.with_exact_actions(3)
        deep = one.depth_of(first_result.node)
        shallow = think(three, state, Budget(iterations=1), evaluator, tree=tree)
        assert one.depth_of(shallow.node) == (1 if not first_result.is_resolved else deep)
        result = think(three, state, Budget(iterations=9), evaluator, tree=tree)
        assert result.completion == first_result.completion
        if not result.completion:
            repeated += 1
            expected = sorted(PlainMinimax(evaluator).action_pairs(state, 3), reverse=state.current_player() == 0)
            assert sorted(pairs_of(result), reverse=state.current_player() == 0)[:3] == expected[:3]
        assert think(three, state, Budget(iterations=9), evaluator, tree=tree).iterations == 0
        assert think(one, state, Budget(iterations=9), evaluator, tree=tree).iterations == 0
    assert repeated >= 3


@pytest.mark.parametrize("spec", ["tic_tac_toe", "dots_and_boxes(num_rows=1,num_cols=2)", "clobber(rows=3,columns=3)"])
def test_the_depth_heuristic_is_minimaxed_too(spec: str) -> None:
    game = load(spec)
    outcome = make_outcome("additive_depth", game, random.Random(0))
    for seed in range(4):
        state = position(spec, seed)
        plain = PlainMinimax(noise(seed), outcome)
        search = AlphaBeta(game, outcome=outcome)
        for depth in range(1, 6):
            result = think(search, state, Budget(iterations=depth), noise(seed))
            if result.iterations == depth:
                assert (result.completion, result.value) == plain.pair(state, depth)


def test_a_bound_as_good_as_the_best_is_not_taken_for_it() -> None:
    """After A = 0.5, the first reply in B refutes it with just as much; its second one, never seen, is worse still."""
    game = FakeGame(first(0.0, A=second(0.9, C=0.5), B=second(0.8, D=0.5, E=-1), F=second(-2.0, G=0.5)))
    for seed in range(20):
        result = think(
            AlphaBeta(game, outcome=score, key=str, completion=False),
            game.new_initial_state(),
            Budget(iterations=2),
            Recorder(),
            rng=random.Random(seed),
        )
        assert result.value == 0.5
        assert result.values.tolist()[1] < 0.5
        assert greedy(result.node, range(3), random.Random(seed)) in (0, 2)


def test_equals_are_drawn_at_random() -> None:
    game = FakeGame(first(0.0, A=second(0.1, C=0.5), B=second(0.2, D=0.5), F=second(0.3, G=-1)))
    search = AlphaBeta(game, outcome=score, key=str, completion=False)
    drawn = Counter(
        think(search, game.new_initial_state(), Budget(iterations=2), Recorder(), rng=random.Random(seed)).best_action
        for seed in range(400)
    )
    assert set(drawn) == {10, 11}
    assert min(drawn.values()) > 150


# Promise 2


@pytest.mark.parametrize(
    "spec", ["tic_tac_toe", "nim(pile_sizes=1;2;3)", "hex(board_size=3)", "clobber(rows=3,columns=3)"]
)
def test_it_stops_at_the_games_value_with_completion_or_without(spec: str) -> None:
    game = load(spec)
    oracle = BruteForce()
    for seed in range(3):
        state = position(spec, seed, 4)
        for completion, evaluator in itertools.product((True, False), (noise(seed), constant(0.0))):
            result = think(AlphaBeta(game, completion=completion), state, Budget(iterations=100), evaluator)
            assert result.value == oracle.value(state)
            assert result.is_resolved == completion
            assert oracle.value(state.child(result.best_action)) == result.value
            if completion:
                assert result.completion == oracle.value(state)
                for action, resolved, c in zip(result.actions, result.resolved, result.completions, strict=True):
                    assert not resolved or c == oracle.value(state.child(int(action)))


@pytest.mark.parametrize("spec", ["tic_tac_toe", "mancala", "oware(num_houses_per_player=2,num_seeds_per_house=2)"])
def test_proofs_are_true_all_over_the_tree(spec: str) -> None:
    for seed in range(3):
        late = late_position(spec, seed, max_histories=2000, matches=3)
        search = AlphaBeta(load(spec), key=same_history)
        tree = search.new_tree()
        think(search, late.state, Budget(iterations=30), noise(seed), tree=tree)
        resolved = [(key, node) for key, node in tree.table.items() if node.resolved]
        assert resolved
        for key, node in resolved:
            state = load(spec).new_initial_state()
            for action in key:  # type: ignore[attr-defined]
                state.apply_action(action)
            assert node.completion == late.oracle.value(state)


def test_it_stops_where_the_refutation_is_terminal() -> None:
    """At depth 3 C no longer refutes B, but D does, which ends the match: C's horizon is of no account."""
    long = first(0.9, E=first(0.9, F=first(0.9, G=first(0.9, H=0.9))))
    game = FakeGame(first(0.0, A=0.5, B=second(0.3, C=first(0.1, I=long), D=0.2)))
    search = AlphaBeta(game, outcome=score, key=str, completion=False)
    result = think(search, game.new_initial_state(), Budget(iterations=50), Recorder())
    assert (result.iterations, result.value) == (3, 0.5)


def test_a_match_played_with_one_tree_keeps_to_the_games_value() -> None:
    """What is proven from earlier states is never given away: also a draw that bounds alone have proven."""
    game = load("tic_tac_toe")
    oracle = BruteForce()
    for seed, completion, decision in itertools.product(range(3), (True, False), (best, safest)):
        rng = random.Random(seed)
        search = AlphaBeta(game, completion=completion)
        tree = search.new_tree()
        state = game.new_initial_state()
        for _ in range(seed % 3):
            state.apply_action(rng.choice(state.legal_actions()))
        value = oracle.value(state)
        while not state.is_terminal():
            result = think(search, state, Budget(iterations=9), constant(0.0), tree=tree, rng=rng)
            assert result.value == value
            state.apply_action(int(result.actions[decision(result.node, rng)]))
        assert who_won(state) == value


def test_a_state_proven_by_bounds_is_searched_to_the_depth_that_proved_it() -> None:
    """One iteration at a new root that is proven drawn must tell a draw from a loss."""
    game = load("tic_tac_toe")
    oracle = BruteForce()
    search = AlphaBeta(game)
    tree = search.new_tree()
    state = game.new_initial_state()
    think(search, state, Budget(iterations=9), constant(0.0), tree=tree)
    met = 0
    for key, node in list(tree.table.items()):
        text = str(key[0])  # type: ignore[index]
        if node.resolved and node.completion == 0 and node.unresolved > 0:
            state = next((s for s in reachable(text, node.kind is NodeKind.MAXIMISER)), None)
            assert state is not None
            result = think(search, state, Budget(iterations=1), constant(0.0), tree=tree)
            assert (result.completion, result.value) == (0, 0.0)
            if result.iterations and result.node.settled:  # type: ignore[attr-defined]
                exact = [a for a, v in zip(result.actions, result.values, strict=True) if v == 0.0]
                assert all(oracle.value(state.child(int(a))) == 0 for a in exact)
                met += 1
    assert met > 30


def reachable(text: str, first_to_move: bool) -> list[pyspiel.State]:
    """The state of tic-tac-toe that prints `text`."""
    crosses = [i for i, c in enumerate(text.replace("\n", "")) if c == "x"]
    noughts = [i for i, c in enumerate(text.replace("\n", "")) if c == "o"]
    for xs in itertools.permutations(crosses):
        state = load("tic_tac_toe").new_initial_state()
        moves = [m for pair in itertools.zip_longest(xs, noughts) for m in pair if m is not None]
        for i, move in enumerate(moves):
            if state.is_terminal() and i < len(moves):
                break
            state.apply_action(move)
        else:
            if not state.is_terminal():
                return [state]
    return []


def test_what_bounds_have_proven_is_played_once_it_is_known_which_action_keeps_it() -> None:
    """S is a proven draw: A draws, and C refutes B as a way to win. That B loses shows later, at a greater depth."""
    lost = first(0.3, E=second(0.3, F=first(0.3, G=-1)))
    drawn = first(0.1, A=0, B=second(-0.2, C=0, D=lost))
    game = FakeGame(second(0.0, S=drawn, T=0.5))
    for seed in range(10):
        rng = random.Random(seed)
        search = AlphaBeta(game, outcome=score, key=str)
        tree = search.new_tree()
        think(search, game.new_initial_state(), Budget(iterations=4), Recorder(), tree=tree, rng=rng)
        assert tree.table["S"].resolved
        result = think(search, game.state("S"), Budget(iterations=20), Recorder(), tree=tree, rng=rng)
        assert result.best_action == game.state("S").action_to("A")
        assert result.iterations > 1


def test_one_win_is_enough() -> None:
    game, recorder = FakeGame(first(0.0, A=first(0.9, C=1), B=first(0.5, D=first(0.5, E=1)))), Recorder()
    result = think(AlphaBeta(game, outcome=score, key=str), game.new_initial_state(), Budget(iterations=100), recorder)
    assert (result.completion, result.is_resolved, recorder.asked) == (1, True, ["A B"])


# Promise 3, 4


def test_bounds_of_states_cut_off_are_bounds() -> None:
    """Each inner value is on the right side of the true minimax value at its depth."""
    spec = "connect_four(rows=4,columns=4)"
    evaluator = noise(1)
    search = AlphaBeta(load(spec), completion=False, key=same_history)
    tree = search.new_tree()
    think(search, load(spec).new_initial_state(), Budget(iterations=5), evaluator, tree=tree)
    plain = PlainMinimax(evaluator, completion=False)
    kinds = Counter[str]()
    for key, node in tree.table.items():
        assert isinstance(node, AlphaBetaNode)
        state = load(spec).new_initial_state()
        for action in key:  # type: ignore[attr-defined]
            state.apply_action(action)
        for depth, (lower, upper) in node.bounds.items():
            value = plain.pair(state, depth)
            assert lower <= value <= upper
            kinds["exact" if lower == upper else "lower" if upper[0] == 2 else "upper"] += 1
            if depth == node.depth:
                assert (0, node.value) in (lower, upper)
    assert all(kinds[kind] > 5 for kind in ("exact", "lower", "upper")), kinds


def test_visits_mark_the_best_action_with_the_depth() -> None:
    game = load("hex(board_size=3)")
    result = think(AlphaBeta(game), game.new_initial_state(), Budget(iterations=3), noise(0))
    assert sorted(result.visits.tolist()) == [0] * 8 + [3]
    assert result.best_action == result.safest_action == result.actions[result.visits.argmax()]


# Promise 5, 6


def test_the_questions_of_the_worked_tree() -> None:
    """All children of a state come in one batch, the horizon's included, and terminal ones in none."""
    recorder = Recorder()
    search = AlphaBeta(EXAMPLE, outcome=score, key=str)
    tree = search.new_tree()
    asked, state = [], EXAMPLE.new_initial_state()
    for _ in range(3):
        think(search, state, Budget(iterations=1), recorder, tree=tree)
        asked.append(recorder.asked[:])
        recorder.asked.clear()
    # A = 0.6 comes before B = 0.5, and C is a draw. Its replies D, E make A 0.2, K, N make B 0.3: then B comes first.
    assert asked == [["A B"], ["D E", "K N"], ["M", "H"]]


def test_the_last_searchs_best_action_comes_first() -> None:
    """At depth 1 A looks best, at depth 2 B; so at depth 3 B is entered first."""
    game = FakeGame(
        first(
            0.0,
            A=second(0.9, C=first(0.1, I=second(0.1, M=0.1))),
            B=second(0.8, D=first(0.7, J=second(0.7, N=0.7))),
        )
    )
    recorder = Recorder()
    search = AlphaBeta(game, outcome=score, key=str, completion=False)
    think(search, game.new_initial_state(), Budget(iterations=3), recorder)
    assert recorder.asked == ["A B", "C", "D", "J", "I"]


def test_it_comes_before_actions_that_only_look_better() -> None:
    """In B, X is worth 0.5 at depth 3, enough to be cut off; Y keeps the 0.9 that it was first valued."""
    game = FakeGame(
        second(
            0.0,
            A=0,
            B=first(0.5, X=second(0.95, P=second(0.5, Q=second(0.5, R=0.5))), Y=second(0.9, Z=second(0.4, S=0.4))),
        )
    )
    recorder = Recorder()
    search = AlphaBeta(game, outcome=score, key=str, completion=False)
    think(search, game.new_initial_state(), Budget(iterations=4), recorder)
    assert recorder.asked == ["B", "X Y", "P", "Q"]


@pytest.mark.parametrize("spec", ["tic_tac_toe", "connect_four", "breakthrough(rows=6,columns=4)", "hex(board_size=4)"])
def test_it_values_fewer_states_than_plain_minimax(spec: str) -> None:
    """At depth 4, all depths before it included, and with no transposition to help."""
    state = load(spec).new_initial_state()
    plain = PlainMinimax(noise(3), completion=False)
    value = plain.pair(state, 4)[1]
    result = think(AlphaBeta(load(spec), completion=False, key=same_history), state, Budget(iterations=4), noise(3))
    assert result.value == value
    assert result.evaluations < 0.75 * plain.estimated


def test_transpositions_save_questions_and_change_no_value() -> None:
    spec = "connect_four(rows=4,columns=5)"
    state = load(spec).new_initial_state()
    merged = think(AlphaBeta(load(spec)), state, Budget(iterations=6), noise(0))
    apart = think(AlphaBeta(load(spec), key=same_history), state, Budget(iterations=6), noise(0))
    assert merged.value == apart.value
    assert merged.evaluations < 0.8 * apart.evaluations


def test_nothing_is_asked_twice_in_a_match() -> None:
    game = load("connect_four(rows=4,columns=4)")
    asked: list[tuple[int, ...]] = []

    def evaluator(states: list[pyspiel.State]) -> object:
        asked.extend(tuple(state.history()) for state in states)
        return noise(2)(states)

    search = AlphaBeta(game, key=same_history)
    tree = search.new_tree()
    state = game.new_initial_state()
    while not state.is_terminal():
        result = think(search, state, Budget(iterations=3), evaluator, tree=tree)  # type: ignore[arg-type]
        state.apply_action(result.best_action)
    assert len(asked) == len(set(asked)) > 100


def test_depth_one_is_the_protocols_minimax() -> None:
    for spec, seed in itertools.product(["tic_tac_toe", "hex(board_size=4)", "dots_and_boxes"], range(6)):
        state, counting = position(spec, seed), Counting(noise(seed))
        result = think(AlphaBeta(load(spec), depth=1), state, Budget(iterations=2), counting)  # type: ignore[arg-type]
        assert (result.iterations, len(counting.asked)) == (1, 1)
        children = PlainMinimax(noise(seed)).action_pairs(state, 1)
        assert pairs_of(result) == children


# Neighbours


def test_it_is_none_of_its_neighbours() -> None:
    """UBFM follows the best line, Descent goes to the end: after equally many states alpha-beta has a whole depth."""
    game = FakeGame(
        first(
            0.0,
            A=second(0.9, C=first(0.8, I=0.8), D=first(0.85, J=0.85)),
            B=second(0.1, E=first(-0.5, K=1), F=first(0.2, L=1)),
        )
    )
    asked: dict[str, list[str]] = {}
    kinds: dict[str, Callable[..., AlphaBeta | UBFM | Descent]] = {"ab": AlphaBeta, "ubfm": UBFM, "descent": Descent}
    for name, kind in kinds.items():
        recorder = Recorder()
        search = kind(game, outcome=score, key=str, completion=False)
        think(search, game.new_initial_state(), Budget(iterations=2), recorder)
        asked[name] = recorder.asked
    assert asked == {"ab": ["A B", "C D", "E F"], "ubfm": ["A B", "C D"], "descent": ["A B", "C D"]}


# The infinite terminal function


def test_an_infinite_terminal_function_wins_without_completion() -> None:
    game = load("nim(pile_sizes=1;2;3)")
    oracle = BruteForce()
    state = game.new_initial_state()
    state.apply_action(state.legal_actions()[0])
    for search in (
        UBFM(game, outcome=InfiniteTerminal(), completion=False),
        AlphaBeta(game, outcome=InfiniteTerminal(), completion=False),
    ):
        result = think(search, state, Budget(iterations=400), noise(0))
        assert result.value == math.copysign(math.inf, oracle.value(state))
        assert not result.is_resolved
        assert oracle.value(state.child(result.best_action)) == oracle.value(state)
