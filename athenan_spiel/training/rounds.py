"""The rounds of a run: an actor plays their matches, and each is learned as it ends."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

from athenan_spiel.errors import DivergedError, NotFiniteError
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.training.actor import Actor, MatchRecord, RoundInPlay
from athenan_spiel.training.adaptation import Adaptation
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.clock import Pace, RunClock, now
from athenan_spiel.training.events import MatchFinished, RoundFinished, RoundProgress
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.limits import BrokenOffError, Limits, OutOfTimeError
from athenan_spiel.training.results import cut_off_share, decisive_share


class Rounds:
    """Plays and learns one round after another, and tells of each."""

    def __init__(
        self,
        learner: LearnerSide,
        actor: Actor,
        clock: RunClock,
        limits: Limits,
        stops: StopRequests,
        emit: Broadcast,
        adaptation: Adaptation,
    ) -> None:
        self._learner = learner
        self._actor = actor
        self._clock = clock
        self._limits = limits
        self._stops = stops
        self._emit = emit
        self._adaptation = adaptation
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
        games: list[MatchFinished] = []
        done = self._limits.done()
        playing = self._actor.play(learner.published(), learner.proven, learner.new_round(done), done)
        going = True
        while going and not self._limits.time_is_up():
            with self._stops.droppable(), telling_what_spoils_weights(learner):
                going = playing.advance()
                self._limits.break_off_if_stopped()
            learning_seconds += self._learn(iter(playing.take, None), playing, games)
            moment = now()
            if going and self._pace.is_due(moment):
                progress = RoundProgress(
                    matches=learner.counters.matches,
                    seconds=self._clock.seconds(),
                    alive=playing.alive,
                    plies=playing.plies,
                    plies_in_play=playing.plies_in_play,
                    evaluations=playing.evaluations,
                    evaluations_per_second=playing.evaluations / (moment - start - learning_seconds),
                )
                self._adapt(playing, progress, done)
                self._emit(progress)
        learning_seconds += self._learn(playing.rest(), playing, games)
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
                decisive_share=decisive_share(games),
                cut_off_share=cut_off_share(games),
            )
        )

    def close(self) -> None:
        """End what was begun for the rounds, which the next one begins anew: nothing."""

    def _learn(self, records: Iterator[MatchRecord], playing: RoundInPlay, games: list[MatchFinished]) -> float:
        """Learn these in order, as far as the time limit lets; the matches in play go on with the new weights.

        Args:
            games: receives the event of each game that was learned.

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
            games.append(events[0])
            for event in events:
                self._emit(event)
        if learned and playing.alive:
            self._actor.load(self._learner.published())
        return now() - start

    def _adapt(self, playing: RoundInPlay, progress: RoundProgress, done: float) -> None:
        """Continue with reduced settings if the games take too long."""
        config = self._adaptation.look(progress)
        if config is not None:
            self._actor.adapt(config)
            playing.adapt(done, config.matches_at_once)


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
