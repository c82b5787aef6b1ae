"""GTP notation of moves and colours: a vertex such as `D4`, or `pass`.

Each legal action has one vertex, and `action` is the inverse of `vertex`. GTP's column letters skip the I. Engines of
some games, such as Hex, use the I; these games keep OpenSpiel's coordinates:

| game | vertex | size | first player |
|---|---|---|---|
| Go | GTP's, row 1 at the bottom, or `pass` | `board_size`, with komi and handicap | black |
| Hex | OpenSpiel's: a1 at the upper left, black from the top to the bottom; `swap-pieces` | columns and rows | black |
| Havannah | OpenSpiel's; a swap is the vertex of the swapped stone | side of the hexagon | white |
| Y, Othello | OpenSpiel's: a1 at the upper left; Othello has `pass` | `board_size`; 8 | black |
| Gomoku, `mnk`, Tic-Tac-Toe | GTP's letters, row 1 at the bottom of the printed board | columns and rows | black |
| Connect Four | the cell in which the piece lands; `action` also accepts the column letter | columns and rows | black |
| others whose moves begin with a coordinate | OpenSpiel's, ranks as numbers | size, or columns and rows | black |
"""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.errors import AgentError, shown
from athenan_spiel.games.boards import numbered_rows, rank_of
from athenan_spiel.games.chance import has_chance

LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
"""Column letters, from the left."""
PASS = "pass"
_COORDINATE = re.compile(r"[a-z]\d{1,2}(?:[^\s]*)$|pass$", re.ASCII | re.IGNORECASE)
_PAIR = re.compile(r"[a-z]?\(?(\d{1,2}),(\d{1,2})\)?$", re.ASCII)
_BLACK_FIRST, _WHITE_FIRST = ("b", "w"), ("w", "b")
_COLOURS = {"b": "b", "black": "b", "w": "w", "white": "w"}


class Vertices:
    """GTP notation of a game, for games whose OpenSpiel notation is already that of their engines.

    Attributes:
        game: game of the moves.
        size: arguments of `boardsize`: one number, or columns and rows; empty without a board size.
        setup: commands that set the remaining rules, sent after `boardsize` and `clear_board`.

    Raises:
        AgentError: the game's moves are not coordinates.
    """

    colours = _BLACK_FIRST

    def __init__(self, game: pyspiel.Game) -> None:
        self.game = game
        self.size = self._size()
        self.setup: list[str] = []
        state = game.new_initial_state()
        for action in state.legal_actions():
            self.vertex(state, action)

    def colour(self, player_id: int) -> str:
        """Returns the colour of a player, `b` or `w`."""
        return self.colours[player_id]

    def player(self, colour: str) -> int | None:
        """Returns the player of a colour, such as `b` or `White`; None for another word."""
        short = _COLOURS.get(colour.lower())
        return None if short is None else self.colours.index(short)

    def vertex(self, state: pyspiel.State, action: int) -> str:
        """Returns the vertex of a legal action.

        Raises:
            AgentError: OpenSpiel's name of it is not a coordinate.
        """
        name = self._written(state, action)
        if not _COORDINATE.match(name):
            raise AgentError(
                f"expected a game whose moves are coordinates, such as d4, for GTP; those of {str(self.game)!r} are "
                f"written {shown(name)}"
            )
        return name

    def _written(self, state: pyspiel.State, action: int) -> str:
        """Returns OpenSpiel's name of an action, with its ranks as numbers."""
        return str(state.action_to_string(state.current_player(), action))

    def action(self, state: pyspiel.State, vertex: str) -> int | None:
        """Returns the legal action of a vertex, in any letter case; None if there is none."""
        said = vertex.strip().lower()
        for action in state.legal_actions():
            if said in (name.lower() for name in self._names(state, action)):
                return int(action)
        return None

    def _names(self, state: pyspiel.State, action: int) -> tuple[str, ...]:
        """Returns all accepted vertices of an action."""
        return (self.vertex(state, action),)

    def chains(self, state: pyspiel.State) -> list[list[str]]:
        """Returns the vertices of each string of connected stones in Go; other games have none."""
        return []

    def _size(self) -> tuple[int, ...]:
        parameters = self.game.get_parameters()
        for names in (("columns", "rows"), ("num_cols", "num_rows")):
            if all(isinstance(parameters.get(name), int) for name in names):
                columns, rows = (parameters[name] for name in names)
                return (columns,) if columns == rows else (columns, rows)
        size = parameters.get("board_size", parameters.get("size"))
        return (size,) if isinstance(size, int) else ()


class _Havannah(Vertices):
    colours = _WHITE_FIRST


class _Othello(Vertices):
    def _size(self) -> tuple[int, ...]:
        return (8,)


