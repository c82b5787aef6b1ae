"""Hand-made game trees that searches take for games of OpenSpiel.

A tree is written as nested calls. Each non-terminal state is `first(...)` or `second(...)`, by who is to move in it;
its positional argument is its value to an evaluator, its keywords name the states that its actions lead to. A number
is a terminal state with that return for player 0, `same` is the state that has the keyword's name elsewhere:

    GAME = FakeGame(first(0.0, A=second(0.6, C=-3, D=1), B=second(0.5, D=same, E=first(0.2, F=0))))

A player moves twice in a row where `second` stands below `second`. Actions are FIRST_ACTION and up, so that an index
taken for an action is noticed. Only what searches ask of a game and a state is here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FIRST_ACTION = 10
ROOT = "root"
CHANCE_PLAYER = -1
"""`pyspiel.PlayerId.CHANCE`."""
TERMINAL_PLAYER = -4
"""`pyspiel.PlayerId.TERMINAL`."""


@dataclass(frozen=True)
class Place:
    """A non-terminal state: who moves in it, what an evaluator says of it, and where its actions lead."""

    mover: int
    value: float
    children: Mapping[str, Place | float | None]
    probabilities: Sequence[float] = ()


same = None
"""In place of a state: it is described elsewhere under the same name."""


def first(value: float, /, **children: Place | float | None) -> Place:
    """A state where player 0 is to move."""
    return Place(0, value, children)


def second(value: float, /, **children: Place | float | None) -> Place:
    """A state where player 1 is to move."""
    return Place(1, value, children)


def chance(value: float, probabilities: Sequence[float], /, **children: Place | float | None) -> Place:
    """A state where chance chooses, by these probabilities."""
    return Place(CHANCE_PLAYER, value, children, probabilities)


class FakeGame:
    """A game whose tree is `root`; a number is a match that has ended before its first action."""

    def __init__(self, root: Place | float) -> None:
        self.places: dict[str, Place | float] = {}
        self._collect(ROOT, root)
        named = {child for place in self.places.values() if isinstance(place, Place) for child in place.children}
        if missing := named - set(self.places):
            raise ValueError(f"`same` states that are described nowhere: {sorted(missing)}")

    def _collect(self, name: str, place: Place | float | None) -> None:
        if place is None:
            return
        if name in self.places:
            raise ValueError(f"two states are called {name!r}: write `same` for all but one")
        self.places[name] = place
        if isinstance(place, Place):
            for child, where in place.children.items():
                self._collect(child, where)

    def max_chance_outcomes(self) -> int:
        return max((len(p.probabilities) for p in self.places.values() if isinstance(p, Place)), default=0)

    def new_initial_state(self) -> FakeState:
        return FakeState(self, ROOT, [])

    def state(self, *names: str) -> FakeState:
        """The state reached from the root through the states called `names`."""
        state = self.new_initial_state()
        for name in names:
            state.apply_action(state.action_to(name))
        return state


class FakeState:
    """A state of a `FakeGame`; `str(state)` is its name."""

    def __init__(self, game: FakeGame, name: str, history: list[int]) -> None:
        self._game = game
        self._name = name
        self._history = history

    def __str__(self) -> str:
        return self._name

    def clone(self) -> FakeState:
        return FakeState(self._game, self._name, list(self._history))

    def child(self, action: int) -> FakeState:
        state = self.clone()
        state.apply_action(action)
        return state

    def apply_action(self, action: int) -> None:
        assert action in self.legal_actions(), f"{action} is not legal in {self}"
        self._name = list(self._place().children)[action - FIRST_ACTION]
        self._history.append(action)

    def legal_actions(self) -> list[int]:
        return [] if self.is_terminal() else [FIRST_ACTION + i for i in range(len(self._place().children))]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        return list(zip(self.legal_actions(), self._place().probabilities, strict=True))

    def action_to(self, name: str) -> int:
        """The action that leads to the state called `name`."""
        return FIRST_ACTION + list(self._place().children).index(name)

    def is_terminal(self) -> bool:
        return not isinstance(self._game.places[self._name], Place)

    def num_players(self) -> int:
        return 2

    def current_player(self) -> int:
        return TERMINAL_PLAYER if self.is_terminal() else self._place().mover

    def move_number(self) -> int:
        return len(self._history)

    def history(self) -> list[int]:
        return list(self._history)

    def player_return(self, player: int) -> float:
        worth = self._game.places[self._name]
        assert not isinstance(worth, Place), f"{self} has no return: it is not terminal"
        return float(worth) if player == 0 else -float(worth)

    def returns(self) -> list[float]:
        return [self.player_return(0), self.player_return(1)]

    @property
    def value(self) -> float:
        """What an evaluator says of this state."""
        return self._place().value

    def _place(self) -> Place:
        place = self._game.places[self._name]
        assert isinstance(place, Place), f"{self} is terminal"
        return place


class Recorder:
    """An evaluator that answers the values written in the tree and keeps what it was asked, names by batches."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, states: Sequence[FakeState]) -> NDArray[np.float64]:
        self.asked.append(" ".join(map(str, states)))
        return np.array([state.value for state in states])


def score(state: FakeState) -> float:
    """An outcome: the number written in the tree."""
    return state.player_return(0)


# Player 0 moves twice in a row in D, H; player 1 in B, N. F, K are won, N lost, H a draw; so is the root.
EXAMPLE = FakeGame(
    first(
        0.0,
        A=second(
            0.6,
            D=first(0.2, G=-3, H=first(0.1, P=0, Q=-2)),
            E=first(0.4, I=0, J=2),
            F=4,
        ),
        B=second(
            0.5,
            K=first(0.3, L=3, M=second(-0.4, R=1)),
            N=second(0.7, S=-1, T=2),
        ),
        C=0,
    )
)
"""The tree that tests/search/test_traces.py works through: UBFM resolves its root in 8 iterations, Descent in 4."""
