"""Picture of a run: its facts, and curves of loss, strength, game length, speed and CPU use over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from athenan_spiel.drawing.charts import Chart, Curve, chart_svg
from athenan_spiel.drawing.picture import Picture, facts_html, facts_text
from athenan_spiel.errors import CheckpointError, printable
from athenan_spiel.training.checkpoints import read_header
from athenan_spiel.training.curves import MEAN_OF, RunCurves, RunPosition, ScalarSeries
from athenan_spiel.training.run_folder import RunFolder

RELIABILITY = "Reliability of expected scores"
"""Title of the reliability diagram."""
MOST_CURVES = 16
"""Maximum number of curves in a picture."""
STRENGTH = "Strength"
"""Start of the title of the chart of strength."""
AXES = ("time", "games", "samples")
"""Quantities on the horizontal axis of a chart: training time, games learned, and training samples learned."""
UNITS = ((180.0, "seconds", 3600.0), (7200.0, "minutes", 60.0), (float("inf"), "hours", 1.0))
"""(maximum time in seconds, unit, units per hour) of the time axis."""


def run_charts(runs: Mapping[str, RunCurves], axis: str = "time") -> list[Chart]:
    """Returns a chart for each scalar that at least one run has, with one curve per run.

    Args:
        runs: runs by name.
        axis: one of `AXES`.
    """
    longest = max((run.seconds for run in runs.values()), default=0.0)
    unit, per_hour = next((unit, per_hour) for end, unit, per_hour in UNITS if longest <= end)
    found: list[Chart] = []

    def place(at: RunPosition) -> float:
        return per_hour * at.hours if axis == "time" else at.games if axis == "games" else at.samples

    def add(title: str, y_label: str, curves: list[Curve], bounds: tuple[float, float] | None = None) -> None:
        if any(curve.xs for curve in curves):
            x_label = unit if axis == "time" else f"{axis} learned"
            found.append(
                Chart(title=title, x_label=x_label, y_label=y_label, curves=curves[:MOST_CURVES], y_bounds=bounds)
            )

    loss = _means("loss", {name: run.loss for name, run in runs.items()}, place)
    add("Loss", f"mean of {MEAN_OF} games", loss, _bounds_without_start(loss))
    strength = _strength(runs, place)
    opponent = f" {strength[0].name}" if len(strength) == 1 else ""
    add(f"{STRENGTH}{opponent}", "points, %", strength, (0.0, 100.0))
    length = _means("length", {name: run.length for name, run in runs.items()}, place)
    add("Game length", f"plies, mean of {MEAN_OF} games", length)
    speed = _means("speed", {name: run.speed for name, run in runs.items()}, place)
    add("Speed", f"evaluations per second, mean of {MEAN_OF} rounds", speed)
    add("CPU use", f"cores, mean of {MEAN_OF} rounds", _busy(runs, place))
    return found


Place = Callable[[RunPosition], float]
"""Coordinate on the horizontal axis."""


def _means(scalar: str, runs: Mapping[str, ScalarSeries], place: Place) -> list[Curve]:
    """Returns one curve per run, named after the run, or after the scalar if there is only one."""
    return [_curve(scalar if len(runs) == 1 else name, series, place) for name, series in runs.items()]


def _strength(runs: Mapping[str, RunCurves], place: Place) -> list[Curve]:
    """Returns a curve for each opponent of each run, with intervals, in percent."""
    return [
        Curve(
            name=f"against {opponent}" if len(runs) == 1 else f"{name} against {opponent}",
            xs=[place(point.at) for point in series.points],
            ys=[100 * point.value for point in series.points],
            low=[100 * (point.low or 0.0) for point in series.points],
            high=[100 * (point.high or 0.0) for point in series.points],
        )
        for name, run in runs.items()
        for opponent, series in run.strength.items()
    ]


def _busy(runs: Mapping[str, RunCurves], place: Place) -> list[Curve]:
    """Returns a curve for each process of each run."""
    return [
        _curve(process if len(runs) == 1 else f"{name}: {process}", series, place)
        for name, run in runs.items()
        for process, series in run.busy.items()
    ]


def _curve(name: str, series: ScalarSeries, place: Place) -> Curve:
    points = series.points
    return Curve(name=name, xs=[place(point.at) for point in points], ys=[point.value for point in points])


def _bounds_without_start(curves: Sequence[Curve]) -> tuple[float, float] | None:
    """Returns y bounds for curves that fall steeply: 0 and twice the maximum after the first twentieth."""
    later = [y for curve in curves for y in curve.ys[len(curve.ys) // 20 :] if y is not None]
    return (0.0, 2 * max(later)) if later and max(later) > 0 else None


@dataclass(frozen=True, repr=False)
class RunPicture(Picture):
    """Facts and curves of a run.

    Attributes:
        facts: names and values.
        curves: charts as SVG.
        problem: reason for missing curves, or an empty string.
    """

    facts: Sequence[tuple[str, str]]
    curves: Sequence[str]
    problem: str = ""

    def html(self) -> str:
        """Returns the facts and curves as HTML."""
        problem = f"<p>{escape(self.problem)}</p>" if self.problem else ""
        return f'{facts_html(self.facts)}{problem}<div class="side-by-side">{"".join(self.curves)}</div>'

    def text(self) -> str:
        """Returns the facts as text."""
        return "\n".join(filter(None, [facts_text(self.facts), self.problem]))


@dataclass(frozen=True, repr=False)
class ProgressPicture(Picture):
    """Progress of a run in one line, below its notices, and its strength.

    Attributes:
        notices: warnings and other lines that stay.
        line: current progress.
        chart: curve of the strength as SVG; empty before the first evaluation.
    """

    notices: Sequence[str] = ()
    line: str = ""
    chart: str = ""

    def html(self) -> str:
        """Returns the lines and the chart as HTML."""
        return "".join(f"<p>{escape(line)}</p>" for line in (*self.notices, self.line)) + self.chart

    def text(self) -> str:
        """Returns the lines."""
        return "\n".join((*self.notices, self.line))


def strength_svg(run: RunCurves) -> str:
    """Returns the chart of a run's strength as SVG; empty before its first evaluation."""
    charts = run_charts({"": run}) if run.strength else []
    return next((chart_svg(chart) for chart in charts if chart.title.startswith(STRENGTH)), "")


