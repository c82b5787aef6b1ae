"""A run's folder on disk: `config.toml`, `metrics.jsonl`, `tensorboard/` and `checkpoints/`.

What is under its final name is whole (see `checkpoints`). The last good checkpoint stays until the next one is whole;
then those before the last two are removed. One process at a time may train in a folder: it holds a lock that the
system drops when the process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import CheckpointError
from athenan_spiel.training.checkpoints import (
    UNFINISHED,
    Checkpoint,
    Header,
    read_checkpoint,
    replace_durably,
    rewrite_header,
    write_checkpoint,
)
from athenan_spiel.training.settings_file import settings_from_toml, settings_to_toml

CONFIG = "config.toml"
LOCK = ".lock"
KEPT = 2
"""Checkpoints kept: the newest, and one to fall back on should the disk damage it."""


class RunFolder:
    """The folder of a run; reading needs no lock, writing does.

    Args:
        path: the folder, which need not exist yet.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.checkpoints_path = self.path / "checkpoints"
        self.metrics_path = self.path / "metrics.jsonl"
        self.tensorboard_path = self.path / "tensorboard"

    def require_run(self) -> RunFolder:
        """Return this folder if a run is in it.

        Raises:
            CheckpointError: there is no such folder, or it is not a run.
        """
        if not self.path.is_dir():
            raise CheckpointError(f"expected the folder of a run, got {str(self.path)!r}, which is no folder")
        if not (self.path / CONFIG).is_file():
            raise CheckpointError(
                f"expected the folder of a run, got {str(self.path)!r}, which has no {CONFIG}: "
                "name a folder that training has made"
            )
        return self

    def require_new(self) -> None:
        """Check that a new run can have this folder, which is then made one by `write_settings`.

        Raises:
            CheckpointError: the folder holds a run or anything else already.
        """
        if not self.path.is_dir():
            return
        if (self.path / CONFIG).exists():
            raise CheckpointError(f"{str(self.path)!r} holds a run already: resume it, or choose another folder")
        if others := [item.name for item in self.path.iterdir() if item.name != LOCK and not _is_unfinished(item)]:
            raise CheckpointError(
                f"expected a new or empty folder for the run, got {str(self.path)!r}, "
                f"which holds {sorted(others)[0]!r}: choose another"
            )

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only process that writes here; the folder is made if need be, leftovers of a kill are removed.

        Raises:
            CheckpointError: another process trains in this folder, or it cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise CheckpointError(f"the run folder {str(self.path)!r} cannot be written: {error.strerror}") from None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CheckpointError(
                    f"another process is training in {str(self.path)!r}: wait for it, stop it, or choose another folder"
                ) from None
            for leftover in [*self.path.glob(f"{UNFINISHED}*"), *self.checkpoints_path.glob(f"{UNFINISHED}*")]:
                shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
            yield
        finally:
            os.close(descriptor)

    def settings(self) -> tuple[str, TrainingConfig]:
        """The game's string and the settings in `config.toml`.

        Raises:
            ConfigError: they cannot be understood.
            CheckpointError: the file cannot be read.
        """
        path = self.path / CONFIG
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CheckpointError(f"{path} cannot be read: {error}") from None
        return settings_from_toml(text, str(path))

    def write_settings(self, game: str, config: TrainingConfig) -> None:
        """Write `config.toml`, old or new at any moment.

        Raises:
            CheckpointError: it could not be written.
        """
        try:
            replace_durably(self.path / CONFIG, settings_to_toml(game, config).encode())
        except OSError as error:
            raise CheckpointError(f"{self.path / CONFIG} could not be written: {error.strerror}") from None

    def checkpoints(self) -> list[Path]:
        """The checkpoints, oldest first."""
        names = [item for item in self.checkpoints_path.glob("*") if item.name.isdecimal() and item.is_dir()]
        return sorted(names, key=lambda item: int(item.name))

    def newest(self) -> Path | None:
        """The newest checkpoint."""
        return next(reversed(self.checkpoints()), None)

    def load(self) -> Checkpoint | None:
        """The newest checkpoint, or None where the run has none yet.

        A damaged one is never passed over in silence: the error names the older one that is whole, if there is one.

        Raises:
            CheckpointError: the newest checkpoint is damaged, foreign or of a newer format.
        """
        paths = self.checkpoints()
        if not paths:
            return None
        try:
            return read_checkpoint(paths[-1])
        except CheckpointError as error:
            whole = next(filter(_is_whole, reversed(paths[:-1])), None)
            if whole is None:
                raise
            raise CheckpointError(f"{error}\n{whole} is whole: remove {paths[-1].name} to go on from there") from None

    def save(self, checkpoint: Checkpoint) -> Path:
        """Write a checkpoint, then remove those before the last two; returns its path.

        Raises:
            CheckpointError: it could not be written; those before it are still there.
        """
        try:
            path = write_checkpoint(self.checkpoints_path, checkpoint)
        except OSError as error:
            raise self._not_written(error) from error
        for old in self.checkpoints()[:-KEPT]:
            shutil.rmtree(old, ignore_errors=True)  # what stays is tried again at the next checkpoint
        return path

    def save_header(self, path: Path, header: Header) -> None:
        """Bring the header of the checkpoint `path` up to date where all else in it still holds.

        Raises:
            CheckpointError: it could not be written; the old header is still there.
        """
        try:
            rewrite_header(path, header)
        except OSError as error:
            raise self._not_written(error) from error

    def _not_written(self, error: OSError) -> CheckpointError:
        newest = self.newest()
        kept = f"{newest} is kept" if newest is not None else "there is no earlier one"
        return CheckpointError(
            f"no checkpoint could be written to {self.checkpoints_path}: {error.strerror or error}; {kept}: "
            "make room and resume"
        )


def _is_whole(path: Path) -> bool:
    try:
        read_checkpoint(path)
    except CheckpointError:
        return False
    return True


def _is_unfinished(path: Path) -> bool:
    return path.name.startswith(UNFINISHED)
