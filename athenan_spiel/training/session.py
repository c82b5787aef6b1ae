"""One session of a run: the loop of rounds from `RunStarted` to `RunFinished`, with its saving and its ending."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import CheckpointError, EvaluatorError
from athenan_spiel.play.self_play import Match, Round, without_garbage_collection
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.evaluation import evaluate
from athenan_spiel.training.events import (
    CheckpointWritten,
    EndReason,
    EvaluationFinished,
    LearningIsLate,
    Listener,
    RoundFinished,
    RoundProgress,
    RunFinished,
    RunStarted,
    StopNoticed,
    WarmUpFinished,
    WarmUpProgress,
)
from athenan_spiel.training.listeners import MetricsFile, TensorBoard
from athenan_spiel.training.run_folder import RunFolder
from athenan_spiel.training.stopping import StopRequests
from athenan_spiel.training.trainer import Trainer, fraction_done

PROGRESS_SECONDS = 0.25
"""Time between two `RoundProgress` events."""
LEARNING_SECONDS = 2.0
"""Learning goes on for so long after a request to stop, where all matches of the round have ended, and after the time
limit. Then the round is dropped, at the time limit the match alone, lest nothing is saved."""
LATE_SHARE = 0.15
"""Share of the time limit after which it is looked at whether the first match will end in time."""
CHECKPOINT_SHARE = 0.05
"""Checkpoints are spaced out so far that writing them takes at most this share of the time."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What became of a run.

    Attributes:
        folder: where it is; `resume` and `load_agent` take it.
        config: its settings.
        matches: learned in all.
        seconds: used in all, resumptions included.
        reason: why it ended.
        checkpoint: its newest checkpoint.
    """

    folder: Path
    game: str
    config: TrainingConfig
    matches: int
    seconds: float
    reason: EndReason
    checkpoint: Path


@dataclass(frozen=True)
class Beginning:
    """What came before the first session of a run.

    Attributes:
        start: when its clock began, as `now` says.
        length: the mean length of some random matches, in moves.
        choice: which settings were chosen by them, in words; None: none.
    """

    start: float
    length: float
    choice: str | None = None


def now() -> float:
    """A moment by the clock of all runs, in seconds."""
    return time.perf_counter()


class _BrokenOffError(Exception):
    """A stop request, or for what is played the time limit, came while work was done that may be dropped."""


class _OutOfTimeError(Exception):
    """The time limit has been passed by so much that the match which is being learned is dropped."""


class Session:
    """Runs `trainer` to the end of its limits, or until it is asked to stop. For one use.

    Args:
        origin: the checkpoint that `trainer` was restored from, or what came before a new run; none: a run without
            a checkpoint is begun again.
        milestones: a checkpoint is written as soon as so much of the run lies behind, each in (0, 1).
    """

    def __init__(
        self,
        folder: RunFolder,
        trainer: Trainer,
        origin: Path | Beginning | None,
        listeners: Sequence[Listener],
        stop: Callable[[], bool] | None,
        milestones: Sequence[float] = (),
    ) -> None:
        self._folder = folder
        self._trainer = trainer
        own = (MetricsFile(folder.metrics_path), TensorBoard(folder.tensorboard_path))
        self._emit = Broadcast([*own, *listeners])
        self._stops = StopRequests(stop)
        self._beginning = origin if isinstance(origin, Beginning) else None
        self._newest = origin if isinstance(origin, Path) else None
        self._saved_at = _learned(trainer) if self._newest is not None else None
        self._before = trainer.counters.seconds
        self._start = self._beginning.start if self._beginning is not None else time.perf_counter()
        self._next_checkpoint = self._before + trainer.config.checkpoint_seconds
        self._spacing = trainer.config.checkpoint_seconds
        self._next_progress = 0.0
        self._plies = 0
        self._noticed_at: float | None = None
        self._milestones = sorted(milestone for milestone in milestones if milestone > self._done())

    def run(self) -> Run:
        """Play and learn until the end, save, and say why it ended."""
        reason: EndReason = "error"
        try:
            with self._stops:
                self._emit(self._started())
                self._save()
                reason = "stopped" if self._warm_up_is_cut_short() else self._rounds()
                self._save()
        except BaseException:
            if self._emit.broken:
                self._save_what_there_is()
            self._emit.last(self._finished("stopped" if self._stops.requested else "error"))
            raise
        self._emit(self._finished(reason))
        assert self._newest is not None
        return Run(
            folder=self._folder.path,
            game=str(self._trainer.game),
            config=self._trainer.config,
            matches=self._trainer.counters.matches,
            seconds=self._trainer.counters.seconds,
            reason=reason,
            checkpoint=self._newest,
        )

    def _warm_up_is_cut_short(self) -> bool:
        """Learn what is left of the warm-up; True if a stop request came first. The run's clock stands still."""
        trainer, start = self._trainer, time.perf_counter()
        before = states = trainer.counters.warm_up_states
        total = 0.0
        next_checkpoint = start + self._spacing
        with contextlib.closing(trainer.warm_up()) as minibatches:
            while True:
                try:
                    with self._stops.droppable():
                        batch = next(minibatches, None)
                except KeyboardInterrupt:
                    return True
                if batch is None:
                    break
                loss = trainer.learn_warm_up(batch)
                total += loss * len(batch.values)
                states = trainer.counters.warm_up_states
                now = self._start = time.perf_counter()
                if now >= self._next_progress:
                    self._next_progress = now + PROGRESS_SECONDS
                    self._emit(WarmUpProgress(matches=0, warm_up_states=states, minibatch_loss=loss))
                if self._stops.requested:
                    return True
                if now >= next_checkpoint:
                    self._save()
                    next_checkpoint = time.perf_counter() + self._spacing
        if states > before:
            trainer.publish()
            taken = time.perf_counter() - start
            loss = total / (states - before)
            self._emit(WarmUpFinished(matches=0, warm_up_states=states, loss=loss, warm_up_seconds=taken))
            self._save()
        return False

    def _rounds(self) -> EndReason:
        while True:
            if self._evaluation_is_due():
                try:
                    with self._stops.droppable():
                        event = self._evaluate()
                except (KeyboardInterrupt, _BrokenOffError):
                    return self._ended() or "stopped"
                self._emit(event)
            if self._milestone_is_passed() or self._seconds() >= self._next_checkpoint:
                self._save()
            if (reason := self._ended()) is not None:
                return reason
            try:
                with without_garbage_collection():
                    self._round()
            except (KeyboardInterrupt, _BrokenOffError):
                self._trainer.drop_round()
                return self._ended() or "stopped"
            self._folder.require_kept()

    def _round(self) -> None:
        """Play the matches of a round, and learn each when it and those before it have ended.

        Raises:
            _BrokenOffError: it was broken off, and nothing of it counts.
        """
        trainer = self._trainer
        before = trainer.counters
        start, learning_seconds = time.perf_counter(), 0.0
        playing = trainer.new_round(self._done(), self._count_ply)
        self._plies = 0
        going = True
        while going and not self._time_is_up():
            with self._stops.droppable(), self._telling_what_spoils_weights():
                going = playing.advance()
                self._break_off_if_stopped()
            learning_seconds += self._learn(iter(playing.take, None), playing)
            now = time.perf_counter()
            if going and now >= self._next_progress:
                self._next_progress = now + PROGRESS_SECONDS
                self._tell_if_late(playing.alive)
                self._emit(
                    RoundProgress(
                        matches=trainer.counters.matches,
                        seconds=self._seconds(),
                        alive=playing.alive,
                        plies=self._plies,
                        evaluations=playing.evaluations,
                        evaluations_per_second=playing.evaluations / (now - start - learning_seconds),
                    )
                )
        learning_seconds += self._learn(iter(playing.matches()), playing)
        if trainer.counters.matches == before.matches:
            raise _BrokenOffError
        trainer.end_round(self._seconds())
        self._emit(
            RoundFinished(
                matches=trainer.counters.matches,
                seconds=self._seconds(),
                rounds=trainer.counters.rounds,
                evaluations=playing.evaluations,
                states_learned=trainer.counters.states_learned - before.states_learned,
                search_seconds=time.perf_counter() - start - learning_seconds,
                learning_seconds=learning_seconds,
                replay_states=trainer.replay.states(),
                replay_bytes=trainer.replay.nbytes,
                resolved_states=None if trainer.resolved is None else len(trainer.resolved),
            )
        )

    @contextlib.contextmanager
    def _telling_what_spoils_weights(self) -> Iterator[None]:
        """Values that are not finite come of weights that learning has spoilt, whose loss before that was fine."""
        try:
            yield
        except EvaluatorError as error:
            counters = self._trainer.counters
            if counters.matches == counters.warm_up_states == 0:
                raise
            rate = self._trainer.config.learner.learning_rate
            raise EvaluatorError(f"{error}: lower learner.learning_rate, now {rate!r}") from error

    def _learn(self, matches: Iterator[Match], playing: Round) -> float:
        """Learn these in order, as far as the time limit lets; the matches in play go on with the new weights.

        Returns:
            Seconds that it took.

        Raises:
            _BrokenOffError: a stop request came, and the round would not end soon.
        """
        start, learned = time.perf_counter(), False
        for match in matches:
            try:
                events = self._trainer.learn(match, functools.partial(self._break_off_learning, playing.alive > 0))
            except _OutOfTimeError:
                self._trainer.drop_phase()
                break
            learned = True
            for event in events:
                self._emit(event)
        if learned and playing.alive:
            self._trainer.publish()
        return time.perf_counter() - start

    def _tell_if_late(self, alive: int) -> None:
        """Tell once if the first match of the run will hardly end within the time limit.

        It is expected to end when as many moves as a random match takes are played in each match, at the speed so far.
        """
        limit, seconds = self._trainer.config.seconds, self._seconds()
        if self._beginning is None or limit is None or seconds < LATE_SHARE * limit:
            return
        length, self._beginning = self._beginning.length, None  # this is asked once
        if self._trainer.counters.matches or self._plies >= alive * length:
            return
        expected = seconds * alive * length / self._plies if self._plies else None
        if expected is None or expected > limit:
            self._emit(LearningIsLate(matches=0, seconds=seconds, expected_seconds=expected))

    def _evaluation_is_due(self) -> bool:
        every, counters = self._trainer.config.evaluation.every_matches, self._trainer.counters
        return every is not None and counters.matches // every != counters.evaluated_at // every

    def _evaluate(self) -> EvaluationFinished:
        self._break_off_if_ended()
        trainer = self._trainer
        matches = trainer.counters.matches
        event = evaluate(trainer.game, trainer.outcome, self._valued, trainer.config, matches)
        trainer.counters = dataclasses.replace(trainer.counters, evaluated_at=matches)
        return event

    def _valued(self, states: Sequence[pyspiel.State]) -> NDArray[np.float32]:
        """What the network says of `states`; the way in which a match that is no round's is broken off."""
        self._break_off_if_ended()
        return self._trainer.evaluator(states)

    def _milestone_is_passed(self) -> bool:
        """Whether milestones were passed since this was last asked."""
        ahead = [milestone for milestone in self._milestones if milestone > self._done()]
        passed = len(ahead) < len(self._milestones)
        self._milestones = ahead
        saved = self._saved_at[0] if self._saved_at is not None else 0
        return passed or self._trainer.config.has_milestone_between(saved, self._trainer.counters.matches)

    def _save_what_there_is(self) -> None:
        """Write a checkpoint after a listener's own error, if that can be; the error is what is to be told."""
        self._trainer.drop_round()
        with contextlib.suppress(CheckpointError):
            event = self._write()
            if event is not None:
                self._emit.last(event)

    def _save(self) -> None:
        """Write a checkpoint; where nothing was learned since the last one, only its header."""
        event = self._write()
        if event is not None:
            self._emit(event)

    def _write(self) -> CheckpointWritten | None:
        """Save; returns what is to be told of it."""
        trainer = self._trainer
        self._folder.require_kept()
        trainer.counters = dataclasses.replace(trainer.counters, seconds=self._seconds())
        if self._newest is not None and self._saved_at == _learned(trainer):
            self._folder.save_header(self._newest, trainer.header())
            return None
        start = time.perf_counter()
        self._newest = self._folder.save(trainer.checkpoint())
        self._saved_at = _learned(trainer)
        taken = time.perf_counter() - start
        self._spacing = max(trainer.config.checkpoint_seconds, taken * (1 - CHECKPOINT_SHARE) / CHECKPOINT_SHARE)
        self._next_checkpoint = self._seconds() + self._spacing
        return CheckpointWritten(
            matches=trainer.counters.matches,
            checkpoint=self._newest,
            bytes=sum(file.stat().st_size for file in self._newest.iterdir()),
            writing_seconds=taken,
        )

    def _ended(self) -> EndReason | None:
        config = self._trainer.config
        if self._stops.requested:
            return "stopped"
        if config.matches is not None and self._trainer.counters.matches >= config.matches:
            return "matches"
        return "seconds" if self._time_is_up() else None

    def _time_is_up(self) -> bool:
        limit = self._trainer.config.seconds
        return limit is not None and self._seconds() >= limit

    def _break_off_if_ended(self) -> None:
        if self._stops.requested or self._time_is_up():
            raise _BrokenOffError

    def _break_off_if_stopped(self) -> None:
        if self._stops.requested:
            raise _BrokenOffError

    def _break_off_learning(self, in_play: bool) -> None:
        """Raise where learning must not go on: at a stop request at once if matches are `in_play`, else a bit later."""
        limit = self._trainer.config.seconds
        if limit is not None and self._seconds() > limit + LEARNING_SECONDS:
            raise _OutOfTimeError
        if not self._stops.requested:
            return
        if in_play:
            raise _BrokenOffError
        now = time.perf_counter()
        if self._noticed_at is None:
            self._noticed_at = now
            self._emit(StopNoticed(matches=self._trainer.counters.matches))
        if now - self._noticed_at > LEARNING_SECONDS:
            raise _BrokenOffError

    def _count_ply(self) -> None:
        self._plies += 1

    def _done(self) -> float:
        """How much of the run lies behind, in [0, 1]."""
        return fraction_done(self._trainer.config, self._trainer.counters.matches, self._seconds())

    def _seconds(self) -> float:
        """Seconds of the whole run until now."""
        return self._before + time.perf_counter() - self._start

    def _started(self) -> RunStarted:
        trainer = self._trainer
        constants = ", ".join(f"{name} = {value}" for name, value in trainer.outcome.parameters.items())
        return RunStarted(
            matches=trainer.counters.matches,
            seconds=self._before,
            game=str(trainer.game),
            config=trainer.config,
            folder=self._folder.path,
            network=trainer.network.description,
            engine=trainer.engine.name,
            outcome=trainer.config.outcome + (f" ({constants})" if constants else ""),
            symmetries=trainer.augmentation.names,
            choice=self._beginning.choice if self._beginning is not None else None,
        )

    def _finished(self, reason: EndReason) -> RunFinished:
        return RunFinished(
            matches=self._trainer.counters.matches,
            seconds=self._seconds(),
            reason=reason,
            folder=self._folder.path,
            checkpoint=self._newest,
        )


def _learned(trainer: Trainer) -> tuple[int, int]:
    """What a checkpoint's weights rest on."""
    return trainer.counters.matches, trainer.counters.warm_up_states
