"""Games whose values are known from the literature: brute force says the same, and the searches prove it.

Sources: Bouton's theory of Nim (1901); Nash's theorem and Beck's on Hex; Schensted and Titus on Y; J. Tromp's table of
Connect Four; the survey of m,n,k-games by Uiterwijk and van den Herik (2000); Berlekamp, Conway and Guy, "Winning
Ways", on Dots and Boxes; the conjecture of Albert, Grossman, Nowakowski and Wolfe on Clobber (2004, proved in 2025).
"""

from __future__ import annotations

import itertools
import random
from functools import reduce
from operator import xor

import numpy as np
import pyspiel
import pytest
from numpy.typing import NDArray
from oracles.brute_force import BruteForce, count_positions, load, solver
from oracles.evaluators import Evaluator, constant, noise
from oracles.hex_circuits import CircuitEvaluator
from oracles.hex_must_play import HexSolver
from oracles.hex_openings import WINNING_OPENINGS
from oracles.proofs import check_proofs, nodes_below

from athenan_spiel.search import UBFM, Budget, Descent, Search, SearchResult, think
from athenan_spiel.search.tree import Tree

SEARCHES = [Descent, UBFM]
FIRST, DRAW, SECOND = 1, 0, -1

PUBLISHED = {
    "tic_tac_toe": DRAW,
    "mnk(m=3,n=3,k=3)": DRAW,
    "mnk(m=2,n=2,k=2)": FIRST,
    "mnk(m=4,n=3,k=3)": FIRST,
    "mnk(m=3,n=4,k=3)": FIRST,
    "hex(board_size=2)": FIRST,
    "hex(board_size=3)": FIRST,
    "y(board_size=1)": FIRST,
    "y(board_size=2)": FIRST,
    "y(board_size=3)": FIRST,
    "y(board_size=4)": FIRST,
    "dots_and_boxes(num_rows=1,num_cols=1)": SECOND,
    "dots_and_boxes(num_rows=1,num_cols=2)": DRAW,
    "dots_and_boxes(num_rows=1,num_cols=3)": SECOND,
}


def solved(kind: type[Search], state: pyspiel.State, evaluator: Evaluator, seed: int = 0) -> tuple[SearchResult, Tree]:
    """Search from `state` until it is proven."""
    search = kind(state.get_game())
    tree = search.new_tree()
    result = think(search, state, Budget(iterations=10_000_000), evaluator, tree=tree, rng=random.Random(seed))
    assert result.is_resolved
    return result, tree


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize(("spec", "value"), PUBLISHED.items())
def test_published_values(spec: str, value: int, kind: type[Search]) -> None:
    state = load(spec).new_initial_state()
    assert solver().value(state) == value
    # A thousand times less than these games need would do if the evaluator knew anything.
    evaluator = playful if spec.startswith(("mnk(m=4", "mnk(m=3,n=4")) else noise(0)
    assert solved(kind, state, evaluator)[0].completion == value


def playful(states: list[pyspiel.State]) -> NDArray[np.float64]:
    """Threes in the making: pairs of own stones side by side less pairs of the opponent's."""
    values = []
    for state in states:
        rows = str(state).split()
        lines = rows + ["".join(column) for column in zip(*rows, strict=True)]
        text = " ".join(lines)
        values.append((text.count("xx") + text.count("x.x") - text.count("oo") - text.count("o.o")) / 20)
    return np.array(values)


@pytest.mark.parametrize("kind", SEARCHES)
def test_every_opening_of_tic_tac_toe_draws(kind: type[Search]) -> None:
    result, _ = solved(kind, load("tic_tac_toe").new_initial_state(), noise(1))
    assert result.resolved.all()
    assert not result.completions.any()


def nim_sum_wins(piles: tuple[int, ...], *, misere: bool) -> bool:
    """Bouton: the mover wins if the piles' exclusive or is not 0; in misère, if all piles are 1, if it is 0."""
    if misere and max(piles) <= 1:
        return sum(piles) % 2 == 0
    return reduce(xor, piles) != 0


