"""Measures a whole training with and without workers, by a run in a temporary folder."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from athenan_spiel.config import EvaluationConfig, SelfPlayConfig, TrainingConfig, WarmUpConfig
from athenan_spiel.config.settings import LONGEST
from athenan_spiel.engines import make_engine
from athenan_spiel.measuring.report import TimeShares, TrainingSpeed
from athenan_spiel.measuring.stand_ins import TimedEngine
from athenan_spiel.measuring.subject import Subject
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.training.actor import Actor
from athenan_spiel.training.events import CheckpointWritten, Event, MatchFinished, RoundFinished, RoundProgress
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.run_folder import RunFolder
from athenan_spiel.training.session import Session

PATIENCE = 2.0
"""Maximum time to wait for a second round, as a multiple of the measured time."""


def training_speeds(
    subject: Subject, workers: Sequence[int], seconds: float, say: Callable[[str], object]
) -> Iterator[TrainingSpeed]:
    """Measures for about `seconds` in total, without start-up.

    Args:
        workers: numbers of worker processes; 0: the learning process plays.
        say: called with a description of the next measurement.

    Raises:
        KeyboardInterrupt: a signal asked to stop.
        AthenanError: as a training raises it.
    """
    for count in workers:
        say(f"training with {count} {'worker' if count == 1 else 'workers'}" if count else "training without workers")
        yield training_speed(subject, with_workers(subject.config, count), seconds / len(workers))


def with_workers(config: TrainingConfig, count: int) -> TrainingConfig:
    """Returns `config` with this number of workers, and without limits, evaluations, warm-up and phases.

    Raises:
        ConfigError: other settings contradict this number.
    """
    own = config.self_play
    return dataclasses.replace(
        config,
        matches=None,
        seconds=float(LONGEST),
        evaluation=EvaluationConfig(),
        warm_up=WarmUpConfig(),
        self_play=SelfPlayConfig(method=own.method, temperature=own.temperature),
        workers=dataclasses.replace(config.workers, count=count),
    )


def training_speed(subject: Subject, config: TrainingConfig, seconds: float) -> TrainingSpeed:
    """Returns the speed of a training with these settings; raises as `training_speeds`."""
    learner = LearnerSide(plan_run(subject.game, config))
    engine = TimedEngine(make_engine(config.engine, learner.encoder.shape))
    actor = Actor(subject.game, config, learner.outcome, engine, learner.encoder)
    watch = _Watch(config.workers.count, engine, seconds)
    with tempfile.TemporaryDirectory(prefix="athenan-") as temporary, StopRequests() as stops:
        folder = RunFolder(Path(temporary) / "run")
        with folder.locked():
            folder.write_settings(str(subject.game), config)
            Session(folder, learner, actor, None, [watch], watch.has_enough).run()
    if stops.requested:
        raise KeyboardInterrupt
    return watch.speed()


@dataclass(frozen=True)
class _Moment:
    """Clock readings: wall time, CPU time of this process, and waiting time for the engine."""

    seconds: float
    busy: float
    network: float


class _Watch:
    """Callback that measures a run, and stops it after enough rounds.

    The measurement starts with the first round; with workers, with their first evaluations.
    """

    def __init__(self, workers: int, engine: TimedEngine, seconds: float) -> None:
        self._workers = workers
        self._engine = engine
        self._seconds = seconds
        self._started_at: _Moment | None = None
        self._rounds: list[tuple[RoundFinished, _Moment]] = []
        self._evaluations = 0

    def __call__(self, event: Event) -> None:
        """Records an event."""
        if self._started_at is None and self._is_start(event):
            self._started_at = self._moment()
        if isinstance(event, RoundFinished):
            self._rounds.append((event, self._moment()))
        elif isinstance(event, RoundProgress):
            self._evaluations = event.evaluations

    def has_enough(self) -> bool:
        """Returns whether the requested time is measured, or a round takes too long."""
        if self._started_at is None:
            return False
        now = time.perf_counter()
        has_rounds = len(self._rounds) > 1 and now - self._rounds[0][1].seconds >= self._seconds
        return has_rounds or now - self._started_at.seconds >= PATIENCE * self._seconds

    def speed(self) -> TrainingSpeed:
        """Returns the speed over the rounds without the first, or over the first if there is only one."""
        assert self._started_at is not None, "the run ends after the start of the measurement"
        if not self._rounds:
            taken = time.perf_counter() - self._started_at.seconds
            return TrainingSpeed(
                workers=self._workers, seconds=taken, states_valued_per_second=self._evaluations / taken
            )
        (first, after_first), *others = self._rounds
        start, before = (after_first, first.matches) if others else (self._started_at, 0)
        rounds, end = [event for event, _ in others] or [first], self._rounds[-1][1]
        taken = end.seconds - start.seconds
        searching = sum(event.search_seconds for event in rounds)
        learning = sum(event.learning_seconds for event in rounds)
        network = end.network - start.network
        shares = (searching - network, network, learning, taken - searching - learning)
        busy = end.busy - start.busy + sum(sum(event.workers_busy or ()) * event.search_seconds for event in rounds)
        waited = sum(sum(event.workers_waited or ()) * event.search_seconds for event in rounds)
        return TrainingSpeed(
            workers=self._workers,
            seconds=taken,
            states_valued_per_second=sum(event.evaluations for event in rounds) / taken,
            states_learned_per_second=sum(event.states_learned for event in rounds) / taken,
            matches_per_second=(rounds[-1].matches - before) / taken,
            cores_busy=busy / taken,
            learning=learning / taken,
            waiting=waited / taken / self._workers if self._workers else None,
            shares=None if self._workers else TimeShares(*(share / taken for share in shares)),
        )

    def _is_start(self, event: Event) -> bool:
        if not self._workers:
            return isinstance(event, CheckpointWritten)
        return isinstance(event, MatchFinished) or (isinstance(event, RoundProgress) and event.evaluations > 0)

    def _moment(self) -> _Moment:
        return _Moment(time.perf_counter(), time.process_time(), self._engine.seconds)
