"""Types of the facts about a game. The defaults are right for most games."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from numpy.typing import NDArray

Text = Callable[[pyspiel.State], Hashable | None]
"""State -> text that, with mover and ply, identifies an unfinished state; None if only the history does."""
Parameters = Mapping[str, Any]
"""Parameters that a game string gives, with Python values."""
Fill = Callable[[pyspiel.State, NDArray[np.float32]], None]
"""Writes the complete observation of a state into an array, which still holds that of another state."""
Observation = tuple[tuple[int, ...], Fill]
"""Shape of an observation, (C, H, W) for planes or (n,), and the function that fills an array of it."""


@dataclass(frozen=True, kw_only=True)
class Transposition:
    """Rule for the transpositions of a game; `games.transpositions` states the requirement."""

    text: str
    """Description of the text in the key."""
    reason: str
    """Why two histories with the same key have the same future, or why histories are not merged."""
    counts_plies: bool = False
    """The rules count the actions played, so the ply stays in the key even with `ply=False`."""
    read: Callable[[pyspiel.Game], Text] | None = field(default=None, repr=False, compare=False)
    """Game -> function that returns the text of a state; None if histories are not merged."""
    end: Callable[[pyspiel.Game], Text] | None = field(default=None, repr=False, compare=False)
    """Game -> function that returns the text of a finished state; by default the printed state."""

    @property
    def merged(self) -> bool:
        """Whether histories may share a node; else the key is the whole history."""
        return self.read is not None


@dataclass(frozen=True)
class Measure:
    """Score or number of pieces, counted for each player."""

    text: str
    """Description of the count, or the reason why there is none."""
    read: Callable[[pyspiel.State], tuple[Any, Any]] | None = field(default=None, repr=False, compare=False)
    """Returns the counts of player 0 and of player 1; None if nothing is counted."""
    fixed_turns: bool = False
    """Whether the number of turns is fixed, so that no player can end the game by reaching a number of points."""


class Sides(NamedTuple):
    """Index of the plane with the stones that each side of the board is made of."""

    top: int
    bottom: int
    left: int
    right: int


WINNER = Measure("the rules define only a winner")
STAY = Measure("no piece leaves the board")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts about one game."""

    transposition: Transposition | None = None
    """Rule for transpositions; None if unknown."""
    score: Measure | None = WINNER
    """Points that the rules count; None in a game for one player, whose score is its reward."""
    pieces: Measure | None = STAY
    """Number of pieces of each player; None in a game for one player."""
    marks: tuple[str, ...] | None = None
    """How the text of a state draws the pieces of each player; None if players own no pieces."""
    names: tuple[str, ...] | None = None
    """Names of the sides, such as Black and White; None: they are named by their marks, such as x and o."""
    note: str = ""
    """Warning shown to users when the game is loaded."""
    fault: Callable[[Parameters], str | None] | None = None
    """Returns why the game must not be loaded with some parameters: OpenSpiel crashes, or plays another game."""
    process_fault: Callable[[pyspiel.Game], str | None] | None = None
    """Returns why the game cannot be used together with the games that this process has already loaded."""
    lasting: bool = False
    """Whether states are valid only as long as the state they were cloned from; see `games.lasting_states`."""
    longest: Callable[[pyspiel.Game], int] | None = None
    """Returns the number of actions of the longest game, outcomes included, where OpenSpiel's numbers are wrong."""
    return_bounds: Callable[[pyspiel.Game], tuple[float, float]] | None = None
    """Smallest and largest return of a player, where OpenSpiel's are wrong for more than two players."""
    cut: Callable[[pyspiel.State], bool] | None = None
    """Whether the length limit ended a finished game; by default, whether the game has the longest length."""
    planes: Callable[[pyspiel.Game], tuple[int, int, int] | None] | None = None
    """(C, H, W) of the observation, where OpenSpiel declares another shape; None if it is not a stack of boards."""
    observation: Callable[[pyspiel.Game], Observation] | None = None
    """Observation that replaces OpenSpiel's, for a game that has none, or an incomplete one."""
    last_mover: Callable[[pyspiel.State], int] | None = None
    """Returns the player who moved last before a chance state, 0 before the first move; by default from the history."""
    sides: Callable[[pyspiel.Game], Sides] | None = None
    """Sides of the board, where they belong to the players."""
    any_position: str = ""
    """Reason why a symmetry may change the initial position; empty if it must not."""
