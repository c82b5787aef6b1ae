"""Disks that are full or read-only, and clocks that are set back, under real runs."""

from __future__ import annotations

import functools
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from clocks import HANG_SECONDS
from real_runs import GAME, ROOT, SMALL, Command, count, of, rows, saved
from training_runs import TIC_TAC_TOE, TINY, state_of

from athenan_spiel.errors import CheckpointError
from athenan_spiel.training import load_agent, resume, train

pytestmark = pytest.mark.slow(reason="runs commands on full disks")

WORDS = ("train", GAME, "--matches", "100000", "--folder", "run", "--quiet", *SMALL)
ATHENAN = f"{sys.executable} -m athenan_spiel"


@functools.cache
def may_mount() -> bool:
    """Whether disks of one's own may be made here."""
    if shutil.which("unshare") is None:
        return False
    return (
        subprocess.run(["unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0
    )


def on_a_disk_of_its_own(script: str, place: Path) -> subprocess.CompletedProcess[str]:
    """Run a script of the shell that may mount what no other process sees."""
    if not may_mount():
        pytest.skip("no disks can be mounted here: user namespaces are not allowed")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = ["unshare", "-rm", "sh", "-c", script]
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS)


def words(*more: str) -> str:
    return " ".join(f"'{word}'" for word in (*WORDS, *more))


def test_a_full_disk_ends_the_run_with_a_line_and_it_goes_on_when_there_is_room(tmp_path: Path) -> None:
    done = on_a_disk_of_its_own(
        f"""
        mkdir disk && mount -t tmpfs -o size=400k none disk && cd disk || exit 99
        {ATHENAN} {words()} 2> said; echo $? > code
        mount -o remount,size=64m .
        {ATHENAN} resume run --matches 5 --quiet || exit 98
        cp -r . ../kept
        """,
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    said = (tmp_path / "kept" / "said").read_text()
    assert (tmp_path / "kept" / "code").read_text() == "2\n", said
    lines = [line for line in said.splitlines() if line.startswith("athenan")]
    assert len(lines) == 1
    assert "No space left on device" in lines[0]
    assert lines[0].endswith("make room and resume")
    assert "Traceback" not in said
    assert saved(tmp_path / "kept" / "run") == count("match_finished", tmp_path / "kept" / "run") > 5


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_file_that_may_not_grow_ends_the_run_with_a_line(tmp_path: Path, workers: str) -> None:
    most = 100_000
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (most, most))
    command = Command((*WORDS, "--workers", workers), tmp_path, before=limit)
    try:
        code, _ = command.end()
        command.until_alone()
    finally:
        command.close()
    assert code == 2, command.said
    assert "File too large" in command.said.splitlines()[-1]
    assert command.said.endswith("make room and resume\n")
    assert "Traceback" not in command.said
    before = saved(tmp_path / "run")
    assert before > 0
    assert resume(tmp_path / "run", more_matches=3, workers=0).matches == before + 3
    assert saved(tmp_path / "run") == before + 3


def test_shared_memory_that_is_full_is_a_line(tmp_path: Path) -> None:
    """A container has 64 MB of it, and who writes to what is not there is ended by SIGBUS, which says nothing."""
    done = on_a_disk_of_its_own(
        f"""
        mount -t tmpfs -o size=4k none /dev/shm || exit 99
        {ATHENAN} {words("--workers", "2")}
        """,
        tmp_path,
    )
    assert done.returncode == 2, done.stderr
    line = done.stderr.splitlines()[-1]
    assert "of shared memory (No space left on device): use fewer --workers, or make /dev/shm larger" in line


@pytest.mark.parametrize("full", ["disk", "shm"])
def test_a_training_that_is_refused_leaves_no_folder(full: str, tmp_path: Path) -> None:
    disk = "mount -t tmpfs -o size=16k none disk" if full == "disk" else "mount -t tmpfs -o size=4k none /dev/shm"
    more = ("--workers", "2") if full == "shm" else ()
    command = words(*more).replace("'run'", "'new/run'")
    done = on_a_disk_of_its_own(
        f"""
        mkdir disk && {disk} && cd disk || exit 99
        {ATHENAN} {command}; echo $? > ../code; ls -A > ../left
        """,
        tmp_path,
    )
    assert (tmp_path / "code").read_text() == "2\n", done.stderr
    assert (tmp_path / "left").read_text() == ""
    assert "Traceback" not in done.stderr


def test_what_a_folder_held_before_a_refusal_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise CheckpointError("no room")

    monkeypatch.setattr("athenan_spiel.training.loop.Session", refuse)
    (tmp_path / "there").mkdir()
    for folder in ("there", "new/run"):
        with pytest.raises(CheckpointError, match="no room"):
            train(TIC_TAC_TOE, TINY, tmp_path / folder)
    assert list(tmp_path.iterdir()) == [tmp_path / "there"]
    assert list((tmp_path / "there").iterdir()) == []
    (tmp_path / "there" / "mine").touch()
    with pytest.raises(CheckpointError, match="which holds 'mine'"):
        train(TIC_TAC_TOE, TINY, tmp_path / "there")
    assert [item.name for item in (tmp_path / "there").iterdir()] == ["mine"]


def test_a_read_only_run_is_played_but_not_gone_on_with(tiny_run: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_run, tmp_path / "run")
    done = on_a_disk_of_its_own(
        f"""
        mount --bind run run && mount -o remount,bind,ro run || exit 99
        touch run/x && exit 98
        {ATHENAN} eval run@2i --against random --matches 2 --json > told || exit 97
        {ATHENAN} resume run --matches 2
        """,
        tmp_path,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1] == (
        "athenan resume: the run folder 'run' cannot be written, run/.lock: Read-only file system"
    )
    assert '"matches": 2' in (tmp_path / "told").read_text()


def test_a_folder_without_permission_is_said(tiny_run: Path, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    (run / ".lock").unlink()
    run.chmod(0o500)
    try:
        with pytest.raises(CheckpointError, match=r"cannot be written, .*\.lock: Permission denied"):
            resume(run, more_matches=2)
        assert load_agent(run, seconds=0.01).step(TIC_TAC_TOE.new_initial_state()) in range(9)
    finally:
        run.chmod(0o700)


def test_a_clock_that_is_set_back_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each look at the time of day finds it an hour earlier; nothing is measured by it."""
    whole = train(TIC_TAC_TOE, TINY, tmp_path / "whole")
    moment = time.time()

    def earlier() -> float:
        nonlocal moment
        moment -= 3600
        return moment

    monkeypatch.setattr("time.time", earlier)
    monkeypatch.setattr("time.time_ns", lambda: int(earlier() * 1e9))
    run = train(TIC_TAC_TOE, TINY, tmp_path / "run", milestones=[0.75])
    resumed = resume(tmp_path / "run", checkpoint=9)
    assert state_of(run.checkpoint) == state_of(resumed.checkpoint) == state_of(whole.checkpoint)
    assert min(run.seconds, resumed.seconds) > 0
    assert all(value >= 0 for row in rows(tmp_path / "run") for name, value in row.items() if name.endswith("seconds"))


SET_BACK = """
import itertools, time
_hours, _time = itertools.count(), time.time
time.time = lambda: _time() - 3600 * next(_hours)
time.time_ns = lambda: int(time.time() * 1e9)
"""


def test_a_clock_set_back_does_not_affect_workers(tmp_path: Path) -> None:
    """Also in each worker: Python imports such a module as it begins."""
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock" / "sitecustomize.py").write_text(SET_BACK)
    environment = {"PYTHONPATH": str(tmp_path / "clock")}
    command = Command((*WORDS, "--matches", "60", "--workers", "2"), tmp_path, environment)
    try:
        code, _ = command.end()
        command.until_alone()
    finally:
        command.close()
    assert code == 0, command.said
    assert saved(tmp_path / "run") == 60
    assert all(value >= 0 for row in rows(tmp_path / "run") for name, value in row.items() if name.endswith("seconds"))
    assert of("round_finished", tmp_path / "run")[-1]["workers_lost"] == 0
