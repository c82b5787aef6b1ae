"""When networks are evaluated during a session, and what becomes of that.

1. Learning does not wait: an evaluation is a process of its own (`system.calls`), begun and looked after between
   rounds. Nothing in it changes anything in what is learned, and what goes wrong in it is told and ends nothing.
2. One runs at a time. One that becomes due meanwhile waits, and is then of the newest network; if several have, the
   others are skipped.
3. It is of the network as it was when it began, which lies in the run's folder meanwhile, under `EVALUATING`.
4. It ends with the session, unless `evaluation.final_seconds` lets it end by itself, and at once at a request to stop.
   A checkpoint counts it only once it has ended, so that what a kill breaks off is played again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path

from athenan_spiel.errors import AthenanError
from athenan_spiel.system.calls import Call
from athenan_spiel.system.files import remove
from athenan_spiel.training.best import Standing, conditions, points_to_beat, replace_best
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.checkpoints import Header, rewrite_header, write_network
from athenan_spiel.training.clock import RunClock, now
from athenan_spiel.training.evaluation import EVALUATE, EvaluationError, Programs, evaluation_request, scores
from athenan_spiel.training.events import BestReplaced, EvaluationFailed, EvaluationFinished, EvaluationStarted
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.run_folder import EVALUATING

POLL_SECONDS = 0.1
"""Time between two looks at whether a stop request came, where an evaluation is waited for."""
_log = logging.getLogger(__name__)


class Evaluating:
    """The evaluations of a session. For one use; `close` ends what is under way.

    Args:
        run: the run's folder, which this process has to itself.
        programs: engines that may be begun.
        cluster: the address of that on whose nodes matches are played; None: they are played on this machine.
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
        self._call: Call | None = None
        self._matches = learner.counters.evaluated_at
        self._seconds = clock.seconds()
        self._begun = 0.0
        self._header: Header | None = None

    def look(self) -> None:
        """Tell what has ended, and begin what is due; to be called between two rounds."""
        self._hear()
        if self._call is None and (passed := self._passed()):
            self._begin(passed - 1)

    def stop(self) -> None:
        """Tell the one under way to end, as the run was asked to stop."""
        if self._call is not None:
            self._call.terminate()
            self._give_up("the run was asked to stop")

    def finish(self, stopped: Callable[[], bool]) -> None:
        """Do what is to be done after the end of the training.

        Args:
            stopped: whether a request to stop has come.
        """
        limit = self._settings.final_seconds
        if limit is None:
            self._hear()
            if self._call is not None:
                self._give_up("the training has ended first; evaluation.final_seconds lets it end")
            return
        until = now() + limit
        self._wait(until, stopped)
        matches = self._learner.counters.matches
        if self._settings.asked and self._call is None and 0 < matches != self._matches and not stopped():
            self._begin(0)
            self._wait(until, stopped)
        if self._call is not None:
            late = f"it has not ended within the {limit:g} s of evaluation.final_seconds"
            self._give_up("the run was asked to stop" if stopped() else late)

    def drop(self, problem: str) -> None:
        """End the one under way, if there is one, for this reason."""
        if self._call is not None:
            self._give_up(problem)
        self.close()

    def close(self) -> None:
        """End the process, if there is one, and leave nothing of it in the folder."""
        if self._call is not None:
            self._call.close()
            self._call = None
        with contextlib.suppress(OSError):
            remove(self._network)

    def _passed(self) -> int:
        """How many evaluations have become due since the last one began."""
        matches, seconds = self._learner.counters.matches, self._clock.seconds()
        if matches in (0, self._matches):
            return 0
        every, every_seconds = self._settings.every_matches, self._settings.every_seconds
        by_matches = 0 if every is None else matches // every - self._matches // every
        by_time = 0 if every_seconds is None else int(seconds // every_seconds - self._seconds // every_seconds)
        return max(by_matches, by_time)

    def _begin(self, skipped: int) -> None:
        """Begin the evaluation of the network as it is now."""
        learner = self._learner
        self._begun = now()
        self._matches, self._seconds = learner.counters.matches, self._clock.seconds()
        self._header = header = learner.header(self._seconds)
        engine = dataclasses.replace(header.config.engine, threads=1)
        if self._cluster is not None and engine.name == "cuda":  # the graphics cards are the actors'
            engine = dataclasses.replace(engine, name="auto")
        config = dataclasses.replace(header.config, engine=engine)
        try:
            remove(self._network)
            weights = {name: tensor.cpu() for name, tensor in learner.published().weights.items()}
            write_network(self._network, dataclasses.replace(header, config=config), weights)
            request = evaluation_request(str(learner.game), config, self._network, self._programs, self._cluster)
            self._call = Call(EVALUATE, request)
        except OSError as error:
            self._fail(f"it could not be begun: {error.strerror or error}")
            return
        self._emit(EvaluationStarted(matches=self._matches, skipped=skipped))

    def _hear(self, seconds: float = 0.0) -> None:
        """Tell what has come of the one under way, if it has ended."""
        if self._call is None or (result := self._call.result(seconds)) is None:
            return
        self._call.close()
        self._call = None
        self._learner.note_evaluation(self._matches)
        try:
            found = scores(result)
        except EvaluationError as error:
            self._fail(str(error))
            return
        taken = now() - self._begun
        for score in found:
            told = dataclasses.asdict(score)
            self._emit(EvaluationFinished(matches=self._matches, evaluation_seconds=taken, **told))
        self._compare(Standing(self._matches, found, self._conditions))

    def _compare(self, standing: Standing) -> None:
        """Keep the network that was evaluated if it is the best one."""
        assert self._header is not None, "an evaluation was begun"
        try:
            to_beat = points_to_beat(self._run, self._conditions)
            if to_beat is not None and standing.points < to_beat:
                return
            rewrite_header(self._network, self._header)
            replace_best(self._run, self._network, standing.record())
        except (OSError, AthenanError) as error:
            self._fail(f"its network could not be kept as the best: {getattr(error, 'strerror', None) or error}")
            return
        low, high = standing.interval
        self._emit(
            BestReplaced(
                matches=self._matches,
                points=standing.points,
                low=low,
                high=high,
                confidence=standing.scores[0].confidence,
            )
        )

    def _wait(self, until: float, stopped: Callable[[], bool]) -> None:
        """Wait for the one under way to end, until a moment or a request to stop."""
        while self._call is not None and now() < until and not stopped():
            self._hear(POLL_SECONDS)

    def _give_up(self, problem: str) -> None:
        """Leave the one under way, which `close` ends."""
        self._emit(EvaluationFailed(matches=self._matches, problem=problem))

    def _fail(self, problem: str) -> None:
        _log.warning("the evaluation of the network after %d matches: %s", self._matches, problem)
        self._emit(EvaluationFailed(matches=self._matches, problem=problem))
