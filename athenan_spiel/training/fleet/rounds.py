"""The rounds of a run whose matches are played by actors elsewhere: what was learned within about a second is a round.

Nothing is the same twice here, so nothing of a round has to be taken back for the next one to be the same: a stop
request or the time limit ends it with what is learned of it, and matches in play are lost.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.training.adaptation import Adaptation
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.clock import Pace, RunClock, now
from athenan_spiel.training.events import MatchFinished, RoundFinished, RoundProgress
from athenan_spiel.training.fleet.actors import Actors, Arrival
from athenan_spiel.training.fleet.board import ActorState, difference, total
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.limits import BrokenOffError, Limits, OutOfTimeError
from athenan_spiel.training.results import cut_off_share, decisive_share
from athenan_spiel.training.rounds import telling_what_spoils_weights

ROUND_SECONDS = 1.0
LOOK_SECONDS = 0.05
"""Between two looks at whether a stop request came, where a match is waited for."""
LAG_SECONDS = 0.002
"""Between two looks at whether an actor has newer weights by now."""


@dataclass(frozen=True)
class _Told:
    """What all processes have told until a moment, or between two.

    Attributes:
        workers: of each.
        inference: of the process that values states for all; None where each worker values its own.
        learner: seconds of processor time of this process.
    """

    workers: list[ActorState]
    inference: ActorState | None
    learner: float

    @classmethod
    def by(cls, fleet: Actors) -> _Told:
        """What is told by now."""
        return cls(fleet.each(), fleet.inference(), time.process_time())

    def since(self, before: _Told) -> _Told:
        """What was told since then."""
        workers = [difference(state, old) for state, old in zip(self.workers, before.workers, strict=True)]
        inference = None
        if self.inference is not None and before.inference is not None:
            inference = difference(self.inference, before.inference)
        return _Told(workers, inference, self.learner - before.learner)


class FleetRounds:
    """Learns what a fleet plays, or a cluster, and tells of it; `close` ends its actors.

    Args:
        make_fleet: called before the first round, and before the first one after `close`.
    """

    def __init__(
        self,
        learner: LearnerSide,
        make_fleet: Callable[[], Actors],
        clock: RunClock,
        limits: Limits,
        stops: StopRequests,
        emit: Broadcast,
        adaptation: Adaptation,
    ) -> None:
        self._learner = learner
        self._make_fleet = make_fleet
        self._clock = clock
        self._limits = limits
        self._stops = stops
        self._emit = emit
        self._adaptation = adaptation
        self._pace = Pace()
        self._fleet: Actors | None = None
        self._lost = 0
        self._phases = 1
        self._forgotten_at = learner.counters.resolved_since

    def play(self) -> None:
        """Learn matches as they come, for a second, or until there is one.

        Raises:
            BrokenOffError: a stop request or the time limit came before any was learned.
            DivergedError: the loss, the weights or the values are not finite any more.
            AthenanError: what ended an actor, or too many of them.
        """
        learner, fleet = self._learner, self._running()
        before, start, told = learner.counters, now(), _Told.by(fleet)
        learner.new_round(self._limits.done(), matches=0)
        learning_seconds = 0.0
        games: list[MatchFinished] = []
        while self._goes_on(before.matches, start):
            arrival = self._next(fleet)
            self._tell(fleet, start, told)
            if arrival is None:
                continue
            began = now()
            finished = self._learn(fleet, arrival)
            learning_seconds += now() - began
            if finished is None:
                break
            games.append(finished)
        if not games:
            raise BrokenOffError
        staleness = [game.staleness or 0 for game in games]
        learner.end_round(self._clock.seconds())
        self._forget()
        seconds, since = now() - start, _Told.by(fleet).since(told)
        of_workers = total(since.workers)
        self._emit(
            RoundFinished(
                matches=learner.counters.matches,
                seconds=self._clock.seconds(),
                rounds=learner.counters.rounds,
                evaluations=round(of_workers.evaluations),
                network_calls=round((since.inference or of_workers).calls),
                states_learned=learner.counters.states_learned - before.states_learned,
                search_seconds=seconds,
                learning_seconds=learning_seconds,
                replay_states=learner.replay.states(),
                replay_bytes=learner.replay.nbytes,
                resolved_states=None if learner.proven is None else len(learner.proven),
                staleness=sum(staleness) / len(staleness),
                most_staleness=max(staleness),
                learner_busy=since.learner / seconds,
                workers_busy=tuple(worker.busy / seconds for worker in since.workers),
                workers_waited=tuple(worker.waited / seconds for worker in since.workers),
                inference_busy=None if since.inference is None else since.inference.busy / seconds,
                queued=fleet.queued,
                workers_lost=self._lost + fleet.losses,
                decisive_share=decisive_share(games),
                cut_off_share=cut_off_share(games),
            )
        )

    def close(self) -> None:
        """End the fleet, if it was begun; the next round begins another one."""
        if self._fleet is not None:
            self._lost += self._fleet.losses
            self._fleet.close()
            self._fleet = None

    def _running(self) -> Actors:
        if self._fleet is None:
            self._forgotten_at = self._learner.counters.resolved_since
            self._fleet = self._make_fleet()
            self._publish(self._fleet)
            self._fleet.start(self._seeds, self._learner.proven)
        return self._fleet

    def _seeds(self, count: int) -> Sequence[int]:
        """Seeds of further matches, no more than the run has matches to play."""
        limit = self._learner.config.matches
        if limit is not None:
            assert self._fleet is not None
            left = limit - self._learner.counters.matches - self._fleet.outstanding
            count = max(0, min(count, left))
        return self._learner.seeds(count)

    def _goes_on(self, matches: int, start: float) -> bool:
        if self._stops.requested or self._limits.time_is_up():
            return False
        learned = self._learner.counters.matches
        if learned == self._learner.config.matches:
            return False
        return learned == matches or now() - start < ROUND_SECONDS

    def _next(self, fleet: Actors) -> Arrival | None:
        """The next match, as soon as it may be learned; None: not yet."""
        with telling_what_spoils_weights(self._learner):
            if not fleet.lagging(self._phases):
                return fleet.next(LOOK_SECONDS)
            time.sleep(LAG_SECONDS)
            fleet.listen(0.0)
            return None

    def _tell(self, fleet: Actors, start: float, before: _Told) -> None:
        """Tell how the round goes before which this was told, if it is time to."""
        moment = now()
        if self._pace.is_due(moment):
            told, in_play = total(_Told.by(fleet).since(before).workers), total(fleet.states())
            evaluations = round(told.evaluations)
            progress = RoundProgress(
                matches=self._learner.counters.matches,
                seconds=self._clock.seconds(),
                alive=round(in_play.alive),
                plies=round(told.plies),
                plies_in_play=round(in_play.plies_in_play),
                evaluations=evaluations,
                evaluations_per_second=evaluations / max(moment - start, LOOK_SECONDS),
            )
            if (config := self._adaptation.look(progress)) is not None:
                fleet.adapt(config)
            self._emit(progress)

    def _learn(self, fleet: Actors, arrival: Arrival) -> MatchFinished | None:
        """Learn a match and return its event; None if learning was interrupted, so the match does not count."""
        learner, played = self._learner, arrival.played
        try:
            finished, learned = learner.learn(played.record, lambda: self._limits.break_off_learning(in_play=True))
        except (OutOfTimeError, BrokenOffError):
            learner.drop_phase()
            return None
        finally:
            fleet.count_learned(arrival)
        finished = dataclasses.replace(finished, staleness=self._phases - played.version, worker=arrival.worker.number)
        self._phases += 1
        self._publish(fleet)
        if played.record.proofs is not None:
            fleet.tell_proofs(played.record.proofs)
        self._emit(finished)
        self._emit(learned)
        return finished

    def _publish(self, fleet: Actors) -> None:
        fleet.publish(self._phases, self._learner.published().weights, self._limits.done())

    def _forget(self) -> None:
        """Let the actors forget what they know of proven states when the learner has."""
        since = self._learner.counters.resolved_since
        if since != self._forgotten_at and self._fleet is not None:
            self._forgotten_at = since
            self._fleet.tell_proofs(None)
