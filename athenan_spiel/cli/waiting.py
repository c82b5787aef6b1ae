"""A progress line in the terminal, with the remaining time if it is known.

It is written to standard error, and removed at the end. Without a terminal nothing is written.
"""

from __future__ import annotations

from types import TracebackType

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from athenan_spiel.cli.console import progress

PATIENT = 2.0
"""Minimum duration of a task with a bar, in seconds; a shorter one would flicker."""


class Waiting:
    """A progress line, shown during a `with` block.

    Args:
        what: description of the task.
        seconds: maximum duration; None if unknown.
        quiet: show nothing.
    """

    def __init__(self, what: str, seconds: float | None = None, *, quiet: bool = False) -> None:
        console = progress(quiet=quiet)
        is_known = seconds is not None and seconds >= PATIENT
        shortened = Column(no_wrap=True, overflow="ellipsis")
        columns: list[ProgressColumn] = [
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False, table_column=shortened),
        ]
        if is_known:
            columns += [BarColumn(), _Left(table_column=Column(no_wrap=True))]
        self._bar = Progress(*columns, console=console, transient=True, redirect_stdout=False)
        self._bar.disable = quiet or not console.is_terminal
        self._task = self._bar.add_task(what, total=seconds if is_known else None)

    def start(self) -> None:
        """Show the line."""
        self._bar.start()

    def stop(self) -> None:
        """Hide the line; its time continues."""
        self._bar.stop()

    def __enter__(self) -> Waiting:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def update(self, what: str) -> None:
        """Change the description."""
        self._bar.update(self._task, description=what)


class _Left(ProgressColumn):
    """Remaining time; also fills the bar by the clock."""

    def render(self, task: Task) -> Text:
        """Return a text such as `0:12 left`; empty after the maximum duration."""
        total, elapsed = task.total or 0.0, task.elapsed or 0.0
        task.completed = min(total, elapsed)
        left = round(total - elapsed)
        return Text(f"{left // 60}:{left % 60:02} left" if left >= 0 else "")
