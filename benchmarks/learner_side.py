"""Number of actors that one learner keeps up with.

Records the games of a training with one worker, and their rate. Another process then sends these records repeatedly to
the learner of a training, as N actors would: through a pipe per actor, with counters in shared memory, at random
moments. The learner receives each record, runs its learning phase, publishes the weights and writes its metrics, as in
a training with one worker (`Session`). Its replay is full, and its only checkpoint is written at the start. Prints

- the length of the queue over time for each number of actors. It grows if the learner doesn't keep up; in a training,
  actors would then wait, because `workers.max_staleness` limits the queue;
- the learner's time per game, by part, and the number of actors it keeps up with: an actor's time per game divided by
  the learner's, as a learning phase follows each game;
- the size of a record, and of the weights that actors on a Ray cluster receive.

An actor has a core of its own (by default `engine.threads` is 1). Its rate is measured in its processor time, so the
recording may share the machine with the learner.

    python benchmarks/learner_side.py                        # Connect Four with quick, two and a half minutes
    python benchmarks/learner_side.py "hex(board_size=11)" --record 300 --seconds 60
    python benchmarks/learner_side.py "hex(board_size=11)" --record 600 --seconds 120 -- --preset table_4
"""

from __future__ import annotations

import bisect
import contextlib
import dataclasses
import math
import pickle
import statistics
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.cli.settings import to_fit
from athenan_spiel.config import TrainingConfig
from athenan_spiel.games import load_game
from athenan_spiel.measuring.trainings import with_workers
from athenan_spiel.search.proven_states import ResolvedStates
from athenan_spiel.system.processes import spawn_context, start_process
from athenan_spiel.system.ray_transport import TURN_SECONDS
from athenan_spiel.system.stopping import SIGNALS
from athenan_spiel.training.actor import MatchRecord
from athenan_spiel.training.actors import ActorPool
from athenan_spiel.training.actors.messages import ActorState, GamePlayed, Proofs
from athenan_spiel.training.actors.pool import Arrival, PooledActor
from athenan_spiel.training.actors.ray import PUT_SECONDS
from athenan_spiel.training.actors.shared_weights import SharedWeights
from athenan_spiel.training.checkpoints import Counters
from athenan_spiel.training.events import Event, LearningFinished, MatchFinished, RoundFinished
from athenan_spiel.training.fitting import fit_to, measure
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.model import Weights
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.session import Session
from common import make_parser, parse_with_options
from trainings import run_session, settings_of

ACTORS = (1, 2, 4, 8, 16, 32, 64, 128)
QUARTERS = 4


class Timed(LearnerSide):
    """A learner that stores the records it learns, and the time of each learning phase."""

    def __init__(self, game: pyspiel.Game, config: TrainingConfig) -> None:
        super().__init__(plan_run(game, config))
        self.records: list[MatchRecord] = []
        self.keeps_records = True
        self.seconds: list[float] = []

    def learn(self, record: MatchRecord, on_batch: Callable[[], None]) -> tuple[MatchFinished, LearningFinished]:
        """Measures the time."""
        start = time.perf_counter()
        found = super().learn(record, on_batch)
        self.seconds.append(time.perf_counter() - start)
        if self.keeps_records:
            self.records.append(record)
        return found

    def fill(self) -> None:
        """Fills the replay with the records, repeatedly."""
        number, before = 0, -1
        while self.replay.states() > before:
            before = self.replay.states()
            self.replay.add(self.augmentation(self.records[number % len(self.records)].targets))
            number += 1


@dataclass(frozen=True)
class Recorded:
    """Recording of an actor.

    Attributes:
        records: its games.
        valued: evaluations per second of processor time.
    """

    records: list[MatchRecord]
    valued: float

    def mean(self, of: Callable[[MatchRecord], float]) -> float:
        """Returns the mean over all records."""
        return statistics.fmean(map(of, self.records))

    @property
    def rate(self) -> float:
        """Games per second of an actor with a core of its own."""
        return self.valued / self.mean(lambda record: record.evaluations)


