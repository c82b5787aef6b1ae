"""Callbacks that show a run: the summary, lines, the live view, the bar; and what they leave out."""

from __future__ import annotations

import dataclasses
import errno
import io
import sys
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text
from run_events import (
    FOLDER,
    MINUTE,
    ROUND,
    WARM,
    WARMED,
    evaluated,
    finished,
    learned,
    match,
    progress,
    rolled_back,
    round_,
    started,
    tell,
    warming,
    written,
)

from athenan_spiel.cli.console import progress as standard_error
from athenan_spiel.config import TrainingConfig, WarmUpConfig, WorkersConfig
from athenan_spiel.training.callbacks import (
    LinePrinter,
    LiveView,
    ProgressBar,
    RunSummary,
    view,
)
from athenan_spiel.training.events import (
    BestReplaced,
    EvaluationFailed,
    EvaluationStarted,
    Event,
    MatchFinished,
    RunFinished,
    StopNoticed,
)

pytestmark = pytest.mark.usefixtures("forked_workers")

SESSION: list[Event] = [started(matches=4), *ROUND, evaluated(2), written(2), finished(2)]


def test_a_summary_forgets_what_a_rollback_drops() -> None:
    summary = RunSummary()
    tell(summary, [started(), *ROUND, rolled_back(0, 2)])
    assert (summary.matches, summary.seconds, summary.loss, summary.mean_length) == (0, 7.0, None, None)


def test_a_summary_knows_nothing_before_it_is_told() -> None:
    summary = RunSummary()
    assert (summary.mean_length, summary.results_text, summary.evaluation_text) == (None, None, None)
    assert (summary.seconds_left, summary.fraction_done, summary.speed, summary.loss) == (None, None, None, None)


def test_a_summary_gathers_what_was_told() -> None:
    summary = RunSummary()
    tell(summary, SESSION)
    assert (summary.matches, summary.loss, summary.speed, summary.mean_length) == (2, 0.125, 2000.0, 8.0)
    assert summary.results_text == "1 won, 0 drawn, 1 lost by the first player"
    assert summary.evaluation_text == "70% (40% to 90%) against mcts:100: 6 won, 2 drawn, 2 lost, after 2 games"
    assert summary.progress is None


def test_what_was_not_measured_does_not_replace_what_was() -> None:
    summary = RunSummary()
    tell(summary, [started(), progress(), learned(1, 0.5), learned(2, None), round_(2, search_seconds=0.0)])
    assert summary.loss == 0.5
    assert summary.speed == 1234.0


@pytest.mark.parametrize(
    ("limits", "left", "done"),
    [
        (TrainingConfig(), None, None),
        (TrainingConfig(seconds=30.0), 20.0, 10 / 30),
        (TrainingConfig(matches=6), 8.0, 4 / 6),  # 2 matches in the 8 seconds since the session began
        (TrainingConfig(matches=6, seconds=12.0), 2.0, 10 / 12),
        (TrainingConfig(seconds=5.0), 0.0, 1.0),
        (TrainingConfig(matches=6, seconds=40.0, warm_up=WarmUpConfig(seconds=6.0)), 4.0, 4 / 6),  # 2 in the 4 after it
    ],
)
def test_time_left_is_that_to_the_nearest_limit(limits: TrainingConfig, left: float | None, done: float | None) -> None:
    summary = RunSummary()
    tell(summary, [started(matches=2, seconds=2.0, limits=limits), round_(4, seconds=10.0)])
    assert (summary.seconds_left, summary.fraction_done) == (left, done)


def test_plain_lines_come_at_intervals_and_at_events() -> None:
    stream = io.StringIO()
    printer = LinePrinter(stream, every_seconds=4.0)
    tell(printer, [started(), *ROUND[:1]])
    noticed = StopNoticed(matches=2)
    tell(printer, [*ROUND[1:], progress(2, 6.0), progress(2, 9.5), evaluated(2), written(2), noticed, finished(2)])
    assert stream.getvalue().splitlines() == [
        "training: tic_tac_toe() in runs/ttt; mlp, 1,000 weights; openvino; additive_depth (longest = 9)",
        "5 s, 2 games, 2,000 evaluations/s, loss 0.125, length 8",
        "10 s, 2 games, 3 in play, 1,234 evaluations/s, loss 0.125, length 8",
        "evaluation after 2 games: 70% (40% to 90%) against mcts:100: 6 won, 2 drawn, 2 lost",
        "checkpoint 000002: 3.0 MB in 0.2 s",
        "stopping: saving a checkpoint; Ctrl-C again stops at once and keeps the last checkpoint",
        "all games played: 2 games in 9 s; the newest checkpoint is runs/ttt/000002",
    ]


