"""How many actors one learner keeps up with.

A training with one worker is recorded: its match records, and how many an actor sends a second. Then another process
sends them repeatedly to the learner of a training, as N actors would: each has its pipe, and counters in shared
memory, and records arrive at random moments, at their rate. The learner receives each, goes through its
learning phase, publishes the weights and writes its metrics, as in any training with workers (`Session`). It
writes one checkpoint, at the start. Its replay is full from the start. Printed are

- the length of the queue over time for each number of actors: it grows where the learner does not keep up. In a
  training actors would wait then, as `workers.max_staleness` bounds the queue;
- what a match costs the learner, part by part, and how many actors it keeps up with by that: a learning phase
  follows each match, so that is one actor's time for a match divided by the learner's;
- the bytes of a record, and those of the weights that actors on a Ray cluster take.

An actor has a core of its own (`engine.threads` is 1 if nothing else is said): its rate is that of its processor time,
so the recording may share the machine with the learner.

    python benchmarks/learner_side.py                        # Connect Four with quick, two and a half minutes
    python benchmarks/learner_side.py "hex(board_size=11)" --record 300 --seconds 60
    python benchmarks/learner_side.py "hex(board_size=11)" --record 600 --seconds 120 -- --preset table_4
"""

from __future__ import annotations

import argparse
import bisect
import contextlib
import dataclasses
import math
import pickle
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.cli.bench import BenchArguments
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.settings import settings_to_start_from, to_fit
from athenan_spiel.config import TrainingConfig
from athenan_spiel.games import load_game
from athenan_spiel.measuring.trainings import with_workers
from athenan_spiel.search.proven_states import ResolvedStates
from athenan_spiel.system.processes import begin, context
from athenan_spiel.system.ray_transport import TURN_SECONDS
from athenan_spiel.system.stopping import SIGNALS, StopRequests
from athenan_spiel.training.actor import Actor, MatchRecord
from athenan_spiel.training.actors import ActorPool
from athenan_spiel.training.actors.messages import ActorState, Played, Proofs
from athenan_spiel.training.actors.pool import Arrival, PooledActor
from athenan_spiel.training.actors.ray import PUT_SECONDS
from athenan_spiel.training.actors.shared_weights import SharedWeights
from athenan_spiel.training.checkpoints import Counters
from athenan_spiel.training.events import Event, LearningFinished, MatchFinished, RoundFinished
from athenan_spiel.training.fitting import fit_to, measure
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.model import Weights
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.run_folder import RunFolder
from athenan_spiel.training.session import Session

ACTORS = (1, 2, 4, 8, 16, 32, 64, 128)
QUARTERS = 4


class Timed(LearnerSide):
    """A learner that keeps the records that it learns, and how long that takes."""

    def __init__(self, game: pyspiel.Game, config: TrainingConfig) -> None:
        super().__init__(plan_run(game, config))
        self.records: list[MatchRecord] = []
        self.keeps_records = True
        self.seconds: list[float] = []

    def learn(self, record: MatchRecord, on_batch: Callable[[], None]) -> tuple[MatchFinished, LearningFinished]:
        """As ever."""
        start = time.perf_counter()
        found = super().learn(record, on_batch)
        self.seconds.append(time.perf_counter() - start)
        if self.keeps_records:
            self.records.append(record)
        return found

    def fill(self) -> None:
        """Let the replay be full, of records again and again."""
        number, before = 0, -1
        while self.replay.states() > before:
            before = self.replay.states()
            self.replay.add(self.augmentation(self.records[number % len(self.records)].targets))
            number += 1


@dataclass(frozen=True)
class Recorded:
    """What an actor was seen to do.

    Attributes:
        records: of its matches.
        valued: states that it values in a second of its processor's time.
    """

    records: list[MatchRecord]
    valued: float

    def mean(self, of: Callable[[MatchRecord], float]) -> float:
        """The mean over all records."""
        return statistics.fmean(map(of, self.records))

    @property
    def rate(self) -> float:
        """Matches that an actor with a core of its own sends a second."""
        return self.valued / self.mean(lambda record: record.evaluations)


