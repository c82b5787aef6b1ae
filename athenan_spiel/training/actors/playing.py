"""Loop of an actor, which plays several games at once.

1. When a game has ended, its record is sent and the next game starts.
2. Between two batches of states the actor loads the newest weights. While games are in play, it does so at most every
   `LOAD_SECONDS`, as loading takes an engine some milliseconds, and the learner publishes new weights after each game.
3. The actor plays while it has seeds. The pool uses them to limit the number of records not yet learned.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import NDArray

from athenan_spiel.config import TrainingConfig
from athenan_spiel.engines import Engine
from athenan_spiel.errors import AthenanError
from athenan_spiel.games import load_game
from athenan_spiel.outcomes import outcome_from_parameters
from athenan_spiel.play.driver import without_garbage_collection
from athenan_spiel.system.machine import yield_to_others
from athenan_spiel.training.actor import Actor, MatchRecord, PublishedWeights, RoundInPlay, proven_states
from athenan_spiel.training.actors.inference import RemoteEngine, ServerGoneError, SlotsPlan
from athenan_spiel.training.actors.messages import (
    ActorState,
    ActorTask,
    Failed,
    GamePlayed,
    Loaded,
    NewSettings,
    Order,
    Proofs,
    Seeds,
    ServerLost,
)
from athenan_spiel.training.preflight import learning_device

COLLECT_SECONDS = 60.0
"""Time between two garbage collections, in seconds. Each visits all trees, and there is little cyclic garbage."""
LOAD_SECONDS = 0.05
"""Minimum time between two loads of weights while games are in play, in seconds."""
WAIT_SECONDS = 0.05
"""Time for which an actor without seeds waits for an order, in seconds."""


class Link(Protocol):
    """Connection of an actor to the pool."""

    @property
    def progress(self) -> float:
        """Fraction of the run completed, in [0, 1]."""

    def get(self, seconds: float) -> Order | None:
        """Returns the next order; None if there is none within `seconds`."""

    def newest(self, version: int) -> PublishedWeights | None:
        """Returns the newest weights; None if they have this version, or if there are none."""

    def send(self, message: Loaded | GamePlayed | Failed | ServerLost) -> None:
        """Sends a message."""

    def tell(self, state: ActorState) -> None:
        """Reports the actor's counters."""


def play_on(link: Link, task: ActorTask, slot: tuple[SlotsPlan, int] | None) -> None:
    """Plays until the process is killed.

    Args:
        slot: location of the inference slots, and number of this actor; None: the actor evaluates states itself.
    """
    yield_to_others()  # the learner needs a core whenever it is ready
    try:
        with without_garbage_collection():
            _Player(link, task, None if slot is None else RemoteEngine(*slot, task.config.engine)).play()
    except ServerGoneError:
        link.send(ServerLost())
    except (AthenanError, MemoryError) as error:
        link.send(Failed.by(error))


class _Player:
    def __init__(self, link: Link, task: ActorTask, remote: RemoteEngine | None) -> None:
        self._link = link
        self._remote = remote
        self._games = Games(task, remote)
        self._version = 0
        self._loaded_at = 0.0
        self._waited = 0.0

    def play(self) -> None:
        """Plays until the process is killed."""
        games = self._games
        while not self._version:
            self._handle_orders(WAIT_SECONDS)
            self._load()
        self._link.send(Loaded())
        while True:
            self._handle_orders(0.0)
            if not games.alive:
                self._loaded_at = 0.0
            games.begin(self._link.progress)
            self._load()
            if games.alive:
                for record in games.advance():
                    self._link.send(GamePlayed(record, self._used_version() or self._version))
            else:
                self._wait()
            self._report()

    def _used_version(self) -> int:
        """Version of the weights in use; 0 if the inference server has not answered yet."""
        return self._version if self._remote is None else self._remote.version

    def _handle_orders(self, seconds: float) -> None:
        while (order := self._link.get(seconds)) is not None:
            seconds = 0.0
            if isinstance(order, Seeds):
                self._games.plan(order.seeds)
            elif isinstance(order, NewSettings):
                self._games.adapt(order.config, self._link.progress)
            else:
                assert isinstance(order, Proofs)
                self._games.know(order.arrays)

    def _load(self) -> None:
        if self._remote is not None and self._version:
            return
        if time.monotonic() - self._loaded_at > LOAD_SECONDS:
            published = self._link.newest(self._version)
            if published is not None:
                self._loaded_at = time.monotonic()
                self._version = published.version
                self._games.load(published, self._link.progress)
                self._report()

    def _wait(self) -> None:
        start = time.monotonic()
        self._handle_orders(WAIT_SECONDS)
        self._waited += time.monotonic() - start

    def _report(self) -> None:
        self._link.tell(self._games.state(self._used_version(), self._waited))


