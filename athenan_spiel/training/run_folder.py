"""A run's folder on disk: `config.toml`, `metrics.jsonl`, `tensorboard/`, `checkpoints/` and perhaps `best/`.

What is under its final name is whole (see `checkpoints`). The last good checkpoint stays until the next one is whole;
then all but the newest are removed, and of milestones the network is kept, as the run's settings say. One process at a
time may train in a folder: it holds a lock that the system drops when the process ends, however it ends.

The folder itself may be a link, as the user has named it; nothing below it is followed out of it (see `files`).
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
from athenan_spiel.system.portable import in_sight
from athenan_spiel.training.best import BEST, REPLACED, best_network, mend_best
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
from athenan_spiel.training.limits import limit_reached
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
_log = logging.getLogger(__name__)


class RunFolder:
    """The folder of a run; reading needs no lock, writing does.

    Args:
        path: the folder, which need not exist yet.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.checkpoints_path = self.path / "checkpoints"
        self.metrics_path = self.path / METRICS
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
        """Be the only process that writes here; the folder is made if need be.

        Nothing that is in the folder is changed, as what follows may yet refuse it.

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
            self._is_kept = held.enter_context(in_sight(self.path))
            try:
                yield
            finally:
                self._is_kept = None

    def remove_leftovers(self) -> None:
        """Remove what a kill has left unfinished, and put the best network back where it was.

        Call it with the lock held, once the checkpoint to continue from has been read: a leftover may be the last
        whole copy of a checkpoint.

        Raises:
            CheckpointError: it cannot be done.
        """
        try:
            mend_best(self.path)
            unfinished = (*self.path.glob(f"{UNFINISHED}*"), *self.checkpoints_path.glob(f"{UNFINISHED}*"))
            for leftover in (*unfinished, self.path / EVALUATING):
                remove(leftover)
        except OSError as error:
            raise self._not_usable(error) from None

    def _continuation(self) -> str:
        """The command that continues the run: with more time if it has reached its limit."""
        command = f"athenan resume {shlex.quote(str(self.path))}"
        with contextlib.suppress(AthenanError):  # what cannot be read has no limit yet; `resume` says what is wrong
            newest, (_, config) = self.newest(), self.settings()
            counters = Counters() if newest is None else read_header(newest).counters
            if limit_reached(config, counters.matches, counters.seconds) is not None:
                return f"{command} --time 3m"
        return command

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
        """The checkpoints that are folders, oldest first.

        Raises:
            CheckpointError: `checkpoints` is a link or no folder, or cannot be read.
        """
        return [item for item in self._numbered_items() if is_folder(item)]

    def newest(self) -> Path | None:
        """The newest checkpoint. It may be a link or no folder, which every function that reads it refuses.

        Raises:
            CheckpointError: as `checkpoints`.
        """
        return next(reversed(self._numbered_items()), None)

    def _numbered_items(self) -> list[Path]:
        """Whatever has the name of a checkpoint, oldest first."""
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
        """The newest checkpoint, or None where the run has no checkpoint and no games yet, which a warning says.

        A damaged one is never passed over in silence: the error names the older one that is whole, if there is one.

        Args:
            matches: that after so many matches instead.

        Raises:
            CheckpointError: the checkpoint is damaged, foreign or of a newer format, there is none after just so
                many matches, or there is none at all although the run has played games.
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
            whole = next(filter(_is_whole, older), None)
            if whole is None:
                raise
            go_on = f"athenan resume {shlex.quote(str(self.path))} --from {int(whole.name)}"
            problem = f"{error}\n{whole} is whole: go on from there with {go_on}"
            raise CheckpointError(problem, path=newest) from None

    def _require_no_games(self) -> None:
        """Check that a run without a checkpoint was ended before its first game.

        Raises:
            CheckpointError: it has played games, so its checkpoints are lost.
        """
        try:
            sign = f"{METRICS} records games" if has_games(self.metrics_path) else ""
        except FileNotFoundError:  # TensorBoard's files are begun after it
            sign = f"{METRICS} is missing" if os.path.lexists(self.tensorboard_path) else ""
        except OSError as error:
            sign = f"{METRICS} cannot be read ({error.strerror})"
        if not sign and any(os.path.lexists(self.path / name) for name in (BEST, REPLACED)):
            sign = "it has a best network"
        if sign:
            raise CheckpointError(
                f"the run in {str(self.path)!r} has no checkpoint, but {sign}: put its checkpoints folder back, "
                f"or begin a new run with athenan train GAME --config {shlex.quote(str(self.path / CONFIG))}",
                path=self.checkpoints_path,
            )

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

    def put_aside(self, matches: int) -> None:
        """Let the checkpoint after so many matches be the newest: those after it get names that no checkpoint has.

        Raises:
            CheckpointError: it cannot be done.
        """
        try:
            for path in self._numbered_items():
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
