"""Games of Chess in PGN (Portable Game Notation). OpenSpiel's action strings are SAN, the move notation of PGN.

The reader reads the main line of the first game in a text, without variations and comments, from the initial position
or the one of the tag `FEN`. The text is untrusted: its size is bounded, and each move is legal.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence

import pyspiel

from athenan_spiel.errors import ConfigError, printable, shown
from athenan_spiel.play.match import Forfeit
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
_TOKEN = re.compile(
    r"""\s+ | \[\s*(?P<tag>[A-Za-z0-9_]+)\s*"(?P<value>[^"\n]*)"\s*\] | \{[^}]*\} | ;[^\n]* | ^%[^\n]* | \$[0-9]+
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


def read(game: pyspiel.Game, text: str) -> tuple[str | None, tuple[int, ...]]:
    """Returns the FEN of the first position, None for the initial one, and the actions of the main line.

    Raises:
        ConfigError: `text` is not a PGN of `game`, is too large, or has an illegal move.
    """
    if not is_written(game):
        raise ConfigError(f"PGN supports games of {', '.join(fen.GAMES)}, got one of {str(game)!r}")
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(f"expected a PGN of {MAX_CHARACTERS:,} characters at most, got {len(text):,}")
    tags, moves = _main_line(text)
    start = tags.get("FEN")
    state = game.new_initial_state() if start is None else fen.read(game, start)
    for number, move in enumerate(moves, 1):
        legal = {} if state.is_terminal() else {_plain(state.action_to_string(x)): x for x in state.legal_actions()}
        action = legal.get(_plain(move))
        if action is None:
            raise ConfigError(f"expected a legal move as half-move {number} of the PGN, got {shown(move)}")
        state.apply_action(action)
    return None if start is None else str(fen.read(game, start)), tuple(state.history())


def _main_line(text: str) -> tuple[dict[str, str], list[str]]:
    """Returns the tags and the moves of the first game.

    Raises:
        ConfigError: a part of the text is not PGN, or there is no game.
    """
    tags: dict[str, str] = {}
    moves: list[str] = []
    place = depth = 0
    text = text.removeprefix("\ufeff")
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise ConfigError(f"expected a PGN, got {shown(text[place : place + 40])} after {len(moves)} half-moves")
        place = token.end()
        if token["tag"] is not None:
            if moves:
                break  # the next game
            tags[token["tag"]] = token["value"]
        elif token["bracket"] is not None:
            depth += 1 if token["bracket"] == "(" else -1
            if depth < 0:
                raise ConfigError(f"expected a PGN, got a closing bracket too many after {len(moves)} half-moves")
        elif token["result"] is not None and depth == 0:
            break
        elif token["move"] is not None and depth == 0:
            moves.append(token["move"])
    if depth:
        raise ConfigError("expected a PGN, got a variation without a closing bracket")
    if not moves and not tags:
        raise ConfigError("expected a PGN, got no moves")
    return tags, moves


def _plain(move: str) -> str:
    """Returns a move in SAN without check, mate and promotion signs."""
    return re.sub(r"[+#=]", "", move).replace("0", "O")


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
