"""Runs as the pages read them: incrementally, once for all visitors, and safely from untrusted folders."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from athenan_spiel.drawing.charts import Chart
from athenan_spiel.training import curves as curves_module
from athenan_spiel.training.curves import RunCurves
from athenan_spiel.web import runs as runs_module
from athenan_spiel.web.runs import RunEntry, RunReader, list_runs


def write(folder: Path, *events: dict[str, Any] | bytes) -> None:
    with (folder / "metrics.jsonl").open("ab") as file:
        for event in events:
            file.write(event if isinstance(event, bytes) else json.dumps(event).encode() + b"\n")


def match(length: float, actions: object = None) -> dict[str, Any]:
    return {"event": "match_finished", "matches": 1, "length": length, "actions": actions}


def round_at(seconds: float, **more: object) -> dict[str, Any]:
    return {"event": "round_finished", "seconds": seconds, "search_seconds": 20.0, "evaluations": 100, **more}


def looked(folder: Path) -> RunCurves:
    curves = RunCurves(folder)
    curves.update()
    return curves


def test_the_curves_of_a_finished_run(tiny_run: Path) -> None:
    curves = looked(tiny_run)
    assert curves.game == "tic_tac_toe()"
    assert curves.length.count == curves.matches > 0
    assert 0 < curves.loss.count <= curves.matches
    assert curves.speed.count > 0
    assert curves.ended is not None
    assert curves.actions
    assert not curves.update(), "nothing is new"


def test_the_runs_of_a_folder_are_listed_and_one_run_lists_itself(tiny_run: Path, tmp_path: Path) -> None:
    (entry,) = list_runs(tiny_run)
    assert (entry.name, entry.game, entry.problem) == (tiny_run.name, "tic_tac_toe()", None)
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").write_bytes((tiny_run / "config.toml").read_bytes())
    (tmp_path / "none").mkdir()
    (tmp_path / "file").write_text("")
    assert [run.name for run in list_runs(tmp_path)] == ["a", "b"]
    assert list_runs(tmp_path / "nowhere") == []


def test_unreadable_settings_are_reported(tmp_path: Path) -> None:
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "config.toml").write_bytes(b"\xff = [")
    (entry,) = list_runs(tmp_path)
    assert entry.game is None
    assert entry.problem
    assert "\n" not in entry.problem


def test_a_link_out_of_the_folder_is_not_followed(tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    os.symlink(tiny_run, tmp_path / "runs" / "away")
    assert list_runs(tmp_path / "runs") == []
    (tmp_path / "secret").write_text('{"event": "run_started", "game": "a secret"}\n')
    os.symlink(tmp_path / "secret", tmp_path / "runs" / "metrics.jsonl")
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on the system
        looked(tmp_path / "runs")


def test_an_incomplete_line_is_read_later(tmp_path: Path) -> None:
    whole = json.dumps(round_at(36.0)).encode() + b"\n"
    write(tmp_path, match(7), whole[:20])
    curves = looked(tmp_path)
    assert curves.speed.points == []
    write(tmp_path, whole[20:])
    assert curves.update()
    assert curves.speed.count == 1


def test_invalid_lines_are_skipped(tmp_path: Path) -> None:
    bad: list[dict[str, Any] | bytes] = [
        b"\xff\n",
        b"[1]\n",
        b"\n",
        b"[" * 100_000 + b"\n",
        b'{"event": ["run_started"]}\n',
        b'{"event": "round_finished", "seconds": NaN, "evaluations": 1e999}\n',
        {"event": "round_finished", "seconds": "long"},
        {"event": "run_started", "game": 7, "network": "x" * 10_000},
        {"event": "match_finished", "matches": "many", "length": None, "actions": ["a"]},
        {"event": "evaluation_finished", "opponent": "random", "points": 0.5, "low": None, "high": 1},
        round_at(36.0, workers_busy=["a"], learner_busy=True),
    ]
    write(tmp_path, *bad, match(7, [1, 2]), round_at(72.0))
    curves = looked(tmp_path)
    assert curves.game == ""
    assert len(curves.network) <= 500
    assert curves.actions == (1, 2)
    assert [(point.at.hours, point.value) for point in curves.length.points] == [(0.02, 7.0)]
    assert curves.strength == curves.busy == {}


def test_reading_stops_at_a_line_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves_module, "MOST_LINE", 1000)
    write(tmp_path, round_at(36.0), b"x" * 5000, round_at(72.0))
    assert looked(tmp_path).speed.count == 1


def runs_in(folder: Path, tiny_run: Path, count: int) -> None:
    for number in range(count):
        path = folder / f"run-{number:03}"
        path.mkdir()
        (path / "config.toml").write_bytes((tiny_run / "config.toml").read_bytes())


def test_the_event_loop_runs_while_runs_are_read(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading takes a second here."""
    runs_in(tmp_path, tiny_run, 20)
    threads = set()
    read = runs_module._read

    def slow(path: Path, name: str) -> RunEntry:
        threads.add(threading.current_thread())
        time.sleep(0.05)
        return read(path, name)

    monkeypatch.setattr(runs_module, "_read", slow)

    async def beat(beats: list[float]) -> None:
        while True:
            beats.append(time.monotonic())
            await asyncio.sleep(0.01)

    async def main() -> tuple[int, list[float]]:
        reader, beats = RunReader(), []
        heart = asyncio.create_task(beat(beats))
        found = await reader.list_runs(tmp_path)
        heart.cancel()
        reader.close()
        return len(found), beats

    count, beats = asyncio.run(main())
    assert count == 20
    assert threading.current_thread() not in threads
    assert len(beats) > 10, "1 if reading blocks the loop"


