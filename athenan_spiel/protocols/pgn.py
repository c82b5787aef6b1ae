"""Games of Chess in PGN (Portable Game Notation). OpenSpiel's action strings are SAN, the move notation of PGN.

The reader reads the first game in a text with its variations and comments, from the initial position or the one of the
tag `FEN`. The text is untrusted: its size is bounded, and each move is legal.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import NamedTuple

import pyspiel

from athenan_spiel.errors import ConfigError, printable, shown
from athenan_spiel.play.match import Forfeit
from athenan_spiel.play.move_tree import MAX_COMMENT_CHARACTERS, MAX_TREE_MOVES, MoveNotes, MoveTree
from athenan_spiel.protocols import fen

WIDTH = 80
"""Maximum length of a line of moves, from PGN's export format (8.2.1)."""
_RESULTS = {1.0: "1-0", 0.0: "1/2-1/2", -1.0: "0-1"}
_WHITE = 1
"""White is OpenSpiel's player 1 in Chess."""
_SIDES = ("Black", "White")
"""Colours by player."""
MAX_CHARACTERS = 1_000_000
"""Maximum size of a text to read."""
_COMMAND = re.compile(r"\[%[^\[\]]*\]")
_TOKEN = re.compile(
    r"""\s+ | \[\s*(?P<tag>[A-Za-z0-9_]+)\s*"(?P<value>[^"\n]*)"\s*\]
    | \{(?P<comment>[^}]*)\} | ;(?P<rest>[^\n]*) | ^%[^\n]* | \$[0-9]+
    | (?P<bracket>[()]) | (?P<result>1-0|0-1|1/2-1/2|\*) | [0-9]+\.* | \.+ | [!?]+
    | (?P<move>(?:[PNBRQK]?[a-h]?[1-8]?x?[a-h][1-8](?:=?[NBRQ])?|[O0](?:-[O0]){1,2})[+\#]?)(?![A-Za-z0-9])""",
    re.VERBOSE | re.ASCII | re.MULTILINE,
)
"""Tag, comment, escaped line, annotation, bracket of a variation, result, move number, or move."""


def is_written(game: pyspiel.Game) -> bool:
    """Returns whether PGN supports `game`; the initial position of Chess960 is random."""
    return fen.is_written(game)


def written(
    game: pyspiel.Game,
    history: Sequence[int],
    names: tuple[str, str] = ("?", "?"),
    returns: Sequence[float] | None = None,
    *,
    start: str | None = None,
    event: str = "?",
    date: datetime.date | None = None,
    round_: str = "?",
    comment: str = "",
    tree: MoveTree | None = None,
) -> str:
    """Returns a game in PGN, followed by an empty line.

    Args:
        game: Chess.
        history: all actions of the game.
        names: names of player 0 (Black) and player 1 (White).
        returns: final returns by player, needed if the moves don't determine them, as after a forfeit. By default the
            result is that of the last position, or `*` if it is not terminal.
        start: FEN of the first position (default: the initial position). Its tag has all six fields.
        event, date, round_: values of these tags.
        comment: comment after the last move, such as the reason of a forfeit.
        tree: moves with variations and comments, whose main line is `history`.

    Raises:
        ConfigError: the game is not Chess, or its initial position is random (Chess960); an action is not legal; or
            the last position is terminal with other returns.
    """
    if not is_written(game):
        raise ConfigError(f"PGN supports games of {', '.join(fen.GAMES)}, got one of {str(game)!r}")
    state = game.new_initial_state() if start is None else game.new_initial_state(start)
    first = str(state)
    words, number = [], int(first.split()[5])
    for i, action in enumerate(history):
        if state.is_terminal() or action not in state.legal_actions():
            raise ConfigError(f"expected a legal action as number {i} of the game, got {shown(action)}")
        white = state.current_player() == _WHITE
        if white or i == 0:
            words.append(f"{number}." if white else f"{number}...")
        words.append(state.action_to_string(state.current_player(), action))
        number += not white
        state.apply_action(action)
    if state.is_terminal():
        if returns is not None and list(returns) != state.returns():
            raise ConfigError(f"expected the returns of the last position, {state.returns()}, got {shown(returns)}")
        returns = state.returns()
    if tree is not None:
        words = _tree_words(tree, first)
    result = "*" if returns is None else _RESULTS[float((returns[_WHITE] > 0) - (returns[_WHITE] < 0))]
    if comment:
        words.append(f"{{{_clean(comment).replace('}', ')')}}}")
    tags = {
        "Event": event,
        "Site": "?",
        "Date": "????.??.??" if date is None else date.strftime("%Y.%m.%d"),
        "Round": round_,
        "White": names[_WHITE],
        "Black": names[1 - _WHITE],
        "Result": result,
    }
    if start is not None:
        tags |= {"SetUp": "1", "FEN": first}
    lines = [f'[{name} "{_quoted(value)}"]' for name, value in tags.items()]
    return "\n".join([*lines, "", *_wrapped([*words, result]), "", ""])


