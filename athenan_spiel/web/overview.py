"""Overview of a run: its state, figures, and small curves, as a row of the table of runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from athenan_spiel.training.curves import CurvePoint, RunCurves
from athenan_spiel.training.run_picture import time_text

ENDINGS = {
    "seconds": "ended: time limit reached",
    "matches": "ended: all games played",
    "stopped": "stopped",
    "error": "ended by an error",
}
"""Reasons why a run has ended."""
FINISHED = ("seconds", "matches")
"""Reasons of a run that has reached its limit."""
SILENT_SECONDS = 120.0
"""Seconds without a new event after which a run is reported as silent."""
MAX_SPARK_POINTS = 40
"""Maximum number of points of a small curve."""
SPARK_WIDTH, SPARK_HEIGHT = 80.0, 20.0
"""Size of a small curve, in pixels."""


@dataclass(frozen=True)
class RunOverview:
    """Figures of a run, as of its last event.

    Attributes:
        ended: reason for the end of the last session; None while it continues.
        last_event_time: time of the last event, in seconds since 1970; 0: no event yet.
        warm_up_states: states of random games learned during the warm-up, else 0.
        date: time of the first event, in seconds since 1970.
        seconds: time of the run.
        games: games learned.
        steps: optimiser steps; None if only the ends of the metrics were read.
        loss: running mean of the loss; None before the first game.
        strength: last points against the opponent with the fewest, with their interval; None without evaluations.
        opponent: this opponent.
        loss_line, strength_line: points of small curves, as in SVG.
    """

    ended: str | None
    last_event_time: float
    warm_up_states: int
    date: float
    seconds: float
    games: int
    steps: int | None
    loss: float | None
    strength: CurvePoint | None
    opponent: str
    loss_line: str
    strength_line: str

    @classmethod
    def of(cls, run: RunCurves, *, is_complete: bool = True) -> RunOverview:
        """Returns the overview of a run.

        Args:
            is_complete: whether all metrics were read; if not, steps and curves are missing.
        """
        loss = run.loss.points
        last = {opponent: series.points[-1] for opponent, series in run.strength.items()}
        opponent = min(last, key=lambda name: last[name].value, default="")
        top = max((point.value for point in loss[len(loss) // 20 :]), default=0.0)
        return cls(
            ended=run.ended,
            last_event_time=run.last_event_time,
            warm_up_states=run.warm_up_states,
            date=_seconds_since_1970(run.started) or run.last_event_time,
            seconds=run.elapsed,
            games=run.matches,
            steps=run.steps if is_complete else None,
            loss=loss[-1].value if loss and math.isfinite(loss[-1].value) else None,
            strength=last.get(opponent),
            opponent=opponent,
            loss_line=_spark_line(loss, top) if is_complete else "",
            strength_line=_spark_line(run.strength[opponent].points, 1.0) if opponent and is_complete else "",
        )

    def state(self, now: float) -> str:
        """Returns `live`, `finished` or `stopped` at the time `now`, in seconds since 1970."""
        if self.ended is None:
            return "live" if now - self.last_event_time < SILENT_SECONDS else "stopped"
        return "finished" if self.ended in FINISHED else "stopped"

    def figures(self, now: float) -> dict[str, Any]:
        """Returns the figures as JSON values at the time `now`, in seconds since 1970."""
        strength = {} if self.strength is None else self.strength._asdict()
        return {
            "state": self.state(now),
            "about": state_text(self, now),
            "date": round(self.date),
            "seconds": round(self.seconds),
            "games": self.games,
            "steps": self.steps,
            "loss": self.loss,
            "points": strength.get("value"),
            "low": strength.get("low"),
            "high": strength.get("high"),
            "opponent": self.opponent,
            "loss_line": self.loss_line,
            "strength_line": self.strength_line,
        }


def state_text(run: RunCurves | RunOverview, now: float) -> str:
    """Returns the state of a run in words at the time `now`, in seconds since 1970."""
    if run.ended is not None:
        return ENDINGS.get(run.ended, f"ended ({run.ended})")
    if not run.last_event_time:
        return "no event yet"
    silent = now - run.last_event_time
    if silent < SILENT_SECONDS:
        return f"warming up, {run.warm_up_states:,} random states learned" if run.warm_up_states else "running"
    return f"no event for {time_text(silent)}: it may have been killed; `athenan resume` continues it"


def _seconds_since_1970(text: str) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _spark_line(points: Sequence[CurvePoint], top: float) -> str:
    """Returns a small curve of values from 0 to `top`, over the time of the run."""
    if len(points) < 2 or not 0 < top < math.inf:
        return ""
    step = -(-len(points) // MAX_SPARK_POINTS)
    chosen = [*points[: len(points) - 1 : step], points[-1]]
    start, end = chosen[0].at.hours, chosen[-1].at.hours
    scale = SPARK_WIDTH / (end - start) if 0 < end - start < math.inf else 0.0
    return " ".join(
        f"{scale * (point.at.hours - start):.1f},{SPARK_HEIGHT * (1 - min(max(point.value / top, 0.0), 1.0)):.1f}"
        for point in chosen
    )
