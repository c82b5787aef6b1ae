"""The small interface between OpenSpiel's side of the bridge and Ludii's.

`Transport` loads games, `Rules` are one compiled game, a `Position` is one state of it. The game, state and observer
of this package know nothing else of Ludii; `ludii_bridge.java` is the real thing, and the tests have one in Python.

A position is a value: `child` gives a new one and leaves it as it is. Only `advance` may change it, and the state
that calls it must be the only holder: whoever hands a position on sets `shared` first, as copying one does.
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
from ludii_bridge.outlines import told_apart
from ludii_bridge.reasons import for_players


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What a game is.

    Attributes:
        name: Ludii's name of the game.
        players: how many.
        faults: why the game cannot be an OpenSpiel game of perfect information with turns; empty where it can.
        longest: the most moves of a match by Ludii's own limits.
        shape: of the tensor of a state, (channels, x, y); this and the rest mean nothing where there are faults.
        channels: what each channel of the tensor means, in words.
        distinct_moves: a number that legal moves in a state rarely exceed.
        hashed: `Position.key` holds all that the rules look at and remember.
        scored: players have points.
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


def unfit(traits: Traits) -> list[str]:
    """Why a game cannot be an OpenSpiel game here; empty where it can."""
    players = traits.players
    return [*([] if players in (1, 2) else [for_players(players)]), *traits.faults]


TERMINAL = int(pyspiel.PlayerId.TERMINAL)


class Position(ABC):
    """One state of a game, with its past.

    Players are 0 and 1 and keep their number when they swap sides.
    """

    shared: bool = False
    """It has more than one holder: not to be changed."""

    def __deepcopy__(self, memo: object) -> Self:
        """The position itself: OpenSpiel copies a state by copying its attributes."""
        self.shared = True
        return self

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Nothing: another process has other Java objects. A state that finds none plays its history again."""
        return type(None), ()

    @property
    @abstractmethod
    def over(self) -> bool:
        """The match has ended."""

    @property
    @abstractmethod
    def mover(self) -> int:
        """The player to move, also where the match is over (then without meaning)."""

    @property
    @abstractmethod
    def utilities(self) -> tuple[float, ...]:
        """For each player 1 for a win, -1 for a loss, between them otherwise; 0 before the end."""

    @property
    @abstractmethod
    def moves(self) -> int:
        """How many moves are legal; they have an order that depends on the state alone. 0 where the match is over."""

    @functools.cached_property
    def move_texts(self) -> tuple[str, ...]:
        """The legal moves in Ludii's notation, in their order; those that read alike are numbered.

        They are made once for a position, and all states that hold it share them.
        """
        return tuple(told_apart(self.describe_moves()))

    @functools.cached_property
    def sites_of_moves(self) -> tuple[tuple[int, ...], ...]:
        """What `move_sites` returns, made once for a position."""
        return tuple(self.move_sites())

    @abstractmethod
    def child(self, move: int) -> Position:
        """The position after the legal move with that number; this one stays as it is."""

    def children(self) -> Siblings:
        """The positions after all legal moves, in their order; sooner had than one by one."""
        return Siblings([self.child(move) for move in range(self.moves)])

    @abstractmethod
    def advance(self, move: int) -> Position:
        """As `child`, but this position may be used up."""

    @abstractmethod
    def observe(self, out: NDArray[np.float32]) -> None:
        """Write the tensor into `out`, float32 [channels * x * y]."""

    @abstractmethod
    def describe_moves(self) -> list[str]:
        """The legal moves in Ludii's notation, in their order; two may read alike if all they do reads alike."""

    @abstractmethod
    def move_sites(self) -> list[tuple[int, ...]]:
        """The sites that each legal move names, in their order; see `LudiiState.move_sites`."""

    @abstractmethod
    def standing(self) -> list[tuple[int, int, int, int]]:
        """What stands on the sites; see `LudiiState.standing`."""

    @abstractmethod
    def describe(self) -> str:
        """The position for a person: board, pieces in hand, scores."""

    @abstractmethod
    def key(self) -> tuple[int, ...]:
        """Numbers that equal positions share, the last moves and what the rules remember among them; see `hashed`."""

    @abstractmethod
    def scores(self) -> tuple[float, ...] | None:
        """The points of each player, or None where the game keeps none."""

    @abstractmethod
    def pieces(self) -> tuple[int, ...]:
        """How many pieces each player has on the board and in hand."""


class Siblings(Sequence[Position]):
    """The positions after the legal moves of one position, in their order.

    Attributes:
        players: for each OpenSpiel's `current_player`: the player to move, or `TERMINAL`.
    """

    players: list[int]

    def __init__(self, positions: Sequence[Position]) -> None:
        self._positions = positions
        for position in positions:  # which are handed out as often as they are asked for
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
        """Write the tensors of those positions into `out`, float32 [n, channels * x * y]."""
        for number, row in zip(numbers, out, strict=True):
            self[number].observe(row)


class MatchAI(Protocol):
    """One of Ludii's AIs for one match."""

    @property
    def counts_iterations(self) -> bool:
        """It stops after a number of iterations, too."""
        ...

    def begin(self, player: int) -> None:
        """A match begins in which it is that player."""
        ...

    def choose(self, position: Position, seconds: float | None, iterations: int | None) -> int:
        """The number of the legal move that it plays; the position stays as it is."""
        ...

    def end(self) -> None:
        """The match is over, or given up."""
        ...


class Rules(Protocol):
    """One compiled game."""

    @property
    def traits(self) -> Traits:
        """What the game is."""
        ...

    @property
    def geometry(self) -> Mapping[str, NDArray[np.float64]]:
        """Where the sites of the board are; see `LudiiGame.geometry`."""
        ...

    @property
    def site_names(self) -> Sequence[str]:
        """What each site is called; see `LudiiGame.site_names`."""
        ...

    @property
    def menu(self) -> Menu:
        """What can be chosen in the game."""
        ...

    @property
    def components(self) -> Sequence[tuple[str, int]]:
        """Name and owner of each kind of piece, from number 1; players are 1 and 2 here."""
        ...

    def limit(self, moves: int) -> None:
        """End every match after that many moves as a draw."""
        ...

    def start(self) -> Position:
        """The position in which matches begin."""
        ...

    def match_ai(self, name: str) -> MatchAI:
        """One of Ludii's AIs for one match, by Ludii's name of it.

        Raises:
            LudiiError: it does not play this game.
        """
        ...


class Transport(Protocol):
    """What knows Ludii."""

    @property
    def version(self) -> str:
        """Ludii's version."""
        ...

    @property
    def catalogue(self) -> Catalogue:
        """The games by name."""
        ...

    def menu(self, source: Source) -> Menu:
        """The options and rulesets of a game."""
        ...

    def load(self, source: Source, options: Sequence[str]) -> Rules:
        """Compile a game with these options; traits tell what is unfit about it.

        Raises:
            LudiiError: the description has an error, or Java failed.
        """
        ...
