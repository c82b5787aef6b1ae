"""Trying every game of Ludii's: which can be played through OpenSpiel, and why not where they cannot.

A game is supported if it loads and random matches of it pass a check that the caller gives: it holds their
states to laws of games. A match is played to its end, or for as long as its time lasts; what was checked stands in the
verdict.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from datetime import date
from queue import SimpleQueue
from typing import Protocol

import pyspiel

from ludii_bridge.connection import connect
from ludii_bridge.errors import LudiiError
from ludii_bridge.reasons import joined
from ludii_bridge.verdicts import Verdict
from ludii_bridge.watched import FailedCallError, Watched

_PATIENCE = 600.0
"""Seconds that a game gets beyond those for its matches, to load and to end what it began."""


class Checked(Protocol):
    """What a check says of a match; see `athenan_spiel.games.laws.Match`."""

    @property
    def plies(self) -> int:
        """Actions that were played."""

    @property
    def checked(self) -> int:
        """Plies that were looked at closely."""

    @property
    def ended(self) -> bool:
        """The match came to its end."""

    @property
    def branching(self) -> int:
        """The most legal actions that were met."""


Check = Callable[[pyspiel.Game, random.Random, Callable[[], float]], Checked]
"""(game, what chooses moves, the share of the time that is left) -> a random match that was checked; it raises
`LudiiError` with what is wrong with the game. Another process must find it by its name."""


def sweep(
    names: Iterable[str], check: Check, matches: int, max_length: int, seconds: float, processes: int = 1
) -> Iterator[Verdict]:
    """The verdict of each game, as soon as there is one.

    Args:
        names: as Ludii writes them.
        check: of a match.
        matches, max_length: see `try_game`.
        seconds: for the matches of a game, which is tried in another process; 0 for no limit, in this one.
        processes: games that are tried at once.
    """
    trial = functools.partial(try_game, check=check, matches=matches, max_length=max_length, seconds=seconds)
    if not seconds:
        yield from map(trial, names)
        return
    workers = [Watched(trial, seconds + _PATIENCE) for _ in range(processes)]
    idle: SimpleQueue[Watched] = SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def call(name: str) -> Verdict:
        worker = idle.get()
        try:
            verdict: Verdict = worker(name)
        except FailedCallError as error:
            verdict = _stamped(Verdict(name, str(error)))
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
    """Load a game and check random matches of it.

    Args:
        name: as Ludii writes it.
        check: of a match.
        matches: how many.
        max_length: moves after which a match is stopped; the game's own limit is set to it.
        seconds: for all matches, after which there is no other look and no other match; 0 for no limit.
        rng: chooses the moves; by default always the same ones.
        clock: tells the seconds.
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
        return _stamped(Verdict(name, joined(error.reasons) or str(error)))
    longest = max(played, key=lambda match: match.plies)
    return _stamped(
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
    """The share of the time of a match that is left."""
    return 1 - (clock() - begins) / seconds


def _stamped(verdict: Verdict) -> Verdict:
    """With Ludii's version and today's date."""
    return replace(verdict, version=connect().version, date=date.today().isoformat())