def test_what_becomes_of_an_evaluation_has_its_line() -> None:
    stream = io.StringIO()
    forfeited = dataclasses.replace(evaluated(1), forfeits=1)
    best = BestReplaced(matches=1, points=0.7, low=0.4, high=0.9, confidence=0.95)
    failed = EvaluationFailed(matches=1, problem="no engine")
    tell(LinePrinter(stream), [started(), EvaluationStarted(matches=1, skipped=0), forfeited, best, failed])
    assert stream.getvalue().splitlines()[1:] == [
        "evaluation after 1 games: 70% (40% to 90%) against mcts:100: 6 won, 2 drawn, 2 lost, 1 of them by forfeit",
        "best network so far: after 1 games, with 70% of the points",
        "evaluation after 1 games: failed, as no engine",
    ]


def test_an_evaluation_is_of_an_earlier_network() -> None:
    """Which takes nothing back of how far the run is; all opponents of the newest one are shown."""
    summary = RunSummary()
    other = dataclasses.replace(evaluated(2), opponent="random")
    tell(summary, [started(), evaluated(1), round_(4, seconds=10.0), evaluated(2), other])
    assert summary.matches == 4
    text = summary.evaluation_text
    assert text is not None
    assert text.startswith(
        "70% (40% to 90%) against mcts:100: 6 won, 2 drawn, 2 lost; 70% (40% to 90%) against random: "
    )
    assert text.endswith(", after 2 games")


def test_the_first_line_names_the_symmetries_where_images_are_learned() -> None:
    stream = io.StringIO()
    tell(LinePrinter(stream), [started(symmetries=("rotate_180", "transpose"))])
    assert stream.getvalue().endswith("; additive_depth (longest = 9); augmented by rotate_180, transpose\n")


def test_a_line_says_the_time_left_and_that_a_run_goes_on() -> None:
    stream = io.StringIO()
    tell(LinePrinter(stream), [started(3, 2.0, MINUTE), progress(3, seconds=20.0)])
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("resuming after 3 games: tic_tac_toe()")
    assert lines[-1].endswith("40 s left")


def test_the_last_line_of_a_run_that_saved_nothing() -> None:
    stream = io.StringIO()
    end = RunFinished(matches=0, seconds=1.0, reason="error", folder=FOLDER, checkpoint=None)
    tell(LinePrinter(stream), [end])
    assert stream.getvalue() == "stopped by an error: 0 games in 1 s; there is no checkpoint\n"


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)


def text_of(console: Console, live: LiveView) -> str:
    with console.capture() as capture:
        console.print(live.render())
    return capture.get()


def test_the_live_view_shows_the_run_and_how_to_stop_it() -> None:
    console = terminal()
    live = LiveView(console)
    try:
        tell(live, [started(limits=MINUTE), *ROUND, evaluated(2)])
        shown = text_of(console, live)
        for part in [
            "tic_tac_toe() → runs/ttt",
            "2,000 a second",
            "0.125",
            "240 states in 0.5 s a round",
            "80 states, 2 MB",
            "8.0 plies, 1 won, 0 drawn, 1 lost by the first player",
            "70% (40% to 90%) against mcts:100",
            "0:00:05, 0:00:55 left",
            "Ctrl-C saves, stops and prints how to resume",
            "mlp, 1,000 weights",
        ]:
            assert part in shown
        live(progress(2, 6.0))
        assert "3 in play, 11 plies" in text_of(console, live)
        live(StopNoticed(matches=2))
    finally:
        live(finished(2))
    output = console.file.getvalue()  # type: ignore[attr-defined]
    assert "stopping: saving a checkpoint" in output
    assert output.rstrip().endswith("all games played: 2 games in 9 s; the newest checkpoint is runs/ttt/000002")


def test_the_bar_leaves_the_line_below_it_whole() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=60, color_system="standard")
    live = LiveView(console)
    try:
        tell(live, [started(limits=MINUTE), *ROUND])
        lines = Text.from_ansi(text_of(console, live)).plain.splitlines()
        assert "━━━" in lines[-3]
        assert "Ctrl-C saves, stops and prints how to resume" in lines[-2]
    finally:
        live(finished(2))
    assert "Ctrl-C" not in text_of(console, live)


def test_the_live_view_leaves_out_what_is_not_known() -> None:
    console = terminal()
    live = LiveView(console)
    assert text_of(console, live).strip() == ""
    try:
        live(started(limits=TrainingConfig(matches=9)))
        shown = text_of(console, live)
        assert "0 of 9" in shown
        for part in ["loss", "a second", "evaluation", "left", "None", "replay"]:
            assert part not in shown
    finally:
        live(finished(0))


def test_the_view_is_plain_where_there_is_no_terminal() -> None:
    assert isinstance(view(terminal()), LiveView)
    assert isinstance(view(Console(file=io.StringIO())), LinePrinter)


