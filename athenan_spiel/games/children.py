"""The children of a state: one by one, or all at once if the game offers that.

A state may have a method `children(actions)` that returns `extensions.Children`: a sequence with the data of all
children, which creates the object of a child on access. States of `ludii_bridge` have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import cast, overload

import pyspiel

from athenan_spiel.games.extensions import Children, makes_children

_TERMINAL = int(pyspiel.PlayerId.TERMINAL)


def children_of(state: pyspiel.State, actions: Sequence[int]) -> Sequence[pyspiel.State]:
    """Return the states after these legal actions, in order: a list, or `Children`."""
    if not makes_children(state):
        return list(map(state.child, actions))
    return cast("Sequence[pyspiel.State]", state.children(actions))


def ended_of(children: Sequence[pyspiel.State]) -> Sequence[bool]:
    """Return for each state of `children_of` whether it is terminal."""
    if isinstance(children, list):
        return [child.is_terminal() for child in children]
    return [player == _TERMINAL for player in cast(Children, children).players]


def ends_of(state: pyspiel.State, actions: Sequence[int]) -> Iterator[tuple[int, pyspiel.State]]:
    """Yield the actions that end the game, with their terminal states, lazily."""
    if not makes_children(state):
        children = zip(actions, map(state.child, actions), strict=True)
        yield from ((action, child) for action, child in children if child.is_terminal())
        return
    at_once = children_of(state, actions)
    yield from ((actions[i], at_once[i]) for i, end in enumerate(ended_of(at_once)) if end)


def some_of(children: Sequence[pyspiel.State], indices: Iterable[int]) -> Sequence[pyspiel.State]:
    """Return the states of `children_of` with these indices."""
    if isinstance(children, list):
        return [children[i] for i in indices]
    return cast(Children, children).some(indices)


class Joined(Sequence[pyspiel.State]):
    """Concatenation of several sequences of states, without copying them.

    Attributes:
        parts: the sequences.
    """

    def __init__(self) -> None:
        self.parts: list[Sequence[pyspiel.State]] = []
        self._count = 0

    def append(self, part: Sequence[pyspiel.State]) -> None:
        """Append the states of `part`."""
        self.parts.append(part)
        self._count += len(part)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[pyspiel.State]:
        return chain.from_iterable(self.parts)

    @overload
    def __getitem__(self, index: int) -> pyspiel.State: ...
    @overload
    def __getitem__(self, index: slice) -> list[pyspiel.State]: ...
    def __getitem__(self, index: int | slice) -> pyspiel.State | list[pyspiel.State]:
        if isinstance(index, slice):
            return list(self)[index]
        place = range(self._count)[index]
        for part in self.parts:
            if place < len(part):
                return part[place]
            place -= len(part)
        raise AssertionError("a part has changed its length")
