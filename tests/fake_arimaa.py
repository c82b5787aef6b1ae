"""A little Arimaa that writes its states and actions as Ludii's does: two pieces a side, a rabbit and a horse."""

from __future__ import annotations

from typing import Any

SQUARES = [f"{file}{rank}" for rank in range(1, 9) for file in "ABCDEFGH"]
TRAPS = ("C3", "F3", "C6", "F6")
STRENGTH = "rh"


def near(square: str) -> list[str]:
    """The squares beside it."""
    steps = [(ord(square[0]) + x, int(square[1]) + y) for x, y in ((0, 1), (1, 0), (0, -1), (-1, 0))]
    return [f"{chr(x)}{y}" for x, y in steps if f"{chr(x)}{y}" in SQUARES]


class FakeGame:
    """The game."""

    def get_type(self) -> Any:
        return type("Type", (), {"short_name": "ludii"})

    def get_parameters(self) -> dict[str, str]:
        return {"game": "Arimaa"}

    def num_players(self) -> int:
        return 2

    def new_initial_state(self) -> FakeState:
        return FakeState(self)

    def __str__(self) -> str:
        return "ludii(game=Arimaa)"


class FakeState:
    """A state. A set-up is two pieces on the own first ranks; then turns of up to four steps."""

    def __init__(self, game: FakeGame) -> None:
        self.game = game
        self.board: dict[str, str] = {}
        self.played: list[str] = []
        self.steps = 0
        self.mover = 0
        self.hand = ""
        self.left: tuple[str, str] | None = None
        """Where the mover's last step came from, and with which piece."""
        self.actions: list[int] = []

    def clone(self) -> FakeState:
        twin = object.__new__(FakeState)
        vars(twin).update(vars(self), board=dict(self.board), played=[*self.played], actions=[*self.actions])
        return twin

    def child(self, action: int) -> FakeState:
        twin = self.clone()
        twin.apply_action(action)
        return twin

    def get_game(self) -> FakeGame:
        return self.game

    def history(self) -> list[int]:
        return [*self.actions]

    def is_terminal(self) -> bool:
        stuck = len(self.played) >= 4 and not self.names()
        return stuck or any(self.board.get(f"{x}8") == "R" or self.board.get(f"{x}1") == "r" for x in "ABCDEFGH")

    def current_player(self) -> int:
        return self.mover

    def _own(self, piece: str) -> bool:
        return piece.isupper() == (self.mover == 0)

    def names(self) -> list[str]:
        board = self.board
        if len(self.played) < 4:
            ranks = "12" if self.mover == 0 else "78"
            kinds = "rh"[len(self.played) % 2 :] if len(self.played) % 2 == 0 else self.hand
            sites = [64 + 6 * self.mover + "rh".index(kind) for kind in kinds]
            return [
                f"{site}-{square}" for site in sites for square in SQUARES if square[1] in ranks and square not in board
            ]
        if self.hand:
            start, at = self.played[-1].split("-")
            return [f"{64 + 6 * self.mover}-{square}" for square in near(at) if square not in (*board, start)]
        names = ["Pass"] if self.steps else []
        for start, goal in [(square, other) for square in board for other in near(square)]:
            piece, other = board[start], board.get(goal)
            if self._own(piece):
                back = 1 if piece == "r" else -1
                if other is None and not (piece in "rR" and int(goal[1]) - int(start[1]) == back):
                    names.append(f"{start}-{goal}")
                free = [x for x in near(goal) if x not in board]
                if other and not self._own(other) and self._over(piece, other) and free and self.steps < 3:
                    names.append(f"{start}-{goal}")
            elif self.left and goal == self.left[0] and other is None and self._over(self.left[1], piece):
                names.append(f"{start}-{goal}")
        return names

    @staticmethod
    def _over(piece: str, other: str) -> bool:
        return STRENGTH.index(piece.lower()) > STRENGTH.index(other.lower())

    def legal_actions(self) -> list[int]:
        return [] if self.is_terminal() else list(range(len(self.names())))

    def action_to_string(self, player: int, action: int) -> str:
        return self.names()[action]

    def apply_action(self, action: int) -> None:
        name = self.names()[action]
        self.actions.append(action)
        self.played.append(name)
        if len(self.played) <= 4:
            kind = "rh"[(int(name[:2]) - 64) % 6]
            self.board[name[3:]] = kind.upper() if self.mover == 0 else kind
            self.hand = "rh".replace(kind, "") if len(self.played) % 2 else ""
            self.mover = (len(self.played) // 2) % 2
            return
        if name == "Pass":
            return self._pass_on()
        if self.hand:
            self.board[name[3:]], self.hand, self.left = self.hand, "", None
        else:
            start, goal = name.split("-")
            piece = self.board.pop(start)
            self.hand = self.board.get(goal, "")
            self.board[goal] = piece
            self.left = (start, piece) if self._own(piece) and not self.hand else None
        for trap in TRAPS:
            piece = self.board.get(trap, "")
            if piece and not any(
                self.board.get(x, " ").isupper() == piece.isupper() for x in near(trap) if x in self.board
            ):
                del self.board[trap]
        self.steps += 1
        if self.steps == 4 and not self.hand:
            self._pass_on()

    def _pass_on(self) -> None:
        self.mover, self.steps, self.left = 1 - self.mover, 0, None

    def __str__(self) -> str:
        rows = [" ".join(self.board.get(f"{x}{y}", ".") for x in "ABCDEFGH") for y in range(8, 0, -1)]
        rows = [f"{row}   . ." for row in rows]
        return "\n".join([*rows, "R Rabbit1, r Rabbit2, H Horse1, h Horse2", f"player {self.mover} to move"])


def after(*names: str) -> FakeState:
    """The state after these actions."""
    state = FakeGame().new_initial_state()
    for name in names:
        state.apply_action(state.names().index(name))
    return state


SET_UP = ("64-A1", "65-B2", "70-A7", "71-B7")
"""Gold's rabbit and horse, silver's rabbit and horse."""
