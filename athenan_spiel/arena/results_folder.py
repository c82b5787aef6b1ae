"""Results folder of a tournament or an experiment.

    KIND.json       every setting, and the version that started it
    matches.jsonl   a line for each finished game, in the order in which they ended (`record`)
    report.md, ...  written at the end

1. Each game is written as it ends, and never played again. A kill loses only running games, and leaves at most one
   incomplete line, which `repair` removes.
2. One process at a time works in the folder.
3. The folder is not trusted. Links in it are not followed, file sizes are limited, and a line counts only if it is a
   game of the tournament or experiment and does not repeat another line.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import athenan_spiel
from athenan_spiel.arena.record import MOST_BYTES, MOST_LINE, SavedMatch, match_of
from athenan_spiel.errors import ArenaError, AthenanError, ConfigError, shown
from athenan_spiel.system.differences import differences, plain
from athenan_spiel.system.files import (
    UNFINISHED,
    locked,
    parse_json,
    read_file,
    remove,
    replace_durably,
    require_folder,
)
from athenan_spiel.system.line_file import LineFile

MATCHES, LOCK = "matches.jsonl", ".lock"
MAX_SETTINGS_BYTES = 2**27
"""Maximum size of KIND.json: a tournament's holds all openings."""

Key = TypeVar("Key", bound=Hashable)


class ResultsFolder:
    """The results folder of one tournament or experiment.

    Args:
        path: the folder, which need not exist yet.
        kind: "tournament" or "experiment".
        settings: settings of the results, as JSON values.
        error: type of the raised errors.
        current: converts stored settings of older versions to the current form.
        known: names of files that a kill may leave before KIND.json is written.
    """

    may_be_link: ClassVar[bool] = False
    """Whether the folder itself may be a link."""
    has_matches: ClassVar[bool] = True
    """Whether matches.jsonl holds the games."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        kind: str,
        settings: Mapping[str, Any],
        error: type[AthenanError] = ArenaError,
        current: Callable[[Any], Any] = lambda stored: stored,
        known: Collection[str] = (),
    ) -> None:
        self.path = Path(path)
        self.settings_path = self.path / f"{kind}.json"
        self._kind = kind
        self._settings = dict(settings)
        self._error = error
        self._current = current
        self._known = (LOCK, *known)
        self._file = LineFile(self.path / MATCHES, MOST_BYTES, MOST_LINE)

    def begun(self) -> dict[str, Any] | None:
        """Returns the content of KIND.json; None if the folder is new.

        Raises:
            AthenanError: the folder contains other results or other files, or cannot be read.
        """
        try:
            if not self.may_be_link:
                require_folder(self.path)
            table = parse_json(read_file(self.settings_path, MAX_SETTINGS_BYTES))
            stored, version = table[self._kind], table["athenan_spiel"]
        except FileNotFoundError:
            for item in sorted(self.path.iterdir()) if self.path.exists() else ():
                is_empty = item.name == MATCHES and item.lstat().st_size == 0
                if not (is_empty or item.name in self._known or item.name.startswith(UNFINISHED)):
                    raise self._error(
                        f"expected a new folder or one of this {self._kind}, got {str(self.path)!r}, which holds "
                        f"{item.name!r}: choose another with --folder"
                    ) from None
            return None
        except OSError as error:
            raise self._error(f"{self.settings_path} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise self.not_understood(error) from None
        if difference := next(differences(self._current(stored), self._settings), None):
            raise self._error(
                f"{str(self.path)!r} holds the results of another {self._kind}, started with athenan_spiel "
                f"{plain(version)}: there {plain(difference)}; choose another --folder"
            )
        found: dict[str, Any] = table
        return found

    def require_begun(self) -> dict[str, Any]:
        """Returns the content of KIND.json.

        Raises:
            ConfigError: the folder is new.
            AthenanError: as `begun`.
        """
        if (table := self.begun()) is None:
            raise ConfigError(f"expected the folder of a finished or stopped {self._kind}, got {str(self.path)!r}")
        return table

    def not_understood(self, error: Exception) -> AthenanError:
        """Returns the error for values of unexpected types in KIND.json."""
        return self._error(f"{self.settings_path} cannot be understood ({shown(error)})")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Context that locks the folder against other processes, after removing unfinished files that a kill left.

        Raises:
            AthenanError: another process has locked it, or it cannot be written.
        """
        with contextlib.ExitStack() as held:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                held.enter_context(locked(self.path / LOCK))
                for leftover in self.path.glob(f"{UNFINISHED}*"):
                    remove(leftover)
            except BlockingIOError:
                raise self._error(
                    f"another process works on the {self._kind} in {str(self.path)!r}: wait for it, stop it, or choose "
                    "another --folder"
                ) from None
            except OSError as error:
                raise self._error(f"{error.filename or self.path} cannot be used: {error.strerror}") from None
            yield

    def write_settings(self, **others: Any) -> None:
        """Create the file of games, if there is one, and write KIND.json.

        Args:
            others: additional values of KIND.json.

        Raises:
            OSError: it cannot be written.
        """
        if self.has_matches:
            self.write(MATCHES, "")
        table = {"athenan_spiel": athenan_spiel.__version__, self._kind: self._settings, **others}
        self.write(self.settings_path.name, json.dumps(table) + "\n")

    def inside(self, path: Path) -> Path:
        """Returns the path of a folder given relative to this one; it need not exist yet.

        Raises:
            AthenanError: a part of the path is a link, or not a folder.
        """
        folder = self.path
        for name in path.parts:
            folder /= name
            try:
                require_folder(folder)
            except OSError as error:
                raise self._error(f"{folder} cannot be used: {error.strerror}") from None
        return folder

    def games(self, key_of: Callable[[SavedMatch], Key]) -> Iterator[tuple[Key, SavedMatch]]:
        """Yields the saved games with their keys.

        Args:
            key_of: returns the key of a game, and raises `ArenaError` for a game that doesn't belong here.

        Raises:
            AthenanError: a line is no such game or repeats one, or the file is missing or cannot be read.
        """
        known: set[Key] = set()
        try:
            for number, line, whole in self._file.lines():
                if not whole:
                    return
                place, remedy = f"{self._file.path}, line {number}", "remove the line, and the game is played again"
                try:
                    match = match_of(line, place)
                except ArenaError as error:
                    raise self._error(f"{error}; {remedy}") from None
                try:
                    key = key_of(match)
                    if key in known:
                        raise ArenaError("another line holds the same game")
                except ArenaError as error:
                    raise self._error(f"{place} is not a game of the {self._kind}: {error}; {remedy}") from None
                known.add(key)
                yield key, match
        except OSError as error:
            raise self._not_readable(error) from None

    def _not_readable(self, error: OSError) -> AthenanError:
        if isinstance(error, FileNotFoundError):
            remedy = "put it back, or make an empty file there to play all games again"
            return self._error(f"{self._file.path} is missing: {remedy}")
        return self._error(f"{self._file.path} cannot be read: {error.strerror}")

    def repair(self) -> None:
        """Removes an incomplete last line, left by a kill.

        Raises:
            AthenanError: the file is missing or cannot be read.
        """
        try:
            self._file.path.lstat()
            self._file.drop_cut_line()
        except OSError as error:
            raise self._not_readable(error) from None

    def append(self, match: SavedMatch) -> None:
        """Add a finished game.

        Raises:
            OSError: it could not be written.
        """
        self._file.append([match.to_json()])

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file atomically.

        Raises:
            OSError: it could not be written.
        """
        replace_durably(self.path / name, content.encode() if isinstance(content, str) else content)
