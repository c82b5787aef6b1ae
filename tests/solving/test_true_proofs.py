"""Proofs by Descent and UBFM are true: of whole small games, and near the end of every game.

Each search runs until the root is resolved, with evaluators that return zeros, noise or wrong values. Every proof in
its tree is then compared with brute force (`oracles.proofs`). The laws are those of `athenan_spiel.search.node`.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pyspiel
import pytest
from drivers import answered
from oracles import evaluators
from oracles.brute_force import BruteForce, load, solver
from oracles.evaluators import LIARS, Evaluator, noise
from oracles.hex_must_play import HexSolver
from oracles.positions import late_position
from oracles.proofs import check_certificate, check_proofs, nodes_below

from athenan_spiel.outcomes import AdditiveDepth, Gain, MultiplicativeDepth, Outcome, make_outcome
from athenan_spiel.play.self_play import Thinking, self_play
from athenan_spiel.search import UBFM, Budget, Descent, Search, SearchResult, think
from athenan_spiel.search.choice import best, completed, ordinal, safest, uniform_exploitation
from athenan_spiel.search.tree import Tree

SEARCHES = [Descent, UBFM]
ENOUGH = Budget(iterations=1_000_000)
"""Iterations that no search here needs. A root that is unresolved by then never will be resolved."""

TINY = [
    "nim(pile_sizes=1;2;3,is_misere=false)",
    "nim(pile_sizes=1;2;3,is_misere=true)",
    "nim(pile_sizes=2;2,is_misere=false)",
    "nim(pile_sizes=1;4,is_misere=true)",
    "dots_and_boxes(num_rows=1,num_cols=1)",
    "dots_and_boxes(num_rows=1,num_cols=2)",
    "hex(board_size=2)",
    "y(board_size=2)",
    "y(board_size=3)",
    "clobber(rows=2,columns=3)",
    "clobber(rows=3,columns=3)",
    "breakthrough(rows=4,columns=2)",
    "havannah(board_size=2)",
    "mnk(m=3,n=2,k=2)",
]
"""Games of up to a thousand positions."""

SMALL = [
    "tic_tac_toe",
    "mnk(m=3,n=3,k=3)",
    "nim(pile_sizes=1;3;5;7,is_misere=true)",
    "dots_and_boxes(num_rows=1,num_cols=3)",
    "hex(board_size=3)",
    "breakthrough(rows=5,columns=2)",
    "breakthrough(rows=4,columns=3)",
    "connect_four(rows=3,columns=4,x_in_row=3)",
    "clobber(rows=3,columns=4)",
]
"""Games of up to some ten thousand positions."""

MEDIUM = [
    "dots_and_boxes(num_rows=2,num_cols=2)",
    "mnk(m=4,n=3,k=3)",
    "hex(num_cols=3,num_rows=4)",
    "y(board_size=4)",
    "breakthrough(rows=5,columns=3)",
    "connect_four(rows=4,columns=4,x_in_row=3)",
    "quoridor(board_size=3)",
]
"""Games of some hundred thousand positions."""

LATE = {
    "amazons(board_size=6)": "three actions a turn",
    "breakthrough(rows=5,columns=4)": "",
    "checkers": "several jumps a turn; a draw after 40 plies without capture",
    "clobber": "",
    "connect_four": "draws by a full board",
    "dots_and_boxes(num_rows=3,num_cols=3)": "another turn after a box",
    "go(board_size=4)": "superko",
    "gomoku(size=6)": "",
    "havannah(board_size=4)": "",
    "hex(board_size=5)": "",
    "mancala": "another turn when the last stone falls home",
    "mnk(m=5,n=5,k=4)": "",
    "nine_mens_morris": "another action after a mill",
    "othello": "passes",
    "pentago": "",
    "twixt": "",
    "ultimate_tic_tac_toe": "a player may choose the board first, then the cell",
    "y(board_size=6)": "",
}
"""Games whose last positions brute force can solve, and the reason for each."""

LATE_AND_SLOW = [
    "antichess",
    "chess",
    "chinese_checkers(players=2)",
    "hive",
    "lines_of_action(max_game_length=40)",
    "oware",
    "quoridor(board_size=5)",
    "xiangqi",
]


def solve(
    kind: type[Search],
    state: pyspiel.State,
    evaluator: Evaluator,
    *,
    outcome: Outcome | None = None,
    seed: int = 0,
) -> tuple[SearchResult, Tree]:
    """Searches from `state` until it is resolved."""
    search = kind(state.get_game(), outcome=outcome)
    tree = search.new_tree()
    result = think(search, state, ENOUGH, evaluator, tree=tree, rng=random.Random(seed))
    assert result.is_resolved
    return result, tree


def check_solved(result: SearchResult, tree: Tree, state: pyspiel.State, oracle: BruteForce) -> None:
    """Checks that the root's completion, value and decisions, and every proof below it, match perfect play."""
    truth = oracle.value(state)
    assert result.completion == truth
    assert result.value == truth, "with the gain as outcome, what is resolved is worth what it is"
    assert isinstance(result.completion, int)
    for action in (result.best_action, result.safest_action, result.principal_variation[0]):
        assert oracle.value(state.child(action)) == truth
    assert check_proofs(tree, state, oracle.value) > 0
    for node, _ in nodes_below(tree, state):
        for value, completion, resolved in zip(node.values, node.completions, node.resolutions, strict=True):
            assert not resolved or value == completion


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", TINY)
def test_tiny_games(spec: str, kind: type[Search]) -> None:
    state, oracle = load(spec).new_initial_state(), BruteForce()
    for seed in range(6):
        check_solved(*solve(kind, state, noise(seed), seed=seed), state, oracle)
    for make in LIARS.values():
        check_solved(*solve(kind, state, make(oracle)), state, oracle)


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", SMALL)
def test_small_games(spec: str, kind: type[Search]) -> None:
    state, oracle = load(spec).new_initial_state(), BruteForce()
    check_solved(*solve(kind, state, noise(0)), state, oracle)


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("evaluator", LIARS)
@pytest.mark.parametrize("spec", ["clobber(rows=3,columns=4)", "breakthrough(rows=5,columns=2)", "hex(board_size=3)"])
def test_small_games_with_evaluators_that_mislead(spec: str, evaluator: str, kind: type[Search]) -> None:
    state, oracle = load(spec).new_initial_state(), BruteForce()
    check_solved(*solve(kind, state, LIARS[evaluator](oracle)), state, oracle)


