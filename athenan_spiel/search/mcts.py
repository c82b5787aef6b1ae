"""MCTS: UCT over a value network, or over random rollouts.

Sources: the article, Section 3.3 and Remark 6; *Minimax Strikes Back*, first version, Sections 3.4 and 3.5.

A playout goes from the root to a leaf, by UCT (Kocsis and Szepesvári 2006): from s to the action a that maximises

    Q(s, a) + c · sqrt(ln N(s) / n(s, a))

where n(s, a) counts the playouts through the action, N(s) those through the state, and Q(s, a) is the mean of what
they found, as the mover of s sees it, divided by the outcome's scale: so c means the same with every outcome, whose
values come to lie in about [-1, 1]. Its promises:

1. Each untried action of a state comes first, in random order. With first-play urgency it counts instead as worth what
   the state itself was valued, without a term for exploration, and the formula applies from the start.
2. A leaf is a state that a playout reaches by an untried action and that is not in the tree: it is valued by the
   evaluator, or by the outcome of one random match from there; a terminal state by its outcome. A state enters the
   tree when a second playout comes to it, so the tree holds no leaves; what it was valued first is one more playout of
   it, which N(s) and v(s) count. The root is valued when it enters the tree without having been a leaf.
3. v(s, a) is the mean over the playouts through a, and v(s) over all through s, from the first player's view in the
   outcome's unit. Nothing is averaged with the values of other children: it is no minimax value.
4. v(s, a) of an untried action is that of the tried one that is worst for the mover, or v(s) if none was tried: it is
   finite, and no decision by value and visits prefers it.
5. Histories of one state share its node, and so the totals on its actions; the totals on the actions that lead to it
   are apart, each the mean of the playouts that went there (UCT1 of Childs, Brodeur and Kocsis 2008). Each leaf's
   value thus counts once on each edge of the path that found it.
6. In a batch of b playouts each counts as a lost one (virtual loss, of constant 1) to those chosen after it; then all
   leaves are valued in one question. Two that come to the same leaf get the same answer. Losses are kept apart from
   the tree, so a batch that is given up leaves no trace but nodes without playouts.
7. Nothing is proven: there is no completion.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Self, cast

import pyspiel

from athenan_spiel.arguments import require_kind, require_number, require_whole
from athenan_spiel.config.search import LARGEST_FACTOR, MOST_AT_ONCE
from athenan_spiel.errors import SearchError, shown
from athenan_spiel.evaluators.base import Evaluation
from athenan_spiel.games.transpositions import Key
from athenan_spiel.outcomes.infinite import InfiniteTerminal
from athenan_spiel.search.base import Search
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Leaf, Tree
from athenan_spiel.search.walk import Questions

EXPLORATION_CONSTANT = 0.4
"""c of UCT (the article, Section 3.3)."""
VIRTUAL_LOSS = 1
"""Lost playouts that a playout in the same batch counts as (*Minimax Strikes Back*, first version, Section 3.5)."""

BREATH = 100
"""Moves of a random match after which its caller may look at the clock: a second's worth in a large game of Ludii."""

NO_LOSSES: Mapping[int, int] = MappingProxyType({})


class MCTSNode(Node):
    """A node with the totals of the playouts through it.

    Attributes:
        own: what the state was valued as a leaf.
        totals: of the values found through each action.
        total, playouts: over all playouts through the state, the one that valued it included.
        untried: the actions without a playout; the last is tried next.
    """

    __slots__ = ("own", "playouts", "total", "totals", "untried")

    def __init__(self, actions: Sequence[int], own: float, rng: random.Random, *, maximises: bool) -> None:
        super().__init__(actions, [own] * len(actions), maximises=maximises)
        self.value = self.own = self.total = own
        self.playouts = 1
        self.totals = [0.0] * len(actions)
        self.untried = list(range(len(actions)))
        rng.shuffle(self.untried)

    def copy(self) -> Self:
        """As `Node.copy`."""
        twin = super().copy()
        twin.totals = self.totals[:]
        twin.untried = self.untried[:]
        return twin

    def take_in(self, i: int, value: float) -> None:
        """A playout through the i-th action has found `value`."""
        n = self.count(i) + 1
        if n == 1:
            self.untried.remove(i)
        self.visits[i] = n
        self.totals[i] += value
        self.values[i] = self.totals[i] / n
        self.playouts += 1
        self.total += value
        self.value = self.total / self.playouts
        if self.untried:
            worst = (min if self.maximises else max)(self.values[j] for j in self.visits)
            for j in self.untried:
                self.values[j] = worst