def read(game: pyspiel.Game, text: str) -> tuple[str | None, tuple[int, ...], MoveNotes]:
    """Returns the FEN of the first position, None for the initial one, the actions of the main line, and its notes.

    Raises:
        ConfigError: `text` is not a PGN of `game`, is too large, or has an illegal move.
    """
    if not is_written(game):
        raise ConfigError(f"PGN supports games of {', '.join(fen.GAMES)}, got one of {str(game)!r}")
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(f"expected a PGN of {MAX_CHARACTERS:,} characters at most, got {len(text):,}")
    return _Reader(game).read(text.removeprefix("\ufeff"))


class _Place(NamedTuple):
    """Position in a game that is read.

    Attributes:
        number: number of the move that led to it, in the order of the text; 0 at the start.
    """

    number: int
    state: pyspiel.State


class _Reader:
    """Reader of one game."""

    def __init__(self, game: pyspiel.Game) -> None:
        self._game = game
        self._start: str | None = None
        self._moves: list[tuple[int, int, bool]] = []
        """Index of the position before each move, its action, and whether it is on the main line."""
        self._comments: dict[int, str] = {}
        self._here = _Place(0, game.new_initial_state())
        self._before: _Place | None = None
        self._lines: list[tuple[_Place, _Place]] = []

    def read(self, text: str) -> tuple[str | None, tuple[int, ...], MoveNotes]:
        """Returns the result of `read`."""
        place, has_tags = 0, False
        while place < len(text):
            token = _TOKEN.match(text, place)
            if token is None:
                got = shown(text[place : place + 40])
                raise ConfigError(f"expected a PGN, got {got} after {len(self._moves)} half-moves")
            place = token.end()
            if token["tag"] is not None:
                if self._moves:
                    break  # the next game
                has_tags = True
                if token["tag"] == "FEN":
                    self._start = str(fen.read(self._game, token["value"]))
                    self._here = _Place(0, self._game.new_initial_state(self._start))
            elif token["bracket"] is not None:
                self._take_bracket(token["bracket"])
            elif (comment := token["comment"] or token["rest"]) is not None:
                self._take_comment(comment)
            elif token["move"] is not None:
                self._take_move(token["move"])
            elif token["result"] is not None and not self._lines:
                break
        if self._lines:
            raise ConfigError("expected a PGN, got a variation without a closing bracket")
        if not self._moves and not has_tags:
            raise ConfigError("expected a PGN, got no moves")
        return self._start, *self._found()

    def _take_bracket(self, bracket: str) -> None:
        if bracket == ")":
            if not self._lines:
                count = len(self._moves)
                raise ConfigError(f"expected a PGN, got a closing bracket too many after {count} half-moves")
            self._here, self._before = self._lines.pop()
        elif self._before is None:
            raise ConfigError("expected a move before each variation of the PGN, got an opening bracket")
        else:
            self._lines.append((self._here, self._before))
            self._here, self._before = self._before, None

    def _take_comment(self, text: str) -> None:
        """Adds a comment; commands of other programs, such as `[%clk 0:01:00]`, are left out."""
        known = self._comments.get(self._here.number, "")
        if len(known) < MAX_COMMENT_CHARACTERS:
            words = [known] * bool(known) + _COMMAND.sub("", text).split()
            self._comments[self._here.number] = " ".join(words)[:MAX_COMMENT_CHARACTERS]

    def _take_move(self, move: str) -> None:
        state, number = self._here.state, len(self._moves) + 1
        if state.is_terminal():
            reason = "the game is over, as OpenSpiel ends it at mate, a draw, or the third repetition"
            raise ConfigError(f"expected no half-move {number} in the PGN, got {shown(move)}: {reason}")
        legal = {_plain(state.action_to_string(x)): x for x in state.legal_actions()}
        action = legal.get(_plain(move))
        if action is None:
            raise ConfigError(f"expected a legal move as half-move {number} of the PGN, got {shown(move)}")
        if number > MAX_TREE_MOVES:
            raise ConfigError(f"expected a PGN of {MAX_TREE_MOVES:,} half-moves at most")
        self._moves.append((self._here.number, action, not self._lines))
        self._before, self._here = self._here, _Place(number, state.child(action))

    def _found(self) -> tuple[tuple[int, ...], MoveNotes]:
        """Returns the main line, and the variations and comments in the numbers of `MoveNotes`."""
        main = [action for _, action, is_main in self._moves if is_main]
        numbers, variations = [0], []
        ply = 0
        for parent, action, is_main in self._moves:
            if is_main:
                ply += 1
                numbers.append(ply)
            else:
                variations.append((numbers[parent], action))
                numbers.append(len(main) + len(variations))
        comments = ((numbers[index], text) for index, text in self._comments.items() if text)
        return tuple(main), MoveNotes(tuple(variations), tuple(comments))


