"""A state of a Ludii game as an OpenSpiel state.

All that a state has of its own is a position, which is never changed while somebody else may hold it. So cloning
costs nothing in Java: OpenSpiel's clone copies the attributes of a Python state, and a position copies as itself.

A search makes many children that it never asks for their past, and OpenSpiel's own way to a child takes longer than
Java. So `child` makes a new state and leaves OpenSpiel's record of its moves empty until somebody asks for it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pyspiel

from ludii_bridge.errors import LudiiError, nearest
from ludii_bridge.transport import Position

if TYPE_CHECKING:
    from ludii_bridge.game import LudiiGame


class _Past:
    """The moves that led to a state, each a player and an action, the last one apart; it never changes."""

    __slots__ = ("before", "last")

    def __init__(self, before: _Line, last: tuple[int, int]) -> None:
        self.before = before
        self.last = last

    def __deepcopy__(self, memo: object) -> _Past:
        return self


class _Line(tuple[tuple[int, int], ...]):
    """Moves that are copied as themselves."""

    __slots__ = ()

    def __deepcopy__(self, memo: object) -> _Line:
        return self


class _Moment:
    """What OpenSpiel asks a position while it records a move that was made from there."""

    shared = True
    over = False

    def __init__(self, mover: int) -> None:
        self.mover = mover


class LudiiState(pyspiel.State):
    """A state of a `LudiiGame`."""

    _untold: _Past | None = None
    """The past where OpenSpiel has no record of it yet."""
    _line: _Line | None = None
    """All moves so far, where they are known already."""
    _telling = False

    def __init__(self, game: LudiiGame, position: Position) -> None:
        super().__init__(game)
        self._position: Any = position

    def child(self, action: int) -> LudiiState:
        """The state after a legal action; this one stays as it is.

        Raises:
            LudiiError: the action is not legal.
        """
        position = self.position
        self._require_legal(action)
        if self._line is None:
            past = self._untold
            told = ((x.player, x.action) for x in super().full_history()) if past is None else (*past.before, past.last)
            self._line = _Line(told)
        state = LudiiState(self.get_game(), position.child(action))
        state._untold = _Past(self._line, (position.mover, action))
        return state

    def _tell(self) -> None:
        """Let OpenSpiel record the moves that led here."""
        past = self._untold
        if past is None:
            return
        del self._untold  # a state that is written has no more attributes than it needs
        position, self._telling = self._position, True
        for player, action in (*past.before, past.last):
            self._position = _Moment(player)
            super().apply_action(action)
        del self._telling
        self._position = position

    def _forget_line(self) -> None:
        self.__dict__.pop("_line", None)

    def move_number(self) -> int:
        """How many moves were made."""
        number: int = super().move_number() if self._untold is None else len(self._untold.before) + 1
        return number

    def history(self) -> list[int]:
        """All actions that led here."""
        self._tell()
        actions: list[int] = super().history()
        return actions

    def full_history(self) -> list[Any]:
        """The same, with who made them."""
        self._tell()
        moves: list[Any] = super().full_history()
        return moves

    def history_str(self) -> str:
        """The same in words."""
        self._tell()
        return str(super().history_str())

    def information_state_string(self, *player: int) -> str:
        """The same: all is seen."""
        self._tell()
        return str(super().information_state_string(*player))

    def is_initial_state(self) -> bool:
        """No move was made."""
        return self.move_number() == 0

    def serialize(self) -> str:
        """The state as text; see `pyspiel.Game.deserialize_state`."""
        self._tell()
        self._forget_line()
        return str(super().serialize())

    def undo_action(self, player: int, action: int) -> None:
        """Not for Ludii's games: OpenSpiel says so."""
        self._tell()
        super().undo_action(player, action)

    @property
    def position(self) -> Position:
        """The state in Ludii; it must not be changed.

        OpenSpiel writes and reads a Python state as its history and its attributes, and a position cannot be
        written: where there is none, the history is played again.
        """
        if self._position is None:
            self._position = _after(self.get_game(), self.history()).position
        position: Position = self._position
        return position

    def current_player(self) -> int:
        """The player to move, 0 or 1, or `TERMINAL`; after a swap of sides players keep their number."""
        if self.position.over:
            return int(pyspiel.PlayerId.TERMINAL)
        return self.position.mover

    def is_terminal(self) -> bool:
        """The match is over."""
        return self.position.over

    def returns(self) -> list[float]:
        """1 and -1 for a win, zeros for a draw and before the end; for one player the score, where there is one.

        Ludii ranks players, and lets both win or both lose; half the difference of the two utilities is zero-sum.
        """
        utilities = self.position.utilities
        if len(utilities) == 1:
            score = self.position.scores()
            return list(score) if score and self.position.over else list(utilities)
        first, second = utilities
        gain = (first - second) / 2
        return [gain, -gain or 0.0]

    def _legal_actions(self, player: int) -> list[int]:
        count = self.position.moves
        most = self.num_distinct_actions()
        if count > most:
            raise LudiiError(
                f"{count} moves are legal in a state of {self.get_game()}, more than the {most} actions declared: "
                f"load it with max_actions={2 * count}"
            )
        return list(range(count))

    def _require_legal(self, action: int) -> None:
        count = self.position.moves
        if not 0 <= action < count:
            raise LudiiError(f"expected a legal action, 0 to {count - 1}, got {action!r}")

    def _apply_action(self, action: int) -> None:
        if self._telling:
            return
        self._require_legal(action)
        self._tell()
        self._forget_line()
        position = self.position
        self._position = position.child(action) if position.shared else position.advance(action)

    def _action_to_string(self, player: int, action: int) -> str:
        texts = self._texts()
        return texts[action] if 0 <= action < len(texts) else f"no legal move ({action})"

    def string_to_action(self, *words: Any) -> int:
        """The action written as `action_to_string` writes it; a player before it is ignored, as elsewhere.

        Raises:
            LudiiError: no legal move reads so.
        """
        text = str(words[-1]).strip()
        texts = self._texts()
        if text not in texts:
            raise LudiiError(f"no legal move is written {text!r}{nearest(text, texts)}")
        return texts.index(text)

    def _texts(self) -> list[str]:
        """The legal moves in Ludii's notation; those that read alike are numbered."""
        texts = self.position.describe_moves()
        often = Counter(texts)
        seen: Counter[str] = Counter()
        for i, text in enumerate(texts):
            if often[text] > 1:
                seen[text] += 1
                texts[i] = f"{text} #{seen[text]}"
        return texts

    def key(self) -> tuple[int, ...]:
        """Ludii's hash of the state, with the mover, the phases, the score, the last two moves and, where repetition
        matters, the hashes of earlier states.

        Two states with one key are equal, unless hashes of 64 bits collide or the game is one of those that remember
        more: `LudiiGame.transposition_text` gives no text for these.
        """
        return self.position.key()

    def scores(self) -> tuple[float, ...] | None:
        """The points of each player, or None where the game keeps none."""
        return self.position.scores()

    def pieces(self) -> tuple[int, ...]:
        """How many pieces each player has, on the board and in hand."""
        return self.position.pieces()

    def __str__(self) -> str:
        player = self.current_player()
        turn = "the match is over" if self.is_terminal() else f"player {player} to move"
        mark = hash(self.position.key()) & (2**64 - 1)
        return f"{self.position.describe()}\n{turn}, state {mark:016x}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _after, (self.get_game(), self.history())


def _after(game: LudiiGame, history: list[int]) -> LudiiState:
    """The state after a history."""
    state = game.new_initial_state()
    for action in history:
        state.apply_action(action)
    return state