class Games:
    """The games of an actor. They start after the first call of `load`.

    Args:
        engine: inference engine; None: a new one with the settings of the task.

    Raises:
        AthenanError: the game cannot be loaded on this machine, or the network does not fit it.
    """

    def __init__(self, task: ActorTask, engine: Engine | None = None) -> None:
        config = task.config
        self._at_once = config.matches_at_once
        outcome = outcome_from_parameters(config.outcome, task.outcome, task.kind)
        self._actor = Actor(load_game(task.game), config, outcome, engine)
        self._actor.evaluator.in_turn = engine is None and learning_device(config.engine) == "cpu"
        self._proven = proven_states(config)
        self._seeds: deque[int] = deque()
        self._playing: RoundInPlay | None = None
        self._collected_at = time.monotonic()

    @property
    def alive(self) -> int:
        """Number of games in play."""
        return 0 if self._playing is None else self._playing.alive

    def load(self, published: PublishedWeights, progress: float) -> None:
        """Uses these weights for all further evaluations.

        Args:
            progress: fraction of the run completed, in [0, 1].
        """
        if self._playing is None:
            self._playing = self._actor.play(published, self._proven, [], progress)
        else:
            self._actor.load(published)

    def plan(self, seeds: Sequence[int]) -> None:
        """Adds seeds of further games, each to be started when another game has ended."""
        self._seeds.extend(seeds)

    def know(self, arrays: Mapping[str, NDArray[Any]] | None) -> None:
        """Adds proven states; None: forgets all. Has no effect if the run keeps none."""
        if self._proven is not None and arrays is None:
            self._proven.clear()
        elif self._proven is not None and arrays is not None:
            self._proven.add_arrays(arrays)

    def adapt(self, config: TrainingConfig, progress: float) -> None:
        """Changes the search settings and the number of games at once.

        Games beyond that number are dropped and started again later.
        """
        self._at_once = config.matches_at_once
        self._actor.adapt(config)
        if self._playing is not None:
            self._seeds.extendleft(reversed(self._playing.adapt(progress, self._at_once)))

    def begin(self, progress: float) -> None:
        """Starts games until the number of games at once is reached. Has no effect before the first `load`."""
        while self._playing is not None and self._seeds and self._playing.alive < self._at_once:
            self._playing.begin(self._seeds.popleft(), progress)

    def advance(self) -> list[MatchRecord]:
        """Plays until the next evaluation. Returns the records of games that have ended by then.

        Raises:
            EvaluatorError: a value is not finite.
        """
        if self._playing is None:
            return []
        if time.monotonic() - self._collected_at > COLLECT_SECONDS:
            gc.collect()
            self._collected_at = time.monotonic()
        self._playing.advance()
        return self._playing.take_any()

    def state(self, version: int, waited: float) -> ActorState:
        """Returns the counters of the actor.

        Args:
            version: version of its weights.
            waited: time without games, in seconds.
        """
        playing = self._playing
        return ActorState(
            beat=time.monotonic(),
            version=version,
            alive=self.alive,
            plies_in_play=0 if playing is None else playing.plies_in_play,
            plies=0 if playing is None else playing.plies,
            evaluations=0 if playing is None else playing.evaluations,
            calls=0 if playing is None else playing.calls,
            busy=time.process_time(),
            waited=waited,
        )
