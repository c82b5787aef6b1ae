"""Pool of actors: starts them, sends them seeds and weights, and replaces those that are lost.

1. An actor that ends, is killed, or loses its node is replaced. Only its games in play are lost. An actor that reports
   nothing for `workers.patience_seconds` is killed and replaced. So is its inference server, which may be the cause.
2. An error reported by an actor ends the run. So do too many losses within a short time.
3. No game is learned more than `workers.max_staleness` phases after the weights of its last move. Half of this limit is
   divided among the actors: it bounds the games for which an actor has seeds, plus its records not yet learned. The
   other half bounds the age of weights: the learner waits while an actor plays with older weights (`lagging`), and an
   actor with older weights gets no seeds.
4. On a cluster without room for all actors, those that have started play.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from numpy.typing import NDArray

from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import LearningError
from athenan_spiel.search.proven_states import ResolvedStates
from athenan_spiel.system.transport import Ready, Receive
from athenan_spiel.system.worker_pool import PoolWorker, WorkerPool
from athenan_spiel.training.actors.messages import (
    ActorState,
    DropGames,
    Dropped,
    Failed,
    GamePlayed,
    Loaded,
    NewSettings,
    Proofs,
    Seeds,
    ServerLost,
    total,
)
from athenan_spiel.training.model import Weights

START_SECONDS = 120.0
"""Minimum time to wait for an actor that loads, in seconds: it imports torch and may start Java."""
ROOM_SECONDS = 30.0
"""Time after which a warning reports actors that have not started, in seconds."""
MAX_LOSSES = 5
"""Maximum number of lost actors within `LOSSES_SECONDS`, per actor of the pool."""
LOSSES_SECONDS = 60.0
"""Period in which lost actors are counted, in seconds."""
_log = logging.getLogger(__name__)


class WorkersLostError(LearningError):
    """Workers have ended or hung too often, so training has ended."""


class ActorTransport(Protocol):
    """Starts actors and connects them with the pool. Workers are opaque, hashable objects.

    Attributes:
        spare: maximum number of seeds of an actor, in addition to its games in play; None: only limited by staleness.
        latency: maximum delay of the counters, in seconds.
    """

    spare: int | None
    latency: float

    def start(self, number: int) -> Any:
        """Starts the actor of this number.

        Raises:
            LearningError: the inference server could not be started.
            OSError: the process of the actor could not be started.
        """

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """As `ActorPool.publish`."""

    def send(self, message: Any, *workers: Any) -> None:
        """Sends a message to each of `workers`."""

    def poll(self, seconds: float, receive: Receive[Any]) -> None:
        """As `system.transport.WorkerTransport.poll`."""

    def state(self, worker: Any) -> ActorState:
        """Returns the counters of an actor. `beat` is a time by this process's `time.monotonic`."""

    def version(self, worker: Any) -> int:
        """Returns the version of the oldest weights that an actor without games may use if it gets seeds now."""

    def inference(self) -> ActorState | None:
        """As `ActorPool.inference`."""

    def end_server(self, worker: Any) -> None:
        """Ends the inference server of this actor, if there is one."""

    def kill(self, worker: Any, *, hangs: bool = False) -> None:
        """As `system.transport.WorkerTransport.kill`."""

    def close(self) -> None:
        """Ends all processes at once, and frees their shared memory."""


@dataclass(eq=False, kw_only=True)
class PooledActor(PoolWorker):
    """State of an actor in the pool.

    Attributes:
        number: position in the pool, from 0.
        owed: number of its seeds whose games have not arrived.
        is_loaded: whether it has weights, so that it may get seeds.
        version: lower bound of the version of its weights; updated when it gets seeds while it has no games.
        beat: time of its last report of counters; 0 before the first.
    """

    number: int
    owed: int = 0
    is_loaded: bool = False
    version: int = 0
    beat: float = 0.0


@dataclass(frozen=True)
class Arrival:
    """A finished game, and the actor that played it."""

    actor: PooledActor
    played: GamePlayed


