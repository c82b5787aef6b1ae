"""A run as a picture: what became of it, and its curves.

The curves of runs as pictures: loss, strength, length, speed and busy shares over their time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

from athenan_spiel.drawing.graph import Curve, curve_svg
from athenan_spiel.drawing.picture import Picture, facts_html, facts_text
from athenan_spiel.errors import printable
from athenan_spiel.training.curves import MEAN_OF, RunCurves, ScalarSeries

MOST_CURVES = 16
"""Of one picture."""
UNITS = ((180.0, "seconds", 3600.0), (7200.0, "minutes", 60.0), (float("inf"), "hours", 1.0))
"""Up to how many seconds a run's time is told in this unit, and how many of it an hour has."""


def pictures(runs: Mapping[str, RunCurves]) -> list[str]:
    """The curves of runs over their time, as SVG: all that at least one of them has told.

    Args:
        runs: by their names, which are told where there are several.
    """
    longest = max((run.seconds for run in runs.values()), default=0.0)
    unit, per_hour = next((unit, per_hour) for end, unit, per_hour in UNITS if longest <= end)
    found = []

    def add(title: str, y_label: str, curves: list[Curve], bounds: tuple[float, float] | None = None) -> None:
        if any(curve.xs for curve in curves):
            curves = [replace(curve, xs=[per_hour * x for x in curve.xs]) for curve in curves[:MOST_CURVES]]
            found.append(curve_svg(curves, title=title, x_label=unit, y_label=y_label, y_bounds=bounds))

    loss = _means("loss", {name: run.loss for name, run in runs.items()})
    add("Loss", f"mean of {MEAN_OF} matches", loss, _without_the_beginning(loss))
    strength = _strength(runs)
    whose = f" {strength[0].name}" if len(strength) == 1 else ""
    add(f"Strength{whose}", "points, %", strength, (0.0, 100.0))
    length = _means("length", {name: run.length for name, run in runs.items()})
    add("Length", f"plies, mean of {MEAN_OF} matches", length)
    speed = _means("speed", {name: run.speed for name, run in runs.items()})
    add("Speed", f"states valued a second, mean of {MEAN_OF} rounds", speed)
    add("Busy", f"cores, mean of {MEAN_OF} rounds", _busy(runs))
    return found


def _means(what: str, of_runs: Mapping[str, ScalarSeries]) -> list[Curve]:
    """A curve of each run; what is told of one alone needs no name of it."""
    return [_curve(what if len(of_runs) == 1 else name, series) for name, series in of_runs.items()]


def _strength(runs: Mapping[str, RunCurves]) -> list[Curve]:
    """A curve for each opponent of each run, with its intervals, in hundredths."""
    return [
        Curve(
            name=f"against {opponent}" if len(runs) == 1 else f"{name} against {opponent}",
            xs=[x for x, *_ in series.points],
            ys=[100 * y for _, y, _, _ in series.points],
            low=[100 * low for *_, low, _ in series.points],
            high=[100 * high for *_, high in series.points],
        )
        for name, run in runs.items()
        for opponent, series in run.strength.items()
    ]


def _busy(runs: Mapping[str, RunCurves]) -> list[Curve]:
    """A curve for each part of each run."""
    return [
        _curve(who if len(runs) == 1 else f"{name}: {who}", series)
        for name, run in runs.items()
        for who, series in run.busy.items()
    ]


def _curve(name: str, series: ScalarSeries) -> Curve:
    points = series.points
    return Curve(name=name, xs=[x for x, *_ in points], ys=[y for _, y, *_ in points])


def _without_the_beginning(curves: Sequence[Curve]) -> tuple[float, float] | None:
    """The bounds of curves that fall steeply at first: twice what is left after a twentieth of them."""
    later = [y for curve in curves for y in curve.ys[len(curve.ys) // 20 :] if y is not None]
    return (0.0, 2 * max(later)) if later and max(later) > 0 else None


@dataclass(frozen=True, repr=False)
class RunPicture(Picture):
    """What is known of a run.

    Attributes:
        facts: names, and what is said of each.
        curves: as SVG.
        problem: why there are none; empty: nothing is wrong.
    """

    facts: Sequence[tuple[str, str]]
    curves: Sequence[str]
    problem: str = ""

    def html(self) -> str:
        """The facts above the curves."""
        problem = f"<p>{escape(self.problem)}</p>" if self.problem else ""
        return f'{facts_html(self.facts)}{problem}<div class="side-by-side">{"".join(self.curves)}</div>'

    def text(self) -> str:
        """The facts alone."""
        return "\n".join(filter(None, [facts_text(self.facts), self.problem]))


def picture_of_run(folder: Path, facts: Sequence[tuple[str, str]]) -> RunPicture:
    """The picture of the run in `folder`, whose curves are read as they are now.

    Args:
        facts: that are known without its folder.
    """
    run, problem = RunCurves(folder), ""
    try:
        while run.look():
            pass
    except OSError as error:
        problem = f"no curves, as {printable(str(folder))} cannot be read: {error.strerror or error}"
    told = [("network", run.network), ("chosen", run.choice)]
    facts = [(name, printable(said)) for name, said in (*facts, *told) if said]
    return RunPicture(facts, pictures({folder.name: run}), problem)


def time_text(seconds: float) -> str:
    """A time of a run, such as 1 h 05 min."""
    minutes, left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {left:02} s" if minutes else f"{left} s"
