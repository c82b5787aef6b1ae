"""Adapts the settings of a session with a time limit to the measured duration of its games.

Games of self-play can last far longer than random ones, and a machine can become slower. So a session is checked
regularly, and its settings are reduced (`fitting.reduced`) in two cases:

1. No game of the session has ended, and the games in play are not expected to end within the *first share*, the
   fraction `FIRST_GAMES_SHARE` of the session's time, or, with the least games at once and evaluations that `reduced`
   spares, within the *latest share*, `LATEST_SHARE`. A game is expected to be as long as random games. Once it is
   longer, it is expected to become twice as long as it is. So the duration is estimated long before a game has ended.
2. A game has ended earlier, and then in twice the latest share fewer games end than half the number in play.

The new settings are written to `config.toml` and to each later checkpoint, so a resumed run continues with them. The
resumed session is checked in the same way against its remaining time. Only settings that were chosen for the game are
adapted. A setting that differs between `config.toml` and the checkpoint stays, because the user has edited it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from athenan_spiel.config import TrainingConfig
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.events import LearningIsLate, RoundProgress, SettingsAdapted
from athenan_spiel.training.fitting import FIRST_GAMES_SHARE, LATEST_SHARE, Fit, longest_descent_of, reduced
from athenan_spiel.training.learner_side import LearnerSide

LATE_SHARE = 0.15
"""Fraction of the session's time after which it is checked whether the first game will end in time."""
MIN_FACTOR, MAX_FACTOR = 1.5, 16.0
"""Bounds of the factor of one reduction."""
MEASURED_LENGTH = 0.25
"""Moves per game between two checks before the first game has ended, as a fraction of the length of random games."""
MIN_WAIT, MAX_WAIT = 0.125, 0.5
"""Bounds of the time between two such checks, as fractions of the first share."""
MIN_TIME_LEFT = 0.25
"""Minimum of the time left for the games in play, as a fraction of each share. It bounds the factor of a late
reduction."""
LATER_WAIT = 2.0
"""Time between two checks after the first game has ended, as a multiple of the latest share."""


class Adaptation:
    """Checks the progress of a session against its time limit.

    Args:
        learner: state of the run; `plan.fit` names the settings that may be reduced.
        write: writes settings to the run folder.
    """

    def __init__(self, learner: LearnerSide, emit: Broadcast, write: Callable[[TrainingConfig], None]) -> None:
        self._learner = learner
        self._emit = emit
        self._write = write
        config = learner.config
        before = max(learner.counters.seconds, 0.0 if learner.counters.matches else config.warm_up_seconds)
        self._fit = None if config.seconds is None else learner.plan.fit
        self._end = config.seconds or 0.0
        self._first_share = FIRST_GAMES_SHARE * (self._end - before)
        self._latest_share = LATEST_SHARE * (self._end - before)
        self._due = before + self._first_share
        self._latest = before + self._latest_share
        self._late_at = before + LATE_SHARE * (self._end - before)
        is_timed_search = config.search.seconds is not None or config.search.network_seconds is not None
        self._names = () if is_timed_search or self._fit is None else self._fit.names
        self._ended_before = learner.counters.matches
        self._last: RoundProgress | None = None

    def adapt(self, progress: RoundProgress) -> TrainingConfig | None:
        """Returns reduced settings to play with from now on; None if the settings stay."""
        last = self._last
        if self._fit is None:
            return None
        if last is None or progress.matches < last.matches:  # play begins, also after a rollback
            if progress.alive:
                self._last, self._ended_before = progress, min(self._ended_before, progress.matches)
                self._due = max(self._due, progress.seconds + self._first_share / 2)
                self._latest = max(self._latest, progress.seconds + self._latest_share / 2)
                self._late_at = max(self._late_at, progress.seconds + self._latest_share / 2)
            return None
        is_due = self._is_due(progress, last, self._fit.lengths.length)
        config = self._adapted(progress, last, self._fit) if is_due and self._names else None
        if config is None and progress.seconds >= self._late_at and (is_due or not self._names):
            self._report_if_late(progress, last, self._fit.lengths.length)
        if is_due:
            self._last = progress
        return config

    def _is_due(self, progress: RoundProgress, last: RoundProgress, random_length: float) -> bool:
        waited = progress.seconds - last.seconds
        if progress.matches == self._ended_before:
            moves = (progress.plies - last.plies) / max(1, progress.alive)
            long = waited >= MAX_WAIT * self._first_share
            return long or (waited >= MIN_WAIT * self._first_share and moves >= MEASURED_LENGTH * random_length)
        is_first = last.matches == self._ended_before
        is_late = waited >= LATER_WAIT * self._latest_share
        return is_first or (is_late and progress.seconds + self._latest_share <= self._end)

    def _adapted(self, progress: RoundProgress, last: RoundProgress, fit: Fit) -> TrainingConfig | None:
        """Reduce the settings if games take too long. Returns None if they don't, or if nothing is left to reduce."""
        learner = self._learner
        early, late = self._reduction_factors(progress, last, fit.lengths.length)
        config = reduced(learner.config, early, late, fit.lengths, self._names)
        if config == learner.config:
            return None
        self._write(config)
        learner.adapt(config)
        self._emit(
            SettingsAdapted(
                matches=progress.matches,
                seconds=progress.seconds,
                random_length=fit.lengths.length,
                length_in_play=progress.plies_in_play / max(1, progress.alive),
                matches_at_once=config.matches_at_once,
                evaluations_per_move=config.search.evaluations,
                longest_descent=longest_descent_of(config.search),
            )
        )
        return config

    def _reduction_factors(
        self, progress: RoundProgress, last: RoundProgress, random_length: float
    ) -> tuple[float, float]:
        """Returns the factors of `reduced` for the duration of games; 1 if they end soon enough."""
        if progress.matches == self._ended_before:
            needed = _seconds_left(progress, last, random_length)
            early = needed / max(self._due - progress.seconds, MIN_TIME_LEFT * self._first_share)
            late = needed / max(self._latest - progress.seconds, MIN_TIME_LEFT * self._latest_share)
            return _clamped(early), _clamped(late)
        config = self._learner.config
        in_play = config.matches_at_once * max(1, config.workers.count)
        ended = progress.matches - last.matches
        if last.matches == self._ended_before or 2 * ended >= in_play:
            return 1.0, 1.0
        factor = min(MAX_FACTOR, max(MIN_FACTOR, in_play / max(1, ended)))
        return factor, factor

    def _report_if_late(self, progress: RoundProgress, last: RoundProgress, random_length: float) -> None:
        """Report once if the first game of the run is not expected to end within the time limit.

        It is expected to end when the games in play are as long as random games on average, at the current speed.
        """
        self._late_at = math.inf
        if progress.matches or progress.plies_in_play >= progress.alive * random_length:
            return
        expected = progress.seconds + _seconds_left(progress, last, random_length)
        if expected > self._end:
            expected_seconds = expected if math.isfinite(expected) else None
            self._emit(LearningIsLate(matches=0, seconds=progress.seconds, expected_seconds=expected_seconds))


def _clamped(factor: float) -> float:
    return min(MAX_FACTOR, factor) if factor >= MIN_FACTOR else 1.0


def _seconds_left(progress: RoundProgress, last: RoundProgress, random_length: float) -> float:
    """Returns the expected time until the games in play end, in seconds, at the speed since `last`."""
    moves = progress.plies - last.plies
    if moves <= 0:
        return math.inf
    played, length = progress.plies_in_play, random_length * progress.alive
    left = length - played if played < length else played
    return left * (progress.seconds - last.seconds) / moves
