"""Rounds of a run, in which games are played and learned.

1. `InlineRounds` uses an actor in this process. A round has a fixed number of games. Each is learned when it and those
   before it have ended. A stop request drops the round completely, so that runs are bit-reproducible. The time limit
   drops only the games in play.
2. `ConcurrentRounds` uses actors in other processes. Games are learned as they arrive, and a round is what was learned
   within about a second. Such runs are not reproducible, so a stop request or the time limit keeps the games already
   learned and loses those in play.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from athenan_spiel.errors import DivergedError, NotFiniteError
from athenan_spiel.system.stopping import StopRequests
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


@dataclass(eq=False)
class _Round:
    """State of a round.

    Attributes:
        before: the learner's counters at its start.
        start: time of its start, by `now`.
        counts: counters of the actors at its start.
        learning_seconds: duration of learning so far, in seconds.
        games: events of the games learned so far.
    """

    before: Counters
    start: float
    counts: _Counts
    learning_seconds: float = 0.0
    games: list[MatchFinished] = field(default_factory=list)


class Rounds:
    """Plays and learns one round after another, and emits events for each. `close` ends the actors.

    Args:
        make_pool: creates the actors before the first round, and before the first one after `close`.
    """

    def __init__(
        self,
        make_pool: Callable[[], ActorPool],
        learner: LearnerSide,
        clock: RunClock,
        limits: RunLimits,
        stops: StopRequests,
        emit: Broadcast,
        adaptation: Adaptation,
    ) -> None:
        self._make_pool = make_pool
        self._learner = learner
        self._clock = clock
        self._limits = limits
        self._stops = stops
        self._emit = emit
        self._adaptation = adaptation
        self._pace = Pace()
        self._pool: ActorPool | None = None
        self._lost = 0

    def play(self) -> None:
        """Plays and learns a round.

        Raises:
            BrokenOffError: the round was interrupted; call `LearnerSide.drop_round` to undo it, and `close`.
            KeyboardInterrupt: the same.
            DivergedError: the loss, the weights or the values are not finite.
            AthenanError: an actor reports an error, or too many are lost.
        """
        learner, pool = self._learner, self._running()
        current = _Round(learner.counters, now(), _Counts.now(pool))
        self._begin(pool)
        while self._continues(pool, current):
            arrival = self._next(pool, current)
            if arrival is None:
                continue
            start = now()
            finished = self._learn(pool, arrival)
            current.learning_seconds += now() - start
            if finished is None:
                break
            current.games.append(finished)
        if not current.games:
            raise BrokenOffError
        learner.end_round(self._clock.seconds())
        self._report_end(pool, current)

    def close(self) -> None:
        """Ends the actors, if any. The next round starts new ones."""
        if self._pool is not None:
            self._lost += self._pool.losses
            self._pool.close()
            self._pool = None

    def _running(self) -> ActorPool:
        if self._pool is None:
            self._pool = self._make_pool()
            self._start(self._pool)
        return self._pool

    def _start(self, pool: ActorPool) -> None:
        """Starts the actors of a new pool."""
        raise NotImplementedError

    def _begin(self, pool: ActorPool) -> None:
        """Begins a round."""
        raise NotImplementedError

    def _continues(self, pool: ActorPool, current: _Round) -> bool:
        """Whether the round continues."""
        raise NotImplementedError

    def _next(self, pool: ActorPool, current: _Round) -> Arrival | None:
        """Returns the next game to be learned; None if there is none yet."""
        raise NotImplementedError

    def _learn(self, pool: ActorPool, arrival: Arrival) -> MatchFinished | None:
        """Learns a game and returns its event; None if the round ends without it."""
        raise NotImplementedError

    def _report_progress(self, pool: ActorPool, current: _Round, playing_seconds: float) -> None:
        """Emits the progress of the round, if an event is due; reduces the settings if the games take too long.

        Args:
            playing_seconds: time in which the actors have played.
        """
        if not self._pace.is_due(now()):
            return
        counts, in_play = total(_Counts.now(pool).since(current.counts).workers), total(pool.states())
        evaluations = round(counts.evaluations)
        progress = RoundProgress(
            matches=self._learner.counters.matches,
            seconds=self._clock.seconds(),
            alive=round(in_play.alive),
            plies=round(counts.plies),
            plies_in_play=round(in_play.plies_in_play),
            evaluations=evaluations,
            evaluations_per_second=evaluations / playing_seconds,
        )
        if (config := self._adaptation.adapt(progress)) is not None:
            pool.adapt(config)
        self._emit(progress)

    def _report_end(self, pool: ActorPool, current: _Round) -> None:
        """Emits the event of a round that has ended."""
        learner, seconds, since = self._learner, now() - current.start, _Counts.now(pool).since(current.counts)
        workers = total(since.workers)
        self._emit(
            RoundFinished(
                matches=learner.counters.matches,
                seconds=self._clock.seconds(),
                rounds=learner.counters.rounds,
                evaluations=round(workers.evaluations),
                network_calls=round((since.inference or workers).calls),
                states_learned=learner.counters.states_learned - current.before.states_learned,
                learning_seconds=current.learning_seconds,
                replay_states=learner.replay.states(),
                replay_bytes=learner.replay.nbytes,
                resolved_states=None if learner.proven is None else len(learner.proven),
                decisive_share=decisive_share(current.games),
                cut_off_share=cut_off_share(current.games),
                **self._fields(pool, current, seconds, since),
            )
        )

    def _fields(self, pool: ActorPool, current: _Round, seconds: float, since: _Counts) -> dict[str, Any]:
        """Returns the fields of `RoundFinished` that depend on the kind of rounds.

        Args:
            seconds: duration of the round.
            since: increase of the counters.
        """
        raise NotImplementedError


class InlineRounds(Rounds):
    """Rounds whose games this process plays."""

    def _start(self, pool: ActorPool) -> None:
        self._seeds: list[int] = []
        pool.start(self._take_seeds)
        pool.listen(POLL_SECONDS)  # it loads

    def _take_seeds(self, count: int) -> Sequence[int]:
        taken, self._seeds = self._seeds[:count], self._seeds[count:]
        return taken

    def _begin(self, pool: ActorPool) -> None:
        done = self._limits.done()
        self._seeds = self._learner.new_round(done)
        self._publish(pool, done)
        pool.listen(0.0)  # it sends the seeds

    def _continues(self, pool: ActorPool, current: _Round) -> bool:
        if self._limits.time_is_up():
            pool.drop_games()
        return pool.outstanding > 0

    def _next(self, pool: ActorPool, current: _Round) -> Arrival | None:
        if pool.queued:
            return pool.next(0.0)
        with self._stops.droppable(), explaining_divergence(self._learner):
            arrival = pool.next(POLL_SECONDS)
            self._limits.break_off_if_stopped()
        if arrival is None and pool.outstanding:
            self._report_progress(pool, current, now() - current.start - current.learning_seconds)
        return arrival

    def _learn(self, pool: ActorPool, arrival: Arrival) -> MatchFinished | None:
        in_play = pool.in_play > 0
        try:
            events = self._learner.learn(arrival.played.record, lambda: self._limits.break_off_learning(in_play))
        except OutOfTimeError:
            self._learner.drop_phase()
            return None
        pool.count_learned(arrival)
        self._publish(pool, self._limits.done())
        for event in events:
            self._emit(event)
        return events[0]

    def _publish(self, pool: ActorPool, done: float) -> None:
        published = self._learner.published()
        pool.publish(published.version, published.weights, done)

    def _fields(self, pool: ActorPool, current: _Round, seconds: float, since: _Counts) -> dict[str, Any]:
        return {"search_seconds": seconds - current.learning_seconds}


class ConcurrentRounds(Rounds):
    """Rounds whose games are played by actors in other processes."""

    def __init__(self, *session: Any) -> None:
        super().__init__(*session)
        self._phases = 1
        self._forgotten_at = self._learner.counters.resolved_since

    def play(self) -> None:
        """As `Rounds.play`. If the learner has dropped its proven states, the actors forget theirs."""
        super().play()
        since = self._learner.counters.resolved_since
        if since != self._forgotten_at:
            self._forgotten_at = since
            self._running().tell_proofs(None)

    def _start(self, pool: ActorPool) -> None:
        self._forgotten_at = self._learner.counters.resolved_since
        self._publish(pool)
        pool.start(self._take_seeds, self._learner.proven)

    def _take_seeds(self, count: int) -> Sequence[int]:
        """Returns at most `count` seeds, limited by the number of games left in the run."""
        limit = self._learner.config.matches
        if limit is not None:
            assert self._pool is not None
            games_left = limit - self._learner.counters.matches - self._pool.outstanding
            count = max(0, min(count, games_left))
        return self._learner.seeds(count)

    def _begin(self, pool: ActorPool) -> None:
        self._learner.new_round(self._limits.done(), matches=0)

    def _continues(self, pool: ActorPool, current: _Round) -> bool:
        """Learns games as they arrive, for `ROUND_SECONDS`, or longer until the first has arrived."""
        if self._stops.requested or self._limits.time_is_up():
            return False
        learned = self._learner.counters.matches
        if learned == self._learner.config.matches:
            return False
        return learned == current.before.matches or now() - current.start < ROUND_SECONDS

    def _next(self, pool: ActorPool, current: _Round) -> Arrival | None:
        arrival = None
        with explaining_divergence(self._learner):
            if pool.lagging(self._phases):
                time.sleep(LAG_SECONDS)
                pool.listen(0.0)
            else:
                arrival = pool.next(POLL_SECONDS)
        self._report_progress(pool, current, max(now() - current.start, POLL_SECONDS))
        return arrival

    def _learn(self, pool: ActorPool, arrival: Arrival) -> MatchFinished | None:
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

    def _fields(self, pool: ActorPool, current: _Round, seconds: float, since: _Counts) -> dict[str, Any]:
        staleness = [game.staleness or 0 for game in current.games]
        return {
            "search_seconds": seconds,
            "staleness": sum(staleness) / len(staleness),
            "most_staleness": max(staleness),
            "learner_busy": since.learner / seconds,
            "workers_busy": tuple(worker.busy / seconds for worker in since.workers),
            "workers_waited": tuple(worker.waited / seconds for worker in since.workers),
            "inference_busy": None if since.inference is None else since.inference.busy / seconds,
            "queued": pool.queued,
            "workers_lost": self._lost + pool.losses,
        }


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
