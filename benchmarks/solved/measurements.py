"""Shares of solved positions in which an agent's move keeps the result."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any

import pyspiel

from athenan_spiel.play.intervals import Interval, share_interval
from solved.games import THIRDS, SolvedGame
from solved.positions import SOURCES, SolvedPosition

Groups = Mapping[str, Sequence[int]]
"""Indices of positions by group: all, each source, and each third of a game."""


@dataclass(frozen=True)
class Measurement:
    """An agent's moves in a set of positions.

    Attributes:
        spec: spec of the agent.
        run: spec of its run without the limit if it is measured at several limits; else None.
        kept: whether the move keeps the result, for each position.
        milliseconds: mean time per move.
    """

    spec: str
    run: str | None
    kept: Sequence[bool]
    milliseconds: float

    def share(self, indices: Iterable[int]) -> Interval:
        """Returns the share of the positions with these indices whose result is kept."""
        return share_interval([float(self.kept[index])] for index in indices)

    def to_json(self, groups: Groups) -> dict[str, Any]:
        """Returns JSON values."""
        return {
            "agent": self.spec,
            "shares": {name: self.share(indices).to_json() for name, indices in groups.items()},
            "milliseconds": self.milliseconds,
            "kept": list(self.kept),
        }


@dataclass(frozen=True)
class Mended:
    """Share of the positions failed by one agent in which another one keeps the result.

    Attributes:
        before, after: specs of the agents.
        positions: number of positions failed by the first.
        share: share of them; None if there are none.
    """

    before: str
    after: str
    positions: int
    share: Interval | None

    @classmethod
    def of(cls, before: Measurement, after: Measurement) -> Mended:
        """Compares two measurements."""
        fails = [index for index, kept in enumerate(before.kept) if not kept]
        return cls(before.spec, after.spec, len(fails), after.share(fails) if fails else None)

    def to_json(self) -> dict[str, Any]:
        """Returns JSON values."""
        return {**vars(self), "share": self.share and self.share.to_json()}


class PositionSet:
    """Positions of a game, in which agents are measured.

    Args:
        game: game of the positions.
        positions: at least one position.

    Attributes:
        groups: groups with at least one position.
        chance: mean share that uniformly random moves keep, by group.
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

    def measure(self, spec: str, run: str | None, bots: Sequence[pyspiel.Bot]) -> Measurement:
        """Lets an agent move once in each position.

        Args:
            spec, run: as in `Measurement`.
            bots: the agent as each player.

        Raises:
            AthenanError: the agent fails.
        """
        kept, seconds = [], 0.0
        for state, position in zip(self._states, self._positions, strict=True):
            bot = bots[state.current_player()]
            bot.restart_at(state)
            start = time.perf_counter()
            action = bot.step(state)
            seconds += time.perf_counter() - start
            kept.append(action in position.keeping)
        return Measurement(spec, run, kept, 1000 * seconds / len(kept))

    def _chance(self, index: int) -> float:
        return len(self._positions[index].keeping) / len(self._states[index].legal_actions())
