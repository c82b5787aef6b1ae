"""Games of Go and Hex in SGF, the Smart Game Format: written as FF[4], read as FF[1] to FF[4].

In Go (GM[1]) a point is two letters, counted from the upper left corner, and a pass is an empty value. In Hex (GM[11])
a point is written like `d4`, and a swap `swap-pieces`. HexGui writes a resignation in Hex as a last move `resign`,
which is not an action. The reader guarantees:

1. It reads the main line of the first game in a text, without variations (`sgf_nodes`).
2. Each move is legal, and its colour is that of the player to move. No move follows a resignation.
3. Setup properties are checked in every node of the main line. Before the first move, they must place exactly the
   stones that the game starts with: the handicap in Go, none in Hex. OpenSpiel has no other start positions of these
   games. After a move, adding or removing a stone is an error. `PL` must name the player to move.
4. `GM`, `SZ`, `KM` and `HA` must agree with the game in every node. An empty `KM` or `HA` is ignored.
5. The text is untrusted: its size and its number of moves are bounded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

import pyspiel

from athenan_spiel import __version__
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.games import given_game
from athenan_spiel.protocols.sgf_nodes import Node, main_line
from athenan_spiel.protocols.vertices import LETTERS, PASS, Vertices, vertices_of
from athenan_spiel.system.files import read_file

MAX_BYTES = 1_000_000
"""Maximum size of an SGF, in bytes of a file or characters of a text."""
_GAMES = {"go": "1", "hex": "11"}
_SIZES = {"go": "19", "hex": "11"}
"""Board size if SZ is missing."""
_POINTS = "abcdefghijklmnopqrstuvwxyz"
_COLOURS = {"b": "B", "w": "W"}
_PLAYERS = {"b": "B", "black": "B", "w": "W", "white": "W"}
"""Values of PL, in lower case."""
_SETUP = ("AB", "AW", "AE", "PL")
_RECTANGLE = re.compile(r"([a-z])([a-z])(?::([a-z])([a-z]))?", re.ASCII)


def is_written(game: pyspiel.Game) -> bool:
    """Returns whether SGF supports `game`."""
    return game.get_type().short_name in _GAMES


def result_of(game: pyspiel.Game, returns: Sequence[float], *, resigned: bool = False, forfeited: bool = False) -> str:
    """Returns the result of a game in SGF: `B+`, `W+R` (resignation), `B+F` (forfeit) or `0` (draw)."""
    if returns[0] == returns[1]:
        return "0"
    colour = _COLOURS[_vertices(game).colour(0 if returns[0] > returns[1] else 1)]
    return f"{colour}+{'R' if resigned else 'F' if forfeited else ''}"


def written(game: pyspiel.Game, history: Sequence[int], names: Sequence[str] = ("", ""), result: str = "") -> str:
    """Returns a game in SGF.

    Args:
        history: actions of the game.
        names: names of player 0 and player 1.
        result: result in the notation of `result_of`; empty if there is none.

    Raises:
        UnsupportedGameError: this library cannot play `game`.
        ConfigError: the game is neither Go nor Hex, or an action is not legal.
    """
    vertices = _vertices(game)
    size = ":".join(map(str, vertices.size))
    lines = [f"(;FF[4]GM[{_GAMES[game.get_type().short_name]}]CA[UTF-8]AP[{_text(f'athenan_spiel:{__version__}')}]"]
    lines.append(f"SZ[{size}]" + _rules(game))
    for player, name in enumerate(names):
        if name:
            lines.append(f"P{_COLOURS[vertices.colour(player)]}[{_text(name)}]")
    if result:
        lines.append(f"RE[{_text(result)}]")
    state = game.new_initial_state()
    for action in history:
        if action not in state.legal_actions():
            raise ConfigError(f"expected a legal action as move {state.move_number() + 1}, got {shown(action)}")
        colour = _COLOURS[vertices.colour(state.current_player())]
        lines.append(f";{colour}[{_point(game, vertices.vertex(state, action))}]")
        state.apply_action(action)
    return "\n".join(lines) + ")\n"


def read(game: pyspiel.Game, text: str) -> tuple[int, ...]:
    """Returns the actions of the main line of the first game in `text`.

    Raises:
        UnsupportedGameError: this library cannot play `game`.
        ConfigError: `text` is not an SGF of `game`, is too large, sets up a position that is not the start of `game`,
            or has an illegal move.
    """
    if len(text) > MAX_BYTES:
        raise ConfigError(f"expected an SGF of {MAX_BYTES:,} characters at most, got {len(text):,}")
    return _read(game, text)


def read_sgf(game: pyspiel.Game, path: str | os.PathLike[str]) -> tuple[int, ...]:
    """Returns the actions of the main line of the first game in a file.

    Raises:
        UnsupportedGameError, ConfigError: as `read`.
        OSError: the file cannot be read, is not a regular file, or is larger than `MAX_BYTES`.
    """
    return _read(game, read_file(path, MAX_BYTES))


def _read(game: pyspiel.Game, data: str | bytes) -> tuple[int, ...]:
    vertices = _vertices(game)
    nodes = main_line(data)
    _require_game(game, vertices, nodes)
    state = game.new_initial_state()
    stones: dict[str, str] = {}
    resigned = False
    for node in nodes:
        setup = [name for name in _SETUP if name in node]
        moves = [(colour, value) for colour in ("B", "W") for value in node.get(colour, [])]
        if len(moves) > 1 or (moves and setup):
            got = " and ".join([*(colour for colour, _ in moves[:2]), *setup])
            raise ConfigError(f"expected one move, or a setup without a move, in a node of the SGF, got {got}")
        if setup:
            _set_up(game, state, stones, node)
            _require_mover(vertices, state, node)
        if moves:
            if not state.history():
                _require_start(game, stones)
            resigned = _play(game, vertices, state, *moves[0], resigned=resigned)
    if not state.history():
        _require_start(game, stones)
    return tuple(state.history())


def _vertices(game: pyspiel.Game) -> Vertices:
    if not is_written(game):
        raise ConfigError(f"SGF supports Go and Hex, got {str(game)!r}")
    return vertices_of(given_game(game))


def _rules(game: pyspiel.Game) -> str:
    if game.get_type().short_name != "go":
        return ""
    stones = _handicap(game)
    setup = f"HA[{len(stones)}]AB" + "".join(f"[{stone}]" for stone in stones) if stones else ""
    return f"KM[{_komi(game)}]RU[Tromp-Taylor]" + setup


def _handicap(game: pyspiel.Game) -> list[str]:
    """Returns the points of the handicap stones."""
    words = next((x for x in vertices_of(game).setup if x.startswith("set_free_handicap")), "")
    return [_point(game, vertex) for vertex in words.split()[1:]]


def _point(game: pyspiel.Game, vertex: str) -> str:
    """Returns the SGF point of a GTP vertex."""
    if game.get_type().short_name == "hex":
        return vertex
    if vertex == PASS:
        return ""
    return _POINTS[LETTERS.index(vertex[0])] + _POINTS[game.get_parameters()["board_size"] - int(vertex[1:])]


def _vertex(game: pyspiel.Game, point: str) -> str:
    """Inverse of `_point`; returns a string that is not a legal vertex if `point` is invalid."""
    if game.get_type().short_name == "hex":
        return point
    size = game.get_parameters()["board_size"]
    if point in ("", "tt"):  # `tt` is a pass up to 19 x 19, which is OpenSpiel's largest board
        return PASS
    if len(point) != 2 or any(x not in _POINTS[:size] for x in point):
        return f"[{point}]"
    return f"{LETTERS[_POINTS.index(point[0])]}{size - _POINTS.index(point[1])}"


def _play(
    game: pyspiel.Game, vertices: Vertices, state: pyspiel.State, colour: str, value: str, *, resigned: bool
) -> bool:
    """Applies a move to `state`; returns True, without a change, if it is a resignation.

    Args:
        resigned: whether a player resigned earlier.

    Raises:
        ConfigError: the move is illegal, of the wrong colour, or after the end of the game.
    """
    if resigned or state.is_terminal():
        raise ConfigError(f"expected no move after the end of the game, got {colour}[{value[:20]}]")
    mover = _COLOURS[vertices.colour(state.current_player())]
    if colour == mover and value.lower() == "resign" and game.get_type().short_name == "hex":
        return True
    action = vertices.action(state, _vertex(game, value)) if colour == mover else None
    if action is None:
        number = state.move_number() + 1
        raise ConfigError(f"expected a legal move {number} of {mover} in the SGF, got {shown(f'{colour}[{value}]')}")
    state.apply_action(action)
    return False


def _set_up(game: pyspiel.Game, state: pyspiel.State, stones: dict[str, str], node: Node) -> None:
    """Applies the setup of a node to `stones`, the colours by point.

    Raises:
        ConfigError: the setup follows a move, or names a point twice.
    """
    changed: dict[str, str] = {}
    for name in ("AB", "AW", "AE"):
        for value in filter(None, node.get(name, [])):
            if state.history():
                after = f"move {state.move_number()} of the SGF"
                raise ConfigError(f"expected no stones to be set up after {after}, got {name}[{value[:20]}]")
            for point in _points(game, value):
                if point in changed:
                    raise ConfigError(f"expected each point once in a setup of the SGF, got {shown(point)} twice")
                changed[point] = name
    for point, name in changed.items():
        stones.pop(point, None)
        if name != "AE":
            stones[point] = name[1]


def _require_mover(vertices: Vertices, state: pyspiel.State, node: Node) -> None:
    """Raises `ConfigError` if PL does not name the player to move; PL is ignored after the end of the game."""
    if state.is_terminal():
        return
    mover = _COLOURS[vertices.colour(state.current_player())]
    for value in node.get("PL", []):
        if _PLAYERS.get(value.lower()) != mover:
            raise ConfigError(f"expected PL[{mover}] after move {state.move_number()} of the SGF, got PL[{value[:20]}]")


def _points(game: pyspiel.Game, value: str) -> Iterator[str]:
    """Yields the points of a setup value: one point, or a rectangle such as `aa:cc`.

    Raises:
        ConfigError: a point is not on the board.
    """
    if game.get_type().short_name == "hex":  # Hex starts without stones, so every point is rejected later
        yield value.lower()
        return
    board = _POINTS[: game.get_parameters()["board_size"]]
    match = _RECTANGLE.fullmatch(value)
    corners = [] if match is None else [x for x in match.groups() if x is not None]
    if not corners or any(x not in board for x in corners):
        raise ConfigError(
            f"expected points of the board in a setup of the SGF, such as aa or aa:cc, got {shown(value)}"
        )
    left, top, right, bottom = map(board.index, [*corners, *corners][:4])
    for row in range(min(top, bottom), max(top, bottom) + 1):
        for column in range(min(left, right), max(left, right) + 1):
            yield board[column] + board[row]


def _require_start(game: pyspiel.Game, stones: Mapping[str, str]) -> None:
    """Raises `ConfigError` unless the game starts with these stones."""
    expected = dict.fromkeys(_handicap(game), "B") if game.get_type().short_name == "go" else {}
    if stones != expected:
        got = ", ".join(f"A{colour}[{point}]" for point, colour in list(stones.items())[:4]) or "none"
        more = ", ..." if len(stones) > 4 else ""
        raise ConfigError(
            f"expected an SGF that begins as {str(game)!r} does, got other stones at first: {shown(got + more)}"
        )


def _require_game(game: pyspiel.Game, vertices: Vertices, nodes: Sequence[Node]) -> None:
    """Raises `ConfigError` if the game, size, komi or handicap of a node differs from `game`."""
    name = game.get_type().short_name
    expected = {"GM": _GAMES[name], "SZ": ":".join(map(str, vertices.size))}
    if name == "go":
        expected |= {"KM": _komi(game), "HA": str(len(_handicap(game)))}
    for key, missing in (("GM", "1"), ("SZ", _SIZES[name])):
        if key not in nodes[0] and _meaning(key, missing) != _meaning(key, expected[key]):
            got = f"none, which means {key}[{missing}]"
            raise ConfigError(f"expected an SGF of {str(game)!r}, {key}[{expected[key]}], got {got}")
    for node in nodes:
        for key in expected.keys() & node.keys():
            for value in node[key]:
                if _meaning(key, value) not in (None, _meaning(key, expected[key])):
                    got = f"{key}[{value[:20]}]"
                    raise ConfigError(f"expected an SGF of {str(game)!r}, {key}[{expected[key]}], got {got}")


def _meaning(key: str, value: str) -> object:
    """Returns the numbers in a value of GM, SZ, KM or HA; the value if not numeric; None for an empty KM or HA."""
    if not value and key in ("KM", "HA"):
        return None
    try:
        if key == "KM":
            return float(value)
        numbers = [int(x) for x in value.split(":")]
    except ValueError:
        return value
    if key == "HA" and numbers == [1]:  # Black moves first, without handicap stones
        return [0]
    return numbers * 2 if key == "SZ" and len(numbers) == 1 else numbers


def _komi(game: pyspiel.Game) -> str:
    return str(float(game.get_parameters()["komi"])).removesuffix(".0")


def _text(text: str) -> str:
    """Returns `text` as a property value: on one line, with `]` and backslashes escaped."""
    plain = "".join(x if x.isprintable() else " " for x in text)
    return re.sub(r"([\]\\])", r"\\\1", plain)
