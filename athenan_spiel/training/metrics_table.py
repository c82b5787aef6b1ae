"""Metrics of a run as tables: one row per game, and one row per evaluation against an opponent.

The columns have the names of docs/metrics.md. Missing values are NaN. The file may be untrusted: it is read as `curves`
reads it, and lines that contain no event are skipped.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.errors import CheckpointError
from athenan_spiel.system.files import opened
from athenan_spiel.training.curves import METRICS, MOST_BYTES, number_in, read_records, text_in
from athenan_spiel.training.events import EvaluationFinished, Event, LearningFinished, MatchFinished

NUMBERS = ("int", "float", "int | None", "float | None", "bool")
"""Annotations of the fields that are columns."""
MAX_COUNT = 2**53
"""Maximum number of games."""


def _columns(*kinds: type[Event]) -> dict[str, None]:
    """Returns the names of the numbers in events, other than `matches`."""
    names = (field.name for kind in kinds for field in dataclasses.fields(kind) if field.type in NUMBERS)
    return dict.fromkeys(name for name in names if name != "matches")


NUMBERS_OF_GAMES = _columns(MatchFinished, LearningFinished)
GAME_COLUMNS = ("matches", "seconds", *NUMBERS_OF_GAMES)
"""Columns of the table of games."""
EVALUATION_COLUMNS = ("matches", "seconds", "opponent", *_columns(EvaluationFinished))
"""Columns of the table of evaluations."""


def game_table(folder: Path) -> NDArray[np.void]:
    """Returns a row for each game of the run in `folder`, with its learning phase.

    `seconds` is the training time; the games of a round are placed evenly in its time. It is NaN in an unfinished
    round.

    Raises:
        CheckpointError: the metrics cannot be read.
    """
    rows: dict[int, dict[str, float]] = {}
    waiting: list[dict[str, float]] = []
    start = 0.0

    def add(record: Mapping[str, Any]) -> None:
        nonlocal start
        seconds, matches = number_in(record, "seconds"), _count(record)
        if record["event"] == "run_started":
            start = seconds or 0.0
            waiting.clear()
        elif record["event"] == "round_finished" and seconds is not None:
            for i, row in enumerate(waiting, 1):
                row["seconds"] = start + (seconds - start) * i / len(waiting)
            start = seconds
            waiting.clear()
        elif record["event"] in ("match_finished", "learning_finished") and matches is not None:
            row = rows.setdefault(matches, {})
            row.update((name, value) for name in NUMBERS_OF_GAMES if (value := number_in(record, name)) is not None)
            if record["event"] == "match_finished":
                row["cut_off"] = float(record.get("cut_off") is True)
                waiting.append(row)

    _read(folder, add)
    table = np.empty(len(rows), [(name, "i8" if name == "matches" else "f8") for name in GAME_COLUMNS])
    table["matches"] = sorted(rows)
    for name in GAME_COLUMNS[1:]:
        table[name] = [rows[matches].get(name, math.nan) for matches in sorted(rows)]
    return table


def evaluation_table(folder: Path) -> NDArray[np.void]:
    """Returns a row for each evaluation of the run in `folder` against one opponent, in order.

    `matches` is the number of games learned by the evaluated network; `seconds` is the training time when the
    evaluation ended.

    Raises:
        CheckpointError: the metrics cannot be read.
    """
    rows: list[tuple[Any, ...]] = []
    now = 0.0

    def add(record: Mapping[str, Any]) -> None:
        nonlocal now
        seconds = number_in(record, "seconds")
        now = now if seconds is None else seconds
        if record["event"] == "evaluation_finished":
            values = {name: number_in(record, name) for name in EVALUATION_COLUMNS}
            numbers = {name: math.nan if value is None else value for name, value in values.items()}
            row = {
                **numbers,
                "matches": values["matches"] or 0,
                "seconds": now,
                "opponent": text_in(record, "opponent"),
            }
            rows.append(tuple(row[name] for name in EVALUATION_COLUMNS))

    _read(folder, add)
    width = max([1, *(len(str(row[2])) for row in rows)])
    kinds = {"matches": "i8", "opponent": f"U{width}"}
    return np.array(rows, [(name, kinds.get(name, "f8")) for name in EVALUATION_COLUMNS])


def _count(record: Mapping[str, Any]) -> int | None:
    """Returns the number of games in a record; None if it is none."""
    matches = number_in(record, "matches")
    return int(matches) if matches is not None and 0 <= matches <= MAX_COUNT else None


def _read(folder: Path, add: Callable[[Mapping[str, Any]], None]) -> None:
    path = folder / METRICS
    try:
        with opened(path, MOST_BYTES) as file:
            for record in read_records(file):
                add(record)
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror}", path=path) from None


def as_frame(table: NDArray[np.void]) -> Any:
    """Returns the table as a pandas `DataFrame` if pandas is installed, else unchanged."""
    if importlib.util.find_spec("pandas") is None:
        return table
    return importlib.import_module("pandas").DataFrame({name: table[name] for name in table.dtype.names or ()})
