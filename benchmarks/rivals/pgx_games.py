"""Pgx's games with OpenSpiel's rules and names.

| OpenSpiel | Pgx | difference |
|---|---|---|
| `connect_four` | `connect_four` | none |
| `hex`, `hex(board_size=N)` | `hex` | Pgx lets the second player swap, which is illegal here |
| `othello` | `othello` | if nobody can move, OpenSpiel ends the game, Pgx after two more passes |

Actions have the same numbers. `verify` compares both in random games.
"""

from __future__ import annotations

import random
import re
from typing import Any

import jax
import jax.numpy as jnp
import pgx
from pgx.hex import GameState, Hex

NAMES = "connect_four, othello, hex or hex(board_size=N) with N from 3 to 19"
PASS = 64
"""Action of a pass in Othello."""
_HEX = re.compile(r"hex(?:\(board_size=(\d{1,2})\))?", re.ASCII)


class HexWithoutSwap(Hex):
    """Pgx's Hex of any size without swap."""

    def _init(self, key: jax.Array) -> Any:
        state, cells = super()._init(key), self.size * self.size
        board = GameState(board=jnp.zeros(cells, jnp.int32))
        return state.replace(_x=board, legal_action_mask=jnp.ones(cells + 1, jnp.bool_).at[-1].set(False))

    def _step(self, state: Any, action: jax.Array, key: jax.Array) -> Any:
        following = super()._step(state, action, key)
        return following.replace(legal_action_mask=following.legal_action_mask.at[-1].set(False))


def load(name: str) -> Any:
    """Returns Pgx's game for an OpenSpiel game string; raises `ValueError` if there is none in the table."""
    if name in ("connect_four", "othello"):
        return pgx.make(name)
    match = _HEX.fullmatch(name)
    if match is None or not 3 <= int(match[1] or 11) <= 19:
        raise ValueError(f"expected {NAMES}, got {name!r}")
    return HexWithoutSwap(size=int(match[1] or 11))


def verify(name: str, matches: int, seed: int) -> int:
    """Plays random games by both rules, and compares mover, legal moves and result after each move.

    Returns:
        Number of compared positions.

    Raises:
        ValueError: the rules differ, or the game is not in the table.
    """
    import pyspiel

    env, game, rng = load(name), pyspiel.load_game(name), random.Random(seed)
    init, step = jax.jit(env.init), jax.jit(env.step)
    compared = 0
    for match in range(matches):
        ours, theirs = game.new_initial_state(), init(jax.random.PRNGKey(rng.randrange(2**31)))
        first = int(theirs.current_player)  # Pgx draws the player who starts
        while True:
            problem = _difference(ours, theirs, first)
            if problem:
                raise ValueError(f"{name}, match {match}, after {ours.history()}: {problem}")
            compared += 1
            if ours.is_terminal():
                break
            action = rng.choice(ours.legal_actions())
            ours.apply_action(action)
            theirs = step(theirs, jnp.int32(action))
            if name == "othello" and ours.is_terminal():
                theirs = _passed(theirs, step)
    return compared


def _passed(theirs: Any, step: Any) -> Any:
    """Returns Pgx's state after two passes if nobody can move."""
    for _ in range(2):
        if not theirs.terminated and not theirs.legal_action_mask[:PASS].any():
            theirs = step(theirs, jnp.int32(PASS))
    return theirs


def _difference(ours: Any, theirs: Any, first: int) -> str:
    """Returns the difference between the states as text; empty if there is none."""
    if ours.is_terminal() != bool(theirs.terminated):
        return f"OpenSpiel {'ends' if ours.is_terminal() else 'continues'}, Pgx does not"
    if ours.is_terminal():
        results = [float(theirs.rewards[first]), float(theirs.rewards[1 - first])]
        return "" if results == ours.returns() else f"OpenSpiel gives {ours.returns()}, Pgx {results}"
    if (int(theirs.current_player) != first) != bool(ours.current_player()):
        return "another player is to move"
    legal = [action for action, is_legal in enumerate(theirs.legal_action_mask.tolist()) if is_legal]
    return "" if legal == ours.legal_actions() else f"OpenSpiel allows {ours.legal_actions()}, Pgx {legal}"
