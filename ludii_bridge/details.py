"""What there is to know of one game before it is played: its menu, its tensor, and a short measurement.

The measurement is of random matches with the default options, drawn with a seed. A few long games are slow to play, so
it ends after some seconds, within a match if need be, and says how many matches came to their end.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from ludii_bridge.catalogue import Menu, Source
from ludii_bridge.connection import connect
from ludii_bridge.errors import LudiiError
from ludii_bridge.transport import Rules, Traits, unfit

MATCHES = 20
"""Random matches, at most."""
SECONDS = 3.0
"""Of the measurement, at most; a move that was begun is ended."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Random matches of a game.

    Attributes:
        matches: that came to their end.
        longest: moves of the longest of them, or of the one that was broken off.
        mean_length: moves of those that came to their end; None where none did.
        most_moves: legal in one state.
        mean_moves: legal in a state.
        moves_per_second: played, with the legal moves of each state counted.
    """

    matches: int
    longest: int
    mean_length: float | None
    most_moves: int
    mean_moves: float
    moves_per_second: float


@dataclass(frozen=True, kw_only=True)
class Details:
    """One game.

    Attributes:
        source: its name, and where Ludii has it.
        version: Ludii's.
        reasons: why it cannot be trained; empty where it can.
        traits: what it is; None where it cannot be compiled.
        menu: what can be chosen in it; None likewise.
        measured: None where it cannot be trained.
    """

    source: Source
    version: str
    reasons: tuple[str, ...]
    traits: Traits | None = None
    menu: Menu | None = None
    measured: Measured | None = None


def details(name: str, *, seed: int = 0, clock: Callable[[], float] = time.perf_counter) -> Details:
    """What there is to know of the game called `name`, with its default options.

    Args:
        name: in any case.
        seed: of the random matches.
        clock: says the seconds that have gone by.

    Raises:
        LudiiError: Java or Ludii is missing, or Ludii has no such game.
    """
    transport = connect()
    source, version = transport.catalogue.find(name), transport.version
    try:
        rules = transport.load(source, ())
    except LudiiError as error:
        reason = f"it {error.problem}" if error.game else str(error)
        return Details(source=source, version=version, reasons=(reason,))
    reasons = tuple(unfit(rules.traits))
    found = None if reasons else measure(rules, random.Random(seed), clock)
    return Details(
        source=source, version=version, reasons=reasons, traits=rules.traits, menu=rules.menu, measured=found
    )


def measure(rules: Rules, rng: random.Random, clock: Callable[[], float], most_moves: int = 1000) -> Measured:
    """Play `MATCHES` random matches, or for `SECONDS`.

    Args:
        rules: a game that can be played; its matches are limited to `most_moves` from now on.
        rng: chooses the moves.
        clock: says the seconds that have gone by.
        most_moves: as `max_length` of a game string.
    """
    rules.limit(min(most_moves, rules.traits.longest))
    start = clock()
    lengths: list[int] = []
    length, counts = 0, list[int]()
    position = rules.start()
    while len(lengths) < MATCHES and (not counts or clock() - start < SECONDS):
        if position.over:
            lengths.append(length)
            position, length = rules.start(), 0
            continue
        counts.append(position.moves)
        position = position.advance(rng.randrange(counts[-1]))
        length += 1
    return Measured(
        matches=len(lengths),
        longest=max([*lengths, length]),
        mean_length=sum(lengths) / len(lengths) if lengths else None,
        most_moves=max(counts),
        mean_moves=sum(counts) / len(counts),
        moves_per_second=len(counts) / max(clock() - start, 1e-9),
    )
