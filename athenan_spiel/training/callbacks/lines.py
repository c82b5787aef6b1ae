"""Progress of a run as plain lines, for output that is not a terminal."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import IO

from athenan_spiel.arguments import is_number
from athenan_spiel.config.settings import LONGEST
from athenan_spiel.errors import ConfigError, printable, shown
from athenan_spiel.training.callbacks.summary import RunSummary, evaluation_line
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


class Audience:
    """Detects that nothing reads `stream` any more, as its terminal or pipe was closed. The run continues silently.

    Raises:
        ConfigError: `stream` is not writable.
    """

    def __init__(self, stream: IO[str]) -> None:
        if not callable(getattr(stream, "write", None)):
            raise ConfigError(f"expected a stream to write to, such as sys.stderr, got {shown(stream)}")
        self.gone = False
        self._stream = stream

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Context for a write to the stream; sets `gone` after the first error."""
        try:
            yield
        except OSError:
            self.gone = True
        except ValueError:
            if not self._stream.closed:
                raise
            self.gone = True


def checked_interval(seconds: float) -> float:
    """Returns `seconds`.

    Raises:
        ConfigError: `seconds` is not a number from 0 to `LONGEST`.
    """
    if not (is_number(seconds) and 0 <= seconds <= LONGEST):
        raise ConfigError(f"every_seconds must be a number from 0 to {LONGEST:,}, got {shown(seconds)}")
    return seconds


ENDINGS = {
    "matches": "all games played",
    "seconds": "time is up",
    "stopped": "stopped on request",
    "error": "stopped by an error",
}
"""Text for each `RunFinished.reason`."""
STOPPING = "stopping: saving a checkpoint; Ctrl-C again stops at once and keeps the last checkpoint"
"""Text for `StopNoticed`."""


class LinePrinter:
    """A callback that writes lines at the start, at the end, for each evaluation, and about progress at intervals.

    It writes nothing after the reader of the stream has ended.

    Args:
        stream: output stream.
        every_seconds: time between two lines of progress, in seconds.

    Raises:
        ConfigError: an argument is invalid.
    """

    def __init__(self, stream: IO[str], every_seconds: float = 10.0) -> None:
        self._stream = stream
        self._audience = Audience(stream)
        self._every = checked_interval(every_seconds)
        self._summary = RunSummary()
        self._next = 0.0
        self._next_tenth = 0.1

    def __call__(self, event: Event) -> None:
        """Write a line about `event`, if one is due."""
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
            return self._warm_up(event)
        if isinstance(event, WarmUpFinished):
            return warm_up_text(event)
        if isinstance(event, RunFinished):
            return finished_text(event)
        if isinstance(event, RoundFinished | RoundProgress) and event.seconds >= self._next:
            self._next = event.seconds + self._every
            return progress_text(self._summary)
        if isinstance(event, CheckpointWritten):
            return f"checkpoint {event.checkpoint.name}: {event.bytes / 1e6:.1f} MB in {event.writing_seconds:.1f} s"
        return None

    def _warm_up(self, event: WarmUpProgress) -> str | None:
        """Returns a line about the warm-up, if one is due.

        One is due for each tenth of its states, as the run's clock stands still meanwhile, or at the usual intervals.
        """
        done = self._summary.warm_up_done
        if done is None:
            if event.seconds < self._next:
                return None
            self._next = event.seconds + self._every
        elif done < self._next_tenth:
            return None
        else:
            self._next_tenth = math.floor(done * 10 + 1) / 10
        return f"warm-up: {self._summary.warm_up_text}"


def warm_up_text(event: WarmUpFinished) -> str:
    """Returns a line about a warm-up."""
    text = f"warm-up: {event.warm_up_states:,} states in {event.warm_up_seconds:.0f} s"
    text += "" if event.loss is None else f", loss {event.loss:.4g}"
    if event.explained is None:
        return text
    text += f"; {max(0.0, event.explained):.0%} of the variance of random games' results explained"
    return text + ("" if event.is_kept else ", too little: its weights are reset")


def progress_text(s: RunSummary) -> str:
    """Returns a line about the progress of a run."""
    parts = [f"{s.seconds:.0f} s", f"{s.matches} games"]
    if s.progress is not None:
        parts.append(f"{s.progress.alive} in play")
    if s.speed is not None:
        parts.append(f"{s.speed:,.0f} evaluations/s")
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
    """Returns the first line of a run's output, followed by lines about chosen settings and memory, if any."""
    verb = f"resuming after {event.matches} games" if event.matches else "training"
    symmetries = f"; augmented by {', '.join(event.symmetries)}" if event.symmetries else ""
    folder = printable(str(event.folder))
    others = "".join(f"\n{line}" for line in (event.choice, event.memory) if line is not None)
    count = event.config.workers.count
    workers = f"; {count} worker{'s' * (count > 1)}" if count else ""
    setup = f"{event.network}; {event.engine}{workers}; {event.outcome}{symmetries}"
    return f"{verb}: {event.game} in {folder}; {setup}{others}"


def notice_text(event: Event) -> str | None:
    """Returns the text of a warning or notice; None for other events."""
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
    """Returns the reason for adapted settings and their new values."""
    ended = "1 game has" if event.matches == 1 else f"{event.matches or 'no'} games have"
    parts = [f"{event.matches_at_once} game{'s' * (event.matches_at_once > 1)} at once"]
    if event.evaluations_per_move is not None:
        parts.append(f"{event.evaluations_per_move:,} evaluations per move")
    if event.longest_descent is not None:
        parts.append(f"descents of {event.longest_descent} states")
    lengths = f"{event.length_in_play:.0f} moves so far, random ones take {event.random_length:.0f}"
    return (
        f"games take too long for the time limit: after {event.seconds:.0f} s {ended} ended "
        f"(those in play: {lengths}); from now on {', '.join(parts)}"
    )


def undecided_text(event: NothingDecided) -> str:
    """Returns the warning that no game was won, with advice."""
    cut = f", {event.cut_off_share:.0%} were cut off after {event.length_limit} moves" if event.length_limit else ""
    return f"none of {event.games} games was won{cut}, so little is learned: {event.advice}"


def late_text(event: LearningIsLate) -> str:
    """Returns the warning that a run is not expected to learn anything."""
    when = f"only after {event.expected_seconds:.0f} s" if event.expected_seconds is not None else "far too late"
    return (
        f"the first game is expected to end {when}, beyond the time limit, and nothing is learned before: "
        "give more --time, or reduce --matches-at-once, --search.evaluations or the game's max_length"
    )


FULL = {
    "tree": "the tree of a game was full, so searches ended early (match_finished counts them)",
    "replay": "the replay has reached its memory limit: its oldest states are dropped earlier than its settings say",
    "proven": "the memory of proven states is full: no more are kept until it is emptied",
}
"""Text for each `ShareIsFull.share`."""


def finished_text(event: RunFinished) -> str:
    """Returns the last line of a run's output."""
    where = (
        f"the newest checkpoint is {printable(str(event.checkpoint))}"
        if event.checkpoint is not None
        else "there is no checkpoint"
    )
    return f"{ENDINGS[event.reason]}: {event.matches} games in {event.seconds:.0f} s; {where}"
