"""Games of Go and Hex in SGF, the Smart Game Format: written as FF[4], read as FF[1] to FF[4].

In Go (GM[1]) a point is two letters, counted from the upper left corner, and a pass is an empty value. In Hex (GM[11])
a point is written like `d4`, and a swap `swap-pieces`. HexGui writes a resignation in Hex as a last move `resign`,
which is not an action. The reader guarantees:

1. It reads the main line of the first game in a text, `read_tree` also its variations and comments. A variation ends
   before the first node that breaks a rule below, and a comment gives the reason.
2. Each move is legal, and its colour is that of the player to move. No move follows a resignation.
3. Setup properties are checked in every node. Before the first move, they must place exactly the
   stones that the game starts with: the handicap in Go, none in Hex. OpenSpiel has no other start positions of these
   games. After a move, adding or removing a stone is an error. `PL` must name the player to move.
4. `GM`, `SZ`, `KM` and `HA` must agree with the game in every node. An empty `KM` or `HA` is ignored.
5. The text is untrusted: its size and its number of moves are bounded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import pyspiel

from athenan_spiel import __version__
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.games import given_game
from athenan_spiel.play.move_tree import MAX_COMMENT_CHARACTERS, MAX_TREE_MOVES, MoveNode, MoveNotes, MoveTree
from athenan_spiel.protocols.sgf_nodes import all_nodes, main_line
from athenan_spiel.protocols.sgf_position import COLOURS, GAMES, SgfPosition, handicap_of, komi_of, point_of
from athenan_spiel.protocols.vertices import Vertices, vertices_of
from athenan_spiel.system.files import read_file

MAX_BYTES = 1_000_000
"""Maximum size of an SGF, in bytes of a file or characters of a text."""


def is_written(game: pyspiel.Game) -> bool:
    """Returns whether SGF supports `game`."""
    return game.get_type().short_name in GAMES


def result_of(game: pyspiel.Game, returns: Sequence[float], *, resigned: bool = False, forfeited: bool = False) -> str:
    """Returns the result of a game in SGF: `B+`, `W+R` (resignation), `B+F` (forfeit) or `0` (draw)."""
    if returns[0] == returns[1]:
        return "0"
    colour = COLOURS[_vertices(game).colour(0 if returns[0] > returns[1] else 1)]
    return f"{colour}+{'R' if resigned else 'F' if forfeited else ''}"


def written(
    game: pyspiel.Game,
    history: Sequence[int],
    names: Sequence[str] = ("", ""),
    result: str = "",
    *,
    tree: MoveTree | None = None,
) -> str:
    """Returns a game in SGF.

    Args:
        history: actions of the game.
        names: names of player 0 and player 1.
        result: result in the notation of `result_of`; empty if there is none.
        tree: moves with variations and comments, whose main line is `history`.

    Raises:
        UnsupportedGameError: this library cannot play `game`.
        ConfigError: the game is neither Go nor Hex, or an action is not legal.
    """
    vertices = _vertices(game)
    size = ":".join(map(str, vertices.size))
    lines = [f"(;FF[4]GM[{GAMES[game.get_type().short_name]}]CA[UTF-8]AP[{_text(f'athenan_spiel:{__version__}')}]"]
    lines.append(f"SZ[{size}]" + _rules(game))
    for player, name in enumerate(names):
        if name:
            lines.append(f"P{COLOURS[vertices.colour(player)]}[{_text(name)}]")
    if result:
        lines.append(f"RE[{_text(result)}]")
    lines += _line_lines(game, vertices, history) if tree is None else _tree_lines(game, vertices, tree)
    return "\n".join(lines) + ")\n"


def _move(game: pyspiel.Game, vertices: Vertices, state: pyspiel.State, action: int) -> str:
    """Returns the node of a move.

    Raises:
        ConfigError: the action is not legal.
    """
    if action not in state.legal_actions():
        raise ConfigError(f"expected a legal action as move {state.move_number() + 1}, got {shown(action)}")
    colour = COLOURS[vertices.colour(state.current_player())]
    return f";{colour}[{point_of(game, vertices.vertex(state, action))}]"


def _line_lines(game: pyspiel.Game, vertices: Vertices, history: Sequence[int]) -> list[str]:
    """Returns the nodes of a game without variations.

    Raises:
        ConfigError: an action is not legal.
    """
    state, lines = game.new_initial_state(), []
    for action in history:
        lines.append(_move(game, vertices, state, action))
        state.apply_action(action)
    return lines


def _tree_lines(game: pyspiel.Game, vertices: Vertices, tree: MoveTree) -> list[str]:
    """Returns the comment of the start, and the moves of a tree; each of several at a position is in brackets."""
    lines = [_comment(tree.root.comment)] if tree.root.comment else []
    left: list[tuple[pyspiel.State, MoveNode] | None] = []

    def add(state: pyspiel.State, nodes: Sequence[MoveNode]) -> None:
        for node in reversed(nodes):
            left.extend([None] * (len(nodes) > 1))
            left.append((state, node))

    add(game.new_initial_state(), tree.root.children)
    while left:
        found = left.pop()
        if found is None:
            lines[-1] += ")"
            continue
        state, node = found
        assert node.action is not None
        bracket = "(" if len(node.siblings) > 1 else ""
        lines.append(bracket + _move(game, vertices, state, node.action) + _comment(node.comment))
        add(state.child(node.action), node.children)
    return lines


def read(game: pyspiel.Game, text: str) -> tuple[int, ...]:
    """Returns the actions of the main line of the first game in `text`.

    Raises:
        UnsupportedGameError: this library cannot play `game`.
        ConfigError: `text` is not an SGF of `game`, is too large, sets up a position that is not the start of `game`,
            or has an illegal move.
    """
    _require_short(text)
    return _read(game, text)


def read_sgf(game: pyspiel.Game, path: str | os.PathLike[str]) -> tuple[int, ...]:
    """Returns the actions of the main line of the first game in a file.

    Raises:
        UnsupportedGameError, ConfigError: as `read`.
        OSError: the file cannot be read, is not a regular file, or is larger than `MAX_BYTES`.
    """
    return _read(game, read_file(path, MAX_BYTES))


def read_tree(game: pyspiel.Game, text: str) -> tuple[tuple[int, ...], MoveNotes]:
    """Returns the actions of the main line of the first game in `text`, and its variations and comments.

    Raises:
        UnsupportedGameError, ConfigError: as `read`, or there are more than `MAX_TREE_MOVES` moves.
    """
    _require_short(text)
    nodes, start = all_nodes(text), _start(game)
    start.require_size(nodes[0][1])
    last = {before: index for index, (before, _) in enumerate(nodes)}
    actions: list[int] = []
    variations: list[tuple[int, int]] = []
    comments: dict[int, list[str]] = {}
    places = {-1: (0, start)}
    """Position after a node, as long as other nodes follow it, and its number in `MoveNotes`."""
    is_main = True
    for index, (before, node) in enumerate(nodes):
        is_main = is_main and before == index - 1
        if before not in places:
            continue
        number, position = places.pop(before) if last[before] == index else places[before]
        try:
            after = position.after(node)
        except ConfigError as error:
            if is_main:
                raise
            comments.setdefault(number, []).append(f"A variation is left out: {error}.")
            continue
        if after.state is not position.state:
            action = after.state.history()[-1]
            if is_main:
                actions.append(action)
            else:
                variations.append((number, action))
            number = len(actions) + len(variations)
            if number > MAX_TREE_MOVES:
                raise ConfigError(f"expected an SGF of {MAX_TREE_MOVES:,} moves at most")
        elif is_main and index not in last and not actions:
            after.require_start()
        comments.setdefault(number, []).extend(filter(None, node.get("C", [])))
        if index in last:
            places[index] = number, after
    texts = ((number, "\n".join(found)[:MAX_COMMENT_CHARACTERS]) for number, found in comments.items() if found)
    return tuple(actions), MoveNotes(tuple(variations), tuple(texts))


def _require_short(text: str) -> None:
    if len(text) > MAX_BYTES:
        raise ConfigError(f"expected an SGF of {MAX_BYTES:,} characters at most, got {len(text):,}")


def _read(game: pyspiel.Game, data: str | bytes) -> tuple[int, ...]:
    nodes, position = main_line(data), _start(game)
    position.require_size(nodes[0])
    for node in nodes:
        position = position.after(node)
    if not position.state.history():
        position.require_start()
    return tuple(position.state.history())


def _start(game: pyspiel.Game) -> SgfPosition:
    return SgfPosition(game, _vertices(game), game.new_initial_state())


def _vertices(game: pyspiel.Game) -> Vertices:
    if not is_written(game):
        raise ConfigError(f"SGF supports Go and Hex, got {str(game)!r}")
    return vertices_of(given_game(game))


def _rules(game: pyspiel.Game) -> str:
    if game.get_type().short_name != "go":
        return ""
    stones = handicap_of(game)
    setup = f"HA[{len(stones)}]AB" + "".join(f"[{stone}]" for stone in stones) if stones else ""
    return f"KM[{komi_of(game)}]RU[Tromp-Taylor]" + setup


def _comment(text: str) -> str:
    """Returns the property of a comment; empty without one."""
    lines = text.splitlines()
    return f"C[{chr(10).join(map(_text, lines))}]" if text else ""


def _text(text: str) -> str:
    """Returns `text` as a property value: on one line, with `]` and backslashes escaped."""
    plain = "".join(x if x.isprintable() else " " for x in text)
    return re.sub(r"([\]\\])", r"\\\1", plain)
