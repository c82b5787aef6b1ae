"""Table of the views of OpenSpiel's games.

Layouts other than grids of printed characters, such as edges, pits and piles, are in `other_boards`, and games with
chance in `dice_boards`. A game in Python may provide its own geometry.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

import pyspiel

from athenan_spiel.drawing import dice_boards, other_boards
from athenan_spiel.drawing.geometry import view_from_geometry
from athenan_spiel.drawing.layout import (
    ROW,
    BoardLayout,
    BoardLine,
    BoardSite,
    Piece,
    checkered_squares,
    from_above,
    hexagon,
    hexagons,
    letters,
    numbered_points,
    numbered_squares,
    points,
    rhombus,
    square,
    squares,
    squares_from_above,
    squares_from_below,
)
from athenan_spiel.drawing.view import (
    MakeView,
    PieceType,
    View,
    cells_of,
    fen_rows,
    pieces_of,
    plain_rows,
    promoted,
    rows_below_numbers,
    spaced_rows,
    stones,
    view_by_rows,
)
from athenan_spiel.drawing.winning import havannah_chain, hex_chain, in_a_row, ultimate_line, y_chain
from athenan_spiel.games.boards import rows_behind_one_character


def view_of(game: pyspiel.Game) -> View | None:
    """Returns the view of a game; None if it has none, and is shown as text."""
    make = VIEWS.get(game.get_type().short_name, view_from_geometry)
    return make(game)


_AMAZONS = {
    "X": PieceType(0, "amazon", "♛"),
    "O": PieceType(1, "amazon", "♛"),
    "#": PieceType(None, "arrow", form="block"),
}
_CHECKERS = {
    "o": PieceType(0, "man"),
    "8": PieceType(0, "king", "♛"),
    "+": PieceType(1, "man"),
    "*": PieceType(1, "king", "♛"),
}


def _amazons_squares(rows: int, columns: int) -> BoardLayout:
    """Rows and columns are counted from 1."""
    return squares(rows, columns, lambda row, column: f"{row + 1},{column + 1}", is_checkered=True)


_CHESS_FIGURES = {
    "k": ("♚", "king"),
    "q": ("♛", "queen"),
    "r": ("♜", "rook"),
    "b": ("♝", "bishop"),
    "n": ("♞", "knight"),
    "p": ("♟", "pawn"),
    # Crazyhouse distinguishes promoted pawns.
    "e": ("♛", "promoted queen"),
    "c": ("♜", "promoted rook"),
    "a": ("♝", "promoted bishop"),
    "h": ("♞", "promoted knight"),
}
_CHESSMEN = {letter: PieceType(0, kind, sign, "figure") for letter, (sign, kind) in _CHESS_FIGURES.items()} | {
    letter.upper(): PieceType(1, kind, sign, "figure") for letter, (sign, kind) in _CHESS_FIGURES.items()
}


def _chess(game: pyspiel.Game) -> View:
    """The board of a FEN, and the pieces in hand if the rules have them."""
    pieces = pieces_of(fen_rows, _CHESSMEN)

    def note(state: pyspiel.State) -> str:
        hand = re.search(r"\[(\w+)\]", str(state))
        return "" if hand is None else f"in hand: {' '.join(_CHESSMEN[letter].sign for letter in hand[1])}"

    def sites(state: pyspiel.State, action: int) -> tuple[int, ...]:
        touched = view.touched(state, action)
        if not state.action_to_string(action).startswith("O-O"):
            return touched
        kings = [
            next(x.site for x in pieces(s) if x.kind == "king" and x.side == state.current_player())
            for s in (state, state.child(action))
        ]
        return (kings[0], kings[1])

    view = View(layout=squares_from_below(8, 8), pieces=pieces, colours=("dark", "light"), note=note)
    return dataclasses.replace(view, sites=sites)


_SHOGI_FIGURES = {
    "k": ("王", "king", "", ""),
    "r": ("飛", "rook", "龍", "dragon"),
    "b": ("角", "bishop", "馬", "horse"),
    "g": ("金", "gold", "", ""),
    "s": ("銀", "silver", "全", "promoted silver"),
    "n": ("桂", "knight", "圭", "promoted knight"),
    "l": ("香", "lance", "杏", "promoted lance"),
    "p": ("歩", "pawn", "と", "tokin"),
}


def _shogi_pieces() -> dict[str, PieceType]:
    types = {}
    for letter, (sign, kind, promoted_sign, promoted_kind) in _SHOGI_FIGURES.items():
        for side, written in enumerate((letter.upper(), letter)):
            types[written] = PieceType(side, kind, sign)
            types[promoted(written)] = PieceType(side, promoted_kind, promoted_sign)
    return types


def _shogi(game: pyspiel.Game) -> View:
    return View(
        layout=squares(9, 9, lambda row, column: f"{9 - column}{letters(row)}"),
        pieces=pieces_of(fen_rows, _shogi_pieces()),
        note=lambda state: f"in hand: {str(state).split(' ')[2]}",
        colours=("dark", "light"),
    )


_XIANGQI_FIGURES = {
    "r": ("車", "chariot"),
    "h": ("馬", "horse"),
    "e": ("象", "elephant"),
    "a": ("士", "advisor"),
    "g": ("將", "general"),
    "c": ("砲", "cannon"),
    "s": ("卒", "soldier"),
}
_RED_FIGURES = {"e": "相", "a": "仕", "g": "帥", "c": "炮", "s": "兵"}
_XIANGQI = {letter: PieceType(1, kind, sign) for letter, (sign, kind) in _XIANGQI_FIGURES.items()} | {
    letter.upper(): PieceType(0, kind, _RED_FIGURES.get(letter, sign))
    for letter, (sign, kind) in _XIANGQI_FIGURES.items()
}


def _columns(rows: int, columns: int) -> BoardLayout:
    """Squares with labels of the columns only, which moves of Connect Four are named by."""
    board = numbered_squares(rows, columns)
    return dataclasses.replace(board, labels=tuple(label for label in board.labels if label.y > rows - 1))


_SIX = ("red", "blue", "green", "yellow", "violet", "dark")


def _chinese_checkers_cells(text: str) -> list[tuple[int, int, str]]:
    """Row, column and character of each cell, in printed order."""
    board = text.split("Player")[0].splitlines()
    return [(row, column, x) for row, line in enumerate(board) for column, x in enumerate(line) if x != " "]


def _chinese_checkers(game: pyspiel.Game) -> View:
    cells = _chinese_checkers_cells(str(game.new_initial_state()))
    sites = tuple(BoardSite(str(i), column / 2, row * ROW, hexagon()) for i, (row, column, _) in enumerate(cells))

    def pieces(state: pyspiel.State) -> list[Piece]:
        marks = [x for _, _, x in _chinese_checkers_cells(str(state))]
        return [Piece(i, int(mark) - 1, "peg") for i, mark in enumerate(marks) if mark != "."]

    return View(layout=BoardLayout(sites), pieces=pieces, colours=_SIX)


_CLIFF = {
    "P": PieceType(0, "walker"),
    "X": PieceType(None, "cliff", form="block"),
    "G": PieceType(None, "goal", "⚑", "figure"),
}


def _cliff_walking(game: pyspiel.Game) -> View:
    parameters = game.get_parameters()
    return View(
        layout=checkered_squares(parameters["height"], parameters["width"]), pieces=pieces_of(plain_rows, _CLIFF)
    )


_GO_COLUMNS = "abcdefghjklmnopqrstuvwxyz"


def _star_points(size: int) -> list[tuple[int, int]]:
    """Returns rows and columns: the corners, the middle of an odd size, and the sides from 15 x 15.

    They are on the third line from the edge, from 13 x 13 on the fourth. A small board has none.
    """
    if size < 7:
        return []
    near, middle = 2 if size < 13 else 3, size // 2
    stars = [(row, column) for row in (near, size - 1 - near) for column in (near, size - 1 - near)]
    if size % 2 and size > 7:
        stars.append((middle, middle))
        if size >= 15:
            stars += [(near, middle), (size - 1 - near, middle), (middle, near), (middle, size - 1 - near)]
    return stars


def _go(game: pyspiel.Game) -> View:
    size = len(rows_below_numbers(str(game.new_initial_state())))
    layout = points(
        size,
        size,
        lambda row, column: f"{_GO_COLUMNS[column]}{size - row}",
        stars=_star_points(size),
    )
    return View(layout=layout, pieces=pieces_of(rows_below_numbers, stones("X", "O")))


_gomoku_in_two_dimensions = view_by_rows(
    lambda text: plain_rows(text)[1:], stones("b", "w"), numbered_points, win=in_a_row("connect")
)


def _gomoku(game: pyspiel.Game) -> View | None:
    """Only two dimensions are printed as rows and columns."""
    return _gomoku_in_two_dimensions(game) if game.get_parameters()["dims"] == 2 else None


_hexagon_rows = cells_of(".O@")


def _havannah(game: pyspiel.Game) -> View:
    """Columns run down to the right, so each row below the middle one starts one column later."""
    size = game.get_parameters()["board_size"]
    lengths = [len(row) for row in _hexagon_rows(str(game.new_initial_state()))]
    layout = hexagons(
        [(max(lengths) - length) / 2 for length in lengths],
        lengths,
        lambda row, column: from_above(row, column + max(0, row - size + 1)),
    )
    return View(layout=layout, pieces=pieces_of(_hexagon_rows, stones("O", "@")), win=havannah_chain)


def _y(game: pyspiel.Game) -> View:
    lengths = [len(row) for row in _hexagon_rows(str(game.new_initial_state()))]
    layout = hexagons([row / 2 for row in range(len(lengths))], lengths, from_above)
    return View(layout=layout, pieces=pieces_of(_hexagon_rows, stones("O", "@")), win=y_chain)


def _pentago_rows(text: str) -> list[str]:
    """The cells behind the row numbers; the names of rotations stand next to them."""
    found = (re.match(r"\s*\S?\s+\d ((?:[.O@] ){6})", line) for line in text.splitlines())
    return [row[1].replace(" ", "") for row in found if row is not None]


def _pentago(game: pyspiel.Game) -> View:
    middle = (BoardLine((2.5, -0.5), (2.5, 5.5), width=0.1), BoardLine((-0.5, 2.5), (5.5, 2.5), width=0.1))

    def sites(state: pyspiel.State, action: int) -> tuple[int, ...]:
        name = state.action_to_string(action)  # the site of the stone and the letter of the rotation
        return (6 * (int(name[1]) - 1) + ord(name[0]) - ord("a"),)

    layout = dataclasses.replace(squares_from_above(6, 6), lines=middle)
    return View(layout=layout, pieces=pieces_of(_pentago_rows, stones("O", "@")), sites=sites, win=in_a_row(5))


_NOUGHTS = {"x": PieceType(0, "mark", "X", "figure"), "o": PieceType(1, "mark", "O", "figure")}
_NOUGHTS_COLOURS = ("dark", "red")


def _ultimate_rows(text: str) -> list[str]:
    """The nine rows of nine cells."""
    rows = (line.strip() for line in text.splitlines())
    return [row.replace(" ", "") for row in rows if re.fullmatch(r"[.xo]{3}( [.xo]{3}){2}", row)]


def _ultimate_tic_tac_toe(game: pyspiel.Game) -> View:
    cells = [BoardSite(f"{row},{column}", column, row, square()) for row in range(9) for column in range(9)]
    lines = [BoardLine((2.5 + 3 * i, -0.5), (2.5 + 3 * i, 8.5), width=0.1) for i in range(2)]
    lines += [BoardLine((-0.5, 2.5 + 3 * i), (8.5, 2.5 + 3 * i), width=0.1) for i in range(2)]

    def note(state: pyspiel.State) -> str:
        forced = re.search(r"Forced board: (\d)", str(state))
        return "" if forced is None or int(forced[1]) > 8 else f"to be played in board {forced[1]}, counted from 0"

    layout = BoardLayout(tuple(cells), tuple(lines))
    pieces = pieces_of(_ultimate_rows, _NOUGHTS)
    return View(layout=layout, pieces=pieces, note=note, colours=_NOUGHTS_COLOURS, win=ultimate_line)


VIEWS: Mapping[str, MakeView] = {
    "2048": dice_boards.tiles_of_2048,
    "amazons": view_by_rows(plain_rows, _AMAZONS, _amazons_squares),
    "antichess": _chess,
    "backgammon": dice_boards.backgammon,
    "banqi": dice_boards.banqi,
    "breakthrough": view_by_rows(rows_behind_one_character, stones("b", "w", "pawn"), squares_from_below),
    "catch": dice_boards.catch,
    "checkers": view_by_rows(rows_below_numbers, _CHECKERS, squares_from_below, colours=("light", "dark")),
    "chess": _chess,
    "chinese_checkers": _chinese_checkers,
    "cliff_walking": _cliff_walking,
    "clobber": view_by_rows(rows_below_numbers, stones("o", "x"), squares_from_below, colours=("light", "dark")),
    "connect_four": view_by_rows(
        plain_rows, stones("x", "o", "disc"), _columns, colours=("red", "yellow"), win=in_a_row("x_in_row")
    ),
    "crazyhouse": _chess,
    "cursor_go": _go,
    "dots_and_boxes": other_boards.dots_and_boxes,
    "einstein_wurfelt_nicht": dice_boards.einstein_wurfelt_nicht,
    "go": _go,
    "gomoku": _gomoku,
    "havannah": _havannah,
    "hex": view_by_rows(spaced_rows, stones("x", "o"), rhombus, colours=("red", "blue"), win=hex_chain),
    "lines_of_action": view_by_rows(rows_below_numbers, stones("x", "o", "piece"), squares_from_below),
    "maedn": dice_boards.maedn,
    "mancala": other_boards.mancala,
    "mnk": view_by_rows(plain_rows, _NOUGHTS, numbered_squares, colours=_NOUGHTS_COLOURS, win=in_a_row("k")),
    "morpion_solitaire": other_boards.morpion_solitaire,
    "nim": other_boards.nim,
    "nine_mens_morris": other_boards.nine_mens_morris,
    "othello": view_by_rows(cells_of("-xo"), stones("x", "o", "disc"), squares_from_above),
    "oware": other_boards.oware,
    "pentago": _pentago,
    "quoridor": other_boards.quoridor,
    "shogi": _shogi,
    "tic_tac_toe": view_by_rows(plain_rows, _NOUGHTS, numbered_squares, colours=_NOUGHTS_COLOURS, win=in_a_row(3)),
    "twixt": other_boards.twixt,
    "ultimate_tic_tac_toe": _ultimate_tic_tac_toe,
    "xiangqi": view_by_rows(plain_rows, _XIANGQI, numbered_points, colours=("red", "dark")),
    "y": _y,
}
"""Function that makes the view of a game, by the game's short name. Games missing here are shown as text."""
