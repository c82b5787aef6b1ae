"""Trying every game of Ludii's: which can be played through OpenSpiel, and why not where they cannot.

A game is supported if it loads and obeys these laws in random matches:

1. Legal actions are 0 to n - 1, none only at the end, and never more than the game declares.
2. Looking at a state, at its moves, its tensor and its children, leaves it as it is.
3. Returns are zeros before the end; those of two players sum to zero and lie within [-1, 1].
4. The tensor is finite and of the declared shape.
5. The same history leads to the same state, and a clone goes its own way.
6. A match ends within the declared length.
7. Children that are made together are those made alone.

Laws 2, 4 and 7 are tested at the first moves of a match and then at every tenth: they cost more than all else.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.observation import make_observation

from ludii_bridge.connection import connect
from ludii_bridge.errors import LudiiError
from ludii_bridge.verdicts import Verdict
from ludii_bridge.watched import FailedCallError, Watched

_CLOSELY = 10
"""Moves at the beginning of a match that are looked at closely, and the distance between those later."""


class _BrokenLawError(Exception):
    """A law of this module does not hold."""


def sweep(names: Iterable[str], matches: int, max_length: int, seconds: float) -> Iterator[Verdict]:
    """The verdict of each game, as soon as there is one.

    Args:
        names: as Ludii writes them.
        matches, max_length: see `try_game`.
        seconds: for a game at most, which is tried in another process and given up then; 0 for no limit and none.
    """
    trial = functools.partial(try_game, matches=matches, max_length=max_length)
    if not seconds:
        yield from map(trial, names)
        return
    with Watched(trial, seconds) as watched:
        for name in names:
            try:
                yield watched(name)
            except FailedCallError as error:
                yield _stamped(Verdict(name, str(error)))


def try_game(name: str, *, matches: int = 2, max_length: int = 200, rng: random.Random | None = None) -> Verdict:
    """Load a game and play random matches by the laws of this module.

    Args:
        name: as Ludii writes it.
        matches: how many.
        max_length: moves after which a match is stopped; the game's own limit is set to it.
        rng: chooses the moves; by default always the same ones.
    """
    rng = rng or random.Random(0)
    try:
        game = pyspiel.load_game("ludii", {"game": name.translate(str.maketrans("()", "[]")), "max_length": max_length})
        trial = _Trial(game)
        for _ in range(matches):
            trial.match(rng)
    except LudiiError as error:
        return _stamped(Verdict(name, str(error).removeprefix(f"{name} is not supported: ")))
    except _BrokenLawError as error:
        return _stamped(Verdict(name, str(error)))
    players, actions = game.num_players(), game.num_distinct_actions()
    shape = tuple(game.observation_tensor_shape())
    return _stamped(Verdict(name, "", players, shape, actions, trial.branching, trial.plies, trial.ended))


def _stamped(verdict: Verdict) -> Verdict:
    """With Ludii's version and today's date."""
    return replace(verdict, version=connect().version, date=date.today().isoformat())


class _Trial:
    """Random matches of one game."""

    def __init__(self, game: Any) -> None:
        self._game = game
        self._observation = make_observation(game)
        self._size = math.prod(game.observation_tensor_shape())
        self.branching = self.plies = self.ended = 0

    def match(self, rng: random.Random) -> None:
        """Play one to the end."""
        state = self._game.new_initial_state()
        while not state.is_terminal():
            self._require(len(state.history()) < self._game.max_game_length(), 6, state, "no end")
            actions = state.legal_actions()
            self._require(actions == list(range(len(actions))) != [], 1, state, f"{len(actions)} legal actions")
            self._require(not any(state.returns()), 3, state, f"returns {state.returns()} before the end")
            self.branching = max(self.branching, len(actions))
            self._move(state, actions, rng)
        self._end(state)

    def _move(self, state: Any, actions: list[int], rng: random.Random) -> None:
        """Play a random action, and look closely at what happens if it is time to."""
        action = rng.choice(actions)
        plies = len(state.history())
        if plies >= _CLOSELY and plies % _CLOSELY:
            state.apply_action(action)
            return
        before = self._sight(state)
        child = self._children(state, actions, action, rng)
        self._require(self._sight(state) == before, 2, state, "it changed by being looked at")
        state.apply_action(action)
        self._require(self._sight(state) == self._sight(child), 7, state, "made alone it is another state")

    def _children(self, state: Any, actions: list[int], action: int, rng: random.Random) -> Any:
        """The child after `action`, made together with one more, which then goes its own way."""
        other = state.child(rng.choice(actions))
        child = state.child(action)
        if not other.is_terminal():
            other.clone().apply_action(0)
            other.apply_action(rng.randrange(len(other.legal_actions())))
        return child

    def _end(self, state: Any) -> None:
        returns = state.returns()
        fair = len(returns) == 1 or (sum(returns) == 0 and abs(returns[0]) <= 1)
        self._require(fair, 3, state, f"returns {returns}")
        self._require(state.legal_actions() == [], 1, state, "legal actions at the end")
        again = self._game.new_initial_state()
        for action in state.history():
            again.apply_action(action)
        self._require(self._sight(again) == self._sight(state), 5, state, "the same history gave another state")
        self.plies = max(self.plies, len(state.history()))
        self.ended += len(state.history()) < self._game.max_game_length()

    def _sight(self, state: Any) -> tuple[Any, ...]:
        self._observation.set_from(state, 0)
        tensor = self._observation.tensor
        fine = tensor.size == self._size and bool(np.isfinite(tensor).all())
        self._require(fine, 4, state, "the tensor is of another shape or not finite")
        actions = state.legal_actions()
        words = [state.action_to_string(action) for action in actions[:1]]
        return str(state), len(actions), words, state.returns(), tensor.tobytes()

    def _require(self, condition: bool, law: int, state: Any, found: str) -> None:
        if not condition:
            raise _BrokenLawError(f"it breaks law {law}: {found}, after {len(state.history())} moves")
