"""Positions of games with chance, computed from given draws.

Ludii rolls while it applies a move: in the consequences of the move, or when it computes the next legal moves, which
contain the roll. Here a script (`generator`) gives the draws. If they don't suffice, the position is a chance state,
and each of its outcomes applies the same move again, with more draws. So a state depends on its history only, and
everything after a roll is what Ludii computes after such a roll.

Where the rules read no stalemate, passes skip Ludii's test for one, which rolls without effect.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ludii_bridge import generator, jvm
from ludii_bridge.dice import HIDDEN, ChanceOutcome, Dice, uniform_outcomes
from ludii_bridge.operations import Operations, advance_program, facts_program
from ludii_bridge.position import CompiledGame, JavaPosition, JavaSiblings
from ludii_bridge.programs import Programs, Types, int_buffer
from ludii_bridge.transport import CHANCE, TERMINAL, Siblings

if TYPE_CHECKING:
    from ludii_bridge.tensors import Tensor

_STALEMATE = re.compile(r"\(no\s+Moves\b")
"""Ludeme that reads whether a player is stalemated."""
_MARKING = re.compile(r"\(no\s+Moves\b|\(is\s+Threatened\b")
"""Ludemes that leave a mark in their thread if an exception ends them."""
_ROLLING_CONDITION = re.compile(r"\((?:can|no)\s+Moves?\b")
"""Ludemes that compute moves, which may roll, to test a condition."""
_ROLL = "SetStateAndUpdateDice"
"""Ludii's name of the action that sets a die."""
_MOST_SCRIPTS = 2**16
"""Maximum number of children created in one call."""
Shown = tuple[int, ...] | None
"""Face of each die: empty before a roll, None for the faces that Ludii's state contains."""


class StochasticOperations(Operations):
    """The programs of a game with chance.

    Args:
        jpype, game, tensor, whole_moves: see `Operations`.
        dice: its dice, or None.

    Attributes:
        completes: a computation that lacks a draw continues with fixed numbers, as some ludemes can't be interrupted.
    """

    def __init__(self, jpype: Any, game: Any, tensor: Tensor, *, whole_moves: bool, dice: Dice | None) -> None:
        super().__init__(jpype, game, tensor, whole_moves=whole_moves)
        self._jpype = jpype
        self._game = game
        self._generator = generator.install(jpype)
        self._dice = dice
        self._tensor = tensor
        self._plane = tensor.shape[1] * tensor.shape[2]
        self._scripts = jpype.JArray(jpype.JObject)
        p, t = self._programs, Types(jpype)
        draw = _drawing(p, t, self._generator, game, whole=whole_moves)
        buffer = int_buffer(jpype, _MOST_SCRIPTS)
        self._found = np.asarray(buffer)
        self.completes = _MARKING.search(str(game.description().expanded())) is not None
        self._run = p.face(t.two_to_int, draw).applyAsInt
        self._many = p.face(t.bi_function, _children(p, t, draw, buffer, self._generator, self._script())).apply
        self._outcomes = p.face(t.bi_function, _children(p, t, draw, buffer, self._generator)).apply
        readers = dice.readers(p, t) if dice is not None else []
        self._readers = [p.face(t.to_int, reader).applyAsInt for reader in readers]

    def _script(self, draws: Sequence[int] = ()) -> Any:
        """Returns a script of these draws.

        If they don't suffice, some computations must still be completed; see `completes`.
        """
        return self._generator.script(draws, lenient=self.completes)

    def lenient(self, draws: Sequence[int] = ()) -> AbstractContextManager[Any]:
        """Lets Ludii draw these numbers, then fixed ones, in this thread."""
        return self._generator.follow(self._generator.script(draws, lenient=True))

    def look(self, context: Any) -> tuple[Any, Any]:
        """Returns the context itself, which has its legal moves already, and an array of them in a canonical order."""
        with self._lock, self.lenient():
            return context, self._ordered_moves(context)

    def start(self, draws: Sequence[int]) -> tuple[Any, int]:
        """Returns a context at the start of the game after these draws, and its facts."""
        new = self._jpype.JClass("other.context.Context")
        context = new(new(self._game, self._jpype.JClass("other.trial.Trial")(self._game)))
        script = self._script(draws)
        with self._generator.follow(script), contextlib.suppress(self._generator.stop):
            self._game.start(context)
        return context, -int(script[generator.BOUND]) or int(self.facts(context))

    def run(self, context: Any, move: Any, draws: Sequence[int] = ()) -> tuple[Any, int]:
        """Returns a copy of a context after a move and these draws, and its facts."""
        made = self.copy(context)
        with self._generator.follow(self._script(draws)):
            return made, int(self._run(made, move))

    def many(self, context: Any, moves: Any) -> tuple[Any, list[int]]:
        """Returns an array of the states after each of a Java array of moves without draws, and the facts of each."""
        return self._made(self._many, context, moves)

    def outcomes(self, context: Any, move: Any, draws: Sequence[Sequence[int]]) -> tuple[Any, list[int]]:
        """Returns an array of the states after a move and each of these draws, and the facts of each."""
        moves = self._scripts([move] * len(draws))
        return self._made(self._outcomes, context, moves, [self._script(script) for script in draws])

    def _made(
        self, make: Callable[[Any, Any], Any], context: Any, moves: Any, scripts: Sequence[Any] = ()
    ) -> tuple[Any, list[int]]:
        self._programs.keep_reserve()
        with self._lock:
            contexts = make(self._scripts([context, *scripts]), moves)
            return contexts, self._found[: len(moves)].tolist()

    def faces(self, context: Any) -> tuple[int, ...]:
        """Returns the face of each die in Ludii's state, 0 for a used one."""
        return tuple(int(read(context)) for read in self._readers)

    def observe_shown(self, context: Any, shown: Shown, out: NDArray[np.float32]) -> None:
        """Writes the tensor of a state with these dice into `out`, float32 [size]."""
        self._programs.keep_reserve()
        with self._lock:
            self._observe_one(context)
            out[:] = self._tensors[0]
            self._write_dice([shown], out[None])

    def observe_all(
        self, contexts: Any, numbers: Sequence[int], shown: Sequence[Shown], out: NDArray[np.float32]
    ) -> None:
        """Writes the tensors of these elements of a Java array of states into `out`, float32 [n, size]."""
        self._programs.keep_reserve()
        for first in range(0, len(numbers), self.rows):
            some = list(numbers[first : first + self.rows])
            with self._lock:
                self._observe(contexts, self._ints(some))
                rows = out[first : first + len(some)]
                rows[...] = self._tensors[: len(some)]
                self._write_dice(shown[first : first + len(some)], rows)

    def _write_dice(self, shown: Sequence[Shown], rows: NDArray[np.float32]) -> None:
        """Writes the dice into the last planes of observations whose other planes have just been written."""
        if self._dice is None:
            return
        found: NDArray[np.int32] = self._tensor.shown[: len(rows)].copy()  # type: ignore[attr-defined]
        for i, faces in enumerate(shown):
            if faces is not None:
                found[i] = faces or HIDDEN
        channels = len(self._dice.channels)
        planes = np.empty((len(rows), channels, self._plane), np.float32)
        self._dice.write(found, planes)
        rows[:, -channels * self._plane :] = planes.reshape(len(rows), -1)