def reliability_chart(folder: Path) -> Chart | None:
    """Returns the reliability diagram of a run's expected scores, from its newest checkpoint.

    Each point is a range of predicted scores, and the mean score with which the games of its positions ended. The other
    curve is that of exact predictions. None without a checkpoint or without predictions.
    """
    try:
        header = read_header(RunFolder(folder).require_run().checkpoint())
    except (CheckpointError, OSError):
        return None
    bins = header.calibration.reliability()
    if not bins:
        return None
    predicted, found, _ = ([100 * number for number in column] for column in zip(*bins, strict=True))
    return Chart(
        title=RELIABILITY,
        x_label="expected score, %",
        y_label="mean score of the games, %",
        curves=[Curve(name="measured", xs=predicted, ys=found), Curve(name="perfect", xs=[0, 100], ys=[0, 100])],
        y_bounds=(0.0, 100.0),
    )


def picture_of_run(folder: Path, facts: Sequence[tuple[str, str]]) -> RunPicture:
    """Returns a picture of the run in `folder`, with its current curves.

    Args:
        facts: names and values to show before those from the folder.
    """
    run, curves, problem = RunCurves(folder), [], ""
    try:
        while run.update():
            pass
        reliability = reliability_chart(folder)
        charts = [*run_charts({folder.name: run}), *([] if reliability is None else [reliability])]
        curves = [chart_svg(chart) for chart in charts]
    except OSError as error:
        problem = f"no curves, as {printable(str(folder))} cannot be read: {error.strerror or error}"
    from_folder = [("network", run.network), ("chosen", run.choice)]
    facts = [(name, printable(value)) for name, value in (*facts, *from_folder) if value]
    return RunPicture(facts, curves, problem)


def time_text(seconds: float) -> str:
    """Returns a time as text, such as 1 h 05 min."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
