"""Keys of Ludii's states, which equal states share, read in few calls into Java."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ludii_bridge import memory
from ludii_bridge.programs import Programs, Types, long_buffer

_TENSOR_MOVES = 2
"""Number of last moves in Ludii's tensor. Its rules read no earlier move, except after passes."""
_MOVE_NUMBERS = 3
"""Numbers read per move."""


class Keys:
    """Reads the keys of one game's states; one thread at a time.

    Args:
        jpype: the module, with Java started.
        game: Ludii's compiled game.

    Attributes:
        complete: states with equal keys have the same future; otherwise the rules remember more than a key contains.
    """

    def __init__(self, jpype: Any, game: Any) -> None:
        p, t = Programs(jpype), Types(jpype)
        memories = memory.used(game)
        self.complete = all(each.merges for each in memories)
        self._ordered = bool(game.hasCycleDetection())
        numbers = _numbers(p, t, game)
        self._count = len(numbers)
        self._pass_moves = max(int(game.players().count()), 2) + 1
        """Number of last moves whose movers `Context.allPass` reads if one of the last two is a pass."""
        buffer = long_buffer(jpype, self._count + _MOVE_NUMBERS * self._pass_moves)
        self._read = np.asarray(buffer)
        put = p.bound(p.method(t.long_buffer, "put", t.long_buffer, t.int, t.long), buffer)

        def reader(first: int, numbers: list[Any], kind: Any) -> Any:
            """(kind)void: writes these numbers of an object into the buffer, from index `first` on."""
            notes = [
                p.typed(p.fed(p.bound(put, first + i), 0, p.typed(number, t.long, kind)), t.void, kind)
                for i, number in enumerate(numbers)
            ]
            return functools.reduce(p.then, notes)

        self._state = p.face(t.consumer, reader(0, numbers, t.context)).accept
        of_move = [p.method(t.move, f"{end}NonDecision", t.int) for end in ("from", "to")]
        of_move.append(_mover_and_pass(p, t))
        self._moves = [
            p.face(
                t.consumer,
                p.piped(reader(self._count + _MOVE_NUMBERS * back, of_move, t.move), 0, _move(p, t, back + 1)),
            ).accept
            for back in range(self._pass_moves)
        ]
        text = memory.program(p, t, game, memories)
        self._text = None if text is None else p.face(t.function, text).apply

    def key(self, context: Any) -> tuple[int, ...]:
        """Returns the hash and what it omits, the last moves, what the rules remember, and earlier states, if any."""
        self._state(context)
        played, *earlier = self._read[self._count - 3 : self._count].tolist()
        back = min(_TENSOR_MOVES, played)
        self._read_moves(context, 0, back)
        found = self._read[: self._count + _MOVE_NUMBERS * back].tolist()
        if any(
            number & 1 for number in found[self._count + _MOVE_NUMBERS - 1 :: _MOVE_NUMBERS]
        ):  # one of them is a pass
            self._read_moves(context, back, min(self._pass_moves, played))
            movers = self._read[self._count + _MOVE_NUMBERS - 1 :: _MOVE_NUMBERS].tolist()
            found += [movers[i] if i < played else 0 for i in range(_TENSOR_MOVES, self._pass_moves)]
        if self._text is not None and played:
            found.append(int.from_bytes(str(self._text(context)).encode()))
        if any(earlier):
            trial = context.trial()
            for states in (trial.previousState(), trial.previousStateWithinATurn()):
                hashes = np.asarray(states.toArray(), np.int64)
                found += (hashes if self._ordered else np.unique(hashes)).tolist()
        return tuple(found)

    def _read_moves(self, context: Any, first: int, last: int) -> None:
        for back in range(first, last):
            self._moves[back](context)


