"""Moves given by people, by name or by number."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyspiel

from athenan_spiel.errors import ConfigError, nearest, shown
from athenan_spiel.games.chance import is_chance, possible_actions

LISTED = 10
"""Number of legal moves listed in the message about an illegal one."""

_NUMBER = re.compile(r"[0-9]{1,18}")


def position(game: pyspiel.Game, moves: Iterable[str]) -> pyspiel.State:
    """Return the state after `moves`, given by name or number, from the initial state.

    The outcomes of chance are given like moves. The state may be a chance state.

    Raises:
        ConfigError: a move is illegal, or the moves end the game.
    """
    state = game.new_initial_state()
    for number, move in enumerate(moves, 1):
        if state.is_terminal():
            raise ConfigError(
                f"expected no move {number}, as the game has ended ({_returns(state)}); got {shown(move)}"
            )
        names = {action: state.action_to_string(state.current_player(), action) for action in possible_actions(state)}
        action = move_called(move, names)
        if action is None:
            listed = ", ".join(list(names.values())[:LISTED])
            rest = f" and {len(names) - LISTED} others" if len(names) > LISTED else ""
            expected = "an outcome of chance" if is_chance(state) else "a legal move"
            raise ConfigError(
                f"expected {expected} as move {number}, got {shown(move)}{nearest(move, names.values())}; "
                f"legal are {listed}{rest}"
            )
        state.apply_action(action)
    if state.is_terminal():
        raise ConfigError(f"expected a position with a move to play, got the end of the game: {_returns(state)}")
    return state


def move_names(state: pyspiel.State, actions: Iterable[int]) -> list[str]:
    """Return the names of consecutive actions from `state` on, as OpenSpiel writes them."""
    state = state.clone()
    names = []
    for action in actions:
        names.append(state.action_to_string(state.current_player(), action))
        state.apply_action(action)
    return names


def _returns(state: pyspiel.State) -> str:
    return f"returns {', '.join(f'{gain:g}' for gain in state.returns())}"


def move_called(answer: str, names: dict[int, str]) -> int | None:
    """Return the action called `answer`: by name, by name regardless of case, or by number; None without one."""
    exact = [action for action, name in names.items() if name == answer]
    loose = [action for action, name in names.items() if name.lower() == answer.lower()]
    for found in (exact, loose):
        if len(found) == 1:
            return found[0]
    return int(answer) if _NUMBER.fullmatch(answer) and int(answer) in names else None
