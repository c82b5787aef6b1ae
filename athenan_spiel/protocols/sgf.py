"""Matches of Go and Hex as SGF, the Smart Game Format, file format 4: written for other programs, and read back.

Go's points are two letters from the upper left, a pass is empty (GM[1]); Hex' are written as in `d4`, with
`swap-pieces` (GM[11]). Read is the main line of the first game in a text, which comes from anywhere: its size and the
number of its moves are bounded, and each move has to be legal.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import pyspiel

from athenan_spiel import __version__
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.protocols.vertices import LETTERS, Vertices, vertices_of
from athenan_spiel.system.files import read_file

LARGEST = 1_000_000
"""Bytes of a text that is read."""
MOST_MOVES = 10_000
"""Moves of a line that is read."""
_GAMES = {"go": "1", "hex": "11"}
_POINTS = "abcdefghijklmnopqrstuvwxyz"
_COLOURS = {"b": "B", "w": "W"}
_SPACE = re.compile(r"\s*", re.ASCII)
_NAME = re.compile(r"[A-Za-z]{1,32}", re.ASCII)
_VALUE = re.compile(r"\[((?:\\.|[^\]\\])*)\]", re.DOTALL)
Node = dict[str, list[str]]
"""The properties of a node: their values by their names."""


def is_written(game: pyspiel.Game) -> bool:
    """Whether the matches of `game` can be written."""
    return game.get_type().short_name in _GAMES


def result_of(game: pyspiel.Game, returns: Sequence[float], *, resigned: bool = False, forfeited: bool = False) -> str:
    """A match's result as SGF has it, such as `B+`, `W+R` (resigned), `B+F` (forfeited), `0`."""
    if returns[0] == returns[1]:
        return "0"
    colour = _COLOURS[_vertices(game).colour(0 if returns[0] > returns[1] else 1)]
    return f"{colour}+{'R' if resigned else 'F' if forfeited else ''}"


