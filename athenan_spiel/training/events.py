"""Events of a training run.

A callback is a function that takes an event, as in `ath.train(..., callbacks=[callback])`. The live view,
`metrics.jsonl` and TensorBoard are callbacks. If a callback raises an error, the run is saved and ends.

The order of events:

1. `RunStarted`.
2. With a warm-up, any number of `WarmUpProgress`, then `WarmUpFinished`.
3. For each round any number of `RoundProgress`. Among them are a `MatchFinished` and a `LearningFinished` for each
   game, in the order of the seeds, or with workers in the order in which games end. Then `RoundFinished`.
4. Between rounds and after the last one, `CheckpointWritten` and `EvaluationStarted` if they are due. Some rounds after
   an `EvaluationStarted`, an `EvaluationFinished` for each opponent and perhaps `BestReplaced`, or `EvaluationFailed`.
5. `RunFinished`, also after an error. If a stop request interrupted a round, its `matches` may be lower than that of
   the last `MatchFinished`: those games are played again when the run resumes.

`RolledBack` may come at any time. Afterwards the counters are those of its checkpoint, while the time continues.
`SettingsAdapted` comes within a round, any number of times. `LearningIsLate` comes within the first round, at most
once. `StopNoticed` comes at most once, while the last games of a round are learned. `NothingDecided` comes after a
round, at most once per session, and `ShareIsFull` at most once per session for each part of the memory budget.

A name means the same in all events. `matches` is the number of games learned since the run began, over all sessions; in
events of an evaluation it is the number learned by the evaluated network. `seconds` is the training time since the run
began; other times have longer names. If two events share another name, each refers to its own game or round. A value
that was not measured is None, never 0. docs/metrics.md lists all names in one table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from athenan_spiel.config import TrainingConfig

ShareName = Literal["tree", "replay", "proven"]
EndReason = Literal["matches", "seconds", "stopped", "error"]
"""Reason for the end of a run: a limit of its config, a stop request (such as Ctrl-C or SIGTERM), or an error."""


@dataclass(frozen=True, kw_only=True)
class RunStarted:
    """A run begins, or resumes after `matches` games and `seconds` seconds."""

    matches: int
    seconds: float
    game: str
    config: TrainingConfig
    folder: Path
    network: str
    """Description of the network, in one line."""
    engine: str
    """Name of the inference backend."""
    outcome: str
    """Name of the terminal values, with their constants."""
    symmetries: tuple[str, ...]
    """Symmetries, one of which augments each training sample."""
    choice: str | None = None
    """Measurements of random games and the settings chosen by them; None if none were chosen."""
    memory: str | None = None
    """Memory budget of each part of the run; None without a limit."""


@dataclass(frozen=True, kw_only=True)
class WarmUpProgress:
    """Progress of the warm-up, before the first game. Sent a few times a second at most."""

    matches: int
    seconds: float
    warm_up_states: int
    """States of random games learned, over all sessions."""
    minibatch_loss: float
    """Loss of the last minibatch."""


@dataclass(frozen=True, kw_only=True)
class WarmUpFinished:
    """The warm-up has ended: all its states are learned, or its time has passed."""

    matches: int
    seconds: float
    warm_up_states: int
    """States of random games learned, over all sessions."""
    loss: float | None
    """Mean loss over the states learned in this session; None if there were none."""
    explained: float | None
    """Fraction of the variance of the values of new states that the network explains; None with the method `ends`."""
    is_kept: bool
    """Whether the network keeps its weights. If not, they are reset to the initial ones."""
    warm_up_seconds: float
    """Time of the warm-up in this session; the run's `seconds` exclude it if `warm_up.states` limits the warm-up."""


@dataclass(frozen=True, kw_only=True)
class RoundProgress:
    """Progress of a round. Sent a few times a second at most; its numbers are not final."""

    matches: int
    seconds: float
    alive: int
    """Games of the round in play."""
    plies: int
    """Moves searched in the round; random moves don't count."""
    plies_in_play: int
    """Moves searched so far in the games in play; random moves don't count."""
    evaluations: int
    """Evaluations in the round."""
    evaluations_per_second: float


