"""A transport without Java: Tic-Tac-Toe and its relatives in Python, with the manners of Ludii's games.

"Tic-Tac-Toe" has an option for the length of a line and a ruleset; "Twice" lets a player move twice in a row and may
end with both players losing; "Swap" lets players swap sides after the first move; "Alone" is for one player, whose
score is the number of moves; in "Three" a player with a line is out, and the two others go on for the second rank; the
others are unfit in some way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ludii_bridge import errors
from ludii_bridge.catalogue import Catalogue, Menu, Source
from ludii_bridge.errors import LudiiError
from ludii_bridge.transport import Position, Traits

MENU = Menu(
    {"Line": ["3", "2"], "Board [Kind]": ["Square (3)", "Other"]},
    {"Ruleset/Short (Suggested)": ["Line/2"], "Ruleset/Long": ["Line/3"]},
    {"Line": "3", "Board [Kind]": "Square (3)"},
)
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
PATHS = [
    "lud/board/space/line/Tic-Tac-Toe.lud",
    "lud/board/space/line/Twice.lud",
    "lud/board/space/line/Swap.lud",
    "lud/board/race/Dice (Roll).lud",
    "lud/puzzle/Alone.lud",
    "lud/puzzle/Three.lud",
    "lud/test/Tic-Tac-Toe.lud",
    "lud/bad/Broken.lud",
    "lud/board/hunt/Broken.lud",
]


class FakeTransport:
    """What `ludii_bridge.connection.use` takes.

    Attributes:
        loads: how often a game was compiled.
    """

    version = "1.3.0"

    def __init__(self) -> None:
        self.catalogue = Catalogue(PATHS)
        self.loads = 0

    def menu(self, source: Source) -> Menu:
        return MENU

    def load(self, source: Source, options: Sequence[str]) -> FakeRules:
        self.loads += 1
        if source.name == "Broken":
            raise LudiiError.of("Broken", "cannot be loaded: a bracket is missing")
        return FakeRules(source.name, tuple(options))


class FakeRules:
    def __init__(self, name: str, options: tuple[str, ...]) -> None:
        self.name = name
        self.options = options
        self.line = 2 if "Line/2" in options else 3
        self.longest = 1250
        faults = (errors.CHANCE,) if name.startswith("Dice") else ()
        self.traits = Traits(
            name=name,
            players={"Alone": 1, "Three": 3}.get(name, 2),
            faults=faults,
            shape=(4, 3, 3) if name == "Three" else (3, 3, 3),
            channels=("first", "second", *(["third"] if name == "Three" else []), "last move"),
            distinct_moves=4 if name == "Twice" else 10,
            longest=1250,
            hashed=name != "Twice",
            scored=name in ("Swap", "Alone"),
        )
        self.menu = MENU
        self.components = (("first", 1), ("second", 2), ("third", 3))[: max(self.traits.players, 2)]
        self.sides = [("", (250, 250, 250)), ("", (50, 50, 50)), ("", (190, 0, 0))][: self.traits.players]
        self.match_ais: list[FakeMatchAI] = []
        self.recommended_ai = "MAST"
        places = np.array([(i % 3, i // 3) for i in range(9)], np.float64)
        centres = (places + 0.5) / 3
        around = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
        corners = [(i, x + a / 6, y + b / 6) for i, (x, y) in enumerate(centres) for a, b in around]
        lines = np.zeros((0, 4))
        self.geometry = {
            **{"centres": centres, "planes": places, "sites": centres},
            **{"corners": np.array(corners), "lines": lines},
        }
        self.site_names = [f"{'ABC'[i % 3]}{i // 3 + 1}" for i in range(9)]

    def limit(self, moves: int) -> None:
        self.longest = moves

    def start(self) -> FakePosition:
        return FakePosition(self, Board())

    def match_ai(self, name: str) -> FakeMatchAI:
        if name == "BRS+":
            raise LudiiError(f"{name} does not play {self.name}: use another AI, such as UCT")
        self.match_ais.append(FakeMatchAI(self, name))
        return self.match_ais[-1]


class FakeMatchAI:
    """Plays the last legal move; `log` holds what it was asked."""

    def __init__(self, rules: FakeRules, name: str) -> None:
        self.rules = rules
        self.name = name
        self.counts_iterations = name == "UCT"
        self.log: list[Any] = []

    def begin(self, player: int) -> None:
        self.log.append(("begin", player))

    def choose(self, position: Position, seconds: float | None, iterations: int | None) -> int:
        assert isinstance(position, FakePosition)
        assert position.rules is self.rules
        assert not position.used_up
        self.log.append((seconds, iterations))
        return position.moves - 1

    def end(self) -> None:
        self.log.append("end")


@dataclass(frozen=True)
class Board:
    cells: tuple[int, ...] = (0,) * 9
    colour: int = 1
    swapped: bool = False
    played: int = 0
    last: int = -1
    placed: tuple[int, ...] = ()
    """Players of "Three" with a line, the first one first."""


class FakePosition(Position):
    """`crossings` counts what would be calls into Java."""

    crossings = 0

    def __init__(self, rules: FakeRules, board: Board) -> None:
        self.rules = rules
        self.board = board
        self.used_up = False

    @property
    def over(self) -> bool:
        board = self.board
        decided = len(board.placed) == 2 if self.rules.name == "Three" else self._winner() != 0
        return decided or all(board.cells) or board.played >= self.rules.longest

    def _winner(self) -> int:
        return next((colour for colour in (1, 2) if self._has_line(colour, self.board.cells)), 0)

    def _has_line(self, colour: int, cells: Sequence[int]) -> bool:
        length = self.rules.line
        return any([cells[x] for x in line[:length]] == [colour] * length for line in LINES)

    @property
    def mover(self) -> int:
        return 0 if self.rules.traits.players == 1 else (self.board.colour - 1) ^ int(self.board.swapped)

    @property
    def utilities(self) -> tuple[float, ...]:
        if self.rules.name == "Three":
            return self._utilities_by_rank()
        winner = self._winner() if self.over else 0
        if self.rules.traits.players == 1:
            return (1.0 if winner else 0.0,)
        if winner == 0:
            both_lose = self.over and self.rules.name == "Twice"
            return (-1.0, -1.0) if both_lose else (0.0, 0.0)
        first = 1.0 if (winner == 1) != self.board.swapped else -1.0
        return (first, -first)

    def _utilities_by_rank(self) -> tuple[float, ...]:
        """The players without a line share the mean of the ranks that are left."""
        placed = self.board.placed if self.over else ()
        rest = (len(placed) + 1 + 3) / 2
        ranks = [placed.index(player) + 1 if player in placed else rest for player in range(3)]
        return tuple(2.0 - rank for rank in ranks)

    def _legal(self) -> list[int]:
        """The empty cells; -1 is the swap."""
        swap = [-1] if self.rules.name == "Swap" and self.board.played == 1 else []
        return swap + [i for i, x in enumerate(self.board.cells) if not x]

    @property
    def moves(self) -> int:
        return 0 if self.over else len(self._legal())

    def child(self, move: int) -> FakePosition:
        assert not self.used_up
        return FakePosition(self.rules, self._after(move))

    def advance(self, move: int) -> FakePosition:
        assert not self.shared, "somebody else holds this position"
        assert not self.used_up
        self.used_up = True
        return FakePosition(self.rules, self._after(move))

    def _after(self, move: int) -> Board:
        board = self.board
        cell = self._legal()[move]
        if cell == -1:
            return replace(board, swapped=True, played=board.played + 1)
        cells = list(board.cells)
        cells[cell] = board.colour
        if self.rules.name == "Three":
            return self._after_three(tuple(cells), cell)
        again = self.rules.name == "Twice" and board.played % 2 == 0
        colour = board.colour if again else 3 - board.colour
        return replace(board, cells=tuple(cells), colour=colour, played=board.played + 1, last=cell)

    def _after_three(self, cells: tuple[int, ...], last: int) -> Board:
        board, player = self.board, self.board.colour - 1
        placed = (*board.placed, player) if self._has_line(board.colour, cells) else board.placed
        following = [(player + step) % 3 for step in (1, 2, 3)]
        turn = next(other for other in following if other not in placed)
        return replace(board, cells=cells, colour=turn + 1, played=board.played + 1, last=last, placed=placed)

    def observe(self, out: Any) -> None:
        cells, sides = np.array(self.board.cells), len(self.rules.components)
        planes = [*(cells == side for side in range(1, sides + 1)), np.arange(9) == self.board.last]
        out[:] = np.concatenate(planes)

    def describe_moves(self) -> list[str]:
        """In "Twice" moves of one row read alike."""
        self.crossings += 1
        if self.over:
            return []
        names = ["Swap" if x < 0 else f"{'ABC'[x % 3]}{x // 3 + 1}" for x in self._legal()]
        return [name[1] for name in names] if self.rules.name == "Twice" else names

    def move_sites(self) -> list[tuple[int, ...]]:
        self.crossings += 1
        return [] if self.over else [() if x < 0 else (x,) for x in self._legal()]

    def site_contents(self) -> list[tuple[int, int, int, int]]:
        players = [self.board.swapped, not self.board.swapped, 2]
        return [(i, x - 1, int(players[x - 1]), 1) for i, x in enumerate(self.board.cells) if x]

    def describe(self) -> str:
        rows = ["".join(".XOZ"[x] for x in self.board.cells[i : i + 3]) for i in (6, 3, 0)]
        return "\n".join(rows)

    def key(self) -> tuple[int, ...]:
        return (*self.board.cells, self.board.colour, int(self.board.swapped), self.board.last, *self.board.placed)

    def scores(self) -> tuple[float, ...] | None:
        return (self.board.played, 1.0)[: self.rules.traits.players] if self.rules.traits.scored else None

    def pieces(self) -> tuple[int, ...]:
        return tuple(self.board.cells.count(side) for side in range(1, len(self.rules.components) + 1))
