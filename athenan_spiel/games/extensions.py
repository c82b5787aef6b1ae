"""What a game or a state written in Python may offer beyond OpenSpiel's interface, each as a protocol.

Nothing of it has to be there. The functions below are the only place that asks whether it is, so a game offers more by
having a method of that name, and needs no base class. `ludii_bridge` has all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeGuard, cast

import numpy as np
import pyspiel
from numpy.typing import NDArray

MeasureName = Literal["score", "pieces"]
Count = Callable[[pyspiel.State], tuple[Any, Any]]
"""Counts something of a state: for player 0, for player 1."""

SAID_BY_STATES = ("key", "scores", "pieces", "was_cut")
"""Methods of a state without arguments that say something of it; asking them may change nothing."""


class Children(Protocol):
    """A sequence of the states after some actions of one state, made when they are looked at."""

    @property
    def players(self) -> Sequence[int]:
        """The `current_player` of each."""

    def some(self, indices: Iterable[int]) -> Sequence[pyspiel.State]:
        """Those with these indices, as a sequence of the same kind."""

    def observe(self, out: NDArray[np.float32]) -> None:
        """Write OpenSpiel's observation of each into a row of `out`, float32 [n, size]."""


class MakesChildren(Protocol):
    """A state that makes its children faster together than one by one."""

    def children(self, actions: Sequence[int]) -> Children:
        """The states after these legal actions, in their order."""


class KeyedState(Protocol):
    """A state that says what it has in common with those that look alike."""

    def key(self) -> Hashable:
        """Equal for states that look alike."""


class CutState(Protocol):
    """A state that knows whether a length limit ended its game."""

    def was_cut(self) -> bool:
        """Whether the limit ended the game of this terminal state, and not its rules."""


class KeyedGame(Protocol):
    """A game that says when two histories are one state."""

    def transposition_text(self, state: pyspiel.State) -> Hashable | None:
        """For an unfinished state, what keeps the promise of `transpositions`; None where only the history does."""


class MeasuringGame(Protocol):
    """A game that counts what its rules count."""

    def measure(self, name: MeasureName) -> Count | None:
        """What counts the score, or the pieces, of either player; None where there is nothing to count."""


class MarkedGame(Protocol):
    """A game that says how the text of a state draws pieces."""

    def marks(self) -> tuple[str, str] | None:
        """The pieces of player 0 and of player 1, in words; None where they have none of their own."""


class NumberingGame(Protocol):
    """A game that says whether an action is the same move in every state."""

    def has_fixed_actions(self) -> bool:
        """False where actions are numbers of the legal moves of each state."""


class DrawnGame(Protocol):
    """A game that says where the sites of its board are, and what its pieces are called."""

    def geometry(self) -> Mapping[str, NDArray[np.float64]]:
        """Arrays, with y upwards.

        Returns:
            "centres", [n, 2]: of the board's main sites; "planes", [n, 2]: where they are in the observation;
            "sites", [m, 2]: the centres of all sites, the main ones first;
            "corners", [k, 3]: site, x, y of each corner of the outlines; two for an edge, none for a point;
            "lines", [k, 4]: x, y of both ends of each line.
        """

    def site_names(self) -> Sequence[str]:
        """What each row of "sites" is called."""

    def kinds(self) -> Sequence[tuple[str, str, int]]:
        """Each kind of piece: its name, its letter, and its player, or -1 where it has none."""


class DrawnState(Protocol):
    """A state of such a game."""

    def standing(self) -> Sequence[tuple[int, int, int, int]]:
        """(site, kind, player or -1, count) of each site that is not empty."""

    def move_sites(self) -> Sequence[tuple[int, ...]]:
        """For each legal action, by its number, the sites that it names; none: it has no place."""


def makes_children(state: pyspiel.State) -> TypeGuard[MakesChildren]:
    """Whether the state makes its children together."""
    return hasattr(state, "children")


def is_children(states: object) -> TypeGuard[Children]:
    """Whether these are children that were made together."""
    return hasattr(states, "observe") and hasattr(states, "players")


def says_cut(state: pyspiel.State) -> TypeGuard[CutState]:
    """Whether the state itself says if a length limit ended its game."""
    return hasattr(state, "was_cut")


def own_end_key(state: pyspiel.State) -> Callable[[], Hashable] | None:
    """The state's own `key`."""
    return cast(KeyedState, state).key if hasattr(state, "key") else None


def own_text(game: pyspiel.Game) -> Callable[[pyspiel.State], Hashable | None] | None:
    """The game's own `transposition_text`."""
    return cast(KeyedGame, game).transposition_text if hasattr(game, "transposition_text") else None


def measures_itself(game: pyspiel.Game) -> TypeGuard[MeasuringGame]:
    """Whether the game counts what its rules count."""
    return hasattr(game, "measure")


def own_measure(game: pyspiel.Game, name: MeasureName) -> Count | None:
    """What the game itself counts by."""
    return game.measure(name) if measures_itself(game) else None


def own_marks(game: pyspiel.Game) -> tuple[str, str] | None:
    """How the game itself says that pieces are drawn."""
    return cast(MarkedGame, game).marks() if hasattr(game, "marks") else None


def draws_itself(game: pyspiel.Game) -> TypeGuard[DrawnGame]:
    """Whether the game says how it is drawn."""
    return all(hasattr(game, name) for name in ("geometry", "site_names", "kinds"))


def standing(state: pyspiel.State) -> Sequence[tuple[int, int, int, int]]:
    """What stands on the sites of a game that is drawn."""
    return cast(DrawnState, state).standing()


def state_move_sites(state: pyspiel.State) -> Sequence[tuple[int, ...]]:
    """The sites that each legal action of a game that is drawn names."""
    return cast(DrawnState, state).move_sites()


def own_fixed_actions(game: pyspiel.Game) -> bool:
    """Whether an action of the game is the same move in every state; so it is where the game does not say."""
    return not hasattr(game, "has_fixed_actions") or cast(NumberingGame, game).has_fixed_actions()
