"""Evaluation of a network during its training: the request and the scores.

The games are played by `arena.evaluation` in a process of its own, which is called by name: `arena` lies above this
package.
"""

from __future__ import annotations

import decimal
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from athenan_spiel.config import EvaluationConfig, TrainingConfig
from athenan_spiel.config.evaluation import EvaluationRequest
from athenan_spiel.config.training import WORD_LIMITS
from athenan_spiel.errors import ConfigError
from athenan_spiel.outcomes import is_code
from athenan_spiel.system.process_call import CallResult, ProcessCall

EVALUATE = "athenan_spiel.arena.evaluation:evaluate"
CHECK = "athenan_spiel.arena.evaluation:check"
CHECK_SECONDS = 120.0
"""Time limit for loading the opponents before a run begins, in seconds: Java and engines start slowly."""
Programs = Collection[str] | None
"""Commands of engines that may be started; None: all, where the settings are the caller's own and of no file."""


class EvaluationError(Exception):
    """An evaluation failed; the message says why. It is reported as an event and does not leave the trainer."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a network has scored against an opponent.

    Attributes:
        points: its share of them; `low` and `high` are the ends of the interval.
        forfeits: matches that somebody has lost by no play: an engine that failed, for one.
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


def evaluation_request(
    game: str, config: TrainingConfig, network: Path | None, programs: Programs = None, cluster: str | None = None
) -> EvaluationRequest:
    """Returns the request for an evaluation of the network in the folder `network`.

    Args:
        network: None: a random player takes the agent's place, to check the opponents.
        cluster: address of the Ray cluster that plays the games; None: this machine.
    """
    settings = config.evaluation
    return EvaluationRequest(
        agent="random" if network is None else agent_word(settings, network),
        opponents=settings.opponents,
        game=game,
        matches=settings.matches,
        opening_plies=settings.opening_plies,
        seed=config.seed,
        allow_code=(config.outcome,) if is_code(config.outcome) else (),
        allow_programs=None if programs is None else tuple(programs),
        cluster=cluster,
    )


def agent_word(settings: EvaluationConfig, network: Path) -> str:
    """Spec of the trained agent."""
    limit = next(
        f"{decimal.Decimal(repr(number)):f}{letter}"
        for name, letter in WORD_LIMITS.items()
        if (number := getattr(settings, name)) is not None
    )
    return f"{os.path.abspath(network)}:{settings.search}@{limit}"


def require_opponents(game: str, config: TrainingConfig, programs: Programs = None) -> None:
    """Check that the opponents are allowed, can be loaded and play `game`, and that there are openings enough.

    Raises:
        ConfigError: they cannot, or there are not.
    """
    try:
        call = ProcessCall(CHECK, evaluation_request(game, config, None, programs))
    except OSError as error:
        raise ConfigError.at("evaluation.opponents", f"cannot be looked at: {error.strerror}") from None
    try:
        result = call.result(CHECK_SECONDS)
    finally:
        call.close()
    if result is None:
        raise ConfigError.at("evaluation.opponents", f"could not be loaded within {CHECK_SECONDS:.0f} s")
    if result.problem is not None:
        raise ConfigError.at("evaluation.opponents", f"cannot be met: {result.problem}")


def scores(result: CallResult) -> list[Score]:
    """Returns the scores against each opponent.

    Raises:
        EvaluationError: the evaluation failed.
    """
    if result.problem is not None:
        raise EvaluationError(result.problem)
    return [_score(row) for row in result.value]


def _score(row: Mapping[str, Any]) -> Score:
    points, total = row["points"], row["total"]
    return Score(
        opponent=row["opponent"],
        wins=int(total["wins"]),
        draws=int(total["draws"]),
        losses=int(total["losses"]),
        points=float(points["estimate"]),
        low=float(points["low"]),
        high=float(points["high"]),
        confidence=float(points["confidence"]),
        forfeits=sum(len(reasons) for reasons in row["forfeits"].values()),
    )
