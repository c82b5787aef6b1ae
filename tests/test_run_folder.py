"""The run folder and its checkpoints: what is written comes back, and what is damaged is said in a line or two."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import json
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import CheckpointError, ConfigError
from athenan_spiel.training import checkpoints, run_folder
from athenan_spiel.training.checkpoints import Checkpoint, Counters, Header, read_checkpoint, read_header, read_weights
from athenan_spiel.training.run_folder import RunFolder

GAME = "tic_tac_toe()"
CONFIG = TrainingConfig(matches=8)


def sample(matches: int = 0) -> Checkpoint:
    generator = np.random.default_rng(matches)
    generator.integers(7, size=3, dtype=np.int32)
    header = Header(
        game=GAME,
        config=CONFIG,
        outcome={"longest": 9, "exact": True},
        counters=Counters(matches=matches, rounds=3, seconds=1.5, evaluations=70, states_learned=30, evaluated_at=1),
        generators={"matches": generator.bit_generator.state},
    )
    weights = {"layer.weight": torch.arange(6.0).reshape(2, 3), "layer.bias": torch.tensor([1e-30, -0.0])}
    optimizer = {"state": {0: {"step": torch.tensor(3.0), "exp_avg": torch.ones(2)}}, "param_groups": [{"lr": 1e-3}]}
    replay = {"values": np.linspace(0, 1, 5, dtype=np.float32), "bits": np.arange(4, dtype=np.uint8)}
    return Checkpoint(header=header, weights=weights, optimizer=optimizer, replay=replay)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run with checkpoints after 4 and 8 matches."""
    folder = RunFolder(tmp_path / "run")
    with folder.locked():
        folder.require_new()
        folder.write_settings(GAME, CONFIG)
        folder.save(sample(4))
        folder.save(sample(8))
    return folder


def newest(folder: RunFolder) -> Path:
    path = folder.newest()
    assert path is not None
    return path


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 3)


def edit_state(path: Path, **changes: object) -> None:
    """As a hostile hand would: its checksum is right."""
    state = json.loads((path / "state.json").read_text())
    (path / "state.json").write_bytes(checkpoints.signed(state | changes))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_checkpoint_comes_back_as_it_was(folder: RunFolder) -> None:
    written, read = sample(8), folder.load()
    assert read is not None
    assert read.header == written.header
    assert {name: t.numpy().tobytes() for name, t in read.weights.items()} == {
        name: t.numpy().tobytes() for name, t in written.weights.items()
    }
    assert str(read.optimizer) == str(written.optimizer)
    assert read.replay.keys() == written.replay.keys()
    assert all(np.array_equal(read.replay[name], array) for name, array in written.replay.items())
    assert all(read.replay[name].dtype == array.dtype for name, array in written.replay.items())


def test_state_says_format_versions_and_checksums(folder: RunFolder) -> None:
    state = json.loads((newest(folder) / "state.json").read_text())
    assert state["version"] == 3
    assert {"athenan_spiel", "torch", "open_spiel", "numpy", "python"} <= state["libraries"].keys()
    assert state["sha256"].keys() == {"weights.safetensors", "optimizer.pt", "replay.npz"}
    assert state["game"] == GAME


def test_the_last_two_checkpoints_are_kept(folder: RunFolder) -> None:
    with folder.locked():
        folder.save(sample(1_000_000))
    assert [path.name for path in folder.checkpoints()] == ["000008", "1000000"]


def test_a_header_can_be_brought_up_to_date(folder: RunFolder) -> None:
    header = sample(8).header
    later = dataclasses.replace(header, counters=dataclasses.replace(header.counters, seconds=99.0))
    folder.save_header(newest(folder), later)
    read = folder.load()
    assert read is not None
    assert read.header == later
    assert sorted(path.name for path in newest(folder).iterdir()) == [
        "optimizer.pt",
        "replay.npz",
        "state.json",
        "weights.safetensors",
    ]


@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer.pt", "replay.npz"])
def test_a_truncated_file_is_noticed_and_the_older_checkpoint_named(folder: RunFolder, name: str) -> None:
    truncate(newest(folder) / name)
    with pytest.raises(CheckpointError) as error:
        folder.load()
    first, second = str(error.value).splitlines()
    assert "000008 is damaged" in first
    assert f"{name} (" in first
    assert "does not match its checksum" in first
    assert second.endswith("000004 is whole: remove 000008 to go on from there")
    shutil.rmtree(newest(folder))
    read = folder.load()
    assert read is not None
    assert read.header.counters.matches == 4


def test_a_truncated_state_is_noticed(folder: RunFolder) -> None:
    truncate(newest(folder) / "state.json")
    with pytest.raises(CheckpointError, match=r"state.json is not valid JSON \(\d+ bytes: .*\); it may be truncated"):
        folder.load()


