"""The children of a state: one by one, or all at once where a game has a faster way to them.

A state may have a method `children(actions)` that gives `extensions.Children`: a sequence that knows of all its states
what a search asks of each, and makes the object of one only when it is looked at. `ludii_bridge` has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import cast, overload

import pyspiel

from athenan_spiel.games.extensions import Children, makes_children

_TERMINAL = int(pyspiel.PlayerId.TERMINAL)


def children_of(state: pyspiel.State, actions: Sequence[int]) -> Sequence[pyspiel.State]:
    """The states after these legal actions, in their order: a list, or `Children`."""
    if not makes_children(state):
        return list(map(state.child, actions))
    return cast("Sequence[pyspiel.State]", state.children(actions))


def ended_of(children: Sequence[pyspiel.State]) -> Sequence[bool]:
    """For each of what `children_of` gave whether it is terminal."""
    if isinstance(children, list):
        return [child.is_terminal() for child in children]
    return [player == _TERMINAL for player in cast(Children, children).players]


def ends_of(state: pyspiel.State, actions: Sequence[int]) -> Iterator[tuple[int, pyspiel.State]]:
    """Those of these actions that end the match, and where they end it; one by one, for who stops at the first."""
    if not makes_children(state):
        children = zip(actions, map(state.child, actions), strict=True)
        yield from ((action, child) for action, child in children if child.is_terminal())
        return
    at_once = children_of(state, actions)
    yield from ((actions[i], at_once[i]) for i, end in enumerate(ended_of(at_once)) if end)


def some_of(children: Sequence[pyspiel.State], indices: Iterable[int]) -> Sequence[pyspiel.State]:
    """Those with these indices of what `children_of` gave."""
    if isinstance(children, list):
        return [children[i] for i in indices]
    return cast(Children, children).some(indices)


class Joined(Sequence[pyspiel.State]):
    """States of several sequences one after the other, none of which is looked into.

    Attributes:
        parts: the sequences.
    """

    def __init__(self) -> None:
        self.parts: list[Sequence[pyspiel.State]] = []
        self._count = 0

    def append(self, part: Sequence[pyspiel.State]) -> None:
        """Put the states of `part` at the end."""
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
