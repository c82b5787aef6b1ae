"""What is known of a game that UCI engines play: the one interface of the files beside.

A turn is what UCI writes as one move. It is one action of OpenSpiel's in most games, three in Amazons. Its promises:

1. `write` gives different texts to turns of a state that do not come to the same, and `read` gives back the turn that
   was written, or one that comes to the same.
2. The legal turns of a state are those that the variant has in Fairy-Stockfish, so that neither side is offered a
   move that the other does not know. Who has won in the end is OpenSpiel's to say.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import pyspiel

from athenan_spiel.errors import ProgramError, shown

Turn = tuple[int, ...]
"""The actions of a turn."""


def square(column: int, rank: int) -> str:
    """A square as UCI names it: `a1` is the first player's left corner; columns count from 0, ranks from 1."""
    return f"{chr(ord('a') + column)}{rank}"


class UciGame(ABC):
    """One game of OpenSpiel, as UCI has it. The file's docstring numbers its promises.

    Attributes:
        variant: its UCI_Variant.
        board: what the board is when a match begins, as the first field of a FEN, without what is in hand.
        turn_length: the actions of a turn; a match begins with the first of a turn.
        definition: lines that tell Fairy-Stockfish of a variant that it does not have by itself; empty where it has.
    """

    variant: str
    board: str
    turn_length: int = 1
    definition: str = ""

    @abstractmethod
    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """The move for a legal turn of `state`, in which a turn begins."""

    def turns(self, state: pyspiel.State) -> dict[str, Turn]:
        """All legal turns of `state`, in which a turn begins, by their moves."""
        return {self.write(state, turn): turn for turn in _turns(state, self.turn_length)}

    def read(self, state: pyspiel.State, text: str) -> Turn:
        """The legal turn of `state`, in which a turn begins, whose move is `text`.

        Raises:
            ProgramError: there is none.
        """
        turn = self.turns(state).get(text)
        if turn is None:
            raise ProgramError(f"expected a legal move in UCI's notation, got {shown(text)}")
        return turn

    def written(self, state: pyspiel.State) -> tuple[list[str], pyspiel.State]:
        """The whole turns by which a match has come to `state`, and the state after them.

        That state is a copy of `state` itself where a turn begins; in the middle of a turn it is the turn's beginning.

        Raises:
            ProgramError: `state` does not follow from the game's initial position.
        """
        history = state.history()
        past = state.get_game().new_initial_state()
        moves = []
        for start in range(0, len(history) - len(history) % self.turn_length, self.turn_length):
            turn = history[start : start + self.turn_length]
            if turn[0] not in past.legal_actions():
                raise ProgramError("expected a match from the game's initial position, got one from another")
            moves.append(self.write(past, turn))
            for action in turn:
                past.apply_action(action)
        if len(history) % self.turn_length == 0 and str(past) != str(state):
            raise ProgramError("expected a match from the game's initial position, got one from another")
        return moves, past


def _turns(state: pyspiel.State, length: int) -> list[Turn]:
    if length == 1:
        return [(action,) for action in state.legal_actions()]
    return [(action, *rest) for action in state.legal_actions() for rest in _turns(state.child(action), length - 1)]
