"""The interface between OpenSpiel's side of the bridge and Ludii's.

`Transport` loads games, `Rules` is one compiled game, and `Position` one state of it. `LudiiGame` and `LudiiState`
know nothing else of Ludii. `ludii_bridge.java` implements the interface; the tests have a fake in Python.

A position is a value: `child` returns a new one and doesn't change it. Only `advance` may change it, and its caller
must be the only holder: code that shares a position sets `shared` first, as copying does.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, overload

import numpy as np
import pyspiel
from numpy.typing import NDArray

from ludii_bridge.catalogue import Catalogue, Menu, Source
from ludii_bridge.picture import numbered


@dataclass(frozen=True, kw_only=True)
class Traits:
    """Properties of a game.

    Attributes:
        name: Ludii's name of the game.
        players: number of players.
        faults: reasons why the game is not supported.
        longest: maximum number of moves by Ludii's own limits.
        shape: (channels, x, y) of the tensor; this and the rest are undefined if there are faults.
        channels: description of each channel of the tensor.
        distinct_moves: estimate of the maximum number of legal moves.
        hashed: `Position.key` contains everything that the rules read and remember.
        scored: players have points.
        chance_outcomes: maximum number of outcomes of a chance state; 0 without chance.
        chances_per_move: maximum number of chance states per move.
    """

    name: str
    players: int
    faults: tuple[str, ...]
    longest: int
    shape: tuple[int, int, int] = (0, 0, 0)
    channels: tuple[str, ...] = ()
    distinct_moves: int = 0
    hashed: bool = False
    scored: bool = False
    chance_outcomes: int = 0
    chances_per_move: int = 0


TERMINAL = int(pyspiel.PlayerId.TERMINAL)
CHANCE = int(pyspiel.PlayerId.CHANCE)


class Position(ABC):
    """One state of a game, with its history.

    Players are numbered from 0 and keep their number after a swap of sides.
    """

    shared: bool = False
    """Has more than one holder, so it must not be changed."""

    def __deepcopy__(self, memo: object) -> Self:
        """Returns the position itself, shared. OpenSpiel copies the attributes of a state."""
        self.shared = True
        return self

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Pickles as None: another process has other Java objects, and the state replays its history."""
        return type(None), ()

    @property
    @abstractmethod
    def over(self) -> bool:
        """Whether the game has ended."""

    @property
    @abstractmethod
    def mover(self) -> int:
        """The player to move, or `CHANCE`; undefined after the end."""

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of each outcome of a chance state; its outcomes are its moves."""
        return ()

    @property
    def faces(self) -> tuple[int, ...]:
        """The face of each die, 0 for a used one; nothing before a roll and after the end."""
        return ()

    @property
    @abstractmethod
    def utilities(self) -> tuple[float, ...]:
        """A number in [-1, 1] for each player: 1 for the first rank, -1 for the last one; 0 before the end."""

    @property
    @abstractmethod
    def moves(self) -> int:
        """Number of legal moves, whose order depends on the state alone; 0 after the end."""

    @functools.cached_property
    def move_texts(self) -> tuple[str, ...]:
        """The legal moves in Ludii's notation, cached; equal texts are numbered."""
        return tuple(numbered(self.describe_moves()))

    @functools.cached_property
    def sites_of_moves(self) -> tuple[tuple[int, ...], ...]:
        """The result of `move_sites`, cached."""
        return tuple(self.move_sites())

    @abstractmethod
    def child(self, move: int) -> Position:
        """Returns the position after a legal move, and leaves this one unchanged."""

    def children(self) -> Siblings:
        """Returns the positions after all legal moves, faster than one by one."""
        return Siblings([self.child(move) for move in range(self.moves)])

    @abstractmethod
    def advance(self, move: int) -> Position:
        """Like `child`, but may change this position."""

    @abstractmethod
    def observe(self, out: NDArray[np.float32]) -> None:
        """Writes the tensor into `out`, float32 [channels * x * y]."""

    @abstractmethod
    def describe_moves(self) -> list[str]:
        """Returns the legal moves in Ludii's notation; two texts may be equal if their effects read equally."""

    @abstractmethod
    def move_sites(self) -> list[tuple[int, ...]]:
        """Returns the sites of each legal move; see `LudiiState.move_sites`."""

    @abstractmethod
    def site_contents(self) -> list[tuple[int, int, int, int]]:
        """Returns the occupied sites; see `LudiiState.site_contents`."""

    @abstractmethod
    def describe(self) -> str:
        """Returns board, pieces in hand and scores as text."""

    @abstractmethod
    def key(self) -> tuple[int, ...]:
        """Returns numbers that equal positions share, including the last moves and what the rules remember."""

    @abstractmethod
    def scores(self) -> tuple[float, ...] | None:
        """Returns the points of each player, or None if the game has none."""

    @abstractmethod
    def pieces(self) -> tuple[int, ...]:
        """Returns the number of pieces of each player on the board and in hand."""


