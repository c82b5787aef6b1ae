"""The `human` bot: a person at the terminal as a `pyspiel.Bot`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyspiel

from agents.bot import BaseBot
from agents.kind import AgentKind, limit_only
from agents.parameters import read_parameters
from athenan_spiel.errors import MatchAbandonedError, nearest, shown
from athenan_spiel.games.moves import move_called
from athenan_spiel.games.validation import require_choice

MAX_LISTED_MOVES = 40
"""Maximum number of legal moves that are listed without `?`."""


@dataclass(frozen=True)
class Command:
    """Command that a person may type instead of a move.

    Attributes:
        name: command in lower case; a legal move with the same name takes precedence.
        about: description for the help, after the name.
        run: executes the command in a state and returns text to print.
    """

    name: str
    about: str
    run: Callable[[pyspiel.State], str]


class HumanBot(BaseBot):
    """Prints the board and asks for a move, of either colour, until a legal one is typed.

    Args:
        ask: prints a prompt and returns a line without its end; raises EOFError at the end of the input.
        tell: prints lines of text.
        width: width of the terminal, in characters.
        prompt: returns the prompt for the player to move.
        commands: commands besides `?` and `quit`.
        remark: returns the text to print about an action of another player, or None for no text.
    """

    elsewhere = True
    """It uses no time of this process; see `athenan_spiel.play.player`."""

    def __init__(
        self,
        ask: Callable[[str], str] = input,
        tell: Callable[[str], object] = print,
        *,
        width: int = 80,
        prompt: Callable[[int], str] | None = None,
        commands: Sequence[Command] = (),
        remark: Callable[[pyspiel.State, int], str | None] | None = None,
    ) -> None:
        super().__init__()
        self._ask = ask
        self._tell = tell
        self._width = width
        self._prompt = prompt
        self._commands = {command.name: command for command in commands}
        self._remark = remark

    def __reduce__(self) -> tuple[Any, ...]:
        """Returns the class and its arguments, for `pickle`."""
        commands = tuple(self._commands.values())
        make = partial(type(self), width=self._width, prompt=self._prompt, commands=commands, remark=self._remark)
        return make, (self._ask, self._tell)

    @property
    def help(self) -> str:
        """One sentence about what can be typed."""
        others = "".join(f"`{command.name}` {command.about}, " for command in self._commands.values())
        return f"Type a move as it is listed or its number; `?` lists the legal moves, {others}`quit` ends the game."

    def step(self, state: pyspiel.State) -> int:
        """Returns the move that the person types.

        Raises:
            MatchAbandonedError: the person typed `quit`, or the input has ended.
            SearchError: no player is to move in `state`.
        """
        require_choice(state)
        player = state.current_player()
        names = {action: state.action_to_string(player, action) for action in state.legal_actions()}
        self._tell(f"\n{state}")
        is_listed = len(names) <= MAX_LISTED_MOVES
        self._tell(in_columns(names, self._width) if is_listed else f"{len(names)} legal moves: `?` lists them")
        while True:
            answer = self._answer("Your move: " if self._prompt is None else self._prompt(player))
            if answer not in names.values():  # a move may have the name of a command
                if answer.lower() == "quit":
                    raise MatchAbandonedError("game ended by quit")
                if answer.lower() in ("?", "help"):
                    self._tell(f"{textwrap.fill(self.help, self._width)}\n{in_columns(names, self._width)}")
                    continue
                if (command := self._commands.get(answer.lower())) is not None:
                    self._tell(command.run(state))
                    continue
            action = move_called(answer, names)
            if action is not None:
                return action
            hint = nearest(answer, [*names.values(), *self._commands]) if len(answer) < 100 else ""
            self._tell(f"{shown(answer)} is not a legal move{hint} (`?` lists them, `quit` ends)")

    def _answer(self, prompt: str) -> str:
        while True:
            try:
                return self._ask(prompt).strip()
            except EOFError:
                raise MatchAbandonedError("game ended by the end of the input") from None
            except UnicodeDecodeError:
                self._tell("input is not text: type a move, or `?`")

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Prints the other player's action."""
        if self._remark is None:
            other = "The other player" if state.num_players() <= 2 else f"Player {player_id}"
            self._tell(f"{other} plays {state.action_to_string(player_id, action)}.")
        elif (remark := self._remark(state, action)) is not None:
            self._tell(remark)

    def restart(self) -> None:
        """Does nothing, as nothing is kept between games."""


def in_columns(names: dict[int, str], width: int) -> str:
    """Returns `number: name` for each action, in columns."""
    digits = max(len(str(action)) for action in names)
    cells = [f"{action:>{digits}}: {name}" for action, name in names.items()]
    widest = max(map(len, cells))
    columns = max(1, width // (widest + 3))
    rows = -(-len(cells) // columns)
    return "\n".join("   ".join(cell.ljust(widest) for cell in cells[row::rows]).rstrip() for row in range(rows))


@dataclass(frozen=True, kw_only=True)
class HumanParameters:
    """`load_bot("human", ...)` has no parameters."""


def load_human(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> HumanBot:
    """Returns a person at the terminal.

    Raises:
        AgentError: there are parameters.
    """
    read_parameters(HumanParameters, "human", params)
    return HumanBot()


HUMAN = AgentKind(
    name="human",
    example="human",
    about="person at the terminal",
    load=load_human,
    parse=limit_only("human"),
    seeded=False,
)
