"""A tournament's folder on disk.

    tournament.json   the tournament with every setting, its openings, and the version that began it
    matches.jsonl     a line for each match, in the order in which they ended (`record`)
    report.md, *.csv, report.json, *.png   made anew from the above at the end (`tournament_report`)

Each match is written as it ends, so a kill costs those under way and at most a line cut in the middle, which `mend`
removes. The folder may come from elsewhere: no link in it is followed, no file is read beyond a bound, and a line
counts only if the match replays, is one that the tournament has, and stands there once.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import athenan_spiel
from athenan_spiel.arena.opening_sets import OpeningSet
from athenan_spiel.arena.record import MOST_BYTES, MOST_LINE, SavedMatch, match_of
from athenan_spiel.arena.tournament_settings import Tournament
from athenan_spiel.errors import ArenaError, shown
from athenan_spiel.games.playout import is_cut
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

DESCRIPTION, MATCHES, LOCK = "tournament.json", "matches.jsonl", ".lock"
MOST_DESCRIPTION = 2**27
"""Bytes of tournament.json, which holds all openings."""

MatchKey = tuple[str, str, str, int, int]
"""The game, contender and opponent, the opening's number and the contender's colour."""


def key_of(match: SavedMatch) -> MatchKey:
    """Which of a tournament's matches it is."""
    contender, opponent = match.agents
    return match.game, contender, opponent, match.number, match.colour


class TournamentFolder:
    """The folder of one tournament.

    Args:
        path: need not exist yet.
        tournament: whose results it holds, or is to hold.
        checkpoints: of agents that are runs which one they play with, by their names.
    """

    def __init__(self, path: str | os.PathLike[str], tournament: Tournament, checkpoints: Mapping[str, str]) -> None:
        self.path = Path(path)
        self._tournament = tournament
        self._settings = {**tournament.to_json(), "checkpoints": dict(checkpoints)}
        self._file = LineFile(self.path / MATCHES, MOST_BYTES, MOST_LINE)

    def openings(self) -> dict[str, OpeningSet] | None:
        """The openings of each game as they were chosen when the tournament began; None where it has not.

        Raises:
            ArenaError: another tournament was begun here, or the folder holds something else, or cannot be read.
        """
        try:
            require_folder(self.path)
            description = parse_json(read_file(self.path / DESCRIPTION, MOST_DESCRIPTION))
            begun, version, openings = (description[x] for x in ("tournament", "athenan_spiel", "openings"))
        except FileNotFoundError:
            if self.path.exists() and (others := sorted(x.name for x in self.path.iterdir() if not _is_empty(x))):
                raise ArenaError(
                    f"expected a new folder or one of this tournament, got {str(self.path)!r}, which holds "
                    f"{others[0]!r}: choose another with --folder"
                ) from None
            return None
        except OSError as error:
            raise ArenaError(f"{self.path / DESCRIPTION} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise ArenaError(f"{self.path / DESCRIPTION} cannot be understood ({shown(error)})") from None
        if difference := next(differences(begun, self._settings), None):
            raise ArenaError(
                f"{str(self.path)!r} holds the results of another tournament, begun with athenan_spiel "
                f"{plain(version)}: there {plain(difference)}; choose another --folder"
            )
        try:
            return {game: _opening_set(openings[game], self._tournament) for game in self._tournament.games}
        except (ValueError, KeyError, TypeError) as error:
            raise ArenaError(f"{self.path / DESCRIPTION} cannot be understood ({shown(error)})") from None

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only process that plays the tournament; what a kill has left of a file is removed.

        Raises:
            ArenaError: another one does, or the folder cannot be written.
        """
        with contextlib.ExitStack() as held:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                held.enter_context(locked(self.path / LOCK))
                for leftover in self.path.glob(f"{UNFINISHED}*"):
                    remove(leftover)
            except BlockingIOError:
                raise ArenaError(
                    f"another process plays the tournament in {str(self.path)!r}: wait for it, stop it, or choose "
                    "another --folder"
                ) from None
            except OSError as error:
                raise ArenaError(f"{error.filename or self.path} cannot be used: {error.strerror}") from None
            yield

    def begin(self, openings: Mapping[str, OpeningSet]) -> None:
        """Write down what the tournament is, and make the file of its matches."""
        description = {
            "athenan_spiel": athenan_spiel.__version__,
            "tournament": self._settings,
            "openings": {game: {"told": one.told, "openings": one.openings} for game, one in openings.items()},
        }
        self.write(MATCHES, "")
        self.write(DESCRIPTION, json.dumps(description) + "\n")

    def matches(self, openings: Mapping[str, OpeningSet]) -> Iterator[SavedMatch]:
        """The matches that have been played.

        Raises:
            ArenaError: a line is none of the tournament's matches, does not replay, or stands there twice, or the file
                is missing or cannot be read.
        """
        known: set[MatchKey] = set()
        pairs = set(self._tournament.pairs())
        try:
            for number, line, whole in self._file.lines():
                if not whole:
                    return
                place = f"{self._file.path}, line {number}"
                match = match_of(line, place)
                try:
                    self._require_own(match, pairs, openings)
                    state = match.require_true()
                    if key_of(match) in known:
                        raise ArenaError("it stands there already")
                except ArenaError as error:
                    remedy = "remove the line, and it is played again"
                    raise ArenaError(f"{place} is not a match of the tournament: {error}; {remedy}") from None
                known.add(key_of(match))
                yield match.as_cut(is_cut(state))
        except FileNotFoundError:
            raise self._missing() from None
        except OSError as error:
            raise ArenaError(f"{self._file.path} cannot be read: {error.strerror}") from None

    def mend(self) -> None:
        """Remove the end of a line that a kill has cut, if there is one.

        Raises:
            ArenaError: the file of matches is missing.
        """
        if not os.path.lexists(self._file.path):
            raise self._missing()
        self._file.drop_cut_line()

    def _missing(self) -> ArenaError:
        return ArenaError(
            f"{self._file.path} is missing: put it back, or make an empty file there to play all matches again"
        )

    def append(self, match: SavedMatch) -> None:
        """Add a match that has ended.

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

    def _require_own(
        self, match: SavedMatch, pairs: Collection[tuple[str, ...]], openings: Mapping[str, OpeningSet]
    ) -> None:
        """Check that the tournament has this match.

        Raises:
            ArenaError: it has not.
        """
        if match.game not in openings:
            raise ArenaError(f"it has no game {shown(match.game)}")
        if match.agents not in pairs:
            raise ArenaError(f"{shown(list(match.agents))} do not meet in it")
        chosen = openings[match.game].openings
        if match.number >= len(chosen) or match.result.opening != tuple(chosen[match.number]):
            raise ArenaError(f"opening {match.number} is another one")
        if match.seed != self._tournament.seed:
            raise ArenaError(f"its seed is {self._tournament.seed}, got {match.seed}")


def _is_empty(path: Path) -> bool:
    """Whether it is what a tournament has that ended before its description was written."""
    return path.name == LOCK or (path.name == MATCHES and path.lstat().st_size == 0)


def _opening_set(table: Any, tournament: Tournament) -> OpeningSet:
    """The openings of a game as they were written down.

    Raises:
        ValueError, KeyError, TypeError: they are none.
    """
    openings = tuple(tuple(opening) for opening in table["openings"])
    if len(openings) != tournament.matches // 2 or any(type(x) is not int for opening in openings for x in opening):
        raise ValueError(f"expected {tournament.matches // 2} openings of whole numbers, got {shown(openings)}")
    return OpeningSet(openings, plain(table["told"]))
