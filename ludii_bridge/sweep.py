"""Tests which of Ludii's games can be played through OpenSpiel, and why the others can't.

A game is supported if it loads and random plays pass the caller's check of their states. A play lasts to the end of the
game, or until its time is over. The verdict contains what was checked.
"""

from __future__ import annotations

import functools
import multiprocessing
import random
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from datetime import date
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any, Protocol, Self

import pyspiel

from ludii_bridge.connection import connect
from ludii_bridge.errors import LudiiError, joined
from ludii_bridge.verdicts import Verdict

_LOADING_SECONDS = 600.0
"""Additional time of a game, for loading and for ending a check."""
_STOP_SECONDS = 5.0
"""Time for a process to end by itself."""


class GameCheck(Protocol):
    """Result of a check; see `athenan_spiel.games.laws.CheckedGame`."""

    @property
    def plies(self) -> int:
        """Number of actions played."""

    @property
    def checked(self) -> int:
        """Number of plies checked."""

    @property
    def ended(self) -> bool:
        """Whether the game ended."""

    @property
    def branching(self) -> int:
        """Maximum number of legal actions."""


Check = Callable[[pyspiel.Game, random.Random, Callable[[], float]], GameCheck]
"""(game, generator, remaining fraction of the time) -> result of a checked random play.

It must be importable, and raises `LudiiError` if the game is wrong."""


def sweep(
    names: Iterable[str], check: Check, matches: int, max_length: int, seconds: float, processes: int = 1
) -> Iterator[Verdict]:
    """Yields the verdict of each game when it is available.

    Args:
        names: Ludii's names.
        check: checks a random game.
        matches, max_length: see `try_game`.
        seconds: time per game, which is tested in another process; 0 for no limit, in this process.
        processes: number of games tested at once.
    """
    trial = functools.partial(try_game, check=check, matches=matches, max_length=max_length, seconds=seconds)
    if not seconds:
        yield from map(trial, names)
        return
    workers = [Watched(trial, seconds + _LOADING_SECONDS) for _ in range(processes)]
    idle: SimpleQueue[Watched] = SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def call(name: str) -> Verdict:
        worker = idle.get()
        try:
            verdict: Verdict = worker(name)
        except FailedCallError as error:
            verdict = _with_version(Verdict(name, str(error)))
        idle.put(worker)
        return verdict

    threads = ThreadPoolExecutor(processes)
    try:
        for done in as_completed([threads.submit(call, name) for name in names]):
            yield done.result()
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.stop()
        threads.shutdown()


def try_game(
    name: str,
    *,
    check: Check,
    matches: int = 2,
    max_length: int = 200,
    seconds: float = 0,
    rng: random.Random | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Verdict:
    """Loads a game and checks random plays of it.

    Args:
        name: Ludii's name.
        check: checks a random game.
        matches: number of random games.
        max_length: maximum number of moves.
        seconds: time for all of them; 0 for no limit.
        rng: chooses the moves; the default has a fixed seed.
        clock: returns seconds.
    """
    rng = rng or random.Random(0)
    played = []
    try:
        game = pyspiel.load_game("ludii", {"game": name.translate(str.maketrans("()", "[]")), "max_length": max_length})
        start = clock()
        for number in range(matches):
            begins = start + number * seconds / matches
            left = functools.partial(_left, clock, begins, seconds / matches) if seconds else lambda: 1.0
            played.append(check(game, rng, left))
    except LudiiError as error:
        return _with_version(Verdict(name, joined(error.reasons) or str(error)))
    longest = max(played, key=lambda match: match.plies)
    return _with_version(
        Verdict(
            name,
            "",
            players=game.num_players(),
            shape=tuple(game.observation_tensor_shape()),
            actions=game.num_distinct_actions(),
            branching=max(match.branching for match in played),
            plies=longest.plies,
            checked=longest.checked,
            ended=sum(match.ended and match.plies < game.max_game_length() for match in played),
            seconds=seconds,
        )
    )


def _left(clock: Callable[[], float], begins: float, seconds: float) -> float:
    """Returns the remaining fraction of a game's time."""
    return 1 - (clock() - begins) / seconds


def _with_version(verdict: Verdict) -> Verdict:
    """Adds Ludii's version and the date."""
    return replace(verdict, version=connect().version, date=date.today().isoformat())


class FailedCallError(Exception):
    """A call took too long, or its process died."""


class Watched:
    """Calls a function in another process, which is killed and replaced if a call takes too long or crashes.

    Some game descriptions make Java compute for minutes or run out of memory.

    Args:
        function: an importable function of one argument.
        seconds: maximum duration of a call.
    """

    def __init__(self, function: Callable[[Any], Any], seconds: float) -> None:
        self._function = function
        self._seconds = seconds
        self._process: BaseProcess | None = None
        self._line: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __call__(self, argument: Any) -> Any:
        """Returns the result of the function.

        Raises:
            FailedCallError: the call took too long, or its process died, for example by an exception.
        """
        if self._line is None:
            self._start()
        assert self._line is not None
        try:
            self._line.send(argument)
            if not self._line.poll(self._seconds):
                self.close()
                raise FailedCallError(f"it took more than {self._seconds:g} s")
            return self._line.recv()
        except (EOFError, ConnectionError) as error:
            self.close()
            raise FailedCallError("its process died") from error

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self._function, theirs), daemon=True)
        self._process.start()
        theirs.close()

    def stop(self) -> None:
        """Kills the process. A call that another thread waits for fails."""
        if self._process is not None:
            self._process.kill()

    def close(self) -> None:
        """Ends the process, by force if it is busy."""
        if self._process is None or self._line is None:
            return
        self._line.close()
        self._process.terminate()
        self._process.join(_STOP_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process = self._line = None


def _serve(function: Callable[[Any], Any], line: Connection) -> None:
    while True:
        try:
            argument = line.recv()
        except EOFError:
            return
        line.send(function(argument))
