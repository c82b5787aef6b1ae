"""A state of a Ludii game as an OpenSpiel state.

A state holds a position, which is never changed while another state may hold it. So cloning costs nothing in Java:
OpenSpiel's clone copies the attributes of a Python state, and a position copies as itself.

A search never asks most children for their history, and OpenSpiel's own way to a child takes longer than Java's. So
`child` creates a state whose moves OpenSpiel records on request only, and `children` creates all children at once.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import pyspiel

from ludii_bridge.children import LudiiChildren
from ludii_bridge.errors import LudiiError, nearest
from ludii_bridge.transport import Position


class _History:
    """The moves that led to a state, an immutable linked list.

    Attributes:
        before: the earlier moves, or None.
        player, action: the last move.
        count: number of moves.
    """

    __slots__ = ("action", "before", "count", "player")

    def __init__(self, before: _History | None, player: int, action: int) -> None:
        self.before = before
        self.player = player
        self.action = action
        self.count: int = before.count + 1 if before else 1

    def __deepcopy__(self, memo: object) -> _History:
        return self

    def moves(self) -> list[tuple[int, int]]:
        """Returns (player, action) of each move, in order."""
        found = []
        past: _History | None = self
        while past is not None:
            found.append((past.player, past.action))
            past = past.before
        return found[::-1]


class _MoverOnly:
    """Stands in for a position while OpenSpiel records a move."""

    shared = True
    over = False

    def __init__(self, mover: int) -> None:
        self.mover = mover


class LudiiState(pyspiel.State):
    """A state of a `LudiiGame`: a `pyspiel.State` with additional methods."""

    _linked: _History | None = None
    """The moves so far, or None if only OpenSpiel has them."""
    _unrecorded = False
    """Whether OpenSpiel has not recorded the moves yet."""
    _recording = False

    def __init__(self, game: pyspiel.Game, position: Position) -> None:
        super().__init__(game)
        self._position: Any = position

    def child(self, action: int) -> LudiiState:
        """Returns the state after a legal action, and leaves this one unchanged.

        Raises:
            LudiiError: the action is not legal.
        """
        self._require_legal(action)
        position = self.position
        return _child(self.get_game(), self._linked_history(), position.mover, action, position.child(action))

    def children(self, actions: Sequence[int]) -> LudiiChildren[LudiiState]:
        """Returns the states after these legal actions, several times as fast as `child` for each.

        Raises:
            LudiiError: an action is not legal.
        """
        position = self.position
        chosen: Sequence[int] = range(position.moves)
        if (listed := list(actions)) != list(chosen):
            chosen = listed
            for action in chosen:
                self._require_legal(action)
        make = functools.partial(_child, self.get_game(), self._linked_history(), position.mover)
        return LudiiChildren(make, position.children(), chosen)

    def _linked_history(self) -> _History | None:
        if self._linked is None and super().move_number():
            for move in super().full_history():
                self._linked = _History(self._linked, move.player, move.action)
        return self._linked

    def _flush_history(self) -> None:
        """Moves the history to OpenSpiel's record, so that a serialised state has no additional attributes."""
        self._record()
        self.__dict__.pop("_linked", None)

    def _record(self) -> None:
        """Lets OpenSpiel record the moves so far."""
        if not self._unrecorded or self._linked is None:
            return
        del self._unrecorded
        position, self._recording = self._position, True
        for player, action in self._linked.moves():
            self._position = _MoverOnly(player)
            super().apply_action(action)
        del self._recording
        self._position = position

    def move_number(self) -> int:
        """Returns the number of moves so far."""
        number: int = self._linked.count if self._linked is not None else super().move_number()
        return number

    def history(self) -> list[int]:
        """Returns all actions so far."""
        self._record()
        actions: list[int] = super().history()
        return actions

    def full_history(self) -> list[Any]:
        """Returns all actions so far, with their players."""
        self._record()
        moves: list[Any] = super().full_history()
        return moves

    def history_str(self) -> str:
        """Returns the history as text."""
        self._record()
        return str(super().history_str())

    def information_state_string(self, *player: int) -> str:
        """Returns the history as text, as all information is public."""
        self._record()
        return str(super().information_state_string(*player))

    def is_initial_state(self) -> bool:
        """Returns whether no move was made."""
        return self.move_number() == 0

    def serialize(self) -> str:
        """Returns the state as text; see `pyspiel.Game.deserialize_state`."""
        self._flush_history()
        position, self._position = self._position, None
        text = str(super().serialize())
        self._position = position
        return text

    def undo_action(self, player: int, action: int) -> None:
        """Not supported; OpenSpiel raises an error."""
        self._record()
        super().undo_action(player, action)

    @property
    def position(self) -> Position:
        """The state in Ludii, which must not be changed.

        A deserialised state has no position, and replays its history.
        """
        if self._position is None:
            self._position = _after(self.get_game(), self.history()).position
        position: Position = self._position
        return position

    def current_player(self) -> int:
        """Returns the player to move, `CHANCE` or `TERMINAL`. Players keep their number after a swap of sides."""
        if self.position.over:
            return int(pyspiel.PlayerId.TERMINAL)
        return self.position.mover

    def is_terminal(self) -> bool:
        """Returns whether the game is over."""
        return self.position.over

    def was_cut(self) -> bool:
        """Returns whether `max_length` ended the game."""
        if not self.position.over or self._moves_of_players() < self.get_game().max_game_length():
            return False
        returns = self.returns()
        return len(returns) == 1 or len(set(returns)) < len(returns)  # it ends with a draw of those still playing

    def _moves_of_players(self) -> int:
        """Returns the number of moves so far without outcomes of chance."""
        if not self.get_game().rules.traits.chance_outcomes:
            return self.move_number()
        past = self._linked_history()
        return 0 if past is None else sum(player >= 0 for player, _ in past.moves())

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Returns the outcomes of a chance state, such as the rolls of dice, and their probabilities.

        Raises:
            LudiiError: it is no chance state.
        """
        if not self.position.probabilities:
            raise LudiiError(f"chance has no outcomes here: current_player() is {self.current_player()}")
        return list(enumerate(self.position.probabilities))

    def dice(self) -> tuple[int, ...]:
        """Returns the face of each die, 0 for a used one; nothing before a roll, after the end and without dice."""
        return self.position.faces

    def last_mover(self) -> int:
        """Returns the player who moved last, or 0 at the start."""
        past = self._linked_history()
        while past is not None and past.player < 0:
            past = past.before
        return past.player if past is not None else 0

    def returns(self) -> list[float]:
        """Returns a number in [-1, 1] for each player by its rank; for one player the score, if there is one.

        For two players it is 1 and -1 for a win, otherwise zeros. Ludii lets both win or lose; half the difference of
        the two utilities is zero-sum. For n players it is Ludii's utility 1 - 2 (rank - 1) / (n - 1). Players with
        equal results share the mean of their ranks, but Ludii also lets several be first or all be last. So the sum
        varies.
        """
        utilities = self.position.utilities
        if len(utilities) == 1:
            score = self.position.scores()
            return list(score) if score and self.position.over else list(utilities)
        if len(utilities) > 2:
            return list(utilities)
        first, second = utilities
        gain = (first - second) / 2
        return [gain, -gain or 0.0]

    def legal_actions(self, *player: int) -> list[int]:
        """Returns the actions of the player to move, or of one player, who has none out of turn."""
        position = self.position
        if position.over or (player and player[0] != position.mover):
            return []
        return self._legal_actions(position.mover)

    def _legal_actions(self, player: int) -> list[int]:
        count = self.position.moves
        most = self.get_game().max_chance_outcomes() if player < 0 else self.num_distinct_actions()
        if player < 0 and count > most:
            raise LudiiError(f"chance has {count} outcomes in a state of {self.get_game()}, more than {most}")
        if count > most:
            raise LudiiError(
                f"{count} moves are legal in a state of {self.get_game()}, more than the {most} actions declared: "
                f"load it with max_actions={2 * count}"
            )
        return list(range(count))

    def _require_legal(self, action: int) -> None:
        count = self.position.moves
        if action not in range(count):
            legal = f"a legal action, 0 to {count - 1}" if count else "no action, as the game is over"
            raise LudiiError(f"expected {legal}, got {action!r}")

    def _apply_action(self, action: int) -> None:
        if self._recording:
            return
        self._require_legal(action)
        self._record()
        position = self.position
        self._linked = _History(self._linked_history(), position.mover, action)
        self._position = position.child(action) if position.shared else position.advance(action)

    def _action_to_string(self, player: int, action: int) -> str:
        texts = self.position.move_texts
        return texts[action] if 0 <= action < len(texts) else f"no legal move ({action})"

    def string_to_action(self, player_or_text: int | str, text: str | None = None) -> int:
        """Returns the action of a text of `action_to_string`; a player as first argument is ignored, as in OpenSpiel.

        Raises:
            LudiiError: no legal move has that text.
        """
        wanted = str(player_or_text if text is None else text).strip()
        texts = self.position.move_texts
        if wanted not in texts:
            raise LudiiError(f"no legal move is written {wanted!r}{nearest(wanted, texts)}")
        return texts.index(wanted)

    def move_sites(self) -> list[tuple[int, ...]]:
        """Returns origin and destination of each legal action, without duplicates and sites that are not drawn.

        Sites are numbered as the rows of "sites" in `LudiiGame.geometry`.
        """
        return list(self.position.sites_of_moves)

    def site_contents(self) -> list[tuple[int, int, int, int]]:
        """Returns (site, type, player, count) of each occupied site.

        The type is an index of `LudiiGame.piece_types`, for a stack that of its top. The player is -1 for a shared or
        neutral piece. The count is the number of pieces on the site.
        """
        return self.position.site_contents()

    def key(self) -> tuple[int, ...]:
        """Returns Ludii's hash with what it omits, the last two moves, what the rules remember and, if repetition
        matters, the hashes of earlier states.

        States with equal keys are equal, except for collisions of 64-bit hashes and for the games in which
        `LudiiGame.transposition_text` is None.
        """
        return self.position.key()

    def scores(self) -> tuple[float, ...] | None:
        """Returns the points of each player, or None if the game has none."""
        return self.position.scores()

    def pieces(self) -> tuple[int, ...]:
        """Returns the number of pieces of each player, on the board and in hand."""
        return self.position.pieces()

    def __str__(self) -> str:
        player = self.current_player()
        turn = f"player {player} to move"
        if player < 0:
            turn = "the game is over" if self.is_terminal() else "chance to move"
        mark = hash(self.position.key()) & (2**64 - 1)
        return f"{self.position.describe()}\n{turn}, state {mark:016x}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _after, (self.get_game(), self.history())


def _child(game: pyspiel.Game, before: _History | None, player: int, action: int, position: Position) -> LudiiState:
    """Returns the state of a position after a move that OpenSpiel has not recorded."""
    state = LudiiState(game, position)
    state._linked = _History(before, player, action)
    state._unrecorded = True
    return state


def _after(game: pyspiel.Game, history: list[int]) -> LudiiState:
    """Returns the state after a history."""
    state: LudiiState = game.new_initial_state()
    for action in history:
        state.apply_action(action)
    return state
