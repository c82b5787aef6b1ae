"""Position that the nodes of an SGF of Go or Hex lead to, by the rules of `sgf`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyspiel

from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.protocols.sgf_nodes import Node
from athenan_spiel.protocols.vertices import LETTERS, PASS, Vertices, vertices_of

GAMES = {"go": "1", "hex": "11"}
"""GM by the short names of games."""
_SIZES = {"go": "19", "hex": "11"}
"""Board size if SZ is missing."""
_POINTS = "abcdefghijklmnopqrstuvwxyz"
COLOURS = {"b": "B", "w": "W"}
"""Names of colours in SGF, by those in GTP."""
_PLAYERS = {"b": "B", "black": "B", "w": "W", "white": "W"}
"""Values of PL, in lower case."""
_RULES = ("GM", "SZ", "KM", "HA")
_SETUP = ("AB", "AW", "AE", "PL")
_RECTANGLE = re.compile(r"([a-z])([a-z])(?::([a-z])([a-z]))?", re.ASCII)


@dataclass(frozen=True)
class SgfPosition:
    """Position after some nodes, which is not changed.

    Attributes:
        game, vertices: game, and its notation in GTP.
        state: state of the game.
        stones: colours by point of the stones that were set up before the first move.
        is_resigned: whether a player has resigned.
    """

    game: pyspiel.Game
    vertices: Vertices
    state: pyspiel.State
    stones: Mapping[str, str] = field(default_factory=dict)
    is_resigned: bool = False

    def after(self, node: Node) -> SgfPosition:
        """Returns the position after a node, with the same state if it has no move.

        Raises:
            ConfigError: the node breaks a rule of `sgf`.
        """
        if "" in node:
            got = f"[{node[''][0][:20]}]"
            raise ConfigError(f"expected a property such as B[dd] in the SGF, got {got} after a name in lower case")
        self._require_game(node)
        setup = [name for name in _SETUP if name in node]
        moves = [(colour, value) for colour in ("B", "W") for value in node.get(colour, [])]
        if len(moves) > 1 or (moves and setup):
            got = " and ".join([*(colour for colour, _ in moves[:2]), *setup])
            raise ConfigError(f"expected one move, or a setup without a move, in a node of the SGF, got {got}")
        if setup:
            found = replace(self, stones=self._set_up(node))
            found._require_mover(node)
            return found
        return self._played(*moves[0]) if moves else self

    def require_size(self, node: Node) -> None:
        """Raises `ConfigError` if the first node has no GM or SZ, and the default is not that of the game."""
        name, expected = self.game.get_type().short_name, self._expected()
        for key, missing in (("GM", "1"), ("SZ", _SIZES[name])):
            if key not in node and _meaning(key, missing) != _meaning(key, expected[key]):
                got = f"none, which means {key}[{missing}]"
                raise ConfigError(f"expected an SGF of {str(self.game)!r}, {key}[{expected[key]}], got {got}")

    def require_start(self) -> None:
        """Raises `ConfigError` unless the stones are those that the game starts with."""
        expected = dict.fromkeys(handicap_of(self.game), "B")
        if self.stones != expected:
            got = ", ".join(f"A{colour}[{point}]" for point, colour in list(self.stones.items())[:4]) or "none"
            more = ", ..." if len(self.stones) > 4 else ""
            got = f"other stones at first: {shown(got + more)}"
            raise ConfigError(f"expected an SGF that begins as {str(self.game)!r} does, got {got}")

    def _played(self, colour: str, value: str) -> SgfPosition:
        """Returns the position after a move or a resignation.

        Raises:
            ConfigError: the move is illegal, of the wrong colour, or after the end of the game.
        """
        state = self.state
        if not state.history():
            self.require_start()
        if self.is_resigned or state.is_terminal():
            raise ConfigError(f"expected no move after the end of the game, got {colour}[{value[:20]}]")
        mover = COLOURS[self.vertices.colour(state.current_player())]
        if colour == mover and value.lower() == "resign" and self.game.get_type().short_name == "hex":
            return replace(self, is_resigned=True)
        action = self.vertices.action(state, _vertex(self.game, value)) if colour == mover else None
        if action is None:
            number, got = state.move_number() + 1, shown(f"{colour}[{value}]")
            raise ConfigError(f"expected a legal move {number} of {mover} in the SGF, got {got}")
        return replace(self, state=state.child(action))

    def _set_up(self, node: Node) -> Mapping[str, str]:
        """Returns the stones after the setup of a node.

        Raises:
            ConfigError: the setup follows a move, or names a point twice.
        """
        changed: dict[str, str] = {}
        for name in ("AB", "AW", "AE"):
            for value in filter(None, node.get(name, [])):
                if self.state.history():
                    after = f"move {self.state.move_number()} of the SGF"
                    raise ConfigError(f"expected no stones to be set up after {after}, got {name}[{value[:20]}]")
                for point in _points(self.game, value):
                    if point in changed:
                        raise ConfigError(f"expected each point once in a setup of the SGF, got {shown(point)} twice")
                    changed[point] = name
        stones = {point: colour for point, colour in self.stones.items() if point not in changed}
        return stones | {point: name[1] for point, name in changed.items() if name != "AE"}

    def _require_mover(self, node: Node) -> None:
        """Raises `ConfigError` if PL does not name the player to move; PL is ignored after the end of the game."""
        if self.state.is_terminal():
            return
        mover = COLOURS[self.vertices.colour(self.state.current_player())]
        for value in node.get("PL", []):
            if _PLAYERS.get(value.lower()) != mover:
                after = f"move {self.state.move_number()} of the SGF"
                raise ConfigError(f"expected PL[{mover}] after {after}, got PL[{value[:20]}]")

    def _require_game(self, node: Node) -> None:
        """Raises `ConfigError` if the game, size, komi or handicap of a node differs from that of the game."""
        if node.keys().isdisjoint(_RULES):
            return
        expected = self._expected()
        for key in expected.keys() & node.keys():
            for value in node[key]:
                if _meaning(key, value) not in (None, _meaning(key, expected[key])):
                    got = f"{key}[{value[:20]}]"
                    raise ConfigError(f"expected an SGF of {str(self.game)!r}, {key}[{expected[key]}], got {got}")

    def _expected(self) -> dict[str, str]:
        """Returns the values of GM, SZ, KM and HA."""
        name = self.game.get_type().short_name
        expected = {"GM": GAMES[name], "SZ": ":".join(map(str, self.vertices.size))}
        if name == "go":
            expected |= {"KM": komi_of(self.game), "HA": str(len(handicap_of(self.game)))}
        return expected


def handicap_of(game: pyspiel.Game) -> list[str]:
    """Returns the points of the handicap stones; Hex has none."""
    if game.get_type().short_name != "go":
        return []
    words = next((x for x in vertices_of(game).setup if x.startswith("set_free_handicap")), "")
    return [point_of(game, vertex) for vertex in words.split()[1:]]


def point_of(game: pyspiel.Game, vertex: str) -> str:
    """Returns the SGF point of a GTP vertex."""
    if game.get_type().short_name == "hex":
        return vertex
    if vertex == PASS:
        return ""
    return _POINTS[LETTERS.index(vertex[0])] + _POINTS[game.get_parameters()["board_size"] - int(vertex[1:])]


def _vertex(game: pyspiel.Game, point: str) -> str:
    """Inverse of `point_of`; returns a string that is not a legal vertex if `point` is invalid."""
    if game.get_type().short_name == "hex":
        return point
    size = game.get_parameters()["board_size"]
    if point in ("", "tt"):  # `tt` is a pass up to 19 x 19, which is OpenSpiel's largest board
        return PASS
    if len(point) != 2 or any(x not in _POINTS[:size] for x in point):
        return f"[{point}]"
    return f"{LETTERS[_POINTS.index(point[0])]}{size - _POINTS.index(point[1])}"


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


def komi_of(game: pyspiel.Game) -> str:
    """Returns the komi of a game of Go as a value of KM."""
    return str(float(game.get_parameters()["komi"])).removesuffix(".0")
