"""Trying every game of Ludii's: which can be played through OpenSpiel, and why not where they cannot.

A game is supported if it loads and obeys these laws in random matches:

1. Legal actions are 0 to n - 1, none only at the end, and never more than the game declares.
2. Looking at a state, at its moves, its tensor and its children, leaves it as it is.
3. Returns sum to zero, lie within [-1, 1], and are zeros before the end.
4. The tensor is finite and of the declared shape.
5. The same history leads to the same state, and a clone goes its own way.
6. A match ends within the declared length.
7. Children that are made together are those made alone.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.observation import make_observation

from ludii_bridge.errors import LudiiError


@dataclass(frozen=True)
class Verdict:
    """What was found of one game.

    Attributes:
        name: Ludii's.
        reason: why it is not supported; empty where it is.
        shape: of its tensor.
        actions: the number of actions that it declares.
        branching: the most legal moves that were met.
        plies: the moves played in the longest match.
        ended: matches that ended before they were stopped.
    """

    name: str
    reason: str
    shape: tuple[int, ...] = ()
    actions: int = 0
    branching: int = 0
    plies: int = 0
    ended: int = 0


class _BrokenLawError(Exception):
    """A law of this module does not hold."""


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
        return Verdict(name, str(error).removeprefix(f"{name} is not supported: "))
    except _BrokenLawError as error:
        return Verdict(name, str(error))
    shape = tuple(game.observation_tensor_shape())
    return Verdict(name, "", shape, game.num_distinct_actions(), trial.branching, trial.plies, trial.ended)


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
            self._require(state.returns() == [0, 0], 3, state, f"returns {state.returns()} before the end")
            self.branching = max(self.branching, len(actions))
            before = self._sight(state)
            action = rng.choice(actions)
            child = self._children(state, actions, action, rng)
            self._require(self._sight(state) == before, 2, state, "it changed by being looked at")
            state.apply_action(action)
            self._require(self._sight(state) == self._sight(child), 7, state, "made alone it is another state")
        self._end(state)

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
        self._require(sum(returns) == 0 and abs(returns[0]) <= 1, 3, state, f"returns {returns}")
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


def table(verdicts: list[Verdict], version: str) -> str:
    """The verdicts as a page of Markdown: a summary, what is supported, and why the rest is not."""
    supported = [verdict for verdict in verdicts if not verdict.reason]
    others = [verdict for verdict in verdicts if verdict.reason]
    rows = [
        f"| {v.name} | {' x '.join(map(str, v.shape))} | {v.branching} | {v.plies} | {v.ended} |" for v in supported
    ]
    return "\n".join(
        [
            f"# The board games of Ludii {version}",
            "",
            f"{len(supported)} of {len(verdicts)} board games can be played through the bridge with their default",
            "options. `python -m ludii_bridge sweep` makes this page: it loads each game, plays random matches, which",
            "stop after a number of moves, and holds every state to the laws of `ludii_bridge/sweep.py`.",
            "",
            "| game | tensor | most legal moves | longest match | matches that ended |",
            "|---|---|---|---|---|",
            *rows,
            "",
            "## Not supported",
            "",
            "| game | reason |",
            "|---|---|",
            *(f"| {v.name} | {v.reason.replace('|', '/')} |" for v in others),
            "",
        ]
    )