@pytest.mark.parametrize("misere", [False, True])
def test_nim_is_won_as_bouton_says(misere: bool) -> None:
    oracle = solver()
    for piles in itertools.combinations_with_replacement((1, 2, 3, 4), 3):
        spec = f"nim(pile_sizes={';'.join(map(str, piles))},is_misere={str(misere).lower()})"
        state = load(spec).new_initial_state()
        expected = FIRST if nim_sum_wins(piles, misere=misere) else SECOND
        assert oracle.value(state) == expected, spec
        for kind in SEARCHES:
            result, tree = solved(kind, state, noise(0))
            assert result.completion == expected, spec
            check_proofs(tree, state, oracle.value)


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("pairs", [1, 2, 3, 4, 5])
def test_linear_clobber(pairs: int, kind: type[Search]) -> None:
    """oxox...ox in one row: won by the first player, but for oxoxox."""
    state = load(f"clobber(rows=2,columns={2 * pairs})").new_initial_state("0" + "ox" * pairs + "." * (2 * pairs))
    result, tree = solved(kind, state, noise(0))
    assert result.completion == (SECOND if pairs == 3 else FIRST)
    check_proofs(tree, state, solver().value)


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("size", [2, 3])
def test_openings_of_small_hex_boards(size: int, kind: type[Search]) -> None:
    game = load(f"hex(board_size={size})")
    for opening in game.new_initial_state().legal_actions():
        result, _ = solved(kind, game.new_initial_state().child(opening), noise(opening))
        assert (result.completion == FIRST) == (opening in WINNING_OPENINGS[size])


@pytest.mark.parametrize("kind", SEARCHES)
def test_hex_4x4_is_solved_from_the_empty_board(kind: type[Search]) -> None:
    """Guided by electrical circuits: some 10,000 nodes. Every proof in the tree is compared with a Hex solver's."""
    state = load("hex(board_size=4)").new_initial_state()
    result, tree = solved(kind, state, CircuitEvaluator(4))
    assert result.completion == FIRST
    assert result.best_action in WINNING_OPENINGS[4]
    assert len(tree.nodes) < 50_000
    check_proofs(tree, state, HexSolver(4).value)


@pytest.mark.slow("sixteen boards are solved")
@pytest.mark.parametrize("kind", SEARCHES)
def test_openings_of_hex_4x4(kind: type[Search]) -> None:
    game, oracle = load("hex(board_size=4)"), HexSolver(4)
    for opening in game.new_initial_state().legal_actions():
        state = game.new_initial_state().child(opening)
        result, tree = solved(kind, state, CircuitEvaluator(4))
        assert (result.completion == FIRST) == (opening in WINNING_OPENINGS[4])
        check_proofs(tree, state, oracle.value)


@pytest.mark.slow("some 100,000 nodes, half a minute each")
@pytest.mark.parametrize("kind", [Descent, UBFM])
def test_connect_four_4x4_is_a_draw(kind: type[Search]) -> None:
    """From the empty board, with an evaluator that knows nothing; brute force agrees on every state proven."""
    state, oracle = load("connect_four(rows=4,columns=4)").new_initial_state(), solver()
    result, tree = solved(kind, state, constant(0.0))
    assert result.completion == DRAW == oracle.value(state)
    assert len(tree.nodes) < 161_029, "there are no more positions (J. Tromp)"
    for node, position in itertools.islice(nodes_below(tree, state), 5_000):
        assert not node.resolved or node.completion == oracle.value(position)


@pytest.mark.slow("minutes, and a gigabyte or more: a draw is proven only when all is looked at")
@pytest.mark.parametrize(("rows", "columns", "positions"), [(5, 4, 1_706_255), (4, 5, 3_945_711)])
def test_connect_four_of_five_by_four_is_a_draw(rows: int, columns: int, positions: int) -> None:
    """Counts of positions: J. Tromp."""
    state = load(f"connect_four(rows={rows},columns={columns})").new_initial_state()
    result, tree = solved(Descent, state, constant(0.0))
    assert result.completion == DRAW
    assert len(tree.nodes) < positions
    assert solver().value(state) == DRAW


@pytest.mark.slow("two million positions are counted")
def test_published_counts_of_connect_four_positions() -> None:
    assert count_positions(load("connect_four(rows=5,columns=4)").new_initial_state()) == 1_706_255


@pytest.mark.slow("minutes")
@pytest.mark.parametrize("kind", SEARCHES)
def test_dots_and_boxes_2x2_is_won_by_the_first_player(kind: type[Search]) -> None:
    state = load("dots_and_boxes(num_rows=2,num_cols=2)").new_initial_state()
    assert solved(kind, state, noise(0))[0].completion == FIRST


def test_margins_of_dots_and_boxes_by_brute_force() -> None:
    """Boxes by which the first player wins: 2 x 2 is won by three boxes to one."""
    for shape, margin in {(1, 1): -1, (1, 2): 0, (1, 3): -1, (1, 4): 0, (2, 2): 2}.items():
        spec = "dots_and_boxes(num_rows={},num_cols={},utility_margin=true)".format(*shape)
        value = BruteForce(lambda end: end.player_return(0)).value(load(spec).new_initial_state())
        assert value == margin
