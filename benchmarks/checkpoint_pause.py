"""How long actors stand still while a checkpoint is written whose replay holds a million states of Hex 11 x 11.

Trains with two workers, twice: with checkpoints, and without any while they play. The replay is filled with random
states before, and each phase learns few of them, so that the learner has time. A thread reads shared memory, where each
actor tells how long it has waited for the learner in all. What an actor waited without valuing a state in between is
one pause, and that is the same whenever it is looked at. Printed is the longest pause that falls into the writing of a
checkpoint, and the longest of all others; and likewise the longest time in which no match was learned. An actor none of
whose matches ends meanwhile waits for nobody, so matches are short here (`--evaluations` a move).

    python benchmarks/checkpoint_pause.py                          # some four minutes
    python benchmarks/checkpoint_pause.py --evaluations 2000       # matches that take ten times as long
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import random
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspiel

from athenan_spiel.config import ReplayConfig, TrainingConfig
from athenan_spiel.config.settings import LONGEST
from athenan_spiel.encoding import Encoder
from athenan_spiel.games import load_game
from athenan_spiel.learning import Targets
from athenan_spiel.measuring.subject import random_targets
from athenan_spiel.measuring.trainings import with_workers
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.training.actor import Actor
from athenan_spiel.training.actors import ActorPool
from athenan_spiel.training.actors.messages import difference
from athenan_spiel.training.events import CheckpointWritten, Event, MatchFinished
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.presets import QUICK
from athenan_spiel.training.run_folder import RunFolder
from athenan_spiel.training.session import Session

PIECE = 50_000
"""Random states that are made; a larger replay holds them again and again, which makes no difference in a file."""
LOOK_SECONDS = 0.003
"""Time between two reads of the shared memory, in seconds."""
SLACK_SECONDS = 1.5
"""A pause so long before or after may still be the writing's doing: it is told between two rounds, which last a second,
and an actor tells of its pause when it plays on."""
LEARNED = 1000
"""States of a learning phase."""


@dataclass
class Pause:
    """Of an actor: from when to when, as `time.monotonic` says, and how much of that it waited."""

    start: float
    end: float
    seconds: float


class Watch:
    """Looks at the actors of a training until the time is over, and listens to what the training tells.

    Attributes:
        pauses: of all actors.
        writings: when each checkpoint was begun and told.
        taken: the seconds of each.
        learned: when each match was.
        bytes: of the last checkpoint.
    """

    def __init__(self, seconds: float) -> None:
        self.pauses: list[Pause] = []
        self.writings: list[tuple[float, float]] = []
        self.taken: list[float] = []
        self.learned: list[float] = []
        self.bytes = 0
        self._seconds = seconds
        self._begun: float | None = None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __call__(self, event: Event) -> None:
        """Listen."""
        if isinstance(event, CheckpointWritten):
            end = time.monotonic()
            self.bytes = event.bytes
            self.taken.append(event.writing_seconds)
            self.writings.append((end - event.writing_seconds, end))
        elif isinstance(event, MatchFinished):
            self._begun = self._begun or time.monotonic()
            self.learned.append(time.monotonic())

    def follow(self, actors: ActorPool) -> None:
        """Look at these from now on."""
        self._thread = threading.Thread(target=self._look, args=(actors,), daemon=True)
        self._thread.start()

    def is_over(self) -> bool:
        """Whether the time is over, which begins with the first match; then nothing is looked at any more."""
        if self._begun is None or time.monotonic() - self._begun < self._seconds:
            return False
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        return True

    def longest(self, *, writing: bool) -> float:
        """The longest pause of an actor that a checkpoint was written in, or that none was."""
        return self._longest(self.pauses, writing)

    def longest_of_learner(self, *, writing: bool) -> float:
        """The longest time between two matches that were learned, in which a checkpoint was written, or none."""
        times = [Pause(start, end, end - start) for start, end in itertools.pairwise(self.learned)]
        return self._longest(times, writing)

    def _longest(self, pauses: Sequence[Pause], writing: bool) -> float:
        return max((pause.seconds for pause in pauses if self._is_of_a_writing(pause) == writing), default=0.0)

    def _is_of_a_writing(self, pause: Pause) -> bool:
        slack = SLACK_SECONDS
        return any(pause.start < end + slack and pause.end > start - slack for start, end in self.writings)

    def _look(self, actors: ActorPool) -> None:
        with contextlib.suppress(AttributeError):  # the memory is freed if a signal has ended the training
            self._follow(actors)

    def _follow(self, actors: ActorPool) -> None:
        before = actors.each()
        last: list[Pause | None] = [None] * len(before)
        while not self._over.wait(LOOK_SECONDS):
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
    """Train for so long with a full replay; what was seen."""
    learner, watch = LearnerSide(plan_run(game, config)), Watch(seconds)
    while learner.replay.states() < states:
        learner.replay.add(targets)
    actor = Actor(game, config, learner.outcome)

    class Watched(Session):
        """A session whose actors are looked at."""

        def _pool(self) -> ActorPool:
            actors = super()._pool()
            watch.follow(actors)
            return actors

    with tempfile.TemporaryDirectory(prefix="athenan-") as place, StopRequests() as stops:
        folder = RunFolder(Path(place) / "run")
        with folder.locked():
            folder.write_settings(str(game), config)
            Watched(folder, learner, actor, None, [watch], watch.is_over).run()
    if stops.requested:
        raise KeyboardInterrupt
    return watch


def main() -> None:
    """Fill, train twice, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="hex(board_size=11)", help="an OpenSpiel game string")
    parser.add_argument("--states", type=int, default=1_000_000, help="in the replay (default 1000000)")
    parser.add_argument("--seconds", type=float, default=90.0, help="of each training (default 90)")
    parser.add_argument("--spacing", type=float, default=5.0, help="seconds between checkpoints, at least (default 5)")
    parser.add_argument("--workers", type=int, default=2, help="that play (default 2)")
    parser.add_argument("--evaluations", type=int, default=200, help="states valued a move, about (default 200)")
    arguments = parser.parse_args()
    game = load_game(arguments.game)
    config = settings(game, arguments.workers, arguments.states, arguments.evaluations)
    piece, rng = min(PIECE, arguments.states), random.Random(0)
    targets = random_targets(game, Encoder(game), rng, lambda count: count < piece)
    for name, spacing in (("with checkpoints", arguments.spacing), ("without", float(LONGEST))):
        spaced = dataclasses.replace(config, checkpoint_seconds=spacing)
        watch = trained(game, spaced, targets, arguments.states, arguments.seconds)
        print(f"{name}: {len(watch.learned) / arguments.seconds:.1f} matches a second; {pauses(watch, writing=False)}")
        for seconds in watch.taken[1:-1]:  # the first and the last are written while nobody plays
            print(f"  a checkpoint of {watch.bytes / 1e6:.0f} MB, written in {seconds:.2f} s")
        if watch.taken[1:-1]:
            print(f"  while one was written: {pauses(watch, writing=True)}", flush=True)


def pauses(watch: Watch, *, writing: bool) -> str:
    """The longest ones in words."""
    of_actor, of_learner = watch.longest(writing=writing), watch.longest_of_learner(writing=writing)
    return f"longest pause of an actor {of_actor:.3f} s, longest time without learning {of_learner:.2f} s"


def settings(game: pyspiel.Game, workers: int, states: int, evaluations: int) -> TrainingConfig:
    """Those of quick, with a replay of so many states of which few are learned at a time."""
    longest = max(1, evaluations // game.num_distinct_actions())  # as an iteration to the end of the match is far more
    search = dataclasses.replace(QUICK.search, evaluations=evaluations, longest_descent=longest)
    replay = ReplayConfig(method="plain", states=states, sampling=min(1.0, LEARNED / states), megabytes=1e4)
    return with_workers(dataclasses.replace(QUICK, search=search, replay=replay), workers)


if __name__ == "__main__":
    main()
