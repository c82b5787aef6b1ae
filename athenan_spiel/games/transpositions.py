"""Transposition keys: two histories share a node only if their futures are identical.

A key function maps a state to a hashable value. Two unfinished states of one game with equal keys have the same mover,
legal actions and observation of player 0, and so have the states after any actions played from both, until the same
returns. A proof for one of them therefore holds for both.

`str(state)` is not sufficient. It lacks information that some rules use: earlier positions, plies since a capture, the
origin of a half-made move. `TRANSPOSITIONS` documents for each game what the key adds to the text, and why that is
sufficient. The key of other games is the history, so their trees have no transpositions. A finished state has no future
to share, so its key is the history as well.

The reasons come from the C++ source of OpenSpiel 2.0.2; tests play pairs of histories with equal keys to the end. By
default (`ply`), a key includes the number of actions played. The graph of nodes then has no cycles, and depth
heuristics use the right depth. Games whose rules count plies always include it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType

import pyspiel

from athenan_spiel.games.chance import CHANCE
from athenan_spiel.games.extensions import own_end_key, own_text
from athenan_spiel.games.facts import FACTS, facts_of
from athenan_spiel.games.facts.base import Text, Transposition

Key = Callable[[pyspiel.State], Hashable]

TRANSPOSITIONS: Mapping[str, Transposition] = MappingProxyType(
    {name: facts.transposition for name, facts in FACTS.items() if facts.transposition is not None}
)
"""Transposition rule of each supported game, by short name; docs/transpositions.md contains the same table."""


def key_function(game: pyspiel.Game, *, ply: bool = True) -> Key:
    """Returns the key function of `game` by `TRANSPOSITIONS`; for other games, the history.

    Args:
        game: any game. Transformations of games are not in the table.
        ply: include the number of actions played. Without it the graph of nodes may have cycles.

    Returns:
        A function of states of `game`, for one thread at a time. It takes microseconds, far less than creating the
        children of a state (`benchmarks/transpositions.py` measures both).
    """
    entry = facts_of(game.get_type().short_name).transposition
    if entry is None:
        return _own_key(game) or _history
    if entry.read is None:
        return _start_and_history
    text_of = entry.read(game)
    with_ply = ply or entry.counts_plies

    def key(state: pyspiel.State) -> Hashable:
        mover = state.current_player()
        text = text_of(state) if mover >= CHANCE else None
        if text is None:
            return _start_and_history(state)
        return (text, mover, state.move_number()) if with_ply else (text, mover)

    return key


def end_function(game: pyspiel.Game | None) -> Text:
    """Returns a key function for finished states. Of states with equal keys, only one needs to be learned.

    The key is the text of the state. It is the observation if the text contains less than the network input, or more
    than the state, such as the last move. A state written in Python may provide its own key.
    """
    entry = facts_of(game.get_type().short_name).transposition if isinstance(game, pyspiel.Game) else None
    return _end_text if entry is None or entry.end is None else entry.end(game)


def history_key(game: pyspiel.Game) -> Key:
    """Returns the key function that separates all histories of `game`, for values that depend on the whole game."""
    return _start_and_history if game.get_type().short_name in TRANSPOSITIONS else _history


def _own_key(game: pyspiel.Game) -> Key | None:
    """Returns the key of a game written in Python that defines its transpositions; None if it does not."""
    text_of = own_text(game)
    if text_of is None:
        return None

    def key(state: pyspiel.State) -> Hashable:
        mover = state.current_player()
        text = text_of(state) if mover >= 0 else None
        return _history(state) if text is None else (text, mover, state.move_number())

    return key


def _end_text(state: pyspiel.State) -> Hashable:
    own = own_end_key(state)
    return str(state) if own is None else own()


def _history(state: pyspiel.State) -> Hashable:
    """Returns the actions played, which identify a state if all games have the same initial state."""
    return tuple(state.history())


def _start_and_history(state: pyspiel.State) -> Hashable:
    """Returns the actions played, and a custom initial state, as OpenSpiel serialises them."""
    serialized: str = state.serialize()
    return serialized
