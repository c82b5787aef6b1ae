"""Boards as SVG: well-formed, with a target for every site, and escaped text."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ElementTree

import pyspiel
import pytest

import athenan_spiel as ath
from athenan_spiel.drawing.board import Overlay, SiteLabel, VariationStone, board_svg
from athenan_spiel.drawing.layout import BoardLayout, BoardSite, Label, Piece
from athenan_spiel.drawing.view import View
from athenan_spiel.drawing.views import VIEWS, view_of

SVG = "{http://www.w3.org/2000/svg}"
SMALL = {"go": "go(board_size=9)", "cursor_go": "cursor_go(board_size=5)", "y": "y(board_size=9)"}


def drawn(view: View, state: pyspiel.State, overlay: Overlay | None = None) -> ElementTree.Element:
    return ElementTree.fromstring(board_svg(view, state, overlay))


def sites(picture: ElementTree.Element) -> dict[int, ElementTree.Element]:
    return {int(x.get("data-site", "-1")): x for x in picture.iter(f"{SVG}g") if "site" in x.get("class", "").split()}


def view_and_start(name: str) -> tuple[View, pyspiel.State]:
    game = ath.load_game(name)
    view = view_of(game)
    assert view is not None
    return view, game.new_initial_state()


@pytest.mark.parametrize("name", list(VIEWS))
def test_every_game_is_drawn_with_all_its_sites_inside_the_picture(name: str) -> None:
    view, state = view_and_start(SMALL.get(name, name))
    rng = random.Random(3)
    for _ in range(20):
        picture = drawn(view, state)
        assert sorted(sites(picture)) == list(range(len(view.layout.sites)))
        left, top, width, height = map(float, picture.get("viewBox", "").split())
        for x in sites(picture).values():
            at_x, at_y = map(float, re.findall(r"-?[\d.]+", x.get("transform", "")))
            assert left < at_x < left + width
            assert top < at_y < top + height
        if state.is_terminal():
            break
        state.apply_action(rng.choice(state.legal_actions()))


def test_sites_can_be_reached_by_keys_and_have_names() -> None:
    view, state = view_and_start("tic_tac_toe")
    state.apply_action(4)
    found = sites(drawn(view, state, Overlay(targets=[0], can=[8])))
    assert [x for x in found if found[x].get("tabindex") == "0"] == [0, 8]
    assert {found[x].get("role") for x in (0, 8)} == {"button"}
    assert "empty" in str(found[0].get("aria-label"))
    assert "empty" not in str(found[4].get("aria-label"))
    assert len({x.get("aria-label") for x in found.values()}) == 9


def test_marks_of_the_overlay() -> None:
    view, state = view_and_start("tic_tac_toe")
    overlay = Overlay(
        last=[1],
        chosen=[2],
        targets=[3],
        variation=[VariationStone(site=5, side=1, number=2)],
        labels={6: SiteLabel("+0.25", 0.6), 7: SiteLabel("win", 1.0, is_proven=True)},
    )
    found = sites(drawn(view, state, overlay))

    def classes(site: int) -> set[str]:
        return {name for part in found[site].iter() for name in part.get("class", "").split()}

    assert "last" in classes(1)
    assert "chosen" in classes(2)
    assert "target" in classes(3)
    assert "variation" in classes(5)
    assert {"last", "chosen", "target", "variation"}.isdisjoint(classes(0))
    texts = {site: "".join(found[site].itertext()) for site in (5, 6, 7)}
    assert texts == {5: "2", 6: "+0.25", 7: "win"}
    frames = {site: [x.get("stroke") for x in found[site].iter(f"{SVG}rect")] for site in (6, 7)}
    assert frames[6] == [None]
    assert frames[7] != [None]


@pytest.mark.parametrize("share", [-1e9, 0.0, 0.5, 1.0, 1e9])
def test_the_colour_of_a_label_is_between_red_and_green(share: float) -> None:
    view, state = view_and_start("tic_tac_toe")
    picture = board_svg(view, state, Overlay(labels={0: SiteLabel("x", share)}))
    (hue,) = re.findall(r'fill="hsl\((-?\d+) ', picture)
    assert 0 <= int(hue) <= 120


def test_text_that_looks_like_a_tag_is_text() -> None:
    bad = '<script>alert("1 & 2")</script>'
    corners = ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5))
    layout = BoardLayout(sites=(BoardSite(bad, 0.0, 0.0, corners),), labels=(Label(bad, 0.0, 1.0),))
    view = View(layout=layout, pieces=lambda state: [Piece(0, 0, bad, bad)])
    state = ath.load_game("tic_tac_toe").new_initial_state()
    text = board_svg(view, state, Overlay(labels={0: SiteLabel(bad, 0.5)}))
    picture = ElementTree.fromstring(text)
    assert "<script" not in text
    assert bad in "".join(picture.itertext())
    assert not list(picture.iter(f"{SVG}script"))


def test_the_width_in_pixels_keeps_the_shape() -> None:
    view, state = view_and_start("connect_four")
    wide, narrow = drawn(view, state), ElementTree.fromstring(board_svg(view, state, width=100))
    assert narrow.get("width") == "100"
    assert wide.get("viewBox") == narrow.get("viewBox")

    def shape(picture: ElementTree.Element) -> float:
        return float(picture.get("width", "")) / float(picture.get("height", ""))

    assert shape(narrow) == pytest.approx(shape(wide), rel=0.02)
