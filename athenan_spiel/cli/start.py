"""Where matches begin, as the command line says it: the game, and the moves that were played already; and how moves are
written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from athenan_spiel.errors import ConfigError, nearest, shown

if TYPE_CHECKING:
    import pyspiel

    from agents import AgentWord

LISTED = 10
"""The number of legal moves that are shown where one is refused."""


def game_for(spec: str | None, agents: Sequence[AgentWord]) -> pyspiel.Game:
    """The game named on the command line, else that of the first run among the agents.

    Raises:
        ConfigError: neither names one.
        UnsupportedGameError: the game is unknown, or cannot be played.
        CheckpointError: the run cannot be used.
    """
    from athenan_spiel.games import load_game

    if spec is not None:
        return load_game(spec)
    learned = next((word.learned_game() for word in agents if word.bot == "athenan"), None)
    if learned is None:
        raise ConfigError("expected a game, as no agent is a run: add one such as --game connect_four")
    return load_game(learned)


def position(game: pyspiel.Game, moves: Iterable[str]) -> pyspiel.State:
    """The state after `moves` from the initial one, each by its name or its number; a player is to move there.

    Raises:
        ConfigError: a move is not legal where it stands, or they end the match.
    """
    from agents.human import move_called

    state = game.new_initial_state()
    for number, move in enumerate(moves, 1):
        if state.is_terminal():
            raise ConfigError(
                f"expected no move {number}, as the match has ended ({_returns(state)}); got {shown(move)}"
            )
        names = {action: state.action_to_string(state.current_player(), action) for action in state.legal_actions()}
        action = move_called(move, names)
        if action is None:
            listed = ", ".join(list(names.values())[:LISTED])
            rest = f" and {len(names) - LISTED} others" if len(names) > LISTED else ""
            raise ConfigError(
                f"expected a legal move as move {number}, got {shown(move)}{nearest(move, names.values())}; "
                f"legal are {listed}{rest}"
            )
        state.apply_action(action)
    if state.is_terminal():
        raise ConfigError(f"expected a position with a move to play, got the end of the match: {_returns(state)}")
    return state


def move_names(state: pyspiel.State, actions: Iterable[int]) -> list[str]:
    """The moves from `state` on, as OpenSpiel writes them."""
    state = state.clone()
    names = []
    for action in actions:
        names.append(state.action_to_string(state.current_player(), action))
        state.apply_action(action)
    return names


def _returns(state: pyspiel.State) -> str:
    return f"returns {', '.join(f'{worth:g}' for worth in state.returns())}"
