"""Games with one kind of piece: Breakthrough, Clobber, Othello, Connect Four and m,n,k-games."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import pyspiel

from athenan_spiel.errors import AgentError
from athenan_spiel.games.boards import rank_of
from athenan_spiel.protocols.uci_moves.base import UciGame, square

MAX_FILES, MAX_RANKS = 12, 10
"""Largest board of Fairy-Stockfish."""
_SQUARE = re.compile(r"([a-z])([0-9]+)")


def fit(game: pyspiel.Game, files: int, ranks: int, least: int = 3) -> None:
    """Raises `AgentError` if UCI engines don't support the board size."""
    if not (least <= files <= MAX_FILES and least <= ranks <= MAX_RANKS):
        raise AgentError(
            f"UCI engines play on boards from {least} x {least} to {MAX_FILES} x {MAX_RANKS}, got {str(game)!r}: "
            "use another board or another agent"
        )


def _flipped(squares: Iterable[tuple[str, int]], ranks: int) -> str:
    """Joins the squares of a move, with ranks counted from the other side."""
    return "".join(f"{file}{ranks + 1 - rank}" for file, rank in squares)


class Breakthrough(UciGame):
    """Breakthrough. The first player starts at the top in OpenSpiel and at the bottom in UCI, so ranks are reversed."""

    def __init__(self, game: pyspiel.Game) -> None:
        size = game.get_parameters()
        files, self._ranks = size["columns"], size["rows"]
        fit(game, files, self._ranks)
        lines = 2 if self._ranks >= 6 else 1  # rows of pieces per side
        empty = [str(files)] * (self._ranks - 2 * lines)
        self.board = "/".join(["p" * files] * lines + empty + ["P" * files] * lines)
        self.variant = "breakthrough"
        if (files, self._ranks) != (8, 8):
            self.variant = f"breakthrough{files}x{self._ranks}"
            self.definition = "\n".join(
                [
                    f"[{self.variant}:breakthrough]",
                    f"maxFile = {files}",
                    f"maxRank = {self._ranks}",
                    f"startFen = {self.board} w 0 1",
                    f"flagRegionWhite = *{self._ranks}",
                    "flagRegionBlack = *1",
                    f"whiteFlag = *{self._ranks}",  # name in versions before 14
                    "blackFlag = *1",
                ]
            )

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """Returns `a2b3` for OpenSpiel's `a7b6`, or `a7b6*` for a capture."""
        start_file, start_rank, end_file, end_rank = state.action_to_string(turn[0])[:4]
        return _flipped([(start_file, rank_of(start_rank)), (end_file, rank_of(end_rank))], self._ranks)


class Clobber(UciGame):
    """Clobber. The first player has the upper left corner in UCI, the lower left in OpenSpiel: ranks are reversed."""

    def __init__(self, game: pyspiel.Game) -> None:
        size = game.get_parameters()
        files, ranks = size["columns"], size["rows"]
        self._ranks = ranks
        fit(game, files, ranks, 2)
        self.board = "/".join("".join("Pp"[(row + column) % 2] for column in range(files)) for row in range(ranks))
        self.variant = {(5, 6): "clobber", (10, 10): "clobber10"}.get((files, ranks), f"clobber{files}x{ranks}")
        if (files, ranks) not in ((5, 6), (10, 10)):
            self.definition = "\n".join(
                [
                    f"[{self.variant}:clobber]",
                    f"maxFile = {files}",
                    f"maxRank = {ranks}",
                    f"startFen = {self.board} w 0 1",
                ]
            )

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """Returns `a2b2` for OpenSpiel's `a5b5` on six ranks."""
        squares = _SQUARE.findall(state.action_to_string(turn[0]))
        return _flipped([(file, int(rank)) for file, rank in squares], self._ranks)


class Othello(UciGame):
    """Othello, UCI's `flipello`. OpenSpiel counts rows from the top."""

    variant = "flipello"
    board = "8/8/8/3pP3/3Pp3/8/8/8"

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """Returns, for example, `P@d3`, or `a1a1` for a pass: the square of the mover's lowest piece, twice."""
        if turn[0] == 64:
            row, column = divmod(self._lowest(state), 8)
            return square(column, 8 - row) * 2
        row, column = divmod(turn[0], 8)
        return f"P@{square(column, 8 - row)}"

    @staticmethod
    def _lowest(state: pyspiel.State) -> int:
        """Returns the cell of the mover's lowest, then leftmost piece, with which Fairy-Stockfish writes a pass."""
        rows = [line.split()[1:9] for line in str(state).splitlines()[2:10]]
        mine = "xo"[state.current_player()]
        return next(8 * row + column for row in range(7, -1, -1) for column in range(8) if rows[row][column] == mine)


class ConnectFour(UciGame):
    """Connect Four, UCI's `cfour`. A move names the square in which the piece lands."""

    def __init__(self, game: pyspiel.Game) -> None:
        size = game.get_parameters()
        files, ranks = size["columns"], size["rows"]
        fit(game, files, ranks)
        self.board = "/".join([str(files)] * ranks)
        self.variant = "cfour"
        if (files, ranks, size["x_in_row"]) != (7, 6, 4):
            self.variant = f"cfour{files}x{ranks}x{size['x_in_row']}"
        self.definition = _lines_of(self.variant, files, ranks, size["x_in_row"], ["enclosingDrop = top"])
        self._ranks = ranks

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """Returns, for example, `P@d1` for the first piece in the fourth column."""
        rows = str(state).split()
        free = sum(row[turn[0]] == "." for row in rows)
        return f"P@{square(turn[0], self._ranks + 1 - free)}"


class Lines(UciGame):
    """Tic-Tac-Toe and m,n,k-games."""

    def __init__(self, game: pyspiel.Game) -> None:
        size = {"m": 3, "n": 3, "k": 3}  # Tic-Tac-Toe, which has no parameters
        size.update({**game.get_type().parameter_specification, **game.get_parameters()})
        self._files, self._ranks, row = size["m"], size["n"], size["k"]
        fit(game, self._files, self._ranks)
        self.board = "/".join([str(self._files)] * self._ranks)
        usual = (self._files, self._ranks, row) == (3, 3, 3)
        self.variant = "tictactoe" if usual else f"line{self._files}x{self._ranks}x{row}"
        self.definition = _lines_of(self.variant, self._files, self._ranks, row, [])

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """Returns `P@b2` for OpenSpiel's `x(1,1)` on 3 x 3."""
        row, column = divmod(turn[0], self._files)
        return f"P@{square(column, self._ranks - row)}"


def _lines_of(variant: str, files: int, ranks: int, row: int, more: Sequence[str]) -> str:
    """Returns the definition of a game in which `row` pieces in a line win, and a full board is a draw."""
    white, black = "P" * -(-files * ranks // 2), "p" * (files * ranks // 2)
    empty = "/".join([str(files)] * ranks)
    return "\n".join(
        [
            f"[{variant}]",
            f"maxFile = {files}",
            f"maxRank = {ranks}",
            "immobile = p",
            f"startFen = {empty}[{white}{black}] w - - 0 1",
            "pieceDrops = true",
            "doubleStep = false",
            "castling = false",
            "stalemateValue = draw",
            "immobilityIllegal = false",
            f"connectN = {row}",
            "nMoveRule = 0",
            *more,
        ]
    )
