"""Interface of a game's UCI notation.

A turn is one move in UCI. It is one action of OpenSpiel in most games, and three in Amazons.

1. `write` returns different moves for turns with different results. `read` is its inverse, up to turns with the same
   result.
2. The legal turns of a state are the legal moves of Fairy-Stockfish's variant. OpenSpiel determines the winner.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import pyspiel

from athenan_spiel.errors import ProgramError, shown

Turn = tuple[int, ...]
"""Actions of a turn."""


def square(column: int, rank: int) -> str:
    """Returns UCI's name of a square; columns count from 0, ranks from 1. `a1` is the first player's left corner."""
    return f"{chr(ord('a') + column)}{rank}"


class UciGame(ABC):
    """UCI notation of a game; the module's docstring lists its guarantees.

    Attributes:
        variant: value of `UCI_Variant`.
        board: initial board, as the first field of a FEN without pieces in hand.
        turn_length: number of actions of a turn.
        definition: variant definition for Fairy-Stockfish; empty if the variant is built in.
    """

    variant: str
    board: str
    turn_length: int = 1
    definition: str = ""

    @abstractmethod
    def write(self, state: pyspiel.State, turn: Sequence[int]) -> str:
        """Returns the move for a legal turn of `state`, the start of a turn."""

    def turns(self, state: pyspiel.State) -> dict[str, Turn]:
        """Returns all legal turns of `state`, the start of a turn, by move."""
        return {self.write(state, turn): turn for turn in _turns(state, self.turn_length)}

    def read(self, state: pyspiel.State, text: str) -> Turn:
        """Returns the legal turn for the move `text` in `state`, the start of a turn.

        Raises:
            ProgramError: the move is not legal.
        """
        turn = self.turns(state).get(text)
        if turn is None:
            raise ProgramError(f"expected a legal move in UCI's notation, got {shown(text)}")
        return turn

    def written(self, state: pyspiel.State) -> tuple[list[str], pyspiel.State]:
        """Returns the moves of the complete turns that lead to `state`, and the state after them.

        That state equals `state`, or is the start of the turn if `state` is in the middle of one.

        Raises:
            ProgramError: the history of `state` doesn't start at the game's initial position.
        """
        history = state.history()
        past = state.get_game().new_initial_state()
        moves = []
        for start in range(0, len(history) - len(history) % self.turn_length, self.turn_length):
            turn = history[start : start + self.turn_length]
            if turn[0] not in past.legal_actions():
                raise ProgramError("expected a game from the initial position, got one from another")
            moves.append(self.write(past, turn))
            for action in turn:
                past.apply_action(action)
        if len(history) % self.turn_length == 0 and str(past) != str(state):
            raise ProgramError("expected a game from the initial position, got one from another")
        return moves, past


def _turns(state: pyspiel.State, length: int) -> list[Turn]:
    if length == 1:
        return [(action,) for action in state.legal_actions()]
    return [(action, *rest) for action in state.legal_actions() for rest in _turns(state.child(action), length - 1)]
