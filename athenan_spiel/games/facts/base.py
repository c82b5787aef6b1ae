"""What is known of a single game of OpenSpiel beyond what OpenSpiel says of it: the one interface of the files beside.

Each file here is a game and holds one `Facts`. What is not said there has a default that is right for most games.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from numpy.typing import NDArray

Text = Callable[[pyspiel.State], Hashable | None]
"""What tells unfinished states apart besides the mover (and the ply); None where only the history does."""
Parameters = Mapping[str, Any]
"""The parameters of a game string that are given, with Python's values."""
Fill = Callable[[pyspiel.State, NDArray[np.float32]], None]
"""Writes what is to be seen of a state into an array that still holds the state before: every number, each time."""
Observation = tuple[tuple[int, ...], Fill]
"""The shape of an observation, (C, H, W) for planes or (n,), and what fills an array of it."""


@dataclass(frozen=True, kw_only=True)
class Transposition:
    """How the states of a game are told apart; see `games.transpositions` for what is promised."""

    text: str
    """How the text in the key is obtained, in words."""
    reason: str
    """Why two histories with the same key have the same future, or what keeps histories apart."""
    counts_plies: bool = False
    """The rules count the actions played, so the ply stays in the key even with `ply=False`."""
    read: Callable[[pyspiel.Game], Text] | None = field(default=None, repr=False, compare=False)
    """For a game, the function that reads the text off its states; None where histories are not merged."""
    end: Callable[[pyspiel.Game], Text] | None = field(default=None, repr=False, compare=False)
    """For a game, the function that reads off its finished states what tells them apart; None: as they are printed."""

    @property
    def merged(self) -> bool:
        """Histories may share a node; else the key is the whole history."""
        return self.read is not None


@dataclass(frozen=True)
class Measure:
    """Something that is counted for each player, or that is not."""

    text: str
    """What is counted, or why nothing is."""
    read: Callable[[pyspiel.State], tuple[Any, Any]] | None = field(default=None, repr=False, compare=False)
    """Counts it: for player 0, for player 1. None where nothing is."""


class Sides(NamedTuple):
    """The plane that holds the stones which each side of the board is made of."""

    top: int
    bottom: int
    left: int
    right: int


WINNER = Measure("the rules know a winner only")
STAY = Measure("no piece ever leaves the board")


def never_cut(state: pyspiel.State) -> bool:
    """For a game whose rules end every game by themselves: `max_game_length()` is no limit that cuts one off."""
    return False


def cut_if_undecided(state: pyspiel.State) -> bool:
    """For a game that is a draw at `max_game_length()`: a game won by the last action is not cut."""
    return len(state.history()) >= state.get_game().max_game_length() and not any(state.returns())


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of one game."""

    transposition: Transposition | None = None
    """When two histories are one state; None where that is not known."""
    score: Measure | None = WINNER
    """What the rules count as points; None in a game for one player, whose score is its reward."""
    pieces: Measure | None = STAY
    """The pieces of either player; None in a game for one player."""
    marks: tuple[str, str] | None = None
    """How the text of a state draws the pieces of player 0 and of player 1; None where they have none of their own."""
    note: str = ""
    """What a user should know although the game is supported."""
    fault: Callable[[Parameters], str | None] | None = None
    """Why the game must not be loaded with some parameters, with which OpenSpiel crashes or plays another game."""
    process_fault: Callable[[pyspiel.Game], str | None] | None = None
    """Why the game cannot live beside the games that were loaded in this process already."""
    lasting: bool = False
    """Its states live only as long as the one that they were cloned from; see `games.lasting_states`."""
    longest: Callable[[pyspiel.Game], int] | None = None
    """The actions of its longest match, where `max_game_length()` is not true."""
    cut: Callable[[pyspiel.State], bool] | None = None
    """Whether the length limit ended the game of a finished state; None: it did if the game has the longest length."""
    planes: Callable[[pyspiel.Game], tuple[int, int, int] | None] | None = None
    """(C, H, W) of its observation, where OpenSpiel declares another shape; None where it is no stack of boards."""
    observation: Callable[[pyspiel.Game], Observation] | None = None
    """An observation in place of OpenSpiel's, for a game that has none, or one that lacks something."""
    sides: Callable[[pyspiel.Game], Sides] | None = None
    """The sides of the board, where they belong to the players."""
    any_position: str = ""
    """Why a symmetry may move the initial position: the rules apply to positions that no match reaches, too."""
