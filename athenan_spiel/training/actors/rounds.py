"""Rounds of a run, in which games are played and learned.

1. `InlineRounds` plays in this process. A round has a fixed number of games. Each is learned when it and those before
   it have ended. A stop request drops the round completely, so that runs are bit-reproducible. The time limit drops
   only the games in play.
2. `PoolRounds` uses a pool of actors. Games are learned as they arrive, and a round is what was learned within about a
   second. Such runs are not reproducible, so a stop request or the time limit keeps the games already learned and
   loses those in play.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from athenan_spiel.errors import DivergedError, NotFiniteError
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.training.actor import Actor, MatchRecord, RoundInPlay
from athenan_spiel.training.actors.messages import ActorState, difference, total
from athenan_spiel.training.actors.pool import ActorPool, Arrival
from athenan_spiel.training.adaptation import Adaptation
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.checkpoints import Counters
from athenan_spiel.training.clock import BrokenOffError, OutOfTimeError, Pace, RunClock, RunLimits, now
from athenan_spiel.training.events import MatchFinished, RoundFinished, RoundProgress
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.results import cut_off_share, decisive_share

ROUND_SECONDS = 1.0
"""Duration of a round with a pool of actors, in seconds; longer if no game has arrived."""
POLL_SECONDS = 0.05
"""Time between two checks for a stop request while waiting for a game, in seconds."""
LAG_SECONDS = 0.002
"""Time between two checks of the weights' versions while the learner waits for lagging actors, in seconds."""


class Rounds:
    """Plays and learns one round after another, and emits events for each."""

    def __init__(
        self,
        learner: LearnerSide,
        clock: RunClock,
        limits: RunLimits,
        stops: StopRequests,
        emit: Broadcast,
        adaptation: Adaptation,
    ) -> None:
        self._learner = learner
        self._clock = clock
        self._limits = limits
        self._stops = stops
        self._emit = emit
        self._adaptation = adaptation
        self._pace = Pace()

    def play(self) -> None:
        """Plays and learns a round.

        Raises:
            BrokenOffError: the round was interrupted; call `LearnerSide.drop_round` to undo it.
            KeyboardInterrupt: the same.
            DivergedError: the loss, the weights or the values are not finite.
            AthenanError: an actor reports an error, or too many are lost.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Ends the actors, if any. The next round starts new ones."""

    def _report_end(
        self, before: Counters, games: Sequence[MatchFinished], learning_seconds: float, **play_fields: Any
    ) -> None:
        """Emits the event of a round that has ended.

        Args:
            before: the learner's counters at the start of the round.
            play_fields: fields of the event that depend on the kind of rounds.
        """
        learner = self._learner
        self._emit(
            RoundFinished(
                matches=learner.counters.matches,
                seconds=self._clock.seconds(),
                rounds=learner.counters.rounds,
                states_learned=learner.counters.states_learned - before.states_learned,
                learning_seconds=learning_seconds,
                replay_states=learner.replay.states(),
                replay_bytes=learner.replay.nbytes,
                resolved_states=None if learner.proven is None else len(learner.proven),
                decisive_share=decisive_share(games),
                cut_off_share=cut_off_share(games),
                **play_fields,
            )
        )

    def _progress(self, counts: RoundInPlay | ActorState, evaluations: int, seconds: float) -> RoundProgress:
        return RoundProgress(
            matches=self._learner.counters.matches,
            seconds=self._clock.seconds(),
            alive=round(counts.alive),
            plies=round(counts.plies),
            plies_in_play=round(counts.plies_in_play),
            evaluations=evaluations,
            evaluations_per_second=evaluations / seconds,
        )


