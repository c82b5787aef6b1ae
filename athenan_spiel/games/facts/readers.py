"""What several games have in common: ways to read a state, to tell histories apart, and to bound a parameter."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import pyspiel
from open_spiel.python.observation import make_observation

from athenan_spiel.games.boards import numbered_rows
from athenan_spiel.games.facts.base import Parameters, Text, Transposition

Pieces = tuple[int, int]
"""Of player 0 and of player 1."""

CELLS = "The rules look at the board and the mover only, and the text shows every cell."
PLIES = "The length of a match is limited in plies."
OBSERVATION = "the observation of player 0"


def printed(game: pyspiel.Game) -> Text:
    """What OpenSpiel prints of a state."""
    return str


def observed(game: pyspiel.Game) -> Text:
    """The observation of player 0, losslessly compressed: a bit for each number where all are 0 or 1."""
    observation = make_observation(game)

    def text(state: pyspiel.State) -> Hashable:
        observation.set_from(state, 0)
        compressed: bytes = observation.compress()
        return compressed

    return text


def merged(
    reason: str,
    text: str = "str(state)",
    read: Callable[[pyspiel.Game], Text] = printed,
    *,
    counts_plies: bool = False,
    end: Callable[[pyspiel.Game], Text] | None = None,
) -> Transposition:
    """Histories of equal text are one state."""
    return Transposition(text=text, reason=reason, counts_plies=counts_plies, read=read, end=end)


def merged_by_observation(reason: str) -> Transposition:
    """Histories of equal observation are one state, and so are finished ones."""
    return merged(reason, OBSERVATION, observed, end=observed)


def apart(reason: str) -> Transposition:
    """No two histories are one state."""
    return Transposition(text="the history", reason=reason)


def since_capture(history: list[int]) -> int:
    """Actions since the last capture, for games whose captures are the odd actions (the last of its mixed digits)."""
    quiet = 0
    for action in reversed(history):
        if action % 2:
            break
        quiet += 1
    return quiet


def on_numbered_rows(first: str, second: str) -> Callable[[pyspiel.State], Pieces]:
    """Each of the characters of `first` is a piece of player 0, of `second` one of player 1."""

    def count(state: pyspiel.State) -> Pieces:
        board = "".join(numbered_rows(str(state)))
        return sum(map(board.count, first)), sum(map(board.count, second))

    return count


def by_case(text: str) -> tuple[int, int]:
    """The number of upper and of lower case letters."""
    return sum(map(str.isupper, text)), sum(map(str.islower, text))


def at_least(given: Parameters, parameter: str, least: int) -> str | None:
    """What is wrong with a parameter that is less than `least`; None where it is not given."""
    value = given.get(parameter, least)
    return f"{parameter} must be at least {least}, got {value}" if value < least else None


def at_most(given: Parameters, parameter: str, most: int) -> str | None:
    """What is wrong with a parameter that is more than `most`; None where it is not given."""
    value = given.get(parameter, 0)
    return f"{parameter} must be at most {most}, got {value}" if value > most else None
