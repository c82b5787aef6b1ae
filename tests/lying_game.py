"""A native game with everything that a game here may offer, whose answers can be lied about.

A lie is a function of (state, what was asked, the true answer) that gives the answer. It may look at `state.asked`,
what the state was asked since its last action, and at `state.way`, how it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyspiel

Lie = Callable[["LyingState", str, Any], Any]


def truth(state: LyingState, name: str, answer: Any) -> Any:
    return answer


class LyingState:
    """A state of a `LyingGame`.

    Attributes:
        asked: the names of what it was asked since its last action.
        way: "start", "clone", "child", "children", "text" or "pickle".
        source: the state that it was cloned from, or None.
        clones: those that were made of it.
        moved: the number of actions that were played in it itself.
        made: the number of matches that had begun when it was made.
    """

    def __init__(self, game: LyingGame, real: pyspiel.State, way: str, source: LyingState | None = None) -> None:
        self.game = game
        self.real = real
        self.way = way
        self.source = source
        self.clones: list[LyingState] = []
        self.asked: list[str] = []
        self.moved = 0
        self.made = game.made

    def tell(self, name: str, answer: Any) -> Any:
        told = self.game.lie(self, name, answer)
        self.asked.append(name)
        return told

    def apply_action(self, action: int) -> None:
        self.real.apply_action(action)
        self.asked.clear()
        self.moved += 1

    def is_terminal(self) -> bool:
        return bool(self.real.is_terminal())

    def move_number(self) -> int:
        return int(self.real.move_number())

    def current_player(self) -> Any:
        return self.tell("current_player", self.real.current_player())

    def legal_actions(self) -> Any:
        return self.tell("legal_actions", self.real.legal_actions())

    def chance_outcomes(self) -> Any:
        return self.tell("chance_outcomes", self.real.chance_outcomes())

    def returns(self) -> Any:
        return self.tell("returns", self.real.returns())

    def __str__(self) -> str:
        return str(self.tell("str", str(self.real)))

    def action_to_string(self, action: int) -> Any:
        return self.tell("action_to_string", self.real.action_to_string(action))

    def history(self) -> Any:
        return self.tell("history", self.real.history())

    def serialize(self) -> Any:
        return self.tell("serialize", self.real.serialize())

    def observation_string(self, player: int) -> Any:
        return self.tell("observation_string", self.real.observation_string(player))

    def observation_tensor(self, player: int) -> Any:
        return self.tell("observation_tensor", self.real.observation_tensor(player))

    def key(self) -> Any:
        return self.tell("key", str(self.real))

    def scores(self) -> Any:
        return self.tell("scores", self.real.move_number())

    def pieces(self) -> Any:
        return self.tell("pieces", self.real.move_number())

    def clone(self) -> Any:
        made = LyingState(self.game, self.real.clone(), "clone", self)
        self.clones.append(made)
        return self.tell("clone", made)

    def child(self, action: int) -> Any:
        return self.tell("child", LyingState(self.game, self.real.child(action), "child"))

    def children(self, actions: Sequence[int]) -> Any:
        return self.tell("children", Children(self.game, [self.real.child(action) for action in actions]))

    def __reduce__(self) -> Any:
        return _unpickled, (self.tell("pickle", self.game.number), self.real.history())


class Children(list[LyingState]):
    """What `children` gives."""

    def __init__(self, game: LyingGame, states: list[pyspiel.State]) -> None:
        super().__init__(LyingState(game, state, "children") for state in states)
        self.players = [state.current_player() for state in states]
        self.spoil = 0.0

    def observe(self, rows: Any) -> None:
        for row, state in zip(rows, self, strict=True):
            row[:] = np.array(state.real.observation_tensor(0)) + self.spoil


class LyingGame:
    """A game whose states tell a lie.

    Args:
        lie: see above; by default there is none.
        spec: the true game.
        **own: what its own methods give, in place of the true answers.
    """

    games: list[LyingGame] = []  # noqa: RUF012  by their numbers, for `pickle`

    def __init__(self, lie: Lie = truth, spec: str = "tic_tac_toe", **own: Any) -> None:
        self.real = pyspiel.load_game(spec)
        self.lie = lie
        self.own = own
        self.made = 0
        self.number = len(self.games)
        self.games.append(self)

    def __getattr__(self, name: str) -> Any:
        return (lambda: self.own[name]) if name in self.own else getattr(self.real, name)

    def __str__(self) -> str:
        return str(self.real)

    def new_initial_state(self) -> LyingState:
        self.made += 1
        return LyingState(self, self.real.new_initial_state(), "start")

    def transposition_text(self, state: LyingState) -> Any:
        return state.tell("transposition_text", str(state.real))

    def deserialize_state(self, text: str) -> LyingState:
        return LyingState(self, self.real.deserialize_state(text), "text")

    def make_py_observer(self, kind: object, parameters: object) -> Observer:
        return Observer()


class Observer:
    """An observer as `make_observation` gives."""

    def __init__(self) -> None:
        self.tensor = np.zeros(27, np.float32)

    def set_from(self, state: LyingState, player: int) -> None:
        tensor = state.tell("set_from", np.array(state.real.observation_tensor(player), np.float32))
        if np.size(tensor) != self.tensor.size:
            self.tensor = np.zeros(np.size(tensor), np.float32)
        self.tensor[:] = tensor


def _unpickled(number: int, history: list[int]) -> LyingState:
    game = LyingGame.games[number]
    real = game.real.new_initial_state()
    for action in history:
        real.apply_action(action)
    return LyingState(game, real, "pickle")
