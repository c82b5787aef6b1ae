"""Positions and games as text that a visitor copies or loads, and as links that don't depend on the server's memory.

1. A link contains the game string, the actions of a line, the number of actions shown, and in Chess the FEN of another
   first position.
2. Links and texts are untrusted: their size is bounded, and every action is played by the rules.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

import pyspiel

from athenan_spiel.arena.record import match_of
from athenan_spiel.errors import AthenanError, ConfigError, shown
from athenan_spiel.games import given_game
from athenan_spiel.games.chance import possible_actions
from athenan_spiel.play.move_tree import MAX_TREE_MOVES, NO_NOTES, MoveNotes
from athenan_spiel.protocols import fen, pgn, sgf
from athenan_spiel.web.interactive_board import InteractiveBoard

ANALYSIS_PATH = "/analyse"
"""Path of the page that opens a link."""
MAX_LINK_CHARACTERS = 8_000
"""Maximum length of the query of a link; browsers and proxies accept it."""
MAX_TEXT_CHARACTERS = 500_000
"""Maximum length of a text to load; a message of a browser has at most 1 MB."""
_NUMBERS = re.compile(r"\[?[0-9\s,]*\]?", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)


class PositionError(AthenanError, ValueError):
    """Link or text that contains no position of the game."""


@dataclass(frozen=True)
class GameLine:
    """Line of actions from a first position, and a position on it.

    Attributes:
        actions: actions of the line.
        ply: number of actions before the position; None: all.
        start: first position in FEN; empty: the initial one.
        notes: variations and comments.
    """

    actions: tuple[int, ...] = ()
    ply: int | None = None
    start: str = ""
    notes: MoveNotes = NO_NOTES

    def board(self, game: pyspiel.Game) -> InteractiveBoard:
        """Returns the board with this line and position.

        Raises:
            PositionError: an action is illegal, or the first position is none of the game.
            MoveError: the variations or comments are invalid.
        """
        if len(self.actions) > MAX_TREE_MOVES:
            raise PositionError(f"expected at most {MAX_TREE_MOVES:,} moves, got {len(self.actions):,}")
        game = given_game(game)
        try:
            first = fen.read(game, self.start) if self.start else game.new_initial_state()
        except ConfigError as error:
            raise PositionError(str(error)) from None
        board = InteractiveBoard(first, self.start)
        for number, action in enumerate(self.actions, 1):
            if board.is_over or action not in possible_actions(board.state):
                after = "comes after the end of the game" if board.is_over else "is not legal"
                raise PositionError(f"move {number}, {action}, {after} at {str(game)!r}")
            board.play(action)
        board.add_notes(self.notes)
        board.show(len(self.actions) if self.ply is None else min(self.ply, len(self.actions)))
        return board


def position_of(board: InteractiveBoard) -> GameLine:
    """Returns the current line and position."""
    moves, ahead = tuple(board.state.history()), board.ahead
    return GameLine(moves + ahead, len(moves) if ahead else None, board.fen)


def link_query(board: InteractiveBoard) -> str | None:
    """Returns the query of a link to the current line and position; None if it would be too long."""
    position = position_of(board)
    fields = {"game": str(board.game)}
    if position.start:
        fields["fen"] = position.start
    if position.actions:
        fields["moves"] = ",".join(map(str, position.actions))
    if position.ply is not None:
        fields["ply"] = str(position.ply)
    query = urlencode(fields, safe=",()=/")
    return query if len(query) <= MAX_LINK_CHARACTERS else None


def read_link(fields: Mapping[str, str]) -> tuple[str, GameLine]:
    """Returns the game string and the position of a link's fields.

    Raises:
        PositionError: a field is missing or malformed, or the link is too long.
    """
    if sum(map(len, fields.values())) > MAX_LINK_CHARACTERS:
        raise PositionError(f"a link has at most {MAX_LINK_CHARACTERS:,} characters")
    game, moves, ply = fields.get("game", ""), fields.get("moves", ""), fields.get("ply")
    if not game:
        raise PositionError("a link needs a game, as in /analyse?game=connect_four()&moves=3,3")
    if ply is not None and not _NUMBER.fullmatch(ply):
        raise PositionError(f"ply must be a number of moves, got {shown(ply)}")
    return game, GameLine(_numbers("moves", moves), None if ply is None else int(ply), fields.get("fen", ""))


def read_text(game: pyspiel.Game, text: str) -> GameLine:
    """Returns the game or position of a text: a saved game, SGF, PGN, FEN, or actions as in OpenSpiel's history.

    Raises:
        PositionError: it is none of these.
        ArenaError, ConfigError: it is one, but invalid, or of another game.
    """
    text = text.strip()
    if len(text) > MAX_TEXT_CHARACTERS:
        raise PositionError(f"expected at most {MAX_TEXT_CHARACTERS:,} characters, got {len(text):,}")
    if _NUMBERS.fullmatch(text):
        return GameLine(_numbers("the history", text))
    if text.startswith("{") and '"actions"' in text:
        return _read_saved(game, text)
    if text.startswith("("):
        actions, notes = sgf.read_tree(game, text)
        return GameLine(actions, notes=notes)
    if fen.looks_like(text):
        return GameLine(start=str(fen.read(game, text)))
    if pgn.is_written(game):
        start, actions, notes = pgn.read(game, text)
        return GameLine(actions, start=start or "", notes=notes)
    raise PositionError(f"expected {formats(game)}, got {shown(text[:60])}")


def formats(game: pyspiel.Game) -> str:
    """Returns the formats that `read_text` reads for a game."""
    found = ["SGF"] if sgf.is_written(game) else ["PGN", "FEN"] if pgn.is_written(game) else []
    return " or ".join([*found, "a saved game", "actions as in OpenSpiel's history, such as 3, 2, 1"])


def _read_saved(game: pyspiel.Game, text: str) -> GameLine:
    saved = match_of(text.encode(errors="replace"), "the text")
    if saved.game != str(game):
        raise PositionError(f"it is a game of {saved.game!r}; this page plays {game}")
    saved.require_true()
    return GameLine(saved.result.history, notes=saved.notes)


def _numbers(what: str, text: str) -> tuple[int, ...]:
    words = text.strip("[]").replace(",", " ").split()
    if not _NUMBERS.fullmatch(text) or not all(map(_NUMBER.fullmatch, words)):
        raise PositionError(f"{what} must be numbers with commas between them, got {shown(text)}")
    return tuple(map(int, words))


def position_text(board: InteractiveBoard) -> tuple[str, str]:
    """Returns the name of a notation, FEN or OpenSpiel's history, and the current position in it."""
    if fen.is_written(board.game):
        return "FEN", str(board.state)
    return "OpenSpiel history", ", ".join(map(str, board.state.history()))


def game_text(board: InteractiveBoard) -> tuple[str, str]:
    """Returns the name of a notation and the game in it: SGF or PGN, with variations, or OpenSpiel's history.

    After an opening, or in the history, it is only the current line.
    """
    position = position_of(board)
    actions, tree = position.actions, None
    if not board.start().history():
        actions, tree = (
            tuple(node.action for node in board.tree.root.continuation() if node.action is not None),
            board.tree,
        )
    if sgf.is_written(board.game):
        return "SGF", sgf.written(board.game, actions, tree=tree)
    if pgn.is_written(board.game):
        return "PGN", pgn.written(board.game, actions, start=position.start or None, tree=tree)
    return "OpenSpiel history", ", ".join(map(str, position.actions))
