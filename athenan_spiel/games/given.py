"""Games and states as callers give them, checked once where they come in, and not again below.

A game is a `pyspiel.Game` that meets every condition, or the string that `load_game` makes one of. What is neither but
offers `new_initial_state`, as a test's hand-made tree does, is taken for a game that meets them; a state that offers
`legal_actions` but no `get_game`, for a state of the game in question.
"""

from __future__ import annotations

import pyspiel

from athenan_spiel.errors import SearchError, UnsupportedGameError, shown
from athenan_spiel.games.conditions import require_game, unmet_conditions
from athenan_spiel.games.faults import parameter_fault
from athenan_spiel.games.loading import load_game
from athenan_spiel.games.spec import Spec

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
        if fault := parameter_fault(Spec(game.get_type().short_name, game.get_parameters())):
            raise UnsupportedGameError(f"{shown(str(game))} cannot be played: {fault}")
    return game


def require_state(game: pyspiel.Game | str, state: pyspiel.State) -> None:
    """Raise `SearchError` unless `state` is one of `game`, terminal or not.

    Two games are one if they print alike, as OpenSpiel's name and parameters are all there is to a game; so what a game
    prints may stand for it.
    """
    if not hasattr(state, "legal_actions"):
        raise SearchError(f"expected a state of {shown(str(game))}, got {shown(state)}")
    of = state.get_game() if hasattr(state, "get_game") else game
    if of is not game and str(of) != str(game):
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
