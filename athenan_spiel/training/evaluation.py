"""One evaluation of a network while it is trained: the command that plays its matches, and what that answers.

The command is `athenan eval` with words that a user could type. So nothing of agents and series is known here but how
they are named and what `athenan eval --json` prints.
"""

from __future__ import annotations

import decimal
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from athenan_spiel.config import EvaluationConfig, TrainingConfig
from athenan_spiel.config.training import WORD_LIMITS
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.outcomes import is_code
from athenan_spiel.system.commands import Answer, Command
from athenan_spiel.system.files import parse_json

CHECK_SECONDS = 120.0
"""How long the opponents may take to be loaded before a run begins: Java, or an engine's files."""
Programs = Collection[str] | None
"""The commands of engines that may be begun; None: all, where the settings are the caller's own and of no file."""
NO_PROGRAM = ""
"""Said as allowed where nothing is, so that it is known that something must be: no command is empty."""
PREFIX = "athenan eval: "
"""What its complaints begin with."""


class EvaluationError(Exception):
    """An evaluation has come to nothing; the message says why. Nobody but those who tell it sees it."""


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


def command_words(
    game: str, config: TrainingConfig, network: Path, programs: Programs = None, cluster: str | None = None
) -> list[str]:
    """The words after `athenan` of an evaluation of the network in the folder `network`.

    Args:
        cluster: the address of that on which its matches are played; None: here.
    """
    words = ["eval", agent_word(config.evaluation, network), *_series(game, config, programs), "--json"]
    return words if cluster is None else [*words, "--cluster", cluster]


def agent_word(settings: EvaluationConfig, network: Path) -> str:
    """The trained agent's word."""
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
        command = Command(["eval", "random", *_series(game, config, programs), "--check"])
    except OSError as error:
        raise ConfigError.at("evaluation.opponents", f"cannot be looked at: {error.strerror}") from None
    try:
        answer = command.answer(CHECK_SECONDS)
    finally:
        command.close()
    if answer is None:
        raise ConfigError.at("evaluation.opponents", f"could not be loaded within {CHECK_SECONDS:.0f} s")
    if answer.code != 0:
        raise ConfigError.at("evaluation.opponents", f"cannot be met: {_complaint(answer)}")


def scores(answer: Answer, opponents: Sequence[str]) -> list[Score]:
    """What the command of an evaluation has answered.

    Raises:
        EvaluationError: it has come to nothing, or somebody has lost all matches by no play.
    """
    if answer.code != 0:
        raise EvaluationError(_complaint(answer))
    try:
        found = [_score(row) for row in parse_json(answer.output)["comparisons"]]
    except (ValueError, KeyError, TypeError) as error:
        raise EvaluationError(f"its answer cannot be understood: {shown(error)}") from None
    if [score.opponent for score in found] != [*opponents]:
        raise EvaluationError(f"its answer is about {shown([score.opponent for score in found])}")
    return found


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


def _series(game: str, config: TrainingConfig, programs: Programs) -> list[str]:
    settings = config.evaluation
    return [
        *("--against", *settings.opponents),
        *("--game", game),
        *("--matches", str(settings.matches)),
        *("--opening-plies", str(settings.opening_plies)),
        *("--seed", str(config.seed)),
        *(("--allow-code", config.outcome) if is_code(config.outcome) else ()),
        *(() if programs is None else (word for name in (NO_PROGRAM, *programs) for word in ("--allow-program", name))),
    ]


def _complaint(answer: Answer) -> str:
    """Why a command failed: what it said last that begins as its complaints do, else its last line."""
    lines = [line.strip() for line in answer.errors.splitlines() if line.strip()]
    said = next((line.removeprefix(PREFIX) for line in reversed(lines) if line.startswith(PREFIX)), None)
    if said is None:
        said = lines[-1] if lines else "it has said nothing"
        said = f"athenan eval ended with exit code {answer.code}: {said}"
    return said
