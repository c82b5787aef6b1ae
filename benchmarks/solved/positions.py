"""Solved positions, and the files that hold them: `GAME_judging.txt` and `GAME_choosing.txt`, a line each position.

A line has the actions that lead to the position, the actions that keep its result, both with commas between, and the
source: the kind of match that it comes from. By the set `choosing` settings are chosen, by `judging` figures are made
that are published; no position is in both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pyspiel

FOLDER = Path(__file__).parent
SETS: Mapping[str, int] = MappingProxyType({"judging": 0, "choosing": 1})
"""The sets in the order in which they are made, with the seed of all that is random in each."""
SOURCES = ("random", "mcts", "self-play")
"""In the order in which a set has them."""

Position = tuple[str, int]
"""What makes a state this one and no other, in these games: its text and its mover."""


@dataclass(frozen=True)
class SolvedPosition:
    """A position by the actions that lead to it, the actions that keep its result, and its source."""

    actions: tuple[int, ...]
    keeping: tuple[int, ...]
    source: str

    def __str__(self) -> str:
        return f"{','.join(map(str, self.actions))} {','.join(map(str, self.keeping))} {self.source}"

    def state(self, game: pyspiel.Game) -> pyspiel.State:
        """The state that the actions lead to."""
        state = game.new_initial_state()
        for action in self.actions:
            state.apply_action(action)
        return state


def position_of(state: pyspiel.State) -> Position:
    """The position that `state` is."""
    return str(state), state.current_player()


def file_of(game: str, which: str) -> Path:
    """The file of a game, by its string, and a set."""
    name = re.sub(r"\W+", "_", game).strip("_")
    return FOLDER / f"{name}_{which}.txt"


def read(game: str, which: str) -> list[SolvedPosition]:
    """The positions of a set, source by source; none where there is no file."""
    file = file_of(game, which)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [_of_line(*line.split()) for line in lines]


def _of_line(actions: str, keeping: str, source: str) -> SolvedPosition:
    return SolvedPosition(_numbers(actions), _numbers(keeping), source)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))
