"""Positions backed by Ludii's contexts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, Self, overload

import numpy as np
from numpy.typing import NDArray

from ludii_bridge import jvm
from ludii_bridge.outlines import MoveSites, Outlines
from ludii_bridge.picture import Stack, draw, printable
from ludii_bridge.sites import Layout, site_type
from ludii_bridge.transport import TERMINAL, Position, Siblings, Traits


class CompiledGame(Protocol):
    """The part of `java.JavaRules` that positions use."""

    game: Any
    """Ludii's compiled game."""
    operations: Any
    """`Operations` on contexts."""
    utilities: Any
    """context -> 0 and the utility of each agent."""
    layout: Layout
    moves_wear_out: bool
    components: tuple[tuple[str, int], ...]
    traits: Traits

    @property
    def outlines(self) -> Outlines:
        """Outlines of all sites."""

    @property
    def move_sites(self) -> MoveSites:
        """Reader of the sites of moves."""

    def sites(self, context: Any) -> dict[str, NDArray[np.int32]]:
        """Returns the fields of `SiteReader` for each site of a state."""

    def key(self, context: Any) -> tuple[int, ...]:
        """See `JavaPosition.key`."""


class JavaPosition(Position):
    """One of Ludii's contexts, with cached properties.

    Args:
        rules: the game.
        contexts: Java array with the context of this position and of those created with it.
        row: index of this position in the array.
        facts: result of `Operations.facts`.
    """

    _cached_moves: tuple[Any, Any] | None = None
    _count: int | None = None
    _found: Any = None
    _utilities: tuple[float, ...] | None = None

    def __init__(self, rules: CompiledGame, contexts: Any, row: int, facts: int) -> None:
        self._rules = rules
        self._contexts = contexts
        self._row = row
        self._facts = facts

    @classmethod
    def of(cls, rules: CompiledGame, context: Any) -> Self:
        """Returns the position of a context."""
        position = cls(rules, None, 0, rules.operations.facts(context))
        position._found = context
        return position

    @property
    def _context(self) -> Any:
        """Ludii's state."""
        if self._found is None:
            self._found = self._contexts[self._row]
        return self._found

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return self._facts & 1 == 1

    @property
    def mover(self) -> int:
        """The player to move."""
        return self._facts >> 1

    @property
    def utilities(self) -> tuple[float, ...]:
        """1 for the first rank, -1 for the last, for each player."""
        if self._utilities is None:
            self._utilities = (0.0,) * self._rules.traits.players
            if self.over:
                self._utilities = tuple(map(float, self._rules.utilities(self._context)))[1:]
        return self._utilities

    @property
    def moves(self) -> int:
        """Number of legal moves."""
        if self._count is None:
            self._count = 0 if self.over else len(self._legal())
        return self._count

    def _legal(self) -> Any:
        return self._context_and_moves()[1]

    @jvm.translated
    def _context_and_moves(self) -> tuple[Any, Any]:
        """Returns the context in which legal moves are applied, and a Java array of them; see `Operations.look`."""
        if self._cached_moves is None:
            self._cached_moves = self._new_moves()
        return self._cached_moves

    def _new_moves(self) -> tuple[Any, Any]:
        """Like `_context_and_moves`, with moves that were never applied."""
        context, moves = self._rules.operations.look(self._context)
        return context, moves

    @property
    def context(self) -> Any:
        """Ludii's state before any query; it must not be changed."""
        return self._context

    @jvm.translated
    def number_of(self, move: Any) -> int | None:
        """Returns the index of the legal move with the same effect as Ludii's `move`, or None."""
        context, legal = self._new_moves() if self._rules.moves_wear_out else self._context_and_moves()
        ends = move.from_(), move.to()
        alike = [(i, other) for i, other in enumerate(legal) if (other.from_(), other.to()) == ends]
        effect = move.toTrialFormat(context)
        return next((i for i, other in alike if other.toTrialFormat(context).equals(effect)), None)

    @jvm.translated
    def child(self, move: int) -> JavaPosition:
        """Returns the position after a legal move."""
        if self._rules.moves_wear_out:
            return self._after_fresh_move(move)
        context, moves = self._context_and_moves()
        return self.of(self._rules, self._rules.operations.child(context, moves[move]))

    @jvm.translated
    def children(self) -> Siblings:
        """Returns the positions after all legal moves."""
        if self.over or self._rules.moves_wear_out:
            return super().children()
        rules = self._rules
        return JavaSiblings(rules, *rules.operations.children(*self._context_and_moves()))

    @jvm.translated
    def advance(self, move: int) -> JavaPosition:
        """Returns the position after a legal move, and may change this one."""
        if self._rules.moves_wear_out:
            return self._after_fresh_move(move)
        context, moves = self._context_and_moves()
        return self.of(self._rules, self._rules.operations.advance(context, moves[move]))

    def _after_fresh_move(self, move: int) -> JavaPosition:
        """Returns the position after a move that can be applied only once."""
        context, moves = self._new_moves()
        return self.of(self._rules, self._rules.operations.advance(context, moves[move]))

    @jvm.translated
    def observe(self, out: NDArray[np.float32]) -> None:
        """Writes the tensor into `out`."""
        self._rules.operations.observe_one(self._context, out)

    @jvm.translated
    def describe_moves(self) -> list[str]:
        """Returns the legal moves in Ludii's notation."""
        if self.over:
            return []
        legal = list(self._legal())
        texts = [", ".join(self._words(_decisions(move))) for move in legal]
        for actions in (_single_actions, self._effects):
            for alike in _alike(texts):
                _distinguish(texts, {i: self._words(actions(legal[i])) for i in alike})
        return texts

    def _effects(self, move: Any) -> Iterator[Any]:
        """Yields the actions of a move and its consequences, as far as they are known without applying it."""
        if self._rules.moves_wear_out:
            return _single_actions(move)
        return _single_actions(move.getMoveWithConsequences(self._context_and_moves()[0]))

    def _words(self, actions: Iterable[Any]) -> list[str]:
        """Returns the distinct texts of actions."""
        return list(dict.fromkeys(printable(str(action.toTurnFormat(self._context, True))) for action in actions))

    @jvm.translated
    def describe(self) -> str:
        """Returns the position as text."""
        layout = self._rules.layout
        picture = draw(
            self._stacks(), layout.places, layout.width, layout.height, self._rules.components, layout.further
        )
        scores = self.scores()
        return "\n".join([picture, f"score {' : '.join(f'{x:g}' for x in scores)}"] if scores else [picture])

    @jvm.translated
    def move_sites(self) -> list[tuple[int, ...]]:
        """Returns the sites of each legal move."""
        return [] if self.over else self._rules.move_sites.of(self._legal())

    @jvm.translated
    def site_contents(self) -> list[tuple[int, int, int, int]]:
        """See `LudiiState.site_contents`."""
        rules, colours = self._rules, self._colours()
        found = rules.sites(self._context)
        high = found.get("sizeStack", found["count"])
        contents = []
        for site in sorted(rules.layout.places):
            if what := int(found["what"][site]):
                who, count = int(found["who"][site]), max(int(found["count"][site]), int(high[site]), 1)
                player = colours.index(who) if who in colours else -1
                contents.append((rules.outlines.dense(site), what - 1, player, count))
        return contents

    def _stacks(self) -> dict[int, Stack]:
        """Returns the pieces on each occupied site, from the bottom."""
        found = self._rules.sites(self._context)
        there = {site: int(found["what"][site]) for site in self._rules.layout.places if found["what"][site]}
        return {
            site: Stack(self._levels(site, top, found), int(found["count"][site]), int(found["state"][site]))
            for site, top in there.items()
        }

    def _levels(self, site: int, top: int, found: Mapping[str, NDArray[np.int32]]) -> tuple[int, ...]:
        """Returns the pieces on a site from the bottom up."""
        levels = int(found["sizeStack"][site]) if "sizeStack" in found else 1
        if levels <= 1:
            return (top,)
        area = self._rules.layout.area(site)
        number, kind = area.numbers[site - area.first], site_type(self._rules.game, area.kind)
        container = self._context.containerState(area.container)
        return tuple(int(container.what(number, level, kind)) for level in range(levels))

    @jvm.translated
    def key(self) -> tuple[int, ...]:
        """See `LudiiState.key`."""
        return self._rules.key(self._context)

    def scores(self) -> tuple[float, ...] | None:
        """Returns the points of each player, or None if the game has none."""
        if not self._rules.traits.scored:
            return None
        return tuple(float(self._context.score(player)) for player in self._colours())

    @jvm.translated
    def pieces(self) -> tuple[int, ...]:
        """Returns the number of pieces of each player."""
        if self._rules.game.isStacking():
            owned = self._context.state().owned()
            return tuple(sum(map(len, filter(None, owned.positions(player)))) for player in self._colours())
        found = self._rules.sites(self._context)
        there = list(self._rules.layout.places)
        who, count = found["who"][there], np.maximum(found["count"][there], 1)
        return tuple(int(count[who == player].sum()) for player in self._colours())

    def _colours(self) -> list[int]:
        """Returns Ludii's number of the current side of each player."""
        agents = [int(self._context.state().playerToAgent(i + 1)) for i in range(self._rules.traits.players)]
        return [agents.index(player + 1) + 1 for player in range(len(agents))]


