"""A run's folder on disk: `config.toml`, `metrics.jsonl`, `tensorboard/`, `checkpoints/` and perhaps `best/`.

What is under its final name is whole (see `checkpoints`). The last good checkpoint stays until the next one is whole;
then all but the newest are removed, and of milestones the network is kept, as the run's settings say. One process at a
time may train in a folder: it holds a lock that the system drops when the process ends, however it ends.

The folder itself may be a link, as the user has named it; nothing below it is followed out of it (see `files`).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import CheckpointError, shown
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
from athenan_spiel.system.portable import in_sight
from athenan_spiel.training.best import BEST, best_network, mend_best
from athenan_spiel.training.checkpoints import (
    OPTIMIZER,
    REPLAY,
    RESOLVED,
    Checkpoint,
    Header,
    damaged,
    read_checkpoint,
    rewrite_header,
    write_checkpoint,
)
from athenan_spiel.training.settings_file import read_text, require_game, settings_to_toml

CONFIG = "config.toml"
LOCK = ".lock"
EVALUATING = "evaluating"
"""The folder of the network that is being evaluated, while the process trains that has written it."""
_NUMBER = re.compile(r"[0-9]{6,18}")
"""A checkpoint's name: after how many matches it was written."""
ASIDE = "aside-"
"""What the name of a checkpoint begins with from which a run does not go on any more."""
LISTED = 10
"""So many checkpoints are named where another one is asked for."""


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
        self._is_kept: Callable[[], bool] | None = None

    def require_run(self) -> RunFolder:
        """Return this folder if a run is in it.

        Raises:
            CheckpointError: there is no such folder, or it is not a run.
        """
        if not self.path.is_dir():
            raise CheckpointError(
                f"expected the folder of a run, got {str(self.path)!r}, which is no folder", path=self.path
            )
        if not (self.path / CONFIG).is_file():
            raise CheckpointError(
                f"expected the folder of a run, got {str(self.path)!r}, which has no {CONFIG}: "
                "name a folder that training has made",
                path=self.path,
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
            raise CheckpointError(
                f"{str(self.path)!r} holds a run already: resume it, or choose another folder", path=self.path
            )
        if others := [item.name for item in self.path.iterdir() if item.name != LOCK and not _is_unfinished(item)]:
            raise CheckpointError(
                f"expected a new or empty folder for the run, got {str(self.path)!r}, "
                f"which holds {sorted(others)[0]!r}: choose another",
                path=self.path,
            )

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only process that writes here; the folder is made if need be, leftovers of a kill are removed.

        Raises:
            CheckpointError: another process trains in this folder, or it cannot be written.
        """
        with contextlib.ExitStack() as held:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                self._require_no_links()
                held.enter_context(locked(self.path / LOCK))
            except BlockingIOError:
                raise CheckpointError(
                    f"another process is training in {str(self.path)!r}: "
                    "wait for it, stop it, or choose another folder",
                    path=self.path,
                ) from None
            except OSError as error:
                raise self._not_usable(error) from None
            mend_best(self.path)
            unfinished = (*self.path.glob(f"{UNFINISHED}*"), *self.checkpoints_path.glob(f"{UNFINISHED}*"))
            for leftover in (*unfinished, self.path / EVALUATING):
                remove(leftover)
            self._is_kept = held.enter_context(in_sight(self.path))
            try:
                yield
            finally:
                self._is_kept = None

    def require_kept(self) -> None:
        """Check that the folder is still where it was when it was locked, so that no part of it is made anew.

        Raises:
            CheckpointError: it was moved or deleted.
        """
        assert self._is_kept is not None, "locked"
        if not (self._is_kept() and (self.path / CONFIG).exists()):
            raise CheckpointError(
                f"the run's folder {str(self.path)!r} is gone, moved or deleted while the run was in it: "
                "what was learned since its last checkpoint is lost",
                path=self.path,
            )

    def settings(self) -> tuple[str, TrainingConfig]:
        """The game's string and the settings in `config.toml`, whose outcome must not be imported yet.

        Raises:
            ConfigError: they cannot be understood.
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
        """Write `config.toml`, old or new at any moment.

        Raises:
            CheckpointError: it could not be written.
        """
        try:
            replace_durably(self.path / CONFIG, settings_to_toml(game, config).encode())
        except OSError as error:
            path = self.path / CONFIG
            raise CheckpointError(f"{path} could not be written: {error.strerror}", path=path) from None

    def checkpoints(self) -> list[Path]:
        """The checkpoints, oldest first. What is a link, or has a name that no checkpoint is given, is none."""
        if not is_folder(self.checkpoints_path):
            return []
        found = [item for item in self.checkpoints_path.iterdir() if _NUMBER.fullmatch(item.name) and is_folder(item)]
        return sorted(found, key=lambda item: int(item.name))

    def newest(self) -> Path | None:
        """The newest checkpoint."""
        return next(reversed(self.checkpoints()), None)

    def load(self, matches: int | None = None) -> Checkpoint | None:
        """The newest checkpoint, or None where the run has none yet.

        A damaged one is never passed over in silence: the error names the older one that is whole, if there is one.

        Args:
            matches: that after so many matches instead.

        Raises:
            CheckpointError: the checkpoint is damaged, foreign or of a newer format, or there is none after just so
                many matches.
        """
        if matches is not None:
            return _numbered(self.checkpoint(matches))
        paths = self.checkpoints()
        if not paths:
            return None
        try:
            return _numbered(paths[-1])
        except CheckpointError as error:
            whole = next(filter(_is_whole, reversed(paths[:-1])), None)
            if whole is None:
                raise
            go_on = f"athenan resume {shlex.quote(str(self.path))} --from {int(whole.name)}"
            problem = f"{error}\n{whole} is whole: go on from there with {go_on}"
            raise CheckpointError(problem, path=paths[-1]) from None

    def last_good(self, before: int | None = None) -> Checkpoint | None:
        """The newest checkpoint that a run can go on from; None where there is none.

        Args:
            before: of those after fewer matches.
        """
        for path in reversed(self.checkpoints()):
            if before is None or int(path.name) < before:
                with contextlib.suppress(CheckpointError):
                    return _numbered(path)
        return None

    def checkpoint(self, matches: int | Literal["best"] | None = None) -> Path:
        """The checkpoint after a number of matches, or the best network; by default the newest checkpoint.

        Raises:
            CheckpointError: there is none, or none after just as many.
        """
        if isinstance(matches, str) and matches == BEST:
            return best_network(self.path)
        paths = self.checkpoints()
        if not paths:
            raise CheckpointError(
                f"the run in {str(self.path)!r} has no checkpoint yet: resume it, then try again", path=self.path
            )
        if matches is None:
            return paths[-1]
        found = {int(path.name): path for path in paths}
        if matches not in found:
            listed = ", ".join(map(str, [*found][-LISTED:]))
            older = f"{len(found) - LISTED} older ones, " if len(found) > LISTED else ""
            raise CheckpointError(
                f"expected the number of a checkpoint in {str(self.path)!r}, got {shown(matches)}: "
                f"there are {older}{listed}",
                path=self.path,
            )
        return found[matches]

    def put_aside(self, matches: int) -> None:
        """Let the checkpoint after so many matches be the newest: those after it get names that no checkpoint has.

        Raises:
            CheckpointError: it cannot be done.
        """
        try:
            for path in self.checkpoints():
                if int(path.name) > matches:
                    path.rename(_new_name(path.with_name(f"{ASIDE}{path.name}")))
        except OSError as error:
            raise self._not_usable(error) from None

    def save(self, checkpoint: Checkpoint) -> Path:
        """Write a checkpoint, then remove what its settings do not keep; returns its path.

        Raises:
            CheckpointError: it could not be written; those before it are still there.
        """
        try:
            path = write_checkpoint(self.checkpoints_path, checkpoint)
        except OSError as error:
            raise self._not_written(error) from error
        self._remove_old(checkpoint.header.config)
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

    def _remove_old(self, config: TrainingConfig) -> None:
        """Remove old checkpoints, but for the networks of milestones; what cannot be removed is tried again later."""
        paths = self.checkpoints()
        before = 0
        for path in paths[: -config.keep]:
            matches = int(path.name)
            is_milestone = config.has_milestone_between(before, matches)
            before = matches
            if is_milestone or not (path / OPTIMIZER).exists():  # once a milestone, always one
                for name in (OPTIMIZER, REPLAY, RESOLVED):
                    with contextlib.suppress(OSError):
                        (path / name).unlink(missing_ok=True)
                continue
            removed = path.with_name(f"{UNFINISHED}removed-{path.name}")
            with contextlib.suppress(OSError):
                path.rename(removed)
                shutil.rmtree(removed)

    def _require_no_links(self) -> None:
        """Raise `OSError` if what is written to in here is a link to elsewhere, or no file or folder at all."""
        for folder in (self.checkpoints_path, self.tensorboard_path, self.path / BEST):
            require_folder(folder)
        require_file(self.metrics_path)

    def _not_usable(self, error: OSError) -> CheckpointError:
        """What is wrong with the folder, or with a file in it."""
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
    """The checkpoint `path`, which has the number of its matches."""
    checkpoint = read_checkpoint(path)
    if (matches := checkpoint.header.counters.matches) != int(path.name):
        raise damaged(path, f"it was written after {matches} matches, and its name says {int(path.name)}")
    return checkpoint


def _new_name(path: Path) -> Path:
    """`path`, or with the first number behind it that no file has."""
    names = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return next(name for name in itertools.chain([path], names) if not os.path.lexists(name))


def _is_whole(path: Path) -> bool:
    try:
        _numbered(path)
    except CheckpointError:
        return False
    return True


def _is_unfinished(path: Path) -> bool:
    return path.name.startswith(UNFINISHED)
