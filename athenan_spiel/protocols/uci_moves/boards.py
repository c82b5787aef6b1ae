"""Breakthrough, Clobber, Othello, Connect Four and lines on a board: games of one kind of piece, of many sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import pyspiel

from athenan_spiel.errors import AgentError
from athenan_spiel.games.boards import rank_of
from athenan_spiel.protocols.uci_moves.base import UciGame, square

MOST_FILES, MOST_RANKS = 12, 10
"""The largest board of Fairy-Stockfish."""
_SQUARE = re.compile(r"([a-z])([0-9]+)")


def fit(game: pyspiel.Game, files: int, ranks: int, least: int = 3) -> None:
    """Raise `AgentError` for a board that is larger than UCI engines have, or smaller."""
    if not (least <= files <= MOST_FILES and least <= ranks <= MOST_RANKS):
        raise AgentError(
            f"UCI engines play on boards from {least} x {least} to {MOST_FILES} x {MOST_RANKS}, got {str(game)!r}: "
            "take another board or another agent"
        )


def _turned_round(squares: Iterable[tuple[str, int]], ranks: int) -> str:
    """The squares of a move, each a file and a rank, with ranks counted from the other side."""
    return "".join(f"{file}{ranks + 1 - rank}" for file, rank in squares)


class Breakthrough(UciGame):
    """Breakthrough. The first player begins from above in OpenSpiel, from below in UCI: ranks are turned round."""

    def __init__(self, game: pyspiel.Game) -> None:
        size = game.get_parameters()
        files, self._ranks = size["columns"], size["rows"]
        fit(game, files, self._ranks)
        lines = 2 if self._ranks >= 6 else 1  # of pieces on either side, in OpenSpiel
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
                    f"whiteFlag = *{self._ranks}",  # as versions before 14 have it
                    "blackFlag = *1",
                ]
            )

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """`a2b3` for OpenSpiel's `a7b6` or, of a capture, `a7b6*`."""
        start_file, start_rank, end_file, end_rank = state.action_to_string(turn[0])[:4]
        return _turned_round([(start_file, rank_of(start_rank)), (end_file, rank_of(end_rank))], self._ranks)


class Clobber(UciGame):
    """Clobber, ranks turned round: the first player has the left corner from above in UCI, and from below here."""

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
        """`a2b2` for OpenSpiel's `a5b5` on six ranks."""
        squares = _SQUARE.findall(state.action_to_string(turn[0]))
        return _turned_round([(file, int(rank)) for file, rank in squares], self._ranks)


class Othello(UciGame):
    """Othello as `flipello`. OpenSpiel counts rows from above. A pass is a move of a piece to where it stands."""

    variant = "flipello"
    board = "8/8/8/3pP3/3Pp3/8/8/8"

    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """`P@d3`, and for a pass `a1a1`, of the first square from below that the mover has a piece on."""
        if turn[0] == 64:
            row, column = divmod(self._lowest(state), 8)
            return square(column, 8 - row) * 2
        row, column = divmod(turn[0], 8)
        return f"P@{square(column, 8 - row)}"

    @staticmethod
    def _lowest(state: pyspiel.State) -> int:
        """The cell of the mover's lowest piece, the leftmost of that rank: what Fairy-Stockfish passes by."""
        rows = [line.split()[1:9] for line in str(state).splitlines()[2:10]]
        mine = "xo"[state.current_player()]
        return next(8 * row + column for row in range(7, -1, -1) for column in range(8) if rows[row][column] == mine)


class ConnectFour(UciGame):
    """Connect Four as `cfour`: the piece falls in UCI, too, and its square is said."""

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
        """`P@d1` for a piece in the fourth column that falls to the bottom."""
        rows = str(state).split()
        free = sum(row[turn[0]] == "." for row in rows)
        return f"P@{square(turn[0], self._ranks + 1 - free)}"


class Lines(UciGame):
    """Tic-Tac-Toe and m,n,k-games: so many in a row, on a board that pieces are put on."""

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
        """`P@b2` for `x(1,1)`."""
        row, column = divmod(turn[0], self._files)
        return f"P@{square(column, self._ranks - row)}"


def _lines_of(variant: str, files: int, ranks: int, row: int, more: Sequence[str]) -> str:
    """The definition of a game in which `row` pieces in a line win, and a full board is a draw."""
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
