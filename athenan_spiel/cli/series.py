"""Options and progress bars shared by the commands that play series of games."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

import tyro
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from athenan_spiel.cli.console import progress, say
from athenan_spiel.cli.options import AllowCode, LudiiMemory


@dataclass(frozen=True, kw_only=True)
class SeriesOptions:
    """Options of `athenan eval` and `athenan tournament`."""

    game: str | None = None
    """OpenSpiel game string; default: that of a run."""
    opening_plies: int | None = None
    """Random actions at the start of a game; default: 2, or 0 in a single-player game."""
    openings: str | None = None
    """File with one opening per line, or `balanced`: random openings with nearly equal values; default: random."""
    judge: str | None = None
    """Agent that evaluates balanced openings: a run, or alphabeta@200i; default: UBFM over random playouts."""
    limit: str | None = None
    """Limit per move of all agents that accept it: 0.1s, 200i (iterations) or 5000e (evaluations);
    default: their own."""
    sprt: Annotated[tuple[float, float] | None, tyro.conf.arg(metavar="ELO0 ELO1")] = None
    """Elo differences of a sequential test, with error probabilities of 5 %: a series ends as soon as the test accepts
    one of them for its first agent. --matches is then the maximum."""
    matches_at_once: int | None = None
    """Number of concurrent games; default: with time limits one per core, or one for Ludii's games, and with iterations
    the number at which networks are fastest."""
    stall_time: Annotated[str, tyro.conf.arg(metavar="TIME")] = "10m"
    """Time without a move or a batch of evaluations after which the process of a game is killed. The game counts as
    failed, the others continue. Time limits of agents that report nothing during a move, such as mcts, are added."""
    allow_code: AllowCode = ()
    """Custom outcome that a run was trained with; without this option it plays with the gain times its scale."""
    ludii_memory: LudiiMemory = None
    check: tyro.conf.FlagCreatePairsOff[bool] = False
    """Load the agents and draw the openings without playing."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the results as one JSON document."""


class ProgressView:
    """Progress bars on a terminal; elsewhere a line at each tenth of a count."""

    def __init__(self) -> None:
        console = progress()
        self._lines = not console.is_terminal
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeRemainingColumn(),
        )
        self._bars = Progress(*columns, console=console, transient=True, disable=self._lines)
        self._tasks: dict[str, TaskID] = {}
        self._tenth = -1

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bars.stop()

    def bar(self, name: str, done: float, total: int) -> None:
        """Update a bar, which the first call creates."""
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=total)
        count = f"{done:,.1f}/{total:,}" if isinstance(done, float) else f"{done:,}/{total:,}"
        self._bars.update(self._tasks[name], completed=done, total=total, count=count)

    def matches(self, done: int, total: int) -> None:
        """Show the number of finished games."""
        self.bar("games", done, total)
        tenth = 10 * done // max(1, total)
        if self._lines and tenth != self._tenth:
            self._tenth = tenth
            say(f"games: {done:,} of {total:,}")