def _drawing(p: Programs, t: Types, source: generator.Generator, game: Any, *, whole: bool) -> Any:
    """(Context, Move)int: applies the move to the context and returns the facts; if a draw is missing, the negative
    number of its values."""
    advance = advance_program(p, t, game, whole=whole)
    if not tests_stalemate(game):
        advance = p.then(_without_stalemate(p, t), advance)
    bound = p.bound(p.fed(p.element(t.ints), 0, _script(p, t, source)), generator.BOUND)
    negative = p.fed(p.times(-1), 0, bound)
    suffices = p.fed(p.plus(1), 0, p.fed(p.times(-1), 0, p.fed(p.at_most(1), 0, bound)))  # 0 if a draw is missing
    facts = p.fed(p.fed(p.sum, 0, p.fed(p.product, 0, suffices)), 1, negative)  # (facts)int
    found = p.fed(p.piped(facts, 0, facts_program(p, t)), 0, advance)
    return p.caught(found, source.stop.class_, p.ordered(negative, [source.stop.class_, t.context, t.move], []))


def _script(p: Programs, t: Types, source: generator.Generator) -> Any:
    """()int[]: the script of this thread."""
    return p.typed(p.bound(p.method(t.thread_local, "get", t.object), source.local), t.ints)


def _without_stalemate(p: Programs, t: Types) -> Any:
    """(Context, Move)void: marks the mover as stalemated before a pass, so that Ludii doesn't test for it."""
    state = p.method(t.context, "state", t.state)
    mark = p.method(t.state, "setStalemated", t.void, t.int, t.boolean)  # (State, int, boolean)void
    mover = p.piped(p.method(t.state, "mover", t.int), 0, state)
    stalemated = p.ordered(p.method(t.state, "isStalemated", t.boolean, t.int), [t.int, t.state], [1, 0])
    stalemated = p.given(p.method(t.state, "mover", t.int), stalemated)  # (State)boolean
    stalemated = p.piped(stalemated, 0, state)
    boxed = p._jpype.JClass("java.lang.Boolean").class_
    either = p.static(boxed, "logicalOr", t.boolean, t.boolean, t.boolean)
    passing = p.method(t.move, "isPass", t.boolean)
    both = p.ordered(p.piped(either, 0, stalemated, passing), [t.context, t.move], [0, 1])
    marked = p.piped(mark, 0, state)  # (Context, int, boolean)void
    marked = p.fed(p.piped(marked, 1, mover), 2, both)  # (Context, Context, Context, Move)void
    return p.ordered(marked, [t.context, t.move], [0, 0, 0, 1])