@pytest.mark.slow("many seeds")
@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", TINY + SMALL)
def test_small_games_many_times(spec: str, kind: type[Search]) -> None:
    state, oracle = load(spec).new_initial_state(), BruteForce()
    for seed in range(1, 50 if spec in TINY else 6):
        check_solved(*solve(kind, state, noise(seed), seed=seed), state, oracle)
        check_solved(*solve(kind, state, evaluators.coarse(seed), seed=seed), state, oracle)
    for make in LIARS.values():
        check_solved(*solve(kind, state, make(oracle)), state, oracle)


@pytest.mark.slow("games of a hundred thousand positions")
@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", MEDIUM)
def test_medium_games(spec: str, kind: type[Search]) -> None:
    state, oracle = load(spec).new_initial_state(), solver()
    for evaluator in (noise(0), evaluators.playouts(4, 0)):
        check_solved(*solve(kind, state, evaluator), state, oracle)


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", LATE)
def test_the_ends_of_matches(spec: str, kind: type[Search]) -> None:
    for seed in range(2):
        late = late_position(spec, seed, max_histories=400, matches=4)
        check_solved(*solve(kind, late.state, noise(seed), seed=seed), late.state, late.oracle)


@pytest.mark.slow("many positions")
@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", [*LATE, *LATE_AND_SLOW])
def test_the_ends_of_many_matches(spec: str, kind: type[Search]) -> None:
    for seed in range(2, 10):
        late = late_position(spec, seed, max_histories=1_500, matches=5)
        for evaluator in (noise(seed), evaluators.constant(0.0), evaluators.lie(late.oracle)):
            check_solved(*solve(kind, late.state, evaluator, seed=seed), late.state, late.oracle)


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", ["crazyhouse", "shogi", "lines_of_action", "breakthrough", "cursor_go(board_size=3)"])
def test_proofs_in_games_too_large_for_brute_force_have_reasons(spec: str, kind: type[Search]) -> None:
    """Every proof found near the end of a game follows from terminal states by minimax."""
    game = load(spec)
    search = kind(game)
    certified = 0
    for seed in range(3):
        rng = random.Random(seed)
        state, before = game.new_initial_state(), []
        while not state.is_terminal():
            before.append(state.clone())
            state.apply_action(rng.choice(state.legal_actions()))
        for position in before[-3:]:
            tree = search.new_tree()
            think(search, position, Budget(iterations=6, evaluations=1_500), noise(seed), tree=tree)
            certified += check_certificate(tree, position)
    assert certified > 0


