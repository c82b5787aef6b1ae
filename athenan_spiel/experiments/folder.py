"""An experiment's folder on disk.

    experiment.toml   a copy of the file
    experiment.json   the experiment with every setting, the overrides, and the version that began it
    trainings/        the runs, each with its networks (see `training`)
    matches.jsonl     a line for each match
    report.md, *.csv, *.png   made anew from the above at the end (see `report`, `plots`)

The matches of a pairing are written together; if a kill leaves only some of them, they are dropped and played again.
Those with an opponent of [fixed] are written one by one, and each that is there stays.

The folder may come from elsewhere. No link in it is followed, no file is read beyond the bounds below, and a line of
matches.jsonl counts only if it is a match that the experiment has.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import athenan_spiel
from athenan_spiel.errors import ExperimentError, shown
from athenan_spiel.experiments.file import ExperimentFile
from athenan_spiel.experiments.plan import Entrant, FixedPairing, Pairing, Plan
from athenan_spiel.experiments.settings import PlayConfig, ProtocolConfig
from athenan_spiel.system.differences import differences, plain
from athenan_spiel.system.files import (
    parse_json,
    read_file,
    replace_durably,
    require_folder,
)
from athenan_spiel.system.line_file import LineFile
from athenan_spiel.training.run_folder import LOCK, RunFolder
from athenan_spiel.training.settings_file import config_from_dict, config_to_dict

COPY, DESCRIPTION, MATCHES = "experiment.toml", "experiment.json", "matches.jsonl"
MOST_DESCRIPTION = 2**23
"""Bytes of experiment.json at most: a hundred variants at a hundred games take one of eight megabytes."""
MOST_LINE = 2**20
"""Bytes of a line of matches.jsonl at most: a match of a hundred thousand plies."""
MOST_MATCHES = 2**34
"""Bytes of matches.jsonl at most. It is read line by line, and has no more lines than the experiment has matches."""
Row = dict[str, Any]
"""A match, as its line in matches.jsonl says it."""


class ExperimentFolder:
    """The folder of one experiment.

    Args:
        path: need not exist yet.
        file: of the experiment whose results it holds, or is to hold.
    """

    def __init__(self, path: str | os.PathLike[str], file: ExperimentFile) -> None:
        self.path = Path(path)
        self._file = file
        self._plan = Plan(file.experiment)
        self._matches = file.experiment.protocol.matches
        self._file_of_matches = LineFile(self.path / MATCHES, MOST_MATCHES, MOST_LINE)

    def require_own(self) -> bool:
        """Whether the experiment was begun here; False where there is nothing yet.

        Raises:
            ExperimentError: another experiment was, or the folder holds something else, or cannot be read.
        """
        try:
            description = parse_json(read_file(self.path / DESCRIPTION, MOST_DESCRIPTION))
            begun, version = description["experiment"], description["athenan_spiel"]
        except FileNotFoundError:
            if self.path.exists() and (others := [item.name for item in self._others()]):
                raise ExperimentError(
                    f"expected a new folder or one of this experiment, got {str(self.path)!r}, which holds "
                    f"{sorted(others)[0]!r}: choose another with --folder"
                ) from None
            return False
        except OSError as error:
            raise ExperimentError(f"{self.path / DESCRIPTION} cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise ExperimentError(f"{self.path / DESCRIPTION} cannot be understood ({shown(error)})") from None
        if difference := next(differences(_as_of_now(begun), self._file.experiment.to_json()), None):
            raise ExperimentError(
                f"{str(self.path)!r} holds the results of another experiment, begun with athenan_spiel "
                f"{plain(version)}: there {plain(difference)}; choose another --folder"
            )
        return True

    def locked(self) -> AbstractContextManager[None]:
        """Be the only process that runs the experiment.

        Raises:
            CheckpointError: another one does, or the folder cannot be written.
        """
        return RunFolder(self.path).locked()

    def begin(self) -> None:
        """Write down what the experiment is, if it was not begun before, and remove what a kill has left unfinished.

        Raises:
            ExperimentError: as `require_own`.
            CheckpointError: a leftover cannot be removed.
        """
        if not self.require_own():
            self.write(COPY, self._file.text)
            description = {
                "athenan_spiel": athenan_spiel.__version__,
                "experiment": self._file.experiment.to_json(),
                "overrides": self._file.overrides.given(),
            }
            self.write(DESCRIPTION, json.dumps(description, indent=1) + "\n")
        RunFolder(self.path).remove_leftovers()

    def inside(self, path: Path) -> Path:
        """The path of a folder below this one, given from here; it need not exist yet.

        Raises:
            ExperimentError: on the way there is a link, or something else that is no folder.
        """
        way = self.path
        for name in path.parts:
            way /= name
            try:
                require_folder(way)
            except OSError as error:
                raise ExperimentError(f"{way} cannot be used: {error.strerror}") from None
        return way

    def rows(self) -> tuple[list[Row], list[Row]]:
        """The matches of all pairings that are finished, and those with opponents of [fixed]: of each, who met whom and
        what came out.

        Raises:
            ExperimentError: a line is not what was written, or the file cannot be read.
        """
        rows, fixed, _ = self._read()
        return rows, fixed

    def mend(self) -> tuple[list[Row], list[Row]]:
        """As `rows`; what a kill has left unfinished is removed."""
        rows, fixed, whole = self._read()
        if not whole:
            finished = {pairing_of(row) for row in rows}
            replace_durably(self.path / MATCHES, self._worth_keeping(finished))
        return rows, fixed

    def _worth_keeping(self, finished: Collection[Pairing]) -> Iterator[bytes]:
        """The lines on matches of these pairings, and the first one on each match with an opponent of [fixed]."""
        told = set()
        for line, row in self._lines():
            if row is None:
                continue
            if not is_fixed(row):
                if pairing_of(row) in finished:
                    yield line
            elif (match := (fixed_pairing_of(row), row["match"])) not in told:
                told.add(match)
                yield line

    def append(self, rows: Sequence[Row]) -> None:
        """Add matches: all of a pairing, or some with opponents of [fixed].

        Raises:
            OSError: it could not be written.
        """
        self._file_of_matches.append(rows)

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file, old or new at any moment.

        Raises:
            OSError: it could not be written.
        """
        replace_durably(self.path / name, content.encode() if isinstance(content, str) else content)

    def _others(self) -> Iterator[Path]:
        return (item for item in self.path.iterdir() if item.name not in (LOCK, COPY))

    def _read(self) -> tuple[list[Row], list[Row], bool]:
        """The matches of whole pairings, those with opponents of [fixed], and whether there is nothing else."""
        rows: dict[Pairing, list[Row]] = {}
        fixed: dict[tuple[FixedPairing, int], Row] = {}
        most = self._plan.match_count() + self._matches  # a kill may have left some of a pairing
        number = 0
        for number, (_, row) in enumerate(self._lines(), 1):
            if number > most:
                raise ExperimentError(
                    f"{self.path / MATCHES} has more lines than the experiment has matches, which is "
                    f"{self._plan.match_count():,}: remove it, and they are played again"
                )
            if row is None:
                continue
            if is_fixed(row):
                fixed.setdefault((fixed_pairing_of(row), row["match"]), {key: row[key] for key in FIXED_KEYS})
            else:
                rows.setdefault(pairing_of(row), []).append({key: row[key] for key in KEYS})
        found = [row for played in rows.values() if len(played) == self._matches for row in played]
        return found, [*fixed.values()], len(found) + len(fixed) == number

    def _lines(self) -> Iterator[tuple[bytes, Row | None]]:
        """Each line of matches.jsonl with the match that it is; None for the last one where a kill has cut it."""
        path = self.path / MATCHES
        try:
            for number, line, whole in self._file_of_matches.lines():
                try:
                    yield line, self._match(line) if whole else None
                except (ValueError, KeyError, TypeError) as error:
                    reason = str(error) if isinstance(error, ValueError) else shown(error)
                    raise ExperimentError(
                        f"{path}, line {number} is not a match: {line[:60].decode(errors='replace')!r} "
                        f"({reason}); remove it, and what it may have been is played again"
                    ) from None
        except FileNotFoundError:
            return
        except OSError as error:
            raise ExperimentError(f"{path} cannot be read: {error.strerror}") from None

    def _match(self, line: bytes) -> Row:
        """The match in a line.

        Raises:
            ValueError, KeyError, TypeError: it is none, or none that the experiment has.
        """
        row: Row = parse_json(line)
        experiment = self._file.experiment
        fixed = is_fixed(row)
        game = row["game"]
        if game not in experiment.games:
            raise ValueError(f"the experiment has no game {shown(game)}")
        names = {variant.name for variant in experiment.variants_of(game)}
        if fixed:
            players = [fixed_pairing_of(row).player]
            self._require_fixed(row)
        else:
            pairing = pairing_of(row)
            players = [pairing.a, pairing.b]
        for player in players:
            if not isinstance(player.variant, str) or player.variant not in names:
                raise ValueError(f"no variant {shown(player.variant)} takes part in the game")
            _require_number(player.repetition, experiment.repetitions)
            _require_number(player.stage, experiment.protocol.stages)
        if type(row["points_a"]) not in (int, float) or not 0 <= row["points_a"] <= 1:
            raise ValueError(f"points_a must be a number from 0 to 1, got {shown(row['points_a'])}")
        return row

    def _require_fixed(self, row: Row) -> None:
        """Raise `ValueError` unless a match is one that the experiment has with an opponent of [fixed]."""
        pool = self._file.experiment.fixed
        opponents = () if pool is None else pool.opponents
        opponent = next((one for one in opponents if one.name == row["opponent"]), None)
        if pool is None or opponent is None:
            raise ValueError(f"the experiment has no opponent {shown(row['opponent'])}")
        if row["game"] not in opponent.games or row["variant_a"] not in opponent.variants:
            raise ValueError(f"{opponent.name!r} does not meet {shown(row['variant_a'])} there")
        if row["stage_a"] not in self._plan.fixed_stages():
            raise ValueError(f"networks of stage {shown(row['stage_a'])} do not meet it")
        _require_number(row["match"], pool.config.matches)
        if row["forfeit"] is not None and not isinstance(row["forfeit"], str):
            raise ValueError(f"forfeit must be a text or null, got {shown(row['forfeit'])}")


