"""Parses boards printed by OpenSpiel into rows and sets of cells.

A set of cells is an integer with one bit per character of the rows, line breaks included. Rows have equal lengths, so
neighbours are a fixed number of bits apart. Line breaks are never free cells, so they separate the edges.
"""

from __future__ import annotations

from collections.abc import Iterable


def numbered_rows(text: str) -> list[str]:
    """Returns the rows of a board whose lines begin with their number, counted down to 1; other lines are dropped."""
    lines = [line.lstrip() for line in text.splitlines()]
    rows = [line for line in lines if line[:1].isdigit()]
    return [row[len(str(len(rows) - i)) :] for i, row in enumerate(rows)]


def rows_behind_one_character(text: str) -> list[str]:
    """Returns the rows of a Breakthrough board.

    OpenSpiel writes each rank as one character, `:` for rank 10. The line below the rows names the columns.
    """
    return [row[1:] for row in text.split("\n")[:-2]]


def rank_of(character: str) -> int:
    """Returns the rank that OpenSpiel writes as one character: 9 for `9`, 10 for `:`, 11 for `;`."""
    return ord(character) - ord("0")


def cells(rows: Iterable[str], characters: str) -> int:
    """Returns the set of cells with one of `characters`."""
    text = "\n".join(rows)
    return int("".join("1" if character in characters else "0" for character in text), 2)


def reached(start: int, free: int, width: int, *, diagonally: bool) -> int:
    """Returns the free cells that can be reached from `start` by steps over free cells.

    Args:
        start: cells to start from.
        free: cells that can be entered.
        width: length of a row, without its line break.
        diagonally: steps to eight neighbours rather than four.
    """
    below = width + 1
    steps = (1, below - 1, below, below + 1) if diagonally else (1, below)
    found, latest = 0, start
    while latest:
        around = 0
        for step in steps:
            around |= latest << step | latest >> step
        latest = around & free & ~found
        found |= latest
    return found
