"""A run as a picture: what became of it, and its curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from athenan_spiel.drawing.picture import Picture, facts_html, facts_text
from athenan_spiel.errors import printable
from athenan_spiel.training.curve_pictures import pictures
from athenan_spiel.training.curves import RunCurves


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