def _plain(move: str) -> str:
    """Returns a move in SAN without check, mate and promotion signs."""
    return re.sub(r"[+#=]", "", move).replace("0", "O")


def _tree_words(tree: MoveTree, first: str) -> list[str]:
    """Returns the words of a tree of moves, whose names are SAN.

    Args:
        first: FEN of the first position.
    """
    _, side, _, _, _, number = first.split()
    begins = 2 * int(number) + (side == "b")
    words = _comment_words(tree.root.comment)
    depth, before, is_numbered = 0, tree.root, True
    for level, node in tree.listed():
        is_variation = node is not node.siblings[0]
        if is_variation or node.parent is not before:
            if closed := depth - level + (is_variation and depth >= level):
                words[-1] += ")" * closed
            is_numbered = True
        half = begins + node.ply - 1
        numbers = [f"{half // 2}."] if half % 2 == 0 else [f"{half // 2}..."] if is_numbered else []
        found = [*numbers, node.name]
        if is_variation:
            found[0] = f"({found[0]}"
        words += [*found, *_comment_words(node.comment)]
        depth, before, is_numbered = level, node, bool(node.comment)
    if depth:
        words[-1] += ")" * depth
    return words


def _comment_words(text: str) -> list[str]:
    """Returns the words of a comment, in braces."""
    words = printable(re.sub(r"\s+", " ", text.replace("}", ")"))).split()
    if words:
        words[0] = "{" + words[0]
        words[-1] += "}"
    return words


def termination(forfeit: Forfeit | None) -> str:
    """Returns a comment with the side that resigned or forfeited, and the reason; empty without a forfeit."""
    if forfeit is None:
        return ""
    side = _SIDES[forfeit.player_id]
    if forfeit.resigned:
        return f"{side} resigned"
    reason = re.sub(r"\bplayer ([01])\b", lambda player: _SIDES[int(player[1])], forfeit.reason, flags=re.ASCII)
    return reason if reason.startswith(side) else f"{side} forfeited: {reason}"


def _quoted(value: str) -> str:
    """Returns a tag value; quotation marks are replaced, since some PGN readers don't support escapes."""
    return _clean(value).replace("\\", "/").replace('"', "'")


def _clean(text: str) -> str:
    """Returns `text` on one line, without control characters."""
    return printable(re.sub(r"\s+", " ", text))[:200]


def _wrapped(words: Sequence[str]) -> list[str]:
    """Joins words into lines of at most `WIDTH` characters; a longer word gets its own line."""
    lines, line = [], ""
    for word in words:
        if line and len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]