def record(learner: Timed, seconds: float, least: int) -> Recorded:
    """Train with one worker for a minimum time and a minimum number of games."""
    end = time.monotonic() + seconds
    rounds: list[RoundFinished] = []

    def listen(event: Event) -> None:
        if isinstance(event, RoundFinished):
            rounds.append(event)

    def has_enough() -> bool:
        return time.monotonic() > end and len(learner.records) >= least and len(rounds) > 1

    run_session(learner, listen, has_enough)
    counted = rounds[1:]  # the first includes the start of the process
    busy = sum(sum(event.workers_busy or ()) * event.search_seconds for event in counted)
    learner.keeps_records = False
    return Recorded(learner.records, sum(event.evaluations for event in counted) / busy)


@dataclass(frozen=True)
class Delivery:
    """Request to send records.

    Attributes:
        start: start, by `time.monotonic`.
        times: time of each record, in seconds after the start.
        actors: number of actors, which send in turn.
    """

    start: float
    times: NDArray[np.float64]
    actors: int


class Feeder:
    """A process that sends records through the pipes of N actors."""

    def __init__(self, records: Sequence[MatchRecord], most: int) -> None:
        pipes = spawn_context()
        pairs = [pipes.Pipe(duplex=False) for _ in range(most)]
        theirs, self._orders = pipes.Pipe(duplex=False)
        self._ended, said = pipes.Pipe(duplex=False)
        self.reports = [reports for reports, _ in pairs]
        sent = [bytes(ForkingPickler.dumps(GamePlayed(record, 0))) for record in records]
        self.bytes = statistics.fmean(map(len, sent))
        start_process(send_on, theirs, said, [pipe for _, pipe in pairs], sent, daemon=True, blocked_signals=SIGNALS)
        for pipe in (theirs, said, *(pipe for _, pipe in pairs)):
            pipe.close()
        self._ended.recv()  # the process is ready

    def close(self) -> None:
        """Ends the process."""
        self._orders.close()

    def send(self, delivery: Delivery) -> None:
        """Starts to send."""
        self._orders.send(delivery)

    def stop(self) -> None:
        """Stops sending, and discards records that were not received."""
        self._orders.send(None)
        while not self._ended.poll():
            for pipe in wait(self.reports, 0.01):
                assert isinstance(pipe, Connection)
                pipe.recv_bytes()
        self._ended.recv()
        while ready := wait(self.reports, 0.0):
            for pipe in ready:
                assert isinstance(pipe, Connection)
                pipe.recv_bytes()


def send_on(orders: Connection, ended: Connection, pipes: Sequence[Connection], records: Sequence[bytes]) -> None:
    """Sends `records` repeatedly at the requested times until the next message; ends when `orders` is closed."""
    ended.send(None)
    while True:
        try:
            delivery: Delivery = orders.recv()
        except EOFError:
            return
        sent = 0
        while not orders.poll():
            rest = delivery.start + delivery.times[sent] - time.monotonic() if sent < len(delivery.times) else 1.0
            if rest > 0:
                orders.poll(rest)
                continue
            pipes[sent % delivery.actors].send_bytes(records[sent % len(records)])
            sent += 1
        orders.recv()
        ended.send(None)


