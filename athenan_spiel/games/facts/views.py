"""What the views of several games have in common: rows of characters that are read off what OpenSpiel prints."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyspiel

from athenan_spiel.games.boards import numbered_rows
from athenan_spiel.games.layout import Layout, Piece, from_above, from_below, numbered, points, squares
from athenan_spiel.games.view import Pieces, View

MakeView = Callable[[pyspiel.Game], View | None]
"""Returns the view of a game, or None if its board cannot be drawn."""
Rows = Callable[[str], Sequence[str]]
"""What is printed of a state -> a character for each site, row by row."""


@dataclass(frozen=True)
class Sign:
    """What a character of the printed board stands for."""

    side: int | None
    kind: str = "stone"
    sign: str = ""
    form: Literal["stone", "figure", "block"] = "stone"


Signs = Mapping[str, Sign]


def stones(first: str, second: str, kind: str = "stone") -> Signs:
    """Plain stones, by the characters of player 0 and of player 1."""
    return {first: Sign(0, kind), second: Sign(1, kind)}


def pieces_of(rows: Rows, signs: Signs) -> Pieces:
    """What reads pieces off the text of a state."""
    pattern = re.compile(f"[{re.escape(''.join(signs))}]")  # most sites of a large board are empty

    def pieces(state: pyspiel.State) -> list[Piece]:
        found = ((match.start(), signs[match[0]]) for match in pattern.finditer("".join(rows(str(state)))))
        return [Piece(site, x.side, x.kind, x.sign, x.form) for site, x in found]

    return pieces


def view_by_rows(rows: Rows, signs: Signs, layout: Callable[[int, int], Layout], **others: Any) -> MakeView:
    """The view of a game whose text shows rows of one length, each character a site."""

    def view(game: pyspiel.Game) -> View:
        board = rows(str(game.new_initial_state()))
        return View(layout=layout(len(board), len(board[0])), pieces=pieces_of(rows, signs), **others)

    return view


def plain_rows(text: str) -> list[str]:
    """The lines down to the first that is empty."""
    return text.split("\n\n", 1)[0].split()


def spaced_rows(text: str) -> list[str]:
    """The lines of a text that is all board, without their spaces."""
    return [line.replace(" ", "") for line in text.splitlines()]


def rows_below_numbers(text: str) -> list[str]:
    """The rows that begin with their numbers, without spaces."""
    return [row.strip() for row in numbered_rows(text)]


def cells_of(characters: str) -> Rows:
    """What finds these characters in the lines that begin with a number, whatever stands between them."""
    pattern = re.compile(f"[{re.escape(characters)}]")

    def rows(text: str) -> list[str]:
        lines = (line.strip() for line in text.splitlines())
        return ["".join(pattern.findall(line)) for line in lines if line[:1].isdigit()]

    return rows


def from_below_squares(rows: int, columns: int) -> Layout:
    """Squares of two kinds; a1 is at the bottom."""
    return squares(rows, columns, from_below(rows), is_checkered=True)


def from_above_squares(rows: int, columns: int) -> Layout:
    """Squares of one kind; a1 is at the top."""
    return squares(rows, columns, from_above)


def numbered_squares(rows: int, columns: int) -> Layout:
    """Squares of one kind, named by row and column."""
    return squares(rows, columns, numbered)


def checkered_squares(rows: int, columns: int) -> Layout:
    """Squares of two kinds, named by row and column."""
    return squares(rows, columns, numbered, is_checkered=True)


def numbered_points(rows: int, columns: int) -> Layout:
    """Crossing lines, named by row and column."""
    return points(rows, columns, numbered)


def fen_rows(text: str) -> list[str]:
    """The board of a FEN or SFEN: a dot for each empty square; a promoted piece is a small or capital letter after
    `+`, which becomes a character of its own (`promoted`)."""
    board = re.split(r"[ \[]", text, maxsplit=1)[0]
    board = re.sub(r"\+(.)", lambda found: promoted(found[1]), board)
    board = re.sub(r"\d+", lambda found: "." * int(found[0]), board.replace("~", ""))
    return board.split("/")


def promoted(letter: str) -> str:
    """The character that stands for a promoted piece."""
    return chr(ord(letter) + 0x100)


def played(state: pyspiel.State) -> list[tuple[int, int]]:
    """(player, action) for each action so far."""
    return [(int(x.player), int(x.action)) for x in state.full_history()]
