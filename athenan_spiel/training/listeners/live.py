"""The run as a table in the terminal that is redrawn a few times a second."""

from __future__ import annotations

from datetime import timedelta

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from athenan_spiel.errors import printable
from athenan_spiel.training.events import Event, Listener, RunFinished, RunStarted
from athenan_spiel.training.listeners.display import Audience
from athenan_spiel.training.listeners.lines import LinePrinter, finished_text, notice_text
from athenan_spiel.training.listeners.summary import RECENT, RunSummary, evaluation_line

REDRAWS_PER_SECOND = 4


def view(console: Console) -> Listener:
    """The live view if `console` is a terminal, else plain lines on its file."""
    return LiveView(console) if console.is_terminal else LinePrinter(console.file)


class LiveView:
    """Matches, speed, loss, recent lengths and results, last evaluation, time left, and how to stop.

    It takes the terminal from `RunStarted` to `RunFinished`. Once the terminal is gone, nothing is shown.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._summary = RunSummary()
        self._ended = False
        self._audience = Audience(console.file)
        self._live = Live(
            console=console, get_renderable=self.render, refresh_per_second=REDRAWS_PER_SECOND, transient=True
        )

    def __call__(self, event: Event) -> None:
        """Take note of `event`."""
        self._summary(event)
        with self._audience.watching():
            if not self._audience.gone:
                self._show(event)
            elif isinstance(event, RunFinished):
                self._live.stop()

    def _show(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            for line in (event.choice, event.memory):
                if line is not None:
                    self._console.print(Text(line))
            self._live.start()
        elif (line := evaluation_line(event)) is not None:
            self._console.print(Text(line))
        elif (notice := notice_text(event)) is not None:
            self._console.print(Text(notice))
        elif isinstance(event, RunFinished):
            self._ended = True
            self._live.stop()
            self._console.print(self.render())
            self._console.print(Text(finished_text(event)), soft_wrap=True)

    def render(self) -> RenderableType:
        """What the terminal shows now."""
        s = self._summary
        if s.started is None:
            return Text("")
        table = Table.grid(padding=(0, 2))
        for name, value in self._rows():
            table.add_row(Text(name, style="dim"), Text(value))
        parts: list[RenderableType] = [table]
        if s.fraction_done is not None:
            parts.append(Padding(ProgressBar(total=1.0, completed=s.fraction_done), 0))  # a bar alone ends no line
        folder = printable(str(s.started.folder))
        if not self._ended:
            parts.append(Text("Ctrl-C saves and stops, and says how to go on", style="dim"))
        return Panel(Group(*parts), title=Text(f"{s.started.game} → {folder}"), title_align="left", expand=False)

    def _rows(self) -> list[tuple[str, str]]:
        """Name and value of each line; what is not known yet has none."""
        s = self._summary
        assert s.started is not None
        limit = s.started.config.matches
        rows = [("matches", f"{s.matches:,}" + (f" of {limit:,}" if limit is not None else ""))]
        if s.warm_up_text is not None:
            rows.append(("warm-up", s.warm_up_text))
        if s.progress is not None:
            rows.append(("this round", f"{s.progress.alive} in play, {s.progress.plies:,} plies"))
        if s.speed is not None:
            rows.append(("states valued", f"{s.speed:,.0f} a second"))
        if s.loss_text is not None:
            rows.append(("loss", s.loss_text))
        if s.workers_text is not None:
            rows.append(("workers", s.workers_text))
        if s.last_round is not None:
            r = s.last_round
            rows.append(("learning", f"{r.states_learned:,} states in {r.learning_seconds:.1f} s a round"))
            rows.append(("replay", f"{r.replay_states:,} states, {r.replay_bytes / 1e6:.0f} MB"))
            if r.resolved_states is not None:
                rows.append(("resolved", f"{r.resolved_states:,} states kept"))
        if s.mean_length is not None:
            rows.append((f"last {min(len(s.lengths), RECENT)}", f"{s.mean_length:.1f} plies, {s.results_text}"))
        if s.evaluation_text is not None:
            rows.append(("evaluation", s.evaluation_text))
        left = f", {_clock(s.seconds_left)} left" if s.seconds_left is not None else ""
        rows.append(("time", f"{_clock(s.seconds)}{left}"))
        rows.append(("network", s.started.network))
        return rows


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