class Simulated(ActorPool):
    """A pool of N simulated actors. All times are in seconds.

    Attributes:
        actors: number of actors.
        taken: games that the learner has taken from the queue.
        learned, busy: learned games, and the time from taking each to being ready for the next.
        processor: the same in processor time, which other processes don't increase.
        received, receiving: received games, and the time to receive them.
        publishing: times of publishing weights for workers of this machine.
        storing: times of serialising weights for a cluster.
        idle: time in which the learner waited for a game.
        proof_bytes: size of the proofs sent to all actors.
    """

    def __init__(self, feeder: Feeder, actors: int, rate: float, seconds: float, weights: Weights) -> None:
        self._feeder = feeder
        self.actors = actors
        self._pipes = {
            reports: PooledActor(None, number=number) for number, reports in enumerate(feeder.reports[:actors])
        }
        self._shared = SharedWeights.new(actors + 1, weights)
        count = 99 + math.ceil(2 * actors * rate * seconds)  # far more than needed
        self._times = np.cumsum(np.random.default_rng(actors).exponential(1 / (actors * rate), count))
        self._seconds = seconds
        self._start: float | None = None
        self._arrived: deque[Arrival] = deque()
        self._taken_at: float | None = None
        self._is_learned = False
        self._processor_at = 0.0
        self._stored_at = 0.0
        self._lengths: list[tuple[float, int]] = []
        self.taken = self.learned = self.received = self.proof_bytes = 0
        self.busy = self.processor = self.receiving = self.idle = 0.0
        self.publishing: list[float] = []
        self.storing: list[float] = []

    def start(self, seeds: Callable[[int], Sequence[int]], proven: ResolvedStates | None = None) -> None:
        """Starts to send."""
        self._start = time.monotonic()
        self._feeder.send(Delivery(self._start, self._times, self.actors))

    def is_over(self) -> bool:
        """Returns whether the time is over."""
        return self._start is not None and time.monotonic() - self._start > self._seconds

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """Publishes weights in shared memory, and serialises them as often as for a cluster."""
        start = time.perf_counter()
        self._shared.publish(version, weights, progress)
        end = time.perf_counter()
        self.publishing.append(end - start)
        self._is_learned = True
        if end - self._stored_at >= PUT_SECONDS:
            self._stored_at = end
            arrays = {name: tensor.detach().cpu().numpy() for name, tensor in weights.items()}
            pickle.dumps(arrays, protocol=5)
            self.storing.append(time.perf_counter() - end)

    def adapt(self, config: TrainingConfig) -> None:
        """Does nothing, as the games are recorded."""

    def tell_proofs(self, arrays: Mapping[str, NDArray[Any]] | None) -> None:
        """Serialises the proofs for each actor."""
        for _ in range(self.actors):
            self.proof_bytes += len(ForkingPickler.dumps(Proofs(arrays)))

    def next(self, seconds: float) -> Arrival | None:
        """Returns the next game, or None if none arrives within `seconds`."""
        now = time.perf_counter()
        if self._taken_at is not None and self._is_learned:
            self.learned += 1
            self.busy += now - self._taken_at
            self.processor += time.process_time() - self._processor_at
        self._taken_at = None
        if self._start is not None:
            passed = time.monotonic() - self._start
            due = int(np.searchsorted(self._times, passed))
            self._lengths.append((passed, due - self.taken))
        if not self._arrived:
            self.listen(seconds)
        if not self._arrived:
            return None
        self.taken += 1
        self._taken_at, self._is_learned = time.perf_counter(), False
        self._processor_at = time.process_time()
        return self._arrived.popleft()

    def listen(self, seconds: float) -> None:
        """Receives the games that have arrived."""
        start = time.perf_counter()
        ready = wait(list(self._pipes), seconds)
        began = time.perf_counter()
        self.idle += began - start
        for pipe in ready:
            assert isinstance(pipe, Connection)
            played: GamePlayed = pipe.recv()
            self._arrived.append(Arrival(self._pipes[pipe], dataclasses.replace(played, version=self._shared.version)))
        self.received += len(ready)
        self.receiving += time.perf_counter() - began

    def count_learned(self, arrival: Arrival) -> None:
        """Does nothing, as these actors need no seeds."""

    def lagging(self, version: int) -> bool:
        """Returns whether an actor is alive; all have the newest weights."""
        return any(state.alive for state in self.states())

    def states(self) -> list[ActorState]:
        """Returns the counters, which stay 0."""
        return [self._shared.state(number) for number in range(self.actors)]

    def each(self) -> list[ActorState]:
        """Returns the counters."""
        return self.states()

    def inference(self) -> None:
        """Does nothing, as there is no shared inference."""

    @property
    def queued(self) -> int:
        """Number of received games that are not learned."""
        return len(self._arrived)

    @property
    def outstanding(self) -> int:
        """0, as the records are repeated endlessly."""
        return 0

    @property
    def losses(self) -> int:
        """0, as no actor is lost."""
        return 0

    def close(self) -> None:
        """Stops sending."""
        self._feeder.stop()
        self._shared.close()

    def queue_after(self, seconds: float) -> int:
        """Returns the number of games that were due by then and that the learner had not taken."""
        at = bisect.bisect_right(self._lengths, (seconds, math.inf)) - 1
        return self._lengths[max(at, 0)][1]


