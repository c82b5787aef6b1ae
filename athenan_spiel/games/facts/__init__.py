"""Facts about single games that OpenSpiel does not provide: transpositions, counts, faults, lengths, observations.

`table` has a row per game; the other modules contain the functions that the rows use. `facts_of` looks up a game.
"""

from __future__ import annotations

import pyspiel

from athenan_spiel.games.chance import has_chance
from athenan_spiel.games.extensions import own_marks
from athenan_spiel.games.facts.base import Facts
from athenan_spiel.games.facts.table import FACTS
from athenan_spiel.games.sides import own_side_names

__all__ = ["FACTS", "facts_of", "longest_match", "mark_of", "side_name"]

_NOTHING = Facts(score=None, pieces=None)


def facts_of(short_name: str) -> Facts:
    """Returns the facts of the game with this short name; none for a game that is not in the table."""
    return FACTS.get(short_name, _NOTHING)


def longest_match(game: pyspiel.Game) -> int:
    """Returns the maximum number of actions of a game, outcomes of chance included.

    It is `max_game_length()` and the maximum number of outcomes, corrected where OpenSpiel's are wrong.
    """
    longest = facts_of(game.get_type().short_name).longest
    if longest is not None:
        return longest(game)
    return int(game.max_game_length()) + (int(game.max_chance_nodes_in_history()) if has_chance(game) else 0)


def mark_of(game: pyspiel.Game, player_id: int) -> str | None:
    """Returns how the text of a state draws the pieces of `player_id`; None where that is not known.

    A game in Python may provide it, as Ludii's games do.
    """
    marks = own_marks(game) or facts_of(game.get_type().short_name).marks
    return None if marks is None or player_id >= len(marks) else marks[player_id]


def side_name(game: pyspiel.Game, player_id: int) -> str:
    """Returns the name of a side: `Black`, the single character of its pieces such as `x`, or else `player 0`.

    A game in Python may provide it, or the colour of its pieces, as Ludii's games do.
    """
    facts = facts_of(game.get_type().short_name) if hasattr(game, "get_type") else _NOTHING
    marks = facts.marks or ()
    letters = marks if all(len(mark) == 1 and not mark.isdigit() for mark in marks) else ()
    names = facts.names or own_side_names(game) or letters
    return names[player_id] if player_id < len(names) else f"player {player_id}"
