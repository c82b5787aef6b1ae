"""Longest pause of actors while a checkpoint with a replay of a million states of Hex 11 x 11 is written.

Trains twice with two workers: with checkpoints, and without checkpoints during play. The replay is filled with random
states, and each phase learns few of them, so that the learner isn't the bottleneck. A thread reads from shared memory
how long each actor has waited for the learner. Waiting times without an evaluation in between are one pause. Prints the
longest pause during the writing of a checkpoint and the longest of the others, and the same for the time in which no
game was learned. An actor waits only after the end of a game, so games are short here (`--evaluations` per move).

    python benchmarks/checkpoint_pause.py                          # about four minutes
    python benchmarks/checkpoint_pause.py --evaluations 2000       # games take ten times as long
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import pyspiel

from athenan_spiel.config import ReplayConfig, TrainingConfig
from athenan_spiel.config.settings import LONGEST
from athenan_spiel.encoding import Encoder
from athenan_spiel.games import load_game
from athenan_spiel.learning import Targets
from athenan_spiel.measuring.subject import random_targets
from athenan_spiel.measuring.trainings import with_workers
from athenan_spiel.training.actors import ActorPool
from athenan_spiel.training.actors.messages import difference
from athenan_spiel.training.events import CheckpointWritten, Event, MatchFinished
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.presets import QUICK
from athenan_spiel.training.session import Session
from common import make_parser
from trainings import run_session

DISTINCT_STATES = 50_000
"""Number of random states; a larger replay repeats them, which makes no difference in a file."""
POLL_SECONDS = 0.003
"""Time between two reads of the shared memory, in seconds."""
SLACK_SECONDS = 1.5
"""Pauses within this time of a writing count as its effect: the end of a writing is reported between two rounds, which
last a second, and an actor reports its pause when it continues."""
PHASE_STATES = 1000
"""Number of states per learning phase."""


@dataclass
class Pause:
    """A pause from `start` to `end`, by `time.monotonic`, with the seconds of waiting in it."""

    start: float
    end: float
    seconds: float


class Watch:
    """Observes the actors and the events of a training for some seconds.

    Attributes:
        pauses: pauses of all actors.
        writings: start and report of each checkpoint.
        taken: seconds that each checkpoint took.
        learned: time at which each game was learned.
        bytes: size of the last checkpoint.
    """

    def __init__(self, seconds: float) -> None:
        self.pauses: list[Pause] = []
        self.writings: list[tuple[float, float]] = []
        self.taken: list[float] = []
        self.learned: list[float] = []
        self.bytes = 0
        self._seconds = seconds
        self._start: float | None = None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, event: Event) -> None:
        """Records an event."""
        if isinstance(event, CheckpointWritten):
            end = time.monotonic()
            self.bytes = event.bytes
            self.taken.append(event.writing_seconds)
            self.writings.append((end - event.writing_seconds, end))
        elif isinstance(event, MatchFinished):
            self._start = self._start or time.monotonic()
            self.learned.append(time.monotonic())

    def follow(self, actors: ActorPool) -> None:
        """Starts to observe these actors."""
        self._thread = threading.Thread(target=self._watch, args=(actors,), daemon=True)
        self._thread.start()

    def is_over(self) -> bool:
        """Returns whether the time since the first game is over, and then stops observing."""
        if self._start is None or time.monotonic() - self._start < self._seconds:
            return False
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        return True

    def longest(self, *, writing: bool) -> float:
        """Returns the longest pause of an actor with a checkpoint in it, or without one."""
        return self._longest(self.pauses, writing)

    def longest_of_learner(self, *, writing: bool) -> float:
        """Returns the longest time between two learned games with a checkpoint in it, or without one."""
        times = [Pause(start, end, end - start) for start, end in itertools.pairwise(self.learned)]
        return self._longest(times, writing)

    def _longest(self, pauses: Sequence[Pause], writing: bool) -> float:
        return max((pause.seconds for pause in pauses if self._is_during_writing(pause) == writing), default=0.0)

    def _is_during_writing(self, pause: Pause) -> bool:
        slack = SLACK_SECONDS
        return any(pause.start < end + slack and pause.end > start - slack for start, end in self.writings)

    def _watch(self, actors: ActorPool) -> None:
        with contextlib.suppress(AttributeError):  # the memory is freed if a signal ended the training
            self._follow(actors)

    def _follow(self, actors: ActorPool) -> None:
        before = actors.each()
        last: list[Pause | None] = [None] * len(before)
        while not self._over.wait(POLL_SECONDS):
            now, states = time.monotonic(), actors.each()
            for number, (state, old) in enumerate(zip(states, before, strict=True)):
                told, pause = difference(state, old), last[number]
                if told.waited > 0 and pause is not None and told.evaluations == 0:
                    pause.end, pause.seconds = now, pause.seconds + told.waited
                elif told.waited > 0:
                    last[number] = pause = Pause(now - told.waited, now, told.waited)
                    self.pauses.append(pause)
                elif told.evaluations > 0:
                    last[number] = None
            before = states


def trained(game: pyspiel.Game, config: TrainingConfig, targets: Targets, states: int, seconds: float) -> Watch:
    """Trains for some seconds with a full replay."""
    learner, watch = LearnerSide(plan_run(game, config)), Watch(seconds)
    while learner.replay.states() < states:
        learner.replay.add(targets)

    class Watched(Session):
        """A session whose actors are observed."""

        def _new_pool(self) -> ActorPool:
            actors = super()._new_pool()
            watch.follow(actors)
            return actors

    run_session(learner, watch, watch.is_over, Watched)
    return watch


def main() -> None:
    """Trains twice, and prints the pauses."""
    parser = make_parser(__doc__)
    parser.add_argument("--game", default="hex(board_size=11)", help="OpenSpiel game string")
    parser.add_argument("--states", type=int, default=1_000_000, help="states in the replay (default 1000000)")
    parser.add_argument("--seconds", type=float, default=90.0, help="time of each training (default 90)")
    parser.add_argument("--spacing", type=float, default=5.0, help="minimum time between checkpoints (default 5)")
    parser.add_argument("--workers", type=int, default=2, help="number of workers (default 2)")
    parser.add_argument("--evaluations", type=int, default=200, help="evaluations per move (default 200)")
    arguments = parser.parse_args()
    game = load_game(arguments.game)
    config = settings(game, arguments.workers, arguments.states, arguments.evaluations)
    distinct, rng = min(DISTINCT_STATES, arguments.states), random.Random(0)
    targets = random_targets(game, Encoder(game), rng, lambda count: count < distinct)
    for name, spacing in (("with checkpoints", arguments.spacing), ("without", float(LONGEST))):
        spaced = dataclasses.replace(config, checkpoint_seconds=spacing)
        watch = trained(game, spaced, targets, arguments.states, arguments.seconds)
        print(f"{name}: {len(watch.learned) / arguments.seconds:.1f} games per second; {pauses(watch, writing=False)}")
        for seconds in watch.taken[1:-1]:  # the first and the last are written before and after play
            print(f"  a checkpoint of {watch.bytes / 1e6:.0f} MB, written in {seconds:.2f} s")
        if watch.taken[1:-1]:
            print(f"  during a writing: {pauses(watch, writing=True)}", flush=True)


def pauses(watch: Watch, *, writing: bool) -> str:
    """Returns the longest pauses as text."""
    of_actor, of_learner = watch.longest(writing=writing), watch.longest_of_learner(writing=writing)
    return f"longest pause of an actor {of_actor:.3f} s, longest time without learning {of_learner:.2f} s"


def settings(game: pyspiel.Game, workers: int, states: int, evaluations: int) -> TrainingConfig:
    """Returns the preset `quick` with a large replay, of which a phase learns few states."""
    longest = max(1, evaluations // game.num_distinct_actions())  # a descent to the end of the game would exceed it
    search = dataclasses.replace(QUICK.search, evaluations=evaluations, longest_descent=longest)
    replay = ReplayConfig(method="plain", states=states, sampling=min(1.0, PHASE_STATES / states), megabytes=1e4)
    return with_workers(dataclasses.replace(QUICK, search=search, replay=replay), workers)


if __name__ == "__main__":
    main()
