"""The best network of a run: the folder `best/`, its record `best.json`, and the rule that compares two networks.

The folder contains `weights.safetensors` and `state.json`, as a milestone does, and `best.json`, the evaluation. It is
replaced by two renames. If the process is killed between them, the old folder is restored from `REPLACED`.

The best network has the most points per game, as a mean over the opponents. Of equal networks, the newest is the
best. Only evaluations with the same opponents, openings, limit per move and seed are compared; under other conditions
the newer network replaces the best. With fixed opponents the rating grows with these points, as the likelihood of the
Bradley-Terry model is largest where expected and actual points agree. So networks have the same order by points and by
rating.

The best of many evaluations is partly chosen by luck, so its points are biased upwards. An evaluation with another seed
gives an unbiased score.
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
from athenan_spiel.training.settings_file import config_to_dict

BEST = "best"
"""Name of the folder, also used in place of a checkpoint's number."""
RECORD = "best.json"
REPLACED = f"{UNFINISHED}replaced-{BEST}"


def best_network(run: Path) -> Path:
    """Returns the folder of the best network of the run in `run`.

    Raises:
        CheckpointError: there is none.
    """
    for name in (BEST, REPLACED):
        if is_folder(run / name) and (run / name / STATE).is_file():
            return run / name
    raise CheckpointError(
        f"the run in {str(run)!r} has no best network: one is kept after the first evaluation "
        "(evaluation.every_matches); use the newest checkpoint, or name one by its number",
        path=run,
    )


def replace_best(run: Path, network: Path, record: bytes) -> Path:
    """Make the network in `network`, a folder inside `run`, the best of the run, and return its new path.

    Args:
        record: content of `best.json`.

    Raises:
        OSError: writing failed; the old best network is unchanged.
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
        repair_best(run)
        raise
    sync_folder(run)
    with contextlib.suppress(OSError):
        remove(replaced)
    return best


def repair_best(run: Path) -> None:
    """Restore the best network after a kill during `replace_best`.

    Raises:
        OSError: renaming failed.
    """
    if is_folder(run / REPLACED) and not (run / BEST).exists():
        (run / REPLACED).rename(run / BEST)


FORMAT = "athenan_spiel best"
MOST_RECORD = 2**20
"""Maximum size of `best.json`, in bytes."""
SCHEDULE = ("every_matches", "every_seconds", "final_seconds")
"""Settings of evaluation that don't change how games are played."""


@dataclass(frozen=True, kw_only=True)
class OpponentScore:
    """Score of a network against one opponent.

    Attributes:
        points: points per game, with the confidence interval from `low` to `high`.
        forfeits: games lost by forfeit, such as by an engine that failed.
    """

    opponent: str
    wins: int
    draws: int
    losses: int
    points: float
    low: float
    high: float
    confidence: float
    forfeits: int


@dataclass(frozen=True)
class EvaluationScore:
    """Result of an evaluation of a network against all opponents.

    Attributes:
        matches: number of games learned by the network.
        scores: scores against each opponent.
        conditions: settings that must be equal to compare two scores, as JSON values.
    """

    matches: int
    scores: Sequence[OpponentScore]
    conditions: Mapping[str, Any]

    @property
    def points(self) -> float:
        """Points per game, mean over the opponents."""
        return sum(score.points for score in self.scores) / len(self.scores)

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence interval of `points`, assuming that scores against different opponents are independent.

        By Zou and Donner, Construction of confidence intervals about effect measures (Statistics in Medicine, 2008):
        each half-width of a sum is the root of the summed squares of its terms' half-widths.
        """
        below = math.hypot(*(score.points - score.low for score in self.scores)) / len(self.scores)
        above = math.hypot(*(score.high - score.points for score in self.scores)) / len(self.scores)
        return max(0.0, self.points - below), min(1.0, self.points + above)

    def record(self) -> bytes:
        """Returns the content of `best.json`."""
        low, high = self.interval
        content = {
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
        return (json.dumps(content, indent=1) + "\n").encode()


def conditions(game: str, config: TrainingConfig) -> dict[str, Any]:
    """Returns the settings that must be equal to compare two evaluations, as JSON values."""
    settings = config_to_dict(config)["evaluation"]
    return {
        "game": game,
        "seed": config.seed,
        **{name: value for name, value in settings.items() if name not in SCHEDULE},
    }


def points_to_beat(run: Path, conditions: Mapping[str, Any]) -> float | None:
    """Returns the points of the run's best network; None if there is none, or if its
    conditions differ from `conditions`.

    Raises:
        CheckpointError: the record of the best network cannot be read, so it cannot be compared.
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
        return float(points) if record["conditions"] == conditions else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else shown(str(error))
        raise CheckpointError(
            f"{path} cannot be read ({reason}): move {run / BEST} away; the next evaluated network becomes the best",
            path=path,
        ) from None
