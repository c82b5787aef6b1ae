"""Nodes of the game tree and the backup of values through them.

A `Node` is an expanded state s. For each action a of s it stores the labels of the successor a(s) from the last backup
through a: v(s, a), c(s, a), r(s, a) and n(s, a), in the symbols of the article's Table 1. Every node satisfies:

1. Values and completions are player 0's. The node's kind defines which of them is best: the largest for a maximiser,
   the smallest for a minimiser.
2. c(s, a) is not 0 only if r(s, a) is 1: a win or a loss is recorded only when it is proven.
3. r(s, a) = 1 is a proof: c(s, a) is then the game-theoretic gain of a(s). A proof is never withdrawn.
4. (c(s), v(s)) is the kind's backup over the actions. For a maximiser and a minimiser it is the best
   (c(s, a), v(s, a)) in lexicographic order. r(s) is 1 if |c(s)| = 1 or if all r(s, a) are 1.
5. v(s, a) may be older than v(a(s)), if another path has updated a(s) since (Remark 13).

In a game with chance every node is a `StochasticNode`. A chance state has a node, too; its actions are its outcomes.
*Learning to Play Stochastic Two-player Perfect-Information Games without Knowledge* (Cohen-Solal and Cazenave, arXiv
2302.04318) generalises Descent to expectations. Its text was not at hand, so laws 6 to 9 are derived from laws 2 to 4:

6. The gain of a proven state is an expectation, a number in [-1, 1]. g(s, a) is that of a proven a(s).
7. For a chance node v(s) is Σ p(o) v(s, o). r(s) is 1 if all outcomes are in the node and all r(s, o) are 1; c(s) is
   then Σ p(o) g(s, o), else 0. Equal values have exactly that value as their expectation.
8. For a decision c(s, a) is g(s, a) if |g(s, a)| = 1, otherwise 0, as long as an action is unresolved: a certain win
   precedes all estimates, a chance of one is compared with them by v. Once all actions are resolved, c(s, a) is
   g(s, a). So c(s) of a resolved node is its exact gain, whatever the values of the outcome are.
9. v(s) of a resolved node is the expected terminal value of a play whose gain is c(s). A play of the same gain with a
   better v may exist, since the first proof resolves a node.

In a game with rows (`games.rows`) every node is a `RowNode`. Its values and gains are rows, as in max^n (Luckhardt and
Irani 1986; Cohen-Solal, arXiv 2109.09468 and 2604.17378, for the unbounded search with completion):

10. Each node has a player whose component of the rows it compares, and whose position between worst and best possible
    gain is the completion of laws 6 to 8: the player to move and the largest component in max^n. In paranoid search
    (Sturtevant and Korf 2000) it is the player who searches, and all others prefer its smallest component.
11. v(s) and the gain of s are the rows of the best action, the first one in order if several are equally good. They
    are those of a play in which nobody can do better alone.
"""

from __future__ import annotations

import copy
import math
import operator
from array import array
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Self, cast

import pyspiel

from athenan_spiel.games.chance import CHANCE
from athenan_spiel.games.rows import Rows
from athenan_spiel.games.validation import no_choice


def back_up_best(node: Node) -> None:
    """Sets (c(s), v(s)) ← best (c(s, a), v(s, a)), then applies backup_resolution of Algorithm 11."""
    best = node.kind.best
    if node.unresolved == len(node.values):
        node.value = best(node.values)
        return
    node.completion = completion = best(node.completions)
    node.value = best([v for v, c in zip(node.values, node.completions, strict=True) if c == completion])
    node.resolved = completion != 0 or node.unresolved == 0


def back_up_expectation(node: Node) -> None:
    """Sets v(s), c(s) and r(s) of a chance node (law 7)."""
    node = cast(StochasticNode, node)
    node.value = node.expected_value()
    if node.unresolved == 0 and node.is_complete:
        node.completion = node.expected_gain()
        node.resolved = True


def back_up_best_row(node: Node) -> None:
    """Sets v(s), c(s) and r(s) of a node with rows from its best action (law 11)."""
    node = cast(RowNode, node)
    best = node.kind.best
    if node.unresolved == len(node.values):
        node.value = node.rows[node.values.index(best(node.values))]
        return
    labels = list(zip(node.completions, node.values, strict=True))
    i = labels.index(best(labels))
    node.value = node.rows[i]
    if node.completions[i] != 0 or node.unresolved == 0:
        node.completion = node.gain_rows[i]
        node.resolved = True


