"""Games and states as callers give them, checked once where they come in, and not again below.

A game is a `pyspiel.Game` that meets every condition, or the string that `load_game` makes one of. What is neither but
offers `new_initial_state`, as a test's hand-made tree does, is taken for a game that meets them; a state that offers
`legal_actions` but no `get_game`, for a state of the game in question.
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

PLAYERS = (0, 1)
"""Who may be to move."""
_OTHERS = {
    int(pyspiel.PlayerId.CHANCE): "chance moves",
    int(pyspiel.PlayerId.SIMULTANEOUS): "all players move at once",
}


def given_game(game: pyspiel.Game | str) -> pyspiel.Game:
    """The game that is meant by `game`: itself, or what `load_game` makes of the string.

    Raises:
        UnsupportedGameError: it is no game, it is outside what the algorithms assume (with every unmet condition), or
            it has parameters that OpenSpiel plays wrongly.
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
    """Returns whether two games have the same name and the same parameters, defaults included.

    `mnk()` is the same game as `mnk(m=15,n=15,k=5)`. The answer depends on the strings of the games alone: OpenSpiel
    adds the default of a parameter to `get_parameters()` when the game first reads it, which some games do late.
    """
    return str(one) == str(other) or _rules(str(one)) == _rules(str(other))


@functools.lru_cache(maxsize=256)
def _rules(text: str) -> object:
    """All parameters of the game of a game string; `text` itself where there is none."""
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

    See `same_game`; the string of a game may stand for it.
    """
    if not hasattr(state, "legal_actions"):
        raise SearchError(f"expected a state of {shown(str(game))}, got {shown(state)}")
    of = state.get_game() if hasattr(state, "get_game") else game
    if of is not game and not same_game(of, game):
        raise SearchError(f"expected a state of {shown(str(game))}, got one of {shown(str(of))}")


def require_open_state(game: pyspiel.Game | str, state: pyspiel.State) -> None:
    """Raise `SearchError` unless `state` is one of `game` in which a player is to choose an action."""
    require_state(game, state)
    require_choice(state)


def require_choice(state: pyspiel.State) -> None:
    """Raise `SearchError` unless `state` is one, of whatever game, in which a player is to choose an action."""
    if not hasattr(state, "legal_actions"):
        raise SearchError(f"expected a state of a game, got {shown(state)}")
    if state.is_terminal():
        raise _no_choice(state)
    mover_of(state)


def mover_of(state: pyspiel.State) -> int:
    """The player to move, one of `PLAYERS`: whoever acts by who moves asks here.

    Raises:
        SearchError: none of them is to choose an action in `state`.
    """
    mover: int = state.current_player()
    if mover not in PLAYERS:
        raise _no_choice(state)
    return mover


def _no_choice(state: pyspiel.State) -> SearchError:
    if state.is_terminal():
        return SearchError(
            f"expected a state with an action to choose, got a terminal one after {shown(state.history())}"
        )
    mover = state.current_player()
    who = _OTHERS.get(mover, f"the mover is {mover!r}")
    return SearchError(f"expected a state in which one player is to move, got one where {who}")
