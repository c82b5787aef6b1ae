"""What a training run tells its listeners, while it runs.

A listener is a callable that takes an event, as in `ath.train(..., listeners=[tell])`; the live view, `metrics.jsonl`
and TensorBoard are listeners. The order:

`RunStarted`; where there is a warm-up to learn, any number of `WarmUpProgress`, then `WarmUpFinished`; for each round
any number of `RoundProgress`, then for each of its matches in order `MatchFinished` and `LearningFinished`, then
`RoundFinished`; between rounds perhaps `EvaluationFinished` and `CheckpointWritten`; in the end `RunFinished`, also
when an error ends the run. A round that is broken off in play leaves no `MatchFinished`; one that is broken off while
it is learned leaves those of matches that are played again when the run is resumed, so `RunFinished` may count fewer.
`StopNoticed` comes once, while a round is learned, if at all. What a listener raises ends the run, which is saved
first.

A name means one thing in all events. `matches` is everywhere the number of matches learned since the run began,
resumptions included, and `seconds` the time of the run likewise; other times have longer names. Where two events share
another name, each counts what it tells of: the match, the round. What was not measured is None, never 0.
docs/metrics.md has all names in one table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from athenan_spiel.config import TrainingConfig

EndReason = Literal["matches", "seconds", "stopped", "error"]
"""Why a run ended: a limit of its config, a stop request (Ctrl-C, SIGTERM and SIGHUP among them), or an error."""


@dataclass(frozen=True, kw_only=True)
class RunStarted:
    """A run begins, or goes on after `matches` matches and `seconds` seconds."""

    matches: int
    seconds: float
    game: str
    config: TrainingConfig
    folder: Path
    network: str
    """One line about the network."""
    engine: str
    """Name of what computes its values."""
    outcome: str
    """The worth of a match, with its constants."""
    symmetries: tuple[str, ...]
    """Each learned state is joined by its image by one of these."""


@dataclass(frozen=True, kw_only=True)
class WarmUpProgress:
    """Random terminal states are being learned, before the first match. Sent a few times a second at most."""

    matches: int
    warm_up_states: int
    """Random terminal states learned, earlier sessions included."""
    minibatch_loss: float
    """Of the last minibatch."""


@dataclass(frozen=True, kw_only=True)
class WarmUpFinished:
    """All random terminal states are learned."""

    matches: int
    warm_up_states: int
    """Random terminal states learned, earlier sessions included."""
    loss: float
    """Mean loss over the states learned in this session."""
    warm_up_seconds: float
    """Time that this session took for it; the run's `seconds` do not count it."""


@dataclass(frozen=True, kw_only=True)
class RoundProgress:
    """A round is being played. Sent a few times a second at most; nothing in it is final."""

    matches: int
    seconds: float
    alive: int
    """Matches of the round that have not ended."""
    plies: int
    """Actions played in the round."""
    evaluations: int
    """States valued by the network in the round."""
    evaluations_per_second: float


@dataclass(frozen=True, kw_only=True)
class MatchFinished:
    """A match of a whole round, just before it is learned: the `matches`-th of the run."""

    matches: int
    length: int
    """Actions played."""
    returns: tuple[float, ...]
    """As OpenSpiel's `state.returns()`."""
    iterations: int
    """Of the search, over the whole match."""
    evaluations: int
    """States valued by the network in the match."""
    targets: int
    """States of the match's tree that join the replay, images by symmetries included, each with the value to learn."""


@dataclass(frozen=True, kw_only=True)
class LearningFinished:
    """The learning phase after the `matches`-th match."""

    matches: int
    loss: float | None
    """Mean loss over the states learned; None where the replay offered nothing to learn."""
    states_learned: int
    """States learned in the phase, each as often as it was."""
    batches: int
    """Minibatches, each a step of the optimiser."""
    learning_seconds: float
    """Time of the phase."""


@dataclass(frozen=True, kw_only=True)
class RoundFinished:
    """All matches of a round are learned, and the engine has the new weights."""

    matches: int
    seconds: float
    rounds: int
    """Rounds learned since the run began."""
    evaluations: int
    """States valued by the network in the round."""
    states_learned: int
    """States learned in the round, each as often as it was."""
    search_seconds: float
    """Time in which the round's matches were played."""
    learning_seconds: float
    """Time in which they were learned."""
    replay_states: int
    """States that the replay holds."""
    replay_bytes: int
    """What they take."""
    resolved_states: int | None = None
    """Resolved states kept from match to match; None where none are kept."""


@dataclass(frozen=True, kw_only=True)
class EvaluationFinished:
    """Matches against another player, both colours."""

    matches: int
    opponent: str
    wins: int
    draws: int
    losses: int
    points: float
    """(wins + draws / 2) / matches played."""
    evaluation_seconds: float


@dataclass(frozen=True, kw_only=True)
class CheckpointWritten:
    """A checkpoint is whole on disk."""

    matches: int
    checkpoint: Path
    bytes: int
    """Of all its files."""
    writing_seconds: float


@dataclass(frozen=True, kw_only=True)
class StopNoticed:
    """The run was asked to stop while it learns; it will, once the round is learned or that has taken too long."""

    matches: int


@dataclass(frozen=True, kw_only=True)
class RunFinished:
    """The run is over. `checkpoint` holds its state after `matches` matches, or an earlier one after an error."""

    matches: int
    seconds: float
    reason: EndReason
    folder: Path
    checkpoint: Path | None
    """The newest checkpoint; None if not even the first could be written."""


Event = (
    RunStarted
    | WarmUpProgress
    | WarmUpFinished
    | RoundProgress
    | MatchFinished
    | LearningFinished
    | RoundFinished
    | EvaluationFinished
    | CheckpointWritten
    | StopNoticed
    | RunFinished
)
Listener = Callable[[Event], None]