@dataclass(frozen=True)
class Cost:
    """The learner's time per game, in seconds.

    Attributes:
        receive: reading the pipe.
        store: adding to the replay, with the copies for a rollback, and sampling the phase.
        steps: unpacking and learning minibatches.
        publish: writing weights to shared memory.
        tell: events, including files.
    """

    receive: float
    store: float
    steps: float
    publish: float
    tell: float

    @property
    def total(self) -> float:
        """Sum of all parts."""
        return self.receive + self.store + self.steps + self.publish + self.tell


def simulated(learner: Timed, feeder: Feeder, actors: int, rate: float, seconds: float) -> tuple[Simulated, Cost]:
    """Runs the learner on the records of N actors for `seconds`."""
    simulation = Simulated(feeder, actors, rate, seconds, learner.published().weights)

    class SimulatedSession(Session):
        """A session with the simulated actors."""

        def _new_pool(self) -> ActorPool:
            return simulation

    learner.seconds.clear()
    steps: list[float] = []

    def listen(event: Event) -> None:
        if isinstance(event, LearningFinished):
            steps.append(event.learning_seconds)

    learner.counters = Counters()  # those of a new run
    run_session(learner, listen, simulation.is_over, SimulatedSession)
    learned = simulation.learned  # the lists may have one entry more
    spent = [sum(part[:learned]) for part in (learner.seconds, steps, simulation.publishing[1:])]
    cost = Cost(
        receive=simulation.receiving / max(1, simulation.received),
        store=(spent[0] - spent[1]) / max(1, learned),
        steps=spent[1] / max(1, learned),
        publish=spent[2] / max(1, learned),
        tell=(simulation.busy - spent[0] - spent[2]) / max(1, learned),
    )
    return simulation, cost


def main() -> None:
    """Records, simulates, and prints the results."""
    parser = make_parser(__doc__)
    parser.add_argument("game", nargs="?", default="connect_four", help="OpenSpiel game string")
    parser.add_argument("--actors", nargs="+", type=int, default=ACTORS, help="simulated numbers of actors")
    parser.add_argument("--seconds", type=float, default=10.0, help="time of each simulation (default 10)")
    parser.add_argument("--record", type=float, default=60.0, help="seconds of the recorded training (default 60)")
    parser.add_argument("--matches", type=int, default=5, help="minimum number of recorded games (default 5)")
    arguments, options = parse_with_options(parser)
    game, config = settings(arguments.game, options)
    learner = Timed(game, config)
    recorded = record(learner, arguments.record, arguments.matches)
    learner.fill()
    feeder = Feeder(recorded.records, max(arguments.actors))
    with contextlib.closing(feeder):
        describe(learner, recorded, feeder)
        moments = [arguments.seconds * (i + 1) / QUARTERS for i in range(QUARTERS)]
        print(f"{'':9}{'games per second':>18}  learner  queue after")
        print(
            f"{'actors':>9}{'sent':>9}{'learned':>9}{'busy':>9}  {'  '.join(f'{moment:6.1f} s' for moment in moments)}"
        )
        found: list[tuple[Simulated, Cost]] = []
        for actors in arguments.actors:
            simulation, cost = simulated(learner, feeder, actors, recorded.rate, arguments.seconds)
            found.append((simulation, cost))
            queue = "  ".join(f"{simulation.queue_after(moment):8d}" for moment in moments)
            busy = 1 - min(1.0, simulation.idle / arguments.seconds)
            learned = simulation.learned / arguments.seconds
            print(f"{actors:9}{actors * recorded.rate:9.2f}{learned:9.2f}{busy:9.0%}  {queue}", flush=True)
    conclude(learner, recorded, feeder, [each for each in found if each[0].learned], arguments.actors)