def test_where_no_checkpoint_is_whole_none_is_named(folder: RunFolder) -> None:
    for path in folder.checkpoints():
        truncate(path / "replay.npz")
    with pytest.raises(CheckpointError) as error:
        folder.load()
    assert len(str(error.value).splitlines()) == 1


def test_a_missing_file_is_noticed(folder: RunFolder) -> None:
    (newest(folder) / "optimizer.pt").unlink()
    with pytest.raises(CheckpointError, match=r"optimizer.pt cannot be read \(No such file or directory\)"):
        read_checkpoint(newest(folder))
    (newest(folder) / "state.json").unlink()
    with pytest.raises(CheckpointError, match=r"state.json cannot be read"):
        read_header(newest(folder))


@pytest.mark.parametrize("content", ["[]", "{}", '{"format": "another program"}'])
def test_a_foreign_checkpoint_is_refused(folder: RunFolder, content: str) -> None:
    (newest(folder) / "state.json").write_text(content)
    with pytest.raises(CheckpointError, match="was not written by athenan_spiel"):
        read_header(newest(folder))


@pytest.mark.parametrize("version", [4, None, "1"])
def test_a_newer_format_is_refused(folder: RunFolder, version: object) -> None:
    edit_state(newest(folder), version=version)
    with pytest.raises(
        CheckpointError, match=r"has format version .*, and this athenan_spiel .* reads up to 3: install"
    ):
        read_header(newest(folder))


@pytest.mark.parametrize(
    "change",
    [
        {"counters": {"unknown": 1}},
        {"counters": 3},
        {"counters": {"matches": "six"}},
        {"counters": {"matches": -1}},
        {"counters": {"matches": True}},
        {"counters": {"seconds": 1e300}},
        {"counters": {"matches": 10**400}},
        {"config": {"seconds": 10**400}},
        {"config": {"seed": -1}},
        {"config": {"unknown": 1}},
        {"config": 3},
        {"game": 3},
        {"outcome": 3},
        {"generators": []},
    ],
)
def test_unexpected_content_is_damage(folder: RunFolder, change: dict[str, object]) -> None:
    edit_state(newest(folder), **change)
    with pytest.raises(CheckpointError, match=r"state.json has unexpected content"):
        read_header(newest(folder))


@pytest.mark.parametrize("sums", [None, {}, {"weights.safetensors": 3}])
def test_missing_checksums_are_damage(folder: RunFolder, sums: object) -> None:
    edit_state(newest(folder), sha256=sums)
    with pytest.raises(CheckpointError, match="does not match its checksum"):
        read_weights(newest(folder))


def test_nothing_is_unpickled(folder: RunFolder, tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    path = newest(folder)
    torch.save({"state": Trap()}, path / "optimizer.pt")
    np.savez(path / "replay.npz", values=np.array([Trap()], dtype=object))
    sums = {name: sha256(path / name) for name in ("weights.safetensors", "optimizer.pt", "replay.npz")}
    edit_state(path, sha256=sums)
    with pytest.raises(CheckpointError, match=r"optimizer.pt has unexpected content"):
        read_checkpoint(path)
    torch.save({}, path / "optimizer.pt")
    edit_state(path, sha256=sums | {"optimizer.pt": sha256(path / "optimizer.pt")})
    with pytest.raises(CheckpointError, match=r"replay.npz has unexpected content"):
        read_checkpoint(path)
    (path / "weights.safetensors").write_bytes(b"no tensors")
    edit_state(path, sha256={"weights.safetensors": sha256(path / "weights.safetensors")})
    with pytest.raises(CheckpointError, match=r"weights.safetensors has unexpected content"):
        read_weights(path)
    assert not (tmp_path / "sprung").exists()


def test_each_flipped_bit_of_the_state_is_noticed(folder: RunFolder) -> None:
    """One in `matches` made a resumed run cut its metrics and go on from a state that never was."""
    path = newest(folder) / "state.json"
    whole, header = path.read_bytes(), read_header(newest(folder))
    rng = np.random.default_rng(0)
    noticed = 0
    for bit in rng.choice(8 * len(whole), 1000, replace=False).tolist():
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bytes(changed))
        try:
            assert read_header(newest(folder)) == header, "white space alone may change"
        except CheckpointError:
            noticed += 1
    assert noticed > 900


def test_a_checkpoint_under_another_number_is_damaged(folder: RunFolder) -> None:
    newest(folder).rename(folder.checkpoints_path / "000009")
    with pytest.raises(CheckpointError, match=r"after 8 matches, and its name says 9\n.*000004 is whole"):
        folder.load()