def _numbers(p: Programs, t: Types, game: Any) -> list[Any]:
    """Programs (Context)number; the last three give the number of moves and the numbers of earlier states."""
    state, trial = p.method(t.context, "state", t.state), p.method(t.context, "trial", t.trial)

    def of_state(name: str, result: Any, *given: int) -> Any:
        number = p.method(t.state, name, result, *[t.int for _ in given])
        for value in given:
            number = p.bound(number, value, at=1)
        return p.piped(number, 0, state)

    full = p.piped(p.method(t.state, "fullHash", t.long, t.context), 0, state)
    numbers = [p.ordered(full, [t.context], [0, 0]), of_state("storedState", t.long)]
    names = ("mover", "counter", "numTurn", "numTurnSamePlayer", "numConsecutivesPasses", "temp")
    numbers += [of_state(name, t.int) for name in names]
    # loop variables of ludemes, which the next ludeme may read
    loops = p.method(t.context, "evalContext", t.eval_context)
    for name in ("from", "to", "between", "level", "site", "value", "player", "track"):
        numbers.append(p.piped(p.method(t.eval_context, name, t.int), 0, loops))
    players = int(game.players().count())
    if players > 2:  # Ludii's next ranks depend on them
        numbers += [p.method(t.context, name, t.int) for name in ("numWinners", "numLosers")]
    for player in range(1, players + 1):
        numbers += [of_state(name, t.int, player) for name in ("currentPhase", "playerToAgent", "getValue")]
        numbers.append(p.piped(_bits(p, t), 0, p.piped(_rank(p, t, player), 0, trial)))
        if game.requiresScore():
            numbers.append(p.bound(p.method(t.context, "score", t.int, t.int), player, at=1))
        if game.requiresPayoff():
            numbers.append(
                p.piped(_bits(p, t), 0, p.bound(p.method(t.context, "payoff", t.double, t.int), player, at=1))
            )
    over = p.piped(p.as_int(), 0, p.piped(p.method(t.trial, "over", t.boolean), 0, trial))
    played = p.ordered(
        p.piped(p.sum, 0, p.method(t.trial, "numMoves", t.int), _negative(p, t, "numInitialPlacementMoves")),
        [t.trial],
        [0, 0],
    )
    size = p.method(t.longs, "size", t.int)
    earlier = [
        p.piped(size, 0, p.piped(p.method(t.trial, name, t.longs), 0, trial))
        for name in ("previousState", "previousStateWithinATurn")
    ]
    return [*numbers, over, p.piped(played, 0, trial), *earlier]


def _rank(p: Programs, t: Types, player: int) -> Any:
    """(Trial)double: rank of a player after the end, 0 before."""
    return p.piped(p.bound(p.element(t.doubles), player, at=1), 0, p.method(t.trial, "ranking", t.doubles))


def _bits(p: Programs, t: Types) -> Any:
    """(double)long: bits of the number."""
    return p.static(t.boxed_double, "doubleToLongBits", t.long, t.double)


def _negative(p: Programs, t: Types, name: str) -> Any:
    """(Trial)int: the negative of the trial's number `name`."""
    return p.fed(p.times(-1), 0, p.method(t.trial, name, t.int))


def _move(p: Programs, t: Types, back: int) -> Any:
    """(Context)Move: the last move if `back` is 1, the move before it if 2."""
    if back == 1:
        move = p.method(t.trial, "lastMove", t.move)
    else:
        number = p.fed(p.plus(-back), 0, p.method(t.trial, "numMoves", t.int))
        move = p.ordered(p.piped(p.method(t.trial, "getMove", t.move, t.int), 1, number), [t.trial], [0, 0])
    return p.piped(move, 0, p.method(t.context, "trial", t.trial))


def _mover_and_pass(p: Programs, t: Types) -> Any:
    """(Move)int: 2 * mover + pass."""
    passes = p.piped(p.as_int(), 0, p.method(t.move, "isPass", t.boolean))
    twice = p.piped(p.times(2), 0, p.method(t.move, "mover", t.int))
    return p.ordered(p.piped(p.sum, 0, twice, passes), [t.move], [0, 0])
