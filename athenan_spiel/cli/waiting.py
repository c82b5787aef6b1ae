"""What is shown at a terminal while something takes its time: what it is, and the time left where that is known.

It goes to standard error, is gone once it has ended, and nothing of it is written where that is no terminal.
"""

from __future__ import annotations

from types import TracebackType

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from athenan_spiel.cli.console import progress

PATIENT = 2.0
"""Seconds; what has a shorter limit shows no bar, which would only flicker."""


class Waiting:
    """A line that says what is waited for, from the beginning of a `with` block to its end.

    Args:
        what: in words.
        seconds: until it ends at most; None where nobody knows.
        quiet: nothing is shown.
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
        """Show it, from now on or again."""
        self._bar.start()

    def stop(self) -> None:
        """Show it no more; its time runs on."""
        self._bar.stop()

    def __enter__(self) -> Waiting:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def update(self, what: str) -> None:
        """Wait for something else, or say more of it."""
        self._bar.update(self._task, description=what)


class _Left(ProgressColumn):
    """Fills the bar by the clock, and says what is left of it."""

    def render(self, task: Task) -> Text:
        """`0:12 left`; nothing beyond the time that was known."""
        total, elapsed = task.total or 0.0, task.elapsed or 0.0
        task.completed = min(total, elapsed)
        left = round(total - elapsed)
        return Text(f"{left // 60}:{left % 60:02} left" if left >= 0 else "")
