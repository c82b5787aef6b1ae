"""Runs as the pages read them: incrementally, once for all visitors, and safely from untrusted folders."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import re
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from training_runs import edit_settings

pytest.importorskip("nicegui", reason="needs NiceGUI: pip install 'athenan-spiel[web]'")

from athenan_spiel.drawing.charts import Chart, Curve
from athenan_spiel.training import curves as curves_module
from athenan_spiel.training.curves import RunCurves
from athenan_spiel.web import runs as runs_module
from athenan_spiel.web.overview import RunOverview
from athenan_spiel.web.reports import list_reports
from athenan_spiel.web.runs import RunEntry, RunReader, list_checkpoints, list_runs
from athenan_spiel.web.settings_table import settings_html


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

    async def main() -> list[list[Any]]:
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


def table_of(folder: Path, times: int = 20) -> list[dict[str, Any]]:
    """Returns the rows of the table of runs after all metrics were read."""

    async def main() -> str:
        reader = RunReader()
        runs = await reader.list_runs(folder)
        for _ in range(times):
            text = await reader.table(runs)
        assert await reader.table(runs) is text
        reader.close()
        return text

    rows: list[dict[str, Any]] = json.loads(asyncio.run(main()))
    return rows


def test_the_table_has_the_figures_of_each_run(tiny_run: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copytree(tiny_run, tmp_path / name)
    evaluation = {"event": "evaluation_finished", "points": 0.75, "low": 0.5, "high": 0.9}
    write(tmp_path / "b", {**evaluation, "opponent": "random"}, {**evaluation, "opponent": "mcts:9", "points": 0.6})
    first, second = table_of(tmp_path)
    run = looked(tiny_run)
    assert (first["title"], first["game"], first["state"], first["games"]) == ("a", "tic_tac_toe()", "finished", 12)
    assert first["steps"] == run.steps > 0
    assert first["loss"] == run.loss.points[-1].value
    assert first["date"] == pytest.approx(time.time(), abs=86400)
    assert len(first["loss_line"].split()) > 3
    assert first["points"] is None
    assert (second["opponent"], second["points"], second["low"], second["high"]) == ("mcts:9", 0.6, 0.5, 0.9)


def test_visitors_share_one_renewal_of_the_table(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_in(tmp_path, tiny_run, 2)
    listed = []
    monkeypatch.setattr(runs_module, "list_runs", lambda *given: listed.append(1) or list_runs(*given))

    async def main() -> list[str]:
        reader = RunReader()
        first = await asyncio.gather(*(reader.renewed_table(tmp_path) for _ in range(50)))
        assert len(listed) == 1
        assert all(text is first[0] for text in first)
        shutil.rmtree(tmp_path / "run-001")
        reader._table_due = time.monotonic()  # a second later
        second = await reader.renewed_table(tmp_path)
        reader.close()
        return [first[0], second]

    assert [len(json.loads(text)) for text in asyncio.run(main())] == [2, 1]


def test_the_state_of_a_run_is_live_finished_or_stopped(tmp_path: Path) -> None:
    write(tmp_path, {"event": "run_started", "time": "2026-01-02T03:04:05Z"}, match(7), round_at(36.0))
    run = looked(tmp_path)
    now = run.last_event_time
    overview = RunOverview.of(run)
    assert overview.date == 1767323045
    assert [overview.state(now + age) for age in (1, 3900)] == ["live", "stopped"]
    states = {
        reason: dataclasses.replace(overview, ended=reason).state(now) for reason in ("matches", "stopped", "error")
    }
    assert states == {"matches": "finished", "stopped": "stopped", "error": "stopped"}


def test_the_ends_of_long_metrics_are_read_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading whole files would take too long here."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text("")
    games = [event for i in range(1, 400) for event in ({**match(7), "matches": i}, round_at(36.0 * i))]
    write(tmp_path / "run", {"event": "run_started", "time": "2026-01-02T03:04:05Z"}, *games)
    monkeypatch.setattr(RunReader, "_read_overview", lambda self, run: pytest.fail("whole"))

    async def main() -> list[dict[str, Any]]:
        reader = RunReader()
        runs = await reader.list_runs(tmp_path)
        with monkeypatch.context() as context:
            context.setattr(runs_module, "OVERVIEW_SECONDS", 0.0)
            assert "games" not in json.loads(await reader.table(runs))[0], "no time for anything"
        found: list[dict[str, Any]] = json.loads(await reader.table(runs, whole=False))
        reader.close()
        return found

    (row,) = asyncio.run(main())
    assert (row["games"], row["seconds"], row["steps"], row["date"]) == (399, 36 * 399, None, 1767323045)


@pytest.mark.parametrize("number", [1e308, -1e308])
def test_numbers_near_the_largest_are_no_problem_for_the_table(number: float, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text("")
    losses = [{"event": "learning_finished", "matches": 1, "loss": number}] * 30
    write(
        tmp_path / "run", {"event": "run_started", "time": "x"}, *losses, round_at(abs(number)), *losses, round_at(1.0)
    )
    (row,) = table_of(tmp_path)
    assert "nan" not in row["loss_line"]


def test_the_runs_of_an_experiment_are_listed_with_its_report(tiny_run: Path, tmp_path: Path) -> None:
    experiment = tmp_path / "exp"
    path = experiment / "trainings" / "ttt" / "descent" / "1"
    shutil.copytree(tiny_run, path)
    os.symlink(tiny_run, path.parent / "2")
    shutil.copytree(tiny_run, tmp_path / "alone")
    assert [(run.name, run.report) for run in list_runs(tmp_path)] == [("alone", None), ("exp/ttt/descent/1", None)]
    for folder in (experiment, tmp_path / "alone"):
        (folder / "report.md").write_text("# Report")
    assert [(run.name, run.report) for run in list_runs(tmp_path)] == [
        ("alone", "alone"),
        ("exp/ttt/descent/1", "exp"),
    ]
    assert [(run.name, run.report) for run in list_runs(experiment)] == [("ttt/descent/1", "exp")]
    assert [folder.name for folder in list_reports(tmp_path)] == ["alone", "exp"]
    assert [folder.name for folder in list_reports(experiment)] == ["exp"]


def test_the_runs_of_a_series_of_games_are_listed_with_its_report(tiny_run: Path, tmp_path: Path) -> None:
    games = tmp_path / "ggp" / "games"
    shutil.copytree(tiny_run, games / "tic_tac_toe" / "run")
    (games / "failed").mkdir()
    os.symlink(games / "tic_tac_toe", games / "link")
    (tmp_path / "ggp" / "report.md").write_text("# Report")
    assert [(run.name, run.report) for run in list_runs(tmp_path)] == [("ggp/tic_tac_toe", "ggp")]
    assert [run.name for run in list_runs(tmp_path / "ggp")] == ["tic_tac_toe"]


def test_checkpoints_are_listed_newest_first(tiny_run: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_run, tmp_path / "run")
    (tmp_path / "run" / "best").mkdir()
    os.symlink(tiny_run, tmp_path / "run" / "checkpoints" / "000099")
    written = sorted((folder.name for folder in (tiny_run / "checkpoints").iterdir()), reverse=True)
    assert [checkpoint.name for checkpoint in list_checkpoints(tmp_path / "run")] == ["best", *written]
    assert list_checkpoints(tmp_path / "none") == []


def test_charts_depend_on_axis_and_smoothing(tiny_run: Path) -> None:
    run = list_runs(tiny_run)

    async def main() -> list[list[Any]]:
        reader = RunReader()
        await reader.read(run)
        found = [await reader.charts(run, *options) for options in (("time", 0.0), ("games", 0.0), ("games", 0.9))]
        assert await reader.charts(run, "games", 0.9) is found[2]
        reader.close()
        return found

    time_, games, smoothed = (charts[0] for charts in asyncio.run(main()))
    assert [games["series"][0]["data"][i][0] for i in (0, -1)] == [1, 12]
    assert time_["xAxis"]["name"] == "seconds"
    assert smoothed["yAxis"]["name"].endswith("smoothed")
    assert smoothed["series"][0]["data"] != games["series"][0]["data"]


def test_one_run_has_a_reliability_diagram(tiny_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curve = Curve(name="games", xs=[10.0, 90.0], ys=[20.0, 80.0])
    chart = Chart(title="Reliability", x_label="predicted, %", y_label="points", curves=[curve])
    monkeypatch.setattr(runs_module, "reliability_chart", lambda folder: chart if folder == tiny_run else None)
    (run,) = list_runs(tiny_run)

    async def titles(*runs: RunEntry) -> list[str]:
        reader = RunReader()
        await reader.read(runs)
        charts = await reader.charts(runs, "games", 0.5)
        reader.close()
        if len(runs) == 1:
            assert charts[-1]["series"][0]["data"] == ((10.0, 20.0), (90.0, 80.0)), "it is not smoothed"
        return [str(options["title"]["text"]) for options in charts]

    assert asyncio.run(titles(run))[-1] == "Reliability"
    assert "Reliability" not in asyncio.run(titles(run, dataclasses.replace(run, name="copy")))


def test_a_run_without_an_event_is_no_problem(tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes((tiny_run / "config.toml").read_bytes())

    async def main() -> str:
        reader = RunReader()
        problem = await reader.read(await reader.list_runs(tmp_path))
        reader.close()
        return problem

    assert asyncio.run(main()) == ""


def test_settings_of_runs_and_their_differences(tiny_run: Path, tmp_path: Path) -> None:
    for name in ("a", "<b>"):
        shutil.copytree(tiny_run, tmp_path / name)
    edit_settings(tmp_path / "a", "learning_rate = ", "learning_rate = 0.5 # ")
    runs = list_runs(tmp_path)
    both = settings_html(runs, only_differences=True)
    assert re.findall("<td>([^<]*)</td>", both)[-1] == "0.5"
    assert both.count("<tr") == 2
    assert "&lt;b&gt;" in both
    assert "learner.<wbr>batch_<wbr>size" in settings_html(runs, only_differences=False)
    assert settings_html(runs[:1], only_differences=True).count('"learner.') >= 1
    assert settings_html(runs[:1] * 2, only_differences=True) == "<p>All settings are equal.</p>"
    unread = dataclasses.replace(runs[0], config=None)
    assert settings_html([unread], only_differences=True) == "<p>The settings cannot be read.</p>"
