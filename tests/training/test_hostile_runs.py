"""A run's folder from elsewhere: nothing in it is followed out of it, waited for, or believed in size."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from run_folders import newest, sample, two_checkpoints
from training_runs import edit_settings

from athenan_spiel.errors import AthenanError, CheckpointError, ConfigError
from athenan_spiel.training import resume
from athenan_spiel.training.run_folder import RunFolder

pytestmark = pytest.mark.slow(reason="tries hostile run folders")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return two_checkpoints(tmp_path / "run")


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


IN_A_CHECKPOINT = ("state.json", "weights.safetensors", "optimizer.safetensors", "replay.safetensors")


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
        assert said, kind
        assert loaded is None, kind
        assert [(path, path.lstat().st_mtime_ns) for path in sorted(secret.parent.rglob("*"))] == before, kind


@pytest.mark.parametrize("name", [".writing-x", "checkpoints/.writing-000012", "checkpoints/.writing-replaced-000008"])
def test_a_link_in_place_of_what_is_unfinished_is_removed_and_not_followed(
    folder: RunFolder, secret: Path, name: str
) -> None:
    for _ in odd_things(folder.path / name, secret):
        with folder.locked():
            assert os.path.lexists(folder.path / name), "the lock changes nothing"
            folder.remove_leftovers()
            assert not os.path.lexists(folder.path / name)
    for _ in odd_things(folder.checkpoints_path / ".writing-000012", secret):
        shutil.rmtree(folder.checkpoints_path / "000012", ignore_errors=True)
        folder.save(sample(12))
    assert secret.exists()


def test_what_is_put_aside_takes_no_name_that_is_there(folder: RunFolder, secret: Path) -> None:
    for kind in odd_things(folder.checkpoints_path / "aside-000008", secret):
        with folder.locked():
            folder.archive_newer(4)
        names = sorted(path.name for path in folder.checkpoints_path.iterdir())
        assert names == ["000004", "aside-000008", "aside-000008-2"], kind
        assert [path.name for path in folder.checkpoints()] == ["000004"], "what is aside is no checkpoint"
        (folder.checkpoints_path / "aside-000008-2").rename(folder.checkpoints_path / "000008")
    assert secret.exists()


@pytest.mark.parametrize("number", [10**18, -1, 8.0, "aside-000008", "../../elsewhere"])
def test_a_run_goes_on_from_numbers_alone(folder: RunFolder, number: Any) -> None:
    with pytest.raises(AthenanError) as raised:
        resume(folder.path, checkpoint=number)
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("bytes_", [64_000_000_000, 2_000_000_000])
def test_no_more_workers_are_begun_than_the_machine_has_memory_for(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_: int
) -> None:
    """Each is a process of hundreds of megabytes, and a file from elsewhere may ask for a thousand."""
    monkeypatch.setattr("athenan_spiel.training.preflight.memory", lambda: bytes_)
    shutil.copytree(tiny_run, tmp_path / "run")
    edit_settings(tmp_path / "run", "[workers]\ncount = 0", "[workers]\ncount = 1000")
    before = (tmp_path / "run" / "config.toml").read_text()
    with pytest.raises(ConfigError, match=rf"workers.count must be at most {bytes_ // 700_000_000}, .* got 1000"):
        resume(tmp_path / "run", more_matches=2)
    assert (tmp_path / "run" / "config.toml").read_text() == before
    assert resume(tmp_path / "run", more_matches=2, workers=0).config.workers.count == 0


def test_metrics_that_are_a_file_elsewhere_as_well_are_refused(folder: RunFolder, secret: Path) -> None:
    os.link(secret, folder.metrics_path)
    with pytest.raises(CheckpointError, match=r"metrics.jsonl: it is the same file as one elsewhere"), folder.locked():
        pass


@pytest.mark.parametrize("name", [*IN_A_CHECKPOINT, "config.toml"])
def test_no_file_is_believed_in_size(folder: RunFolder, name: str) -> None:
    os.truncate((folder.path if name == "config.toml" else newest(folder)) / name, 10**13)  # of holes
    with pytest.raises(CheckpointError, match=r"bytes, more than the [\d,]+ that are read"):
        folder.settings() if name == "config.toml" else folder.load()