class InlineRounds(Rounds):
    """Rounds whose games this process plays.

    Args:
        actor: plays the games.
    """

    def __init__(self, actor: Actor, *session: Any) -> None:
        super().__init__(*session)
        self._actor = actor

    def play(self) -> None:
        """Plays the games of a round and learns each when it and those before it have ended."""
        learner = self._learner
        before = learner.counters
        start, learning_seconds = now(), 0.0
        games: list[MatchFinished] = []
        done = self._limits.done()
        playing = self._actor.play(learner.published(), learner.proven, learner.new_round(done), done)
        is_playing = True
        while is_playing and not self._limits.time_is_up():
            with self._stops.droppable(), explaining_divergence(learner):
                is_playing = playing.advance()
                self._limits.break_off_if_stopped()
            learning_seconds += self._learn(iter(playing.take, None), playing, games)
            moment = now()
            if is_playing and self._pace.is_due(moment):
                progress = self._progress(playing, playing.evaluations, moment - start - learning_seconds)
                self._adapt(playing, progress, done)
                self._emit(progress)
        learning_seconds += self._learn(playing.rest(), playing, games)
        if learner.counters.matches == before.matches:
            raise BrokenOffError
        learner.end_round(self._clock.seconds())
        self._report_end(
            before,
            games,
            learning_seconds,
            evaluations=playing.evaluations,
            network_calls=playing.calls,
            search_seconds=now() - start - learning_seconds,
        )

    def _learn(self, records: Iterator[MatchRecord], playing: RoundInPlay, games: list[MatchFinished]) -> float:
        """Learns `records` in order, at most until the time limit. Then games in play use the new weights.

        Args:
            games: the event of each learned game is appended.

        Returns:
            Duration, in seconds.

        Raises:
            BrokenOffError: a stop request interrupted learning.
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
        """Continues with reduced settings if the games take too long."""
        config = self._adaptation.adapt(progress)
        if config is not None:
            self._actor.adapt(config)
            playing.adapt(done, config.matches_at_once)


@dataclass(frozen=True)
class _Counts:
    """Counters of all processes at one moment, or their increase between two moments.

    Attributes:
        workers: counters of each actor.
        inference: summed counters of the inference servers; None if each actor evaluates states itself.
        learner: processor time of this process, in seconds.
    """

    workers: list[ActorState]
    inference: ActorState | None
    learner: float

    @classmethod
    def now(cls, pool: ActorPool) -> _Counts:
        """Returns the current counters."""
        return cls(pool.each(), pool.inference(), time.process_time())

    def since(self, before: _Counts) -> _Counts:
        """Returns the increase since `before`."""
        workers = [difference(state, old) for state, old in zip(self.workers, before.workers, strict=True)]
        inference = None
        if self.inference is not None and before.inference is not None:
            inference = difference(self.inference, before.inference)
        return _Counts(workers, inference, self.learner - before.learner)


class PoolRounds(Rounds):
    """Rounds whose games a pool of actors plays. `close` ends the actors.

    Args:
        make_pool: creates the pool before the first round, and before the first one after `close`.
    """

    def __init__(self, make_pool: Callable[[], ActorPool], *session: Any) -> None:
        super().__init__(*session)
        self._make_pool = make_pool
        self._pool: ActorPool | None = None
        self._lost = 0
        self._phases = 1
        self._forgotten_at = self._learner.counters.resolved_since

    def play(self) -> None:
        """Learns games as they arrive, for `ROUND_SECONDS`, or longer until the first has arrived."""
        learner, pool = self._learner, self._running()
        before, start, counts = learner.counters, now(), _Counts.now(pool)
        learner.new_round(self._limits.done(), matches=0)
        learning_seconds = 0.0
        games: list[MatchFinished] = []
        while self._continues(before.matches, start):
            arrival = self._next(pool)
            self._report_progress(pool, start, counts)
            if arrival is None:
                continue
            learning_start = now()
            finished = self._learn(pool, arrival)
            learning_seconds += now() - learning_start
            if finished is None:
                break
            games.append(finished)
        if not games:
            raise BrokenOffError
        staleness = [game.staleness or 0 for game in games]
        learner.end_round(self._clock.seconds())
        self._forget()
        seconds, since = now() - start, _Counts.now(pool).since(counts)
        workers = total(since.workers)
        self._report_end(
            before,
            games,
            learning_seconds,
            evaluations=round(workers.evaluations),
            network_calls=round((since.inference or workers).calls),
            search_seconds=seconds,
            staleness=sum(staleness) / len(staleness),
            most_staleness=max(staleness),
            learner_busy=since.learner / seconds,
            workers_busy=tuple(worker.busy / seconds for worker in since.workers),
            workers_waited=tuple(worker.waited / seconds for worker in since.workers),
            inference_busy=None if since.inference is None else since.inference.busy / seconds,
            queued=pool.queued,
            workers_lost=self._lost + pool.losses,
        )

    def close(self) -> None:
        """Ends the actors, if any. The next round starts new ones."""
        if self._pool is not None:
            self._lost += self._pool.losses
            self._pool.close()
            self._pool = None

    def _running(self) -> ActorPool:
        if self._pool is None:
            self._forgotten_at = self._learner.counters.resolved_since
            self._pool = self._make_pool()
            self._publish(self._pool)
            self._pool.start(self._seeds, self._learner.proven)
        return self._pool

    def _seeds(self, count: int) -> Sequence[int]:
        """Returns at most `count` seeds, limited by the number of games left in the run."""
        limit = self._learner.config.matches
        if limit is not None:
            assert self._pool is not None
            games_left = limit - self._learner.counters.matches - self._pool.outstanding
            count = max(0, min(count, games_left))
        return self._learner.seeds(count)

    def _continues(self, matches: int, start: float) -> bool:
        if self._stops.requested or self._limits.time_is_up():
            return False
        learned = self._learner.counters.matches
        if learned == self._learner.config.matches:
            return False
        return learned == matches or now() - start < ROUND_SECONDS

    def _next(self, pool: ActorPool) -> Arrival | None:
        """Returns the next game that may be learned; None if there is none yet."""
        with explaining_divergence(self._learner):
            if not pool.lagging(self._phases):
                return pool.next(POLL_SECONDS)
            time.sleep(LAG_SECONDS)
            pool.listen(0.0)
            return None

    def _report_progress(self, pool: ActorPool, start: float, before: _Counts) -> None:
        """Emits the progress of the round, if an event is due."""
        moment = now()
        if self._pace.is_due(moment):
            counts, in_play = total(_Counts.now(pool).since(before).workers), total(pool.states())
            counts = dataclasses.replace(counts, alive=in_play.alive, plies_in_play=in_play.plies_in_play)
            progress = self._progress(counts, round(counts.evaluations), max(moment - start, POLL_SECONDS))
            if (config := self._adaptation.adapt(progress)) is not None:
                pool.adapt(config)
            self._emit(progress)

    def _learn(self, pool: ActorPool, arrival: Arrival) -> MatchFinished | None:
        """Learns a game and returns its event; None if learning was interrupted, so the game does not count."""
        learner, played = self._learner, arrival.played
        try:
            finished, learned = learner.learn(played.record, lambda: self._limits.break_off_learning(in_play=True))
        except (OutOfTimeError, BrokenOffError):
            learner.drop_phase()
            return None
        finally:
            pool.count_learned(arrival)
        finished = dataclasses.replace(finished, staleness=self._phases - played.version, worker=arrival.actor.number)
        self._phases += 1
        self._publish(pool)
        if played.record.proofs is not None:
            pool.tell_proofs(played.record.proofs)
        self._emit(finished)
        self._emit(learned)
        return finished

    def _publish(self, pool: ActorPool) -> None:
        pool.publish(self._phases, self._learner.published().weights, self._limits.done())

    def _forget(self) -> None:
        """Makes the actors forget their proven states after the learner has dropped its own."""
        since = self._learner.counters.resolved_since
        if since != self._forgotten_at and self._pool is not None:
            self._forgotten_at = since
            self._pool.tell_proofs(None)


@contextlib.contextmanager
def explaining_divergence(learner: LearnerSide) -> Iterator[None]:
    """Context that reports values that are not finite as diverged weights.

    Raises:
        DivergedError: replaces `NotFiniteError` if anything was learned before.
    """
    try:
        yield
    except NotFiniteError as error:
        counters = learner.counters
        if counters.matches == counters.warm_up_states == 0:
            raise
        rate = learner.config.learner.learning_rate
        raise DivergedError(f"{error}: lower learner.learning_rate, now {rate!r}") from error
