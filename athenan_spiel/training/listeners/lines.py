"""The run as plain lines, for where the output is no terminal.

What shows a run to a person, who may leave: once nothing can be shown any more, the run goes on without it.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import IO

from athenan_spiel.arguments import is_number
from athenan_spiel.config.settings import LONGEST
from athenan_spiel.errors import ConfigError, printable, shown
from athenan_spiel.training.events import (
    CheckpointWritten,
    Event,
    LearningIsLate,
    NothingDecided,
    RoundFinished,
    RoundProgress,
    RunFinished,
    RunStarted,
    SettingsAdapted,
    ShareIsFull,
    StopNoticed,
    WarmUpFinished,
    WarmUpProgress,
)
from athenan_spiel.training.listeners.summary import RunSummary, evaluation_line


class Audience:
    """Whether anybody still sees what is written to `stream`: a terminal may be closed, a pipe's reader may end.

    Raises:
        ConfigError: nothing can be written to it.
    """

    def __init__(self, stream: IO[str]) -> None:
        if not callable(getattr(stream, "write", None)):
            raise ConfigError(f"expected a stream to write to, such as sys.stderr, got {shown(stream)}")
        self.gone = False
        self._stream = stream

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """While something is shown; an error in writing it is the last one."""
        try:
            yield
        except OSError:
            self.gone = True
        except ValueError:
            if not self._stream.closed:
                raise
            self.gone = True


def checked_interval(seconds: float) -> float:
    """The time between two lines, if it is a time.

    Raises:
        ConfigError: it is not a number, or negative or infinite.
    """
    if not (is_number(seconds) and 0 <= seconds <= LONGEST):
        raise ConfigError(f"every_seconds must be a number from 0 to {LONGEST:,}, got {shown(seconds)}")
    return seconds


ENDINGS = {
    "matches": "all matches played",
    "seconds": "time is up",
    "stopped": "stopped on request",
    "error": "stopped by an error",
}
"""How `RunFinished.reason` is said."""
STOPPING = "stopping: what is learned is saved in a moment; Ctrl-C again stops at once, and keeps the last checkpoint"


class LinePrinter:
    """Writes a line at the start, at the end, for each evaluation, and for the rest at intervals.

    Once nothing can be written, as the reader is gone, it is silent.

    Args:
        stream: where the lines go.
        every_seconds: time between two lines on the progress.

    Raises:
        ConfigError: one of them is of no use.
    """

    def __init__(self, stream: IO[str], every_seconds: float = 10.0) -> None:
        self._stream = stream
        self._audience = Audience(stream)
        self._every = checked_interval(every_seconds)
        self._summary = RunSummary()
        self._next = 0.0
        self._next_tenth = 0.1

    def __call__(self, event: Event) -> None:
        """Take note of `event` and write its line, if one is due."""
        self._summary(event)
        line = self._line(event)
        if line is not None and not self._audience.gone:
            with self._audience.watching():
                self._stream.write(line + "\n")
                self._stream.flush()

    def _line(self, event: Event) -> str | None:
        if isinstance(event, RunStarted):
            self._next = event.seconds + self._every
            return started_text(event)
        if (line := evaluation_line(event)) is not None:
            return line
        if (notice := notice_text(event)) is not None:
            return notice
        if isinstance(event, WarmUpProgress):
            return self._warm_up()
        if isinstance(event, WarmUpFinished):
            return f"warm-up: {event.warm_up_states:,} states in {event.warm_up_seconds:.0f} s, loss {event.loss:.4g}"
        if isinstance(event, RunFinished):
            return finished_text(event)
        if isinstance(event, RoundFinished | RoundProgress) and event.seconds >= self._next:
            self._next = event.seconds + self._every
            return progress_text(self._summary)
        if isinstance(event, CheckpointWritten):
            return f"checkpoint {event.checkpoint.name}: {event.bytes / 1e6:.1f} MB in {event.writing_seconds:.1f} s"
        return None

    def _warm_up(self) -> str | None:
        """The run's clock stands still meanwhile, so a line is due by what is learned: each tenth."""
        done = self._summary.fraction_done
        if done is None or done < self._next_tenth:
            return None
        self._next_tenth = math.floor(done * 10 + 1) / 10
        return f"warm-up: {self._summary.warm_up_text}"