class _Hex(Vertices):
    """OpenSpiel's `swap` mirrors the stone, as the engines' `swap-pieces` does."""

    def vertex(self, state: pyspiel.State, action: int) -> str:
        if state.action_to_string(state.current_player(), action) == "swap":
            return "swap-pieces"
        return super().vertex(state, action)


class _Go(Vertices):
    def __init__(self, game: pyspiel.Game) -> None:
        super().__init__(game)
        self.setup = [f"komi {game.get_parameters()['komi']:g}"]
        stones = " ".join(stone for chain in self.chains(game.new_initial_state()) for stone in chain)
        if stones:
            self.setup.append(f"set_free_handicap {stones}")

    def vertex(self, state: pyspiel.State, action: int) -> str:
        _, _, point = state.action_to_string(state.current_player(), action).partition(" ")
        return PASS if point == "PASS" else str(point).upper()

    def chains(self, state: pyspiel.State) -> list[list[str]]:
        rows = [row.strip() for row in numbered_rows(str(state))]
        stones = {(x, y): point for y, row in enumerate(rows) for x, point in enumerate(row) if point in "XO"}
        found: list[list[str]] = []
        while stones:
            chain, colour = [], stones[first := next(iter(stones))]
            waiting = [first]
            while waiting:
                x, y = waiting.pop()
                if stones.get((x, y)) == colour:
                    del stones[x, y]
                    chain.append((y, x))
                    waiting += [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
            found.append([f"{LETTERS[x]}{len(rows) - y}" for y, x in sorted(chain)])
        return found


class _Pairs(Vertices):
    """Games in which OpenSpiel writes row and column, counted from 0 at the top left."""

    def __init__(self, game: pyspiel.Game) -> None:
        self._rows = max((self._pair(game, name)[0] + 1 for name in _first_names(game)), default=0)
        super().__init__(game)

    def vertex(self, state: pyspiel.State, action: int) -> str:
        row, column = self._pair(self.game, state.action_to_string(state.current_player(), action))
        return f"{LETTERS[column]}{self._rows - row}"

    def _size(self) -> tuple[int, ...]:
        columns = max(self._pair(self.game, name)[1] + 1 for name in _first_names(self.game))
        return (columns,) if columns == self._rows else (columns, self._rows)

    def _pair(self, game: pyspiel.Game, name: str) -> tuple[int, int]:
        """Returns the row and the column of a move.

        Raises:
            AgentError: the name is not two numbers, or there are more columns than GTP has letters.
        """
        match = _PAIR.match(name)
        if match is None or int(match[2]) >= len(LETTERS):
            raise AgentError(
                f"expected moves of rows and columns, {len(LETTERS)} at most, for GTP; those of {str(game)!r} are "
                f"written {shown(name)}"
            )
        return int(match[1]), int(match[2])


class _ConnectFour(Vertices):
    """OpenSpiel writes the piece and the column, counted from 0."""

    def __init__(self, game: pyspiel.Game) -> None:
        columns = game.get_parameters()["columns"]
        if columns > len(LETTERS):
            raise AgentError(
                f"GTP has letters for {len(LETTERS)} columns, got {columns} in {str(game)!r}: use a narrower board"
            )
        super().__init__(game)

    def vertex(self, state: pyspiel.State, action: int) -> str:
        columns = self.game.get_parameters()["columns"]
        rows = [row for row in str(state).splitlines() if len(row) == columns]
        height = sum(row[action] != "." for row in rows)
        return f"{LETTERS[action]}{height + 1}"

    def _names(self, state: pyspiel.State, action: int) -> tuple[str, ...]:
        return self.vertex(state, action), LETTERS[action]


class _Breakthrough(Vertices):
    """OpenSpiel writes each rank as one character, `:` for rank 10."""

    def _written(self, state: pyspiel.State, action: int) -> str:
        name = super()._written(state, action)
        return f"{name[0]}{rank_of(name[1])}{name[2]}{rank_of(name[3])}{name[4:]}"


_KINDS: dict[str, type[Vertices]] = {
    "go": _Go,
    "hex": _Hex,
    "havannah": _Havannah,
    "othello": _Othello,
    "connect_four": _ConnectFour,
    "breakthrough": _Breakthrough,
}


def vertices_of(game: pyspiel.Game) -> Vertices:
    """Returns the GTP notation of `game`.

    Raises:
        AgentError: its moves have no GTP notation, or it has chance, as GTP has no command for a roll.
    """
    if has_chance(game):
        raise AgentError(
            f"GTP has no command for a roll, which {str(game)!r} needs: use another agent, or `athenan play`"
        )
    kind = _KINDS.get(game.get_type().short_name)
    if kind is None:
        kind = _Pairs if all("," in name for name in _first_names(game)) else Vertices
    return kind(game)


def _first_names(game: pyspiel.Game) -> list[str]:
    """Returns OpenSpiel's names of the legal actions in the initial state."""
    state = game.new_initial_state()
    return [state.action_to_string(state.current_player(), action) for action in state.legal_actions()]