def trained(learner: LearnerSide, session: Callable[..., Session], callback: Any, stop: Callable[[], bool]) -> None:
    """Run a session of a training in a folder that is removed, until it is to stop."""
    learner.counters = Counters()  # as of a new run
    actor = Actor(learner.game, learner.config, learner.outcome)
    with tempfile.TemporaryDirectory(prefix="athenan-") as place, StopRequests() as stops:
        folder = RunFolder(Path(place) / "run")
        with folder.locked():
            folder.write_settings(str(learner.game), learner.config)
            session(folder, learner, actor, None, [callback], stop).run()
    if stops.requested:
        raise KeyboardInterrupt


def record(learner: Timed, seconds: float, least: int) -> Recorded:
    """Train with one worker for a minimum time and a minimum number of games."""
    end = time.monotonic() + seconds
    rounds: list[RoundFinished] = []

    def listen(event: Event) -> None:
        if isinstance(event, RoundFinished):
            rounds.append(event)

    def has_enough() -> bool:
        return time.monotonic() > end and len(learner.records) >= least and len(rounds) > 1

    trained(learner, Session, listen, has_enough)
    counted = rounds[1:]  # the first includes the start of the process
    busy = sum(sum(event.workers_busy or ()) * event.search_seconds for event in counted)
    learner.keeps_records = False
    return Recorded(learner.records, sum(event.evaluations for event in counted) / busy)


@dataclass(frozen=True)
class Delivery:
    """An order to send records.

    Attributes:
        start: as `time.monotonic` says.
        times: when each is sent, in seconds after that.
        actors: by which in turn.
    """

    start: float
    times: NDArray[np.float64]
    actors: int


class Feeder:
    """A process that sends records through the pipes of N actors."""

    def __init__(self, records: Sequence[MatchRecord], most: int) -> None:
        pipes = context()
        pairs = [pipes.Pipe(duplex=False) for _ in range(most)]
        theirs, self._orders = pipes.Pipe(duplex=False)
        self._ended, said = pipes.Pipe(duplex=False)
        self.reports = [reports for reports, _ in pairs]
        sent = [bytes(ForkingPickler.dumps(Played(record, 0))) for record in records]
        self.bytes = statistics.fmean(map(len, sent))
        begin(send_on, theirs, said, [pipe for _, pipe in pairs], sent, daemon=True, deaf_to=SIGNALS)
        for pipe in (theirs, said, *(pipe for _, pipe in pairs)):
            pipe.close()
        self._ended.recv()  # it has begun

    def close(self) -> None:
        """Let the process end."""
        self._orders.close()

    def send(self, delivery: Delivery) -> None:
        """Begin to send."""
        self._orders.send(delivery)

    def stop(self) -> None:
        """Send no more, and drop what was not received."""
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
    """Send `records` again and again at the times that are ordered, until the next order; end with who orders."""
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
    """A pool of N simulated actors, as the learner sees it.

    Attributes:
        actors: how many.
        taken: matches that the learner has taken from the queue.
        learned, busy: those that it has learned, and its seconds for them from taking to being ready for the next.
        processor: the same of the processor's time, which no other process makes longer.
        received, receiving: those that have come, and the seconds to receive them.
        publishing: seconds of each time that weights were published for workers of this machine.
        storing: the same of what a cluster's store is given.
        idle: seconds in which the learner waited for a match.
        proof_bytes: of proofs that were sent to all.
    """

    def __init__(self, feeder: Feeder, actors: int, rate: float, seconds: float, weights: Weights) -> None:
        self._feeder = feeder
        self.actors = actors
        self._pipes = {reports: PooledActor(number, None) for number, reports in enumerate(feeder.reports[:actors])}
        self._shared = SharedWeights.new(actors + 1, weights)
        count = 99 + math.ceil(2 * actors * rate * seconds)  # far more than there is time for
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
        """Begin to send."""
        self._start = time.monotonic()
        self._feeder.send(Delivery(self._start, self._times, self.actors))

    def is_over(self) -> bool:
        """Whether it has lasted as long as it should."""
        return self._start is not None and time.monotonic() - self._start > self._seconds

    def publish(self, version: int, weights: Weights, progress: float) -> None:
        """Publishes them in shared memory, and serialises them as often as they would be put into a cluster's store."""
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
        """Nothing, as the games are recorded."""

    def tell_proofs(self, arrays: Mapping[str, NDArray[Any]] | None) -> None:
        """Serialise them for each actor."""
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
        """Take in what has come."""
        start = time.perf_counter()
        ready = wait(list(self._pipes), seconds)
        began = time.perf_counter()
        self.idle += began - start
        for pipe in ready:
            assert isinstance(pipe, Connection)
            played: Played = pipe.recv()
            self._arrived.append(Arrival(self._pipes[pipe], dataclasses.replace(played, version=self._shared.version)))
        self.received += len(ready)
        self.receiving += time.perf_counter() - began

    def count_learned(self, arrival: Arrival) -> None:
        """Nothing: these need no seeds."""

    def lagging(self, version: int) -> bool:
        """No: these have the newest weights at any time."""
        return any(state.alive for state in self.states())

    def states(self) -> list[ActorState]:
        """They tell nothing."""
        return [self._shared.state(number) for number in range(self.actors)]

    def each(self) -> list[ActorState]:
        """Likewise."""
        return self.states()

    def inference(self) -> None:
        """None: each values its own."""

    @property
    def queued(self) -> int:
        """Matches that have come and are not learned."""
        return len(self._arrived)

    @property
    def outstanding(self) -> int:
        """There is no end to them."""
        return 0

    @property
    def losses(self) -> int:
        """None is lost."""
        return 0

    def close(self) -> None:
        """Send no more."""
        self._feeder.stop()
        self._shared.close()

    def queue_after(self, seconds: float) -> int:
        """The matches that had been sent, or were due, and that the learner had not taken."""
        at = bisect.bisect_right(self._lengths, (seconds, math.inf)) - 1
        return self._lengths[max(at, 0)][1]


