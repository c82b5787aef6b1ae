"""A state of a Ludii game as an OpenSpiel state.

All that a state has of its own is a position, which is never changed while another may hold it. So cloning
costs nothing in Java: OpenSpiel's clone copies the attributes of a Python state, and a position copies as itself.

A search makes many children that it never asks for their past, and OpenSpiel's own way to a child takes longer than
Java. So `child` makes a new state and leaves OpenSpiel's record of its moves empty until it is asked for, and
`children` makes all that a search wants at once.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import pyspiel

from ludii_bridge.children import LudiiChildren
from ludii_bridge.errors import LudiiError, nearest
from ludii_bridge.transport import Position


class _Past:
    """The moves that led to a state: the last one, and the past before it; it never changes.

    Attributes:
        before: None where there was no move before.
        player, action: of the last move.
        count: how many moves there are.
    """

    __slots__ = ("action", "before", "count", "player")

    def __init__(self, before: _Past | None, player: int, action: int) -> None:
        self.before = before
        self.player = player
        self.action = action
        self.count: int = before.count + 1 if before else 1

    def __deepcopy__(self, memo: object) -> _Past:
        return self

    def moves(self) -> list[tuple[int, int]]:
        """(player, action) of each move, the first one first."""
        found = []
        past: _Past | None = self
        while past is not None:
            found.append((past.player, past.action))
            past = past.before
        return found[::-1]


class _Moment:
    """What OpenSpiel asks a position while it records a move that was made from there."""

    shared = True
    over = False

    def __init__(self, mover: int) -> None:
        self.mover = mover


class LudiiState(pyspiel.State):
    """A state of a `LudiiGame`, as its `new_initial_state` and `child` give it.

    It is a `pyspiel.State` like any other; what is Ludii's own is below.
    """

    _past: _Past | None = None
    """The moves so far, where they are known here."""
    _untold = False
    """OpenSpiel has no record of them yet."""
    _telling = False

    def __init__(self, game: pyspiel.Game, position: Position) -> None:
        super().__init__(game)
        self._position: Any = position

    def child(self, action: int) -> LudiiState:
        """The state after a legal action; this one stays as it is.

        Raises:
            LudiiError: the action is not legal.
        """
        self._require_legal(action)
        position = self.position
        return _child(self.get_game(), self._known_past(), position.mover, action, position.child(action))

    def children(self, actions: Sequence[int]) -> LudiiChildren[LudiiState]:
        """The states after these legal actions, in their order: as `child` for each, and several times as fast.

        Raises:
            LudiiError: an action is not legal.
        """
        position = self.position
        meant: Sequence[int] = range(position.moves)
        if (given := list(actions)) != list(meant):
            meant = given
            for action in given:
                self._require_legal(action)
        make = functools.partial(_child, self.get_game(), self._known_past(), position.mover)
        return LudiiChildren(make, position.children(), meant)

    def _known_past(self) -> _Past | None:
        """The moves so far."""
        if self._past is None and super().move_number():
            for move in super().full_history():
                self._past = _Past(self._past, move.player, move.action)
        return self._past

    def _forget_past(self) -> None:
        """Leave it to OpenSpiel's record: a state that is written has no more attributes than it needs."""
        self._tell()
        self.__dict__.pop("_past", None)

    def _tell(self) -> None:
        """Let OpenSpiel record the moves that led here."""
        if not self._untold or self._past is None:
            return
        del self._untold
        position, self._telling = self._position, True
        for player, action in self._past.moves():
            self._position = _Moment(player)
            super().apply_action(action)
        del self._telling
        self._position = position

    def move_number(self) -> int:
        """How many moves were made."""
        number: int = self._past.count if self._past is not None else super().move_number()
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
        self._forget_past()
        position, self._position = self._position, None
        text = str(super().serialize())
        self._position = position
        return text

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

    def was_cut(self) -> bool:
        """Whether `max_length` ended the match, which is a draw then, or for one player as it stands."""
        if not self.position.over or len(self.history()) < self.get_game().max_game_length():
            return False
        return len(self.position.utilities) == 1 or not any(self.returns())

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

    def legal_actions(self, *player: int) -> list[int]:
        """The actions of the player to move, or those of one player: none for who is not to move."""
        position = self.position
        if position.over or (player and player[0] != position.mover):
            return []
        return self._legal_actions(position.mover)

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
        if action not in range(count):
            legal = f"a legal action, 0 to {count - 1}" if count else "no action, as the match is over"
            raise LudiiError(f"expected {legal}, got {action!r}")

    def _apply_action(self, action: int) -> None:
        if self._telling:
            return
        self._require_legal(action)
        self._tell()
        position = self.position
        self._past = _Past(self._known_past(), position.mover, action)
        self._position = position.child(action) if position.shared else position.advance(action)

    def _action_to_string(self, player: int, action: int) -> str:
        texts = self.position.move_texts
        return texts[action] if 0 <= action < len(texts) else f"no legal move ({action})"

    def string_to_action(self, player_or_text: int | str, text: str | None = None) -> int:
        """The action written as `action_to_string` writes it; a player before it is ignored, as elsewhere.

        Raises:
            LudiiError: no legal move reads so.
        """
        wanted = str(player_or_text if text is None else text).strip()
        texts = self.position.move_texts
        if wanted not in texts:
            raise LudiiError(f"no legal move is written {wanted!r}{nearest(wanted, texts)}")
        return texts.index(wanted)

    def move_sites(self) -> list[tuple[int, ...]]:
        """For each legal action the sites that it names: from where and to where, or where alone; none for a pass, a
        swap, and what has no place on a picture. Sites are numbered as the rows of "sites" in `LudiiGame.geometry`."""
        return list(self.position.sites_of_moves)

    def standing(self) -> list[tuple[int, int, int, int]]:
        """What stands where: (site, kind, player, count) for each site that is not empty.

        The kind is an index of `LudiiGame.kinds`, of a stack the one on top; the player is -1 where the piece is
        nobody's or everybody's; the count is that of the pieces on the site, or of a stack.
        """
        return self.position.standing()

    def key(self) -> tuple[int, ...]:
        """Ludii's hash of the state, with what it leaves out, the last two moves, what the rules remember and, where
        repetition matters, the hashes of earlier states.

        Two states with one key are equal, unless hashes of 64 bits collide or the game is one of those of which a key
        cannot hold all: `LudiiGame.transposition_text` gives no text for these.
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


def _child(game: pyspiel.Game, before: _Past | None, player: int, action: int, position: Position) -> LudiiState:
    """The state of a position after a move that OpenSpiel has no record of."""
    state = LudiiState(game, position)
    state._past = _Past(before, player, action)
    state._untold = True
    return state


def _after(game: pyspiel.Game, history: list[int]) -> LudiiState:
    """The state after a history."""
    state: LudiiState = game.new_initial_state()
    for action in history:
        state.apply_action(action)
    return state
