"""A folder of results on disk, as tournaments and experiments write it.

    KIND.json       every setting, and the version that began it
    matches.jsonl   a line for each game, in the order in which they ended (`record`)
    report.md, ...  made anew from the above at the end

1. Each game is written as it ends. A kill costs only games that were being played and at most a cut line, which `mend`
   removes; no game that is written is played again.
2. One process at a time works in the folder.
3. The folder may come from elsewhere. No link in it is followed, no file is read beyond a bound, and a line counts only
   if it is a game that belongs to the folder and no other line holds that game.
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
from athenan_spiel.errors import ArenaError, AthenanError, shown
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
    """The folder of one tournament or experiment.

    Args:
        path: the folder, which need not exist yet.
        kind: "tournament" or "experiment".
        settings: what the results belong to, as JSON values.
        error: the type of the errors that it raises.
        current: brings settings that an older version wrote into the form of `settings`.
        known: names of files that a kill may leave in a folder that was not begun.
    """

    may_be_link: ClassVar[bool] = False
    """Whether the folder itself may be a link."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        kind: str,
        settings: Mapping[str, Any],
        error: type[AthenanError] = ArenaError,
        current: Callable[[Any], Any] = lambda begun: begun,
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
        """What KIND.json holds; None if nothing was begun here.

        Raises:
            AthenanError: the folder holds other results or something else, or cannot be read.
        """
        try:
            if not self.may_be_link:
                require_folder(self.path)
            table = parse_json(read_file(self.settings_path, MAX_SETTINGS_BYTES))
            begun, version = table[self._kind], table["athenan_spiel"]
        except FileNotFoundError:
            if others := self._others():
                raise self._error(
                    f"expected a new folder or one of this {self._kind}, got {str(self.path)!r}, which holds "
                    f"{others[0]!r}: choose another with --folder"
                ) from None
            return None
        except OSError as error:
            raise self._error(f"{self.settings_path} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise self.not_understood(error) from None
        if difference := next(differences(self._current(begun), self._settings), None):
            raise self._error(
                f"{str(self.path)!r} holds the results of another {self._kind}, begun with athenan_spiel "
                f"{plain(version)}: there {plain(difference)}; choose another --folder"
            )
        found: dict[str, Any] = table
        return found

    def not_understood(self, error: Exception) -> AthenanError:
        """The error for a KIND.json whose values have other types than expected."""
        return self._error(f"{self.settings_path} cannot be understood ({shown(error)})")

    def _others(self) -> list[str]:
        """Names in the folder that a new one, or one that a kill left before KIND.json was written, doesn't have."""
        items = sorted(self.path.iterdir()) if self.path.exists() else []
        return [item.name for item in items if not self._is_known(item)]

    def _is_known(self, path: Path) -> bool:
        is_empty = path.name == MATCHES and path.lstat().st_size == 0
        return is_empty or path.name in self._known or path.name.startswith(UNFINISHED)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only process that works in the folder, and remove unfinished files that a kill left.

        Raises:
            AthenanError: another process works in it, or it cannot be written.
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
        """Make the file of games, and write KIND.json.

        Args:
            others: what it holds beside the settings and the version.

        Raises:
            OSError: it cannot be written.
        """
        self.write(MATCHES, "")
        table = {"athenan_spiel": athenan_spiel.__version__, self._kind: self._settings, **others}
        self.write(self.settings_path.name, json.dumps(table) + "\n")

    def games(self, key_of: Callable[[SavedMatch], Key]) -> Iterator[tuple[Key, SavedMatch]]:
        """The games that are written, each with its key.

        Args:
            key_of: returns what tells a game from the others, and raises `ArenaError` for one that doesn't belong here.

        Raises:
            AthenanError: a line is no such game or holds one again, or the file is missing or cannot be read.
        """
        known: set[Key] = set()
        try:
            for number, line, whole in self._file.lines():
                if not whole:
                    return
                key, match = self._game(line, f"{self._file.path}, line {number}", key_of, known)
                known.add(key)
                yield key, match
        except OSError as error:
            raise self._not_readable(error) from None

    def _not_readable(self, error: OSError) -> AthenanError:
        if isinstance(error, FileNotFoundError):
            remedy = "put it back, or make an empty file there to play all matches again"
            return self._error(f"{self._file.path} is missing: {remedy}")
        return self._error(f"{self._file.path} cannot be read: {error.strerror}")

    def _game(
        self, line: bytes, place: str, key_of: Callable[[SavedMatch], Key], known: Collection[Key]
    ) -> tuple[Key, SavedMatch]:
        remedy = "remove the line, and the game is played again"
        try:
            match = match_of(line, place)
        except ArenaError as error:
            raise self._error(f"{error}; {remedy}") from None
        try:
            key = key_of(match)
            if key in known:
                raise ArenaError("it stands there already")
        except ArenaError as error:
            raise self._error(f"{place} is not a match of the {self._kind}: {error}; {remedy}") from None
        return key, match

    def mend(self) -> None:
        """Remove the end of a line that a kill has cut, if there is one.

        Raises:
            AthenanError: the file is missing or cannot be read.
        """
        try:
            self._file.path.lstat()
            self._file.drop_cut_line()
        except OSError as error:
            raise self._not_readable(error) from None

    def append(self, match: SavedMatch) -> None:
        """Add a game that has ended.

        Raises:
            OSError: it could not be written.
        """
        self._file.append([match.to_json()])

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file, old or new at any moment.

        Raises:
            OSError: it could not be written.
        """
        replace_durably(self.path / name, content.encode() if isinstance(content, str) else content)
