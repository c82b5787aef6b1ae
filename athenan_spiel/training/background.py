"""Training in a background process, whose newest network an agent uses while it plays.

1. The process trains by the preset `quick`, fitted to the game and the start clock, perhaps with a smaller
   `max_length`; the agent plays the game as given. The learning rate falls over the start clock, so a good network
   exists at its end.
2. Then it continues without an end: `resume`, with the constant fraction `LATER_RATE` of the first learning rate.
   A full rate would make the next networks worse before it makes them better.
3. The process has a low priority, so that it slows down a search on the same core only a little.
4. It writes checkpoints into a temporary folder, at least `CHECKPOINT_SECONDS` apart. A thread of this process loads
   each new one, so an agent never waits for it.
5. The process ends with `close`, with the last reference to its `BackgroundTraining`, and when this process ends for
   any reason. Either process removes the folder.
6. An error or a kill of the process ends only the training. The last network stays.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import os
import random
import shutil
import signal
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspiel

from athenan_spiel.errors import CheckpointError
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import roll
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.match import reason_of
from athenan_spiel.search import Budget
from athenan_spiel.system.machine import yield_to_others
from athenan_spiel.system.process_transport import ProcessTransport, ProcessWorker
from athenan_spiel.system.processes import unblock_signal
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.system.transport import Lost, Mailbox, MailboxClosedError
from athenan_spiel.training.checkpoints import read_header, read_weights
from athenan_spiel.training.events import Event, MatchFinished, RoundFinished, RoundProgress
from athenan_spiel.training.loading import make_agent
from athenan_spiel.training.loop import resume, train
from athenan_spiel.training.presets import FITTED, preset
from athenan_spiel.training.run_folder import RunFolder

CHECKPOINT_SECONDS = 2.0
"""Minimum time between two checkpoints, in seconds."""
TRAINING_SHARE = 0.95
"""Fraction of the start clock after which the learning rate has fallen; the last checkpoint is written in the rest."""
MIN_TRAINING_SECONDS = 5.0
"""Minimum time over which the learning rate falls, in seconds, if the start clock is shorter."""
LATER_RATE = 0.1
"""Learning rate after the start clock, as a fraction of the preset's."""
LOADING_SHARE = 0.05
"""Maximum fraction of the time after the start clock that loading of networks takes."""
POLL_SECONDS = 0.1
"""Time between two checks for a new checkpoint, in seconds."""
RUN = "run"
"""Name of the run folder in the temporary folder."""


@dataclass(frozen=True)
class TrainingProgress:
    """Progress of a background training.

    Attributes:
        games: number of games learned.
        evaluations: number of evaluations in self-play.
    """

    games: int = 0
    evaluations: int = 0


class BackgroundTraining:
    """Trains a network for a game in a process of its own. `wait` starts it.

    Args:
        game: game to play. The training may use a smaller `max_length`.
        start_seconds: duration of the start clock.
        seed: random seed of the training.
        continues: whether training continues after the start clock.
    """

    def __init__(self, game: pyspiel.Game, start_seconds: float, *, seed: int = 0, continues: bool = True) -> None:
        self._game = game
        self._order = _Order(str(game), start_seconds, seed % 2**63, continues)
        self._follower: _Follower | None = None
        self._has_told_problem = False

    @property
    def newest(self) -> Agent | None:
        """The agent with the newest network; None before the first checkpoint."""
        return None if self._follower is None else self._follower.newest

    @property
    def progress(self) -> TrainingProgress:
        """Progress of the training."""
        return TrainingProgress() if self._follower is None else self._follower.progress

    @property
    def problem(self) -> str | None:
        """Reason why the training failed, in one line; None if it did not."""
        return None if self._follower is None else self._follower.problem

    def new_problem(self) -> str | None:
        """Returns `problem` at the first call after the failure, so that several agents report it once; else None."""
        if self.problem is None or self._has_told_problem:
            return None
        self._has_told_problem = True
        return self.problem

    def wait(self, report: Callable[[TrainingProgress], None] = lambda progress: None) -> None:
        """Starts the training, and waits until the end of the start clock, or of a training that ends before.

        Later calls return at once.

        Args:
            report: called repeatedly with the progress.
        """
        if self._follower is not None:
            return
        end = time.monotonic() + self._order.start_seconds
        self._follower = follower = _Follower(self._game, self._order)
        self._finalizer = weakref.finalize(self, follower.close)
        while (left := end - time.monotonic()) > 0 and not follower.ended.wait(min(left, POLL_SECONDS)):
            report(follower.progress)
        follower.has_play_begun = True
        if not self._order.continues:
            follower.close()

    def close(self) -> None:
        """Ends the training; the newest network stays. Has no effect if it has ended."""
        if self._follower is not None:
            self._follower.close()


@dataclass(frozen=True)
class _Order:
    """Arguments of a training; see `BackgroundTraining`."""

    game: str
    start_seconds: float
    seed: int
    continues: bool