class Siblings(Sequence[Position]):
    """The positions after the legal moves of one position, in order.

    Attributes:
        players: OpenSpiel's `current_player` of each: the player to move, `CHANCE` or `TERMINAL`.
    """

    players: list[int]

    def __init__(self, positions: Sequence[Position]) -> None:
        self._positions = positions
        for position in positions:  # each may be returned several times
            position.shared = True
        self.players = [TERMINAL if position.over else position.mover for position in positions]

    def __len__(self) -> int:
        return len(self.players)

    @overload
    def __getitem__(self, index: int) -> Position: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Position]: ...
    def __getitem__(self, index: int | slice) -> Position | Sequence[Position]:
        return self._positions[index]

    def observe(self, numbers: Sequence[int], out: NDArray[np.float32]) -> None:
        """Writes the tensors of those positions into `out`, float32 [n, channels * x * y]."""
        for number, row in zip(numbers, out, strict=True):
            self[number].observe(row)


class MatchAI(Protocol):
    """One of Ludii's AIs for one game."""

    @property
    def counts_iterations(self) -> bool:
        """Whether it supports a limit in iterations."""

    def begin(self, player: int) -> None:
        """Starts a game as that player."""

    def choose(self, position: Position, seconds: float | None, iterations: int | None) -> int:
        """Returns the index of its move, and leaves the position unchanged."""

    def end(self) -> None:
        """Ends the game."""


class Rules(Protocol):
    """One compiled game."""

    @property
    def traits(self) -> Traits:
        """Properties of the game."""

    @property
    def geometry(self) -> Mapping[str, NDArray[np.float64]]:
        """See `LudiiGame.geometry`."""

    @property
    def site_names(self) -> Sequence[str]:
        """See `LudiiGame.site_names`."""

    @property
    def menu(self) -> Menu:
        """Options and rulesets."""

    @property
    def components(self) -> Sequence[tuple[str, int]]:
        """Name and owner (from 1 to the number of players, or another number) of each piece type, from number 1."""

    @property
    def sides(self) -> Sequence[tuple[str, tuple[int, int, int]]]:
        """See `LudiiGame.sides`."""

    @property
    def recommended_ai(self) -> str:
        """See `LudiiGame.recommended_ai`."""

    def limit(self, moves: int) -> None:
        """Ends every game after that number of moves as a draw."""

    def start(self) -> Position:
        """Returns the initial position."""

    def match_ai(self, name: str) -> MatchAI:
        """Returns one of Ludii's AIs for one game, by its name.

        Raises:
            LudiiError: it does not support this game.
        """


class Transport(Protocol):
    """Access to Ludii."""

    @property
    def version(self) -> str:
        """Ludii's version."""

    @property
    def catalogue(self) -> Catalogue:
        """Games by name."""

    def menu(self, source: Source) -> Menu:
        """Returns the options and rulesets of a game."""

    def load(self, source: Source, options: Sequence[str]) -> Rules:
        """Compiles a game with these options; its traits contain the faults.

        Raises:
            LudiiError: the description has an error, or Java failed.
        """
