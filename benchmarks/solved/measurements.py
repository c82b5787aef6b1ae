"""What an agent's moves in solved positions are worth: shares of the positions whose result they keep."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import pyspiel

from athenan_spiel.arena.statistics import Interval, share_interval
from solved.games import THIRDS, SolvedGame
from solved.positions import SOURCES, SolvedPosition

Groups = Mapping[str, Sequence[int]]
"""The positions that a share is told of, by their indices: all, those of each source, and those of each third."""


@dataclass(frozen=True)
class Measurement:
    """What an agent has done.

    Attributes:
        word: of the agent.
        run: the word of its run without the limit, where it is measured at some limits; else none.
        kept: of each position, whether its move keeps the result.
        milliseconds: of a move, on average.
    """

    word: str
    run: str | None
    kept: Sequence[bool]
    milliseconds: float

    def share(self, indices: Iterable[int]) -> Interval:
        """Of the positions with these indices, in how many the result is kept; each counts as one by itself."""
        return share_interval([float(self.kept[index])] for index in indices)

    def to_json(self, groups: Groups) -> dict[str, Any]:
        """As JSON values."""
        return {
            "agent": self.word,
            "shares": {name: self.share(indices).to_json() for name, indices in groups.items()},
            "milliseconds": self.milliseconds,
            "kept": list(self.kept),
        }


@dataclass(frozen=True)
class Mended:
    """Of the positions where one agent fails, in how many another one keeps the result.

    Attributes:
        before, after: the words of the two.
        positions: where the first fails.
        share: of them; none where there are none.
    """

    before: str
    after: str
    positions: int
    share: Interval | None

    @classmethod
    def of(cls, before: Measurement, after: Measurement) -> Mended:
        """What the second mends of the first."""
        fails = [index for index, kept in enumerate(before.kept) if not kept]
        return cls(before.word, after.word, len(fails), after.share(fails) if fails else None)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {**vars(self), "share": self.share and self.share.to_json()}


class PositionSet:
    """Positions of a game by which agents are measured.

    Args:
        game: of the positions.
        positions: at least one.

    Attributes:
        groups: those that have a position.
        chance: of each group the share that uniformly random moves keep on average.
    """

    def __init__(self, game: SolvedGame, positions: Sequence[SolvedPosition]) -> None:
        loaded = game.load()
        self._positions = positions
        self._states = [position.state(loaded) for position in positions]
        thirds = [game.third(len(position.actions)) for position in positions]
        groups = {"all": list(range(len(positions)))}
        groups |= {name: [i for i, x in enumerate(positions) if x.source == name] for name in SOURCES}
        groups |= {name: [i for i, third in enumerate(thirds) if third == name] for name in THIRDS}
        self.groups: Groups = {name: indices for name, indices in groups.items() if indices}
        self.chance = {name: mean(map(self._chance, indices)) for name, indices in self.groups.items()}

    def measure(self, word: str, run: str | None, bots: Sequence[pyspiel.Bot]) -> Measurement:
        """Let an agent move once in each position.

        Args:
            word, run: as of a `Measurement`.
            bots: the agent as each player.

        Raises:
            AthenanError: it fails.
        """
        kept, seconds = [], 0.0
        for state, position in zip(self._states, self._positions, strict=True):
            bot = bots[state.current_player()]
            bot.restart_at(state)
            start = time.perf_counter()
            action = bot.step(state)
            seconds += time.perf_counter() - start
            kept.append(action in position.keeping)
        return Measurement(word, run, kept, 1000 * seconds / len(kept))

    def _chance(self, index: int) -> float:
        return len(self._positions[index].keeping) / len(self._states[index].legal_actions())
