"""The run as TensorBoard curves over the number of matches."""

from __future__ import annotations

from pathlib import Path

from torch.utils.tensorboard.writer import SummaryWriter

from athenan_spiel.training.events import (
    EvaluationFinished,
    Event,
    LearningFinished,
    MatchFinished,
    RoundFinished,
    RunFinished,
    RunStarted,
    WarmUpFinished,
)


class TensorBoard:
    """A listener that writes event files into the folder `path`.

    When a run goes on from a checkpoint, TensorBoard is told to forget the steps after it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: SummaryWriter | None = None

    def __call__(self, event: Event) -> None:
        """Add the points of `event` to the curves."""
        if isinstance(event, RunStarted):
            purge = event.matches + 1 if self._path.exists() else None
            self._writer = SummaryWriter(str(self._path), purge_step=purge)
        if self._writer is None:
            return
        for name, value in _scalars(event):
            if value is not None:
                self._writer.add_scalar(name, value, event.matches)
        if isinstance(event, RoundFinished | EvaluationFinished):
            self._writer.flush()
        if isinstance(event, RunFinished):
            self._writer.close()
            self._writer = None


def _scalars(event: Event) -> list[tuple[str, float | None]]:
    """Name and value of each point that `event` adds."""
    if isinstance(event, MatchFinished):
        return [
            ("match/length", event.length),
            ("match/result", event.returns[0]),
            ("match/states", event.states),
            ("match/states_valued", event.evaluations),
        ]
    if isinstance(event, LearningFinished):
        return [("learning/loss", event.loss)]
    if isinstance(event, RoundFinished):
        speed = event.evaluations / event.search_seconds if event.search_seconds > 0 else None
        return [
            ("speed/states_valued_per_second", speed),
            ("speed/search_seconds", event.search_seconds),
            ("speed/learning_seconds", event.learning_seconds),
            ("replay/states", event.replay_states),
            ("search/resolved_states_kept", event.resolved_states),
        ]
    if isinstance(event, WarmUpFinished):
        return [("warm_up/loss", event.loss)]
    if isinstance(event, EvaluationFinished):
        return [("evaluation/points", event.points)]
    return []
