"""Run folder: `config.toml`, `metrics.jsonl`, `tensorboard/`, `checkpoints/` and perhaps `best/`.

Everything under its final name is complete (see `checkpoints`). The last good checkpoint is kept until the next one is
complete. Then old checkpoints are removed, except the newest `keep` and the networks of milestones. One process at a
time may train in a folder. It holds a lock that the system releases when the process ends.

The folder itself may be a link. Links inside it that lead out of it are not followed (see `system.files`).
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import AthenanError, CheckpointError, shown
from athenan_spiel.system.files import (
    UNFINISHED,
    is_folder,
    locked,
    read_toml,
    remove,
    replace_durably,
    require_file,
    require_folder,
)
from athenan_spiel.system.portable import watched_folder
from athenan_spiel.training.best import BEST, REPLACED, best_network, repair_best
from athenan_spiel.training.checkpoints import (
    OPTIMIZER,
    REPLAY,
    RESOLVED,
    Checkpoint,
    Counters,
    Header,
    damaged,
    read_checkpoint,
    read_header,
    rewrite_header,
    write_checkpoint,
)
from athenan_spiel.training.curves import METRICS, has_games
from athenan_spiel.training.settings_file import read_text, require_game, settings_to_toml

CONFIG = "config.toml"
LOCK = ".lock"
EVALUATING = "evaluating"
"""Folder of the network being evaluated."""
_NUMBER = re.compile(r"[0-9]{6,18}")
"""Name of a checkpoint: its number of games."""
ASIDE = "aside-"
"""Prefix of archived checkpoints."""
LISTED = 10
"""Maximum number of checkpoints listed in a message."""
_log = logging.getLogger(__name__)


class RunFolder:
    """Folder of a run. Writing requires the lock, reading doesn't.

    Args:
        path: the folder, which need not exist.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.checkpoints_path = self.path / "checkpoints"
        self.metrics_path = self.path / METRICS
        self.tensorboard_path = self.path / "tensorboard"
        self._is_kept: Callable[[], bool] | None = None

    def require_run(self) -> RunFolder:
        """Return this object if the folder contains a run.

        Raises:
            CheckpointError: the folder does not exist, or contains no run.
        """
        if not self.path.is_dir():
            raise CheckpointError(
                f"expected the folder of a run, got {str(self.path)!r}, which is not a folder", path=self.path
            )
        if not (self.path / CONFIG).is_file():
            raise CheckpointError(
                f"expected the folder of a run, got {str(self.path)!r}, which has no {CONFIG}: "
                "name a folder created by training",
                path=self.path,
            )
        return self

    def require_new(self) -> None:
        """Check that a new run can use this folder.

        Raises:
            CheckpointError: the folder is not empty.
        """
        if not self.path.is_dir():
            return
        if (self.path / CONFIG).exists():
            raise CheckpointError(
                f"{str(self.path)!r} holds a run already: continue it with {self._continuation()}, "
                "or choose another folder",
                path=self.path,
            )
        if others := [item.name for item in self.path.iterdir() if item.name != LOCK and not _is_unfinished(item)]:
            raise CheckpointError(
                f"expected a new or empty folder for the run, got {str(self.path)!r}, "
                f"which holds {sorted(others)[0]!r}: choose another",
                path=self.path,
            )

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Context in which only this process writes to the folder. Creates the folder and changes nothing in it.

        Raises:
            CheckpointError: another process is training in this folder, or it cannot be written.
        """
        with contextlib.ExitStack() as stack:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                self._require_no_links()
                stack.enter_context(locked(self.path / LOCK))
            except BlockingIOError:
                raise CheckpointError(
                    f"another process is training in {str(self.path)!r}: "
                    "wait for it, stop it, or choose another folder",
                    path=self.path,
                ) from None
            except OSError as error:
                raise self._not_usable(error) from None
            self._is_kept = stack.enter_context(watched_folder(self.path))
            try:
                yield
            finally:
                self._is_kept = None

    def remove_leftovers(self) -> None:
        """Remove unfinished files left by a killed process, and restore the best network.

        Call this with the lock held, after reading the checkpoint to resume from: if it cannot be read, an unfinished
        folder may be its last complete copy.

        Raises:
            CheckpointError: the folder cannot be written.
        """
        try:
            repair_best(self.path)
            unfinished = (*self.path.glob(f"{UNFINISHED}*"), *self.checkpoints_path.glob(f"{UNFINISHED}*"))
            for leftover in (*unfinished, self.path / EVALUATING):
                remove(leftover)
        except OSError as error:
            raise self._not_usable(error) from None

    def _continuation(self) -> str:
        """Returns the command that resumes the run; it adds time if the run has reached its limit."""
        command = f"athenan resume {shlex.quote(str(self.path))}"
        with contextlib.suppress(AthenanError):  # `resume` reports what can't be read
            newest, (_, config) = self.newest(), self.settings()
            counters = Counters() if newest is None else read_header(newest).counters
            if config.limit_reached(counters.matches, counters.seconds) is not None:
                return f"{command} --time 3m"
        return command

    def require_kept(self) -> None:
        """Check that the folder was not moved or deleted since it was locked. Call this before writing to it.

        Raises:
            CheckpointError: the folder was moved or deleted.
        """
        assert self._is_kept is not None, "locked"
        if not (self._is_kept() and (self.path / CONFIG).exists()):
            raise CheckpointError(
                f"the run's folder {str(self.path)!r} was moved or deleted during the run: "
                "everything learned since its last checkpoint is lost",
                path=self.path,
            )

    def settings(self) -> tuple[str, TrainingConfig]:
        """Returns the game string and the settings in `config.toml`. A custom outcome is not imported.

        Raises:
            ConfigError: the file is invalid.
            CheckpointError: the file cannot be read.
        """
        path = self.path / CONFIG
        try:
            text = read_toml(path)
        except (OSError, UnicodeDecodeError) as error:
            raise CheckpointError(f"{path} cannot be read: {getattr(error, 'strerror', error)}", path=path) from None
        game, config = read_text(text, str(path))
        return require_game(game, str(path)), config

    def write_settings(self, game: str, config: TrainingConfig) -> None:
        """Replace `config.toml` atomically.

        Raises:
            CheckpointError: writing failed.
        """
        try:
            replace_durably(self.path / CONFIG, settings_to_toml(game, config).encode())
        except OSError as error:
            path = self.path / CONFIG
            raise CheckpointError(f"{path} could not be written: {error.strerror}", path=path) from None

    def checkpoints(self) -> list[Path]:
        """Returns the checkpoints, oldest first. Links and files with the name of a checkpoint are omitted.

        Raises:
            CheckpointError: `checkpoints` is a link or not a folder, or cannot be read.
        """
        return [item for item in self._numbered_items() if is_folder(item)]

    def newest(self) -> Path | None:
        """Returns the newest checkpoint. It may be a link or a file, for which all readers raise an error.

        Raises:
            CheckpointError: as `checkpoints`.
        """
        return next(reversed(self._numbered_items()), None)

    def _numbered_items(self) -> list[Path]:
        """Returns everything with the name of a checkpoint, oldest first."""
        try:
            require_folder(self.checkpoints_path)
            found = [item for item in self.checkpoints_path.iterdir() if _NUMBER.fullmatch(item.name)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CheckpointError(
                f"{self.checkpoints_path} cannot be read: {error.strerror}", path=self.checkpoints_path
            ) from None
        return sorted(found, key=lambda item: int(item.name))

    def load(self, matches: int | None = None) -> Checkpoint | None:
        """Returns the newest checkpoint, or the one after `matches` games.

        If the run has no checkpoint and no games, a warning is logged and None is returned. A damaged checkpoint is
        never skipped silently: the error names the newest complete one before it, if any.

        Args:
            matches: number of games of the checkpoint; None: the newest.

        Raises:
            CheckpointError: the checkpoint is damaged, of another program or of a newer format, or does not exist
                although the run has played games.
        """
        if matches is not None:
            return _numbered(self.checkpoint(matches))
        newest = self.newest()
        if newest is None:
            self._require_no_games()
            _log.warning(
                "the run in %s has no checkpoint and no games yet: it starts from the beginning", shown(str(self.path))
            )
            return None
        try:
            return _numbered(newest)
        except CheckpointError as error:
            older = (path for path in reversed(self.checkpoints()) if path != newest)
            complete = next(filter(_is_complete, older), None)
            if complete is None:
                raise
            command = f"athenan resume {shlex.quote(str(self.path))} --from {int(complete.name)}"
            problem = f"{error}\n{complete} is complete: continue from there with {command}"
            raise CheckpointError(problem, path=newest) from None

    def _require_no_games(self) -> None:
        """Check that a run without a checkpoint has no games.

        Raises:
            CheckpointError: it has games, so its checkpoints are lost.
        """
        try:
            evidence = f"{METRICS} records games" if has_games(self.metrics_path) else ""
        except FileNotFoundError:  # it is created before TensorBoard's files
            evidence = f"{METRICS} is missing" if os.path.lexists(self.tensorboard_path) else ""
        except OSError as error:
            evidence = f"{METRICS} cannot be read ({error.strerror})"
        if not evidence and any(os.path.lexists(self.path / name) for name in (BEST, REPLACED)):
            evidence = "it has a best network"
        if evidence:
            raise CheckpointError(
                f"the run in {str(self.path)!r} has no checkpoint, but {evidence}: put its checkpoints folder back, "
                f"or begin a new run with athenan train GAME --config {shlex.quote(str(self.path / CONFIG))}",
                path=self.checkpoints_path,
            )

    def last_good(self, before: int | None = None) -> Checkpoint | None:
        """Returns the newest checkpoint that can be resumed; None if there is none.

        Args:
            before: number of games; only checkpoints with fewer are considered.
        """
        for path in reversed(self.checkpoints()):
            if before is None or int(path.name) < before:
                with contextlib.suppress(CheckpointError):
                    return _numbered(path)
        return None

    def checkpoint(self, matches: int | Literal["best"] | None = None) -> Path:
        """Returns the checkpoint after a number of games, or the best network; by default the newest checkpoint.

        Raises:
            CheckpointError: it does not exist.
        """
        if isinstance(matches, str) and matches == BEST:
            return best_network(self.path)
        newest = self.newest()
        if newest is None:
            self._require_no_games()
            raise CheckpointError(
                f"the run in {str(self.path)!r} has no checkpoint yet: resume it, then try again", path=self.path
            )
        if matches is None:
            return newest
        found = {int(path.name): path for path in self.checkpoints()}
        if matches not in found:
            listed = ", ".join(map(str, [*found][-LISTED:]))
            older = f"{len(found) - LISTED} older ones, " if len(found) > LISTED else ""
            raise CheckpointError(
                f"expected the number of a checkpoint in {str(self.path)!r}, got {shown(matches)}: "
                f"there are {older}{listed}",
                path=self.path,
            )
        return found[matches]

    def archive_newer(self, matches: int) -> None:
        """Rename the checkpoints with more than `matches` games, so that they are no longer used.

        Raises:
            CheckpointError: renaming failed.
        """
        try:
            for path in self._numbered_items():
                if int(path.name) > matches:
                    path.rename(_new_name(path.with_name(f"{ASIDE}{path.name}")))
        except OSError as error:
            raise self._not_usable(error) from None

    def save(self, checkpoint: Checkpoint) -> Path:
        """Write a checkpoint, remove old ones according to its settings, and return its path.

        Raises:
            CheckpointError: writing failed; earlier checkpoints are unchanged.
        """
        try:
            path = write_checkpoint(self.checkpoints_path, checkpoint)
        except OSError as error:
            raise self._not_written(error) from error
        self._remove_old(checkpoint.header.config)
        return path

    def save_header(self, path: Path, header: Header) -> None:
        """Replace the header of the checkpoint `path`.

        Raises:
            CheckpointError: writing failed; the old header is unchanged.
        """
        try:
            rewrite_header(path, header)
        except OSError as error:
            raise self._not_written(error) from error

    def _remove_old(self, config: TrainingConfig) -> None:
        """Remove old checkpoints except the networks of milestones. Failures are retried after the next checkpoint."""
        paths = self.checkpoints()
        before = 0
        for path in paths[: -config.keep]:
            matches = int(path.name)
            is_milestone = config.has_milestone_between(before, matches)
            before = matches
            if is_milestone or not (path / OPTIMIZER).exists():  # a network already reduced to a milestone stays one
                for name in (OPTIMIZER, REPLAY, RESOLVED):
                    with contextlib.suppress(OSError):
                        (path / name).unlink(missing_ok=True)
                continue
            removed = path.with_name(f"{UNFINISHED}removed-{path.name}")
            with contextlib.suppress(OSError):
                path.rename(removed)
                shutil.rmtree(removed)

    def _require_no_links(self) -> None:
        """Raise `OSError` if a path that the run writes is a link, a file in place of a folder, or the reverse."""
        for folder in (self.checkpoints_path, self.tensorboard_path, self.path / BEST):
            require_folder(folder)
        require_file(self.metrics_path)

    def _not_usable(self, error: OSError) -> CheckpointError:
        where = f", {error.filename}" if error.filename not in (None, str(self.path)) else ""
        return CheckpointError(
            f"the run folder {str(self.path)!r} cannot be written{where}: {error.strerror}", path=self.path
        )

    def _not_written(self, error: OSError) -> CheckpointError:
        newest = self.newest()
        kept = f"{newest} is kept" if newest is not None else "there is no earlier one"
        return CheckpointError(
            f"no checkpoint could be written to {self.checkpoints_path}: {error.strerror or error}; {kept}: "
            "make room and resume",
            path=self.checkpoints_path,
        )


def _numbered(path: Path) -> Checkpoint:
    """Returns the checkpoint at `path` after checking that its name is its number of games."""
    checkpoint = read_checkpoint(path)
    if (matches := checkpoint.header.counters.matches) != int(path.name):
        raise damaged(path, f"it was written after {matches} games, and its name says {int(path.name)}")
    return checkpoint


def _new_name(path: Path) -> Path:
    """Returns `path` if it does not exist, else the first of PATH-2, PATH-3, ... that does not exist."""
    names = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return next(name for name in itertools.chain([path], names) if not os.path.lexists(name))


def _is_complete(path: Path) -> bool:
    try:
        _numbered(path)
    except CheckpointError:
        return False
    return True


def _is_unfinished(path: Path) -> bool:
    return path.name.startswith(UNFINISHED)
