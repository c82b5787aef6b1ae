"""The best network of a run: `best/` in the run's folder, whatever becomes of the checkpoint that it was.

It holds `weights.safetensors` and `state.json`, as a milestone does, and `best.json`, which says by what it is the
best. Another network takes its place by two renames. A kill between them leaves the old one under the name `REPLACED`,
where it is found and from where it is put back.

By what a network is the best of its run: the record in `best.json`, and the rule by which two are compared.

Networks are compared by their points, the mean over the opponents. All have met the same opponents in the same openings
as often, at the same limit of a move and with the same seed; between evaluations that differ in any of it nothing is
compared, and the newer one counts. A rating of opponents that stay the same grows with these points (the likelihood of
Bradley and Terry's model is largest where the expected points are those that were scored), so the order is that by
rating, too. Among equals the network that has learned longer is the better one.

The best of many evaluations is partly the luckiest: its points are too high by that, and another evaluation, with
another seed, says how good it is.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import CheckpointError, shown
from athenan_spiel.system.files import (
    UNFINISHED,
    is_folder,
    parse_json,
    read_file,
    remove,
    require_folder,
    write_durably,
)
from athenan_spiel.system.portable import sync_folder
from athenan_spiel.training.checkpoints import STATE
from athenan_spiel.training.evaluation import Score
from athenan_spiel.training.settings_file import config_to_dict

BEST = "best"
"""The folder's name, and what stands for it where otherwise a number of matches names a checkpoint."""
RECORD = "best.json"
REPLACED = f"{UNFINISHED}replaced-{BEST}"


def best_network(run: Path) -> Path:
    """The folder of the best network in the run's folder `run`.

    Raises:
        CheckpointError: none was kept.
    """
    for name in (BEST, REPLACED):
        if is_folder(run / name) and (run / name / STATE).is_file():
            return run / name
    raise CheckpointError(
        f"the run in {str(run)!r} has no best network: one is kept once an evaluation while training has ended "
        "(evaluation.every_matches); name the newest checkpoint, or one by its number",
        path=run,
    )


def replace_best(run: Path, network: Path, record: bytes) -> Path:
    """Make the network in the folder `network`, which lies in the run's folder `run`, its best; returns its new path.

    Args:
        record: the content of `best.json`.

    Raises:
        OSError: it could not be done; the one before is still there.
    """
    best, replaced = run / BEST, run / REPLACED
    require_folder(best)
    remove(network / RECORD)
    write_durably(network / RECORD, lambda file: file.write(record))
    sync_folder(network)
    remove(replaced)
    if best.exists():
        best.rename(replaced)
    try:
        network.rename(best)
    except BaseException:
        mend_best(run)
        raise
    sync_folder(run)
    with contextlib.suppress(OSError):
        remove(replaced)
    return best


def mend_best(run: Path) -> None:
    """Put the best network back where a kill has left it under another name.

    Raises:
        OSError: it could not be done.
    """
    if is_folder(run / REPLACED) and not (run / BEST).exists():
        (run / REPLACED).rename(run / BEST)


FORMAT = "athenan_spiel best"
MOST_RECORD = 2**20
"""Bytes of `best.json` that are read at most."""
WHEN = ("every_matches", "every_seconds", "final_seconds")
"""Settings of evaluation that say nothing of how matches are played."""


@dataclass(frozen=True)
class Standing:
    """What a network is worth by its evaluation.

    Attributes:
        matches: learned by the network.
        scores: against each opponent.
        conditions: all that must be the same for two to be compared, as JSON values.
    """

    matches: int
    scores: Sequence[Score]
    conditions: Mapping[str, Any]

    @property
    def points(self) -> float:
        """Its share of the points, mean over the opponents."""
        return sum(score.points for score in self.scores) / len(self.scores)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of `points`, from those against each opponent as if these were independent.

        Zou and Donner, Construction of confidence intervals about effect measures (Statistics in Medicine, 2008): the
        reach of a sum to either side is the root of the sum of the squares of its parts' reaches.
        """
        below = math.hypot(*(score.points - score.low for score in self.scores)) / len(self.scores)
        above = math.hypot(*(score.high - score.points for score in self.scores)) / len(self.scores)
        return max(0.0, self.points - below), min(1.0, self.points + above)

    def record(self) -> bytes:
        """The content of `best.json`."""
        low, high = self.interval
        told = {
            "format": FORMAT,
            "matches": self.matches,
            "points": self.points,
            "low": low,
            "high": high,
            "confidence": self.scores[0].confidence,
            "scores": [dataclasses.asdict(score) for score in self.scores],
            "rule": "the most points, mean over the opponents; the newest among equals",
            "conditions": self.conditions,
        }
        return (json.dumps(told, indent=1) + "\n").encode()


def conditions(game: str, config: TrainingConfig) -> dict[str, Any]:
    """What must be the same for two evaluations to be compared."""
    settings = config_to_dict(config)["evaluation"]
    return {
        "game": game,
        "seed": config.seed,
        **{name: value for name, value in settings.items() if name not in WHEN},
    }


def points_to_beat(run: Path, now: Mapping[str, Any]) -> float | None:
    """The points of the run's best network; None where there is none that was evaluated under the conditions of `now`.

    Raises:
        CheckpointError: there is one, but its record cannot be read, so no other network may replace it.
    """
    path = run / BEST / RECORD
    if not os.path.lexists(run / BEST):
        return None
    try:
        record = parse_json(read_file(path, MOST_RECORD))
        if record["format"] != FORMAT:
            raise ValueError(f"expected format {FORMAT!r}")
        points = record["points"]
        if type(points) not in (int, float) or not 0 <= points <= 1:
            raise ValueError("points must be a number from 0 to 1")
        return float(points) if record["conditions"] == now else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else shown(str(error))
        raise CheckpointError(
            f"{path} cannot be read ({reason}): move {run / BEST} away, and the next network evaluated is the best",
            path=path,
        ) from None
