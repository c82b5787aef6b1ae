"""What a state of Ludii's has in common with those that equal it, read in few crossings."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ludii_bridge.programs import Programs, Types, long_buffer

_BACK = 2
"""The last moves that a key tells."""


class Keys:
    """Reads the keys of one game's states; one thread at a time.

    Args:
        jpype: the module, with Java started.
        players: how many the game has.
        scored: they have points.
    """

    def __init__(self, jpype: Any, players: int, *, scored: bool) -> None:
        p, t = Programs(jpype), Types(jpype)
        numbers = _numbers(p, t, players, scored=scored)
        self._count = len(numbers)
        buffer = long_buffer(jpype, self._count + 2 * _BACK)
        self._read = np.asarray(buffer)
        put = p.bound(p.method(t.long_buffer, "put", t.long_buffer, t.int, t.long), buffer)

        def reader(first: int, numbers: list[Any]) -> Any:
            notes = [
                p.typed(p.fed(p.bound(put, first + i), 0, p.typed(number, t.long, t.context)), t.void, t.context)
                for i, number in enumerate(numbers)
            ]
            return p.face(t.consumer, functools.reduce(p.then, notes)).accept

        self._state = reader(0, numbers)
        self._moves = [
            reader(self._count + 2 * (back - 1), [_of_move(p, t, name, back) for name in ("from", "to")])
            for back in range(1, _BACK + 1)
        ]

    def key(self, context: Any) -> tuple[int, ...]:
        """The hash, counters, phases, sides and scores, the last moves and, where there are some, earlier states."""
        self._state(context)
        played, previous, within = self._read[self._count - 3 : self._count].tolist()
        back = min(_BACK, played)
        for number in range(back):
            self._moves[number](context)
        found = tuple(self._read[: self._count + 2 * back].tolist())
        if previous or within:
            trial = context.trial()
            for earlier in (trial.previousState(), trial.previousStateWithinATurn()):
                found += tuple(sorted(int(x) for x in earlier.toArray()))
        return found


def _numbers(p: Programs, t: Types, players: int, *, scored: bool) -> list[Any]:
    """(Context)number each; the last three are how many moves were played, and how many earlier states there are."""
    state, trial = p.method(t.context, "state", t.state), p.method(t.context, "trial", t.trial)

    def of_state(name: str, *given: int) -> Any:
        number = p.method(t.state, name, t.int, *[t.int for _ in given])
        for value in given:
            number = p.bound(number, value, at=1)
        return p.piped(number, 0, state)

    full = p.piped(p.method(t.state, "fullHash", t.long, t.context), 0, state)
    numbers = [p.ordered(full, [t.context], [0, 0]), of_state("mover"), of_state("counter"), of_state("numTurn")]
    for player in range(1, players + 1):
        numbers += [of_state("currentPhase", player), of_state("playerToAgent", player)]
        if scored:
            numbers.append(p.bound(p.method(t.context, "score", t.int, t.int), player, at=1))
    over = p.piped(p.as_int(), 0, p.piped(p.method(t.trial, "over", t.boolean), 0, trial))
    played = p.ordered(
        p.piped(p.sum, 0, p.method(t.trial, "numMoves", t.int), _less(p, t, "numInitialPlacementMoves")),
        [t.trial],
        [0, 0],
    )
    size = p.method(t.longs, "size", t.int)
    earlier = [
        p.piped(size, 0, p.piped(p.method(t.trial, name, t.longs), 0, trial))
        for name in ("previousState", "previousStateWithinATurn")
    ]
    return [*numbers, over, p.piped(played, 0, trial), *earlier]


def _less(p: Programs, t: Types, name: str) -> Any:
    """(Trial)int: the negative of a number of the trial's."""
    return p.fed(p.times(-1), 0, p.method(t.trial, name, t.int))


def _of_move(p: Programs, t: Types, end: str, back: int) -> Any:
    """(Context)int: where the move before the last ones went from, or to; the last one for `back` 1."""
    number = p.fed(p.plus(-back), 0, p.method(t.trial, "numMoves", t.int))
    move = p.ordered(p.piped(p.method(t.trial, "getMove", t.move, t.int), 1, number), [t.trial], [0, 0])
    site = p.piped(p.method(t.move, f"{end}NonDecision", t.int), 0, move)
    return p.piped(site, 0, p.method(t.context, "trial", t.trial))