class JavaSiblings(Siblings):
    """Positions created in one call, whose Python objects are created on access."""

    def __init__(self, rules: CompiledGame, contexts: Any, facts: Sequence[int]) -> None:
        self._rules = rules
        self._contexts = contexts
        self._facts = facts
        self.players = [TERMINAL if fact & 1 else fact >> 1 for fact in self._facts]

    @overload
    def __getitem__(self, index: int) -> JavaPosition: ...
    @overload
    def __getitem__(self, index: slice) -> list[JavaPosition]: ...
    def __getitem__(self, index: int | slice) -> JavaPosition | list[JavaPosition]:
        if isinstance(index, slice):
            return [self[row] for row in range(len(self))[index]]
        position = self._position(range(len(self))[index])
        position.shared = True  # the same context may be used several times
        return position

    def _position(self, row: int) -> JavaPosition:
        return JavaPosition(self._rules, self._contexts, row, self._facts[row])

    @jvm.translated
    def observe(self, numbers: Sequence[int], out: NDArray[np.float32]) -> None:
        """Writes the tensors of those positions into `out`."""
        self._rules.operations.observe(self._contexts, numbers, out)


def _decisions(move: Any) -> list[Any]:
    """Returns the actions of a move that are decisions, or all if none is."""
    actions = list(_single_actions(move))
    return [action for action in actions if action.isDecision()] or actions


def _single_actions(move: Any) -> Iterator[Any]:
    """Yields the actions of a move, including those of nested moves."""
    for action in move.actions():
        if hasattr(action, "actions"):
            yield from _single_actions(action)
        else:
            yield action


def _alike(texts: Sequence[str]) -> list[list[int]]:
    """Returns the indices of each text that occurs more than once."""
    where: dict[str, list[int]] = {}
    for i, text in enumerate(texts):
        where.setdefault(text, []).append(i)
    return [indices for indices in where.values() if len(indices) > 1]


def _distinguish(texts: list[str], words: Mapping[int, Sequence[str]]) -> None:
    """Appends to equal texts the words that they do not all share."""
    shared = set.intersection(*map(set, words.values()))
    for i, mine in words.items():
        texts[i] = ", ".join([texts[i], *(word for word in mine if word not in shared)])