def written(game: pyspiel.Game, history: Sequence[int], names: Sequence[str] = ("", ""), result: str = "") -> str:
    """A match as SGF.

    Args:
        history: its actions.
        names: of player 0 and of player 1.
        result: as `result_of` gives it; empty where there is none.

    Raises:
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
    """The actions of the main line of the first game in `text`.

    Raises:
        ConfigError: `text` is no SGF of `game`, is too large, or has a move that is not legal.
    """
    vertices = _vertices(game)
    nodes = _main_line(text)
    _require_game(game, vertices, nodes[0])
    state = game.new_initial_state()
    for node in nodes:
        for colour in ("B", "W"):
            for value in node.get(colour, []):
                if state.is_terminal():
                    raise ConfigError(f"expected no move after the end of the match, got {colour}[{value[:20]}]")
                mover = _COLOURS[vertices.colour(state.current_player())]
                action = vertices.action(state, _vertex(game, value)) if colour == mover else None
                if action is None:
                    number = state.move_number() + 1
                    raise ConfigError(
                        f"expected a legal move {number} of {mover} in the SGF, got {shown(f'{colour}[{value}]')}"
                    )
                state.apply_action(action)
    return tuple(state.history())


def read_sgf(game: pyspiel.Game, path: str | os.PathLike[str]) -> tuple[int, ...]:
    """`read` of a file.

    Raises:
        ConfigError: as `read`.
        OSError: it cannot be read, is no file, or is larger than `LARGEST`.
    """
    return read(game, read_file(path, LARGEST).decode(errors="replace"))


def _vertices(game: pyspiel.Game) -> Vertices:
    """How the moves are written.

    Raises:
        ConfigError: not as SGF.
    """
    if not is_written(game):
        raise ConfigError(f"SGF is written for Go and Hex, got {str(game)!r}")
    return vertices_of(game)


def _rules(game: pyspiel.Game) -> str:
    if game.get_type().short_name != "go":
        return ""
    stones = _handicap(game)
    setup = f"HA[{len(stones)}]AB" + "".join(f"[{stone}]" for stone in stones) if stones else ""
    return f"KM[{game.get_parameters()['komi']:g}]RU[Tromp-Taylor]" + setup


def _handicap(game: pyspiel.Game) -> list[str]:
    """The points of the stones that are there at first."""
    words = next((x for x in vertices_of(game).setup if x.startswith("set_free_handicap")), "")
    return [_point(game, vertex) for vertex in words.split()[1:]]


def _point(game: pyspiel.Game, vertex: str) -> str:
    """A vertex as SGF writes it."""
    if game.get_type().short_name == "hex":
        return vertex
    if vertex == "PASS":
        return ""
    return _POINTS[LETTERS.index(vertex[0])] + _POINTS[game.get_parameters()["board_size"] - int(vertex[1:])]


def _vertex(game: pyspiel.Game, point: str) -> str:
    """What `_point` wrote; what is no point stays as it is, and is no legal move."""
    if game.get_type().short_name == "hex":
        return point
    size = game.get_parameters()["board_size"]
    if point in ("", "tt"):
        return "PASS"
    if len(point) != 2 or any(x not in _POINTS[:size] for x in point):
        return f"[{point}]"
    return f"{LETTERS[_POINTS.index(point[0])]}{size - _POINTS.index(point[1])}"


def _require_game(game: pyspiel.Game, vertices: Vertices, root: Node) -> None:
    """Raise `ConfigError` unless the root says this game, or nothing that differs from it."""
    kind = _GAMES[game.get_type().short_name]
    size = ":".join(map(str, vertices.size))
    told = {name: values[0].strip() for name, values in root.items()}
    if told.get("GM", "1") != kind:
        raise ConfigError(f"expected an SGF of {str(game)!r}, GM[{kind}], got GM[{told.get('GM', '1')[:20]}]")
    if told.get("SZ", "19" if kind == "1" else "11") not in (size, f"{size}:{size}"):
        raise ConfigError(f"expected an SGF of {str(game)!r}, SZ[{size}], got SZ[{told.get('SZ', '')[:20]}]")
    if kind == "1" and "KM" in told and _number(told["KM"]) != float(game.get_parameters()["komi"]):
        raise ConfigError(f"expected an SGF of {str(game)!r}, got KM[{told['KM'][:20]}]")
    stones = sorted(_handicap(game)) if kind == "1" else []
    if sorted(root.get("AB", [])) != stones or "AW" in root:
        raise ConfigError(f"expected an SGF that begins as {str(game)!r} does, got other stones at first")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _text(text: str) -> str:
    """A text as the value of a property: on one line, and what would end it escaped."""
    plain = "".join(x if x.isprintable() else " " for x in text)
    return re.sub(r"([\]\\])", r"\\\1", plain)


def _main_line(text: str) -> list[Node]:
    """The nodes from the first `(` to the first `)`, which are the main line: variations come after it.

    Raises:
        ConfigError: it is no SGF, or too large.
    """
    if len(text) > LARGEST:
        raise ConfigError(f"expected an SGF of {LARGEST:,} characters at most, got {len(text):,}")
    at = text.find("(;")
    if at < 0:
        raise ConfigError(f"expected an SGF, which begins with '(;', got {shown(text[:60])}")
    nodes: list[Node] = []
    while at < len(text) and text[at] != ")":
        if text[at] == ";":
            if len(nodes) > MOST_MOVES:
                raise ConfigError(f"expected an SGF of {MOST_MOVES:,} moves at most")
            nodes.append({})
        elif text[at] != "(":
            at = _property(text, at, nodes[-1])
            continue
        at = _after_space(text, at + 1)
    if at >= len(text):
        raise ConfigError("expected an SGF that ends with ')', got one that is cut off")
    return nodes


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _property(text: str, at: int, node: Node) -> int:
    """Read one property into `node`; where the next thing begins.

    Raises:
        ConfigError: there is none.
    """
    name = _NAME.match(text, at)
    after = _after_space(text, name.end()) if name else at
    values: list[str] = []
    while name and (value := _VALUE.match(text, after)):
        values.append(re.sub(r"\\(.)", r"\1", value[1], flags=re.DOTALL))
        after = _after_space(text, value.end())
    if name is None or not values:
        raise ConfigError(f"expected a property such as B[dd] in the SGF, got {shown(text[at : at + 40])}")
    node.setdefault(name[0].upper(), []).extend(values)
    return after
