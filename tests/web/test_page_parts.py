"""Parts of pages that need no browser: bars of what is waited for, titles, and who is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="needs NiceGUI: pip install 'athenan-spiel[web]'")

import athenan_spiel as ath
from athenan_spiel.training.curves import RunCurves
from athenan_spiel.web import pages, run_page
from athenan_spiel.web.live import bar_html


class FakeVisit:
    """Counts who has come and left."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def come(self) -> None:
        self.calls.append("come")

    def leave(self) -> None:
        self.calls.append("leave")


class FakeClient:
    """Of NiceGUI's what is asked of it."""

    def __init__(self) -> None:
        self.has_socket_connection = False
        self.handlers: dict[str, Callable[[], None]] = {}

    def on_connect(self, handler: Callable[[], None]) -> None:
        self.handlers["connect"] = handler

    def on_disconnect(self, handler: Callable[[], None]) -> None:
        self.handlers["disconnect"] = handler

    def on_delete(self, handler: Callable[[], None]) -> None:
        self.handlers["delete"] = handler


def test_who_connects_comes_and_who_loses_the_connection_leaves_at_once() -> None:
    visit, client = FakeVisit(), FakeClient()
    pages._stay(client, visit)  # type: ignore[arg-type]
    assert visit.calls == [], "a page that nobody has opened yet thinks about nothing"
    for is_there, event in (
        (True, "connect"),
        (False, "disconnect"),
        (True, "connect"),
        (True, "disconnect"),  # of an old connection, as a newer one is there
        (False, "disconnect"),
        (False, "delete"),
    ):
        client.has_socket_connection = is_there
        client.handlers[event]()
    assert visit.calls == ["come", "leave", "come", "leave"]


def test_a_bar_says_in_words_what_it_shows() -> None:
    bar = bar_html('x "thinks" <b>', 0.256, "3 s left")
    assert 'aria-valuenow="26"' in bar
    assert "3 s left" in bar
    assert "&lt;b&gt;" in bar
    assert "<b>" not in bar
    unknown = bar_html("it is loaded", None)
    assert "aria-valuenow" not in unknown
    assert 'role="progressbar"' in unknown


def test_a_run_that_goes_on_says_what_is_left_of_it(tiny_run: Path, tmp_path: Path) -> None:
    run = RunCurves(tiny_run)
    run.look()
    assert run.ended is not None
    text = run_page._progress(tiny_run, run)
    assert "0 matches left" in text
    assert 'aria-valuenow="100"' in text
    assert run_page._progress(tmp_path, run) == "", "where the settings cannot be read"


def test_a_run_that_tells_nothing_more_is_said_to_be_silent(tiny_run: Path) -> None:
    run = RunCurves(tiny_run)
    run.look()
    run.ended = None
    assert time.time() - 86400 < run.told_at <= time.time()
    assert run_page.going_on(run, run.told_at + 1) == "goes on"
    silent = run_page.going_on(run, run.told_at + 3900)
    assert silent.startswith("has told nothing for 1 h 05 min: it may have been killed")
    run.ended = "stopped"
    assert run_page.going_on(run, run.told_at + 3900) == "stopped"


@pytest.mark.parametrize(("parameters", "title"), [({"game": "Surakarta"}, "Surakarta"), ({}, "Connect Four")])
def test_a_game_of_ludiis_has_its_own_name(parameters: dict[str, Any], title: str) -> None:
    class Game:
        def get_parameters(self) -> dict[str, Any]:
            return parameters

        def get_type(self) -> Any:
            return ath.load_game("connect_four").get_type()

    assert pages.title_of(Game()) == title
