"""Views of games with chance. The note next to the board shows the roll."""

from __future__ import annotations

import dataclasses
import re

import pyspiel

from athenan_spiel.drawing.layout import BoardLayout, BoardLine, BoardSite, Piece, numbered, square, squares
from athenan_spiel.drawing.view import PieceType, View, pieces_of, plain_rows, spaced_rows
from athenan_spiel.games.chance import is_chance

_DICE = re.compile(r"Dice: (\d*)")


def _printed_dice(state: pyspiel.State) -> str:
    """Note with the dice that the text of a state gives."""
    found = _DICE.search(str(state))
    if found is None or not found[1]:
        return "chance rolls" if is_chance(state) else ""
    return f"dice: {' '.join(found[1])}"


_STACK = 5
"""Number of checkers of a point that are drawn apart; the first shows the number of a larger stack."""
_BAR_X, _OFF_X = 6, 13
_SIDES = ("x", "o")


def backgammon(game: pyspiel.Game) -> View:
    """Sites: five places of each of the 24 points, then the bar and the checkers borne off, of each player.

    The sites of an action are the points that its checkers leave.
    """
    sites, lines = [], []
    for point in range(24):
        x, is_below = _backgammon_column(point), point < 12
        edge, tip = (10.5, 5.7) if is_below else (-0.5, 4.3)
        lines += [BoardLine((x + way, edge), (x, tip)) for way in (-0.45, 0.45)]
        for place in range(_STACK):
            y = 10 - place if is_below else place
            sites.append(BoardSite(f"point {point + 1}, place {place + 1}", x, y, square(), is_drawn=False))
    bar, off = len(sites), len(sites) + 2
    sites += [BoardSite(f"bar of {side}", _BAR_X, 2 + 6 * player, square()) for player, side in enumerate(_SIDES)]
    sites += [BoardSite(f"borne off by {side}", _OFF_X, 8 - 6 * player, square()) for player, side in enumerate(_SIDES)]

    def pieces(state: pyspiel.State) -> list[Piece]:
        found = []
        text = str(state)
        borne_off = re.search(r"Scores, X: (\d+), O: (\d+)", text)
        on_bar = re.search(r"Bar:(.*)", text)
        assert borne_off is not None, "the text of a state of Backgammon gives the checkers borne off"
        assert on_bar is not None, "the text of a state of Backgammon gives the bar"
        for player, mark in enumerate("xo"):
            for point in range(24):
                count = state.board(player, point)
                for place in range(min(count, _STACK)):
                    sign = str(count) if place == 0 and count > _STACK else ""
                    found.append(Piece(_STACK * point + place, player, "checker", sign))
            for site, count in ((bar, on_bar[1].count(mark)), (off, int(borne_off[player + 1]))):
                if count:
                    found.append(Piece(site + player, player, "checker", str(count)))
        return found

    def origins(state: pyspiel.State, action: int) -> tuple[int, ...]:
        if is_chance(state):
            return ()
        first, second = action % 26, action // 26 % 26
        own_bar = bar + int(state.current_player())
        return tuple(own_bar if digit == 24 else _STACK * digit for digit in (first, second) if digit < 25)

    return View(
        layout=BoardLayout(tuple(sites), tuple(lines)),
        pieces=pieces,
        sites=origins,
        note=_printed_dice,
        is_path=False,
        colours=("light", "dark"),
    )


def _backgammon_column(point: int) -> int:
    """Column of a point, from 0 at the left; the bar is column 6."""
    column = 11 - point if point < 12 else point - 12
    return column if column < _BAR_X else column + 1


_BANQI = {"G": "帥將", "A": "仕士", "E": "相象", "R": "俥車", "H": "傌馬", "C": "炮砲", "S": "兵卒"}
_BANQI_KINDS = {
    "G": "general",
    "A": "advisor",
    "E": "elephant",
    "R": "chariot",
    "H": "horse",
    "C": "cannon",
    "S": "soldier",
}
_FIRST_COLOUR = re.compile(r"P0=(\w+)")


