"""Boards as SVG: well-formed, with a target for every site, and escaped text."""

from __future__ import annotations

import colorsys
import random
import re
import xml.etree.ElementTree as ElementTree

import pyspiel
import pytest

import athenan_spiel as ath
from athenan_spiel.drawing.board import COLOURS, NOBODY, Overlay, VariationStone, board_svg
from athenan_spiel.drawing.candidates import LARGE_LOSS, CandidateArrow, SiteLabel, hue
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
        win=[4],
        targets=[3],
        variation=[VariationStone(site=5, side=1, number=2)],
        labels={6: SiteLabel("+0.25", 0.1), 7: SiteLabel("win", 0.0, is_proven=True, rank=1)},
    )
    found = sites(drawn(view, state, overlay))

    def classes(site: int) -> set[str]:
        return {name for part in found[site].iter() for name in part.get("class", "").split()}

    assert "last" in classes(1)
    assert "chosen" in classes(2)
    assert "target" in classes(3)
    assert "variation" in classes(5)
    assert "win" in classes(4)
    assert {"last", "chosen", "target", "variation"}.isdisjoint(classes(0))
    texts = {site: "".join(found[site].itertext()) for site in (5, 6, 7)}
    assert texts == {5: "2", 6: "+0.25", 7: "win1"}
    frames = {site: [x.get("stroke") for x in found[site].iter(f"{SVG}rect")] for site in (6, 7)}
    assert frames[6] == [None]
    assert frames[7] != [None]


def test_the_colour_of_a_loss_is_between_green_and_red() -> None:
    assert [hue(loss) for loss in (-0.1, 0.0, LARGE_LOSS / 2, LARGE_LOSS, 1.0)] == [120, 120, 60, 0, 0]


def test_arrows_point_to_the_destination_and_their_values_do_not_overlap() -> None:
    view, state = view_and_start("breakthrough")
    arrows = [CandidateArrow(8, 16, SiteLabel("63", 0.0, rank=1)), CandidateArrow(16, 8, SiteLabel("55", 0.1, rank=2))]
    picture = drawn(view, state, Overlay(arrows=arrows, is_stale=True))
    (group,) = (x for x in picture.iter(f"{SVG}g") if x.get("class") == "arrows stale")
    worse, best = (x for x in group.iter(f"{SVG}polygon"))
    (start, end), tips = [(view.layout.sites[i].x, view.layout.sites[i].y) for i in (8, 16)], []
    for shape in (best, worse):
        points = [tuple(map(float, point.split(","))) for point in shape.get("points", "").split()]
        tips.append(points[3])
    assert tips[0] == pytest.approx((end[0], end[1] - 0.12))
    assert tips[1] == pytest.approx((start[0], start[1] + 0.12))
    places = [tuple(map(float, re.findall(r"-?[\d.]+", x.get("transform", "")))) for x in group.iter(f"{SVG}g")][1:]
    assert len(places) == 2
    assert abs(places[0][1] - places[1][1]) >= 0.325, "the height of a value"
    assert (
        drawn(view, state, Overlay(arrows=[CandidateArrow(3, 3, SiteLabel("0", 0))])).find(
            ".//{*}polygon[@class='arrow']"
        )
        is None
    )


def test_a_flipped_board_is_turned_and_its_texts_are_upright() -> None:
    view, state = view_and_start("quoridor")
    state.apply_action(state.string_to_action("a1h"))
    turned = view.flipped()
    before, after = sites(drawn(view, state)), sites(drawn(turned, state))
    for i, site in before.items():
        x, y = map(float, re.findall(r"-?[\d.]+", site.get("transform", "")))
        assert tuple(map(float, re.findall(r"-?[\d.]+", after[i].get("transform", "")))) == pytest.approx((-x, -y))
        assert site.get("aria-label") == after[i].get("aria-label")
    assert [line.start for line in turned.lines(state)] == [
        (-x, -y) for x, y in (line.start for line in view.lines(state))
    ]
    assert turned.flipped().layout == view.layout
    assert "rotate" not in board_svg(turned, state)


def test_legal_destinations_are_dots_or_rings_around_pieces() -> None:
    view, state = view_and_start("breakthrough")
    found = sites(drawn(view, state, Overlay(can=[3], targets=[8, 30], drags=[3, 40])))
    assert found[3].get("class") == "site can drag"
    assert found[40].get("class") == "site"
    marks = {
        i: [x.get("class") for x in found[i].iter(f"{SVG}circle") if "target" in x.get("class", "")] for i in (8, 30)
    }
    assert marks == {8: ["target taken"], 30: ["target"]}


def contrast(one: str, other: str) -> float:
    """Returns the contrast of two colours by WCAG 2."""

    def luminance(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def test_texts_on_boards_have_a_contrast_of_4_5() -> None:
    """axe-core does not check texts in SVG."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for face, _, ink in (*COLOURS.values(), NOBODY):
        assert contrast(face, ink) >= 4.5, face
    view, state = view_and_start("mancala")
    picture = board_svg(view, state, Overlay(labels={1: SiteLabel("1", 0.0)}))
    (ink,) = re.findall(r"--ink: (#\w+)", picture)
    (board,) = re.findall(r"\.board { fill: (#\w+)", picture)
    squares = re.findall(r"\.square(?:\.dark)? { fill: (#\w+)", picture)
    (count, *_) = re.findall(r'class="sign"[^>]* fill="(#\w+)"', picture)
    (value,) = re.findall(r"\.value { fill: (#\w+)", picture)
    assert len(squares) == 2
    assert contrast(ink, board) >= 4.5
    assert min(contrast(count, square) for square in squares) >= 4.5
    for degrees in range(121):
        red, green, blue = (round(255 * x) for x in colorsys.hls_to_rgb(degrees / 360, 0.78, 0.65))
        assert contrast(value, f"#{red:02x}{green:02x}{blue:02x}") >= 4.5


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
