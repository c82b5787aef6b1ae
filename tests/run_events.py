"""Example events for callbacks."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from athenan_spiel.config import TrainingConfig, WarmUpConfig
from athenan_spiel.training.events import (
    CheckpointWritten,
    EvaluationFinished,
    Event,
    LearningFinished,
    MatchFinished,
    RolledBack,
    RoundFinished,
    RoundProgress,
    RunFinished,
    RunStarted,
    WarmUpFinished,
    WarmUpProgress,
)

FOLDER = Path("runs/ttt")
MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
NO_LIMIT = TrainingConfig()
MINUTE = TrainingConfig(seconds=60.0)


def started(
    matches: int = 0, seconds: float = 0.0, limits: TrainingConfig = NO_LIMIT, symmetries: tuple[str, ...] = ()
) -> RunStarted:
    return RunStarted(
        matches=matches,
        seconds=seconds,
        game="tic_tac_toe()",
        config=limits,
        folder=FOLDER,
        network="mlp, 1,000 weights",
        engine="openvino",
        outcome="additive_depth (longest = 9)",
        symmetries=symmetries,
    )


def progress(matches: int = 0, seconds: float = 1.0) -> RoundProgress:
    return RoundProgress(
        matches=matches,
        seconds=seconds,
        alive=3,
        plies=11,
        plies_in_play=9,
        evaluations=500,
        evaluations_per_second=1234.0,
    )


def match(matches: int, result: float = 1.0, length: int = 7) -> MatchFinished:
    return MatchFinished(
        matches=matches,
        length=length,
        returns=(result, -result),
        iterations=9,
        evaluations=80,
        requests=11,
        targets=40,
    )


def learned(matches: int, loss: float | None = 0.25, policy_loss: float | None = None) -> LearningFinished:
    return LearningFinished(
        matches=matches, loss=loss, policy_loss=policy_loss, states_learned=120, batches=1, learning_seconds=0.1
    )


def rolled_back(matches: int, dropped: int = 1) -> RolledBack:
    return RolledBack(
        matches=matches,
        seconds=7.0,
        dropped=dropped,
        problem="expected a finite loss, got nan",
        learning_rate=5e-4,
        checkpoint=FOLDER / "checkpoints" / f"{matches:06d}",
    )


def round_(matches: int, seconds: float = 5.0, search_seconds: float = 4.0) -> RoundFinished:
    return RoundFinished(
        matches=matches,
        seconds=seconds,
        rounds=1,
        evaluations=8000,
        network_calls=300,
        states_learned=240,
        search_seconds=search_seconds,
        learning_seconds=0.5,
        replay_states=80,
        replay_bytes=2_000_000,
    )


def evaluated(matches: int) -> EvaluationFinished:
    return EvaluationFinished(
        matches=matches,
        opponent="mcts:100",
        wins=6,
        draws=2,
        losses=2,
        points=0.7,
        low=0.4,
        high=0.9,
        confidence=0.95,
        forfeits=0,
        evaluation_seconds=3.0,
    )


def written(matches: int) -> CheckpointWritten:
    return CheckpointWritten(
        matches=matches, checkpoint=FOLDER / f"{matches:06d}", bytes=3_000_000, writing_seconds=0.2
    )


def finished(matches: int, seconds: float = 9.0) -> RunFinished:
    return RunFinished(matches=matches, seconds=seconds, reason="matches", folder=FOLDER, checkpoint=FOLDER / "000002")


def tell(callback: Any, events: list[Event]) -> None:
    for event in events:
        callback(event)


WARMED = TrainingConfig(matches=10, warm_up=WarmUpConfig(states=1000))
WARM = WarmUpFinished(
    matches=0, seconds=0.0, warm_up_states=1000, loss=0.125, explained=None, is_kept=True, warm_up_seconds=3.0
)


def warming(states: int, seconds: float = 0.0) -> WarmUpProgress:
    return WarmUpProgress(matches=0, seconds=seconds, warm_up_states=states, minibatch_loss=0.5)


ROUND: list[Event] = [progress(), match(1), learned(1), match(2, -1.0, 9), learned(2, 0.125), round_(2)]
