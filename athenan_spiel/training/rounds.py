"""The rounds of a run: an actor plays their matches, and each is learned as it ends."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

from athenan_spiel.errors import DivergedError, NotFiniteError
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.training.actor import Actor, MatchRecord, RoundInPlay
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.clock import Pace, RunClock, now
from athenan_spiel.training.events import LearningIsLate, RoundFinished, RoundProgress
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.limits import BrokenOffError, Limits, OutOfTimeError

LATE_SHARE = 0.15
"""Share of the time limit after which it is looked at whether the first match will end in time."""


class Rounds:
    """Plays and learns one round after another, and tells of each.

    Args:
        length: the mean length of random matches, in moves, in the first session of a run; none: in a later one.
    """

    def __init__(
        self,
        learner: LearnerSide,
        actor: Actor,
        clock: RunClock,
        limits: Limits,
        stops: StopRequests,
        emit: Broadcast,
        length: float | None,
    ) -> None:
        self._learner = learner
        self._actor = actor
        self._clock = clock
        self._limits = limits
        self._stops = stops
        self._emit = emit
        self._length = length
        self._pace = Pace()

    def play(self) -> None:
        """Play the matches of a round, and learn each when it and those before it have ended.

        Raises:
            BrokenOffError: it was broken off, and nothing of it counts: `LearnerSide.drop_round` takes it back.
            KeyboardInterrupt: likewise.
            DivergedError: the loss, the weights or the values are not finite any more.
        """
        learner = self._learner
        before = learner.counters
        start, learning_seconds = now(), 0.0
        done = self._limits.done()
        playing = self._actor.play(learner.published(), learner.proven, learner.new_round(done), done)
        going = True
        while going and not self._limits.time_is_up():
            with self._stops.droppable(), telling_what_spoils_weights(learner):
                going = playing.advance()
                self._limits.break_off_if_stopped()
            learning_seconds += self._learn(iter(playing.take, None), playing)
            moment = now()
            if going and self._pace.is_due(moment):
                self._tell_if_late(playing)
                self._emit(
                    RoundProgress(
                        matches=learner.counters.matches,
                        seconds=self._clock.seconds(),
                        alive=playing.alive,
                        plies=playing.plies,
                        evaluations=playing.evaluations,
                        evaluations_per_second=playing.evaluations / (moment - start - learning_seconds),
                    )
                )
        learning_seconds += self._learn(playing.rest(), playing)
        if learner.counters.matches == before.matches:
            raise BrokenOffError
        learner.end_round(self._clock.seconds())
        self._emit(
            RoundFinished(
                matches=learner.counters.matches,
                seconds=self._clock.seconds(),
                rounds=learner.counters.rounds,
                evaluations=playing.evaluations,
                network_calls=playing.calls,
                states_learned=learner.counters.states_learned - before.states_learned,
                search_seconds=now() - start - learning_seconds,
                learning_seconds=learning_seconds,
                replay_states=learner.replay.states(),
                replay_bytes=learner.replay.nbytes,
                resolved_states=None if learner.proven is None else len(learner.proven),
            )
        )

    def close(self) -> None:
        """End what was begun for the rounds, which the next one begins anew: nothing."""

    def _learn(self, records: Iterator[MatchRecord], playing: RoundInPlay) -> float:
        """Learn these in order, as far as the time limit lets; the matches in play go on with the new weights.

        Returns:
            Seconds that it took.

        Raises:
            BrokenOffError: a stop request came, and the round would not end soon.
        """
        start, learned = now(), False
        for record in records:
            try:
                in_play = playing.alive > 0
                events = self._learner.learn(record, functools.partial(self._limits.break_off_learning, in_play))
            except OutOfTimeError:
                self._learner.drop_phase()
                break
            learned = True
            for event in events:
                self._emit(event)
        if learned and playing.alive:
            self._actor.load(self._learner.published())
        return now() - start

    def _tell_if_late(self, playing: RoundInPlay) -> None:
        """Tell once if the first match of the run will hardly end within the time limit.

        It is expected to end when as many moves as a random match takes are played in each match, at the speed so far.
        """
        limit, seconds = self._learner.config.seconds, self._clock.seconds()
        if self._length is None or limit is None or seconds < LATE_SHARE * limit:
            return
        moves, self._length = playing.alive * self._length, None  # this is asked once
        if self._learner.counters.matches or playing.plies >= moves:
            return
        expected = seconds * moves / playing.plies if playing.plies else None
        if expected is None or expected > limit:
            self._emit(LearningIsLate(matches=0, seconds=seconds, expected_seconds=expected))


@contextlib.contextmanager
def telling_what_spoils_weights(learner: LearnerSide) -> Iterator[None]:
    """Values that are not finite come of weights that learning has spoilt, whose loss before that was fine.

    Raises:
        DivergedError: in place of `NotFiniteError`, once anything is learned.
    """
    try:
        yield
    except NotFiniteError as error:
        counters = learner.counters
        if counters.matches == counters.warm_up_states == 0:
            raise
        rate = learner.config.learner.learning_rate
        raise DivergedError(f"{error}: lower learner.learning_rate, now {rate!r}") from error
