"""The states of a game, from its actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

import pyspiel


class LazyStates(Sequence[pyspiel.State]):
    """Sequence of states that are created on access.

    A state contains its history, so the memory of all states of a game grows with the square of its length.

    Args:
        game: its initial state is the start.
        history: actions.
        plies: number of actions before each state, in ascending order; by default 0 to all.
    """

    def __init__(self, game: pyspiel.Game, history: Sequence[int], plies: Sequence[int] | None = None) -> None:
        self._game = game
        self._history = history
        self._plies = range(len(history) + 1) if plies is None else plies

    def __len__(self) -> int:
        return len(self._plies)

    @overload
    def __getitem__(self, index: int) -> pyspiel.State: ...

    @overload
    def __getitem__(self, index: slice) -> LazyStates: ...

    def __getitem__(self, index: int | slice) -> pyspiel.State | LazyStates:
        if isinstance(index, slice):
            return LazyStates(self._game, self._history, sorted(self._plies[index]))
        (state,) = LazyStates(self._game, self._history, [self._plies[index]])
        return state

    def __iter__(self) -> Iterator[pyspiel.State]:
        state, played = self._game.new_initial_state(), 0
        for ply in self._plies:
            for action in self._history[played:ply]:
                state.apply_action(action)
            played = ply
            yield state.clone()