class MCTSTree(Tree):
    """A tree of `MCTSNode`s."""

    def enter(self, key: Hashable, state: pyspiel.State, own: float, rng: random.Random) -> MCTSNode:
        """S ← S ∪ {s}: make the node of `state`, which was valued `own` and has no playout through an action yet."""
        node = MCTSNode(state.legal_actions(), own, rng, maximises=state.current_player() == 0)
        if self.store is not None:
            leaf = self.leaves.pop(key, None)
            node.observation = self.store.append(state) if leaf is None else leaf.observation
        self.table[key] = node
        return node

    def note_leaf(self, state: pyspiel.State, parent: MCTSNode, i: int) -> None:
        """A playout has valued `state`, which is not in the table: keep it where leaves are learned (Remark 3)."""
        if self.store is not None and self.store.leaves:
            key = self.key(state)
            if key not in self.table and key not in self.leaves:
                self.leaves[key] = Leaf(self.store.append(state), parent, i)


class MCTS(Search):
    """UCT; the file's docstring numbers what it promises. An iteration is a playout, or a batch of them.

    Args:
        game, outcome, key: as for every search.
        exploration_constant: c of UCT, zero or more; the article: 0.4. Zero follows the best mean.
        first_play_urgency: an untried action counts as worth what its state is, and need not come first.
        rollouts: a leaf is valued by a random match; nothing is asked then.
        virtual_loss_batch: b, playouts whose leaves are valued together.

    Raises:
        UnsupportedGameError: as every search.
        SearchError: c is negative or not finite, b is less than 1 or no whole number, or the outcome is infinite;
            another argument is not of its kind.
    """

    tree_type = MCTSTree

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        outcome: Callable[[pyspiel.State], float] | None = None,
        key: Key | None = None,
        exploration_constant: float = EXPLORATION_CONSTANT,
        first_play_urgency: bool = False,
        rollouts: bool = False,
        virtual_loss_batch: int = 1,
    ) -> None:
        super().__init__(game, outcome=outcome, completion=False, key=key)
        require_number("the exploration constant of MCTS", exploration_constant, SearchError)
        if not 0 <= exploration_constant < math.inf:
            raise SearchError(
                f"the exploration constant of MCTS must be zero or more, got {shown(exploration_constant)}"
            )
        if exploration_constant > LARGEST_FACTOR:
            raise SearchError(
                f"the exploration constant of MCTS must be at most {LARGEST_FACTOR:,}, "
                f"got {shown(exploration_constant)}"
            )
        require_kind("first_play_urgency", first_play_urgency, bool, SearchError)
        require_kind("rollouts", rollouts, bool, SearchError)
        require_whole("the batch of MCTS", virtual_loss_batch, SearchError)
        if not 1 <= virtual_loss_batch <= MOST_AT_ONCE:
            raise SearchError(
                f"the batch of MCTS must have from 1 to {MOST_AT_ONCE:,} leaves, got {shown(virtual_loss_batch)}"
            )
        if isinstance(self.outcome, InfiniteTerminal):
            raise SearchError(f"MCTS takes means, so its outcome must be finite, got {self.outcome!r}")
        self.exploration_constant = exploration_constant
        self.first_play_urgency = first_play_urgency
        self.rollouts = rollouts
        self.virtual_loss_batch = virtual_loss_batch
        self._scale = float(getattr(self.outcome, "scale", 1.0))

    def iteration(
        self, tree: Tree, state: pyspiel.State, rng: random.Random, root: Node | None = None
    ) -> Questions[Node]:
        """Choose leaves by UCT, have them valued together, and carry their values back to the root."""
        grown = cast(MCTSTree, tree)
        node = cast("MCTSNode | None", root or tree.table.get(tree.key(state)))
        if node is None:
            (own,) = (yield from self._valued([state], rng)).values
            node = grown.enter(tree.key(state), state, own, rng)
        batch = _Batch(self, grown, rng)
        for _ in range(self.virtual_loss_batch):
            batch.play(node, state.clone())
        batch.take_in((yield from self._valued(batch.leaves, rng)))
        return node

    def select(self, node: MCTSNode, losses: Mapping[int, int], rng: random.Random) -> int:
        """The action of a playout at `node`, where the actions in `losses` have so many virtual losses."""
        untried = next((i for i in reversed(node.untried) if i not in losses), None) if node.untried else None
        if untried is not None and not self.first_play_urgency:
            return untried
        sign = 1.0 / self._scale if node.maximises else -1.0 / self._scale
        logarithm = math.log(node.playouts + sum(losses.values()))
        best, candidates = -math.inf, []
        if untried is not None:
            best, candidates = sign * node.own, [untried]
        for i in node.visits.keys() | losses.keys() if losses else node.visits:
            lost = losses.get(i, 0)
            n = node.count(i) + lost
            score = (sign * node.totals[i] - lost) / n + self.exploration_constant * math.sqrt(logarithm / n)
            if score > best:
                best, candidates = score, [i]
            elif score == best:
                candidates.append(i)
        return candidates[0] if len(candidates) == 1 else rng.choice(candidates)

    def _valued(self, states: list[pyspiel.State], rng: random.Random) -> Questions[Evaluation]:
        """The values of states that are not terminal: asked for, or found by a random match from each."""
        if self.rollouts:
            worths = []
            for state in states:
                worths.append(float(self.outcome((yield from random_end(state, rng)))))
            return Evaluation(worths)
        return (yield states) if states else Evaluation([])