def banqi(game: pyspiel.Game) -> View:
    """Each player's pieces have the player's colour; the characters are those of red or black pieces."""

    def pieces(state: pyspiel.State) -> list[Piece]:
        text = str(state)
        colour = _FIRST_COLOUR.search(text)
        first_is_black = colour is not None and colour[1] == "Black"
        found = []
        for site, mark in enumerate("".join(spaced_rows(text)[:4])):
            if mark == "?":
                found.append(Piece(site, None, "piece, face down", "?"))
            elif mark != ".":
                is_black = mark.islower()
                kind = mark.upper()
                found.append(Piece(site, int(is_black != first_is_black), _BANQI_KINDS[kind], _BANQI[kind][is_black]))
        return found

    def sites(state: pyspiel.State, action: int) -> tuple[int, ...]:
        if is_chance(state):
            return (state.history()[-1],)
        return (action,) if action < 32 else divmod(action - 32, 32)

    return View(
        layout=squares(4, 8, numbered),
        pieces=pieces,
        sites=sites,
        note=lambda state: "chance turns a piece" if is_chance(state) else "",
        colours=("red", "dark"),
    )


def catch(game: pyspiel.Game) -> View:
    """Actions have no place on the board."""
    board = plain_rows(str(game.new_initial_state()))
    types = {"o": PieceType(None, "ball"), "x": PieceType(0, "paddle", form="block")}
    return View(
        layout=dataclasses.replace(squares(len(board), len(board[0]), numbered), labels=()),
        pieces=pieces_of(plain_rows, types),
        sites=lambda state, action: (),
    )


_CUBE = re.compile(r"\|(..)\|")


def einstein_wurfelt_nicht(game: pyspiel.Game) -> View:
    """Cubes with their numbers. The text does not show the roll, which is the last outcome of the history."""

    def pieces(state: pyspiel.State) -> list[Piece]:
        cubes = _CUBE.findall(str(state))
        return [Piece(i, "bw".index(x[0]), "cube", x[1]) for i, x in enumerate(cubes) if x[0] in "bw"]

    def note(state: pyspiel.State) -> str:
        history = state.history()
        if is_chance(state):
            return "chance places the cubes" if len(history) < 2 else "chance rolls"
        return "" if state.is_terminal() else f"dice: {history[-1] + 1}"

    return View(layout=squares(5, 5, numbered), pieces=pieces, sites=_moves_of_players, note=note)


def _moves_of_players(state: pyspiel.State, action: int) -> tuple[int, ...]:
    """Sites that a move of EinStein würfelt nicht! leaves and enters; outcomes have none."""
    if is_chance(state):
        return ()
    cell, rest = divmod(action, 12)
    row, column = divmod(cell, 5)
    down, right = ((1, 1), (1, 0), (0, 1), (-1, 0), (-1, -1), (0, -1))[rest // 2]
    return cell, 5 * (row + down) + column + right


def maedn(game: pyspiel.Game) -> View:
    """Sites: the fields of the printed board, row by row, which are every second character."""
    lines = str(game.new_initial_state()).splitlines()[:11]
    places = [(row, column) for row, line in enumerate(lines) for column, x in enumerate(line) if x not in " -"]
    sites = tuple(BoardSite(f"{row},{column // 2}", column / 2, row, square(0.9, 0.9)) for row, column in places)

    def pieces(state: pyspiel.State) -> list[Piece]:
        text = str(state).splitlines()
        marks = [text[row][column] for row, column in places]
        return [Piece(i, "1234".index(mark), "piece") for i, mark in enumerate(marks) if mark in "1234"]

    view = View(
        layout=BoardLayout(sites), pieces=pieces, note=_printed_dice, colours=("red", "blue", "green", "yellow")
    )

    def moved(state: pyspiel.State, action: int) -> tuple[int, ...]:
        return () if is_chance(state) else view.touched(state, action)

    return View(layout=view.layout, pieces=pieces, sites=moved, note=_printed_dice, colours=view.colours)


def tiles_of_2048(game: pyspiel.Game) -> View:
    """Tiles with their numbers. Moves have no place on the board; an outcome is the place of a tile."""

    def pieces(state: pyspiel.State) -> list[Piece]:
        return [Piece(i, None, "tile", x, "count") for i, x in enumerate(str(state).split()) if x != "0"]

    return View(
        layout=dataclasses.replace(squares(4, 4, numbered, is_checkered=True), labels=()),
        pieces=pieces,
        sites=lambda state, action: (action // 2,) if is_chance(state) and action < 32 else (),
        note=lambda state: f"score: {state.player_return(0):.0f}",
    )
