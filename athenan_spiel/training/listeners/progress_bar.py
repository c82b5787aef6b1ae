"""The run as one line that is written over and over, for a notebook or a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import IO

from athenan_spiel.arguments import require_callable
from athenan_spiel.errors import ConfigError
from athenan_spiel.training.events import (
    Event,
    RoundFinished,
    RoundProgress,
    RunFinished,
    RunStarted,
    WarmUpProgress,
)
from athenan_spiel.training.listeners.display import Audience, checked_interval
from athenan_spiel.training.listeners.lines import finished_text, notice_text, progress_text, started_text
from athenan_spiel.training.listeners.summary import RunSummary, evaluation_line

BAR = 20
"""Characters of the bar."""


class ProgressBar:
    """How far the run is, how fast and how well it learns; the start, each evaluation and the end have their own lines.

        ath.train("connect_four", listeners=[ath.ProgressBar()])

    Once nothing can be written, as the reader is gone, it is silent.

    Args:
        stream: where the line goes; by default standard error.
        every_seconds: time between two looks at it.
        clock: what tells the time.

    Raises:
        ConfigError: one of them is of no use.
    """

    def __init__(
        self, stream: IO[str] | None = None, every_seconds: float = 0.5, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._audience = Audience(self._stream)
        self._every = checked_interval(every_seconds)
        require_callable("clock", clock, ConfigError)
        self._clock = clock
        self._summary = RunSummary()
        self._next = 0.0
        self._written = 0

    def __call__(self, event: Event) -> None:
        """Take note of `event`, and write the line again if it is time to."""
        self._summary(event)
        if not self._audience.gone:
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
        elif isinstance(event, RoundProgress | RoundFinished | WarmUpProgress) and self._clock() >= self._next:
            self._next = self._clock() + self._every
            self._write(self._fitting(self._line()))

    def _line(self) -> str:
        warm_up, done = self._summary.warm_up_text, self._summary.fraction_done
        text = f"warm-up: {warm_up}" if warm_up is not None else progress_text(self._summary)
        return text if done is None else f"[{'#' * round(done * BAR):-<{BAR}}] {done:.0%}, {text}"

    def _fitting(self, line: str) -> str:
        """What of `line` a terminal can write over; elsewhere all of it."""
        return line[: shutil.get_terminal_size().columns - 1] if self._stream.isatty() else line

    def _write(self, text: str, end: str = "") -> None:
        """Write over what the line holds."""
        self._stream.write(f"\r{text:<{self._written}}{end}")
        self._stream.flush()
        self._written = 0 if end else len(text)
