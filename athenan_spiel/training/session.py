"""One session of a run, from `RunStarted` to `RunFinished`: warm-up, rounds, checkpoints and evaluations.

A warm-up on a number of states does not count as training time: the clock of the run starts after it.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from athenan_spiel.config import TrainingConfig
from athenan_spiel.drawing.picture import Pictured
from athenan_spiel.errors import CheckpointError, DivergedError
from athenan_spiel.play.driver import without_garbage_collection
from athenan_spiel.system.cluster import Cluster
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.training.actor import Actor
from athenan_spiel.training.actors import ActorPool
from athenan_spiel.training.actors.inline import InlineActors
from athenan_spiel.training.actors.pool import ActorTransport
from athenan_spiel.training.actors.processes import ProcessActors
from athenan_spiel.training.actors.ray import RayActors
from athenan_spiel.training.actors.rounds import ConcurrentRounds, InlineRounds, Rounds
from athenan_spiel.training.adaptation import Adaptation
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.callbacks import MetricsFile, TensorBoard
from athenan_spiel.training.callbacks.lines import ENDINGS
from athenan_spiel.training.clock import BrokenOffError, Pace, RunClock, RunLimits, now
from athenan_spiel.training.evaluation import Evaluations, Programs
from athenan_spiel.training.events import (
    Callback,
    EndReason,
    RunFinished,
    RunStarted,
    ShareIsFull,
    ShareName,
    WarmUpFinished,
    WarmUpProgress,
)
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.metrics_table import as_frame, evaluation_table, game_table
from athenan_spiel.training.results import DecisiveGames
from athenan_spiel.training.run_folder import RunFolder
from athenan_spiel.training.run_picture import RunPicture, picture_of_run, time_text
from athenan_spiel.training.saving import MAX_ROLLBACKS, Rollbacks, Saving


def warm_up(learner: LearnerSide, clock: RunClock, saving: Saving, stops: StopRequests, emit: Broadcast) -> bool:
    """Learn the rest of the warm-up. Returns False if a stop request interrupted it."""
    start, pace = now(), Pace()
    limit = learner.config.warm_up_seconds
    before = states = learner.counters.warm_up_states
    total = 0.0
    next_checkpoint = start + saving.spacing
    with contextlib.closing(learner.warm_up(lambda: clock.seconds() >= limit)) as minibatches:
        while True:
            try:
                with stops.droppable():
                    batch = next(minibatches, None)
            except KeyboardInterrupt:
                return False
            if batch is None:
                break
            loss = learner.learn_warm_up(batch)
            total += loss * len(batch.labels)
            states = learner.counters.warm_up_states
            if not limit:
                clock.restart()
            moment = now()
            if pace.is_due(moment):
                seconds = clock.seconds()
                emit(WarmUpProgress(matches=0, seconds=seconds, warm_up_states=states, minibatch_loss=loss))
            if stops.requested:
                return False
            if moment >= next_checkpoint:
                saving.save(emit)
                next_checkpoint = now() + saving.spacing
    counters = learner.counters
    if counters.warm_up_states and not counters.warm_ups_ended and not counters.matches:
        explained, is_kept = learner.end_warm_up()
        emit(
            WarmUpFinished(
                matches=0,
                seconds=clock.seconds(),
                warm_up_states=states,
                loss=total / (states - before) if states > before else None,
                explained=explained,
                is_kept=is_kept,
                warm_up_seconds=now() - start,
            )
        )
        saving.save(emit)
    return True


@dataclass(frozen=True, kw_only=True)
class Run(Pictured):
    """Result of a run. Notebooks show its `picture`.

    Attributes:
        folder: run folder, for `resume` and `load_agent`.
        game: OpenSpiel string of the game.
        config: settings.
        matches: total number of games learned.
        seconds: total training time over all sessions, without a warm-up on a number of states.
        reason: reason for the end: "matches" or "seconds" (the limit reached), or "stopped" (a stop request).
        checkpoint: folder of the newest checkpoint.
    """

    folder: Path
    game: str
    config: TrainingConfig
    matches: int
    seconds: float
    reason: EndReason
    checkpoint: Path

    @property
    def metrics(self) -> Any:
        """Table of the games learned, read from the run folder now.

        A row contains the number of the game (`matches`), the training time, and the numbers of its `match_finished`
        and `learning_finished` in docs/metrics.md, such as `length` and `loss`. Missing values are NaN. It is a pandas
        `DataFrame` if pandas is installed, else a structured numpy array.

        Raises:
            CheckpointError: the metrics cannot be read.
        """
        return as_frame(game_table(self.folder))

    @property
    def evaluations(self) -> Any:
        """Table of the evaluations of the run, one row for each network and opponent; otherwise as `metrics`.

        The columns are those of `evaluation_finished` in docs/metrics.md, such as `opponent`, `points`, `low` and
        `high`, and the training time.

        Raises:
            CheckpointError: the metrics cannot be read.
        """
        return as_frame(evaluation_table(self.folder))

    def picture(self) -> RunPicture:
        """Returns the result with the curves of the run, which are read from its folder now."""
        facts = [
            ("run", str(self.folder)),
            ("game", self.game),
            ("learned", f"{self.matches:,} games in {time_text(self.seconds)}"),
            ("ended", ENDINGS[self.reason]),
            ("newest checkpoint", self.checkpoint.name),
        ]
        return picture_of_run(self.folder, facts)


@dataclass(frozen=True)
class Beginning:
    """Start of a new run.

    Attributes:
        start: time of the start, by `clock.now`.
    """

    start: float


class Session:
    """Plays and learns until a limit of the run or a stop request. Use it once.

    `run` is the first method that changes the folder.

    Args:
        learner: state of the run.
        actor: plays the games if there are no workers.
        origin: the checkpoint that `learner` was restored from, or the start of a new run. None: an existing run that
            has no checkpoint.
        milestones: fractions of the run, in (0, 1), at which a checkpoint is written.
        programs: commands of engines that evaluations may start.
        max_rollbacks: maximum number of rollbacks when learning diverges.
        cluster: Ray cluster that plays the games; None: this machine.

    Raises:
        CheckpointError: `metrics.jsonl` cannot be read.
    """

    def __init__(
        self,
        folder: RunFolder,
        learner: LearnerSide,
        actor: Actor,
        origin: Path | Beginning | None,
        callbacks: Sequence[Callback],
        stop: Callable[[], bool] | None,
        milestones: Sequence[float] = (),
        programs: Programs = None,
        max_rollbacks: int = MAX_ROLLBACKS,
        cluster: Cluster | None = None,
    ) -> None:
        self._folder = folder
        self._cluster = cluster
        self._learner = learner
        self._actor = actor
        metrics = MetricsFile(folder.metrics_path)
        metrics.require_lines()
        self._results = DecisiveGames(learner.game)
        self._emit = emit = Broadcast([metrics, TensorBoard(folder.tensorboard_path), self._results, *callbacks])
        self._stops = stops = StopRequests(stop)
        beginning = origin if isinstance(origin, Beginning) else None
        self._choice = None if beginning is None else learner.plan.choice
        self._reported_full: set[ShareName] = set()
        self._before = learner.counters.seconds
        self._clock = clock = RunClock(self._before, None if beginning is None else beginning.start)
        self._limits = limits = RunLimits(learner, clock, stops, emit)
        self._milestones = milestones
        self._programs = programs
        self._rollbacks = Rollbacks(folder, learner, max_rollbacks)
        self._start_saving_and_evaluating(origin if isinstance(origin, Path) else None)
        adaptation = Adaptation(learner, emit, self._write_settings)
        kind = ConcurrentRounds if learner.config.workers.count else InlineRounds
        self._rounds: Rounds = kind(self._new_pool, learner, clock, limits, stops, emit, adaptation)

    def run(self) -> Run:
        """Play and learn until the end, save, and return the result."""
        reason: EndReason = "error"
        try:
            with self._stops:
                self._folder.remove_leftovers()
                self._emit(self._started())
                self._saving.save(self._emit)
                reason = self._train()
                self._rounds.close()
                self._end(reason)
        except BaseException:
            if self._emit.broken:
                self._save_after_error()
            self._saving.close()
            self._emit.last(self._finished_early())
            raise
        finally:
            self._rounds.close()
            self._evaluating.close()
        self._emit(self._finished(reason))
        assert self._saving.newest is not None
        return Run(
            folder=self._folder.path,
            game=str(self._learner.game),
            config=self._learner.config,
            matches=self._learner.counters.matches,
            seconds=self._saving.seconds,
            reason=reason,
            checkpoint=self._saving.newest,
        )

    def _start_saving_and_evaluating(self, newest: Path | None) -> None:
        """Start saving and evaluating from the learner's current state."""
        self._saving = Saving(self._folder, self._learner, self._clock, self._limits, self._milestones, newest)
        address = None if self._cluster is None or self._cluster.is_own else self._cluster.address
        self._evaluating = Evaluations(
            self._folder.path, self._learner, self._clock, self._emit, self._programs, address
        )

    def _train(self) -> EndReason:
        """Warm up, play and learn; returns the reason for the end."""
        while True:
            try:
                is_complete = warm_up(self._learner, self._clock, self._saving, self._stops, self._emit)
                return self._play() if is_complete else "stopped"
            except DivergedError as error:
                self._roll_back(error)

    def _roll_back(self, error: DivergedError) -> None:
        """Continue from the last good checkpoint with half the learning rate.

        Raises:
            DivergedError: the maximum number of rollbacks is reached.
            CheckpointError: the folder was moved or deleted, or cannot be written.
        """
        self._saving.close()
        event = self._rollbacks.roll_back(error, self._saving.newest, self._clock.seconds())
        self._rounds.close()
        self._evaluating.drop("learning has diverged, and the run was rolled back to a checkpoint")
        self._start_saving_and_evaluating(event.checkpoint)
        self._emit(event)

    def _new_pool(self) -> ActorPool:
        learner = self._learner
        run = str(learner.game), learner.config, learner.outcome, learner.kind
        network = learner.network
        row = network.shape, network.values + network.actions
        transport: ActorTransport
        if not learner.config.workers.count:
            transport = InlineActors(self._actor, learner.proven)
        elif self._cluster is not None:
            transport = RayActors(*run, self._cluster, row)
        else:
            transport = ProcessActors(*run, learner.published().weights, row)
        return ActorPool(learner.config, transport)

    def _play(self) -> EndReason:
        """Play and learn round after round; returns the reason for the end."""
        while True:
            if self._limits.reason() is None:
                self._evaluating.update()
            self._saving.save_if_due(self._emit)
            if (reason := self._limits.reason()) is not None:
                return reason
            try:
                with without_garbage_collection():
                    self._rounds.play()
            except (KeyboardInterrupt, BrokenOffError):
                self._learner.drop_round()
                return self._limits.reason() or "stopped"
            self._report_full()
            self._warn()
            self._folder.require_kept()

    def _report_full(self) -> None:
        for share in self._learner.full_shares():
            if share not in self._reported_full:
                self._reported_full.add(share)
                self._emit(ShareIsFull(matches=self._learner.counters.matches, share=share))

    def _warn(self, *, at_end: bool = False) -> None:
        if (warning := self._results.warning(at_end=at_end)) is not None:
            self._emit(warning)

    def _write_settings(self, config: TrainingConfig) -> None:
        self._folder.require_kept()
        self._folder.write_settings(str(self._learner.game), config)

    def _end(self, reason: EndReason) -> None:
        """Save, and finish or stop evaluations."""
        self._warn(at_end=True)
        if reason == "stopped":
            self._evaluating.stop()
            self._saving.save(self._emit)
            return
        self._clock.stop()
        self._saving.save(self._emit)
        evaluated_at = self._learner.counters.evaluated_at
        self._evaluating.finish(lambda: self._stops.requested)
        if self._learner.counters.evaluated_at != evaluated_at:
            self._saving.save(self._emit)  # the checkpoint contains `evaluated_at`

    def _save_after_error(self) -> None:
        """Try to write a checkpoint after an error of a callback, which the caller raises again."""
        self._learner.drop_round()
        with contextlib.suppress(CheckpointError):
            self._saving.save(self._emit.last)

    def _started(self) -> RunStarted:
        learner = self._learner
        constants = ", ".join(f"{name} = {value}" for name, value in learner.outcome.parameters.items())
        return RunStarted(
            matches=learner.counters.matches,
            seconds=self._before,
            game=str(learner.game),
            config=learner.config,
            folder=self._folder.path,
            network=learner.network.description,
            engine=self._actor.evaluator.engine.name,
            outcome=learner.config.outcome + (f" ({constants})" if constants else ""),
            symmetries=learner.plan.symmetries.names,
            choice=self._choice,
            memory=None if learner.plan.memory is None else str(learner.plan.memory),
        )

    def _finished_early(self) -> RunFinished:
        """Returns the event after an error. After a second Ctrl-C, `matches` is that of the newest checkpoint."""
        if not self._stops.requested:
            return self._finished("error")
        newest = self._saving.newest
        return dataclasses.replace(self._finished("stopped"), matches=0 if newest is None else int(newest.name))

    def _finished(self, reason: EndReason) -> RunFinished:
        return RunFinished(
            matches=self._learner.counters.matches,
            seconds=self._clock.seconds(),
            reason=reason,
            folder=self._folder.path,
            checkpoint=self._saving.newest,
        )