def _children(p: Programs, t: Types, draw: Any, buffer: Any, source: generator.Generator, script: Any = None) -> Any:
    """(Object[] parent and scripts, Object[] moves)Object[]: the state after each move; notes the facts in the buffer.

    Each move has its own script, or all have a copy of `script`.
    """
    given, moves, made = (p.register(t.objects) for _ in range(3))
    parent = p.typed(p.bound(p.given(given.get, p.element(t.objects)), 0), t.context)  # ()Context
    move = p.typed(p.given(moves.get, p.element(t.objects)), t.move, t.int)
    if script is None:
        scripts = p.piped(p.given(given.get, p.element(t.objects)), 0, p.plus(1))  # (i)Object
    else:
        clone = p.typed(p.method(t.ints, "clone", t.object), t.object, t.ints)
        scripts = p.ordered(p.bound(clone, script), [t.int], [])
    begin = p.fed(p.bound(p.method(t.thread_local, "set", t.void, t.object), source.local), 0, scripts)
    keep = p.given(made.get, p.typed(p.set_element(t.objects), t.void, t.objects, t.int, t.context))
    facts = p.ordered(p.fed(draw, 1, move), [t.int, t.context], [1, 0])
    put = p.typed(p.bound(p.method(t.int_buffer, "put", t.int_buffer, t.int, t.int), buffer), t.void, t.int, t.int)
    note = p.ordered(p.fed(put, 1, facts), [t.int, t.context], [0, 0, 1])
    steps = p.then(p.ordered(begin, [t.int, t.context], [0]), p.then(keep, note))
    each = p.fed(steps, 1, p.fed(p.constructor(t.context, t.context), 0, parent))
    clear = p.ordered(p.bound(p.method(t.thread_local, "remove", t.void), source.local), [t.throwable, t.int], [])
    each = p.finished(each, clear)
    taking = [t.objects, t.objects, t.objects]
    loop = [
        p.ordered(made.set, taking, [0]),
        p.ordered(given.set, taking, [1]),
        p.ordered(moves.set, taking, [2]),
        p.ordered(p.piped(p.for_each(each), 0, p.length(t.objects)), taking, [2]),
        p.ordered(p.identity(t.objects), taking, [0]),
    ]
    as_many = p.ordered(p.piped(p.new_array(t.objects), 0, p.length(t.objects)), [t.objects, t.objects], [1])
    return p.given(as_many, functools.reduce(lambda last, step: p.then(step, last), loop[::-1]))


class StochasticGame(CompiledGame, Protocol):
    """The part of `java.JavaRules` that positions of games with chance use."""

    operations: StochasticOperations
    dice: Dice | None

    @property
    def rolls_in_conditions(self) -> bool:
        """See the function of that name."""


def rolls_in_conditions(game: Any) -> bool:
    """Returns whether a test of a condition may roll in a compiled game, besides the roll of the legal moves."""
    return _ROLLING_CONDITION.search(str(game.description().expanded())) is not None


def tests_stalemate(game: Any) -> bool:
    """Returns whether the rules of a compiled game read whether a player is stalemated."""
    return _STALEMATE.search(str(game.description().expanded())) is not None


class _Origin(NamedTuple):
    """Computation that led to a position, without its draws: a move in a context.

    Attributes:
        context: Ludii's context before the move, with its legal moves.
        rolled: draws of the legal moves of that context.
        moves: Java array of legal moves.
    """

    context: Any
    rolled: tuple[int, ...]
    moves: Any


