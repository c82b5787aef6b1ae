"""Solved positions and their files: `GAME_judging.txt` and `GAME_choosing.txt`, with a line per position.

A line contains the actions that lead to the position, the actions that keep its result, both separated by commas, and
the source: the kind of game that it comes from. The set `choosing` is for choosing settings, `judging` for published
figures. No position is in both.
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
"""Sets in the order in which they are created, with their random seeds."""
SOURCES = ("random", "mcts", "self-play")
"""Sources in the order of the files."""

Position = tuple[str, int]
"""Identity of a state in these games: its text and its mover."""


@dataclass(frozen=True)
class SolvedPosition:
    """A position: the actions that lead to it, the actions that keep its result, and its source."""

    actions: tuple[int, ...]
    keeping: tuple[int, ...]
    source: str

    def __str__(self) -> str:
        return f"{','.join(map(str, self.actions))} {','.join(map(str, self.keeping))} {self.source}"

    def state(self, game: pyspiel.Game) -> pyspiel.State:
        """Returns the state."""
        state = game.new_initial_state()
        for action in self.actions:
            state.apply_action(action)
        return state


def position_of(state: pyspiel.State) -> Position:
    """Returns the position of a state."""
    return str(state), state.current_player()


def file_of(game: str, which: str) -> Path:
    """Returns the file of a game string and a set."""
    name = re.sub(r"\W+", "_", game).strip("_")
    return FOLDER / f"{name}_{which}.txt"


def read(game: str, which: str) -> list[SolvedPosition]:
    """Returns the positions of a set, by source; empty if there is no file."""
    file = file_of(game, which)
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [_of_line(*line.split()) for line in lines]


def _of_line(actions: str, keeping: str, source: str) -> SolvedPosition:
    return SolvedPosition(_numbers(actions), _numbers(keeping), source)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))
