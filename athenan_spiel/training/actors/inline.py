"""The actor of a run without workers, which plays in this process.

1. A `Seeds` message contains the seeds of a whole round, whose games are played side by side.
2. Each call of `poll` plays until the next call of the network, with the weights published last.
3. Records are sent in the order of the seeds: each when its game and those before it have ended.
4. The proven states are those of the learner, which changes them only between two rounds.
5. So if moves are limited by iterations or evaluations, the games of a round are reproducible to the bit.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from athenan_spiel.search.proven_states import Known
from athenan_spiel.system.inline_transport import InlineTransport, InlineWorker
from athenan_spiel.system.transport import Mailbox, Receive
from athenan_spiel.training.actor import Actor, MatchRecord, PublishedWeights, RoundInPlay
from athenan_spiel.training.actors.messages import (
    ActorState,
    DropGames,
    Dropped,
    GamePlayed,
    Loaded,
    NewSettings,
    Order,
    Seeds,
)
from athenan_spiel.training.model import Weights


class InlineActors:
    """Runs the only actor of a pool in this process; see `pool.ActorTransport`.

    Args:
        actor: plays the games.
        proven: proven states; None if the run keeps none.
    """

    spare: int | None = None
    latency = 0.0

    def __init__(self, actor: Actor, proven: Known | None) -> None:
        self._actor = actor
        self._proven = proven
        self._inline = InlineTransport()
        self._published = PublishedWeights(0, {})
        self._progress = 0.0
        self._playing: RoundInPlay | None = None
        self._is_loaded = False
        self._before = ActorState()
        """Counters of earlier rounds."""

    def start(self, number: int) -> InlineWorker:
        """Starts the actor."""
        return self._inline.start(self._play)

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """As `ActorPool.publish`."""
        self._published, self._progress = PublishedWeights(version, weights), progress

    def send(self, message: Any, *workers: InlineWorker) -> None:
        """Sends a message to the actor."""
        self._inline.send(message, *workers)

    def poll(self, seconds: float, receive: Receive[InlineWorker]) -> None:
        """As `WorkerTransport.poll`: plays until the next call of the network, unless `seconds` is 0."""
        self._inline.poll(seconds, receive)

    def state(self, worker: InlineWorker) -> ActorState:
        """Counters of the actor."""
        return self._state()

    def version(self, worker: InlineWorker) -> int:
        """Version of the weights that it will use."""
        return self._published.version

    def inference(self) -> ActorState | None:
        """None, as the actor evaluates states itself."""
        return None

    def end_server(self, worker: InlineWorker) -> None:
        """Has no effect, as there is no inference server."""

    def kill(self, worker: InlineWorker, *, hangs: bool = False) -> None:
        """Ends the actor."""
        self._inline.kill(worker)
        self._playing = None

    def close(self) -> None:
        """Ends the actor."""
        self._playing = None

    def _state(self) -> ActorState:
        before, playing = self._before, self._playing
        return ActorState(
            beat=time.monotonic(),
            version=self._published.version,
            alive=0 if playing is None else playing.alive,
            plies_in_play=0 if playing is None else playing.plies_in_play,
            plies=before.plies + (0 if playing is None else playing.plies),
            evaluations=before.evaluations + (0 if playing is None else playing.evaluations),
            calls=before.calls + (0 if playing is None else playing.calls),
        )

    def _play(self, mailbox: Mailbox) -> None:
        """Handles the orders that have arrived, and plays until the next call of the network."""
        if not self._is_loaded:
            self._is_loaded = True
            mailbox.send(Loaded())
        order: Order | None
        while (order := mailbox.get()) is not None:
            self._handle(mailbox, order)
        if self._playing is None:
            return
        self._actor.load(self._published)
        is_playing = self._playing.advance()
        self._send(mailbox, iter(self._playing.take, None))
        if not is_playing:
            self._end_round(mailbox)

    def _handle(self, mailbox: Mailbox, order: Order) -> None:
        if isinstance(order, Seeds):
            self._playing = self._actor.play(self._published, self._proven, order.seeds, self._progress)
        elif isinstance(order, NewSettings):
            self._actor.adapt(order.config)
            if self._playing is not None:
                mailbox.send(Dropped(len(self._playing.adapt(self._progress, order.config.matches_at_once))))
        else:
            assert isinstance(order, DropGames)
            self._end_round(mailbox)

    def _end_round(self, mailbox: Mailbox) -> None:
        """Sends the finished games that wait for others, and drops the games in play."""
        if (playing := self._playing) is not None:
            in_play = playing.alive
            self._before = self._state()
            self._playing = None
            self._send(mailbox, playing.rest())
            if in_play:
                mailbox.send(Dropped(in_play))

    def _send(self, mailbox: Mailbox, records: Iterable[MatchRecord]) -> None:
        for record in records:
            mailbox.send(GamePlayed(record, self._published.version))