def odd_things(place: Path, secret: Path) -> Iterator[str]:
    """Put at `place` in turn what is neither file nor folder of the run."""
    makers: dict[str, Callable[[], object]] = {
        "link": lambda: place.symlink_to(secret),
        "link to a folder": lambda: place.symlink_to(secret.parent),
        "dangling link": lambda: place.symlink_to(secret.parent / "nowhere"),
        "FIFO": lambda: os.mkfifo(place),
        "device": lambda: place.symlink_to("/dev/zero"),
    }
    for kind, make in makers.items():
        make()
        yield kind
        place.unlink(missing_ok=True)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file outside of the run's folder, with a name that a run has, too."""
    path = tmp_path / "elsewhere" / "state.json"
    path.parent.mkdir()
    path.write_text('{"event": "match_finished", "matches": 99}\n')
    return path


IN_A_CHECKPOINT = ("state.json", "weights.safetensors", "optimizer.pt", "replay.npz")


@pytest.mark.parametrize(
    "name",
    [
        *("config.toml", "metrics.jsonl", ".lock", "tensorboard", "checkpoints", "checkpoints/000008"),
        *(f"checkpoints/000008/{name}" for name in IN_A_CHECKPOINT),
    ],
)
def test_nothing_in_a_run_is_followed_out_of_it(folder: RunFolder, secret: Path, tmp_path: Path, name: str) -> None:
    place = folder.path / name
    if place.exists():
        place.rename(tmp_path / "away")
    before = [(path, path.lstat().st_mtime_ns) for path in sorted(secret.parent.rglob("*"))]
    for kind in odd_things(place, secret):
        said, loaded = "", None
        try:
            with folder.locked():
                folder.settings()
                loaded = folder.load()
        except CheckpointError as error:
            said = str(error)
        assert len(said.splitlines()) <= 2, kind
        assert bool(said) == (name != "checkpoints/000008"), kind
        if loaded is not None:
            assert loaded.header.counters.matches == 4, "what is no folder of a checkpoint is none"
        assert [(path, path.lstat().st_mtime_ns) for path in sorted(secret.parent.rglob("*"))] == before, kind


@pytest.mark.parametrize("name", [".writing-x", "checkpoints/.writing-000012", "checkpoints/.writing-replaced-000008"])
def test_a_link_in_place_of_what_is_unfinished_is_removed_and_not_followed(
    folder: RunFolder, secret: Path, name: str
) -> None:
    for _ in odd_things(folder.path / name, secret):
        with folder.locked():
            assert not os.path.lexists(folder.path / name)
    for _ in odd_things(folder.checkpoints_path / ".writing-000012", secret):
        shutil.rmtree(folder.checkpoints_path / "000012", ignore_errors=True)
        folder.save(sample(12))
    assert secret.exists()


def test_metrics_that_are_a_file_elsewhere_as_well_are_refused(folder: RunFolder, secret: Path) -> None:
    os.link(secret, folder.metrics_path)
    with pytest.raises(CheckpointError, match=r"metrics.jsonl: it is the same file as one elsewhere"), folder.locked():
        pass


@pytest.mark.parametrize("name", [*IN_A_CHECKPOINT, "config.toml"])
def test_no_file_is_believed_in_size(folder: RunFolder, name: str) -> None:
    os.truncate((folder.path if name == "config.toml" else newest(folder)) / name, 10**13)  # of holes
    with pytest.raises(CheckpointError, match=r"bytes, more than the [\d,]+ that are read"):
        folder.settings() if name == "config.toml" else folder.load()


def full_disk(*arguments: object, **options: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    "broken", ["os.fsync", "numpy.savez", "json.dumps", "pathlib.Path.rename", "pathlib.Path.mkdir"]
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
    with pytest.raises(ConfigError, match=r"run/config.toml, line \d+: evaluation.depth is not a setting"):
        folder.settings()
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(CheckpointError, match=r"config.toml cannot be read"):
        folder.settings()


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"expected the folder of a run, got '.*nowhere', which is no folder"):
        RunFolder(tmp_path / "nowhere").require_run()
    with pytest.raises(CheckpointError, match=r"which has no config.toml"):
        RunFolder(tmp_path).require_run()


def test_a_run_is_never_written_over(folder: RunFolder) -> None:
    with folder.locked(), pytest.raises(CheckpointError, match="holds a run already: resume it"):
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
        ready.wait(60)
        multiprocessing.Event().wait(60)


def test_two_processes_cannot_train_in_one_folder_and_a_kill_frees_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    other = context.Process(target=hold, args=(tmp_path, ready))
    other.start()
    try:
        assert ready.wait(60)
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
    return [name if {"optimizer.pt", "replay.npz"} <= files else f"({name})" for name, files in names]


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
    with pytest.raises(CheckpointError, match="as in a finished experiment or a milestone: it can be played"):
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
