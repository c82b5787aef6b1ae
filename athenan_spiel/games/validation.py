"""Checks of games and states at the public interface; internal code relies on them.

A game is a `pyspiel.Game` that meets every condition, or a string for `load_game`. Any other object with
`new_initial_state`, such as a test's hand-made tree, counts as a valid game. An object with `legal_actions` but
without `get_game` counts as a state of the required game.
"""

from __future__ import annotations

import functools
from typing import Any

import pyspiel

from athenan_spiel.errors import SearchError, UnsupportedGameError, shown
from athenan_spiel.games.conditions import require_game, unmet_conditions
from athenan_spiel.games.lasting_states import lasting
from athenan_spiel.games.loading import load_game, parameter_fault
from athenan_spiel.games.spec import spec_of

_OTHERS = {
    int(pyspiel.PlayerId.CHANCE): "chance moves",
    int(pyspiel.PlayerId.SIMULTANEOUS): "all players move at once",
}


def given_game(game: pyspiel.Game | str) -> pyspiel.Game:
    """Return `game`, or load it if it is a string.

    Raises:
        UnsupportedGameError: `game` is not a game, does not meet a condition (the message lists all), or has parameters
            that OpenSpiel plays wrongly.
    """
    if isinstance(game, str):
        return load_game(game)
    require_game(game)
    if isinstance(game, pyspiel.Game):
        if unmet := unmet_conditions(game):
            raise UnsupportedGameError(f"{shown(str(game))} is not supported: {'; '.join(unmet)}")
        if fault := parameter_fault(spec_of(game)):
            raise UnsupportedGameError(f"{shown(str(game))} cannot be played: {fault}")
        return lasting(game)
    return game


def same_game(one: pyspiel.Game | str, other: pyspiel.Game | str) -> bool:
    """Return whether two games have the same name and the same parameters, defaults included.

    `mnk()` is the same game as `mnk(m=15,n=15,k=5)`. The answer depends on the strings of the games alone: OpenSpiel
    adds the default of a parameter to `get_parameters()` when the game first reads it, which some games do late.
    """
    return str(one) == str(other) or _rules(str(one)) == _rules(str(other))


@functools.lru_cache(maxsize=256)
def _rules(text: str) -> object:
    """Return all parameters of the game of a game string; `text` itself without such a game."""
    try:
        return _all_parameters(load_game(text))
    except UnsupportedGameError:
        return text


def _all_parameters(game: pyspiel.Game) -> dict[str, Any]:
    kind = game.get_type()
    found = {"name": kind.short_name, **kind.parameter_specification, **game.get_parameters()}
    for parameter, value in found.items():
        if isinstance(value, dict) and "name" in value:
            inner = dict(value)
            found[parameter] = _all_parameters(pyspiel.load_game(inner.pop("name"), inner))
    return found


def require_state(game: pyspiel.Game | str, state: pyspiel.State) -> None:
    """Raise `SearchError` unless `state` is one of `game`, terminal or not.

    Games are compared by `same_game`.
    """
    if not hasattr(state, "legal_actions"):
        raise SearchError(f"expected a state of {shown(str(game))}, got {shown(state)}")
    of = state.get_game() if hasattr(state, "get_game") else game
    if of is not game and not same_game(of, game):
        raise SearchError(f"expected a state of {shown(str(game))}, got one of {shown(str(of))}")


def require_open_state(game: pyspiel.Game | str, state: pyspiel.State) -> None:
    """Raise `SearchError` unless `state` is one of `game` in which a player chooses an action."""
    require_state(game, state)
    require_choice(state)


def require_choice(state: pyspiel.State) -> None:
    """Raise `SearchError` unless `state` is a state, of any game, in which a player chooses an action."""
    if not hasattr(state, "legal_actions"):
        raise SearchError(f"expected a state of a game, got {shown(state)}")
    if state.is_terminal():
        raise no_choice(state)
    mover_of(state)


def mover_of(state: pyspiel.State) -> int:
    """Return the player to move.

    Raises:
        SearchError: no player chooses an action in `state`.
    """
    mover: int = state.current_player()
    if mover < 0:
        raise no_choice(state)
    return mover


def no_choice(state: pyspiel.State) -> SearchError:
    """Return the error for a state in which no player chooses an action."""
    if state.is_terminal():
        return SearchError(
            f"expected a state with an action to choose, got a terminal one after {shown(state.history())}"
        )
    mover = state.current_player()
    who = _OTHERS.get(mover, f"the mover is {mover!r}")
    return SearchError(f"expected a state in which one player is to move, got one where {who}")
