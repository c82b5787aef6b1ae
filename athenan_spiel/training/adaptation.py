"""Adapts the settings of a run with a limit in time to the games that it really plays.

Games of self-play can last far longer than random ones, and a machine can become slower. So a run is checked from time
to time, and its settings are reduced (`time_budget.reduced`) in two cases:

1. No game has ended after `FIRST_GAMES_SHARE` of the time, half of which games were in play at least. The next checks
   follow after half as long each.
2. Later, fewer than half as many games as are in play have ended within two such shares.

The new settings are written to `config.toml` and to each later checkpoint, so a resumed run continues with them. Only
the session that `train` starts adapts settings, and only those that were chosen for the game.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

from athenan_spiel.config import TrainingConfig
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.events import LearningIsLate, RoundProgress, SettingsAdapted
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.time_budget import FIRST_GAMES_SHARE, Lengths, reduced

LATE_SHARE = 0.15
"""Share of the time limit after which it is looked at whether the first match will end in time."""
LEAST_FACTOR, MOST_FACTOR = 2.0, 16.0
"""Bounds of the factor of one reduction."""


@dataclass(frozen=True)
class Fit:
    """What is known when a run begins.

    Attributes:
        lengths: of random games.
        names: settings that may be reduced.
    """

    lengths: Lengths
    names: Collection[str] = ()


class Adaptation:
    """Checks the progress of a run against its time limit.

    Args:
        fit: what is known of a new run; None for a resumed run, whose settings stay.
        write: stores settings in the run folder.
    """

    def __init__(
        self, learner: LearnerSide, fit: Fit | None, emit: Broadcast, write: Callable[[TrainingConfig], None]
    ) -> None:
        self._learner = learner
        self._fit = fit
        self._emit = emit
        self._write = write
        seconds, search = learner.config.seconds, learner.config.search
        is_timed_search = search.seconds is not None or search.network_seconds is not None
        self._share = math.inf if seconds is None else FIRST_GAMES_SHARE * seconds
        self._next = math.inf if fit is None or not fit.names or is_timed_search else self._share
        self._late_at = math.inf if fit is None or seconds is None else LATE_SHARE * seconds
        self._is_started = False
        self._seconds, self._matches, self._plies = 0.0, 0, 0

    def look(self, progress: RoundProgress) -> TrainingConfig | None:
        """Check the progress.

        Returns:
            Reduced settings to play with from now on; None if the settings stay.
        """
        if not self._is_started and progress.alive:
            self._is_started, self._seconds = True, progress.seconds
            self._next = max(self._next, progress.seconds + self._share / 2)
        is_due = self._is_started and progress.seconds >= self._next
        config = self._check(progress) if is_due else None
        if progress.seconds >= self._late_at and config is None and (is_due or self._next == math.inf):
            self._tell_if_late(progress)
        return config

    def _check(self, progress: RoundProgress) -> TrainingConfig | None:
        assert self._fit is not None
        learner = self._learner
        factor = self._slowness(progress)
        self._next = progress.seconds + self._share * (2.0 if progress.matches else 0.5)
        self._seconds, self._matches, self._plies = progress.seconds, progress.matches, progress.plies
        config = reduced(learner.config, factor, self._fit.lengths, self._fit.names)
        if config == learner.config:
            return None
        self._write(config)
        learner.adapt(config)
        self._emit(
            SettingsAdapted(
                matches=progress.matches,
                seconds=progress.seconds,
                random_length=self._fit.lengths.length,
                matches_at_once=config.matches_at_once,
                evaluations_per_move=config.search.evaluations,
                longest_descent=config.search.longest_descent,
            )
        )
        return config

    def _slowness(self, progress: RoundProgress) -> float:
        """The factor by which games are to end sooner; 1 where they end soon enough."""
        config = self._learner.config
        in_play = config.matches_at_once * max(1, config.workers.count)
        ended = progress.matches - self._matches
        if ended < 0 or (progress.matches and (self._matches == 0 or 2 * ended >= in_play)):  # < 0: after a set-back
            return 1.0
        if progress.matches:
            return _bounded(in_play / max(1, ended))
        # A game that has lasted longer than random games is expected to last twice as long as until now.
        plies = progress.plies / max(1, progress.alive)
        left = max(self._fit.lengths.length - plies, plies) * progress.alive if self._fit else 0.0
        per_second = (progress.plies - self._plies) / (progress.seconds - self._seconds)
        return _bounded(left / per_second / self._share if per_second > 0 else MOST_FACTOR)

    def _tell_if_late(self, progress: RoundProgress) -> None:
        """Tell once if the first match of the run will hardly end within the time limit.

        It is expected to end when as many moves as a random match takes are played in each match, at the speed so far.
        """
        assert self._fit is not None
        self._late_at = math.inf
        moves, seconds = progress.alive * self._fit.lengths.length, progress.seconds
        if progress.matches or progress.plies >= moves:
            return
        expected = seconds * moves / progress.plies if progress.plies else None
        if expected is None or expected > (self._learner.config.seconds or math.inf):
            self._emit(LearningIsLate(matches=0, seconds=seconds, expected_seconds=expected))


def _bounded(factor: float) -> float:
    return min(MOST_FACTOR, max(LEAST_FACTOR, factor))
