"""Optional interfaces of games and states written in Python, beyond OpenSpiel's, as protocols.

A game implements an interface by methods of these names, without a base class. Only the functions below check for them.
`ludii_bridge` implements all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeGuard, cast

import numpy as np
import pyspiel
from numpy.typing import NDArray

MeasureName = Literal["score", "pieces"]
Count = Callable[[pyspiel.State], tuple[Any, Any]]
"""State -> a count for player 0 and one for player 1."""

STATE_QUERIES = ("key", "scores", "pieces", "was_cut")
"""Methods of a state without arguments. They must not change it."""


class Children(Protocol):
    """A sequence of children of a state, created on access."""

    @property
    def players(self) -> Sequence[int]:
        """Return the `current_player` of each child."""

    def some(self, indices: Iterable[int]) -> Sequence[pyspiel.State]:
        """Return the children with these indices, as a sequence of the same kind."""

    def observe(self, out: NDArray[np.float32]) -> None:
        """Write OpenSpiel's observation of each into a row of `out`, float32 [n, size]."""


class MakesChildren(Protocol):
    """A state that creates all its children at once."""

    def children(self, actions: Sequence[int]) -> Children:
        """Return the states after these legal actions, in order."""


class KeyedState(Protocol):
    """A state with a key for its observable content."""

    def key(self) -> Hashable:
        """Return a value that is equal for states with the same text and observation."""


class CutState(Protocol):
    """A state that knows whether a length limit ended its game."""

    def was_cut(self) -> bool:
        """Return whether the limit, and not the rules, ended the game of this terminal state."""


class KeyedGame(Protocol):
    """A game that defines its transpositions."""

    def transposition_text(self, state: pyspiel.State) -> Hashable | None:
        """Return the key of an unfinished state as `transpositions` requires; None: its history."""


class TurnState(Protocol):
    """A state that knows whose turn came before chance."""

    def last_mover(self) -> int:
        """Return the player who moved last; 0 before the first move."""


class DiceState(Protocol):
    """A state with dice."""

    def dice(self) -> Sequence[int]:
        """Return the face of each die, 0 for a used one; nothing before a roll, at the end and without dice."""


class MeasuringGame(Protocol):
    """A game with its own counts."""

    def measure(self, name: MeasureName) -> Count | None:
        """Return the function that counts the score or the pieces of both players; None without such a count."""


class MarkedGame(Protocol):
    """A game that describes the pieces in the text of a state."""

    def marks(self) -> tuple[str, str] | None:
        """Return descriptions of the pieces of player 0 and player 1; None if they share pieces."""


class SidedGame(Protocol):
    """A game that describes its sides."""

    def sides(self) -> Sequence[tuple[str, tuple[int, int, int]]]:
        """Return the name of each player's side, empty without one, and the red, green and blue of its pieces."""


class CategorizedGame(Protocol):
    """A game that belongs to a category."""

    def category(self) -> str:
        """Return the category, such as "board/space/line"; empty without one."""


class RecommendingGame(Protocol):
    """A game of a system with AIs of its own."""

    def recommended_ai(self) -> str:
        """Return the system's name of the AI that it recommends for the game; empty without a recommendation."""


class NumberingGame(Protocol):
    """A game that declares whether an action is the same move in every state."""

    def has_fixed_actions(self) -> bool:
        """Return False if actions are indices into the legal moves of each state."""


class DrawnGame(Protocol):
    """A game with the geometry of its board and the names of its pieces."""

    def geometry(self) -> Mapping[str, NDArray[np.float64]]:
        """Return arrays, with y upwards.

        Returns:
            "centres", [n, 2]: of the board's main sites; "planes", [n, 2]: where they are in the observation;
            "sites", [m, 2]: the centres of all sites, the main ones first;
            "corners", [k, 3]: site, x, y of each corner of the outlines; two for an edge, none for a point;
            "lines", [k, 4]: x, y of both ends of each line.
        """

    def site_names(self) -> Sequence[str]:
        """Return the name of each row of "sites"."""

    def piece_types(self) -> Sequence[tuple[str, str, int]]:
        """Return (name, letter, player or -1) of each kind of piece."""