def progress_text(s: RunSummary) -> str:
    """Where the run stands."""
    parts = [f"{s.seconds:.0f} s", f"{s.matches} matches"]
    if s.progress is not None:
        parts.append(f"{s.progress.alive} in play")
    if s.speed is not None:
        parts.append(f"{s.speed:,.0f} states valued/s")
    if s.loss_text is not None:
        parts.append(f"loss {s.loss_text}")
    if s.mean_length is not None:
        parts.append(f"length {s.mean_length:.0f}")
    if s.alone:
        parts.append(f"{s.results_text}")
    if s.seconds_left is not None:
        parts.append(f"{s.seconds_left:.0f} s left")
    return ", ".join(parts)


def started_text(event: RunStarted) -> str:
    """The first line of a run's output, and others on what was chosen and on its memory, if there is such."""
    verb = f"resuming after {event.matches} matches" if event.matches else "training"
    symmetries = f"; with images by {', '.join(event.symmetries)}" if event.symmetries else ""
    folder = printable(str(event.folder))
    others = "".join(f"\n{line}" for line in (event.choice, event.memory) if line is not None)
    count = event.config.workers.count
    workers = f"; {count} worker{'s' * (count > 1)}" if count else ""
    setup = f"{event.network}; {event.engine}{workers}; {event.outcome}{symmetries}"
    return f"{verb}: {event.game} in {folder}; {setup}{others}"


def notice_text(event: Event) -> str | None:
    """What a display shows of an event that a person should know of at once; None for other events."""
    if isinstance(event, LearningIsLate):
        return late_text(event)
    if isinstance(event, SettingsAdapted):
        return adapted_text(event)
    if isinstance(event, NothingDecided):
        return undecided_text(event)
    if isinstance(event, ShareIsFull):
        return FULL[event.share]
    return STOPPING if isinstance(event, StopNoticed) else None


def adapted_text(event: SettingsAdapted) -> str:
    """Why the settings were adapted, and what they are now."""
    ended = "1 game has" if event.matches == 1 else f"{event.matches or 'no'} games have"
    parts = [f"{event.matches_at_once} match{'es' * (event.matches_at_once > 1)} at once"]
    if event.evaluations_per_move is not None:
        parts.append(f"{event.evaluations_per_move:,} evaluations a move")
    if event.longest_descent is not None:
        parts.append(f"descents of {event.longest_descent} states")
    lengths = f"{event.length_in_play:.0f} moves so far, random ones take {event.random_length:.0f}"
    return (
        f"games take too long for the time limit: after {event.seconds:.0f} s {ended} ended "
        f"(those in play: {lengths}); from now on {', '.join(parts)}"
    )


def undecided_text(event: NothingDecided) -> str:
    """The warning that no game was won, and what to change."""
    cut = f", {event.cut_off_share:.0%} were cut off after {event.length_limit} moves" if event.length_limit else ""
    return f"none of {event.games} games was won{cut}, so little is learned: {event.advice}"


def late_text(event: LearningIsLate) -> str:
    """The warning that a run will hardly learn anything."""
    when = f"only after {event.expected_seconds:.0f} s" if event.expected_seconds is not None else "far too late"
    return (
        f"the first match is expected to end {when}, beyond the time limit, and nothing is learned before: "
        "give more --time, or less to play by --matches-at-once, --search.evaluations or a game's max_length"
    )


FULL = {
    "tree": "the tree of a match was full: the searches for its moves ended sooner (match_finished has how many)",
    "replay": "the replay is full: the oldest of what it holds leaves, though by its settings more would be kept",
    "proven": "the memory of proven states is full: no more are kept until it is emptied",
}
"""How `ShareIsFull.share` is said."""


def finished_text(event: RunFinished) -> str:
    """The last line of a run's output."""
    where = (
        f"the newest checkpoint is {printable(str(event.checkpoint))}"
        if event.checkpoint is not None
        else "there is no checkpoint"
    )
    return f"{ENDINGS[event.reason]}: {event.matches} matches in {event.seconds:.0f} s; {where}"