class Reader(io.StringIO):
    """A stream whose reader goes away."""

    error: BaseException | None = None

    def write(self, text: str) -> int:
        if self.error is not None:
            raise self.error
        return super().write(text)


GONE = [BrokenPipeError(errno.EPIPE, "Broken pipe"), OSError(errno.EIO, "Input/output error"), OSError(28, "full")]


@pytest.mark.parametrize("error", GONE, ids=["pipe", "terminal", "disk"])
@pytest.mark.parametrize("kind", [LinePrinter, ProgressBar, LiveView])
def test_what_shows_a_run_falls_silent_when_nobody_is_there(
    kind: Any, error: OSError, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = Reader()
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, or what passes for one
    monkeypatch.setattr("sys.stderr", reader)
    show = kind(standard_error() if kind is LiveView else reader)
    tell(show, [started(), progress(), evaluated(1)])
    reader.error = error
    tell(show, [*ROUND, evaluated(2), StopNoticed(matches=2), finished(2)])
    reader.error = None
    before = reader.getvalue()
    show(evaluated(4))
    assert before
    assert reader.getvalue() == before


@pytest.mark.parametrize("kind", [LinePrinter, ProgressBar])
def test_a_stream_that_was_closed_is_left_alone(kind: Any) -> None:
    stream = io.StringIO()
    show = kind(stream)
    show(started())
    stream.close()
    tell(show, [*ROUND, evaluated(2), finished(2)])


def test_an_error_of_another_kind_is_a_bug() -> None:
    reader = Reader()
    reader.error = ValueError("a bug")
    with pytest.raises(ValueError, match="a bug"):
        LinePrinter(reader)(started())


def bar(times: list[float], stream: io.StringIO) -> ProgressBar:
    moments = iter(times)
    return ProgressBar(stream, every_seconds=1.0, clock=lambda: next(moments))


def test_a_bar_is_one_line_written_over() -> None:
    stream = io.StringIO()
    show = bar([10.0, 10.0, 10.5, 11.0, 11.0], stream)
    tell(show, [started(limits=MINUTE), progress(0, 3.0), progress(0, 6.0), progress(2, 30.0), finished(2)])
    assert stream.getvalue().split("\r")[1:] == [
        "training: tic_tac_toe() in runs/ttt; mlp, 1,000 weights; openvino; additive_depth (longest = 9)\n",
        "[#-------------------] 5%, 3 s, 0 games, 3 in play, 1,234 evaluations/s, 57 s left",
        "[##########----------] 50%, 30 s, 2 games, 3 in play, 1,234 evaluations/s, 30 s left",
        "all games played: 2 games in 9 s; the newest checkpoint is runs/ttt/000002          \n",
    ]


def test_a_bar_shows_a_warm_up() -> None:
    stream = io.StringIO()
    tell(bar([0.0, 0.0], stream), [started(limits=WARMED), warming(250)])
    assert stream.getvalue().endswith("[#####---------------] 25%, warm-up: 250 of 1,000 random terminal states")


def test_a_bar_fits_into_its_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    tell(bar([0.0, 0.0], stream), [progress(0, 3.0)])
    assert stream.getvalue() == "\r3 s, 0 games, 3 in play, 1,234 evaluati"


def test_a_bar_is_on_standard_error_unless_said(capsys: pytest.CaptureFixture[str]) -> None:
    tell(ProgressBar(), SESSION)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "all games played" in captured.err


class FakeCell:
    """Fake of IPython in a notebook, which stores each picture of a display. matplotlib reads the version."""

    version_info = (8, 24, 0)

    def __init__(self) -> None:
        self.pictures: list[Any] = []
        self.kernel = object()

    def get_ipython(self) -> FakeCell:
        return self

    def display(self, picture: Any, *, display_id: bool) -> FakeCell:
        assert display_id
        self.pictures.append(picture)
        return self

    def update(self, picture: Any) -> None:
        self.pictures.append(picture)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> FakeCell:
    found = FakeCell()
    monkeypatch.setitem(sys.modules, "IPython", found)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "IPython.display", found)  # type: ignore[arg-type]
    return found


