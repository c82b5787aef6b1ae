"""Details of one game: its menu, its tensor, and a short measurement of random games with default options.

The measurement ends after some seconds, if necessary within a game, and reports the number of finished games.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from ludii_bridge.catalogue import Menu, Source
from ludii_bridge.connection import connect
from ludii_bridge.errors import LudiiError
from ludii_bridge.transport import Rules, Traits

MATCHES = 20
"""Maximum number of random games."""
SECONDS = 3.0
"""Maximum duration of the measurement, plus one move."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Measurement of random games.

    Attributes:
        matches: number of finished games.
        longest: maximum number of moves without rolls, including an unfinished game.
        mean_length: mean length of finished games, or None.
        most_moves: maximum number of legal moves.
        mean_moves: mean number of legal moves.
        moves_per_second: speed, including the count of legal moves.
    """

    matches: int
    longest: int
    mean_length: float | None
    most_moves: int
    mean_moves: float
    moves_per_second: float


@dataclass(frozen=True, kw_only=True)
class Details:
    """Details of one game.

    Attributes:
        source: its name and location.
        version: Ludii's version.
        reasons: reasons why it is not supported.
        traits: its properties, or None if it doesn't compile.
        menu: its options, or None if it doesn't compile.
        measured: its measurement, or None if it is not supported.
    """

    source: Source
    version: str
    reasons: tuple[str, ...]
    traits: Traits | None = None
    menu: Menu | None = None
    measured: Measured | None = None


def details(name: str, *, seed: int = 0, clock: Callable[[], float] = time.perf_counter) -> Details:
    """Returns the details of a game with default options.

    Args:
        name: Ludii's name, in any case.
        seed: random seed.
        clock: returns seconds.

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
    traits = rules.traits
    found = None if traits.faults else measure(rules, random.Random(seed), clock)
    return Details(
        source=source, version=version, reasons=traits.faults, traits=traits, menu=rules.menu, measured=found
    )


def measure(rules: Rules, rng: random.Random, clock: Callable[[], float], most_moves: int = 1000) -> Measured:
    """Plays `MATCHES` random games, or for `SECONDS`, and limits the game to `most_moves` from now on."""
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
        if position.probabilities:
            outcomes = range(position.moves)
            position = position.advance(rng.choices(outcomes, position.probabilities)[0])
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
