"""The laws that every game here obeys, and a check of a game against them.

1. An unfinished state has a mover, player 0 or 1, or 0 alone where it is the only one; a finished one has `TERMINAL`
   and no legal action.
2. Legal actions are in ascending order, without repetition, within [0, num_distinct_actions), and never none.
3. `child` leaves its parent as it was.
4. The returns of a finished match sum to zero and lie between `min_utility` and `max_utility`; before, they are 0.
   Those of a single player need only lie there in the end.
5. An observation, where there is one, has the declared shape and finite numbers.
6. An observer that is used again gives the same observation as a new one.
7. A match ends within `max_game_length` actions.
8. The same history leads to the same state.

Searches, encoders and transposition keys rely on these. The check plays random matches; it proves nothing.
"""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.observation import make_observation

from athenan_spiel.arguments import require_kind, require_whole
from athenan_spiel.config.settings import MOST
from athenan_spiel.errors import UnsupportedGameError, shown
from athenan_spiel.games.conditions import require_game
from athenan_spiel.games.loading import load_game

_TOLERANCE = 1e-6
"""Of sums of returns, which may be fractions."""


def check_game(game: pyspiel.Game | str, *, matches: int = 3, rng: random.Random | None = None) -> None:
    """Play `matches` random matches of `game` and hold every state to the laws of this module.

    Args:
        game: the game, which need not be one that `load_game` gives, or the string of one that is.
        matches: how many matches.
        rng: chooses the actions; by default always the same ones.

    Raises:
        UnsupportedGameError: a law is broken; the message has its number, what was found, and the history. Or it is no
            game, or `matches` or `rng` are not what they should be.
    """
    game = load_game(game) if isinstance(game, str) else game
    require_game(game)
    require_whole("matches", matches, UnsupportedGameError)
    if not 1 <= matches <= MOST:
        raise UnsupportedGameError(f"matches must be from 1 to {MOST:,}, got {shown(matches)}")
    require_kind("rng", rng, random.Random, UnsupportedGameError, or_none=True)
    rng = rng or random.Random(0)
    check = _Check(game)
    for _ in range(matches):
        state = game.new_initial_state()
        check.state(state)
        while not state.is_terminal():
            action = rng.choice(state.legal_actions())
            before = _sight(state)
            child = state.child(action)
            check.holds(3, _sight(state) == before, state, f"child({action}) changed its parent")
            state = child
            check.state(state)
        check.replay(state)


class _Check:
    """Holds the states of one game to the laws."""

    def __init__(self, game: pyspiel.Game) -> None:
        self._game = game
        self._actions = game.num_distinct_actions()
        self._players = game.num_players()
        self._longest = game.max_game_length()
        self._observed = game.get_type().provides_observation_tensor
        self._shape = tuple(game.observation_tensor_shape()) if self._observed else ()
        self._observer = make_observation(game) if self._observed else None

    def holds(self, law: int, condition: bool, state: pyspiel.State, found: str) -> None:
        """Raise `UnsupportedGameError` for `law` unless `condition` is true."""
        if not condition:
            raise UnsupportedGameError(f"{self._game} breaks law {law} of games: {found}, after {state.history()}")

    def state(self, state: pyspiel.State) -> None:
        """Laws 1, 2, 4, 5, 6 and 7."""
        mover, actions = state.current_player(), state.legal_actions()
        if state.is_terminal():
            self.holds(1, mover == pyspiel.PlayerId.TERMINAL, state, f"current_player() is {mover} at the end")
            self.holds(1, not actions, state, f"{actions} are legal at the end")
        else:
            self.holds(1, 0 <= mover < self._players, state, f"current_player() is {mover}")
            self._legal(state, actions)
        self._returns(state)
        self._observation(state)
        length = len(state.history())
        ends = length < self._longest or (length == self._longest and state.is_terminal())
        self.holds(7, ends, state, f"{length} actions and no end, where max_game_length() is {self._longest}")

    def replay(self, state: pyspiel.State) -> None:
        """Law 8."""
        again = self._game.new_initial_state()
        for action in state.history():
            again.apply_action(action)
        self.holds(8, _sight(again) == _sight(state), state, "the same history gave another state")

    def _legal(self, state: pyspiel.State, actions: list[int]) -> None:
        self.holds(2, len(actions) > 0, state, "no action is legal in an unfinished state")
        ascending = all(a < b for a, b in pairwise(actions))
        self.holds(2, ascending, state, f"legal_actions() are not in ascending order: {actions}")
        within = min(actions) >= 0 and max(actions) < self._actions
        self.holds(2, within, state, f"{actions} are not all within [0, {self._actions})")

    def _returns(self, state: pyspiel.State) -> None:
        returns = state.returns()
        alone = self._players == 1
        if not state.is_terminal():
            self.holds(4, alone or not any(returns), state, f"returns() are {returns} before the end")
            return
        least, most = self._game.min_utility(), self._game.max_utility()
        zero_sum = alone or math.isclose(sum(returns), 0, abs_tol=_TOLERANCE)
        self.holds(4, zero_sum, state, f"returns() are {returns}, not zero-sum")
        bounded = all(least - _TOLERANCE <= x <= most + _TOLERANCE for x in returns)
        self.holds(4, bounded, state, f"returns() are {returns}, beyond [{least}, {most}]")

    def _observation(self, state: pyspiel.State) -> None:
        if self._observer is None:
            return
        tensor = np.asarray(state.observation_tensor(0), np.float32)
        declared = math.prod(self._shape)
        self.holds(5, tensor.size == declared, state, f"{tensor.size} numbers observed, {self._shape} declared")
        self.holds(5, bool(np.isfinite(tensor).all()), state, "an observed number is not finite")
        self._observer.set_from(state, 0)
        same = np.array_equal(self._observer.tensor, tensor)
        self.holds(6, same, state, "an observer used again gave another observation than a new one")


def _sight(state: pyspiel.State) -> tuple[Any, ...]:
    """All that can be seen of a state."""
    return (
        str(state),
        state.current_player(),
        state.legal_actions(),
        state.returns(),
        state.observation_tensor(0) if state.get_game().get_type().provides_observation_tensor else None,
        state.history(),
    )
