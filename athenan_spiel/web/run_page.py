"""Page of a run: live curves, the last self-play game, and a link to play against it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from html import escape
from urllib.parse import quote

from nicegui import ui

from athenan_spiel.arguments import is_number
from athenan_spiel.drawing.board import Overlay, board_svg
from athenan_spiel.errors import AthenanError, printable
from athenan_spiel.games import load_game
from athenan_spiel.training.best import BEST
from athenan_spiel.training.curves import RunCurves
from athenan_spiel.training.run_picture import AXES, time_text
from athenan_spiel.web.charts import ChartOptions, add_chart, redraw
from athenan_spiel.web.interactive_board import InteractiveBoard
from athenan_spiel.web.live import Live, bar_html
from athenan_spiel.web.overview import state_text
from athenan_spiel.web.positions import ANALYSIS_PATH, link_query
from athenan_spiel.web.runs import CheckpointEntry, RunEntry, RunReader, is_utf8
from athenan_spiel.web.settings_table import settings_html

RUN_REFRESH_SECONDS = 2.0
"""Seconds between two refreshes."""
LAST_GAME = "last"
"""Choice of the last game of self-play."""
MAX_SMOOTHING = 0.99
"""Maximum weight of the past in smoothed curves."""


class RunPage:
    """View of one run with all details, or of several runs to compare.

    Args:
        runs: runs to show.
        reader: reads them for all pages.
    """

    def __init__(self, runs: Sequence[RunEntry], reader: RunReader) -> None:
        self._runs = runs
        self._reader = reader
        self._links = Live(_links_html(runs)).classes("links")
        self._problem = ui.label().props('role="alert"')
        self._about = Live().classes("about")
        with ui.row().classes("curve-options"):
            ui.label("Horizontal axis")
            self._axis = ui.toggle(list(AXES), value=AXES[0], on_change=self.refresh).props(
                'dense no-caps flat aria-label="Horizontal axis"'
            )
            ui.label("Smoothing")
            self._smoothing = ui.slider(min=0, max=MAX_SMOOTHING, step=0.01, value=0).props(
                'label aria-label="Smoothing of the curves"'
            )
            self._smoothing.on("change", self.refresh)
        self._curves = ui.element().classes("curves")
        self._charts: Sequence[ChartOptions] = ()
        self._elements: list[ui.echart] = []
        self._drawn_axis = ""
        self._settings_of: Sequence[object] = ()
        with ui.expansion("Settings" if len(runs) == 1 else "Differences between the settings").classes(
            "settings-of-runs"
        ):
            self._only_differences = ui.switch(
                "Only differences" + (" from the defaults" if len(runs) == 1 else ""),
                value=len(runs) > 1,
                on_change=self._draw_settings,
            )
            self._settings = Live().classes("settings-table")
        self._checkpoints: Live | None = None
        self._self_play: SelfPlayPanel | None = None
        if len(runs) == 1:
            with ui.expansion("Checkpoints").classes("checkpoints"):
                self._checkpoints = Live().classes("checkpoint-list")
            self._self_play = SelfPlayPanel()

    @property
    def smoothing(self) -> float:
        """Weight of the past in the curves; 0 for anything else that a browser may send."""
        weight = self._smoothing.value
        return round(weight, 2) if is_number(weight) and 0 <= weight <= MAX_SMOOTHING else 0.0

    @property
    def axis(self) -> str:
        """Quantity on the horizontal axis."""
        return self._axis.value if self._axis.value in AXES else AXES[0]

    async def refresh(self) -> None:
        """Shows the current metrics."""
        self._runs = await self._reader.renew(self._runs)
        problem = await self._reader.read(self._runs)
        about, games = await self._reader.view(self._runs, self._view)
        axis = self.axis
        charts = await self._reader.charts(self._runs, axis, self.smoothing)
        self._problem.text = problem
        self._problem.visible = bool(problem)
        self._about.set_content(about)
        if charts is not self._charts and not self._curves.is_deleted:
            self._charts = charts
            self._draw_charts(charts, axis)
        self._draw_settings()
        if self._checkpoints is not None:
            found = await self._reader.checkpoints(self._runs[0])
            self._checkpoints.set_content(_checkpoints_html(self._runs[0], found))
        if self._self_play is not None:
            await self._self_play.show(*games)

    def _draw_charts(self, options: Sequence[ChartOptions], axis: str) -> None:
        """Redraws the charts. They keep their zoom, unless the axis has changed."""
        if len(options) != len(self._elements) or axis != self._drawn_axis:
            self._drawn_axis = axis
            self._curves.clear()
            with self._curves:
                self._elements = [add_chart(each) for each in options]
        else:
            for element, each in zip(self._elements, options, strict=True):
                redraw(element, each)

    def _draw_settings(self) -> None:
        given = [self._only_differences.value is True, *(run.config for run in self._runs)]
        if given != self._settings_of:
            self._settings_of = given
            only_differences = self._only_differences.value is True
            self._settings.set_content(settings_html(self._runs, only_differences=only_differences))

    def _view(self, curves: Mapping[str, RunCurves]) -> tuple[str, tuple[str, dict[int, tuple[int, ...]]]]:
        """Returns the text about the runs as HTML, and the game string and the kept games of the first run."""
        about = "".join(self._summary(entry, curves[entry.title]) for entry in self._runs)
        first = next(iter(curves.values()))
        return about, (first.game, first.kept_games)

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
    state = "its settings cannot be read" if unread else state_text(run, time.time())
    return f"{name}: {run.game}, {run.matches:,} games in {time_text(run.elapsed)}; {state}"


def _progress(entry: RunEntry, run: RunCurves) -> str:
    """Returns a progress bar towards the run's limits; empty without limits."""
    config = entry.config
    if config is None or (config.seconds is None and config.matches is None):
        return ""
    done = config.fraction_done(run.matches, run.elapsed)
    left = [] if config.seconds is None else [f"{time_text(max(0.0, config.seconds - run.elapsed))} left"]
    left += [] if config.matches is None else [f"{max(0, config.matches - run.matches):,} games left"]
    return bar_html("the run", done, " or ".join(left))


