"""When two histories may share a node: transposition keys, which are equal only where nothing later differs.

A key function maps a state to something hashable. Its promise: two unfinished states of one game with equal keys
have the same mover, legal actions and observation for player 0, and whatever is played from there, the same again
until the same returns. Then nothing later can tell their histories apart, and a proof found for one is true of both.

`str(state)` does not keep that promise. It leaves out what some rules remember: positions that must not recur, plies
since a capture, the square that a half-made move left. `TRANSPOSITIONS` says for each game what is added to the text,
and why that is all. A game that is not in it, or whose memory cannot be read from a state, gets its history as key:
its tree has no transpositions. A finished state has no future to share, so it too keeps its history.

The reasons were read in the C++ source of OpenSpiel 2.0.2; the tests play pairs of histories with equal keys to the
end. With `ply` (the default) a key also holds the number of actions played: a graph of nodes can then have no cycle,
and depth heuristics see the right depth. Some rules count plies themselves; those games keep the ply in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType

import pyspiel

from athenan_spiel.games.extensions import own_end_key, own_text
from athenan_spiel.games.facts import FACTS, facts_of
from athenan_spiel.games.facts.base import Text, Transposition

Key = Callable[[pyspiel.State], Hashable]

TRANSPOSITIONS: Mapping[str, Transposition] = MappingProxyType(
    {name: facts.transposition for name, facts in FACTS.items() if facts.transposition is not None}
)
"""Transposition rule of each supported game, by short name; docs/transpositions.md contains the same table."""


def key_function(game: pyspiel.Game, *, ply: bool = True) -> Key:
    """The key function of `game`, by the table above; for a game that is not in it, the history.

    Args:
        game: any game. Games that wrap another are not in the table.
        ply: keep the number of actions played in the key. Without it a graph of nodes may have cycles.

    Returns:
        A function of the states of `game`, for one thread at a time. It costs microseconds, far less than the
        children of a state; `benchmarks/transpositions.py` measures both.
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
        text = text_of(state) if mover >= 0 else None
        if text is None:
            return _start_and_history(state)
        return (text, mover, state.move_number()) if with_ply else (text, mover)

    return key


def end_function(game: pyspiel.Game | None) -> Text:
    """For a game, a function of its finished states: those it gives the same for need be learned only once.

    That is what the state prints; where that is less than a network sees, or shows more than there is to the state (the
    last move, say), the observation. A state in Python may say it itself.
    """
    entry = facts_of(game.get_type().short_name).transposition if isinstance(game, pyspiel.Game) else None
    return _end_text if entry is None or entry.end is None else entry.end(game)


def history_key(game: pyspiel.Game) -> Key:
    """The key function that keeps all histories of `game` apart: for worths that depend on the whole match."""
    return _start_and_history if game.get_type().short_name in TRANSPOSITIONS else _history


def _own_key(game: pyspiel.Game) -> Key | None:
    """The key of a game in Python that says itself what tells its states apart."""
    text_of = own_text(game)
    if text_of is None:
        return None

    def key(state: pyspiel.State) -> Hashable:
        mover = state.current_player()
        text = text_of(state) if mover >= 0 else None
        return _history(state) if text is None else (text, mover, state.move_number())

    return key


def _end_text(state: pyspiel.State) -> Hashable:
    """A key that the state says itself, or what it prints."""
    own = own_end_key(state)
    return str(state) if own is None else own()


def _history(state: pyspiel.State) -> Hashable:
    """The actions played: the state itself, where all matches have one initial state."""
    return tuple(state.history())


def _start_and_history(state: pyspiel.State) -> Hashable:
    """The actions played and the initial state if it was a given one, as OpenSpiel would write them to a file."""
    serialized: str = state.serialize()
    return serialized
