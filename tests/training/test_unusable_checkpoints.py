"""Resuming a run whose newest checkpoint cannot be used: it is refused, and nothing in the folder changes."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from run_folders import edit_state, truncate
from training_runs import TIC_TAC_TOE, TINY, state_of

from athenan_spiel.cli.main import main
from athenan_spiel.errors import CheckpointError
from athenan_spiel.training import load_agent, resume, train
from athenan_spiel.training.run_folder import RunFolder

pytestmark = pytest.mark.slow(reason="tries unusable checkpoints")

NEWEST = Path("checkpoints") / "000012"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 12 games with whole checkpoints after 9 and 12, and networks of milestones before them."""
    config = dataclasses.replace(TINY, milestone_matches=3)
    return train(TIC_TAC_TOE, config, tmp_path_factory.mktemp("finished") / "ttt").folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of the run, with the leftovers of a kill."""
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    assert [path.name for path in RunFolder(folder).checkpoints()][-2:] == ["000009", "000012"]
    shutil.copytree(folder / NEWEST, folder / "checkpoints" / ".writing-000015")
    (folder / ".writing-config.toml").write_text("game = ")
    return folder


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Kind and content of everything in a folder; no link is followed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        content = os.readlink(path).encode() if stat.S_ISLNK(mode) else path.read_bytes() if stat.S_ISREG(mode) else b""
        found[str(path.relative_to(folder))] = stat.S_IFMT(mode), content
    return found


def away(path: Path) -> Path:
    """Where `replaced` puts what was at `path`: beside the run's folder."""
    return next(parent for parent in path.parents if parent.name == "run").parent / "away"


def replaced(path: Path, make: Callable[[Path], object]) -> None:
    """Move `path` out of the run's folder, and put there what `make` makes."""
    path.rename(away(path))
    make(path)


