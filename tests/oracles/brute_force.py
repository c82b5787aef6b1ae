"""Minimax by brute force over `pyspiel`, written apart from the search and as plainly as it goes.

Everything is from player 0's view; who moves is asked of the state. The recursion follows the definition: a
terminal state is worth what `worth` says, any other one the best of its children for who is to move there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cache

import pyspiel

Worth = Callable[[pyspiel.State], float]
PositionKey = Callable[[pyspiel.State], Hashable]


class TooManyPositionsError(Exception):
    """More positions than the oracle was allowed to value."""


def who_won(state: pyspiel.State) -> float:
    """1 if player 0 has won the finished match, -1 if player 1 has, 0 for a draw."""
    first, second = state.returns()
    return float(first > second) - float(first < second)


def same_text(state: pyspiel.State) -> Hashable:
    """Text, mover and number of actions played: enough wherever the board and the mover are all that counts."""
    return str(state), state.current_player(), state.move_number()


def same_history(state: pyspiel.State) -> Hashable:
    """Nothing is merged: right for every game, and the game tree is as large as it is."""
    return tuple(state.history())


class BruteForce:
    """The minimax value of any state, remembered by position.

    Args:
        worth: of a terminal state for player 0.
        key: states with equal keys are one position.
        best_and_worst: the largest and the smallest worth there is, if known. A player who has found the best
            outcome there is looks at no further action; without it every action of every position is looked at.
        max_positions: at most so many are looked at.
    """

    def __init__(
        self,
        worth: Worth = who_won,
        *,
        key: PositionKey = same_text,
        best_and_worst: tuple[float, float] | None = None,
        max_positions: int | None = None,
    ) -> None:
        self._worth = worth
        self._key = key
        self._goals = best_and_worst
        self._max_positions = max_positions
        self._entered = 0
        self._values: dict[Hashable, float] = {}

    @property
    def positions(self) -> int:
        """Number of positions valued, finished ones included."""
        return len(self._values)

    @property
    def values_seen(self) -> set[float]:
        """The different values of the positions valued."""
        return set(self._values.values())

    def value(self, state: pyspiel.State) -> float:
        """The minimax value of `state`.

        Raises:
            TooManyPositionsError: `max_positions` is reached; the object is then of no more use.
        """
        key = self._key(state)
        if key not in self._values:
            self._entered += 1
            if self._max_positions is not None and self._entered > self._max_positions:
                raise TooManyPositionsError
            self._values[key] = self._worth(state) if state.is_terminal() else self._best(state)
        return self._values[key]

    def action_values(self, state: pyspiel.State) -> dict[int, float]:
        """The minimax value of each legal action's state."""
        return {action: self.value(state.child(action)) for action in state.legal_actions()}

    def _best(self, state: pyspiel.State) -> float:
        mover = state.current_player()
        best = None
        for action in state.legal_actions():
            value = self.value(state.child(action))
            if best is None or (value > best if mover == 0 else value < best):
                best = value
                if self._goals is not None and best == self._goals[mover]:
                    break
        assert best is not None, "a state that is not terminal has an action"
        return best


def solver(*, key: PositionKey = same_text, max_positions: int | None = None) -> BruteForce:
    """Win, draw or loss, and nothing finer: a won position's other actions are not looked at."""
    return BruteForce(who_won, key=key, best_and_worst=(1.0, -1.0), max_positions=max_positions)


def count_positions(state: pyspiel.State, key: PositionKey = same_text) -> int:
    """Number of different positions that can be reached, `state` and finished ones included."""
    seen = {key(state)}
    layer = [state]
    while layer:
        following = []
        for position in layer:
            for action in position.legal_actions():
                child = position.child(action)
                child_key = key(child)
                if child_key not in seen:
                    seen.add(child_key)
                    following.append(child)
        layer = following
    return len(seen)


def count_matches(state: pyspiel.State, key: PositionKey = same_text) -> int:
    """Number of different matches (sequences of actions to the end) from `state`."""
    counts: dict[Hashable, int] = {}

    def count(position: pyspiel.State) -> int:
        if position.is_terminal():
            return 1
        position_key = key(position)
        if position_key not in counts:
            counts[position_key] = sum(count(position.child(action)) for action in position.legal_actions())
        return counts[position_key]

    return count(state)


@cache
def load(game: str) -> pyspiel.Game:
    """The game, loaded once."""
    return pyspiel.load_game(game)
