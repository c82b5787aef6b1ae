"""Images of actions under symmetries, checked by coordinates, by names, and by play."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyspiel
import pytest
from numpy.typing import NDArray

from athenan_spiel.encoding import ActionPlanes, Encoder, Symmetries, find_symmetries
from athenan_spiel.encoding.action_images import find_images
from athenan_spiel.encoding.board_maps import IDENTITY, BoardMap, product
from athenan_spiel.encoding.mirror_play import ImageCandidates, MirrorPlay
from athenan_spiel.games import load_game


def found_in(
    spec: str, seed: int = 1, *, edges: bool = False
) -> tuple[pyspiel.Game, Encoder, Symmetries, NDArray[np.int64]]:
    """Returns the game, its encoder and symmetries, and the images of actions, [number of symmetries, A]."""
    game = load_game(spec)
    encoder = Encoder(game, edges=edges)
    symmetries = find_symmetries(game, np.random.default_rng(0), encoder)
    images = symmetries.action_images(game, np.random.default_rng(seed), encoder)
    assert images.dtype == np.int64
    assert images.shape == (len(symmetries.found), game.num_distinct_actions())
    assert images[0].tolist() == list(range(game.num_distinct_actions()))
    return game, encoder, symmetries, images


def random_plies(game: pyspiel.Game, matches: int) -> Iterator[tuple[pyspiel.State, int]]:
    """Yields states of random games, with the played action."""
    rng = random.Random(11)
    for _ in range(matches):
        state = game.new_initial_state()
        while not state.is_terminal():
            action = rng.choice(state.legal_actions())
            yield state, action
            state.apply_action(action)


# By coordinates and by names


@pytest.mark.parametrize("edges", [False, True])
def test_hex_turned_round_counts_backwards(*, edges: bool) -> None:
    _, _, symmetries, images = found_in("hex(board_size=4)", edges=edges)
    assert symmetries.names == (IDENTITY, "rotate_180")
    assert images[1].tolist() == list(range(16))[::-1]


def test_the_swap_of_hex_stays_a_swap() -> None:
    _, _, _, images = found_in("hex(board_size=4,swap=true)")
    assert images[1].tolist() == [*reversed(range(16)), 16]


def test_columns_of_connect_four_are_reflected() -> None:
    _, _, symmetries, images = found_in("connect_four")
    assert symmetries.names == (IDENTITY, "flip_horizontal")
    assert images[1].tolist() == [6, 5, 4, 3, 2, 1, 0]


TURNED: dict[str, Callable[[int, int], tuple[int, int]]] = {
    IDENTITY: lambda row, column: (row, column),
    "rotate_90": lambda row, column: (7 - column, row),
    "rotate_180": lambda row, column: (7 - row, 7 - column),
    "rotate_270": lambda row, column: (column, 7 - row),
    "flip_horizontal": lambda row, column: (row, 7 - column),
    "flip_vertical": lambda row, column: (7 - row, column),
    "transpose": lambda row, column: (column, row),
    "anti_transpose": lambda row, column: (7 - column, 7 - row),
}


def test_cells_of_othello_turn_and_a_pass_stays_one() -> None:
    _, _, symmetries, images = found_in("othello")
    assert set(symmetries.names) == set(TURNED)
    for name, image in zip(symmetries.names, images, strict=True):
        cells = [TURNED[name](row, column) for row in range(8) for column in range(8)]
        assert image.tolist() == [*(8 * row + column for row, column in cells), 64], name


def test_moves_of_breakthrough_are_reflected_by_their_names() -> None:
    game, _, symmetries, images = found_in("breakthrough(rows=5,columns=6)")
    assert symmetries.names == (IDENTITY, "flip_horizontal")
    reflected = str.maketrans("abcdef", "fedcba")
    names = {a: state.action_to_string(a) for state, _ in random_plies(game, 60) for a in state.legal_actions()}
    action_of = {name: action for action, name in names.items()}
    pairs = [(action, action_of.get(name.translate(reflected))) for action, name in names.items()]
    assert len(pairs) > 100
    assert all(images[1][action] == image for action, image in pairs if image is not None)
    assert all(images[1][action] >= 0 for action in names)


# By playing the images


@pytest.mark.parametrize(
    "spec",
    [
        "amazons(board_size=6)",
        "breakthrough(rows=6,columns=6)",
        "clobber(rows=4,columns=4)",
        "connect_four",
        "cursor_go(board_size=4)",
        "go(board_size=4)",
        "havannah(board_size=3)",
        "hex(num_cols=4,num_rows=3)",
        "mnk(m=5,n=4,k=3)",
        "nine_mens_morris",
        "pentago",
        "tic_tac_toe",
        "y(board_size=5)",
    ],
)
def test_playing_the_images_plays_the_mirrored_game(spec: str) -> None:
    game, encoder, symmetries, images = found_in(spec)
    played = 0
    for symmetry, image_of in zip(symmetries.found[1:], images[1:], strict=True):
        known = image_of[image_of >= 0]
        assert len(set(known.tolist())) == len(known)
        image = None
        for state, action in random_plies(game, 3):
            if not state.history():
                image = game.new_initial_state()
            if image is None or image_of[action] < 0:
                image = None  # what follows cannot be mirrored
                continue
            legal = image_of[state.legal_actions()]
            assert set(legal[legal >= 0].tolist()) <= set(image.legal_actions())
            image.apply_action(int(image_of[action]))
            rows = encoder.encode([state.child(action), image]).reshape(2, -1)
            np.testing.assert_array_equal(symmetry.image(rows[:1]), rows[1:])
            played += 1
    assert played > 10 * (len(symmetries.found) - 1)


def test_products_of_symmetries_have_the_products_of_their_images() -> None:
    _, _, symmetries, images = found_in("tic_tac_toe")
    by_name = dict(zip(symmetries.names, images, strict=True))
    for second in symmetries.names:
        for first in symmetries.names:
            assert by_name[product(second, first)].tolist() == by_name[second][by_name[first]].tolist()


def test_images_are_reproducible() -> None:
    first, second = (found_in("pentago", seed=4)[3] for _ in range(2))
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize("spec", ["chess", "mancala"])
def test_the_identity_is_always_known(spec: str) -> None:
    assert len(found_in(spec)[3]) == 1


# What is left out, on hand-made image_candidates


def images_of(*passes: dict[int, set[int]] | None, planes: ActionPlanes | None = None) -> list[int]:
    """Returns the images of eight actions on a reflected board of 1 x 4 cells, given the candidates of each pass."""
    image_candidates = iter([None if one is None else ImageCandidates(one) for one in passes])
    game: Any = SimpleNamespace(num_distinct_actions=lambda: 8)
    play = cast(MirrorPlay, SimpleNamespace(image_candidates=lambda _symmetry, _rng: next(image_candidates)))
    found = find_images(game, play, BoardMap("flip_horizontal", (1, 1, 4)), planes, np.random.default_rng(0))
    return found.tolist()


BY_CELL = ActionPlanes(2, np.array([0, 4, 1, 5, 2, 6, 3, 7]))
"""Actions 0, 2, 4 and 6 are in one plane, the others in another."""


def test_an_image_must_be_the_same_in_both_passes() -> None:
    assert images_of({0: {6}, 1: {7}, 2: {4}}, {0: {6}, 1: {5}}) == [6, -1, -1, -1, -1, -1, -1, -1]


def test_states_reduce_the_candidates() -> None:
    assert images_of({0: {6, 7}, 1: {6, 7}}, {0: {6, 5}, 1: {6, 7}}) == [6, -1, -1, -1, -1, -1, -1, -1]


def test_two_actions_never_have_the_same_image() -> None:
    assert images_of({0: {6}, 2: {6}, 4: {2}}, {0: {6}, 2: {6}, 4: {2}}) == [-1, -1, -1, -1, 2, -1, -1, -1]


@pytest.mark.parametrize("passes", [(None, {0: {6}}), ({0: {6}}, None)])
def test_no_image_is_known_if_a_game_refutes_the_symmetry(passes: tuple[dict[int, set[int]] | None, ...]) -> None:
    assert images_of(*passes) == [-1] * 8


def test_a_plane_follows_from_two_of_its_actions() -> None:
    assert images_of({0: {6}, 2: {4}, 1: {7}}, {0: {6}}, planes=BY_CELL) == [6, -1, 4, -1, 2, -1, 0, -1]


def test_planes_may_be_exchanged() -> None:
    met = {0: {7}, 2: {5}, 1: {6}, 3: {4}}
    assert images_of(met, met, planes=BY_CELL) == [7, 6, 5, 4, 3, 2, 1, 0]


def test_nothing_follows_if_one_action_breaks_the_rule() -> None:
    met = {0: {6}, 2: {4}, 4: {0}}
    assert images_of(met, met, planes=BY_CELL) == [6, -1, 4, -1, 0, -1, -1, -1]
