"""Pictures of states and search results: small, well-formed, in the colours of the page, and as text."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

import pyspiel
import pytest

import athenan_spiel as ath
from athenan_spiel.drawing import state_picture
from athenan_spiel.drawing.picture import Picture, facts_html, facts_text, table_html
from athenan_spiel.drawing.state_picture import StatePicture, last_sites, returns_text, turn_text
from athenan_spiel.evaluators import UniformRandomEvaluator, ZeroEvaluator

MOST = 200_000
"""Maximum size of a picture, in bytes."""
GAMES = [
    "amazons",
    "chess",
    "connect_four",
    "dots_and_boxes",
    "go(board_size=9)",
    "hex(board_size=5)",
    "mancala",
    "othello",
    "pentago",
    "tic_tac_toe",
    "ultimate_tic_tac_toe",
    "y(board_size=5)",
]


def played(game: str, actions: int, seed: int = 1) -> pyspiel.State:
    state, rng = ath.load_game(game).new_initial_state(), random.Random(seed)
    for _ in range(actions):
        if not state.is_terminal():
            state.apply_action(rng.choice(state.legal_actions()))
    return state


def after(game: str, *actions: int) -> pyspiel.State:
    state = ath.load_game(game).new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def read(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html.replace(" open>", ' open="">'))


def searched(state: pyspiel.State, iterations: int = 20) -> ath.SearchResult:
    return ath.think(ath.UBFM(state.get_game()), state, ath.Budget(iterations=iterations), UniformRandomEvaluator(3))


def found(picture: Picture, name: str) -> list[ElementTree.Element]:
    return [x for x in read(picture._repr_html_()).iter() if name in str(x.get("class")).split()]


@pytest.mark.parametrize("game", GAMES)
def test_a_search_result_has_board_values_and_tree(game: str) -> None:
    state = played(game, 5)
    picture = searched(state).picture()
    html = picture._repr_html_()
    assert len(html.encode()) < MOST
    assert found(picture, "athenan-board")
    assert found(picture, "athenan-tree")
    text = str(picture)
    assert text.startswith(str(state))
    assert max(map(len, text.splitlines())) < 200
    assert len(text) < 10_000


@pytest.mark.parametrize(
    ("game", "actions", "iterations"),
    [
        ("go(board_size=19)", 40, 30),
        ("hex(board_size=24)", 300, 30),
        ("morpion_solitaire", 5, 60),
        ("connect_four", 4, 4000),
    ],
)
def test_large_boards_and_trees_are_small_pictures(game: str, actions: int, iterations: int) -> None:
    state = played(game, actions)
    assert len(searched(state, iterations).picture()._repr_html_().encode()) < MOST


def test_values_on_the_board_are_player_0s_and_framed_if_proven() -> None:
    state = after("tic_tac_toe", 0, 3, 1, 4)
    result = ath.think(ath.Descent("tic_tac_toe"), state, ath.Budget(iterations=50), ZeroEvaluator())
    board = found(result.picture(), "athenan-board")[0]
    written = {
        int(site.get("data-site", "")): ("".join(site.itertext()), "stroke" in site.find("{*}rect").attrib)  # type: ignore[union-attr]
        for site in board.iter()
        if site.get("data-site") and site.find("{*}rect") is not None
    }
    assert written[2] == ("win1", True)
    assert set(written) <= {2, 5, 6, 7, 8}
    assert "score of x: win in 1; expected line: x(0,2)" in str(result.picture())
    assert found(result.picture(), "last")


def test_the_table_of_actions_is_bounded() -> None:
    state = ath.load_game("hex(board_size=5)").new_initial_state()
    picture = searched(state).picture()
    rows = list(read(picture._repr_html_()).iter("tr"))
    assert len(rows) == 13
    assert "and 13 more" in picture.text()
    assert "and 13 more" in "".join(read(picture._repr_html_()).itertext())


def test_a_state_is_its_board_with_the_last_move() -> None:
    state = after("tic_tac_toe", 4, 0)
    picture = StatePicture(state)
    assert [x.get("class") for x in found(picture, "last")] == ["last"]
    state.apply_action(8)
    assert "after 2 moves" in picture.text()
    assert "x is to move" in "".join(read(picture._repr_html_()).itertext())
    assert (
        picture.text()
        == repr(picture)
        == str(picture)
        == f"{after('tic_tac_toe', 4, 0)}\nx is to move, " + ("after 2 moves.")
    )


def test_a_game_without_a_view_is_shown_as_text() -> None:
    state = pyspiel.load_game("kuhn_poker").new_initial_state()
    assert [x.tag for x in read(StatePicture(state)._repr_html_()) if x.tag != "style"] == ["pre", "p"]
    assert turn_text(state) == "Chance is to move, after 0 moves."


def test_the_text_of_a_state_is_escaped_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_picture, "view_of", lambda game: None)
    monkeypatch.setattr(state_picture, "str", lambda state: "<script>&" * 10_000, raising=False)
    html = StatePicture(after("tic_tac_toe"))._repr_html_()
    assert "<script" not in html
    assert len(html) < MOST


def test_a_large_board_is_shown_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_picture, "SITES", 8)
    assert "<svg" not in StatePicture(after("tic_tac_toe"))._repr_html_()


@pytest.mark.parametrize(
    ("returns", "text"),
    [
        ([1.0, -1.0], "Black has won"),
        ([0.0, 0.0], "a draw"),
        ([-1.0, 1.0], "White has won"),
        ([7.0], "a score of 7"),
    ],
)
def test_the_result_as_text(returns: list[float], text: str) -> None:
    assert returns_text(ath.load_game("othello"), returns) == text


def test_the_end_is_shown() -> None:
    picture = StatePicture(after("tic_tac_toe", 0, 3, 1, 4, 2))
    assert len(found(picture, "win")) == 3
    assert turn_text(after("tic_tac_toe", 0, 3, 1, 4, 2)) == "The end after 5 moves: x has won."


def test_a_custom_start_has_no_last_move() -> None:
    chess = ath.load_game("chess")
    state = chess.new_initial_state("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")
    assert last_sites(state) == ()
    state.apply_action(state.legal_actions()[0])
    assert last_sites(state) == ()
    assert "<svg" in StatePicture(state)._repr_html_()
    start = chess.new_initial_state("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")
    assert len(last_sites(state, start)) == 2


def test_only_the_board_has_fixed_dark_colours() -> None:
    html = searched(after("connect_four", 3)).picture()._repr_html_()
    outside = re.sub(r"<svg.*?</svg>", "", html, flags=re.DOTALL)
    assert not re.search(r"(?<![-\w])color\s*:|#000|#fff|black|white(?!-space)", outside)


def test_styles_apply_only_to_pictures() -> None:
    html = searched(after("connect_four", 3)).picture()._repr_html_()
    for style in re.findall(r"<style>(.*?)</style>", html, re.DOTALL):
        selectors = [one for block in re.findall(r"([^{}]+)\{", style) for one in block.split(",")]
        assert [x for x in selectors if not x.strip().startswith(".athenan-")] == []


def test_tables_and_facts() -> None:
    facts = [("<game>", "a & b"), ("matches", "3")]
    assert [x.text for x in read(facts_html(facts)).iter("th")] == ["<game>", "matches"]
    assert facts_text(facts) == "<game>: a & b\nmatches: 3"
    rows: Sequence[Sequence[str]] = [("1", "<b>2</b>")]
    table = read(table_html(["a", "b<"], rows, "and more"))
    assert "".join(table.itertext()) == "and moreab<12"
