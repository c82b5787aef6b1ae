"""What a training run tells its listeners, while it runs.

A listener is a callable that takes an event, as in `ath.train(..., listeners=[tell])`; the live view, `metrics.jsonl`
and TensorBoard are listeners. The order:

`RunStarted`; where there is a warm-up to learn, any number of `WarmUpProgress`, then `WarmUpFinished`; for each round
any number of `RoundProgress`, among them for each match, in the order of the seeds, as soon as it and those before it
have ended, `MatchFinished` and `LearningFinished`; then `RoundFinished`; between rounds, and after the last one,
perhaps `CheckpointWritten` and `EvaluationStarted`, and some rounds later an `EvaluationFinished` for each opponent and
perhaps `BestReplaced`, or `EvaluationFailed`; in the end `RunFinished`, also when an error ends the run. A round that a
stop request breaks off leaves the `MatchFinished` of matches that are played again when the run is resumed, so
`RunFinished` may count fewer. A `SetBack`, at any time, takes back what came after its checkpoint: what is counted goes
on from there, while the time runs on. `LearningIsLate` comes once, in the first round, if at all, and `StopNoticed`
once, when the last matches of a round are learned. `SettingsAdapted` comes among the events of a round, perhaps several
times. `NothingDecided` comes after a round, once a session at most. `ShareIsFull` comes after a round, once a session
for each share at most. What a listener raises ends the run, which is saved first.

A name means one thing in all events. `matches` is the number of matches learned since the run began, resumptions
included: until now, but where an evaluation is told of, by the network that was evaluated. `seconds` is the time of the
run likewise; other times have longer names. Where two events share another name, each counts what it tells of: the
match, the round. What was not measured is None, never 0.
docs/metrics.md has all names in one table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from athenan_spiel.config import TrainingConfig

ShareName = Literal["tree", "replay", "proven"]
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
    choice: str | None = None
    """What random matches showed of the game, and which settings were chosen by that; None where none were."""
    memory: str | None = None
    """How much of the memory that the run may take each part of it has; None where there is no bound."""


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
    """A round is being played, and those of its matches that have ended are learned.

    Sent a few times a second at most; nothing in it is final.
    """

    matches: int
    seconds: float
    alive: int
    """Matches of the round that have not ended."""
    plies: int
    """Actions found in the round; random ones do not count."""
    plies_in_play: int
    """Actions found in the matches that have neither ended nor been dropped; random ones do not count."""
    evaluations: int
    """States valued by the network in the round."""
    evaluations_per_second: float


@dataclass(frozen=True, kw_only=True)
class LearningIsLate:
    """The first match of the run will hardly end before its time limit, so nothing would be learned."""

    matches: int
    seconds: float
    expected_seconds: float | None
    """When that match is expected to end, in the run's time; None where no move was played yet."""


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
    """A match that has ended, as have all before it in its round, is learned: the `matches`-th of the run."""

    matches: int
    length: int
    """Actions played."""
    returns: tuple[float, ...]
    """As OpenSpiel's `state.returns()`."""
    iterations: int
    """Of the search, over the whole match."""
    evaluations: int
    """States valued by the network in the match."""
    questions: int
    """Questions in which the match has asked for them; those of several matches are one call of the network."""
    targets: int
    """States of the match's tree that join the replay, images by symmetries included, each with the value to learn."""
    staleness: int | None = None
    """Learning phases between the weights with which its last move was searched and its own; None where a run plays
    and learns in one process."""
    worker: int | None = None
    """The process that played it, from 0; None likewise."""
    curtailed: int | None = None
    """Moves of which the search has ended sooner, as the match's tree held as many states as it may; None where there
    is no bound."""
    actions: tuple[int, ...] | None = None
    """All that were played, from which the match can be shown."""
    cut_off: bool = False
    """The limit on the length of a game ended it, undecided."""


@dataclass(frozen=True, kw_only=True)
class LearningFinished:
    """The learning phase after the `matches`-th match."""

    matches: int
    loss: float | None
    """Mean loss of the values of the states learned; None where the replay offered nothing to learn."""
    policy_loss: float | None
    """Likewise of their policies; None where no policy was learned."""
    states_learned: int
    """States learned in the phase, each as often as it was."""
    batches: int
    """Minibatches, each a step of the optimiser."""
    learning_seconds: float
    """Time of the phase."""