class ActorPool(WorkerPool[PooledActor]):
    """The actors of a run. `start` starts them, `close` ends them at once."""

    _transport: ActorTransport

    def __init__(self, config: TrainingConfig, transport: ActorTransport) -> None:
        super().__init__(transport)
        self._config = config
        count = max(1, config.workers.count)
        games = config.matches_at_once
        self._slack = config.workers.staleness(games) // 2 if config.workers.count else games
        self._quota = self._slack // count
        self._version = 0
        self._actors: list[PooledActor] = []
        self._unlearned = [0] * count
        self._lost_counters = [ActorState()] * count
        self._arrived: deque[Arrival] = deque()
        self._loss_times: deque[float] = deque()
        self._losses = 0
        self._seeds: Callable[[int], Sequence[int]] = lambda count: []
        self._proven: ResolvedStates | None = None
        self._started_at = time.monotonic()
        self._has_warned = self._is_adapted = False

    def start(self, seeds: Callable[[int], Sequence[int]], proven: ResolvedStates | None = None) -> None:
        """Starts the actors.

        Args:
            seeds: returns the given number of seeds, or fewer if the run needs no more games.
            proven: proven states that are sent to each new actor; None: none are kept.

        Raises:
            AthenanError: an actor could not be started.
        """
        self._seeds, self._proven = seeds, proven
        self._started_at = time.monotonic()
        for number in range(len(self._unlearned)):
            self._actors.append(self._started(number))

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """Publishes new weights to all actors.

        Args:
            version: version of the weights, from 1. Each learning phase increases it by 1.
            weights: the weights; they must not change before learning continues.
            progress: fraction of the run completed, in [0, 1].
        """
        self._version = version
        self._transport.publish(version, weights, progress)

    def adapt(self, config: TrainingConfig) -> None:
        """Changes the search settings and the number of games at once of all actors."""
        self._config, self._is_adapted = config, True
        self._send(NewSettings(config), self._ready())

    def tell_proofs(self, arrays: Mapping[str, NDArray[Any]] | None) -> None:
        """Sends proven states to all actors; None makes them forget all proven states."""
        self._send(Proofs(arrays), self._ready())

    def drop_games(self) -> None:
        """Ends the round of an actor in this process: the games in play are dropped, and `next` returns the others."""
        self._send(DropGames(), [actor for actor in self._actors if actor.owed])

    def next(self, seconds: float) -> Arrival | None:
        """Returns the next finished game; None if there is none within `seconds`.

        Raises:
            AthenanError: an actor reported an error, or too many were lost.
        """
        self.listen(0.0 if self._arrived else seconds)
        return self._arrived.popleft() if self._arrived else None

    def count_learned(self, arrival: Arrival) -> None:
        """Records that a game from `next` was learned or dropped."""
        number = arrival.actor.number
        self._unlearned[number] -= 1
        self._send_seeds(self._actors[number])

    def lagging(self, version: int) -> bool:
        """Whether the weights of an actor that plays are too old for the learner to continue.

        Args:
            version: version of the learner's weights.
        """
        playing = [actor for actor in self._actors if actor.owed]
        versions = [max(actor.version, self._transport.state(actor.handle).version) for actor in playing]
        return any(version - used >= self._slack for used in versions)

    def listen(self, seconds: float) -> None:
        """Receives messages, for which it waits up to `seconds`, and replaces lost actors.

        Raises:
            AthenanError: as `next`.
        """
        super().listen(seconds)
        for actor in self._actors:
            self._send_seeds(actor)
        self._warn_of_missing()

    def states(self) -> list[ActorState]:
        """Returns the counters of the actors that have reported."""
        found = [self._transport.state(actor.handle) for actor in self._actors]
        return [state for state in found if state.beat]

    def each(self) -> list[ActorState]:
        """Returns the counters of each position in the pool, summed over all actors that had it."""
        pairs = zip(self._lost_counters, self._actors, strict=True)
        return [total([gone, self._transport.state(actor.handle)]) for gone, actor in pairs]

    def inference(self) -> ActorState | None:
        """Returns the summed counters of the inference servers; None if each actor evaluates states itself."""
        return self._transport.inference()

    @property
    def in_play(self) -> int:
        """Number of games in play, by the counters of the actors."""
        return round(sum(state.alive for state in self.states()))

    @property
    def queued(self) -> int:
        """Number of finished games that `next` has not returned yet."""
        return len(self._arrived)

    @property
    def outstanding(self) -> int:
        """Number of games whose seeds were sent to actors and that `next` has not returned yet."""
        return sum(actor.owed for actor in self._actors) + len(self._arrived)

    @property
    def losses(self) -> int:
        """Number of actors lost and replaced so far."""
        return self._losses

    def close(self) -> None:
        """Ends all actors at once."""
        self._transport.close()

    def _started(self, number: int) -> PooledActor:
        try:
            actor = PooledActor(self._transport.start(number), number=number)
        except OSError as error:
            raise LearningError(
                f"only {len(self._actors)} of {self._config.workers.count} workers could be started "
                f"({error.strerror}): use fewer --workers"
            ) from None
        self._register(actor)
        return actor

    def _ready(self) -> list[PooledActor]:
        return [actor for actor in self._actors if actor.ready is not None]

    def _send(self, message: Any, actors: Sequence[PooledActor]) -> None:
        if actors:
            self._transport.send(message, *(actor.handle for actor in actors))

    def _send_seeds(self, actor: PooledActor) -> None:
        """Sends an actor the number of seeds that it may have (rule 3 of this module)."""
        limit, spare = self._quota - self._unlearned[actor.number], self._transport.spare
        if spare is not None:
            limit = min(limit, self._config.matches_at_once + spare)
        if actor.is_loaded and limit > actor.owed:
            if not actor.owed:
                actor.version = self._transport.version(actor.handle)
                if self._version - actor.version >= self._slack:
                    return
            seeds = tuple(self._seeds(limit - actor.owed))
            actor.owed += len(seeds)
            if seeds:
                self._send(Seeds(seeds), [actor])

    def _receive(self, actor: PooledActor, message: Any) -> None:
        if isinstance(message, GamePlayed):
            actor.owed -= 1
            self._unlearned[actor.number] += 1
            self._arrived.append(Arrival(actor, message))
        elif isinstance(message, Dropped):
            actor.owed -= message.count
        elif isinstance(message, Ready):
            if self._is_adapted:
                self._send(NewSettings(self._config), [actor])
            if self._proven is not None:
                self._send(Proofs(self._proven.to_arrays()), [actor])
        elif isinstance(message, Loaded):
            actor.is_loaded = True
        elif isinstance(message, Failed):
            raise message.error
        else:
            assert isinstance(message, ServerLost)
            self._transport.end_server(actor.handle)
            self._replace(actor, "has lost its inference server")

    def _on_lost(self, actor: PooledActor, reason: str) -> None:
        self._replace(actor, reason)

    def _has_progressed(self, actor: PooledActor) -> bool:
        before, actor.beat = actor.beat, self._transport.state(actor.handle).beat
        return actor.beat != before

    def _patience(self, actor: PooledActor) -> float | None:
        if actor.ready is None:
            return None
        patience = self._config.workers.patience_seconds + self._transport.latency
        return patience if actor.beat else max(patience, START_SECONDS)

    def _on_silent(self, actor: PooledActor, limit: float) -> None:
        self._transport.end_server(actor.handle)
        self._replace(actor, f"has reported nothing for {actor.silence:.0f} s", hangs=True)

    def _replace(self, actor: PooledActor, reason: str, *, hangs: bool = False) -> None:
        """Replaces a lost actor by a new one, which gets other seeds."""
        number, host = actor.number, "" if actor.ready is None else actor.ready.host
        state = replace(self._transport.state(actor.handle), alive=0.0, plies_in_play=0.0)
        self._remove(actor, hangs=hangs)
        self._count_loss(number, f"on {host} {reason}" if host else reason, actor.owed)
        actor.owed = 0
        self._lost_counters[number] = total([self._lost_counters[number], state])
        self._actors[number] = self._started(number)

    def _count_loss(self, number: int, reason: str, games: int) -> None:
        moment = time.monotonic()
        self._losses += 1
        self._loss_times.append(moment)
        while moment - self._loss_times[0] > LOSSES_SECONDS:
            self._loss_times.popleft()
        if len(self._loss_times) > MAX_LOSSES * len(self._unlearned):
            raise WorkersLostError(
                f"worker {number} {reason}, after {len(self._loss_times) - 1} other losses within "
                f"{LOSSES_SECONDS:.0f} s; if memory ran out, use fewer --workers"
            )
        _log.warning("worker %d %s: it is replaced, %d games are lost", number, reason, games)

    def _warn_of_missing(self) -> None:
        waiting = sum(actor.ready is None for actor in self._actors)
        if waiting and not self._has_warned and self._listened_at - self._started_at > ROOM_SECONDS:
            self._has_warned = True
            _log.warning(
                "%d of %d workers have not started: check that there are free cores for them",
                waiting,
                len(self._actors),
            )
