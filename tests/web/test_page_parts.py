"""Parts of pages that need no browser: bars of what is waited for, titles, and who is there."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import os
import re
import shutil
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspiel
import pytest
from training_runs import edit_settings

pytest.importorskip("nicegui", reason="needs NiceGUI: pip install 'athenan-spiel[web]'")

import athenan_spiel as ath
from agents import AgentSpec
from athenan_spiel.drawing.view import View
from athenan_spiel.play.move_tree import MoveTree
from athenan_spiel.training.curves import RunCurves
from athenan_spiel.web import pages, run_page
from athenan_spiel.web.analysis_panel import AnalysisPanel
from athenan_spiel.web.game_page import GamePage
from athenan_spiel.web.live import bar_html
from athenan_spiel.web.moves_panel import MAX_LISTED_MOVES, moves_html
from athenan_spiel.web.opponents import Opponents
from athenan_spiel.web.overview import state_text
from athenan_spiel.web.runs import list_runs
from athenan_spiel.web.saved_panel import SavedPanel
from athenan_spiel.web.sessions import GameSession, GameSessions


class FakeSession:
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
    session, client = FakeSession(), FakeClient()
    pages._connect(client, session)  # type: ignore[arg-type]
    assert session.calls == [], "a page that nobody has opened yet thinks about nothing"
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
    assert session.calls == ["come", "leave", "come", "leave"]


def test_a_bar_says_in_words_what_it_shows() -> None:
    bar = bar_html('x "thinks" <b>', 0.256, "3 s left")
    assert 'aria-valuenow="26"' in bar
    assert "3 s left" in bar
    assert "&lt;b&gt;" in bar
    assert "<b>" not in bar
    unknown = bar_html("it is loaded", None)
    assert "aria-valuenow" not in unknown
    assert 'role="progressbar"' in unknown


def test_a_run_that_goes_on_says_what_is_left_of_it(tiny_run: Path) -> None:
    run = RunCurves(tiny_run)
    run.update()
    assert run.ended is not None
    (entry,) = list_runs(tiny_run)
    text = run_page._progress(entry, run)
    assert "0 games left" in text
    assert 'aria-valuenow="100"' in text
    unread = dataclasses.replace(entry, config=None)
    assert run_page._progress(unread, run) == "", "where the settings cannot be read"


def test_a_run_that_tells_nothing_more_is_said_to_be_silent(tiny_run: Path) -> None:
    run = RunCurves(tiny_run)
    run.update()
    run.ended = None
    assert time.time() - 86400 < run.last_event_time <= time.time()
    assert state_text(run, run.last_event_time + 1) == "running"
    silent = state_text(run, run.last_event_time + 3900)
    assert silent.startswith("no event for 1 h 05 min: it may have been killed")
    run.ended = "stopped"
    assert state_text(run, run.last_event_time + 3900) == "stopped"


def test_a_run_without_a_game_shows_the_time_that_has_passed(tiny_run: Path, tmp_path: Path) -> None:
    """A run that was killed counts no further than to what it has told."""
    shutil.copy(tiny_run / "config.toml", tmp_path)
    edit_settings(tmp_path, 'matches = 12\nseconds = "none"', 'matches = "none"\nseconds = 200.0')
    lines = [{"event": "run_started", "seconds": 0.0}, {"event": "round_progress", "matches": 0, "seconds": 150.0}]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = RunCurves(tmp_path)
    run.update()
    entry = list_runs(tmp_path)[0]
    for age, state in ((1, "running"), (3900, "no event for 1 h 05 min")):
        os.utime(tmp_path / "metrics.jsonl", (time.time() - age,) * 2)
        run.update()
        assert f"0 games in 2 min 30 s; {state}" in run_page.about_text(entry.name, run, None)
    assert "50 s left" in run_page._progress(entry, run)
    assert 'aria-valuenow="75"' in run_page._progress(entry, run)


def test_a_run_that_warms_up_or_has_told_nothing_says_so(tmp_path: Path) -> None:
    run = RunCurves(tmp_path)
    assert state_text(run, time.time()) == "no event yet"
    run.last_event_time, run.warm_up_states = time.time(), 12_000
    assert state_text(run, time.time()) == "warming up, 12,000 random states learned"


@pytest.mark.parametrize(("parameters", "title"), [({"game": "Surakarta"}, "Surakarta"), ({}, "Connect Four")])
def test_a_game_of_ludiis_has_its_own_name(parameters: dict[str, Any], title: str) -> None:
    class Game:
        def get_parameters(self) -> dict[str, Any]:
            return parameters

        def get_type(self) -> Any:
            return ath.load_game("connect_four").get_type()

    assert pages.title_of(Game()) == title


def test_boards_are_drawn_outside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what is pressed on them is listed there, and a change meanwhile is drawn after that."""
    from nicegui import core
    from nicegui.client import Client
    from nicegui.page import page

    monkeypatch.setattr(core.app.config, "endpoint_documentation", "none", raising=False)
    threads, touched, sessions = [], View.touched, GameSessions()

    def slow(view: View, state: pyspiel.State, action: int) -> tuple[int, ...]:
        threads.append(threading.current_thread())
        return touched(view, state, action)

    async def pictures() -> tuple[str, str]:
        monkeypatch.setattr(core, "loop", asyncio.get_running_loop())
        start = ath.load_game("hex(board_size=4)").new_initial_state()
        session = sessions.find(sessions.open(start, Opponents(), ("you", "you"), 0.1))
        assert session is not None
        with Client(page("")):
            shown = GamePage(session)
            await shown.drawn()
            first = shown._board._props["content"]
            monkeypatch.setattr(View, "touched", slow)
            session.match.board._changed()
            shown._draw()
            session.match.play(0)
            shown._draw()
            await shown.drawn()
            return first, shown._board._props["content"]

    first, second = asyncio.run(pictures())
    sessions.close()
    assert "red stone" not in first
    assert "red stone" in second
    drawing = [thread for thread in threads if thread is not threading.current_thread()]
    assert len(drawing) >= 15
    assert len(threads) - len(drawing) <= 3, "the loop looks at one action at most, to say how moves are made"


