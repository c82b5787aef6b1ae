"""Chinese Checkers."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import pairwise

import pyspiel

from athenan_spiel.games.facts.base import Facts, Text
from athenan_spiel.games.facts.readers import merged
from athenan_spiel.games.layout import ROW, Layout, Piece, Site, hexagon
from athenan_spiel.games.view import View


def _text(game: pyspiel.Game) -> Text:
    def text(state: pyspiel.State) -> Hashable:
        played = state.full_history()
        movers = [x.player for x in played]
        movers.append(state.current_player())
        turns = [i for i, (a, b) in enumerate(pairwise(movers), start=1) if a != b]
        hops = tuple(x.action for x in played[turns[-1] if turns else 0 :])
        return str(state), len(turns), hops

    return text


def _cells(text: str) -> list[tuple[int, int, str]]:
    """Row, column and character of each cell, as they are printed."""
    board = text.split("Player")[0].splitlines()
    return [(row, column, x) for row, line in enumerate(board) for column, x in enumerate(line) if x != " "]


def _view(game: pyspiel.Game) -> View:
    cells = _cells(str(game.new_initial_state()))
    sites = tuple(Site(str(i), column / 2, row * ROW, hexagon()) for i, (row, column, _) in enumerate(cells))

    def pieces(state: pyspiel.State) -> list[Piece]:
        marks = [x for _, _, x in _cells(str(state))]
        return [Piece(i, int(mark) - 1, "peg") for i, mark in enumerate(marks) if mark != "."]

    return View(layout=Layout(sites), pieces=pieces, colours=("red", "blue"))


FACTS = Facts(
    transposition=merged(
        "Besides the board the rules know the number of turns (`max_moves` make a draw), which is not the ply as "
        "each hop is an action, and the cells that the hops of this turn came through, which are forbidden.",
        "str(state), the number of turns, and the actions of an unfinished turn",
        _text,
    ),
    marks=("1", "2"),
    view=_view,
    cut=lambda state: not any(state.returns()),  # the rules have no other draw than that by `max_moves`
)