def _links_html(runs: Sequence[RunEntry]) -> str:
    """Returns links to play against a run and to the reports of runs; for several runs also to each run."""
    links = []
    for run in runs:
        if len(runs) > 1:
            links.append((f"/run/{run.address}", run.title))
        elif run.game is not None:
            links.append((f"/play/{run.address}", "Play against it"))
    for report in dict.fromkeys(run.report for run in runs if run.report is not None and is_utf8(run.report)):
        links.append((f"/report/{quote(report, safe='')}", f"Report of {printable(report)}"))
    return " ".join(f'<a href="{escape(address)}">{escape(text)}</a>' for address, text in links)


def _checkpoints_html(run: RunEntry, checkpoints: Sequence[CheckpointEntry]) -> str:
    """Returns the list of checkpoints with links to play against them."""
    if not checkpoints:
        return "<p>No checkpoint yet.</p>"
    rows = []
    for checkpoint in checkpoints:
        number = "best network" if checkpoint.name == BEST else f"{int(checkpoint.name):,} games"
        written = time.strftime("%Y-%m-%d %H:%M", time.localtime(checkpoint.written_at))
        address = escape(f"/play/{run.address}?checkpoint={checkpoint.name}")
        play = f'<a href="{address}" aria-label="Play against {number}">play</a>' if run.game is not None else ""
        rows.append(f'<tr data-path="{checkpoint.name}"><td>{number}</td><td>{written}</td><td>{play}</td></tr>')
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


class SelfPlayPanel:
    """Games of self-play, position by position: those that the curves keep, and the last one."""

    def __init__(self) -> None:
        self._game = ""
        self._games: dict[int, tuple[int, ...]] = {}
        self._replay: InteractiveBoard | None = None
        self._shown_actions: tuple[int, ...] = ()
        self._box = ui.column().classes("self-play")
        with self._box:
            ui.label("Games of self-play").classes("status")
            with ui.row().classes("self-play-options"):
                self._choice = ui.select([LAST_GAME], value=LAST_GAME, label="Game", on_change=self._choose)
                self._link = ui.link("Open with analysis", "")
            self._board = Live().classes("board")
            self._slider = ui.slider(min=0, max=0, value=0, on_change=self._draw).props(
                'label aria-label="Position in the game"'
            )
        self._box.visible = False

    async def show(self, game: str, games: dict[int, tuple[int, ...]]) -> None:
        """Shows the chosen game, by default the last one, unless the rules don't allow its actions.

        Args:
            game: game string.
            games: actions of games by their numbers.
        """
        if not game or not games:
            return
        self._game = game
        if games != self._games:
            self._games = games
            names = [LAST_GAME, *(str(number) for number in sorted(games))]
            self._choice.set_options(names, value=self._choice.value if self._choice.value in names else LAST_GAME)
        await self._choose()

    async def _choose(self) -> None:
        if not self._games:
            return
        number = max(self._games) if self._choice.value == LAST_GAME else int(self._choice.value)
        actions = self._games[number]
        if actions == self._shown_actions:
            return
        self._shown_actions = actions
        board = await asyncio.to_thread(_replayed, self._game, actions)
        if board is None or actions != self._shown_actions:
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
        picture, query = await asyncio.to_thread(_picture_at, self._replay.copy(), ply)
        if ply == self._slider.value and not self._board.is_deleted:
            self._board.set_content(picture)
            self._link.props["href"] = f"{ANALYSIS_PATH}?{query}"
            self._link.visible = query is not None


def _replayed(game: str, actions: Sequence[int]) -> InteractiveBoard | None:
    """Returns the board after a game; None if the rules don't allow the actions."""
    try:
        board = InteractiveBoard(load_game(game).new_initial_state())
        for action in actions:
            board.play(action)
    except (AthenanError, RuntimeError):  # Ludii's errors are of the latter kind
        return None
    return board


def _picture_at(board: InteractiveBoard, ply: int) -> tuple[str, str | None]:
    """Returns the board after `ply` moves as SVG, or as text if the game has no drawing, and the query of its link."""
    if 0 <= ply <= len(board.moves) + len(board.ahead):
        board.show(ply)
    query = link_query(board)
    if board.view is None:
        return f"<pre>{escape(str(board.state))}</pre>", query
    return board_svg(board.view, board.state, Overlay(last=board.last_sites())), query
