"""State queries: methods of a state or its game that describe the state, with results that can be compared.

No query may change the result of another one. A query gets the legal actions that it needs as an argument, so it makes
no other query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.observation import make_observation

from athenan_spiel.games.chance import has_chance, is_chance
from athenan_spiel.games.extensions import STATE_QUERIES, makes_children, own_text

Query = Callable[[Any, Sequence[int]], Hashable]
"""(state, its legal actions) -> a comparable result."""

_NAMED = 2
"""Maximum number of actions of a state whose names are compared."""


class StateQueries:
    """The queries that the states of a game support.

    Attributes:
        ways: queries by the name of the method they call.
        shape: shape of the observation; empty without one.
        sight: names of the queries compared when there is no time for all.
    """

    def __init__(self, game: pyspiel.Game) -> None:
        kind = game.get_type()
        self.shape = tuple(game.observation_tensor_shape()) if kind.provides_observation_tensor else ()
        self._observer = make_observation(game) if kind.provides_observation_tensor else None
        state = game.new_initial_state()
        self.ways: dict[str, Query] = {
            "current_player()": lambda state, actions: (state.current_player(), state.is_terminal()),
            "legal_actions()": lambda state, actions: tuple(state.legal_actions()),
            "returns()": lambda state, actions: tuple(state.returns()),
            "str()": lambda state, actions: str(state),
            "action_to_string()": _names,
            "history()": lambda state, actions: (tuple(state.history()), state.move_number()),
            "serialize()": lambda state, actions: state.serialize(),
            "clone()": lambda state, actions: tuple(state.clone().legal_actions()),
            "child()": lambda state, actions: tuple(
                self._child_summary(state.child(action)) for action in sample(actions, 2)
            ),
        }
        if has_chance(game):
            self.ways["chance_outcomes()"] = lambda state, actions: _outcomes(state)
        if kind.provides_observation_string:
            self.ways["observation_string()"] = lambda state, actions: state.observation_string(0)
        if self._observer is not None:
            self.ways["observation_tensor()"] = lambda state, actions: _bytes(state.observation_tensor(0))
            self.ways["set_from()"] = lambda state, actions: self.observed(state).tobytes()
        if makes_children(state):
            self.ways["children()"] = self._children
        if (text_of := own_text(game)) is not None:
            self.ways["transposition_text()"] = lambda state, actions: text_of(state)
        for name in STATE_QUERIES:
            if hasattr(state, name):
                self.ways[f"{name}()"] = _calling(name)
        compared = (
            "current_player()",
            "legal_actions()",
            "returns()",
            "str()",
            "set_from()",
            "key()",
            "chance_outcomes()",
        )
        self.sight = tuple(name for name in compared if name in self.ways)

    def observed(self, state: pyspiel.State) -> Any:
        """Return the observation of a state, float32 [size], in memory that the next call reuses."""
        assert self._observer is not None
        self._observer.set_from(state, 0)
        return self._observer.tensor

    def read(self, state: pyspiel.State, actions: Sequence[int], names: Iterable[str]) -> dict[str, Hashable]:
        """Return the results of the queries `names` for a state, made in this order."""
        return {name: self.ways[name](state, actions) for name in names}

    def rotated(self, by: int) -> list[str]:
        """Return the names of all queries, rotated by `by`."""
        names = list(self.ways)
        first = by % len(names)
        return names[first:] + names[:first]

    def _child_summary(self, child: pyspiel.State) -> Hashable:
        """Return what a search reads of a child."""
        seen = self.observed(child).tobytes() if self.shape else str(child)
        return child.current_player(), tuple(child.returns()), seen

    def _children(self, state: Any, actions: Sequence[int]) -> Hashable:
        together = state.children(actions)
        rows = np.zeros((len(actions), math.prod(self.shape)), np.float32)
        together.observe(rows)
        return tuple(together.players), rows.tobytes()


def sample(items: Sequence[int], most: int) -> list[int]:
    """Return at most `most` evenly spaced items, with the first and the last."""
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)] if most > 1 else [items[0]]


def _outcomes(state: pyspiel.State) -> Hashable:
    return tuple(state.chance_outcomes()) if is_chance(state) else ()


def _names(state: pyspiel.State, actions: Sequence[int]) -> Hashable:
    return tuple(state.action_to_string(action) for action in sample(actions, _NAMED))


def _bytes(numbers: Sequence[float]) -> bytes:
    return np.asarray(numbers, np.float32).tobytes()


def _calling(name: str) -> Query:
    return lambda state, actions: getattr(state, name)()
