"""View of a game: its board, the pieces of a state on it, and the sites that an action touches.

The helpers below build views from the rows of characters that OpenSpiel prints. A game without a view is shown as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pyspiel

from athenan_spiel.drawing.layout import BoardLayout, BoardLine, Piece
from athenan_spiel.games.boards import numbered_rows
from athenan_spiel.games.rows import winners_of

Pieces = Callable[[pyspiel.State], Sequence[Piece]]
Lines = Callable[[pyspiel.State], Sequence[BoardLine]]
Sites = Callable[[pyspiel.State, int], tuple[int, ...]]
"""(state, legal action) -> indices of the sites to press for it, in order; empty if it has no place on the board."""
Win = Callable[["View", pyspiel.State, int], Sequence[int]]
"""(view, finished state, winner) -> sites of the winning line."""

COLOURS = ("dark", "light", "red", "blue", "green", "yellow", "violet")
"""Colours of players, by default in this order."""
_NAMES = {"dark": "black", "light": "white"}


@dataclass(frozen=True, kw_only=True)
class View:
    """Drawing instructions for the states of one game.

    Attributes:
        layout: the empty board.
        pieces: returns the pieces of a state.
        lines: returns the lines drawn between sites in a state.
        sites: returns the sites of an action; by default `touched`.
        note: returns a text shown next to the board, such as the pieces in hand.
        is_path: whether a piece moves from the first to the last site of an action with several.
        win: returns the winning line of a finished game; None if the game has none.
        colours: colours of the players, among `COLOURS`.
    """

    layout: BoardLayout
    pieces: Pieces
    lines: Lines = lambda state: ()
    sites: Sites | None = None
    note: Callable[[pyspiel.State], str] = lambda state: ""
    is_path: bool = True
    win: Win | None = None
    colours: Sequence[str] = COLOURS

    def colour(self, player: int) -> str:
        """Returns the colour of a player."""
        return self.colours[player % len(self.colours)]

    def colour_name(self, player: int) -> str:
        """Returns the name of a player's colour, such as black."""
        return _NAMES.get(self.colour(player), self.colour(player))

    def winning_sites(self, state: pyspiel.State) -> Sequence[int]:
        """Returns the sites of the winning line; empty before the end, and without a line or a single winner."""
        winners = winners_of(state.returns()) if self.win is not None and state.is_terminal() else ()
        return self.win(self, state, winners[0]) if self.win is not None and len(winners) == 1 else ()

    def flipped(self) -> View:
        """Returns the view with the board turned by 180 degrees."""
        lines = self.lines
        return replace(
            self, layout=self.layout.flipped(), lines=lambda state: [line.flipped() for line in lines(state)]
        )

    def action_sites(self, state: pyspiel.State, action: int) -> tuple[int, ...]:
        """Returns the sites of a legal action, such as the cell of a stone, or the origin and the target of a piece."""
        if self.sites is not None:
            return self.sites(state, action)
        return self.touched(state, action)

    def touched(self, state: pyspiel.State, action: int) -> tuple[int, ...]:
        """Returns the sites that an action changes: the one that a piece of the mover leaves, then the one it enters.

        If no piece of the mover moves, it is the site where a piece appears, or else disappears. A piece entering an
        empty site takes precedence over pieces that change sides, such as flipped discs.
        """
        mover = state.current_player()
        before = {piece.site: piece for piece in self.pieces(state)}
        after = {piece.site: piece for piece in self.pieces(state.child(action))}

        def own(pieces: dict[int, Piece]) -> set[int]:
            return {site for site, piece in pieces.items() if piece.side == mover}

        left = sorted(own(before) - own(after))
        came = sorted(own(after) - own(before))
        came = [site for site in came if site not in before] or came
        if not left and not came:
            came = sorted(after.keys() - before.keys()) or sorted(before.keys() - after.keys())
        return (*left[:1], *came[:1])


def colour_called(name: str) -> str:
    """Returns the colour with this name, such as dark for Black."""
    return next((colour for colour, known in _NAMES.items() if known == name.lower()), name.lower())


MakeView = Callable[[pyspiel.Game], View | None]
"""Returns the view of a game, or None if its board cannot be drawn."""
Rows = Callable[[str], Sequence[str]]
"""Printed state -> rows with one character per site."""


@dataclass(frozen=True)
class PieceType:
    """Piece that a character of the printed board stands for; the fields are those of `Piece`."""

    side: int | None
    kind: str = "stone"
    sign: str = ""
    form: Literal["stone", "figure", "block"] = "stone"


PieceTypes = Mapping[str, PieceType]
"""By their characters on the printed board."""


def stones(first: str, second: str, kind: str = "stone") -> PieceTypes:
    """Plain stones, given the characters of player 0 and of player 1."""
    return {first: PieceType(0, kind), second: PieceType(1, kind)}


def pieces_of(rows: Rows, types: PieceTypes) -> Pieces:
    """Returns a function that reads the pieces off a printed state."""
    pattern = re.compile(f"[{re.escape(''.join(types))}]")  # most sites of a large board are empty

    def pieces(state: pyspiel.State) -> list[Piece]:
        found = ((match.start(), types[match[0]]) for match in pattern.finditer("".join(rows(str(state)))))
        return [Piece(site, x.side, x.kind, x.sign, x.form) for site, x in found]

    return pieces


def view_by_rows(rows: Rows, types: PieceTypes, layout: Callable[[int, int], BoardLayout], **others: Any) -> MakeView:
    """View of a game that is printed as rows of equal length, one character per site."""

    def view(game: pyspiel.Game) -> View:
        board = rows(str(game.new_initial_state()))
        return View(layout=layout(len(board), len(board[0])), pieces=pieces_of(rows, types), **others)

    return view


def plain_rows(text: str) -> list[str]:
    """Lines up to the first empty one."""
    return text.split("\n\n", 1)[0].split()


def spaced_rows(text: str) -> list[str]:
    """All lines, without spaces."""
    return [line.replace(" ", "") for line in text.splitlines()]


def rows_below_numbers(text: str) -> list[str]:
    """Lines that start with a row number, without the number and spaces at the ends."""
    return [row.strip() for row in numbered_rows(text)]


def cells_of(characters: str) -> Rows:
    """Returns a function that keeps only these characters, of the lines that start with a digit."""
    pattern = re.compile(f"[{re.escape(characters)}]")

    def rows(text: str) -> list[str]:
        lines = (line.strip() for line in text.splitlines())
        return ["".join(pattern.findall(line)) for line in lines if line[:1].isdigit()]

    return rows


def fen_rows(text: str) -> list[str]:
    """Rows of a FEN or SFEN, with a dot for each empty square.

    A promoted piece, written as `+` and a letter, becomes one character (`promoted`).
    """
    board = re.split(r"[ \[]", text, maxsplit=1)[0]
    board = re.sub(r"\+(.)", lambda found: promoted(found[1]), board)
    board = re.sub(r"\d+", lambda found: "." * int(found[0]), board.replace("~", ""))
    return board.split("/")


def promoted(letter: str) -> str:
    """Character that stands for a promoted piece."""
    return chr(ord(letter) + 0x100)


def played(state: pyspiel.State) -> list[tuple[int, int]]:
    """(player, action) for each action of the history."""
    return [(int(x.player), int(x.action)) for x in state.full_history()]