@dataclass(frozen=True, kw_only=True)
class RoundFinished:
    """What is to be learned of a round is learned: the next one is played with the new weights.

    These are all its matches, but for a round that the time limit ends.
    """

    matches: int
    seconds: float
    rounds: int
    """Rounds learned since the run began."""
    evaluations: int
    """States valued by the network in the round."""
    network_calls: int
    """Calls of the network in the round."""
    states_learned: int
    """States learned in the round, each as often as it was."""
    search_seconds: float
    """Time in which the round's matches were played, without that in which some of them were learned."""
    learning_seconds: float
    """Time in which they were learned."""
    replay_states: int
    """States that the replay holds."""
    replay_bytes: int
    """What they take."""
    decisive_share: float | None = None
    """Share of the round's games that somebody has won; a game of one player counts as won."""
    cut_off_share: float | None = None
    """Share of the round's games that the limit on their length ended, undecided."""
    resolved_states: int | None = None
    """Resolved states kept from match to match; None where none are kept."""
    staleness: float | None = None
    """Mean over the matches of the round; None, as all that follows, where a run plays and learns in one process."""
    most_staleness: int | None = None
    """The greatest."""
    learner_busy: float | None = None
    """Processor time that the process which learns took, divided by the round's time: how many cores it kept busy."""
    workers_busy: tuple[float, ...] | None = None
    """The same of each worker."""
    workers_waited: tuple[float, ...] | None = None
    """Time in which each worker waited for the learner, divided by the round's."""
    inference_busy: float | None = None
    """As `learner_busy`, of the process that values states for all workers; None where there is none."""
    queued: int | None = None
    """Matches that have ended and are not learned, at the end of the round."""
    workers_lost: int | None = None
    """Workers that ended by themselves, or hung, in this session; others have taken their places."""


@dataclass(frozen=True, kw_only=True)
class ShareIsFull:
    """Something takes as much memory as it may, and was not full before in this session: there is no room for more."""

    matches: int
    share: ShareName
    """A match's `tree`: searches in it end sooner; the `replay`: its oldest states leave before the settings say so;
    the states `proven` in earlier matches: no more are kept."""


@dataclass(frozen=True, kw_only=True)
class NothingDecided:
    """None of the games of this session was won, so there is little to learn from."""

    matches: int
    games: int
    """Number of games of the session."""
    cut_off_share: float
    """Share of them that the limit on their length ended."""
    length_limit: int | None
    """Maximum length of a game, in moves; None if no game was cut off."""
    advice: str
    """What to change."""


@dataclass(frozen=True, kw_only=True)
class EvaluationStarted:
    """The network as it is now, after `matches` matches, begins to meet its opponents, beside the training."""

    matches: int
    skipped: int
    """Evaluations that have become due since the one before began, and are not played, as that had not ended."""


@dataclass(frozen=True, kw_only=True)
class EvaluationFinished:
    """The network after `matches` matches has met an opponent, with both colours; there is one for each opponent."""

    matches: int
    opponent: str
    wins: int
    draws: int
    losses: int
    points: float
    """(wins + draws / 2) / matches played."""
    low: float
    """The lower end of the interval of `points`."""
    high: float
    """The upper end."""
    confidence: float
    """Of the interval."""
    forfeits: int
    """Matches that somebody has lost by no play, as an engine that fails does."""
    evaluation_seconds: float
    """Time of the evaluation, with all opponents; the run goes on meanwhile."""


@dataclass(frozen=True, kw_only=True)
class EvaluationFailed:
    """The evaluation of the network after `matches` matches has come to nothing; the run goes on."""

    matches: int
    problem: str
    """Why."""


@dataclass(frozen=True, kw_only=True)
class BestReplaced:
    """The network after `matches` matches is the best one that was evaluated, and kept as that (`best/`)."""

    matches: int
    points: float
    """Its share of the points, mean over the opponents."""
    low: float
    """The lower end of the interval of `points`."""
    high: float
    """The upper end."""
    confidence: float
    """Of the interval."""


@dataclass(frozen=True, kw_only=True)
class CheckpointWritten:
    """A checkpoint is whole on disk."""

    matches: int
    checkpoint: Path
    bytes: int
    """Of all its files."""
    writing_seconds: float


@dataclass(frozen=True, kw_only=True)
class SetBack:
    """Learning has diverged, so the run goes on from its last good checkpoint, after `matches` matches.

    It learns slower from there. The matches in play are lost.
    """

    matches: int
    seconds: float
    dropped: int
    """Matches that were learned since, and count no more."""
    problem: str
    """How it was noticed."""
    learning_rate: float
    """From now on: half of what it was, as `config.toml` says, too."""
    checkpoint: Path


@dataclass(frozen=True, kw_only=True)
class StopNoticed:
    """The run was asked to stop while it learns the last matches of a round, of which none is in play any more.

    It will, once the round is learned or that has taken too long.
    """

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
    | SetBack
    | StopNoticed
    | RunFinished
)
Listener = Callable[[Event], None]