class StochasticPosition(JavaPosition):
    """A position of a game with chance: of a player, of chance, or the end.

    Args:
        rules, contexts, row, facts: see `JavaPosition`. In a chance state the facts are the negative number of values
            of the next draw.
        origin: the computation that led here; None at the start of the game.
        move: index of the move in the origin.
        draws: all draws of the computation.
        rolled: those after the move was applied, by the legal moves.
    """

    _rules: StochasticGame

    def __init__(
        self,
        rules: StochasticGame,
        contexts: Any,
        row: int,
        facts: int,
        origin: _Origin | None = None,
        move: int = 0,
        draws: tuple[int, ...] = (),
        rolled: tuple[int, ...] = (),
    ) -> None:
        super().__init__(rules, contexts, row, facts)
        self._origin = origin
        self._move = move
        self._draws = draws
        self._rolled = rolled

    @classmethod
    def start(cls, rules: StochasticGame, draws: tuple[int, ...] = ()) -> StochasticPosition:
        """Returns the position at the start after some draws."""
        context, facts = rules.operations.start(draws)
        position = cls(rules, None, 0, facts, draws=draws, rolled=draws)
        position._found = context
        return position

    @property
    def is_chance(self) -> bool:
        """Whether chance chooses here."""
        return self._facts < 0

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self._facts >= 0 and self._facts & 1 == 1

    @property
    def mover(self) -> int:
        """The player to move, or `CHANCE`."""
        return CHANCE if self.is_chance else self._facts >> 1

    @property
    def moves(self) -> int:
        """Number of legal moves or outcomes."""
        return len(self.outcomes) if self.is_chance else super().moves

    @functools.cached_property
    def outcomes(self) -> tuple[ChanceOutcome, ...]:
        """The outcomes of a chance state; none elsewhere."""
        if not self.is_chance:
            return ()
        dice = self._rules.dice
        return uniform_outcomes(-self._facts) if dice is None else dice.outcomes

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Probability of each outcome."""
        return tuple(outcome.probability for outcome in self.outcomes)

    @functools.cached_property
    def _awaits_moves(self) -> bool:
        """Whether a missing draw belongs to the legal moves, so that the move itself is complete."""
        if self._rules.operations.completes:
            return False
        if self._origin is None:
            return self._rules.dice is not None  # other games may draw their initial position
        return bool(self._context.trial().cachedLegalMoves().moves().isEmpty())

    def _rolled_with(self, draws: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the draws of the legal moves after an outcome of a chance state."""
        return (*self._rolled, *draws) if self._awaits_moves else ()

    @property
    def _after(self) -> _Origin:
        """Computation of the moves of a decision."""
        return _Origin(self._context, self._rolled, self._legal())

    @jvm.translated
    def child(self, move: int) -> StochasticPosition:
        """Returns the position after a legal move or an outcome."""
        if not self.is_chance:
            return self._made(self._after, move)
        added = self.outcomes[move].draws
        draws = (*self._draws, *added)
        if self._origin is None:
            return type(self).start(self._rules, draws)
        return self._made(self._origin, self._move, draws, self._rolled_with(added))

    def _made(
        self, origin: _Origin, move: int, draws: tuple[int, ...] = (), rolled: tuple[int, ...] = ()
    ) -> StochasticPosition:
        context, facts = self._rules.operations.run(origin.context, origin.moves[move], draws)
        position = type(self)(self._rules, None, 0, facts, origin, move, draws, rolled)
        position._found = context
        return position

    def advance(self, move: int) -> StochasticPosition:
        """Returns the position after a legal move or an outcome."""
        return self.child(move)

    @jvm.translated
    def children(self) -> Siblings:
        """Returns the positions after all legal moves or outcomes."""
        rules = self._rules
        origin = self._after if not self.over and not self.is_chance else self._origin
        if self.over or origin is None:
            return Siblings([self.child(move) for move in range(self.moves)])
        if not self.is_chance:
            return StochasticSiblings(rules, *rules.operations.many(origin.context, origin.moves), origin)
        draws = [(*self._draws, *outcome.draws) for outcome in self.outcomes]
        contexts, facts = rules.operations.outcomes(origin.context, origin.moves[self._move], draws)
        rolled = [self._rolled_with(outcome.draws) for outcome in self.outcomes]
        return StochasticSiblings(rules, contexts, facts, origin, self._move, draws, rolled)

    @property
    def shown(self) -> Shown:
        """The dice: empty in chance states, None for those of Ludii's state."""
        dice = self._rules.dice
        if self.is_chance or dice is None:
            return ()
        return None if self.over else shown_after(self._rules, self._rolled, lambda: self._context)

    @jvm.translated
    def observe(self, out: NDArray[np.float32]) -> None:
        """Writes the tensor into `out`."""
        self._rules.operations.observe_shown(self._context, self.shown, out)

    def describe_moves(self) -> list[str]:
        """Returns the legal moves in Ludii's notation, or the names of the outcomes."""
        if self.is_chance:
            return [outcome.text for outcome in self.outcomes]
        with self._rules.operations.lenient():
            return super().describe_moves()

    @jvm.translated
    def number_of(self, move: Any) -> int | None:
        """Returns the index of the legal move with the same effect as Ludii's `move`, or None."""
        with self._rules.operations.lenient():
            return super().number_of(move)

    def describe(self) -> str:
        """Returns the position as text, with the dice."""
        picture = super().describe()
        if self._rules.dice is None:
            return picture
        faces = self.faces
        if not faces:
            return f"{picture}\ndice to be rolled" if self.is_chance else picture
        return f"{picture}\ndice {' '.join(map(str, faces))}"

    @functools.cached_property
    def faces(self) -> tuple[int, ...]:
        """The face of each die, 0 for a used one; nothing before a roll and after the end."""
        if self.over or self._rules.dice is None:
            return ()
        shown = self.shown
        return self._rules.operations.faces(self._context) if shown is None else shown

    def move_sites(self) -> list[tuple[int, ...]]:
        """Returns the sites of each legal move; none for outcomes."""
        return [()] * self.moves if self.is_chance else super().move_sites()

    @jvm.translated
    def key(self) -> tuple[int, ...]:
        """See `LudiiState.key`."""
        if not self.is_chance or self._awaits_moves:
            return (int(self.is_chance), *self._key_of(self._context, self._rolled))
        if self._origin is None:
            return (2, *self._draws)
        before = self._key_of(self._origin.context, self._origin.rolled)
        return (3, self._move, len(self._draws), *self._draws, *before)

    def _key_of(self, context: Any, rolled: tuple[int, ...]) -> tuple[int, ...]:
        operations = self._rules.operations
        dice = *operations.faces(context), int(context.state().isDiceAllEqual())
        return (len(rolled), *rolled, *dice, *self._rules.key(context))


