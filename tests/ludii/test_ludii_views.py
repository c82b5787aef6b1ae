"""Ludii's own geometry as a picture, and matches that are played by pressing it."""

from __future__ import annotations

import math
import random
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from ludii_fake import FakeTransport

import athenan_spiel as ath
from athenan_spiel.drawing.board import board_svg
from athenan_spiel.drawing.geometry import view_from_geometry
from athenan_spiel.drawing.state_picture import side_text, turn_text
from athenan_spiel.drawing.view import View
from athenan_spiel.drawing.views import view_of
from athenan_spiel.games.facts import side_name
from athenan_spiel.web.interactive_board import InteractiveBoard
from ludii_bridge.outlines import loops


def looked_at(name: str) -> tuple[Any, View]:
    game = ath.load_game(f"ludii(game={name},max_length=200)")
    view = view_of(game)
    assert view is not None
    return game, view


def test_the_loops_of_a_track_are_arcs_outside_the_board() -> None:
    """On 4 x 4 points, a track through the second lines has a loop around each corner, in both directions the same."""
    track = [(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (3.0, 1.0), (2.0, 0.0), (2.0, 1.0), (2.0, 2.0), (2.0, 3.0)]
    track += [(3 - x, 3 - y) for x, y in track]
    lines = loops([track, track[::-1]])
    corners = [(x, y) for x in (0, 3) for y in (0, 3)]
    for line in lines:
        for end in (line[:2], line[2:]):
            corner = min(corners, key=lambda at: math.dist(at, end))
            assert math.dist(corner, end) == pytest.approx(1)
    assert len(lines) == 4 * 24
    # Three quarters of each circle: the quarter inside the board has no point.
    middles = [((a + c) / 2, (b + d) / 2) for a, b, c, d in lines]
    assert not any(0.01 < x < 2.99 and 0.01 < y < 2.99 for x, y in middles)
    assert loops([[(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)]]) == [[2.0, 0.0, 0.0, 0.0]], "parallel: a straight line"


def check_pictures(name: str, plies: int = 12) -> tuple[Any, View]:
    """Random positions: all that stands and all that moves name is on the picture, which says so."""
    game, view = looked_at(name)
    every = range(len(view.layout.sites))
    assert len({site.name for site in view.layout.sites}) == len(every)
    state, rng = game.new_initial_state(), random.Random(4)
    for _ in range(plies):
        before = str(state), state.history()
        pieces = [piece.site for piece in view.pieces(state)]
        assert len(set(pieces)) == len(pieces)
        assert set(pieces) <= set(every)
        picture = ElementTree.fromstring(board_svg(view, state))
        assert sum("data-site" in part.attrib for part in picture.iter()) == len(every)
        if state.is_terminal():
            break
        for action in state.legal_actions():
            assert set(view.action_sites(state, action)) <= set(every)
        assert (str(state), state.history()) == before
        state.apply_action(rng.choice(state.legal_actions()))
    return game, view


def press_a_match(name: str, plies: int = 60) -> int:
    """Play by pressing sites, by name where several moves name the same; how many moves were made by sites alone."""
    game, _ = looked_at(name)
    table, rng, pressed = InteractiveBoard(game.new_initial_state()), random.Random(2), 0
    while not table.is_over and len(table.moves) < plies:
        option, done = rng.choice(table.options()), None
        for site in option.sites:
            assert site in table.targets()
            done = table.press(site)
        if done is None:
            assert option in table.named()
            table.play(option.action)
        else:
            assert done == option
            pressed += 1
        assert table.moves[-1] == option.action
    return pressed


@pytest.mark.parametrize("name", ["Tic-Tac-Toe", "Swap"])
def test_a_game_that_says_its_geometry_is_drawn(fake: FakeTransport, name: str) -> None:
    _, view = check_pictures(name)
    assert [site.name for site in view.layout.sites] == ["A1", "B1", "C1", "A2", "B2", "C2", "A3", "B3", "C3"]
    assert (view.layout.sites[0].x, view.layout.sites[0].y) == pytest.approx((0, 2))  # y grows downwards in a picture
    assert (view.layout.sites[5].x, view.layout.sites[5].y) == pytest.approx((2, 1))
    corners = [(-0.5, 0.5), (0.5, 0.5), (0.5, -0.5), (-0.5, -0.5)]
    np.testing.assert_allclose(view.layout.sites[0].corners, corners)


def test_a_match_is_pressed(fake: FakeTransport) -> None:
    assert 5 <= press_a_match("Tic-Tac-Toe") <= 9


def test_a_swap_is_chosen_by_its_name_and_the_stone_changes_sides(fake: FakeTransport) -> None:
    game, view = looked_at("Swap")
    table = InteractiveBoard(game.new_initial_state())
    table.press(4)
    assert [piece.side for piece in view.pieces(table.state)] == [0]
    assert [option.name for option in table.named()] == ["Swap"]
    table.play(table.named()[0].action)
    assert [piece.side for piece in view.pieces(table.state)] == [1]


def test_sites_in_one_place_have_no_picture(fake: FakeTransport) -> None:
    game = ath.load_game("ludii(game=Tic-Tac-Toe)")
    game.rules.geometry = {**game.rules.geometry, "sites": np.zeros((9, 2))}
    assert view_from_geometry(game) is None
    game.rules.geometry = {**game.rules.geometry, "sites": np.full((9, 2), np.nan)}
    assert view_from_geometry(game) is None
    assert InteractiveBoard(game.new_initial_state()).view is None


def test_edges_are_strips_between_dots(fake: FakeTransport) -> None:
    game = ath.load_game("ludii(game=Tic-Tac-Toe)")
    ends = np.array([(0, 0.0, 0.0), (0, 2.0, 0.0)])
    game.rules.geometry = {
        "centres": np.zeros((1, 2)),
        "sites": np.array([(1.0, 0.0)]),
        "corners": ends,
        "lines": np.zeros((0, 4)),
    }
    view = view_from_geometry(game)
    assert view is not None
    xs, ys = zip(*view.layout.sites[0].corners, strict=True)
    assert max(xs) - min(xs) == pytest.approx(1.6)
    assert max(ys) - min(ys) == pytest.approx(0.28)
    assert len(view.layout.lines) == 2
    state = game.new_initial_state().child(0)
    assert [piece.form for piece in view.pieces(state)] == ["block"]


def test_kinds_of_a_player_are_told_apart_by_letters(fake: FakeTransport) -> None:
    game = ath.load_game("ludii(game=Tic-Tac-Toe)")
    game.rules.components = (("King", 1), ("Pawn", 1), ("Seed", 0))
    view = view_from_geometry(game)
    assert view is not None
    state = game.new_initial_state()
    state.position.site_contents = lambda: [(0, 0, 0, 1), (1, 1, 0, 3), (2, 2, -1, 4)]
    assert [(piece.side, piece.sign) for piece in view.pieces(state)] == [(0, "K"), (0, "P3"), (None, "4")]
    game.rules.components = (("Seed", 0),)
    counting = view_from_geometry(game)
    assert counting is not None
    state.position.site_contents = lambda: [(0, 0, -1, 1)]
    assert [piece.sign for piece in counting.pieces(state)] == ["1"]


def drawn_sides(name: str) -> tuple[list[str], list[str]]:
    """The names of the sides next to a board, and the colours of their pieces."""
    game, view = looked_at(name)
    players = range(game.num_players())
    return [side_text(game, player, is_drawn=True) for player in players], [view.colour(player) for player in players]


def test_sides_have_the_names_and_colours_of_ludii(fake: FakeTransport) -> None:
    assert drawn_sides("Tic-Tac-Toe") == (["White", "Black"], ["light", "dark"])
    assert drawn_sides("Three") == (["White", "Black", "Red"], ["light", "dark", "red"])
    game, _ = looked_at("Tic-Tac-Toe")
    assert turn_text(game.new_initial_state()) == "White (the capital letters) is to move, after 0 moves."
    game.rules.sides = [("Order", (0, 0, 255)), ("", (190, 0, 0))]
    assert [side_text(game, player, is_drawn=True) for player in (0, 1)] == ["Order (blue)", "Red"]
    assert [side_name(game, player) for player in (0, 1)] == ["Order", "Red"]


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize(
    ("name", "names", "colours"),
    [
        ("Chess", ["White", "Black"], ["light", "dark"]),
        ("Hex", ["Red", "Blue"], ["red", "blue"]),
        ("Connect Four", ["Yellow", "Red"], ["yellow", "red"]),
        ("Suffragetto", ["Suffragettes (green)", "Police (blue)"], ["green", "blue"]),
        (
            "Chinese Checkers",
            ["White", "Black", "Red", "Green", "Blue", "Violet"],
            ["light", "dark", "red", "green", "blue", "violet"],
        ),
    ],
)
def test_ludiis_sides_have_its_names_and_colours(name: str, names: list[str], colours: list[str]) -> None:
    assert drawn_sides(name) == (names, colours)


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize(
    ("name", "sites", "lines"),
    [
        ("Tic-Tac-Toe", 9, 0),
        ("Hex", 121, 0),
        ("Surakarta", 36, 60 + 8 * 24),
        ("Nine Men's Morris", 26, 32),
        ("Konane", 100, 0),
        ("Amazons", 100, 0),
        ("Lasca", 49, 0),
        ("Shogi", 95, 0),
        ("Oware", 14, None),
        ("Dots and Boxes", 208, None),
        ("Quoridor", 263, None),
        ("ConHex", 126, None),
    ],
)
def test_ludiis_boards_are_drawn(name: str, sites: int, lines: int | None) -> None:
    _, view = check_pictures(name, plies=8)
    assert len(view.layout.sites) == sites
    assert lines is None or len(view.layout.lines) == lines


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("name", ["Tic-Tac-Toe", "Surakarta", "Nine Men's Morris", "Konane"])
def test_ludiis_matches_are_pressed(name: str) -> None:
    assert press_a_match(name, plies=25) >= 5


@pytest.mark.usefixtures("ludii")
def test_what_stands_is_what_is_counted_and_moves_name_where_they_go() -> None:
    for name in ("Surakarta", "Nine Men's Morris", "Amazons"):
        game, view = looked_at(name)
        state, rng = game.new_initial_state(), random.Random(1)
        for _ in range(10):
            counts = [0, 0]
            for _, _, player, count in state.site_contents():
                if player >= 0:
                    counts[player] += count
            assert tuple(counts) == state.pieces()
            for action in state.legal_actions():
                spelled = state.action_to_string(action).split(",")[0]
                named = [view.layout.sites[site].name for site in view.action_sites(state, action)]
                assert all(site in spelled or site.startswith("hand") for site in named)
                assert named
            state.apply_action(rng.choice(state.legal_actions()))
