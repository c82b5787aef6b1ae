"""Evaluations of a run's network during training.

1. An evaluation runs in a separate process (`system.process_call`), which is started and polled between rounds. It
   does not affect learning. A failure is reported and does not end the run. `arena.evaluation` plays the games. It is
   called by name, because this package must not import `arena`.
2. One evaluation runs at a time. If more become due meanwhile, the newest network is evaluated next and the others are
   skipped.
3. An evaluation uses a copy of the network made at its start, in the folder `EVALUATING` of the run.
4. It ends with the session unless `evaluation.final_seconds` lets it finish, and at once after a stop request.
   A checkpoint records an evaluation only after its end, so one interrupted by a kill is repeated.
"""

from __future__ import annotations

import contextlib
import dataclasses
import decimal
import logging
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from athenan_spiel.config import EvaluationConfig, TrainingConfig
from athenan_spiel.config.evaluation import EvaluationRequest
from athenan_spiel.config.training import SPEC_LIMITS
from athenan_spiel.errors import AthenanError, ConfigError
from athenan_spiel.outcomes import is_code
from athenan_spiel.system.files import remove
from athenan_spiel.system.process_call import CallResult, ProcessCall
from athenan_spiel.training.best import EvaluationScore, OpponentScore, conditions, points_to_beat, replace_best
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.checkpoints import Header, rewrite_header, write_network
from athenan_spiel.training.clock import RunClock, now
from athenan_spiel.training.events import BestReplaced, EvaluationFailed, EvaluationFinished, EvaluationStarted
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.run_folder import EVALUATING

EVALUATE = "athenan_spiel.arena.evaluation:evaluate"
CHECK = "athenan_spiel.arena.evaluation:check"
CHECK_SECONDS = 120.0
"""Time limit for loading the opponents before the start of a run, in seconds: Java and engines start slowly."""
Programs = Collection[str] | None
"""Commands of engines that may be started; None: all, for settings that were not read from a file."""
POLL_SECONDS = 0.1
"""Time between two checks for a stop request while waiting for an evaluation, in seconds."""
_log = logging.getLogger(__name__)


class EvaluationError(Exception):
    """An evaluation failed; the message gives the reason. `Evaluations` catches it and emits `EvaluationFailed`."""


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
        agent="random" if network is None else agent_spec(settings, network),
        opponents=settings.opponents,
        game=game,
        matches=settings.matches,
        opening_plies=settings.opening_plies,
        seed=config.seed,
        allow_code=(config.outcome,) if is_code(config.outcome) else (),
        allow_programs=None if programs is None else tuple(programs),
        cluster=cluster,
    )


def agent_spec(settings: EvaluationConfig, network: Path) -> str:
    """Returns the spec of the trained agent."""
    limit = next(
        f"{decimal.Decimal(repr(number)):f}{letter}"
        for name, letter in SPEC_LIMITS.items()
        if (number := getattr(settings, name)) is not None
    )
    return f"{os.path.abspath(network)}:{settings.search}@{limit}"


def require_opponents(game: str, config: TrainingConfig, programs: Programs = None) -> None:
    """Check that the opponents are allowed, can be loaded and play `game`, and that the game has enough openings.

    Raises:
        ConfigError: a check failed.
    """
    try:
        call = ProcessCall(CHECK, evaluation_request(game, config, None, programs))
    except OSError as error:
        raise ConfigError.at("evaluation.opponents", f"cannot be checked: {error.strerror}") from None
    try:
        result = call.result(CHECK_SECONDS)
    finally:
        call.close()
    if result is None:
        raise ConfigError.at("evaluation.opponents", f"could not be loaded within {CHECK_SECONDS:.0f} s")
    if result.problem is not None:
        raise ConfigError.at("evaluation.opponents", f"cannot be used: {result.problem}")


def scores(result: CallResult) -> list[OpponentScore]:
    """Returns the scores against each opponent.

    Raises:
        EvaluationError: the evaluation failed.
    """
    if result.problem is not None:
        raise EvaluationError(result.problem)
    return [_score(row) for row in result.value]


