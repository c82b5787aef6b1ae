"""Parameters with which OpenSpiel 2.0.2 crashes, hangs, corrupts memory or plays another game than the rules.

They were found by loading every supported game with extreme values in a separate process, and by reading the C++
source. Values that OpenSpiel itself refuses, or that `load_game` detects by the shapes, are not here.
"""

from __future__ import annotations

from collections.abc import Callable

import pyspiel

from athenan_spiel.games.facts.base import Parameters

Fault = Callable[[Parameters], str | None]
"""Returns what is wrong with some parameters, or None."""

_MOST_GOMOKU_CELLS = 2**18
_SMALLEST_GO_WITH_HANDICAP = 16


def at_least(parameter: str, least: int) -> Fault:
    """Returns a check that a parameter, if it is given, is not less than `least`."""

    def fault(given: Parameters) -> str | None:
        value = given.get(parameter, least)
        return f"{parameter} must be at least {least}, got {value}" if value < least else None

    return fault


def at_most(parameter: str, most: int) -> Fault:
    """Returns a check that a parameter, if it is given, is not more than `most`."""

    def fault(given: Parameters) -> str | None:
        value = given.get(parameter, 0)
        return f"{parameter} must be at most {most}, got {value}" if value > most else None

    return fault


def checkers(given: Parameters) -> str | None:
    """A piece that must jump again is kept as row * rows + column, which is ambiguous with more columns than rows."""
    rows, columns = given.get("rows", 8), given.get("columns", 8)
    return f"OpenSpiel needs columns <= rows, got {columns} > {rows}" if columns > rows else None


def go(given: Parameters) -> str | None:
    """Two to nine handicap stones go to the star points of 19 x 19; ten or more are not placed."""
    handicap, size = given.get("handicap", 0), given.get("board_size", 19)
    if 2 <= handicap <= 9 and size < _SMALLEST_GO_WITH_HANDICAP:
        return (
            f"handicap {handicap} needs a board_size of at least {_SMALLEST_GO_WITH_HANDICAP}, got {size}: "
            "OpenSpiel places the stones on the star points of 19 x 19"
        )
    return None


def gomoku(given: Parameters) -> str | None:
    """The constructor fills a table for size ** dims cells, without a limit."""
    size, dims = given.get("size", 15), given.get("dims", 2)
    too_many = size > _MOST_GOMOKU_CELLS or dims > 18 or size**dims > _MOST_GOMOKU_CELLS
    return f"size ** dims must be at most {_MOST_GOMOKU_CELLS}, got {size} ** {dims}" if too_many else None


def hex_board(given: Parameters) -> str | None:
    """Three faults of boards that are not square, or have one line."""
    size = given.get("board_size", 11)
    columns, rows = given.get("num_cols", size), given.get("num_rows", size)
    if given.get("swap", False) and columns != rows:
        # The swapped stone is mirrored with the columns as stride, beyond the end of the board.
        return f"OpenSpiel can swap on square boards only, got {columns} columns and {rows} rows"
    if given.get("plain_obs_tensor", False) and columns != rows:
        # Rows and columns are interchanged in the tensor: cells coincide, or are beyond its end.
        return f"OpenSpiel has plain observations of square boards only, got {columns} columns and {rows} rows"
    if min(columns, rows) == 1:
        # A stone on the only line is linked to the first of its two edges, never to the second: no player wins.
        return "no player can win on a board of one row or column"
    return None


def nim(given: Parameters) -> str | None:
    """OpenSpiel accepts negative piles."""
    piles = [pile.strip() for pile in given.get("pile_sizes", "1").split(";")]
    return "a pile cannot be negative" if any(pile.startswith("-") for pile in piles) else None


def stones_and_gems(given: Parameters) -> str | None:
    """A blob (23) grows with the number of the new element as its direction, which ends the process or raises an error.

    Oranges (42 to 45) turn by a generator of the game object that all its states share and that a program in Python
    cannot seed: `rng_seed` is never read, and the same history leads to different states.
    """
    rows = str(given.get("grid", "")).split("\n")[1:]
    elements = {element.strip().lstrip("0") for row in rows for element in row.split("|")}
    if "23" in elements:
        return "OpenSpiel cannot let a blob grow; remove element 23 from the grid"
    if elements & {"42", "43", "44", "45"}:
        return "oranges turn at random, and no seed repeats it; remove the elements 42 to 45 from the grid"
    return None


def twixt_in_process(game: pyspiel.Game) -> str | None:
    """Only boards of one size can be played in a process.

    OpenSpiel keeps the shape of the observation and the table of crossing links in static variables: the first gives
    wrong shapes to a second size, and a board of a second size corrupts those of the first.
    """
    size = game.get_parameters()["board_size"]
    first = game.observation_tensor_shape()[1]
    if size == first:
        return None
    return f"OpenSpiel plays TwixT on one size of board in a process, here {first}; use another process for {size}"


def quoridor(given: Parameters) -> str | None:
    """A player whom others have blocked gets one legal action, which OpenSpiel then refuses. With four players on the
    default board that is one of 40,000 random actions."""
    players, size = given.get("players", 2), given.get("board_size", 9)
    if players > 3 or (players == 3 and size < 9):
        return (
            "OpenSpiel fails when a player cannot move, which happens with four players or, with three, on boards "
            f"smaller than 9, got players={players} and board_size={size}"
        )
    return None