@dataclass(frozen=True, kw_only=True)
class LearningIsLate:
    """The first game of the run is not expected to end before the time limit, so nothing would be learned."""

    matches: int
    seconds: float
    expected_seconds: float | None
    """Expected training time at the end of that game; None if no move was searched since the last check."""


@dataclass(frozen=True, kw_only=True)
class SettingsAdapted:
    """Games take too long for the run's time limit, so the run continues with less effort per game.

    `config.toml` contains the new settings.
    """

    matches: int
    seconds: float
    random_length: float
    """Mean length of the random games by which the settings were chosen, in moves."""
    length_in_play: float
    """Mean number of moves so far in the games in play."""
    matches_at_once: int
    """Games at once from now on; with workers, for each of them."""
    evaluations_per_move: int | None
    """Maximum number of evaluations per move from now on; None if there is no such limit."""
    longest_descent: int | None
    """Maximum length of a descent from now on; None if there is no such limit."""


@dataclass(frozen=True, kw_only=True)
class MatchFinished:
    """The `matches`-th game of the run has ended and has been learned."""

    matches: int
    length: int
    """Number of actions played."""
    returns: tuple[float, ...]
    """OpenSpiel's `state.returns()`."""
    iterations: int
    """Search iterations in the game."""
    evaluations: int
    """Evaluations in the game."""
    requests: int
    """Requests for evaluations in the game; requests of several games share one call of the network."""
    targets: int
    """Training samples of the game added to the replay, augmented ones included."""
    staleness: int | None = None
    """Learning phases between the weights of its last move and the phase that learns it; None without workers."""
    worker: int | None = None
    """Index of the worker that played it, from 0; None without workers."""
    curtailed: int | None = None
    """Moves whose search ended early because the tree was full; None if its size is not limited."""
    actions: tuple[int, ...] | None = None
    """The actions played."""
    cut_off: bool = False
    """Whether the limit on the length of a game ended this one without a result."""


@dataclass(frozen=True, kw_only=True)
class LearningFinished:
    """The learning phase after the `matches`-th game has ended."""

    matches: int
    loss: float | None
    """Mean value loss over the states learned; None if the replay had nothing to learn."""
    policy_loss: float | None
    """Mean policy loss over the states learned; None if no policy was learned."""
    states_learned: int
    """States learned in the phase; a state learned twice counts twice."""
    batches: int
    """Minibatches, one per step of the optimiser."""
    learning_seconds: float
    """Time of the phase."""


@dataclass(frozen=True, kw_only=True)
class RoundFinished:
    """The games of a round are learned, all of them unless the time limit ended the round."""

    matches: int
    seconds: float
    rounds: int
    """Rounds learned since the run began."""
    evaluations: int
    """Evaluations in the round."""
    network_calls: int
    """Network calls in the round."""
    states_learned: int
    """States learned in the round; a state learned twice counts twice."""
    search_seconds: float
    """Time of the round minus `learning_seconds`; with workers, which search meanwhile, the time of the round."""
    learning_seconds: float
    """Time of learning in the round."""
    replay_states: int
    """States in the replay."""
    replay_bytes: int
    """Memory of the replay, in bytes."""
    decisive_share: float | None = None
    """Fraction of the round's games that were won; a game for one player counts as won."""
    cut_off_share: float | None = None
    """Fraction of the round's games that the limit on their length ended without a result."""
    resolved_states: int | None = None
    """Proven states kept from game to game; None if they are not kept."""
    staleness: float | None = None
    """Mean staleness of the round's games; this and all following fields are None without workers."""
    most_staleness: int | None = None
    """Maximum staleness of the round's games."""
    learner_busy: float | None = None
    """Cores kept busy by the trainer: its processor time divided by the round's time."""
    workers_busy: tuple[float, ...] | None = None
    """Cores kept busy by each worker."""
    workers_waited: tuple[float, ...] | None = None
    """Fraction of the round's time in which each worker waited for the trainer."""
    inference_busy: float | None = None
    """Cores kept busy by the shared inference process; None without one."""
    queued: int | None = None
    """Finished games not yet learned at the end of the round."""
    workers_lost: int | None = None
    """Workers that ended or hung in this session and were replaced."""


