"""Rows of the report: the result or the failure of each game, as a JSON file.

The files are untrusted. An invalid one counts as none, so the game continues.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from athenan_spiel.system.files import parse_json, read_file, replace_durably
from athenan_spiel.system.json_fields import Fields

RUN, MATCHES, RESULT, FAILURE = "run", "matches", "result.json", "failure.json"
"""Names in the folder of a game."""
MAX_ROW_BYTES = 2**20
"""Maximum size of a result or failure, in bytes."""
MAX_REASON = 1_000
"""Maximum length of a reason or problem, in characters."""
Row = Mapping[str, Any]
"""Result (`FINISHED`) or failure (`FAILED`) of a game."""
FAILED = ("game", "reason")
FINISHED = (
    "game",
    "trained_as",
    "category",
    "players",
    "chance",
    "actions",
    "tensor",
    "branching",
    "length",
    "filters",
    "outcome",
    "training_games",
    "undecided_training_games",
    "cut_training_games",
    "training_seconds",
    "sessions",
    "evaluations_per_second",
    "samples",
    "peak_megabytes",
    "failed_games",
    "forfeits",
    "problems",
    "first_player_points",
    "pairs",
    "choice",
    "loss",
    "machine",
    "processes",
    "version",
)
"""Keys of the row of a game that failed, and of one that is finished."""


def write_row(path: Path, row: Mapping[str, Any]) -> None:
    """Writes a result or a failure.

    Raises:
        OSError: it cannot be written.
        KeyError, TypeError, ValueError: `read_row` would not accept it.
    """
    content = json.dumps(row)
    _require_row(parse_json(content.encode()), row["game"], FAILED if path.name == FAILURE else FINISHED)
    replace_durably(path, (content + "\n").encode())


def read_row(folder: Path, game: str) -> dict[str, Any] | None:
    """Returns the result or failure of a game; None if it is not finished. An invalid file counts as none."""
    for name in (RESULT, FAILURE):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            row = parse_json(read_file(folder / name, MAX_ROW_BYTES))
            _require_row(row, game, FAILED if name == FAILURE else FINISHED)
            found: dict[str, Any] = row
            return found
    return None


def _require_row(row: Any, game: str, keys: Sequence[str]) -> None:
    """Checks the values that the report uses.

    Raises:
        KeyError, TypeError, ValueError: one is missing or has another type. UnicodeEncodeError is a `ValueError`.
    """
    json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
    fields = Fields(row, keys)
    if fields.text("game") != game:
        raise ValueError("it belongs to another game")
    if keys is FAILED:
        fields.text("reason")
        return
    fields.truth("chance")
    fields.wholes("tensor")
    for name in ("players", "actions", "filters", "samples", "processes", "training_games"):
        fields.whole(name)
    for name in ("undecided_training_games", "cut_training_games", "sessions", "failed_games", "forfeits"):
        fields.whole(name)
    for name in ("trained_as", "outcome", "machine", "version"):
        fields.text(name)
    for name in ("branching", "length", "evaluations_per_second", "peak_megabytes", "first_player_points"):
        if row[name] is not None:
            Fields({name: [row[name]]}, [name]).numbers(name, 1)
    for name in ("category", "choice"):
        fields.text(name, empty=True)
    fields.texts("problems")
    for point in row["loss"]:
        Fields({"loss": point}, ["loss"]).numbers("loss", 2)
    if not row["pairs"]:
        raise ValueError("it has no opponents")
    for pair in row["pairs"]:
        ends = pair["points_interval"]
        Fields({"shares": [pair["points"], ends["low"], ends["high"]]}, ["shares"]).numbers("shares", 3)
        counts = {"draws": pair.get("draws", 0), "matches": pair["matches"], "cut": pair["cut"]}
        for name in counts:
            Fields(counts, list(counts)).whole(name, least=name == "matches")
        Fields({"opponent": pair["opponent"]}, ["opponent"]).text("opponent")
