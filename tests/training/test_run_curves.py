"""The curves of a run, from what it has told; its folder may come from elsewhere, or be gone."""

from __future__ import annotations

import importlib.util
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from training_runs import TIC_TAC_TOE, TINY

from athenan_spiel.errors import CheckpointError
from athenan_spiel.training import Run, train
from athenan_spiel.training import curves as curves_module
from athenan_spiel.training.curves import (
    MAX_BUCKETS,
    MAX_KEPT_GAMES,
    MEAN_OF,
    MOST_OPPONENTS,
    CurvePoint,
    RunCurves,
    RunPosition,
    ScalarSeries,
)
from athenan_spiel.training.metrics_table import evaluation_table, game_table
from athenan_spiel.training.run_picture import MOST_CURVES, RELIABILITY, reliability_chart, run_charts, time_text

STARTED = {"event": "run_started", "game": "tic_tac_toe()", "network": "a network", "seconds": 0.0}


def told(folder: Path, *records: dict[str, Any], lines: bytes = b"") -> RunCurves:
    """A run's folder in which these events were told."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "metrics.jsonl").write_bytes(text.encode() + lines)
    return RunCurves(folder)


def round_of(matches: int, seconds: float, first: int = 1) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    for number in range(first, first + matches):
        events.append({"event": "match_finished", "matches": number, "length": 5 + number})
        learned = {"states_learned": 5 + 2 * ((number - 1) % 2) - (number == 3), "batches": 2}
        events.append({"event": "learning_finished", "matches": number, "loss": 1 / number, **learned})
    end = {"seconds": seconds, "search_seconds": 1800.0, "evaluations": 3600, "learner_busy": 0.5}
    return [*events, {"event": "round_finished", **end}]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return train(TIC_TAC_TOE, TINY, tmp_path_factory.mktemp("curves") / "ttt")


def test_a_resumed_run_keeps_the_choice_of_its_start(tmp_path: Path) -> None:
    curves = told(tmp_path, {**STARTED, "choice": "filters 16"}, {**STARTED, "choice": ""})
    assert curves.update()
    assert (curves.choice, curves.sessions) == ("filters 16", 2)


def test_matches_of_a_round_lie_evenly_in_its_time(tmp_path: Path) -> None:
    curves = told(tmp_path, STARTED, *round_of(2, 3600.0), *round_of(1, 7200.0, first=3))
    assert curves.update()
    assert [point.at.hours for point in curves.length.points] == [0.25, 0.75, 1.5]
    assert [point.value for point in curves.length.points] == [6, 6.5, 7], "means of the games so far"
    assert [point.value for point in curves.loss.points] == [1.0, 0.75, pytest.approx((1 + 1 / 2 + 1 / 3) / 3)]
    speed = [CurvePoint(RunPosition(1.0, 2, 12), 2.0), CurvePoint(RunPosition(2.0, 3, 16), 2.0)]
    assert curves.speed.points == speed, "per second of search, as TensorBoard shows it"
    assert {who: [point.value for point in series.points] for who, series in curves.busy.items()} == {
        "learner": [0.5, 0.5]
    }
    assert [point.at[1:] for point in curves.loss.points] == [(1, 5), (2, 12), (3, 16)], "games and samples"
    assert (curves.matches, curves.seconds, curves.game) == (3, 7200.0, "tic_tac_toe()")
    assert not curves.update(), "nothing is new"


def test_time_passes_though_no_game_has_ended(tmp_path: Path) -> None:
    """The points of curves are placed by rounds alone."""
    progress = {"event": "round_progress", "matches": 0, "seconds": 95.0}
    curves = told(tmp_path, STARTED, progress)
    curves.update()
    assert (curves.matches, curves.elapsed, curves.seconds) == (0, 95.0, 0.0)
    curves = told(tmp_path, STARTED, progress, *round_of(2, 100.0))
    curves.update()
    assert (curves.matches, curves.elapsed, curves.seconds) == (2, 100.0, 100.0)
    assert [point.at.hours * 3600 for point in curves.length.points] == pytest.approx([25.0, 75.0])
    curves = told(tmp_path, STARTED, progress, {"event": "run_finished", "seconds": 120.0, "reason": "seconds"})
    curves.update()
    assert (curves.matches, curves.elapsed, curves.ended) == (0, 120.0, "seconds")


def test_a_warm_up_is_told_while_it_lasts(tmp_path: Path) -> None:
    warming = {"event": "warm_up_progress", "matches": 0, "warm_up_states": 700}
    saved = {"event": "checkpoint_written", "matches": 0}
    curves = told(tmp_path, STARTED, warming, saved)
    curves.update()
    assert curves.warm_up_states == 700
    curves = told(tmp_path, STARTED, warming, {"event": "warm_up_finished", "warm_up_states": 1000})
    curves.update()
    assert curves.warm_up_states == 0


def test_what_is_told_later_is_read_later_and_a_run_that_was_rolled_back_is_read_again(tmp_path: Path) -> None:
    curves = told(tmp_path, STARTED, *round_of(2, 10.0))
    curves.update()
    told(
        tmp_path,
        STARTED,
        *round_of(2, 10.0),
        *round_of(2, 20.0, first=3),
        {"event": "run_finished", "reason": "matches"},
    )
    assert curves.update()
    assert (curves.loss.count, curves.ended) == (4, "matches")
    told(tmp_path, STARTED, *round_of(1, 5.0))
    assert curves.update()
    assert (curves.loss.count, curves.ended, curves.seconds) == (1, None, 5.0)


@pytest.mark.parametrize(
    "line",
    [
        b"not json\n",
        b"[1, 2]\n",
        b'{"event": "match_finished", "length": "long", "actions": ["a"]}\n',
        b'{"event": "match_finished", "length": true}\n',
        b'{"event": "learning_finished", "loss": 1e999}\n',
        b'{"event": "round_finished"}\n',
        b'{"event": "evaluation_finished", "points": 0.5}\n',
        b'{"event": ["run_started"]}\n',
        b"\xff\xfe\n",
        b'{"event": "match_fin',
    ],
)
def test_a_line_that_is_no_event_is_passed_over(line: bytes, tmp_path: Path) -> None:
    curves = told(tmp_path, STARTED, *round_of(1, 5.0), lines=line)
    curves.update()
    assert (curves.loss.count, curves.length.count, curves.strength, curves.actions) == (1, 1, {}, ())


def test_numbers_beyond_all_bounds_are_none(tmp_path: Path) -> None:
    huge = {"event": "round_finished", "seconds": 10**400, "workers_busy": [0.5, 1.0]}
    curves = told(
        tmp_path, STARTED, huge, {**huge, "seconds": 9.0}, {**huge, "seconds": 18.0, "workers_busy": [10**400]}
    )
    curves.update()
    assert curves.seconds == 18.0
    (busy,) = curves.busy["workers, all"].points
    assert (busy.at.hours, busy.value) == (9.0 / 3600, 1.5)


def test_opponents_and_names_are_bounded_and_names_are_text(tmp_path: Path) -> None:
    bad = "<script>" * 1000
    points = {"event": "evaluation_finished", "points": 0.5, "low": 0.4, "high": 0.6}
    curves = told(tmp_path, STARTED, *({**points, "opponent": f"{i} {bad}"} for i in range(200)))
    curves.update()
    assert len(curves.strength) == MOST_OPPONENTS
    (chart,) = run_charts({"run": curves})
    assert len(chart.curves) == MOST_CURVES


def test_strength_belongs_to_the_network_that_was_evaluated(tmp_path: Path) -> None:
    points = {"event": "evaluation_finished", "opponent": "random", "points": 0.5, "low": 0.4, "high": 0.6}
    begins = {"event": "evaluation_started", "matches": 2}
    rounds = round_of(1, 7200.0, first=3)
    curves = told(
        tmp_path, STARTED, *round_of(2, 3600.0), begins, *rounds, {**points, "matches": 2}, {**points, "matches": 3}
    )
    curves.update()
    assert [point.at for point in curves.strength["random"].points] == [(1.0, 2, 12), (2.0, 3, 16)]
    assert (curves.steps, curves.samples) == (6, 16)
    for axis, xs, label in (("time", [60.0, 120.0], "minutes"), ("games", [2, 3], "games learned")):
        chart = next(chart for chart in run_charts({"run": curves}, axis) if chart.title.startswith("Strength"))
        assert (list(chart.curves[0].xs), chart.x_label) == (xs, label)


def test_games_at_equal_distances_are_kept(tmp_path: Path) -> None:
    games = [{"event": "match_finished", "matches": i, "length": 1, "actions": [i]} for i in range(1, 200)]
    curves = told(tmp_path, STARTED, *games)
    curves.update()
    assert list(curves.games) == list(range(8, 200, 8))
    assert len(curves.games) <= MAX_KEPT_GAMES
    assert curves.games[16] == (16,)
    assert curves.actions == (199,)


def test_a_folder_without_metrics_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        RunCurves(tmp_path).update()


def at(i: float) -> RunPosition:
    return RunPosition(float(i), i, 10 * i)


def test_the_running_mean() -> None:
    series = ScalarSeries()
    for i in range(40):
        series.add(at(i), float(i))
    means = [point.value for point in series.points]
    assert means[:3] == [0.0, 0.5, 1.0]
    assert means[-1] == pytest.approx(39 - (MEAN_OF - 1) / 2)


@pytest.mark.parametrize("count", [1, MAX_BUCKETS, MAX_BUCKETS + 1, 50_000])
def test_a_series_keeps_its_ends_and_its_peaks_in_bounded_memory(count: int) -> None:
    """M4: the first and the last value, and the least and the greatest of each bucket."""
    series = ScalarSeries(window=1)
    peak, trough = count * 2 // 3, count // 3
    for i in range(count):
        series.add(at(i), 9.0 if i == peak else -9.0 if i == trough else math.sin(i), i - 1.0, i + 1.0)
    points = series.points
    assert series.count == count
    assert len(points) <= 4 * MAX_BUCKETS
    assert [point.at for point in points] == sorted({point.at for point in points})
    assert (points[0].at, points[-1].at) == (at(0), at(count - 1))
    assert max(point.value for point in points) == 9.0
    if trough != peak:
        assert min(point.value for point in points) == -9.0
    assert all((point.low, point.high) == (point.at.hours - 1, point.at.hours + 1) for point in points)
    if count <= MAX_BUCKETS:
        assert len(points) == count, "nothing is dropped where all fits"


def test_a_file_that_was_rewritten_is_read_again_although_it_is_longer(tmp_path: Path) -> None:
    """A rollback may have written more than was read before by the time of the next look."""
    curves = told(tmp_path, STARTED, *round_of(2, 10.0))
    curves.update()
    told(tmp_path, STARTED, *round_of(5, 40.0, first=7))
    assert curves.update()
    assert [point.value for point in curves.length.points][:2] == [12, 12.5]
    assert curves.length.count == 5


def test_long_runs_are_read_in_parts_and_take_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event for i in range(300) for event in round_of(10, 10.0 * (i + 1), first=10 * i + 1)]
    curves = told(tmp_path, STARTED, *events)
    monkeypatch.setattr(curves_module, "MOST_AT_ONCE", 50_000)
    looks = 0
    while curves.update():
        looks += 1
    assert looks > 5
    assert curves.length.count == 3000
    assert len(curves.length.points) <= 4 * MAX_BUCKETS


def test_text_that_is_no_unicode_is_shown_by_its_escapes(tmp_path: Path) -> None:
    """JSON may hold half of a surrogate pair, which no page can send."""
    curves = told(tmp_path, lines=b'{"event": "run_started", "game": "a\\ud800b", "network": "line\\nbreak"}\n')
    curves.update()
    assert curves.game == "a\\ud800b"
    assert curves.network == "line\\nbreak"


@pytest.mark.parametrize(("seconds", "unit"), [(100.0, "seconds"), (1000.0, "minutes"), (90_000.0, "hours")])
def test_the_unit_of_time_follows_the_length_of_the_run(seconds: float, unit: str, tmp_path: Path) -> None:
    curves = told(tmp_path, STARTED, *round_of(3, seconds))
    curves.update()
    assert {chart.x_label for chart in run_charts({"run": curves})} == {unit}


def test_several_runs_are_compared_by_their_names(tmp_path: Path) -> None:
    curves = told(tmp_path, STARTED, *round_of(3, 9.0))
    curves.update()
    loss = run_charts({"one": curves, "two": curves})[0]
    assert [curve.name for curve in loss.curves] == ["one", "two"]
    assert run_charts({}) == run_charts({"one": RunCurves(tmp_path)}) == []


def test_a_run_is_shown_by_its_curves(run: Run) -> None:
    html = str(run._repr_html_())
    assert html.count("<svg") == 4, "loss, length, speed and reliability"
    assert len(html) < 200_000
    text = run._repr_mimebundle_()["text/plain"]
    assert text == str(run.picture())
    assert "game: tic_tac_toe()" in text
    assert "learned: 12 games in " in text
    assert "ended: all games played" in text


def test_a_run_whose_folder_is_gone_is_told_without_curves(run: Run, tmp_path: Path) -> None:
    shutil.copytree(run.folder, tmp_path / "copy")
    gone = Run(**{**vars(run), "folder": tmp_path / "copy"})
    shutil.rmtree(gone.folder)
    assert "<svg" not in str(gone._repr_html_())
    assert "no curves, as" in gone.picture().text()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.6, "1 min 00 s"), (61.0, "1 min 01 s"), (3600.0, "1 h 00 min"), (math.pi * 1e4, "8 h 43 min")],
)
def test_times_in_words(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


@pytest.mark.parametrize("has_pandas", [False, True])
def test_a_run_has_a_table_of_its_games(has_pandas: bool, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    if has_pandas:
        pytest.importorskip("pandas", reason="needs pandas")
    else:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    table = run.metrics
    assert hasattr(table, "columns") is has_pandas
    assert list(table["matches"]) == list(range(1, run.matches + 1))
    curves = RunCurves(run.folder)
    curves.update()
    assert [point.at.hours * 3600 for point in curves.loss.points] == pytest.approx(list(table["seconds"]))
    assert list(table["loss"][:1]) == pytest.approx([curves.loss.points[0].value])
    assert all(5 <= length <= 9 for length in table["length"])
    assert all(math.isnan(worker) for worker in table["worker"]), "there are no workers"
    assert len(run.evaluations) == 0


def test_the_table_of_evaluations_has_a_row_for_each_opponent(tmp_path: Path) -> None:
    points = {"event": "evaluation_finished", "matches": 2, "wins": 3, "points": 0.75, "low": 0.4, "high": 0.9}
    rounds = round_of(2, 10.0)
    told(tmp_path, STARTED, *rounds, {**points, "opponent": "mcts:100"}, {**points, "opponent": "x\n", "low": "0"})
    table = evaluation_table(tmp_path)
    assert table["opponent"].tolist() == ["mcts:100", "x\\n"]
    assert table[["matches", "seconds", "wins"]].tolist() == [(2, 10.0, 3.0)] * 2
    assert table["low"].tolist()[0] == 0.4
    assert math.isnan(table["low"][1])


def test_a_table_skips_what_is_no_event_and_needs_a_file(tmp_path: Path) -> None:
    bad = [{"event": "match_finished", "matches": x, "length": 5} for x in (1e300, -1, "1", None)]
    told(tmp_path, STARTED, *bad, *round_of(2, 10.0), *round_of(1, 0.0, first=3)[:2], lines=b"[1]\n{")
    table = game_table(tmp_path)
    assert table["matches"].tolist() == [1, 2, 3]
    assert table["length"].tolist() == [6.0, 7.0, 8.0]
    assert table["seconds"].tolist()[:2] == [5.0, 10.0]
    assert math.isnan(table["seconds"][2]), "its round has not ended"
    with pytest.raises(CheckpointError, match="cannot be read: No such file"):
        game_table(tmp_path / "none")


def test_the_reliability_diagram_compares_predictions_with_results(run: Run) -> None:
    chart = reliability_chart(run.folder)
    assert chart is not None
    measured, perfect = chart.curves
    assert (perfect.xs, perfect.ys) == ([0, 100], [0, 100])
    assert measured.xs
    assert measured.xs == sorted(measured.xs)
    assert all(0 <= number <= 100 for number in (*measured.xs, *measured.ys))
    assert RELIABILITY in run.picture().html()


def test_a_run_without_a_checkpoint_has_no_reliability_diagram(tmp_path: Path) -> None:
    assert reliability_chart(tmp_path) is None


def test_games_without_a_winner_and_cut_games_are_counted(tmp_path: Path) -> None:
    returns: list[Any] = [[0.0, 0.0], [1.0, -1.0], [2.0, 2.0, 2.0], [3.0], [], None, "x"]
    games = [{"event": "match_finished", "matches": 1, "returns": each, "cut_off": each == [3.0]} for each in returns]
    curves = told(tmp_path, STARTED, *games)
    curves.update()
    assert (curves.undecided, curves.cut_off) == (2, 1), "a game for one player has no loser"
