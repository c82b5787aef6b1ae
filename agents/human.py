"""A person at the terminal as a `pyspiel.Bot`."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyspiel

from agents.kind import AgentKind, nothing_but_a_limit
from agents.parameters import read_parameters
from athenan_spiel.errors import MatchAbandonedError, nearest, shown
from athenan_spiel.games.given import require_choice
from athenan_spiel.games.moves import move_called

LISTED = 40
"""So many legal moves are shown without being asked for."""


@dataclass(frozen=True)
class Command:
    """A word that a person may type in place of a move.

    Attributes:
        name: the word, in small letters. Where a legal move is called so, the move is meant.
        about: what it does, as the help says it behind the word.
        run: does it in the state where the person is to move, and answers some lines of text.
    """

    name: str
    about: str
    run: Callable[[pyspiel.State], str]


class HumanBot(pyspiel.Bot):
    """Shows the board and asks for a move, of either colour, until a legal one comes.

    Args:
        ask: given a prompt, answers a line without its end; raises EOFError where there is no more.
        tell: shows some lines of text.
        width: of the terminal, in characters.
        prompt: given the player to move, what `ask` is given.
        commands: what may be typed besides moves, `?` and `quit`.
        remark: given a state and what another player chose in it, what is told of that; None: nothing.
    """

    elsewhere = True
    """It takes no time of this process; see `athenan_spiel.play.player`."""

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

    def __reduce__(self) -> tuple[Callable[..., HumanBot], tuple[Callable[[str], str], Callable[[str], object]]]:
        """For `pickle`, as far as what it was made of can be pickled."""
        commands = tuple(self._commands.values())
        like_this = partial(type(self), width=self._width, prompt=self._prompt, commands=commands, remark=self._remark)
        return like_this, (self._ask, self._tell)

    @property
    def help(self) -> str:
        """What can be typed, in a sentence."""
        others = "".join(f"`{command.name}` {command.about}, " for command in self._commands.values())
        return f"Type a move as it is listed or its number; `?` lists the legal moves, {others}`quit` ends the match."

    def step(self, state: pyspiel.State) -> int:
        """The move that the person types.

        Raises:
            MatchAbandonedError: the person typed `quit`, or the input has ended.
            SearchError: no player is to choose in `state`.
        """
        require_choice(state)
        player = state.current_player()
        names = {action: state.action_to_string(player, action) for action in state.legal_actions()}
        self._tell(f"\n{state}")
        listed = len(names) <= LISTED
        self._tell(in_columns(names, self._width) if listed else f"{len(names)} legal moves: `?` lists them")
        while True:
            answer = self._answer("Your move: " if self._prompt is None else self._prompt(player))
            if answer not in names.values():  # where a move is called `undo`, that is meant
                if answer.lower() == "quit":
                    raise MatchAbandonedError("the match was ended by quit")
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
            self._tell(f"{shown(answer)} is no legal move{hint} (`?` lists them, `quit` ends)")

    def _answer(self, prompt: str) -> str:
        while True:
            try:
                return self._ask(prompt).strip()
            except EOFError:
                raise MatchAbandonedError("the match was ended: no more input") from None
            except UnicodeDecodeError:
                self._tell("that was no text: type a move, or `?`")

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Show what the other player has played."""
        if self._remark is None:
            self._tell(f"The other player plays {state.action_to_string(player_id, action)}.")
        elif (remark := self._remark(state, action)) is not None:
            self._tell(remark)

    def inform_actions(self, state: pyspiel.State, actions: Sequence[int]) -> None:
        """All players chose at once, which does not happen in the games that are played here."""

    def restart(self) -> None:
        """A new match begins: nothing is kept from the last."""

    def restart_at(self, state: pyspiel.State) -> None:
        """A new match begins at `state`: nothing is kept from the last."""


def in_columns(names: dict[int, str], width: int) -> str:
    """`number: name` for each action, read down the columns."""
    digits = max(len(str(action)) for action in names)
    cells = [f"{action:>{digits}}: {name}" for action, name in names.items()]
    columns = max(1, width // (max(map(len, cells)) + 3))
    rows = -(-len(cells) // columns)
    widest = max(map(len, cells))
    return "\n".join("   ".join(cell.ljust(widest) for cell in cells[row::rows]).rstrip() for row in range(rows))


@dataclass(frozen=True, kw_only=True)
class HumanParameters:
    """`load_bot("human", ...)` takes no parameters."""


def load_human(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> HumanBot:
    """A person at the terminal.

    Raises:
        AgentError: there are parameters.
    """
    read_parameters(HumanParameters, "human", params)
    return HumanBot()


HUMAN = AgentKind(
    name="human",
    example="human",
    about="a person at the terminal",
    load=load_human,
    parse=nothing_but_a_limit("human"),
    seeded=False,
)