@dataclass(frozen=True, kw_only=True)
class ShareIsFull:
    """A part of the memory budget is full for the first time in this session."""

    matches: int
    share: ShareName
    """Part of the budget. `tree`: searches in the tree of a game end early; `replay`: the oldest states are dropped
    earlier than the other replay settings say; `proven`: no more proven states are kept."""


@dataclass(frozen=True, kw_only=True)
class NothingDecided:
    """None of the games of this session was won, so there is little to learn from."""

    matches: int
    games: int
    """Number of games of the session."""
    cut_off_share: float
    """Fraction of them that the limit on their length ended."""
    length_limit: int | None
    """Maximum length of a game, in moves; None if no game was cut off."""
    advice: str
    """Suggestion of what to change."""


@dataclass(frozen=True, kw_only=True)
class EvaluationStarted:
    """The evaluation of the network after `matches` games begins. Training continues meanwhile."""

    matches: int
    skipped: int
    """Evaluations skipped because the previous one was still running."""


@dataclass(frozen=True, kw_only=True)
class EvaluationFinished:
    """The network after `matches` games was evaluated against one opponent, with both colours."""

    matches: int
    opponent: str
    wins: int
    draws: int
    losses: int
    points: float
    """Points per game: (wins + draws / 2) / games."""
    low: float
    """Lower end of the confidence interval of `points`."""
    high: float
    """Upper end of the interval."""
    confidence: float
    """Confidence level of the interval."""
    forfeits: int
    """Games lost by forfeit, such as by an engine that failed."""
    evaluation_seconds: float
    """Duration of the evaluation against all opponents."""


@dataclass(frozen=True, kw_only=True)
class EvaluationFailed:
    """The evaluation of the network after `matches` games failed. The run continues."""

    matches: int
    problem: str
    """Reason for the failure."""


@dataclass(frozen=True, kw_only=True)
class BestReplaced:
    """The network after `matches` games is the best one evaluated and is kept in `best/`."""

    matches: int
    points: float
    """Points per game, mean over the opponents."""
    low: float
    """Lower end of the confidence interval of `points`."""
    high: float
    """Upper end of the interval."""
    confidence: float
    """Confidence level of the interval."""


@dataclass(frozen=True, kw_only=True)
class CheckpointWritten:
    """A checkpoint is complete on disk."""

    matches: int
    checkpoint: Path
    bytes: int
    """Size of all its files."""
    writing_seconds: float


@dataclass(frozen=True, kw_only=True)
class RolledBack:
    """Rollback: learning has diverged, so the run continues from its last good checkpoint, after `matches` games.

    The learning rate is halved. Games in play are dropped.
    """

    matches: int
    seconds: float
    dropped: int
    """Games learned since that checkpoint, which are dropped."""
    problem: str
    """How the divergence was detected."""
    learning_rate: float
    """The new learning rate, also written to `config.toml`."""
    checkpoint: Path


@dataclass(frozen=True, kw_only=True)
class StopNoticed:
    """A stop was requested while the last games of a round were being learned and none was in play.

    The run stops once they are learned, or after `clock.LEARNING_SECONDS`.
    """

    matches: int


@dataclass(frozen=True, kw_only=True)
class RunFinished:
    """The run has ended. `checkpoint` contains its state after `matches` games; after an error, an earlier state."""

    matches: int
    seconds: float
    reason: EndReason
    folder: Path
    checkpoint: Path | None
    """The newest checkpoint; None if none could be written."""


Event = (
    RunStarted
    | WarmUpProgress
    | WarmUpFinished
    | RoundProgress
    | LearningIsLate
    | SettingsAdapted
    | MatchFinished
    | LearningFinished
    | RoundFinished
    | ShareIsFull
    | NothingDecided
    | EvaluationStarted
    | EvaluationFinished
    | EvaluationFailed
    | BestReplaced
    | CheckpointWritten
    | RolledBack
    | StopNoticed
    | RunFinished
)
Callback = Callable[[Event], None]
