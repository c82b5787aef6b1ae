"""A person at the terminal as a `pyspiel.Bot`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pyspiel

from athenan_spiel.errors import MatchAbandonedError, nearest

LISTED = 40
"""So many legal moves are shown without being asked for."""
HELP = "Type a move as it is listed or its number; `?` lists the legal moves, `quit` ends the match."


class HumanBot(pyspiel.Bot):
    """Shows the board and asks for a move, of either colour, until a legal one comes.

    Args:
        ask: given a prompt, answers a line without its end; raises EOFError where there is no more.
        tell: shows some lines of text.
        width: of the terminal, in characters.
    """

    def __init__(
        self, ask: Callable[[str], str] = input, tell: Callable[[str], object] = print, *, width: int = 80
    ) -> None:
        super().__init__()
        self._ask = ask
        self._tell = tell
        self._width = width

    def step(self, state: pyspiel.State) -> int:
        """The move that the person types.

        Raises:
            MatchAbandonedError: the person typed `quit`, or the input has ended.
        """
        names = {action: state.action_to_string(state.current_player(), action) for action in state.legal_actions()}
        self._tell(f"\n{state}")
        listed = len(names) <= LISTED
        self._tell(in_columns(names, self._width) if listed else f"{len(names)} legal moves: `?` lists them")
        while True:
            answer = self._answer()
            if answer in ("?", "help"):
                self._tell(f"{HELP}\n{in_columns(names, self._width)}")
            elif (action := move_called(answer, names)) is not None:
                return action
            else:
                self._tell(
                    f"{answer!r} is no legal move{nearest(answer, names.values())} (`?` lists them, `quit` ends)"
                )

    def _answer(self) -> str:
        try:
            answer = self._ask("Your move: ").strip()
        except EOFError:
            raise MatchAbandonedError("the match was ended: no more input") from None
        if answer.lower() == "quit":
            raise MatchAbandonedError("the match was ended by quit")
        return answer

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        """Show what the other player has played."""
        self._tell(f"The other player plays {state.action_to_string(player_id, action)}.")

    def inform_actions(self, state: pyspiel.State, actions: Sequence[int]) -> None:
        """All players chose at once, which does not happen in the games that are played here."""

    def restart(self) -> None:
        """A new match begins: nothing is kept from the last."""

    def restart_at(self, state: pyspiel.State) -> None:
        """A new match begins at `state`: nothing is kept from the last."""


def move_called(answer: str, names: dict[int, str]) -> int | None:
    """The action that is called `answer`: by its name, by its name in other capitals, or by its number."""
    exact = [action for action, name in names.items() if name == answer]
    loose = [action for action, name in names.items() if name.lower() == answer.lower()]
    for found in (exact, loose):
        if len(found) == 1:
            return found[0]
    return int(answer) if re.fullmatch("[0-9]{1,18}", answer) and int(answer) in names else None


def in_columns(names: dict[int, str], width: int) -> str:
    """`number: name` for each action, read down the columns."""
    digits = max(len(str(action)) for action in names)
    cells = [f"{action:>{digits}}: {name}" for action, name in names.items()]
    columns = max(1, width // (max(map(len, cells)) + 3))
    rows = -(-len(cells) // columns)
    widest = max(map(len, cells))
    return "\n".join("   ".join(cell.ljust(widest) for cell in cells[row::rows]).rstrip() for row in range(rows))