def settings(name: str, words: Sequence[str]) -> tuple[pyspiel.Game, TrainingConfig]:
    """Returns a game and the settings of a training with one worker, fitted to the game."""
    config, game = settings_of("learner_side.py", name, words), load_game(name)
    game, config, choice = fit_to(game, config, measure(game), to_fit(words, name))
    print(f"{game}: {choice or 'settings unchanged'}")
    engine = dataclasses.replace(config.engine, threads=config.engine.threads or 1)
    return game, with_workers(dataclasses.replace(config, engine=engine), 1)


def describe(learner: Timed, recorded: Recorded, feeder: Feeder) -> None:
    """Prints the recording."""
    learned = recorded.mean(lambda record: len(record.targets))
    weights = sum(tensor.nbytes for tensor in learner.published().weights.values())
    print(
        f"an actor: {recorded.valued:,.0f} evaluations per second, {recorded.mean(lambda r: r.evaluations):,.0f} per "
        f"game of {recorded.mean(lambda r: r.length):.1f} moves: {recorded.rate:.3f} games per second, "
        f"{recorded.rate * learned:,.0f} training samples ({len(recorded.records)} recorded games)"
    )
    print(f"a record: {feeder.bytes:,.0f} bytes, {feeder.bytes / learned:.1f} per sample of {learned:,.0f}")
    print(
        f"the learner: {weights:,} bytes of weights; a replay of {learner.replay.states():,} states, "
        f"{learner.replay.nbytes / 1e6:.1f} MB"
    )


def conclude(
    learner: Timed,
    recorded: Recorded,
    feeder: Feeder,
    found: Sequence[tuple[Simulated, Cost]],
    actors: Sequence[int],
) -> None:
    """Prints the learner's time per game, and the conclusions."""
    if not found:
        print("no game was learned: increase --seconds")
        return
    total = sum(simulation.learned for simulation, _ in found)
    names = [field.name for field in dataclasses.fields(Cost)]
    cost = Cost(*(sum(s.learned * getattr(c, name) for s, c in found) / total for name in names))
    parts = ", ".join(f"{name} {1000 * getattr(cost, name):.2f}" for name in names)
    processor = 1000 * sum(simulation.processor for simulation, _ in found) / total
    print(f"the learner's time per game: {1000 * cost.total:.2f} ms: {parts} (processor time {processor:.2f} ms)")
    most = max(names, key=lambda name: float(getattr(cost, name)))
    keeps_up = 1 / cost.total / recorded.rate
    print(
        f"so it learns at most {1 / cost.total:.2f} games per second, those of {keeps_up:.1f} actors; "
        f"{most} is the largest part, {getattr(cost, most) / cost.total:.0%}"
    )
    others = [name for name in names if name != most]
    rest = sum(getattr(cost, name) for name in others)
    print(f"without {most} it would keep up with {1 / rest / recorded.rate:,.0f}: {', '.join(others)}")
    print(f"records of {keeps_up:.1f} actors: {feeder.bytes / cost.total / 1e6:.2f} MB per second")
    weights = sum(tensor.nbytes for tensor in learner.published().weights.values())
    storing = [seconds for simulation, _ in found for seconds in simulation.storing]
    if storing:
        print(f"weights for a cluster: serialised in {1000 * statistics.median(storing):.2f} ms")
    for count in actors:
        versions = min(count * recorded.rate, 1 / cost.total, 1 / PUT_SECONDS, 1 / TURN_SECONDS)
        each = versions * weights / 1e6
        print(
            f"  {count:4} actors receive {versions:.1f} versions per second each: {each:.2f} MB per second, "
            f"{count * each:.2f} in total if each is on its own node"
        )
    if any(simulation.proof_bytes for simulation, _ in found):
        sent = statistics.fmean(s.proof_bytes / s.learned / s.actors for s, _ in found)
        print(f"  proofs: {sent:,.0f} bytes per game and actor")


if __name__ == "__main__":
    main()
