"""Parameters with which OpenSpiel 2.0.2 crashes, hangs, corrupts memory or plays another game than it says.

Each is a predicate with the reason, found by loading every supported game with extreme values in a process of its
own, and read up in the C++ source. What OpenSpiel itself refuses, or `load_game` sees in the shapes, is not here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pyspiel

from athenan_spiel.games.spec import Spec

_Parameters = Mapping[str, Any]
_MOST_CELLS = 2**18


def parameter_fault(spec: Spec) -> str | None:
    """Why the game must not even be loaded with these parameters, or None; games inside it are looked at too."""
    for value in spec.parameters.values():
        if isinstance(value, Spec) and (fault := parameter_fault(value)):
            return fault
    for name, value in spec.parameters.items():
        if isinstance(value, float) and not math.isfinite(value):
            return f"{name} must be finite, got {value}"
    check = _FAULTS.get(spec.name)
    return check(spec.parameters) if check else None


def process_fault(game: pyspiel.Game) -> str | None:
    """Why `game` cannot live beside the games already loaded in this process, or None.

    TwixT keeps the shape of its observation and the table of crossing links in static variables: the first gives
    wrong shapes to a second size, and a board of a second size spoils those of the first.
    """
    if game.get_type().short_name != "twixt":
        return None
    size = game.get_parameters()["board_size"]
    first = game.observation_tensor_shape()[1]
    if size == first:
        return None
    return f"OpenSpiel plays TwixT on one size of board in a process, here {first}; use another process for {size}"


def _checkers(given: _Parameters) -> str | None:
    # A piece that goes on jumping is kept as row * rows + column, so columns beyond the rows come out elsewhere.
    rows, columns = given.get("rows", 8), given.get("columns", 8)
    return f"OpenSpiel needs columns <= rows, got {columns} > {rows}" if columns > rows else None


def _connect_four(given: _Parameters) -> str | None:
    # It plays 0 as it plays 1: the first stone wins, though none was asked for.
    return _at_least(given, "x_in_row", 1)


def _crazyhouse(given: _Parameters) -> str | None:
    # Captured pieces are put into the pocket one by one, `insanity` of them: a loop without end for large values.
    most = 1000
    insanity = given.get("insanity", 1)
    return f"insanity must be at most {most}, got {insanity}" if insanity > most else None


def _gomoku(given: _Parameters) -> str | None:
    # The constructor fills a table for size ** dims cells, whatever that number is.
    size, dims = given.get("size", 15), given.get("dims", 2)
    too_many = size > _MOST_CELLS or dims > 18 or size**dims > _MOST_CELLS
    return f"size ** dims must be at most {_MOST_CELLS}, got {size} ** {dims}" if too_many else None


def _havannah(given: _Parameters) -> str | None:
    # Its cells are numbered with 16 bits and its columns named by one character: beyond 90 it crashes.
    return _at_most(given, "board_size", 16)


def _hex(given: _Parameters) -> str | None:
    size = given.get("board_size", 11)
    columns, rows = given.get("num_cols", size), given.get("num_rows", size)
    if given.get("swap", False) and columns != rows:
        # The swapped stone is mirrored with the columns as stride, beyond the end of the board.
        return f"OpenSpiel can swap on square boards only, got {columns} columns and {rows} rows"
    if given.get("plain_obs_tensor", False) and columns != rows:
        # Rows and columns are interchanged in the tensor: cells fall together, or beyond its end.
        return f"OpenSpiel has plain observations of square boards only, got {columns} columns and {rows} rows"
    if min(columns, rows) == 1:
        # A stone on the only line is linked to the first of its two edges, never to the second: nobody wins.
        return "no player can win on a board of one row or column"
    return None


def _hive(given: _Parameters) -> str | None:
    # Beyond 14 the board stays as it is while the observation's declared shape grows.
    return _at_most(given, "board_size", 14)


def _mnk(given: _Parameters) -> str | None:
    # As Connect Four.
    return _at_least(given, "k", 1)


def _nim(given: _Parameters) -> str | None:
    piles = [pile.strip() for pile in given.get("pile_sizes", "1").split(";")]
    return "a pile cannot be negative" if any(pile.startswith("-") for pile in piles) else None


def _y(given: _Parameters) -> str | None:
    # As Havannah: beyond 181 it crashes.
    return _at_most(given, "board_size", 31)


def _at_least(given: _Parameters, parameter: str, least: int) -> str | None:
    value = given.get(parameter, least)
    return f"{parameter} must be at least {least}, got {value}" if value < least else None


def _at_most(given: _Parameters, parameter: str, most: int) -> str | None:
    value = given.get(parameter, 0)
    return f"{parameter} must be at most {most}, got {value}" if value > most else None


_FAULTS: Mapping[str, Callable[[_Parameters], str | None]] = {
    "checkers": _checkers,
    "connect_four": _connect_four,
    "crazyhouse": _crazyhouse,
    "gomoku": _gomoku,
    "havannah": _havannah,
    "hex": _hex,
    "hive": _hive,
    "mnk": _mnk,
    "nim": _nim,
    "y": _y,
}
