"""Why a game of Ludii's cannot be an OpenSpiel game of turns and perfect information: the reasons, each in one place.

A reason is a text that begins with "it" or "its". Those below are kinds of games that the bridge does not play; any
other reason (a piece of a player whom the game does not have, a law that is broken) says that something went wrong in a
game of the right kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

CHANCE = "it has chance"
HIDDEN = "it hides information"
SIMULTANEOUS = "its players move at the same time"
SIMULATION = "it is a simulation"
DEDUCTION = "it is a puzzle of deduction"
SEVERAL = "it is a match of several games"
_KINDS = frozenset({CHANCE, HIDDEN, SIMULTANEOUS, SIMULATION, DEDUCTION, SEVERAL})
_PLAYERS = "it is for {} players, not one or two"
_OF_PLAYERS = re.compile(_PLAYERS.format(r"\d+"))
_BETWEEN = "; "


def for_players(count: int) -> str:
    """The reason against a game for this number of players."""
    return _PLAYERS.format(count)


def is_of_a_kind(reason: str) -> bool:
    """Whether the reason is that the bridge does not play games of such a kind."""
    return reason in _KINDS or _OF_PLAYERS.fullmatch(reason) is not None


def joined(reasons: Iterable[str]) -> str:
    """Several reasons as one text."""
    return _BETWEEN.join(reasons)


def separated(text: str) -> list[str]:
    """The reasons that `joined` made one text of; the message of an error, which may have any signs in it, is one."""
    parts = text.split(_BETWEEN)
    return parts if is_of_a_kind(parts[0]) else [text]
