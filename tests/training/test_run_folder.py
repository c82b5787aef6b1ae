"""The run folder and its checkpoints: what is written comes back, and what is damaged is said in a line or two."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import multiprocessing
import os
import shutil
from pathlib import Path

import pytest
from clocks import HANG_SECONDS
from run_folders import CONFIG, GAME, newest, sample, two_checkpoints

from athenan_spiel.errors import CheckpointError, ConfigError
from athenan_spiel.training import checkpoints, run_folder
from athenan_spiel.training.checkpoints import Checkpoint, read_checkpoint, read_header, read_weights
from athenan_spiel.training.run_folder import RunFolder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return two_checkpoints(tmp_path / "run")


def test_the_last_two_checkpoints_are_kept(folder: RunFolder) -> None:
    with folder.locked():
        folder.save(sample(1_000_000))
    assert [path.name for path in folder.checkpoints()] == ["000008", "1000000"]


def full_disk(*arguments: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    "broken",
    [
        "os.fsync",
        "athenan_spiel.training.checkpoints.write_arrays",
        "json.dumps",
        "pathlib.Path.rename",
        "pathlib.Path.mkdir",
    ],
)
def test_a_full_disk_loses_nothing(folder: RunFolder, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    monkeypatch.setattr(broken, full_disk)
    with pytest.raises(CheckpointError) as error:
        folder.save(sample(12))
    monkeypatch.undo()
    assert "No space left on device" in str(error.value)
    assert f"{newest(folder)} is kept: make room and resume" in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    assert [path.name for path in folder.checkpoints_path.iterdir()] == ["000004", "000008"]
    read = folder.load()
    assert read is not None
    assert read.header == sample(8).header


def test_a_full_disk_at_the_first_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = RunFolder(tmp_path)
    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(CheckpointError, match="there is no earlier one"):
        folder.save(sample(0))
    with pytest.raises(CheckpointError, match=r"config.toml could not be written: No space left on device"):
        folder.write_settings(GAME, CONFIG)
    assert list(tmp_path.iterdir()) == [tmp_path / "checkpoints"]


def test_a_full_disk_leaves_the_old_header(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(CheckpointError, match="No space left on device"):
        folder.save_header(newest(folder), sample(4).header)
    assert read_header(newest(folder)) == sample(8).header
    assert not list(newest(folder).glob(".writing*"))


@pytest.mark.parametrize("step", range(13))
def test_a_kill_at_any_step_of_writing_leaves_a_whole_checkpoint(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Each flush, rename and removal in turn becomes the last thing that the process did."""
    before, done = [path.name for path in folder.checkpoints()], 0

    class KilledError(BaseException):
        pass

    def until_killed(name: str) -> None:
        module, _, function = name.rpartition(".")
        original = getattr({"os": os, "shutil": shutil, "Path": Path}[module], function)

        def stepping(*arguments: object, **options: object) -> object:
            nonlocal done
            if done >= step:
                raise KilledError
            done += 1
            return original(*arguments, **options)

        monkeypatch.setattr({"os": os, "shutil": shutil, "Path": Path}[module], function, stepping)

    for name in ("os.fsync", "os.open", "shutil.rmtree", "Path.rename", "Path.mkdir"):
        until_killed(name)
    with contextlib.suppress(KilledError):
        folder.save(sample(12))
    monkeypatch.undo()
    with folder.locked():
        folder.remove_leftovers()
        names = [path.name for path in folder.checkpoints_path.iterdir()]
        assert not [name for name in names if name.startswith(".writing")], "leftovers are removed under the lock"
    after = [path.name for path in folder.checkpoints()]
    assert after in (before, [*before, "000012"], ["000008", "000012"])
    assert folder.load() is not None


def test_the_settings_are_kept_as_they_are(folder: RunFolder) -> None:
    assert folder.settings() == (GAME, CONFIG)


def test_wrong_settings_are_named_with_their_file(folder: RunFolder) -> None:
    path = folder.path / "config.toml"
    path.write_text(path.read_text() + "\ndepth = 3\n")
    with pytest.raises(ConfigError, match=r"run/config.toml, line \d+: memory.depth is not a setting"):
        folder.settings()
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError, match=r"config.toml cannot be read"):
        folder.settings()


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"expected the folder of a run, got '.*nowhere', which is not a folder"):
        RunFolder(tmp_path / "nowhere").require_run()
    with pytest.raises(CheckpointError, match=r"which has no config.toml"):
        RunFolder(tmp_path).require_run()


def test_a_run_is_never_written_over(folder: RunFolder) -> None:
    with folder.locked(), pytest.raises(CheckpointError, match="holds a run already: continue it with athenan resume"):
        folder.require_new()


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    folder = RunFolder(tmp_path)
    with folder.locked(), pytest.raises(CheckpointError, match=r"new or empty folder .* which holds 'thesis.tex'"):
        folder.require_new()