@pytest.mark.parametrize("kind", SEARCHES)
def test_draws_are_proven_as_draws(kind: type[Search]) -> None:
    """Tic-Tac-Toe from the empty board: nine actions, and all of them draw."""
    state, oracle = load("tic_tac_toe").new_initial_state(), BruteForce()
    result, tree = solve(kind, state, evaluators.constant(0.7))
    check_solved(result, tree, state, oracle)
    assert result.resolved.all()
    assert not result.completions.any()
    assert not result.values.any()
    draws = [node for node, _ in nodes_below(tree, state) if node.resolved and node.completion == 0]
    assert len(draws) > 500
    assert all(node.unresolved == 0 for node in draws), "a draw is known only when nothing is open"


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("decision", [best, safest, completed(ordinal(uniform_exploitation))])
@pytest.mark.parametrize("spec", ["tic_tac_toe", "dots_and_boxes(num_rows=1,num_cols=3)", "clobber(rows=3,columns=4)"])
def test_the_tree_of_a_whole_match_proves_nothing_false(
    spec: str, decision: Callable[..., int], kind: type[Search]
) -> None:
    """Remark 1: the table lasts for the game, and its proofs are used from one move to the next."""
    game, oracle = load(spec), BruteForce()
    evaluator = noise(1)
    for seed in range(2):
        playing = self_play(game, Thinking(kind(game), Budget(iterations=12)), decision, seed)
        match, _ = answered(playing, evaluator)
        state = game.new_initial_state()
        tree = match.tree
        for action in match.history:
            check_proofs(tree, state, oracle.value)
            node = tree.table[tree.key(state)]
            if node.resolved:
                # Completed selection: what is won is never given away, and a proven draw neither.
                assert oracle.value(state.child(action)) == node.completion == oracle.value(state)
            state.apply_action(action)


