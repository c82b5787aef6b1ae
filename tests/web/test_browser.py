"""The pages in a browser: whole matches by hand, taking back, coming back, two visitors, keys, a phone, the dark."""

from __future__ import annotations

import json
import os
import random
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from installed import CHROMIUM

pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
PATIENCE = 120
"""Seconds; what takes longer hangs."""
CAN = ".board .site.can"


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """The addresses of the matches of `pages_server.py`."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    words = [sys.executable, str(HERE / "pages_server.py"), str(port)]
    # NiceGUI would look for a test of its own kind.
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    with subprocess.Popen(words, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            said, line = [], ""
            while not line.startswith("{"):
                assert select.select([process.stdout], [], [], PATIENCE)[0], said
                line = process.stdout.readline()
                said.append(line)
                assert line, said
            yield {name: f"http://127.0.0.1:{port}{path}" for name, path in json.loads(line).items()}
        finally:
            process.kill()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visitor:
    """Somebody with a browser, who notes what goes wrong in it."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.faults: list[str] = []
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)
        self.page.goto(address)
        self.wait_for_turn()

    @property
    def status(self) -> str:
        return str(self.page.locator(".status").first.inner_text())

    @property
    def board(self) -> str:
        return str(self.page.locator(".board").first.inner_html())

    def wait_for_turn(self) -> None:
        self.page.wait_for_function(
            "() => /your turn|Finished|has won/.test((document.querySelector('.status') || {}).innerText || '')"
        )

    def wait_for_change(self, before: str) -> None:
        """Until the board looks otherwise, and somebody is to press."""
        self.page.wait_for_function("text => document.querySelector('.board').innerHTML !== text", arg=before)
        self.wait_for_turn()

    def press(self, selector: str, number: int = 0) -> None:
        before = self.board
        self.page.locator(selector).nth(number).click()
        self.wait_for_change(before)

    def press_site(self, name: str) -> None:
        self.press(f'.board .site[aria-label^="{name}:"]')

    def move(self, rng: random.Random) -> None:
        """Press something that can be pressed."""
        for selector in (".named button", CAN):
            if count := self.page.locator(selector).count():
                self.press(selector, rng.randrange(count))
                return
        raise AssertionError(f"nothing can be pressed: {self.status}")

    def leave(self) -> None:
        self.context.close()
        assert self.faults == []


@pytest.fixture
def visit(server: dict[str, str], browser: Any) -> Iterator[Any]:
    visitors = []

    def visits(name: str, **options: Any) -> Visitor:
        visitors.append(Visitor(browser, server[name], **options))
        return visitors[-1]

    yield visits
    for visitor in visitors:
        visitor.leave()


@pytest.mark.parametrize("name", ["connect_four", "hex", "othello", "amazons", "ludii"])
def test_a_match_is_played_to_its_end_by_hand(name: str, visit: Any) -> None:
    """Othello and Amazons begin late, as their matches are long."""
    visitor, rng = visit(name), random.Random(3)
    for _ in range(200):
        if "your turn" not in visitor.status:
            break
        visitor.move(rng)
    assert visitor.status.startswith("Finished")
    visitor.page.get_by_text("Finished matches").click()
    visitor.page.get_by_role("button", name="1. you - ").click()
    visitor.page.wait_for_function("() => !document.querySelector('.status').innerText.startsWith('Finished')")


def test_a_match_of_chess_ends_in_mate(visit: Any) -> None:
    visitor = visit("chess")
    for site in ("f2", "f3", "e7", "e5", "g2", "g4", "d8", "h4"):
        visitor.press_site(site)
    assert visitor.status == "Finished: player 0 (dark) has won"


def test_a_game_without_a_picture_is_text_and_typed(visit: Any) -> None:
    visitor = visit("text")
    assert visitor.page.locator(".board pre").count() == 1
    name = visitor.page.locator(".named button").first.inner_text()
    for text in ("no such move", name):
        visitor.page.get_by_label("Type a move").fill(text)
        visitor.page.get_by_label("Type a move").press("Enter")
        if text != name:
            visitor.page.get_by_text("is not a legal move here").first.wait_for()
    visitor.page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Move 2')")


def test_two_agents_play_while_somebody_looks(visit: Any) -> None:
    visitor = visit("agents")
    visitor.page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Finished')")


def test_moves_are_taken_back_and_who_comes_back_finds_the_match(visit: Any) -> None:
    visitor = visit("another")
    empty = visitor.board
    visitor.press(CAN, 3)
    visitor.page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Move 3')")
    visitor.page.reload()
    visitor.wait_for_turn()
    assert visitor.status.startswith("Move 3")
    visitor.page.locator(".actions tbody tr").first.wait_for()
    visitor.page.get_by_label("Take back").click()
    visitor.page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Move 1')")
    visitor.page.get_by_label("Go on from here").click()
    visitor.page.get_by_text("Values", exact=True).click()
    visitor.page.get_by_text("Expected line", exact=True).click()
    visitor.page.wait_for_function("text => document.querySelector('.board').innerHTML.length <= text", arg=len(empty))


def test_two_visitors_of_one_address_have_one_match_and_others_have_theirs(visit: Any) -> None:
    one, other, third = visit("another"), visit("another"), visit("hex")
    before, elsewhere = other.board, third.board
    one.press(CAN, 0)
    other.wait_for_change(before)
    assert third.board == elsewhere


def test_a_match_is_played_by_keys_and_the_focus_stays(visit: Any) -> None:
    visitor = visit("another")
    page = visitor.page
    page.get_by_label("New match").click()
    page.wait_for_function("() => document.querySelector('.status').innerText.startsWith('Move 1')")
    page.keyboard.press("Tab")  # from the buttons on to the board is all the way around, so it is given the focus
    page.locator(CAN).first.focus()
    here = "() => document.activeElement.dataset.site"
    first = page.evaluate(here)
    page.keyboard.press("ArrowRight")
    second = page.evaluate(here)
    assert second not in (None, first)
    before = visitor.board
    page.keyboard.press("Enter")
    visitor.wait_for_change(before)
    page.wait_for_function("() => document.activeElement.dataset.site !== undefined")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_all_without_scrolling_sideways(scheme: str, visit: Any) -> None:
    visitor = visit("connect_four", viewport={"width": 390, "height": 844}, color_scheme=scheme)
    assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert visitor.page.locator(".board svg").bounding_box()["width"] > 300
    paper = visitor.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 200) is (scheme == "dark")


def test_what_can_be_pressed_is_named_for_who_does_not_see_it(visit: Any) -> None:
    visitor = visit("connect_four")
    unnamed = """() => [...document.querySelectorAll('button, .site.can, input')].filter(
        (x) => !(x.ariaLabel || x.innerText || x.labels?.length || x.getAttribute('aria-label')
            || x.closest('[aria-label]'))).map((x) => x.outerHTML.slice(0, 200))"""
    assert visitor.page.evaluate(unnamed) == []
    assert visitor.page.locator('[role="status"]').count() >= 1


def test_an_unknown_match_is_told(server: dict[str, str], browser: Any) -> None:
    page = browser.new_page()
    page.goto(server["hex"].rsplit("/", 1)[0] + "/nothing")
    page.get_by_text("begin another one").wait_for()
    page.close()