def _score(row: Mapping[str, Any]) -> OpponentScore:
    points, total = row["points"], row["total"]
    return OpponentScore(
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


class Evaluations:
    """Evaluations of a session. Use it once; `close` ends a running evaluation.

    Args:
        run: the run folder, locked by this process.
        programs: engines that may be started.
        cluster: address of the Ray cluster that plays the games; None: this machine.
    """

    def __init__(
        self,
        run: Path,
        learner: LearnerSide,
        clock: RunClock,
        emit: Broadcast,
        programs: Programs = None,
        cluster: str | None = None,
    ) -> None:
        self._run = run
        self._programs = programs
        self._cluster = cluster
        self._network = run / EVALUATING
        self._learner = learner
        self._settings = learner.config.evaluation
        self._conditions = conditions(str(learner.game), learner.config)
        self._clock = clock
        self._emit = emit
        self._call: ProcessCall | None = None
        self._matches = learner.counters.evaluated_at
        self._seconds = clock.seconds()
        self._started = 0.0
        self._header: Header | None = None

    def update(self) -> None:
        """Report an evaluation that has ended, and start one that is due. Call this between two rounds."""
        self._poll()
        if self._call is None and (due := self._count_due()):
            self._start(due - 1)

    def stop(self) -> None:
        """Stop the running evaluation, as a stop of the run was requested."""
        if self._call is not None:
            self._call.terminate()
            self._report_dropped("a stop of the run was requested")

    def finish(self, stopped: Callable[[], bool]) -> None:
        """Finish or drop evaluations after the end of the training (`evaluation.final_seconds`).

        Args:
            stopped: returns whether a stop was requested.
        """
        limit = self._settings.final_seconds
        if limit is None:
            self._poll()
            if self._call is not None:
                self._report_dropped("the training ended first; evaluation.final_seconds lets evaluations finish")
            return
        until = now() + limit
        self._wait(until, stopped)
        matches = self._learner.counters.matches
        if self._settings.asked and self._call is None and 0 < matches != self._matches and not stopped():
            self._start(0)
            self._wait(until, stopped)
        if self._call is not None:
            late = f"it did not end within the {limit:g} s of evaluation.final_seconds"
            self._report_dropped("a stop of the run was requested" if stopped() else late)

    def drop(self, problem: str) -> None:
        """End the running evaluation, if any, and report the reason."""
        if self._call is not None:
            self._report_dropped(problem)
        self.close()

    def close(self) -> None:
        """End the process, if any, and remove its files from the folder."""
        if self._call is not None:
            self._call.close()
            self._call = None
        with contextlib.suppress(OSError):
            remove(self._network)

    def _count_due(self) -> int:
        """Returns the number of evaluations due since the last one started."""
        matches, seconds = self._learner.counters.matches, self._clock.seconds()
        if matches in (0, self._matches):
            return 0
        every, every_seconds = self._settings.every_matches, self._settings.every_seconds
        by_matches = 0 if every is None else matches // every - self._matches // every
        by_time = 0 if every_seconds is None else int(seconds // every_seconds - self._seconds // every_seconds)
        return max(by_matches, by_time)

    def _start(self, skipped: int) -> None:
        learner = self._learner
        self._started = now()
        self._matches, self._seconds = learner.counters.matches, self._clock.seconds()
        self._header = header = learner.header(self._seconds)
        engine = dataclasses.replace(header.config.engine, threads=1)
        if self._cluster is not None and engine.name == "cuda":  # GPUs are reserved for actors
            engine = dataclasses.replace(engine, name="auto")
        config = dataclasses.replace(header.config, engine=engine)
        try:
            remove(self._network)
            weights = {name: tensor.cpu() for name, tensor in learner.published().weights.items()}
            write_network(self._network, dataclasses.replace(header, config=config), weights)
            request = evaluation_request(str(learner.game), config, self._network, self._programs, self._cluster)
            self._call = ProcessCall(EVALUATE, request)
        except OSError as error:
            self._fail(f"it could not be started: {error.strerror or error}")
            return
        self._emit(EvaluationStarted(matches=self._matches, skipped=skipped))

    def _poll(self, timeout: float = 0.0) -> None:
        """Report the result of the running evaluation, if it ends within `timeout` seconds."""
        if self._call is None or (result := self._call.result(timeout)) is None:
            return
        self._call.close()
        self._call = None
        self._learner.note_evaluation(self._matches)
        try:
            found = scores(result)
        except EvaluationError as error:
            self._fail(str(error))
            return
        seconds = now() - self._started
        for score in found:
            fields = dataclasses.asdict(score)
            self._emit(EvaluationFinished(matches=self._matches, evaluation_seconds=seconds, **fields))
        self._compare(EvaluationScore(self._matches, found, self._conditions))

    def _compare(self, score: EvaluationScore) -> None:
        """Keep the evaluated network if it is the best one."""
        assert self._header is not None, "an evaluation was started"
        try:
            to_beat = points_to_beat(self._run, self._conditions)
            if to_beat is not None and score.points < to_beat:
                return
            rewrite_header(self._network, self._header)
            replace_best(self._run, self._network, score.record())
        except (OSError, AthenanError) as error:
            self._fail(f"its network could not be kept as the best: {getattr(error, 'strerror', None) or error}")
            return
        low, high = score.interval
        self._emit(
            BestReplaced(
                matches=self._matches,
                points=score.points,
                low=low,
                high=high,
                confidence=score.scores[0].confidence,
            )
        )

    def _wait(self, until: float, stopped: Callable[[], bool]) -> None:
        while self._call is not None and now() < until and not stopped():
            self._poll(POLL_SECONDS)

    def _report_dropped(self, problem: str) -> None:
        self._emit(EvaluationFailed(matches=self._matches, problem=problem))

    def _fail(self, problem: str) -> None:
        _log.warning("the evaluation of the network after %d games: %s", self._matches, problem)
        self._emit(EvaluationFailed(matches=self._matches, problem=problem))