def random_end(state: pyspiel.State, rng: random.Random) -> Questions[pyspiel.State]:
    """Where a uniformly random match from `state` ends; every `BREATH` moves it asks for nothing, and may be left."""
    state = state.clone()
    for moves in itertools.count(1):
        if state.is_terminal():
            break
        state.apply_action(rng.choice(state.legal_actions()))
        if moves % BREATH == 0:
            yield []
    return state


class _Playout(NamedTuple):
    """A path to a leaf, and the leaf's worth if it is terminal, else its number among those to be valued."""

    path: list[tuple[MCTSNode, int]]
    worth: float | None
    leaf: int


class _Batch:
    """The playouts of one iteration; `leaves` are those whose values are to be asked for."""

    def __init__(self, search: MCTS, tree: MCTSTree, rng: random.Random) -> None:
        self._search = search
        self._tree = tree
        self._rng = rng
        self._losses: dict[MCTSNode, dict[int, int]] = {}
        self._playouts: list[_Playout] = []
        self._numbers: dict[tuple[MCTSNode, int], int] = {}
        self.leaves: list[pyspiel.State] = []

    def play(self, node: MCTSNode, state: pyspiel.State) -> None:
        """Choose a path from `node`, whose state is `state`, to a leaf; `state` becomes the leaf."""
        path: list[tuple[MCTSNode, int]] = []
        following: MCTSNode | None = node
        while following is not None:
            node = following
            i = self._search.select(node, self._losses.get(node, NO_LOSSES), self._rng)
            path.append((node, i))
            state.apply_action(node.actions[i])
            following = self._child(node, i, state)
        node, i = path[-1]
        for passed, action in path:
            losses = self._losses.setdefault(passed, {})
            losses[action] = losses.get(action, 0) + VIRTUAL_LOSS
        if state.is_terminal():
            worth = self._tree.outcome(state) if node.count(i) else self._tree.terminal_value(state)
            self._playouts.append(_Playout(path, worth, -1))
            return
        number = self._numbers.setdefault((node, i), len(self.leaves))
        if number == len(self.leaves):
            self.leaves.append(state)
        self._playouts.append(_Playout(path, None, number))

    def _child(self, node: MCTSNode, i: int, state: pyspiel.State) -> MCTSNode | None:
        """The node of `state`, to which the i-th action of `node` leads; none if it is a leaf or terminal."""
        child = node.children.get(i)
        if child is None and not state.is_terminal():
            key = self._tree.key(state)
            child = self._tree.table.get(key)
            if child is None and (n := node.count(i)):
                child = self._tree.enter(key, state, node.totals[i] / n, self._rng)
            if child is not None:
                node.children[i] = child
        return cast("MCTSNode | None", child)

    def take_in(self, found: Evaluation) -> None:
        """Carry the values of the `leaves`, and the worth of terminal ones, back along the paths."""
        for path, worth, leaf in self._playouts:
            if worth is None:
                node, i = path[-1]
                if not node.count(i):
                    self._tree.note_leaf(self.leaves[leaf], node, i)
                worth = found.values[leaf]
            for node, i in path:
                node.take_in(i, worth)