@dataclass(frozen=True)
class Cost:
    """What matches cost the learner, in seconds each.

    Attributes:
        receive: taken from the pipe.
        store: into the replay, with the copies by which a phase can be taken back, and the draw of the phase.
        steps: minibatches unpacked and learned.
        publish: writing weights to shared memory.
        tell: events, files among them.
    """

    receive: float
    store: float
    steps: float
    publish: float
    tell: float

    @property
    def total(self) -> float:
        """All together."""
        return self.receive + self.store + self.steps + self.publish + self.tell


def simulated(learner: Timed, feeder: Feeder, actors: int, rate: float, seconds: float) -> tuple[Simulated, Cost]:
    """Runs the learner on the records of N actors for `seconds`."""
    simulation = Simulated(feeder, actors, rate, seconds, learner.published().weights)

    class OfSimulated(Session):
        """A session with these actors."""

        def _pool(self) -> ActorPool:
            return simulation

    learner.seconds.clear()
    steps: list[float] = []

    def listen(event: Event) -> None:
        if isinstance(event, LearningFinished):
            steps.append(event.learning_seconds)

    trained(learner, OfSimulated, listen, simulation.is_over)
    learned = simulation.learned  # after the last of them one more may have been
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
    """Record, simulate, print."""
    usage = "%(prog)s [arguments] [-- settings, as of athenan bench]"
    parser = argparse.ArgumentParser(
        usage=usage, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("game", nargs="?", default="connect_four", help="an OpenSpiel game string")
    parser.add_argument("--actors", nargs="+", type=int, default=ACTORS, help="numbers to simulate")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each (default 10)")
    parser.add_argument("--record", type=float, default=60.0, help="seconds of the recorded training (default 60)")
    parser.add_argument("--matches", type=int, default=5, help="recorded, at least (default 5)")
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments, options = parser.parse_args(sys.argv[1:at]), sys.argv[at + 1 :]
    game, config = settings(arguments.game, options)
    learner = Timed(game, config)
    recorded = record(learner, arguments.record, arguments.matches)
    learner.fill()
    feeder = Feeder(recorded.records, max(arguments.actors))
    with contextlib.closing(feeder):
        describe(learner, recorded, feeder)
        moments = [arguments.seconds * (i + 1) / QUARTERS for i in range(QUARTERS)]
        print(f"{'':9}{'matches a second':>18}  learner  queue after")
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
    """A game and the settings of a training with one worker, as `athenan bench` makes them of such words."""
    start = settings_to_start_from(words)
    config = parse(BenchArguments, [name, *words], "learner_side.py", BenchArguments(settings=start)).settings
    game = load_game(name)
    game, config, choice = fit_to(game, config, measure(game), to_fit(words, name))
    print(f"{game}: {choice or 'settings as they are'}")
    engine = dataclasses.replace(config.engine, threads=config.engine.threads or 1)
    return game, with_workers(dataclasses.replace(config, engine=engine), 1)


def describe(learner: Timed, recorded: Recorded, feeder: Feeder) -> None:
    """Print what is known before anything is simulated."""
    learned = recorded.mean(lambda record: len(record.targets))
    weights = sum(tensor.nbytes for tensor in learner.published().weights.values())
    print(
        f"an actor: {recorded.valued:,.0f} states valued a second, {recorded.mean(lambda r: r.evaluations):,.0f} in "
        f"a match of {recorded.mean(lambda r: r.length):.1f} moves: {recorded.rate:.3f} matches a second, "
        f"{recorded.rate * learned:,.0f} states to learn ({len(recorded.records)} matches recorded)"
    )
    print(f"a record: {feeder.bytes:,.0f} bytes, {feeder.bytes / learned:.1f} for each of {learned:,.0f} states")
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
    """Print what a match costs, and what follows."""
    if not found:
        print("no match was learned: give each number of actors more --seconds")
        return
    total = sum(simulation.learned for simulation, _ in found)
    names = [field.name for field in dataclasses.fields(Cost)]
    cost = Cost(*(sum(s.learned * getattr(c, name) for s, c in found) / total for name in names))
    parts = ", ".join(f"{name} {1000 * getattr(cost, name):.2f}" for name in names)
    processor = 1000 * sum(simulation.processor for simulation, _ in found) / total
    print(f"a match costs the learner {1000 * cost.total:.2f} ms: {parts} (of the processor's time {processor:.2f} ms)")
    most = max(names, key=lambda name: float(getattr(cost, name)))
    keeps_up = 1 / cost.total / recorded.rate
    print(
        f"so it learns {1 / cost.total:.2f} matches a second at most, those of {keeps_up:.1f} actors; "
        f"{most} saturates first, with {getattr(cost, most) / cost.total:.0%} of its time"
    )
    others = [name for name in names if name != most]
    rest = sum(getattr(cost, name) for name in others)
    print(f"without {most} it would keep up with {1 / rest / recorded.rate:,.0f}: {', '.join(others)}")
    print(f"records of {keeps_up:.1f} actors: {feeder.bytes / cost.total / 1e6:.2f} MB a second come in")
    weights = sum(tensor.nbytes for tensor in learner.published().weights.values())
    storing = [seconds for simulation, _ in found for seconds in simulation.storing]
    if storing:
        print(f"weights for a cluster's store: serialised in {1000 * statistics.median(storing):.2f} ms")
    for count in actors:
        versions = min(count * recorded.rate, 1 / cost.total, 1 / PUT_SECONDS, 1 / TURN_SECONDS)
        each = versions * weights / 1e6
        print(
            f"  {count:4} actors take {versions:.1f} versions a second each: {each:.2f} MB a second, "
            f"{count * each:.2f} in all if each is on a node of its own"
        )
    if any(simulation.proof_bytes for simulation, _ in found):
        sent = statistics.fmean(s.proof_bytes / s.learned / s.actors for s, _ in found)
        print(f"  proofs: {sent:,.0f} bytes a match to each actor")


if __name__ == "__main__":
    main()
