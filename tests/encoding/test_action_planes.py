"""Planes of actions contain each action at the cell in its name."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

import numpy as np
import pyspiel
import pytest

from athenan_spiel.encoding import ActionPlanes, Encoder, find_action_planes
from athenan_spiel.games import load_game

Cell = tuple[int, int]


def numbers(name: str, skipped: int = 0) -> Cell:
    """Returns the row and the column of names such as `x(0,1)`; `skipped` is the number of the first row and column."""
    found = re.findall(r"\d+", name)
    return int(found[0]) - skipped, int(found[1]) - skipped


def from_the_top(name: str) -> Cell:
    """Returns row and column of `b3`, with row 1 at the top."""
    letter, number = re.search(r"\b([a-z])(\d+)", name).groups()  # type: ignore[union-attr]
    return int(number) - 1, ord(letter) - ord("a")


def from_the_bottom(rows: int) -> Callable[[str], Cell]:
    """Returns row and column of `b3`, with row 1 at the bottom."""

    def cell(name: str) -> Cell:
        row, column = from_the_top(name)
        return rows - 1 - row, column

    return cell


CELLS: dict[str, tuple[int, int, Callable[[str], Cell]]] = {
    "amazons": (1, 0, lambda name: numbers(name, 1)),
    "amazons(board_size=6)": (1, 0, lambda name: numbers(name, 1)),
    "breakthrough": (12, 0, from_the_bottom(8)),
    "breakthrough(rows=5,columns=7)": (12, 0, from_the_bottom(5)),
    "checkers": (8, 0, from_the_bottom(8)),
    "clobber": (4, 0, from_the_bottom(5)),
    "clobber(rows=4,columns=4)": (4, 0, from_the_bottom(4)),
    "go(board_size=5)": (1, 1, from_the_top),
    "gomoku(size=6)": (1, 0, numbers),
    "havannah(board_size=3)": (1, 0, from_the_top),
    "hex(board_size=5)": (1, 0, from_the_top),
    "hex(num_cols=4,num_rows=3)": (1, 0, from_the_top),
    "lines_of_action": (128, 0, from_the_top),
    "mnk(m=5,n=4,k=3)": (1, 0, numbers),
    "othello": (1, 1, from_the_top),
    "python_tic_tac_toe": (1, 0, numbers),
    "tic_tac_toe": (1, 0, numbers),
    "xiangqi": (90, 0, numbers),
    "y(board_size=5)": (1, 0, from_the_top),
}
"""Number of planes, number of actions without a cell, and the cell in an action's name."""
NONE = {
    "chess": "Black's actions are numbered on the flipped board",
    "connect_four": "actions are columns",
    "nine_mens_morris": "actions are points, of which the board has fewer than cells",
    "pentago": "the stone may be turned away from its cell",
    "quoridor": "steps are numbered by direction, walls by cell",
    "ultimate_tic_tac_toe": "an action is a board or a cell of the board to play in",
    "mancala": "what is observed is no stack of boards",
}


def found_in(spec: str, *, edges: bool = False) -> tuple[pyspiel.Game, Encoder, ActionPlanes]:
    game = load_game(spec)
    encoder = Encoder(game, edges=edges)
    planes = find_action_planes(game, encoder)
    assert planes is not None
    return game, encoder, planes


def named_actions(game: pyspiel.Game, matches: int = 5) -> Iterator[tuple[int, str]]:
    """Yields legal actions of states of random games, with their names."""
    rng = random.Random(7)
    for _ in range(matches):
        state = game.new_initial_state()
        while not state.is_terminal():
            legal = state.legal_actions()
            yield from ((action, state.action_to_string(action)) for action in legal)
            state.apply_action(rng.choice(legal))


@pytest.mark.parametrize("spec", CELLS)
def test_an_action_is_at_the_cell_in_its_name(spec: str) -> None:
    planes, beside, cell_of = CELLS[spec]
    game, encoder, found = found_in(spec)
    _, height, width = encoder.shape
    indices = found.indices
    assert found.planes == planes
    assert indices.dtype == np.int64
    assert indices.shape == (game.num_distinct_actions(),)
    assert np.count_nonzero(indices == -1) == beside
    on_the_board = indices[indices >= 0]
    assert sorted(on_the_board.tolist()) == list(range(planes * height * width))
    for action, name in named_actions(game):
        if indices[action] >= 0:
            row, column = cell_of(name)
            assert indices[action] % (height * width) == row * width + column, name
        else:
            assert "pass" in name.lower()


@pytest.mark.parametrize("spec", ["breakthrough(rows=5,columns=7)", "clobber"])
def test_moves_to_the_same_side_are_in_one_plane(spec: str) -> None:
    game, encoder, found = found_in(spec)
    cells = encoder.shape[1] * encoder.shape[2]
    planes: dict[tuple[int, int, bool], set[int]] = {}
    for action, name in named_actions(game, 20):
        (x, y), (to_x, to_y) = (from_the_top(name[at : at + 2]) for at in (0, 2))
        planes.setdefault((to_x - x, to_y - y, name.endswith("*")), set()).add(int(found.indices[action]) // cells)
    assert all(len(of_a_step) == 1 for of_a_step in planes.values())
    assert len(set.union(*planes.values())) == len(planes) >= 4


@pytest.mark.parametrize("spec", ["hex(board_size=4)", "hex(num_cols=4,num_rows=3)"])
def test_with_edges_the_board_is_inside_the_margin(spec: str) -> None:
    _, encoder, found = found_in(spec, edges=True)
    _, height, width = encoder.shape
    inside = np.arange(height * width).reshape(height, width)[1:-1, 1:-1]
    assert found.planes == 1
    assert found.indices.tolist() == inside.ravel().tolist()


def test_the_swap_of_hex_has_no_cell() -> None:
    game, encoder, found = found_in("hex(board_size=5,swap=true)")
    assert found.indices.tolist() == [*range(25), -1]
    assert (game.num_distinct_actions(), encoder.shape[1:]) == (26, (5, 5))


@pytest.mark.parametrize("spec", NONE)
def test_other_numbers_have_no_planes(spec: str) -> None:
    game = load_game(spec)
    assert find_action_planes(game, Encoder(game)) is None


def test_planes_are_deterministic() -> None:
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    _, _, first = found_in("othello")
    _, _, second = found_in("othello")
    assert first.indices.tolist() == second.indices.tolist()
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002