class DrawnState(Protocol):
    """A state of such a game."""

    def site_contents(self) -> Sequence[tuple[int, int, int, int]]:
        """Return (site, kind, player or -1, count) of each site that is not empty."""

    def move_sites(self) -> Sequence[tuple[int, ...]]:
        """Return the sites of each legal action, by its number; empty without a site."""


def makes_children(state: pyspiel.State) -> TypeGuard[MakesChildren]:
    """Return whether the state creates its children at once."""
    return hasattr(state, "children")


def is_children(states: object) -> TypeGuard[Children]:
    """Return whether `states` were created at once."""
    return hasattr(states, "observe") and hasattr(states, "players")


def says_cut(state: pyspiel.State) -> TypeGuard[CutState]:
    """Return whether the state knows if a length limit ended its game."""
    return hasattr(state, "was_cut")


def own_end_key(state: pyspiel.State) -> Callable[[], Hashable] | None:
    """Return the `key` method of the state; None without one."""
    return cast(KeyedState, state).key if hasattr(state, "key") else None


def own_last_mover(state: pyspiel.State) -> Callable[[], int] | None:
    """Return the `last_mover` method of the state; None without one."""
    return cast(TurnState, state).last_mover if hasattr(state, "last_mover") else None


def dice_of(state: pyspiel.State) -> Sequence[int]:
    """Return the faces of a `DiceState`; nothing for another state."""
    return cast(DiceState, state).dice() if hasattr(state, "dice") else ()


def own_text(game: pyspiel.Game) -> Callable[[pyspiel.State], Hashable | None] | None:
    """Return the `transposition_text` method of the game; None without one."""
    return cast(KeyedGame, game).transposition_text if hasattr(game, "transposition_text") else None


def measures_itself(game: pyspiel.Game) -> TypeGuard[MeasuringGame]:
    """Return whether the game has its own counts."""
    return hasattr(game, "measure")


def own_measure(game: pyspiel.Game, name: MeasureName) -> Count | None:
    """Return the count of the game itself; None without one."""
    return game.measure(name) if measures_itself(game) else None


def own_marks(game: pyspiel.Game) -> tuple[str, str] | None:
    """Return the descriptions of pieces of the game itself; None without them."""
    return cast(MarkedGame, game).marks() if hasattr(game, "marks") else None


def own_sides(game: pyspiel.Game) -> Sequence[tuple[str, tuple[int, int, int]]]:
    """Return the names and colours of the sides of a `SidedGame`; nothing for another game."""
    return cast(SidedGame, game).sides() if hasattr(game, "sides") else ()


def category_of(game: pyspiel.Game) -> str:
    """Return the category of a `CategorizedGame`; empty for another game."""
    return cast(CategorizedGame, game).category() if hasattr(game, "category") else ""


def recommended_ai(game: pyspiel.Game) -> str:
    """Return the AI that a `RecommendingGame` recommends; empty for another game."""
    return cast(RecommendingGame, game).recommended_ai() if hasattr(game, "recommended_ai") else ""


def draws_itself(game: pyspiel.Game) -> TypeGuard[DrawnGame]:
    """Return whether the game provides its geometry."""
    return all(hasattr(game, name) for name in ("geometry", "site_names", "piece_types"))


def site_contents(state: pyspiel.State) -> Sequence[tuple[int, int, int, int]]:
    """Return the contents of the sites of a `DrawnState`."""
    return cast(DrawnState, state).site_contents()


def state_move_sites(state: pyspiel.State) -> Sequence[tuple[int, ...]]:
    """Return the sites of each legal action of a `DrawnState`."""
    return cast(DrawnState, state).move_sites()


def own_fixed_actions(game: pyspiel.Game) -> bool:
    """Return whether an action of the game is the same move in every state; True if the game does not declare it."""
    return not hasattr(game, "has_fixed_actions") or cast(NumberingGame, game).has_fixed_actions()