def test_settings_are_read_once_until_they_change(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_in(tmp_path, tiny_run, 3)
    reads = []
    read = runs_module._read
    monkeypatch.setattr(runs_module, "_read", lambda path, name: reads.append(name) or read(path, name))
    known: dict[Path, Any] = {}
    for _ in range(3):
        assert len(list_runs(tmp_path, known)) == 3
    assert reads == ["run-000", "run-001", "run-002"]
    (tmp_path / "run-001" / "config.toml").write_text('game = "hex"\n')
    assert [run.game for run in list_runs(tmp_path, known)][1] == "hex"
    assert reads[3:] == ["run-001"]
    (tmp_path / "run-002" / "config.toml").unlink()
    assert len(list_runs(tmp_path, known)) == len(known) == 2


def test_settings_with_the_same_time_and_size_are_read_again(tiny_run: Path, tmp_path: Path) -> None:
    """Copies may keep times, and tools may set them."""
    runs_in(tmp_path, tiny_run, 1)
    config, known = tmp_path / "run-000" / "config.toml", {}
    before, status = list_runs(tmp_path, known), config.stat()
    config.write_bytes(config.read_bytes().replace(b"tic_tac_toe", b"nothing_tic"))
    os.utime(config, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert config.stat().st_size == status.st_size
    assert list_runs(tmp_path, known) != before


def test_runs_with_similar_names_have_different_titles(tmp_path: Path) -> None:
    runs = []
    for length, name in enumerate(("a\nb", "a\\nb"), 1):
        (tmp_path / name).mkdir()
        write(tmp_path / name, *[match(7)] * length, round_at(36.0))
        runs.append(RunEntry(name, tmp_path / name, None))

    async def main() -> dict[str, int]:
        reader = RunReader()
        await reader.read(runs)
        found = await reader.view(runs, lambda curves: {name: run.length.count for name, run in curves.items()})
        reader.close()
        return found

    assert asyncio.run(main()) == {"a\\nb": 1, "a\\\\nb": 2}


def test_curves_and_charts_are_shared_between_visitors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves_module, "MOST_AT_ONCE", 200)
    write(tmp_path, *[event for i in range(1, 30) for event in (match(7), round_at(36.0 * i))])
    run, opened = RunEntry("run", tmp_path, None), []
    take = RunCurves.add
    monkeypatch.setattr(RunCurves, "add", lambda self, record: opened.append(record) or take(self, record))

    async def main() -> list[list[Chart]]:
        reader = RunReader()
        drawn = []
        for _ in range(2):
            assert await reader.read([run]) == ""
            drawn.append(await reader.charts([run]))
        write(tmp_path, match(9), round_at(3600.0))
        assert await reader.read([run]) == ""
        drawn.append(await reader.charts([run]))
        reader.close()
        return drawn

    first, second, third = asyncio.run(main())
    assert len(opened) == 60, "each line is read once"
    assert first is second
    assert third != first


def test_an_unreadable_run_is_reported_and_others_are_read(tmp_path: Path) -> None:
    write(tmp_path, match(7), round_at(36.0))
    runs = [RunEntry("gone\n", tmp_path / "none", None), RunEntry("run", tmp_path, None)]

    async def main() -> tuple[str, int]:
        reader = RunReader()
        problem = await reader.read(runs)
        count = await reader.view(runs, lambda curves: curves["run"].length.count)
        reader.close()
        return problem, count

    assert asyncio.run(main()) == ("gone\\n: its metrics cannot be read: No such file or directory", 1)


def test_an_unreadable_folder_hides_no_other(tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs_in(tmp_path, tiny_run, 2)
    is_folder = runs_module.is_folder

    def refuses(path: Path) -> bool:
        if path.name == "run-000":
            raise PermissionError(13, "Permission denied")
        return is_folder(path)

    monkeypatch.setattr(runs_module, "is_folder", refuses)
    assert [(run.name, run.problem) for run in list_runs(tmp_path)] == [
        ("run-000", "Permission denied"),
        ("run-001", None),
    ]