def outcome_for(name: str, spec: str) -> Outcome:
    return make_outcome(name, load(spec), random.Random(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("name", ["additive_depth", "multiplicative_depth"])
@pytest.mark.parametrize(
    "spec", ["tic_tac_toe", "hex(board_size=3)", "connect_four(rows=3,columns=4,x_in_row=3)", *TINY[:7]]
)
def test_with_a_depth_heuristic_a_proof_is_of_the_gain_and_its_value_is_safe(
    spec: str, name: str, kind: type[Search]
) -> None:
    """Laws of a resolved state s, with V*(s) the minimax value under the heuristic:

    - c(s) is the gain of perfect play, whatever the heuristic;
    - v(s) is the value of a terminal state below s with that gain;
    - v(s) is a value that the winner can force, not the best one: 0 < v(s) <= V*(s) if player 0 wins, V*(s) <= v(s) < 0
    if player 1 wins. The search stops at the first win (resolution stop), and never searches for a faster one.
    """
    outcome = outcome_for(name, spec)
    state = load(spec).new_initial_state()
    gains, ideal = BruteForce(), BruteForce(outcome)
    ideal.value(state)
    result, tree = solve(kind, state, noise(0), outcome=outcome)
    assert result.completion == gains.value(state)
    check_proofs(tree, state, gains.value)
    for node, position in nodes_below(tree, state):
        if node.resolved:
            assert node.value in ideal.values_seen
            assert (node.value > 0) - (node.value < 0) == node.completion
            best_there_is = ideal.value(position)
            assert abs(node.value) <= abs(best_there_is)
            assert node.value * best_there_is >= 0


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_proven_win_may_be_slower_than_need_be(kind: type[Search]) -> None:
    """The inequality above is strict for some states: resolution is not minimax under the heuristic."""
    spec = "connect_four(rows=3,columns=4,x_in_row=3)"
    state, outcome = load(spec).new_initial_state(), outcome_for("additive_depth", spec)
    ideal = BruteForce(outcome)
    _, tree = solve(kind, state, noise(0), outcome=outcome)
    assert any(node.resolved and node.value != ideal.value(position) for node, position in nodes_below(tree, state))


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_state_whose_every_line_is_proven_has_the_minimax_value_of_the_heuristic(kind: type[Search]) -> None:
    """If no proof cut off a state below s, v(s) = V*(s)."""
    spec = "tic_tac_toe"
    state, outcome = load(spec).new_initial_state(), outcome_for("additive_depth", spec)
    ideal = BruteForce(outcome)
    _, tree = solve(kind, state, noise(0), outcome=outcome)

    def looked_through(position: pyspiel.State) -> bool:
        node = None if position.is_terminal() else tree.table.get(tree.key(position))
        return position.is_terminal() or (
            node is not None and node.unresolved == 0 and all(looked_through(position.child(a)) for a in node.actions)
        )

    whole = [(node, position) for node, position in nodes_below(tree, state) if looked_through(position)]
    assert len(whole) > 50
    assert all(node.value == ideal.value(position) for node, position in whole)
    assert any(abs(node.value) > 1 for node, _ in whole)


@pytest.mark.parametrize("kind", SEARCHES)
def test_a_score_is_proven_by_its_sign(kind: type[Search]) -> None:
    """With the score as outcome the gain is proven, and v(s) is a score that the winner can force."""
    spec = "dots_and_boxes(num_rows=1,num_cols=3,utility_margin=true)"
    state, outcome = load(spec).new_initial_state(), outcome_for("score", spec)
    scores, gains = BruteForce(outcome), BruteForce()
    result, tree = solve(kind, state, noise(2), outcome=outcome)
    assert result.completion == gains.value(state) == np.sign(scores.value(state)) == -1
    assert scores.value(state) <= result.value < 0
    check_proofs(tree, state, gains.value)


@pytest.mark.parametrize(
    "outcome",
    [
        Gain(),
        AdditiveDepth(longest=9, exact=True),
        AdditiveDepth(longest=3, exact=False),
        MultiplicativeDepth(mean=7.0),
    ],
)
@pytest.mark.parametrize("kind", SEARCHES)
def test_the_outcome_changes_no_proof(kind: type[Search], outcome: Outcome) -> None:
    state = load("tic_tac_toe").new_initial_state()
    for action in (0, 4, 8):
        state.apply_action(action)
    oracle = BruteForce()
    result, tree = solve(kind, state, noise(0), outcome=outcome)
    assert result.completion == oracle.value(state) == 0
    check_proofs(tree, state, oracle.value)


@pytest.mark.slow("a tree of some thousand nodes is compared with a solver")
@pytest.mark.parametrize("kind", SEARCHES)
def test_hex_4x4_from_every_opening(kind: type[Search]) -> None:
    oracle = HexSolver(4)
    game = load("hex(board_size=4)")
    for opening in game.new_initial_state().legal_actions():
        state = game.new_initial_state().child(opening)
        result, tree = solve(kind, state, evaluators.playouts(16, 0))
        assert result.completion == oracle.value(state)
        check_proofs(tree, state, oracle.value)
