"""What a run leaves of its events: `metrics.jsonl`, lines of JSON, TensorBoard's files."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import threading
import time
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from run_events import (
    MOMENT,
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
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from athenan_spiel.errors import CheckpointError
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.callbacks import (
    JsonLines,
    MetricsFile,
    TensorBoard,
)
from athenan_spiel.training.callbacks.metrics import as_record
from athenan_spiel.training.events import (
    StopNoticed,
)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_metrics_hold_a_line_for_each_event_but_progress(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    tell(MetricsFile(path), [started(), *ROUND, evaluated(2), written(2), StopNoticed(matches=2), finished(2)])
    assert [line["event"] for line in lines_of(path)] == [
        "run_started",
        "match_finished",
        "learning_finished",
        "match_finished",
        "learning_finished",
        "round_finished",
        "evaluation_finished",
        "checkpoint_written",
        "run_finished",
    ]
    assert lines_of(path)[1]["returns"] == [1.0, -1.0]
    assert lines_of(path)[-1]["checkpoint"] == "000002"
    assert "config" not in lines_of(path)[0]


def test_what_was_not_measured_is_left_out() -> None:
    assert "loss" not in as_record(learned(1, None), MOMENT)
    assert as_record(learned(1, 0.0), MOMENT)["loss"] == 0.0


def test_each_line_has_its_time_in_utc(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    moments = iter([MOMENT, (MOMENT + timedelta(hours=1)).astimezone(timezone(timedelta(hours=9)))])
    tell(MetricsFile(path, clock=lambda: next(moments)), [started(), progress(), match(1)])
    assert [line["time"] for line in lines_of(path)] == ["2026-01-02T03:04:05.678Z", "2026-01-02T04:04:05.678Z"]


def test_metrics_hold_progress_where_nothing_else_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = 100.0
    monkeypatch.setattr("athenan_spiel.training.clock.now", lambda: moment)
    metrics = MetricsFile(tmp_path / "metrics.jsonl")
    metrics(started())
    for moment in (101.0, 104.9, 105.0, 105.2, 110.1):
        metrics(progress(seconds=moment - 100.0))
    moment = 115.2
    metrics(warming(250))
    metrics(progress(seconds=15.3))
    assert [(line["event"], line.get("seconds")) for line in lines_of(tmp_path / "metrics.jsonl")] == [
        ("run_started", 0.0),
        ("round_progress", 5.0),
        ("round_progress", pytest.approx(10.1)),
        ("warm_up_progress", 0.0),
    ]


def test_json_lines_are_all_events_with_progress_and_the_folder() -> None:
    stream = io.StringIO()
    tell(JsonLines(stream, clock=lambda: MOMENT), [started(), progress(), match(1), finished(1)])
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["run_started", "round_progress", "match_finished", "run_finished"]
    assert [line.get("folder") for line in lines] == ["runs/ttt", None, None, "runs/ttt"]
    assert (lines[-1]["checkpoint"], lines[-1]["reason"], lines[1]["alive"]) == ("000002", "matches", 3)
    assert {line["time"] for line in lines} == {"2026-01-02T03:04:05.678Z"}
    assert "config" not in lines[0]


def test_metrics_of_matches_played_again_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    tell(MetricsFile(path), [started(), match(1), learned(1), written(1), match(2), learned(2)])
    with path.open("a") as file:
        file.write('{"event": "match_fini')
    tell(MetricsFile(path), [started(matches=1), match(2, -1.0)])
    assert [(line["event"], line["matches"]) for line in lines_of(path)] == [
        ("run_started", 0),
        ("match_finished", 1),
        ("learning_finished", 1),
        ("checkpoint_written", 1),
        ("run_started", 1),
        ("match_finished", 2),
    ]
    assert lines_of(path)[-1]["returns"] == [-1.0, 1.0]


def test_metrics_forget_what_a_rollback_drops(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    tell(MetricsFile(path), [started(), match(1), written(1), match(2), rolled_back(1), match(2, -1.0), finished(2)])
    lines = lines_of(path)
    assert [(line["event"], line["matches"]) for line in lines] == [
        ("run_started", 0),
        ("match_finished", 1),
        ("checkpoint_written", 1),
        ("rolled_back", 1),
        ("match_finished", 2),
        ("run_finished", 2),
    ]
    assert lines[-2]["returns"] == [-1.0, 1.0]
    assert lines[3]["checkpoint"] == "000001"


def test_metrics_keep_lines_of_others_and_drop_half_a_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('a note\n[1]\n{"matches": "many"}\n{"matches": 1}')
    tell(MetricsFile(path), [started(matches=1)])
    lines = path.read_text().splitlines()
    assert lines[:3] == ["a note", "[1]", '{"matches": "many"}']
    assert json.loads(lines[3])["event"] == "run_started"


@pytest.mark.parametrize("callback", [MetricsFile, TensorBoard])
def test_a_run_that_never_began_leaves_no_records(tmp_path: Path, callback: Any) -> None:
    tell(callback(tmp_path / "records"), [finished(0)])
    assert not (tmp_path / "records").exists()


def curves(folder: Path) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(folder), purge_orphaned_data=True)
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_tensorboard_shows_the_curves_and_forgets_what_is_played_again(tmp_path: Path) -> None:
    folder = tmp_path / "tensorboard"
    tell(TensorBoard(folder), [started(), *ROUND, evaluated(2), learned(3, None), match(3), finished(3)])
    shown = curves(folder)
    assert shown["match/length"] == [(1, 7.0), (2, 9.0), (3, 7.0)]
    assert shown["learning/loss"] == [(1, 0.25), (2, 0.125)]
    for name, share in (("points", 0.7), ("low", 0.4), ("high", 0.9)):
        assert shown[f"evaluation/mcts:100/{name}"] == [(2, pytest.approx(share))]
    assert shown["speed/states_valued_per_second"] == [(2, 2000.0)]
    tell(TensorBoard(folder), [started(matches=2), match(3, 0.0, 5), round_(3, search_seconds=0.0), finished(3)])
    shown = curves(folder)
    assert shown["match/length"] == [(1, 7.0), (2, 9.0), (3, 5.0)]
    assert shown["speed/states_valued_per_second"] == [(2, 2000.0)]


def test_tensorboard_forgets_what_a_rollback_drops(tmp_path: Path) -> None:
    folder = tmp_path / "tensorboard"
    tell(TensorBoard(folder), [started(), match(1), match(2), rolled_back(1), match(2, 0.0, 5), finished(2)])
    assert curves(folder)["match/length"] == [(1, 7.0), (2, 5.0)]


def test_tensorboard_reads_sessions_in_order_though_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, moment = tmp_path / "tensorboard", time.time()
    for session in range(3):
        patched = moment - 3600 * session
        monkeypatch.setattr("time.time", lambda patched=patched: patched)
        monkeypatch.setattr("time.time_ns", lambda patched=patched: int(patched * 1e9))
        tell(TensorBoard(folder), [started(matches=session), match(session + 1, length=session + 1), finished(3)])
    assert curves(folder)["match/length"] == [(1, 1.0), (2, 2.0), (3, 3.0)]


def test_tensorboards_files_are_written_by_no_thread(tmp_path: Path) -> None:
    """A thread's errors are tracebacks of its own, and end nothing."""
    before = threading.enumerate()
    board = TensorBoard(tmp_path / "tensorboard")
    tell(board, [started(), *ROUND])
    assert threading.enumerate() == before
    board(finished(2))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_said_of_tensorboards_files_too(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path / "tensorboard")
    tell = Broadcast([board])
    tell(started())
    assert board._file is not None
    with open("/dev/full", "wb", buffering=0) as full:
        os.dup2(full.fileno(), board._file._file.fileno())
    with pytest.raises(CheckpointError, match=r"^TensorBoard could not write: No space left on device; the last"):
        tell(round_(2))


def test_curves_and_metrics_of_a_warm_up_and_the_states_kept(tmp_path: Path) -> None:
    events = [
        started(limits=WARMED),
        warming(250),
        WARM,
        dataclasses.replace(round_(3), resolved_states=7),
        finished(3),
    ]
    tell(TensorBoard(tmp_path / "tensorboard"), events)
    drawn = curves(tmp_path / "tensorboard")
    assert drawn["warm_up/loss"] == [(0, 0.125)]
    assert drawn["search/resolved_states_kept"] == [(3, 7.0)]
    tell(MetricsFile(tmp_path / "metrics.jsonl", clock=lambda: MOMENT), events)
    lines = lines_of(tmp_path / "metrics.jsonl")
    assert [line["event"] for line in lines] == ["run_started", "warm_up_finished", "round_finished", "run_finished"]
    assert lines[1] == {
        "event": "warm_up_finished",
        "time": "2026-01-02T03:04:05.678Z",
        "matches": 0,
        "seconds": 0.0,
        "warm_up_states": 1000,
        "loss": 0.125,
        "is_kept": True,
        "warm_up_seconds": 3.0,
    }
    assert lines[2]["resolved_states"] == 7