def test_a_run_killed_before_it_began_can_begin_again(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    (tmp_path / ".writing-config.toml").write_text("game = ")
    with folder.locked():
        folder.require_new()
        folder.write_settings(GAME, CONFIG)
    assert folder.load() is None
    assert folder.settings() == (GAME, CONFIG)


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="cannot be written: "), RunFolder(tmp_path / "file" / "run").locked():
        pass


def hold(path: Path, ready: multiprocessing.synchronize.Event) -> None:
    with RunFolder(path).locked():
        ready.set()
        ready.wait(HANG_SECONDS)
        multiprocessing.Event().wait(HANG_SECONDS)


def test_a_disk_without_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(CheckpointError, match="cannot be written: No locks available"), RunFolder(tmp_path).locked():
        pass


def test_two_processes_cannot_train_in_one_folder_and_a_kill_frees_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    other = context.Process(target=hold, args=(tmp_path, ready))
    other.start()
    try:
        assert ready.wait(HANG_SECONDS)
        with pytest.raises(CheckpointError, match="another process is training in"), RunFolder(tmp_path).locked():
            pass
    finally:
        other.kill()
        other.join()
    with RunFolder(tmp_path).locked():
        pass


def test_what_cannot_be_removed_does_not_hide_the_newest(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object, **options: object) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(run_folder.shutil, "rmtree", refused)
    monkeypatch.setattr(checkpoints.shutil, "rmtree", lambda path, ignore_errors=False: None)
    folder.save(sample(12))
    assert kept(folder) == ["000008", "000012"]
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", lambda path, to: refused() if path.name == "000008" else os.rename(path, to))
        folder.save(sample(16))
    assert kept(folder) == ["000008", "000012", "000016"]
    folder.save(sample(20))
    assert kept(folder) == ["000016", "000020"], "it is tried again"


def kept(folder: RunFolder) -> list[str]:
    """The checkpoints, those that keep no more than the network in brackets."""
    names = [(path.name, {file.name for file in path.iterdir()}) for path in folder.checkpoints()]
    assert all({"weights.safetensors", "state.json"} <= files for _, files in names)
    return [name if {"optimizer.safetensors", "replay.safetensors"} <= files else f"({name})" for name, files in names]


def with_settings(checkpoint: Checkpoint, **settings: int) -> Checkpoint:
    config = dataclasses.replace(CONFIG, **settings)
    return dataclasses.replace(checkpoint, header=dataclasses.replace(checkpoint.header, config=config))


def test_as_many_of_the_newest_checkpoints_are_kept_as_is_said(folder: RunFolder) -> None:
    for matches in range(12, 33, 4):
        folder.save(with_settings(sample(matches), keep=4))
    assert kept(folder) == ["000020", "000024", "000028", "000032"]
    folder.save(sample(36))
    assert kept(folder) == ["000032", "000036"]


def test_the_network_of_a_milestone_stays_for_good(folder: RunFolder) -> None:
    for matches in (12, 19, 21, 23, 31, 42, 44):
        folder.save(with_settings(sample(matches), milestone_matches=10))
    assert kept(folder) == ["(000012)", "(000021)", "(000031)", "000042", "000044"]
    milestone = folder.checkpoint(21)
    assert read_weights(milestone).keys() == sample(21).weights.keys()
    with pytest.raises(CheckpointError, match="as in a finished experiment or a milestone: it can play"):
        read_checkpoint(milestone)
    folder.save(sample(48))
    folder.save(sample(50))
    assert kept(folder) == ["(000012)", "(000021)", "(000031)", "000048", "000050"], "whatever the settings say later"


def test_a_checkpoint_has_a_number(folder: RunFolder) -> None:
    assert folder.checkpoint() == newest(folder)
    assert folder.checkpoint(4).name == "000004"
    with pytest.raises(CheckpointError) as error:
        folder.checkpoint(5)
    assert str(error.value).endswith("run', got 5: there are 4, 8")
    with pytest.raises(CheckpointError, match="got <a whole number of about 5001 digits>: there are 4, 8"):
        folder.checkpoint(10**5000)
    for matches in range(12, 50):
        folder.save(with_settings(sample(matches), keep=30))
    with pytest.raises(CheckpointError, match=r"there are 20 older ones, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49$"):
        folder.checkpoint(5)


def test_only_plain_numbers_are_checkpoints(folder: RunFolder) -> None:
    for name in ("٠٠٠٠٤٨", "48", "notes", "1" * 30):
        (folder.checkpoints_path / name).mkdir()
    assert [path.name for path in folder.checkpoints()] == ["000004", "000008"]