def expectation(values: Sequence[float], probabilities: Sequence[float]) -> float:
    """Returns Σ p v, which is exact if all values are equal, and within their range if the p do not quite sum to 1."""
    least, most = min(values), max(values)
    if least == most:
        return least
    return min(max(math.fsum(map(operator.mul, values, probabilities)), least), most)


Value = Any
"""Value or gain of a state: a float for player 0, or in a game with rows a sequence of one float for each player."""


class NodeKind(Enum):
    """Player type of a node: the order in which its player ranks values, and the backup over its actions.

    Chance ranks nothing. Pictures of a tree and principal variations order its outcomes as a maximiser would. In a game
    with rows a node compares values for the player to move (SELF), or for an opponent of the paranoid player
    (OPPONENT).

    Attributes:
        best, worst: `max` and `min` for the maximiser, `min` and `max` for the minimiser.
        won: completion of a win for the player to move, 1 or -1.
        lost: value below all others for the player to move, -∞ or ∞.
        backup: function that sets v(s), c(s) and r(s) of a node.
    """

    MAXIMISER = (max, min, 1, back_up_best)
    MINIMISER = (min, max, -1, back_up_best)
    CHANCE = (max, min, 1, back_up_expectation)
    SELF = (max, min, 1, back_up_best_row)
    OPPONENT = (min, max, -1, back_up_best_row)

    def __init__(
        self, best: Callable[..., Any], worst: Callable[..., Any], won: int, backup: Callable[[Node], None]
    ) -> None:
        self.best = best
        self.worst = worst
        self.won = won
        self.lost = -won * math.inf
        self.backup = backup


_KIND_OF_PLAYER = {0: NodeKind.MAXIMISER, 1: NodeKind.MINIMISER, CHANCE: NodeKind.CHANCE}


def kind_of(state: pyspiel.State, *, has_chance: bool = True) -> NodeKind:
    """Returns the kind of the node of `state`. Every tree determines the player to move through this function.

    Args:
        has_chance: whether the game may have chance states.

    Raises:
        SearchError: `state` is neither a decision of player 0 or player 1 nor a chance state of such a game.
    """
    kind = _KIND_OF_PLAYER.get(state.current_player())
    if kind is None or (kind is NodeKind.CHANCE and not has_chance):
        raise no_choice(state)
    return kind


class Node:
    """An expanded state with the labels of its actions.

    Lists are parallel to `actions`. `visits` and `children` hold an action only after it has been selected. `ply` is
    the number of actions played before the state.
    """

    __slots__ = (
        "actions",
        "children",
        "completion",
        "completions",
        "kind",
        "observation",
        "ply",
        "resolutions",
        "resolved",
        "unresolved",
        "value",
        "values",
        "visits",
    )

    def __init__(self, actions: Sequence[int], values: list[float], kind: NodeKind) -> None:
        self.actions = array("q", actions)
        self.values = values
        self.completions = array("b", bytes(len(values)))
        self.resolutions = bytearray(len(values))
        self.visits: dict[int, int] = {}
        self.children: dict[int, Node] = {}
        self.kind = kind
        self.value = 0.0
        self.completion: float = 0
        self.resolved = False
        self.unresolved = len(values)
        self.observation = -1
        self.ply = 0

    def resolve(self, i: int, completion: Value) -> None:
        """Records the proof that the i-th action leads to gain `completion`."""
        if not self.resolutions[i]:
            self.resolutions[i] = 1
            self.completions[i] = completion
            self.unresolved -= 1

    def update(self, i: int, child: Node) -> None:
        """Sets r(s, a), c(s, a), v(s, a) ← r(a(s)), c(a(s)), v(a(s)) for the i-th action."""
        self.children[i] = child
        self.values[i] = child.value
        if child.resolved:
            self.resolve(i, child.completion)

    def backup(self) -> None:
        """Sets v(s), c(s), r(s) from the labels of the actions."""
        self.kind.backup(self)

    def value_of(self, i: int) -> Value:
        """Returns v(s, a) of the i-th action: a number, or a row."""
        return self.values[i]

    def assume(self, i: int, value: Value) -> None:
        """Sets v(s, a) of the i-th action, without a backup."""
        self.values[i] = value

    def count(self, i: int) -> int:
        """Returns n(s, a) of the i-th action."""
        return self.visits.get(i, 0)

    def copy(self) -> Self:
        """Returns a node with its own copy of the labels and the same children."""
        twin = copy.copy(self)
        twin.values = self.values[:]
        twin.completions = self.completions[:]
        twin.resolutions = self.resolutions[:]
        twin.visits = self.visits.copy()
        return twin