KINDS: dict[str, Callable[[Path], object]] = {
    "link": lambda path: path.symlink_to(away(path)),
    "dangling link": lambda path: path.symlink_to(away(path) / "nowhere"),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "FIFO": os.mkfifo,
    "socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "file": lambda path: path.write_text("{}"),
    "empty folder": lambda path: path.mkdir(),
}
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    **{
        f"the newest is a {kind}": (
            lambda run, make=make: replaced(run / NEWEST, make),
            f"checkpoint .*000012 is damaged: {'state.json cannot be read' if kind == 'empty folder' else 'it is'}",
        )
        for kind, make in KINDS.items()
    },
    **{
        f"{name} is a {kind}": (
            lambda run, name=name, make=make: replaced(run / NEWEST / name, make),
            rf"checkpoint .*000012 is damaged: {name} ",
        )
        for name in ("state.json", "weights.safetensors", "optimizer.safetensors", "replay.safetensors")
        for kind, make in KINDS.items()
        if (name, kind) != ("state.json", "file")
    },
    **{
        f"{name} is missing": (lambda run, name=name: (run / NEWEST / name).unlink(), rf"is damaged: {name} cannot")
        for name in ("state.json", "weights.safetensors", "optimizer.safetensors", "replay.safetensors")
    },
    **{
        f"{name} is cut": (lambda run, name=name: truncate(run / NEWEST / name), rf"is damaged: {name} ")
        for name in ("state.json", "weights.safetensors", "optimizer.safetensors", "replay.safetensors")
    },
    "state.json is another object": (lambda run: (run / NEWEST / "state.json").write_text("{}"), "not written by"),
    "counters are a text": (lambda run: edit_state(run / NEWEST, counters="many"), "has unexpected content"),
    "games are a text": (lambda run: edit_state(run / NEWEST, counters={"matches": "12"}), "has unexpected content"),
    "the format is newer": (lambda run: edit_state(run / NEWEST, version=99), "format version 99"),
    "checkpoints is a link": (lambda run: replaced(run / "checkpoints", KINDS["link"]), "checkpoints: it is a link"),
    "checkpoints is a FIFO": (lambda run: replaced(run / "checkpoints", os.mkfifo), "checkpoints: it is no folder"),
    "checkpoints is a file": (
        lambda run: replaced(run / "checkpoints", KINDS["file"]),
        "checkpoints: it is no folder",
    ),
    "checkpoints is empty": (
        lambda run: replaced(run / "checkpoints", KINDS["empty folder"]),
        "has no checkpoint, but metrics.jsonl records games: put its checkpoints folder back, or begin a new run",
    ),
    "checkpoints is missing": (
        lambda run: (run / "checkpoints").rename(run.parent / "away"),
        "has no checkpoint, but metrics.jsonl records games",
    ),
    "checkpoints and metrics are missing": (
        lambda run: ((run / "checkpoints").rename(run.parent / "away"), (run / "metrics.jsonl").unlink()),
        "has no checkpoint, but metrics.jsonl is missing",
    ),
    "checkpoints is missing and metrics have an endless line": (
        lambda run: ((run / "checkpoints").rename(run.parent / "away"), os.truncate(run / "metrics.jsonl", 2**30)),
        "has no checkpoint, but metrics.jsonl ",
    ),
    "checkpoints is missing and there is a best network": (
        lambda run: (
            (run / "checkpoints").rename(run / "best"),
            (run / "metrics.jsonl").write_text('{"event": "run_started", "matches": 0}\n'),
        ),
        "has no checkpoint, but it has a best network",
    ),
    "config.toml is missing": (lambda run: (run / "config.toml").unlink(), "which has no config.toml"),
    "config.toml is a FIFO": (lambda run: replaced(run / "config.toml", os.mkfifo), "which has no config.toml"),
    "config.toml is a link": (lambda run: replaced(run / "config.toml", KINDS["link"]), "it is a link"),
    "metrics.jsonl is a link": (lambda run: replaced(run / "metrics.jsonl", KINDS["link"]), "it is a link"),
    "metrics.jsonl is a FIFO": (lambda run: replaced(run / "metrics.jsonl", os.mkfifo), "it is no regular file"),
    "metrics.jsonl has an endless line": (
        lambda run: os.truncate(run / "metrics.jsonl", 2**30),
        "it has a line of 1,048,576 bytes or more: move it away",
    ),
    "tensorboard is a link": (lambda run: replaced(run / "tensorboard", KINDS["link"]), "tensorboard: it is a link"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_cannot_be_resumed_is_refused_and_nothing_changes(
    run: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change, problem = DAMAGES[damage]
    change(run)
    before = snapshot(run)
    with pytest.raises(CheckpointError, match=problem) as raised:
        resume(run, more_matches=3)
    assert snapshot(run) == before
    assert main(["resume", str(run), "--matches", "3", "--memory", "4g"]) == 2
    assert capsys.readouterr().err == f"athenan resume: {raised.value}\n"
    assert len(str(raised.value).splitlines()) <= 2
    assert snapshot(run) == before


@pytest.mark.parametrize("kind", KINDS)
def test_the_older_checkpoint_that_the_refusal_names_continues_the_run(
    run: Path, kind: str, capsys: pytest.CaptureFixture[str], uninterrupted: dict[str, object]
) -> None:
    replaced(run / NEWEST, KINDS[kind])
    outside = snapshot(run.parent / "away")
    assert main(["resume", str(run)]) == 2
    second = capsys.readouterr().err.splitlines()[1]
    assert second.endswith(f"continue from there with athenan resume {run} --from 9")
    assert main(second.split("athenan ")[1].split(" ")) == 0
    assert state_of(run / NEWEST) == uninterrupted
    assert os.path.lexists(run / "checkpoints" / "aside-000012")
    assert snapshot(run.parent / "away") == outside
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    games = [line["matches"] for line in lines if line["event"] == "match_finished"]
    assert games == list(range(1, 13))


@pytest.fixture
def uninterrupted(finished: Path) -> dict[str, object]:
    return state_of(finished / NEWEST)


@pytest.mark.parametrize("kind", KINDS)
def test_an_agent_does_not_play_an_older_checkpoint_in_silence(run: Path, kind: str) -> None:
    replaced(run / NEWEST, KINDS[kind])
    with pytest.raises(CheckpointError, match=r"checkpoints.000012 is "):
        load_agent(run)
    assert load_agent(run, checkpoint=9) is not None


def test_an_agent_says_that_checkpoints_are_lost(run: Path) -> None:
    replaced(run / "checkpoints", KINDS["empty folder"])
    with pytest.raises(CheckpointError, match=r"has no checkpoint, but metrics.jsonl records games"):
        load_agent(run)


def test_a_link_among_old_checkpoints_is_neither_followed_nor_counted(run: Path) -> None:
    """Removing old checkpoints leaves what a link leads to."""
    shutil.copytree(run / NEWEST, run.parent / "away")
    (run / "checkpoints" / "000002").symlink_to(run.parent / "away")
    outside = snapshot(run.parent / "away")
    resume(run, more_matches=6)
    assert [path.name for path in RunFolder(run).checkpoints()][-2:] == ["000015", "000018"]
    assert (run / "checkpoints" / "000002").is_symlink()
    assert snapshot(run.parent / "away") == outside


def test_a_checkpoint_that_is_newer_than_the_metrics_continues_with_a_warning(
    run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    metrics = run / "metrics.jsonl"
    lines = metrics.read_text().splitlines(keepends=True)
    metrics.write_text("".join(line for line in lines if json.loads(line)["matches"] <= 6))
    assert resume(run, more_matches=3).matches == 15
    assert "contains 6 of the 12 games that the checkpoint counts" in caplog.text


def test_the_refusal_names_a_way_to_begin_a_new_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replaced(run / "checkpoints", KINDS["empty folder"])
    assert main(["resume", str(run)]) == 2
    words = capsys.readouterr().err.split("athenan ")[-1].strip().replace("GAME", "tic_tac_toe").split(" ")
    assert main([*words, "--folder", str(run.parent / "new"), "--quiet"]) == 0
    assert RunFolder(run.parent / "new").newest() is not None
