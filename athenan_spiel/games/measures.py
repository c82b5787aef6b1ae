"""Counts by the rules of a game: the score and the pieces of each player.

`facts` defines the counts of each game, or why there are none; the heuristics of the article's Sections 6.2.1 (score)
and 6.2.4 (presence) use them. Pieces that never leave the board are not counted: their number shows which player has
placed more, not which is better.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import cast

import pyspiel

from athenan_spiel.errors import ConfigError, SearchError, shown
from athenan_spiel.games.extensions import Count, MeasureName, measures_itself, own_measure
from athenan_spiel.games.facts import FACTS, facts_of
from athenan_spiel.games.facts.base import Facts, Measure

MEASURES: Mapping[str, Facts] = MappingProxyType({name: x for name, x in FACTS.items() if x.score and x.pieces})
"""Games with counts, or with a reason for having none; docs/heuristics.md contains the same table."""


def score(state: pyspiel.State) -> tuple[float, ...]:
    """Return the score of each player, as the rules would count it if the game ended here.

    Args:
        state: state of a game with a score (see `MEASURES`). For one player the score is the sum of the rewards.

    Returns:
        A number for each player, in the points of the rules.

    Raises:
        ConfigError: the game has no score; the message lists games with one.
        SearchError: `state` is not a state.
    """
    if _game_of(state).num_players() == 1:
        return tuple(state.returns())
    return cast(tuple[float, float], _read("score", _game_of(state))(state))


def piece_counts(state: pyspiel.State) -> tuple[int, int]:
    """Return the number of pieces of player 0 and of player 1, including those in hand.

    Args:
        state: state of a game whose number of pieces changes.

    Raises:
        ConfigError: the number of pieces is constant; the message lists games where it changes.
        SearchError: `state` is not a state.
    """
    return _read("pieces", _game_of(state))(state)


def _game_of(state: pyspiel.State) -> pyspiel.Game:
    if not hasattr(state, "get_game"):
        raise SearchError(f"expected a state of a game, got {shown(state)}")
    return state.get_game()


def has_measure(name: MeasureName, game: str) -> bool:
    """Return whether `score` (or `piece_counts`) is defined for the game with this short name."""
    measure = _known(name, game)
    return measure is not None and measure.read is not None


def measured(name: MeasureName, game: pyspiel.Game) -> bool:
    """Return whether `score` (or `piece_counts`) is defined for `game`, by the table or by the game itself."""
    return _reader(name, game) is not None


def has_fixed_turns(game: pyspiel.Game) -> bool:
    """Return whether `game` has a score on which the number of its turns does not depend."""
    known = _known("score", game.get_type().short_name)
    return known is not None and known.fixed_turns


def why_not(name: MeasureName, game: pyspiel.Game) -> str:
    """Return why `game` has no such measure and which games have, as the end of a message."""
    if measures_itself(game):
        return f"{str(game)!r} has none"
    measure = _known(name, game.get_type().short_name)
    reason = "the library does not know its rules" if measure is None else measure.text
    known = ", ".join(other for other in MEASURES if has_measure(name, other))
    return f"{str(game)!r} has none ({reason}); games with one: {known}"


def _known(name: MeasureName, game: str) -> Measure | None:
    facts = facts_of(game)
    return facts.score if name == "score" else facts.pieces


def _read(name: MeasureName, game: pyspiel.Game) -> Count:
    read = _reader(name, game)
    if read is None:
        raise ConfigError(f"expected a game with {'a score' if name == 'score' else 'pieces'}: {why_not(name, game)}")
    return read


def _reader(name: MeasureName, game: pyspiel.Game) -> Count | None:
    """Return the function that counts in `game`, of its facts or of the game itself."""
    measure = _known(name, game.get_type().short_name)
    return own_measure(game, name) if measure is None else measure.read
