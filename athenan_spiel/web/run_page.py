"""A run as it trains: its curves, live, its last match of self-play, and the way to play against it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from html import escape

from nicegui import ui

from athenan_spiel.drawing.board import Overlay, board_svg
from athenan_spiel.errors import AthenanError
from athenan_spiel.games import load_game
from athenan_spiel.training.curves import RunCurves
from athenan_spiel.training.limits import fraction_done
from athenan_spiel.training.run_picture import time_text
from athenan_spiel.web.live import Live, bar_html
from athenan_spiel.web.runs import RunEntry, RunReader
from athenan_spiel.web.table import Table

ENDINGS = {
    "seconds": "ended, as its time was up",
    "matches": "ended, as all its matches were played",
    "stopped": "stopped",
    "error": "broken off by an error",
}
"""Why a run does not go on."""
LOOK_SECONDS = 2.0
"""Between two looks at what the run tells."""
SILENT_SECONDS = 120.0
"""After which a run that tells nothing is said to be silent."""


class RunPage:
    """What one browser shows of some runs: one with all that is known, or several to compare.

    Args:
        runs: which.
        reader: reads them, for this page and for others.
    """

    def __init__(self, runs: Sequence[RunEntry], reader: RunReader) -> None:
        self._runs = runs
        self._reader = reader
        self._problem = ui.label().props('role="alert"')
        self._about = Live().classes("about")
        self._curves = Live().classes("curves")
        self._self_play = SelfPlayPanel() if len(runs) == 1 else None

    async def look(self) -> None:
        """Show what the runs tell until now."""
        self._runs = await self._reader.renew(self._runs)
        problem = await self._reader.read(self._runs)
        about, last = await self._reader.view(self._runs, self._view)
        pictures = await self._reader.pictures(self._runs)
        self._problem.text = problem
        self._problem.visible = bool(problem)
        self._about.set_content(about)
        self._curves.set_content("".join(f"<figure>{picture}</figure>" for picture in pictures))
        if self._self_play is not None:
            await self._self_play.show(*last)

    def _view(self, curves: Mapping[str, RunCurves]) -> tuple[str, tuple[str, tuple[int, ...]]]:
        """Returns the text about the runs as HTML, and the game string and actions of one run's last self-play game."""
        about = "".join(self._said(entry, curves[entry.title]) for entry in self._runs)
        last = next(iter(curves.values()))
        return about, (last.game, last.actions)

    def _said(self, entry: RunEntry, run: RunCurves) -> str:
        """What is known of a run, and how much of it is still to come."""
        text = about_text(entry.title, run, entry.problem)
        parts = [f"<p>{escape(text)}</p>"]
        if run.ended is None and (progress := _progress(entry, run)):
            parts.append(progress)
        if len(self._runs) == 1:
            parts.append(f'<p class="small">{escape("; ".join(filter(None, [run.network, run.choice])))}</p>')
        return "".join(parts)


def about_text(name: str, run: RunCurves, problem: str | None) -> str:
    """One line about the run `name`, whose settings cannot be read if there is a `problem`."""
    unread = run.ended is None and problem is not None
    state = "its settings cannot be read" if unread else going_on(run, time.time())
    return f"{name}: {run.game}, {run.matches:,} matches in {time_text(run.elapsed)}; {state}"


def going_on(run: RunCurves, now: float) -> str:
    """Whether a run goes on, in words, as it is `now`, in seconds since 1970."""
    if run.ended is not None:
        return ENDINGS.get(run.ended, f"ended ({run.ended})")
    if not run.told_at:
        return "has told nothing yet"
    silent = now - run.told_at
    if silent < SILENT_SECONDS:
        return f"warms up, {run.warm_up_states:,} random states learned" if run.warm_up_states else "goes on"
    return f"has told nothing for {time_text(silent)}: it may have been killed, and `athenan resume` goes on with it"


def _progress(entry: RunEntry, run: RunCurves) -> str:
    """How much of a run lies behind by its limits, as a bar; nothing where it has none."""
    config = entry.config
    if config is None or (config.seconds is None and config.matches is None):
        return ""
    done = fraction_done(config, run.matches, run.elapsed)
    left = [] if config.seconds is None else [f"{time_text(max(0.0, config.seconds - run.elapsed))} left"]
    left += [] if config.matches is None else [f"{max(0, config.matches - run.matches):,} matches left"]
    return bar_html("the run", done, " or ".join(left))


class SelfPlayPanel:
    """The last match of self-play, board by board."""

    def __init__(self) -> None:
        self._game = ""
        self._table: Table | None = None
        self._shown: tuple[int, ...] = ()
        self._box = ui.column().classes("self-play")
        with self._box:
            ui.label("The last match of self-play").classes("status")
            self._board = Live().classes("board")
            self._slider = ui.slider(min=0, max=0, value=0, on_change=self._draw).props(
                'label aria-label="Position of the match"'
            )
        self._box.visible = False

    async def show(self, game: str, actions: tuple[int, ...]) -> None:
        """Show a game; one that the rules do not know is not shown."""
        if not game or not actions or actions == self._shown:
            return
        self._shown = actions
        table = await asyncio.to_thread(_replayed, game, actions)
        if table is None:
            return
        self._table = table
        self._box.visible = True
        self._slider.props["max"] = len(actions)
        self._slider.value = len(actions)
        await self._draw()

    async def _draw(self) -> None:
        """Draw the position of the slider in another thread, as replaying a long game takes a while."""
        if self._table is None:
            return
        ply = int(self._slider.value)
        picture = await asyncio.to_thread(_picture_at, self._table.copy(), ply)
        if ply == self._slider.value and not self._board.is_deleted:
            self._board.set_content(picture)


def _replayed(game: str, actions: Sequence[int]) -> Table | None:
    """The table of a game that was played; None where the rules do not know it."""
    try:
        table = Table(load_game(game).new_initial_state())
        for action in actions:
            table.play(action)
    except (AthenanError, RuntimeError):  # Ludii's errors are of the latter kind
        return None
    return table


def _picture_at(table: Table, ply: int) -> str:
    """The board after a number of moves, if there were as many, as a picture or as text."""
    if 0 <= ply <= len(table.moves) + len(table.ahead):
        table.show(ply)
    if table.view is None:
        return f"<pre>{escape(str(table.state))}</pre>"
    return board_svg(table.view, table.state, Overlay(last=table.last_sites()))