class StochasticSiblings(JavaSiblings):
    """Positions created in one call.

    Args:
        rules, contexts, facts: see `JavaSiblings`.
        origin: the context and the moves that they come from.
        move: index of their common move, if they are outcomes.
        draws, rolled: draws of each, if they are outcomes.
    """

    _rules: StochasticGame

    def __init__(
        self,
        rules: StochasticGame,
        contexts: Any,
        facts: Sequence[int],
        origin: _Origin,
        move: int | None = None,
        draws: Sequence[tuple[int, ...]] = (),
        rolled: Sequence[tuple[int, ...]] = (),
    ) -> None:
        super().__init__(rules, contexts, facts)
        self._origin = origin
        self._move = move
        self._draws = draws
        self._rolled = rolled
        self.players = [CHANCE if fact < 0 else TERMINAL if fact & 1 else fact >> 1 for fact in facts]

    def _position(self, row: int) -> StochasticPosition:
        draws, rolled = (self._draws[row], self._rolled[row]) if self._draws else ((), ())
        move = row if self._move is None else self._move
        return StochasticPosition(self._rules, self._contexts, row, self._facts[row], self._origin, move, draws, rolled)

    @jvm.translated
    def observe(self, numbers: Sequence[int], out: NDArray[np.float32]) -> None:
        """Writes the tensors of those positions into `out`."""
        self._rules.operations.observe_all(self._contexts, numbers, [*self._shown(numbers)], out)

    def _shown(self, numbers: Sequence[int]) -> Iterator[Shown]:
        for number in numbers:
            if self._facts[number] < 0:
                yield ()
            elif self._facts[number] & 1:
                yield None
            else:
                rolled = self._rolled[number] if self._rolled else ()
                yield shown_after(self._rules, rolled, functools.partial(self._contexts.__getitem__, number))


def shown_after(rules: StochasticGame, rolled: Sequence[int], context: Callable[[], Any]) -> Shown:
    """Returns the dice of a decision whose legal moves drew `rolled`."""
    dice = rules.dice
    if dice is None:
        return None
    if rules.rolls_in_conditions:
        return _roll_of_moves(context(), dice)
    if not rolled:
        return None
    return tuple(sides[draw] for sides, draw in zip(dice.faces, rolled[-len(dice) :], strict=True))


def _roll_of_moves(context: Any, dice: Dice) -> Shown:
    """Returns the roll with which the legal moves of a context begin, or None."""
    moves = context.trial().cachedLegalMoves().moves()
    actions = [] if moves.isEmpty() else list(moves.get(0).actions())[: len(dice)]
    if [str(action.getDescription()) for action in actions] != [_ROLL] * len(dice):
        return None
    return tuple(sides[int(action.state())] for sides, action in zip(dice.faces, actions, strict=True))