class _Follower(threading.Thread):
    """Starts the process of a training, receives its messages and loads its checkpoints.

    Attributes:
        ended: set when the training has ended.
        has_play_begun: whether the start clock is over, so that loading takes time from the agent.
    """

    def __init__(self, game: pyspiel.Game, order: _Order) -> None:
        super().__init__(name="background training", daemon=True)
        self.newest: Agent | None = None
        self.progress = TrainingProgress()
        self.problem: str | None = None
        self.ended = threading.Event()
        self.has_play_begun = False
        self._closing = threading.Event()
        self._game = game
        self._lock = threading.RLock()
        self._loaded: str | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="athenan-"))
        self._transport = ProcessTransport()
        self._worker: ProcessWorker | None = None
        atexit.register(self.close)  # before multiprocessing waits for its processes
        try:
            self._worker = self._transport.start(_train, order, str(self._folder), time.time())
            self.start()
        except (OSError, AssertionError) as error:  # AssertionError: a daemonic process may not start another one
            self.problem = reason_of(error)
            self.ended.set()
        except BaseException:
            self.close()
            raise

    def run(self) -> None:
        """Follows the training until it ends or `close` is called."""
        try:
            self._follow()
        except Exception as error:  # such as of an engine that does not load
            self.problem = reason_of(error)
            self.ended.set()

    def _follow(self) -> None:
        next_load = 0.0
        while not self._closing.is_set():
            self._transport.poll(POLL_SECONDS, self._receive)
            if self.ended.is_set() or not self.has_play_begun or time.monotonic() >= next_load:
                start = time.monotonic()
                self._load()
                now = time.monotonic()
                next_load = now + (now - start) * (1 - LOADING_SHARE) / LOADING_SHARE
            if self.ended.is_set():
                return

    def close(self) -> None:
        """Kills the process, and removes the folder. If a signal interrupts it, the next call continues."""
        self._closing.set()
        with self._lock:
            if self._worker is not None:
                self._transport.kill(self._worker)  # without waiting, as the folder is temporary
            if self.is_alive() and threading.current_thread() is not self:
                self.join()
            shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.close)

    def _receive(self, worker: ProcessWorker, message: Any) -> None:
        if isinstance(message, TrainingProgress):
            self.progress = message
        elif isinstance(message, _Ended):
            self.problem = message.problem
            self.ended.set()
        elif isinstance(message, Lost) and not self.ended.is_set() and not self._closing.is_set():
            self.problem = f"its process {message.reason}"
            self.ended.set()

    def _load(self) -> None:
        """Loads the newest checkpoint, if it is a new one."""
        with contextlib.suppress(CheckpointError):  # not written yet, or just replaced by a newer one
            path = RunFolder(self._folder / RUN).newest()
            if path is not None and path.name != self._loaded:
                agent = make_agent(self._game, read_header(path), read_weights(path), budget=Budget(iterations=1))
                start = self._game.new_initial_state()
                roll(start, random.Random(0).random)
                agent.think(start)  # an engine compiles the network at its first call
                self.newest = agent
                self._loaded = path.name


@dataclass(frozen=True)
class _Ended:
    """Last message of the process.

    Attributes:
        problem: reason of a failure, in one line.
    """

    problem: str | None = None


def _train(mailbox: Mailbox, order: _Order, folder: str, started: float) -> None:
    """Trains in the background process.

    Args:
        started: time of the start of the start clock, by `time.time`.
    """
    yield_to_others()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    problem = None
    try:
        with StopRequests() as stops, stops.droppable():
            unblock_signal(signal.SIGTERM)
            _train_in(Path(folder) / RUN, order, started, _Reporter(mailbox.send), lambda: mailbox.is_closed)
    except KeyboardInterrupt:
        problem = "its process was asked to end"
    except Exception as error:
        problem = reason_of(error)
    mailbox.send(_Ended(problem))
    with contextlib.suppress(MailboxClosedError):
        mailbox.get(None)  # the other process takes the last checkpoint first
    shutil.rmtree(folder, ignore_errors=True)


def _train_in(folder: Path, order: _Order, started: float, report: _Reporter, stop: Callable[[], bool]) -> None:
    """Trains during the start clock, and after it if `order` says so, until `stop`."""
    config = dataclasses.replace(preset("quick"), seed=order.seed, checkpoint_seconds=CHECKPOINT_SECONDS)
    left = TRAINING_SHARE * (order.start_seconds - (time.time() - started))
    run = train(
        load_game(order.game),
        config,
        folder,
        seconds=max(MIN_TRAINING_SECONDS, left),
        fit=FITTED,
        callbacks=[report],
        stop=stop,
    )
    if run.reason == "stopped" or not order.continues:
        return
    config = run.config
    learner = dataclasses.replace(
        config.learner, schedule="constant", learning_rate=LATER_RATE * config.learner.learning_rate
    )
    RunFolder(folder).write_settings(run.game, dataclasses.replace(config, seconds=None, learner=learner))
    resume(folder, callbacks=[report], stop=stop)


class _Reporter:
    """A callback that sends the progress of a run."""

    def __init__(self, send: Callable[[Any], None]) -> None:
        self._send = send
        self._games = 0
        self._evaluations = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, MatchFinished):
            self._games = event.matches
        if isinstance(event, RoundFinished):
            self._evaluations += event.evaluations
        if isinstance(event, RoundProgress):
            self._send(TrainingProgress(max(self._games, event.matches), self._evaluations + event.evaluations))
        elif isinstance(event, RoundFinished):
            self._send(TrainingProgress(event.matches, self._evaluations))