def test_a_page_that_is_closed_leaves_nothing_of_its_game_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """FastAPI caches the routes of uploads, so their handlers must not keep what they belong to."""
    from nicegui import core, ui
    from nicegui.client import Client
    from nicegui.element import Element
    from nicegui.page import page

    monkeypatch.setattr(core.app.config, "endpoint_documentation", "none", raising=False)

    async def closed() -> tuple[weakref.ref[SavedPanel], Element]:
        monkeypatch.setattr(core, "loop", asyncio.get_running_loop())
        with Client(page("")) as client:
            panel = weakref.ref(SavedPanel(GameSession(None, Opponents()), lambda act: None))  # type: ignore[arg-type]
            (unfolded,) = (element for element in client.elements.values() if isinstance(element, ui.expansion))
            assert not [element for element in client.elements.values() if isinstance(element, ui.upload)]
            for _ in range(2):
                unfolded.open()
                unfolded.close()
            (upload,) = (element for element in client.elements.values() if isinstance(element, ui.upload))
        client.delete()
        return panel, upload

    panel, upload = asyncio.run(closed())
    gc.collect()
    assert panel() is None, "although the upload is still there"
    assert upload.is_deleted


@pytest.mark.parametrize(
    ("specs", "names"),
    [
        (["/home/x/runs/bt6@0.5s"], ["bt6@0.5s"]),
        (["runs/a b/c#576"], ["c#576"]),
        (["/x/one/bt6", "/x/other/bt6", "/y/other/bt6"], ["bt6", "other/bt6", "other/bt6 (2)"]),
        (["gtp:/usr/games/gnugo --mode gtp"], ["gtp:gnugo --mode gtp"]),
        (["mcts:1000", "/mcts"], ["mcts:1000", "mcts"]),
    ],
)
def test_agents_have_short_names(specs: list[str], names: list[str]) -> None:
    opponents = Opponents([spec_of(text) for text in specs])
    assert opponents.names[: len(names)] == names
    assert [opponents.name_of(text) for text in specs] == names
    assert opponents.name_of("you") == "you"
    assert len(set(opponents.names)) == len(opponents.names)
    assert [opponents.find(name).spec.text for name in names] == specs


def test_a_run_of_the_current_folder_has_its_plain_name() -> None:
    from athenan_spiel.web.pages import _spec

    run = SimpleNamespace(path=Path("c4"))
    newest, earlier = _spec(run), _spec(run, "000576")  # type: ignore[arg-type]
    assert Opponents([newest, earlier]).names[:2] == ["c4", "c4#576"]
    assert newest.text == "./c4", "a spec, whatever the name looks like"


def spec_of(text: str) -> AgentSpec:
    checkpoint = {} if ":" in text else {"checkpoint": re.split("[@#]", text)[0]}
    return AgentSpec(text, "athenan" if checkpoint else text.split(":")[0], checkpoint)


@pytest.mark.parametrize("index", [1, 2, 7, -1, None, "1", 1.0, True, [1], {}])
def test_a_click_on_the_chart_of_values_may_have_any_index(index: Any) -> None:
    shown: list[int] = []
    panel = object.__new__(AnalysisPanel)
    panel._match = SimpleNamespace(show=shown.append)  # type: ignore[assignment]
    panel._show(index)
    assert shown == ([index] if type(index) is int else [])


def test_the_list_of_moves_shows_those_around_the_current_one() -> None:
    tree, node = MoveTree(), None
    for number in range(MAX_LISTED_MOVES + 50):
        node = tree.add(node or tree.root, number, f"<{number}>", 0)
    assert node is not None
    html = moves_html(tree, node)
    assert html.count("<button") == MAX_LISTED_MOVES
    assert html.count("<div>…</div>") == 1
    assert f"{MAX_LISTED_MOVES + 50}. &lt;{MAX_LISTED_MOVES + 49}&gt;" in html
    assert "1. &lt;0&gt;" in moves_html(tree, tree.root)
    assert moves_html(tree, node.path()[200]).count('aria-current="true"') == 1
    assert moves_html(MoveTree(), tree.root) == ""