def test_a_bar_in_a_notebook_is_one_line_and_a_curve_of_strength(
    cell: FakeCell, capsys: pytest.CaptureFixture[str]
) -> None:
    show = ProgressBar(every_seconds=1.0, clock=lambda: 0.0)
    failed = EvaluationFailed(matches=2, problem="<b>")
    tell(show, [started(limits=MINUTE), progress(0, 3.0), progress(0, 6.0), *ROUND, evaluated(2), failed, finished(2)])
    lines = [picture.text().split("\n")[-1] for picture in cell.pictures]
    assert lines[0].startswith("training: tic_tac_toe() in runs/ttt")
    assert lines[1].startswith("[#-------------------] 5%, 3 s")
    assert lines[-1].startswith("all games played: 2 games")
    assert ["<svg" in picture.html() for picture in cell.pictures] == [False] * 2 + [True] * 3
    assert "Strength against mcts:100" in cell.pictures[-1].html()
    assert cell.pictures[-1].text().startswith("evaluation after 2 games: failed, as <b>\n")
    assert "&lt;b&gt;" in cell.pictures[-1].html()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("given", [True, False])
def test_a_bar_in_a_terminal_or_with_a_stream_uses_no_cell(given: bool, cell: FakeCell) -> None:
    if not given:
        del cell.kernel
    tell(ProgressBar(io.StringIO() if given else None), SESSION)
    assert cell.pictures == []


def test_a_summary_follows_the_warm_up() -> None:
    summary = RunSummary()
    tell(summary, [started(limits=WARMED), warming(250)])
    assert summary.warm_up_text == "250 of 1,000 random terminal states"
    assert (summary.fraction_done, summary.loss) == (0.25, 0.5)
    summary(WARM)
    assert (summary.warm_up_text, summary.fraction_done, summary.loss) == (None, 0.0, 0.125)


def test_lines_of_a_warm_up_come_at_each_tenth() -> None:
    stream = io.StringIO()
    tell(LinePrinter(stream), [started(limits=WARMED), *map(warming, (50, 130, 150, 199, 200, 650, 690)), WARM])
    assert stream.getvalue().splitlines()[1:] == [
        "warm-up: 130 of 1,000 random terminal states",
        "warm-up: 200 of 1,000 random terminal states",
        "warm-up: 650 of 1,000 random terminal states",
        "warm-up: 1,000 states in 3 s, loss 0.125",
    ]


def test_lines_of_a_timed_warm_up_come_at_intervals() -> None:
    """It is part of the run's time. The line about its end contains the explained fraction."""
    stream = io.StringIO()
    timed = TrainingConfig(seconds=200, warm_up=WarmUpConfig(method="games", seconds=40))
    assert timed.warm_up_seconds == 30
    ended = dataclasses.replace(WARM, seconds=30.0, explained=0.346, warm_up_seconds=30.0)
    tell(
        LinePrinter(stream, 10),
        [started(limits=timed), *(warming(100 * second, second) for second in range(1, 30)), ended],
    )
    tell(LinePrinter(stream), [dataclasses.replace(ended, explained=-0.01, is_kept=False)])
    assert stream.getvalue().splitlines()[1:] == [
        "warm-up: 1,000 states of random games",
        "warm-up: 2,000 states of random games",
        "warm-up: 1,000 states in 30 s, loss 0.125; 35% of the variance of random games' results explained",
        "warm-up: 1,000 states in 30 s, loss 0.125; 0% of the variance of random games' results explained, too little: "
        "its weights are reset",
    ]
    summary = RunSummary()
    tell(summary, [started(limits=timed), warming(100, 20.0)])
    assert (summary.warm_up_done, summary.fraction_done, summary.seconds) == (None, 0.1, 20.0)


def test_the_live_view_shows_a_warm_up_and_the_states_kept() -> None:
    console = terminal()
    live = LiveView(console)
    tell(live, [started(limits=WARMED), warming(250)])
    assert "250 of 1,000 random terminal states" in text_of(console, live)
    tell(live, [WARM, dataclasses.replace(round_(3), resolved_states=12345)])
    shown = text_of(console, live)
    assert "random terminal states" not in shown
    assert "12,345 states kept" in shown
    live(finished(3))


def test_lines_speak_of_a_single_players_scores() -> None:
    stream = io.StringIO()
    alone = MatchFinished(matches=1, length=9, returns=(24.0,), iterations=1, evaluations=1, requests=1, targets=1)
    tell(LinePrinter(stream), [started(), alone, round_(1, seconds=11.0)])
    assert "score 24 on average; the best of this session is 24" in stream.getvalue()


def test_workers_are_told_of_where_there_are_some() -> None:
    limits = dataclasses.replace(MINUTE, workers=WorkersConfig(count=2))
    told = dataclasses.replace(round_(2), staleness=1.5, most_staleness=3, workers_busy=(0.5, 0.75), workers_lost=1)
    stream, console = io.StringIO(), terminal()
    live = LiveView(console)
    try:
        for callback in (LinePrinter(stream), live):
            tell(callback, [started(limits=limits), match(1), match(2), told])
        assert "; openvino; 2 workers; " in stream.getvalue()
        assert "2, busy 62% of the time, weights 1.5 phases old, 1 lost" in text_of(console, live)
    finally:
        live(finished(2))
