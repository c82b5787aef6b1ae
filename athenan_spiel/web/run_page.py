"""Page of a run: live curves, the last self-play game, and a link to play against it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from nicegui import ui

from athenan_spiel.drawing.board import Overlay, board_svg
from athenan_spiel.drawing.charts import Chart
from athenan_spiel.errors import AthenanError
from athenan_spiel.games import load_game
from athenan_spiel.training.curves import RunCurves
from athenan_spiel.training.run_picture import time_text
from athenan_spiel.web.charts import add_chart, chart_options, redraw
from athenan_spiel.web.interactive_board import InteractiveBoard
from athenan_spiel.web.live import Live, bar_html
from athenan_spiel.web.runs import RunEntry, RunReader

ENDINGS = {
    "seconds": "ended: time limit reached",
    "matches": "ended: all games played",
    "stopped": "stopped",
    "error": "ended by an error",
}
"""Reasons why a run has ended."""
RUN_REFRESH_SECONDS = 2.0
"""Seconds between two refreshes."""
SILENT_SECONDS = 120.0
"""Seconds without a new event after which a run is reported as silent."""


class RunPage:
    """View of one run with all details, or of several runs to compare.

    Args:
        runs: runs to show.
        reader: reads them for all pages.
    """

    def __init__(self, runs: Sequence[RunEntry], reader: RunReader) -> None:
        self._runs = runs
        self._reader = reader
        self._problem = ui.label().props('role="alert"')
        self._about = Live().classes("about")
        self._curves = ui.element().classes("curves")
        self._charts: Sequence[Chart] = ()
        self._elements: list[ui.echart] = []
        self._self_play = SelfPlayPanel() if len(runs) == 1 else None

    async def refresh(self) -> None:
        """Shows the current metrics."""
        self._runs = await self._reader.renew(self._runs)
        problem = await self._reader.read(self._runs)
        about, last = await self._reader.view(self._runs, self._view)
        charts = await self._reader.charts(self._runs)
        self._problem.text = problem
        self._problem.visible = bool(problem)
        self._about.set_content(about)
        if charts is not self._charts and not self._curves.is_deleted:
            self._charts = charts
            self._draw_charts([chart_options(chart) for chart in charts])
        if self._self_play is not None:
            await self._self_play.show(*last)

    def _draw_charts(self, options: Sequence[dict[str, Any]]) -> None:
        if len(options) != len(self._elements):
            self._curves.clear()
            with self._curves:
                self._elements = [add_chart(each) for each in options]
        else:
            for element, each in zip(self._elements, options, strict=True):
                redraw(element, each)

    def _view(self, curves: Mapping[str, RunCurves]) -> tuple[str, tuple[str, tuple[int, ...]]]:
        """Returns the text about the runs as HTML, and the game string and actions of one run's last self-play game."""
        about = "".join(self._summary(entry, curves[entry.title]) for entry in self._runs)
        last = next(iter(curves.values()))
        return about, (last.game, last.actions)

    def _summary(self, entry: RunEntry, run: RunCurves) -> str:
        """Returns the summary of a run as HTML, with its progress."""
        text = about_text(entry.title, run, entry.problem)
        parts = [f"<p>{escape(text)}</p>"]
        if run.ended is None and (progress := _progress(entry, run)):
            parts.append(progress)
        if len(self._runs) == 1:
            parts.append(f'<p class="small">{escape("; ".join(filter(None, [run.network, run.choice])))}</p>')
        return "".join(parts)


def about_text(name: str, run: RunCurves, problem: str | None) -> str:
    """Returns one line about a run; `problem` says why its settings cannot be read."""
    unread = run.ended is None and problem is not None
    state = "its settings cannot be read" if unread else going_on(run, time.time())
    return f"{name}: {run.game}, {run.matches:,} games in {time_text(run.elapsed)}; {state}"


def going_on(run: RunCurves, now: float) -> str:
    """Returns the state of a run in words at the time `now`, in seconds since 1970."""
    if run.ended is not None:
        return ENDINGS.get(run.ended, f"ended ({run.ended})")
    if not run.last_event_time:
        return "no event yet"
    silent = now - run.last_event_time
    if silent < SILENT_SECONDS:
        return f"warming up, {run.warm_up_states:,} random states learned" if run.warm_up_states else "running"
    return f"no event for {time_text(silent)}: it may have been killed; `athenan resume` continues it"


def _progress(entry: RunEntry, run: RunCurves) -> str:
    """Returns a progress bar towards the run's limits; empty without limits."""
    config = entry.config
    if config is None or (config.seconds is None and config.matches is None):
        return ""
    done = config.fraction_done(run.matches, run.elapsed)
    left = [] if config.seconds is None else [f"{time_text(max(0.0, config.seconds - run.elapsed))} left"]
    left += [] if config.matches is None else [f"{max(0, config.matches - run.matches):,} games left"]
    return bar_html("the run", done, " or ".join(left))


class SelfPlayPanel:
    """Last self-play game, position by position."""

    def __init__(self) -> None:
        self._game = ""
        self._replay: InteractiveBoard | None = None
        self._shown_actions: tuple[int, ...] = ()
        self._box = ui.column().classes("self-play")
        with self._box:
            ui.label("Last self-play game").classes("status")
            self._board = Live().classes("board")
            self._slider = ui.slider(min=0, max=0, value=0, on_change=self._draw).props(
                'label aria-label="Position in the game"'
            )
        self._box.visible = False

    async def show(self, game: str, actions: tuple[int, ...]) -> None:
        """Shows a game, unless the rules don't allow its actions."""
        if not game or not actions or actions == self._shown_actions:
            return
        self._shown_actions = actions
        board = await asyncio.to_thread(_replayed, game, actions)
        if board is None:
            return
        self._replay = board
        self._box.visible = True
        self._slider.props["max"] = len(actions)
        self._slider.value = len(actions)
        await self._draw()

    async def _draw(self) -> None:
        """Draws the slider's position in another thread, since replaying a long game takes time."""
        if self._replay is None:
            return
        ply = int(self._slider.value)
        picture = await asyncio.to_thread(_picture_at, self._replay.copy(), ply)
        if ply == self._slider.value and not self._board.is_deleted:
            self._board.set_content(picture)


def _replayed(game: str, actions: Sequence[int]) -> InteractiveBoard | None:
    """Returns the board after a game; None if the rules don't allow the actions."""
    try:
        board = InteractiveBoard(load_game(game).new_initial_state())
        for action in actions:
            board.play(action)
    except (AthenanError, RuntimeError):  # Ludii's errors are of the latter kind
        return None
    return board


def _picture_at(board: InteractiveBoard, ply: int) -> str:
    """Returns the board after `ply` moves as SVG, or as text if the game has no drawing."""
    if 0 <= ply <= len(board.moves) + len(board.ahead):
        board.show(ply)
    if board.view is None:
        return f"<pre>{escape(str(board.state))}</pre>"
    return board_svg(board.view, board.state, Overlay(last=board.last_sites()))