class StochasticNode(Node):
    """A node of a game with chance.

    Attributes:
        gains: g(s, a) of each resolved action.
        probabilities: probability of each outcome of a chance node; empty for a decision.
        is_complete: whether a chance node holds all outcomes, rather than a sample of them.
    """

    __slots__ = ("gains", "is_complete", "probabilities")

    completions: array[float]  # type: ignore[assignment]

    def __init__(self, actions: Sequence[int], values: list[float], kind: NodeKind) -> None:
        super().__init__(actions, values, kind)
        self.completions = array("d", bytes(8 * len(values)))
        self.gains = self.completions[:]
        self.probabilities: Sequence[float] = ()
        self.is_complete = True

    def resolve(self, i: int, completion: Value) -> None:
        """Records the proof that the i-th action leads to a gain of `completion` (laws 6 and 8)."""
        if self.resolutions[i]:
            return
        self.resolutions[i] = 1
        self.gains[i] = completion
        self.completions[i] = math.trunc(completion)
        self.unresolved -= 1
        if not self.unresolved:
            self.completions = self.gains[:]

    def expected_value(self) -> Value:
        """Returns Σ p(o) v(s, o) of a chance node."""
        return expectation(self.values, self.probabilities)

    def expected_gain(self) -> Value:
        """Returns Σ p(o) g(s, o) of a resolved chance node."""
        return expectation(self.gains, self.probabilities)

    def gain_of(self, i: int) -> Value:
        """Returns g(s, a) of a resolved action."""
        return self.gains[i]

    def copy(self) -> Self:
        """Copies the node as `Node.copy` does."""
        twin = super().copy()
        twin.gains = self.gains[:]
        return twin


class RowNode(StochasticNode):
    """A node of a game with rows. `values`, `gains` and `completions` are those of its player (law 10).

    Args:
        rows: v(s, a) of each action, n numbers each.
        player: player whose component the node compares; of a chance node any.
        scale: range of the game's rows.

    Attributes:
        rows: v(s, a) of each action.
        gain_rows: gain of each player after each resolved action; empty rows for the others.
    """

    __slots__ = ("gain_rows", "player", "rows", "scale")

    value: Value
    completion: Value

    def __init__(
        self, actions: Sequence[int], rows: Sequence[Sequence[float]], kind: NodeKind, player: int, scale: Rows
    ) -> None:
        super().__init__(actions, [row[player] for row in rows], kind)
        self.rows = list(rows)
        self.gain_rows: list[Sequence[float]] = [()] * len(self.rows)
        self.player = player
        self.scale = scale

    def resolve(self, i: int, completion: Value) -> None:
        """Records the proof that the i-th action leads to the gains `completion` of the players."""
        if not self.resolutions[i]:
            self.gain_rows[i] = completion
            super().resolve(i, self.scale.completion(completion[self.player]))

    def update(self, i: int, child: Node) -> None:
        """As `Node.update`."""
        row = cast(RowNode, child).value
        self.children[i] = child
        self.rows[i] = row
        self.values[i] = row[self.player]
        if child.resolved:
            self.resolve(i, cast(RowNode, child).completion)

    def value_of(self, i: int) -> Value:
        """Returns the row of the i-th action."""
        return self.rows[i]

    def assume(self, i: int, value: Value) -> None:
        """Sets the row of the i-th action; or, if `value` is a number, only the value for the node's player."""
        if isinstance(value, float):
            self.values[i] = value
        else:
            self.rows[i] = value
            self.values[i] = value[self.player]

    def gain_of(self, i: int) -> Value:
        """Returns the gains of the players after a resolved action."""
        return self.gain_rows[i]

    def expected_value(self) -> Value:
        """Returns the expectation of each player's value at a chance node."""
        return expected_row(self.rows, self.probabilities)

    def expected_gain(self) -> Value:
        """Returns the expectation of each player's gain at a resolved chance node."""
        return expected_row(self.gain_rows, self.probabilities)

    def copy(self) -> Self:
        """Copies the node as `Node.copy` does."""
        twin = super().copy()
        twin.rows = self.rows[:]
        twin.gain_rows = self.gain_rows[:]
        return twin


def own_value(node: Node) -> float:
    """Returns v(s) of a node; in a game with rows the component of the node's player."""
    player: int | None = getattr(node, "player", None)
    value: Any = node.value
    return float(value if player is None else value[player])


def expected_row(rows: Sequence[Sequence[float]], probabilities: Sequence[float]) -> tuple[float, ...]:
    """Returns the `expectation` of each column of some rows."""
    return tuple(expectation(column, probabilities) for column in zip(*rows, strict=True))
