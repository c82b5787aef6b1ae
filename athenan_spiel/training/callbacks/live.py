"""Progress of a run in a terminal: a table redrawn a few times a second, and a one-line progress bar."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import IO

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar as RichBar
from rich.table import Table
from rich.text import Text

from athenan_spiel.arguments import require_callable
from athenan_spiel.drawing.notebook import open_display
from athenan_spiel.drawing.picture import Picture
from athenan_spiel.errors import ConfigError, printable
from athenan_spiel.training.callbacks.lines import (
    Audience,
    LinePrinter,
    checked_interval,
    finished_text,
    notice_text,
    progress_text,
    started_text,
)
from athenan_spiel.training.callbacks.metrics import as_record, now
from athenan_spiel.training.callbacks.summary import RECENT, RunSummary, evaluation_line
from athenan_spiel.training.curves import RunCurves
from athenan_spiel.training.events import (
    Callback,
    EvaluationFailed,
    EvaluationFinished,
    Event,
    RoundFinished,
    RoundProgress,
    RunFinished,
    RunStarted,
    WarmUpProgress,
)
from athenan_spiel.training.run_picture import ProgressPicture, strength_svg

REDRAWS_PER_SECOND = 4


def view(console: Console) -> Callback:
    """Returns the live view if `console` is a terminal, else plain lines."""
    return LiveView(console) if console.is_terminal else LinePrinter(console.file)


class LiveView:
    """Table of games, speed, loss, recent lengths and results, last evaluation and time left.

    It uses the terminal from `RunStarted` to `RunFinished`. It shows nothing after the terminal was closed.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._summary = RunSummary()
        self._ended = False
        self._audience = Audience(console.file)
        self._live = Live(
            console=console, get_renderable=self.render, refresh_per_second=REDRAWS_PER_SECOND, transient=True
        )

    def __call__(self, event: Event) -> None:
        """Update the view."""
        self._summary(event)
        with self._audience.watching():
            if not self._audience.gone:
                self._show(event)
            elif isinstance(event, RunFinished):
                self._live.stop()

    def _show(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            for line in (event.choice, event.memory):
                if line is not None:
                    self._console.print(Text(line))
            self._live.start()
        elif (line := evaluation_line(event)) is not None:
            self._console.print(Text(line))
        elif (notice := notice_text(event)) is not None:
            self._console.print(Text(notice))
        elif isinstance(event, RunFinished):
            self._ended = True
            self._live.stop()
            self._console.print(self.render())
            self._console.print(Text(finished_text(event)), soft_wrap=True)

    def render(self) -> RenderableType:
        """Returns the current table."""
        s = self._summary
        if s.started is None:
            return Text("")
        table = Table.grid(padding=(0, 2))
        for name, value in self._rows():
            table.add_row(Text(name, style="dim"), Text(value))
        parts: list[RenderableType] = [table]
        if s.fraction_done is not None:
            parts.append(
                Padding(RichBar(total=1.0, completed=s.fraction_done), 0)
            )  # without padding a bar doesn't end its line
        folder = printable(str(s.started.folder))
        if not self._ended:
            parts.append(Text("Ctrl-C saves, stops and prints how to resume", style="dim"))
        return Panel(Group(*parts), title=Text(f"{s.started.game} → {folder}"), title_align="left", expand=False)

    def _rows(self) -> list[tuple[str, str]]:
        """Returns name and value of each row with a known value."""
        s = self._summary
        assert s.started is not None
        limit = s.started.config.matches
        rows = [("games", f"{s.matches:,}" + (f" of {limit:,}" if limit is not None else ""))]
        if s.warm_up_text is not None:
            rows.append(("warm-up", s.warm_up_text))
        if s.progress is not None:
            rows.append(("this round", f"{s.progress.alive} in play, {s.progress.plies:,} plies"))
        if s.speed is not None:
            rows.append(("evaluations", f"{s.speed:,.0f} a second"))
        if s.loss_text is not None:
            rows.append(("loss", s.loss_text))
        if s.workers_text is not None:
            rows.append(("workers", s.workers_text))
        if s.last_round is not None:
            r = s.last_round
            rows.append(("learning", f"{r.states_learned:,} states in {r.learning_seconds:.1f} s a round"))
            rows.append(("replay", f"{r.replay_states:,} states, {r.replay_bytes / 1e6:.0f} MB"))
            if r.resolved_states is not None:
                rows.append(("proven", f"{r.resolved_states:,} states kept"))
        if s.mean_length is not None:
            rows.append((f"last {min(len(s.lengths), RECENT)}", f"{s.mean_length:.1f} plies, {s.results_text}"))
        if s.evaluation_text is not None:
            rows.append(("evaluation", s.evaluation_text))
        left = f", {_clock(s.seconds_left)} left" if s.seconds_left is not None else ""
        rows.append(("time", f"{_clock(s.seconds)}{left}"))
        rows.append(("network", s.started.network))
        return rows


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


BAR = 20
"""Length of the bar, in characters."""


class ProgressBar:
    """Progress, speed and loss of a run in one line; the start, each evaluation and the end have separate lines.

        ath.train("connect_four", callbacks=[ath.ProgressBar()])

    In a notebook, without a stream, the line is updated in the cell, and a curve of the strength appears below it with
    the first evaluation. In a stream, nothing is written after its reader has ended.

    Args:
        stream: output stream; by default the notebook's cell, or standard error.
        every_seconds: time between two updates, in seconds.
        clock: returns the time in seconds.

    Raises:
        ConfigError: an argument is invalid.
    """

    def __init__(
        self, stream: IO[str] | None = None, every_seconds: float = 0.5, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._may_use_cell = stream is None
        self._cell: NotebookProgress | None = None
        self._stream = stream if stream is not None else sys.stderr
        self._audience = Audience(self._stream)
        self._every = checked_interval(every_seconds)
        require_callable("clock", clock, ConfigError)
        self._clock = clock
        self._summary = RunSummary()
        self._next = 0.0
        self._written = 0

    def __call__(self, event: Event) -> None:
        """Update the line, if an update is due."""
        self._summary(event)
        if isinstance(event, RunStarted) and self._may_use_cell:
            self._cell = NotebookProgress.opened(event)
        if self._cell is not None:
            self._cell.show(event, self._line() if self._is_due(event) else None)
        elif not self._audience.gone:
            with self._audience.watching():
                self._show(event)

    def _show(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._write(started_text(event), end="\n")
        elif (line := evaluation_line(event)) is not None:
            self._write(line, end="\n")
        elif (notice := notice_text(event)) is not None:
            self._write(notice, end="\n")
        elif isinstance(event, RunFinished):
            self._write(finished_text(event), end="\n")
        elif self._is_due(event):
            self._write(self._fitting(self._line()))

    def _is_due(self, event: Event) -> bool:
        """Returns whether the line is to be updated now."""
        if not isinstance(event, RoundProgress | RoundFinished | WarmUpProgress) or self._clock() < self._next:
            return False
        self._next = self._clock() + self._every
        return True

    def _line(self) -> str:
        warm_up, done = self._summary.warm_up_text, self._summary.fraction_done
        text = f"warm-up: {warm_up}" if warm_up is not None else progress_text(self._summary)
        return text if done is None else f"[{'#' * round(done * BAR):-<{BAR}}] {done:.0%}, {text}"

    def _fitting(self, line: str) -> str:
        """Returns `line`, cut to the width of the terminal if the stream is one."""
        return line[: shutil.get_terminal_size().columns - 1] if self._stream.isatty() else line

    def _write(self, text: str, end: str = "") -> None:
        """Overwrite the current line."""
        self._stream.write(f"\r{text:<{self._written}}{end}")
        self._stream.flush()
        self._written = 0 if end else len(text)


class NotebookProgress:
    """Progress of a run in the cell of a notebook: notices, one line, and the strength after the first evaluation.

    Args:
        update: replaces the picture in the cell.
        picture: first picture.
    """

    def __init__(self, update: Callable[[Picture], object], picture: ProgressPicture) -> None:
        self._update = update
        self._picture = picture
        self._curves = RunCurves(Path())

    @classmethod
    def opened(cls, event: RunStarted) -> NotebookProgress | None:
        """Returns the progress of a run that starts, in the current cell; None outside of a notebook."""
        picture = ProgressPicture(line=started_text(event))
        update = open_display(picture)
        return None if update is None else cls(update, picture)

    def show(self, event: Event, line: str | None) -> None:
        """Updates the cell.

        Args:
            line: the progress, if an update is due.
        """
        before = self._picture
        self._curves.add(as_record(event, now()))
        if isinstance(event, RunFinished):
            line = finished_text(event)
        elif isinstance(event, EvaluationFinished):
            self._picture = replace(self._picture, chart=strength_svg(self._curves))
        notice = evaluation_line(event) if isinstance(event, EvaluationFailed) else notice_text(event)
        if notice is not None:
            self._picture = replace(self._picture, notices=(*self._picture.notices, notice))
        if line is not None:
            self._picture = replace(self._picture, line=line)
        if self._picture is not before:
            self._update(self._picture)