def _require_number(number: Any, most: int) -> None:
    if type(number) is not int or not 1 <= number <= most:
        raise ValueError(f"expected a whole number from 1 to {most}, got {shown(number)}")


KEYS = ("game", *(f"{name}_{side}" for side in "ab" for name in ("variant", "repetition", "stage")), "points_a")
"""What of a match is kept in memory."""
FIXED_KEYS = ("game", "variant_a", "repetition_a", "stage_a", "opponent", "match", "points_a", "forfeit")
"""The same of one with an opponent of [fixed]."""


def is_fixed(row: Row) -> bool:
    """Whether a match is one with an opponent of [fixed]."""
    return isinstance(row, dict) and "opponent" in row


def fixed_pairing_of(row: Row) -> FixedPairing:
    """The pairing with an opponent of [fixed] that a match belongs to."""
    return FixedPairing(row["game"], Entrant(row["variant_a"], row["repetition_a"], row["stage_a"]), row["opponent"])


def pairing_of(row: Row) -> Pairing:
    """The pairing that a match belongs to."""
    a, b = (Entrant(row[f"variant_{x}"], row[f"repetition_{x}"], row[f"stage_{x}"]) for x in "ab")
    return Pairing(row["game"], a, b)


def _as_of_now(begun: Any) -> Any:
    """An experiment as it was begun, settings that are newer with their defaults: so it was trained then."""
    with contextlib.suppress(KeyError, TypeError, AttributeError, ValueError, OverflowError):  # it differs as it stands
        for variant in begun["variants"]:
            variant["training"] = config_to_dict(config_from_dict(variant["training"]))
            variant["play"] = dataclasses.asdict(PlayConfig(**variant["play"]))
        begun["protocol"] = dataclasses.asdict(ProtocolConfig(**begun["protocol"]))
        if "fixed" in begun and begun["fixed"]["play"] is not None:
            begun["fixed"]["play"] = dataclasses.asdict(PlayConfig(**begun["fixed"]["play"]))
    return begun
