"""MCTS: means of what simulations find, by a value network or by playouts, which are random matches.

Sources: the article, Section 3.3 and Remark 6; *Minimax Strikes Back*, first version, Sections 3.4 and 3.5.

A simulation goes from the root to a leaf, each step by a rule of selection, UCT (`uct`) if no other is given. A rule
may look at n(s, a), the number of simulations through the action, N(s), that of those through the state, and Q(s, a),
the mean of what they found, as the mover of s sees it, divided by the outcome's scale: so a constant in a rule means
the same with every outcome, whose values come to lie in about [-1, 1]. Its promises:

1. By UCT each untried action of a state comes first, in random order. With first-play urgency it counts instead as
   worth what the state itself was valued, without a term for exploration, and the formula applies from the start.
2. A leaf is a state that a simulation reaches by an untried action and that is not in the tree: it is valued by the
   evaluator, or by the outcome of one playout from there; a terminal state by its outcome. A state enters the tree when
   a second simulation comes to it, so the tree holds no leaves; what it was valued first is one more simulation of it,
   which N(s) and v(s) count. The root is valued when it enters the tree without having been a leaf. In a tree that is
   full a leaf stays one, and is valued by each simulation that comes to it.
3. v(s, a) is the mean over the simulations through a, and v(s) over all through s, from the first player's view in the
   outcome's unit. Nothing is averaged with the values of other children: it is no minimax value.
4. v(s, a) of an untried action is that of the tried one that is worst for the mover, or v(s) if none was tried: it is
   finite, and no decision by value and visits prefers it.
5. Histories of one state share its node, and so the totals on its actions; the totals on the actions that lead to it
   are apart, each the mean of the simulations that went there (UCT1 of Childs, Brodeur and Kocsis 2008). Each leaf's
   value thus counts once on each edge of the path that found it.
6. In a batch of b simulations each counts as a lost one (virtual loss, of constant 1) to those chosen after it; then
   all leaves are valued in one question. Two that come to the same leaf get the same answer. Losses are kept apart from
   the tree, so a batch that is given up leaves no trace but nodes without simulations.
7. Nothing is proven: there is no completion.
8. Where the evaluator has priors, a node has those of its actions, for rules that look at them; UCT does not. A rule
   that cannot do without says so by `needs_priors`, and the first answer without priors is then an error.
9. The policy of a node is the share of its simulations that each action has had; of a node without any, its priors.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Unpack, cast

import pyspiel

from athenan_spiel.arguments import require_callable, require_kind
from athenan_spiel.config.search import AtOnce
from athenan_spiel.config.settings import require_argument
from athenan_spiel.errors import EvaluatorError, SearchError
from athenan_spiel.evaluators.base import Evaluation
from athenan_spiel.games.playout import random_moves
from athenan_spiel.outcomes.infinite import InfiniteTerminal
from athenan_spiel.search.base import Search, SearchOptions
from athenan_spiel.search.mcts_tree import MCTSNode, MCTSTree
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Store, Tree
from athenan_spiel.search.uct import EXPLORATION_CONSTANT, UCT, Selection
from athenan_spiel.search.walk import Questions

VIRTUAL_LOSS = 1
"""Lost simulations that one in the same batch counts as (*Minimax Strikes Back*, first version, Section 3.5)."""

BREATH = 100
"""Moves of a playout after which its caller may look at the clock: a second's worth in a large game of Ludii."""

NO_LOSSES: Mapping[int, int] = MappingProxyType({})


class MCTS(Search):
    """Monte-Carlo tree search; the file's docstring numbers what it promises.

    An iteration is a simulation, or a batch of them.

    Args:
        game, outcome, key: as for every search.
        exploration_constant, first_play_urgency: as for `UCT`.
        selection: another rule of selection in place of UCT.
        rollouts: a leaf is valued by a playout; nothing is asked then.
        virtual_loss_batch: b, simulations whose leaves are valued together.

    Raises:
        UnsupportedGameError: as every search.
        SearchError: c is negative or not finite, b is less than 1 or no whole number, or the outcome is infinite; a
            rule is given beside what UCT takes; another argument is not of its kind.
    """

    tree_type = MCTSTree
    tells_policy = True

    def __init__(
        self,
        game: pyspiel.Game | str,
        *,
        exploration_constant: float = EXPLORATION_CONSTANT,
        first_play_urgency: bool = False,
        selection: Selection | None = None,
        rollouts: bool = False,
        virtual_loss_batch: int = 1,
        **options: Unpack[SearchOptions],
    ) -> None:
        super().__init__(game, **options)
        uct = UCT(exploration_constant, first_play_urgency)
        require_callable("selection", selection, SearchError, or_none=True)
        if selection is not None and uct != UCT():
            raise SearchError(f"MCTS takes a rule of selection or what UCT takes, not both; got {uct!r} beside a rule")
        require_kind("rollouts", rollouts, bool, SearchError)
        require_argument("the batch of MCTS", virtual_loss_batch, AtOnce, SearchError)
        if isinstance(self.outcome, InfiniteTerminal):
            raise SearchError(f"MCTS takes means, so its outcome must be finite, got {self.outcome!r}")
        self.selection = selection or uct
        self.needs_priors = getattr(self.selection, "needs_priors", False)
        if rollouts and self.needs_priors:
            raise SearchError(
                f"MCTS has no priors where leaves are valued by playouts, and {self.selection!r} needs them"
            )
        self.rollouts = rollouts
        self.virtual_loss_batch = virtual_loss_batch
        self.scale = float(getattr(self.outcome, "scale", 1.0))

    def _new_tree(self, store: Store | None) -> MCTSTree:
        return MCTSTree(outcome=self.outcome, key=self.key, completion=False, store=store, game=self.game)

    def iteration(
        self,
        tree: Tree,
        state: pyspiel.State,
        rng: random.Random,
        root: Node | None = None,
        root_actions: Sequence[int] | None = None,
    ) -> Questions[Node]:
        """Choose leaves, have them valued together, and carry their values back to the root."""
        grown = cast(MCTSTree, tree)
        if root is None and root_actions is None:
            root = tree.table.get(tree.key(state))
        node = cast("MCTSNode | None", root)
        if node is None:
            found = yield from self._valued([state], rng)
            priors = None if found.priors is None else found.priors[0]
            if root_actions is None:
                node = grown.enter(tree.key(state), state, found.values[0], rng, priors)
            else:
                node = grown.make_root(state, root_actions, found.values[0], rng, priors)
        if node is not grown.root:
            self._move_root(grown, node, rng)
        batch = _Batch(self, grown, rng)
        for _ in range(self.virtual_loss_batch):
            batch.play(node, state.clone())
        batch.take_in((yield from self._valued(batch.leaves, rng)))
        return node

    def _move_root(self, tree: MCTSTree, node: MCTSNode, rng: random.Random) -> None:
        """From now on simulations begin at `node`."""
        if tree.root is not None:
            tree.root.noise = tree.root.plan = None
        tree.root = node

    def policy(self, node: Node) -> list[float]:
        """As `Search.policy`; promise 9."""
        total = sum(node.visits.values())
        if total:
            return [node.count(i) / total for i in range(len(node.actions))]
        return list(cast(MCTSNode, node).priors_or_even())

    def _valued(self, states: list[pyspiel.State], rng: random.Random) -> Questions[Evaluation]:
        """The values of states that are not terminal: asked for, or found by a playout from each."""
        if self.rollouts:
            return Evaluation((yield from self._played_out(states, rng)))
        return (yield from self._asked(states))

    def _played_out(self, states: list[pyspiel.State], rng: random.Random) -> Questions[list[float]]:
        """What one playout from each state is worth."""
        worths = []
        for state in states:
            worths.append(float(self.outcome((yield from random_end(state, rng)))))
        return worths

    def _asked(self, states: list[pyspiel.State]) -> Questions[Evaluation]:
        """What the evaluator says of states that are not terminal."""
        if not states:
            return Evaluation([])
        found = yield states
        if self.needs_priors and found.priors is None:
            raise EvaluatorError(
                f"{type(self).__name__} needs a probability of each action, and this evaluator says values alone: "
                "take a network with a policy, or another search"
            )
        return found


def random_end(state: pyspiel.State, rng: random.Random) -> Questions[pyspiel.State]:
    """Where a playout from `state` ends; every `BREATH` moves it asks for nothing, and may be left."""
    state = state.clone()
    for moves, _ in enumerate(random_moves(state, rng.choice)):
        if moves and moves % BREATH == 0:
            yield []
    return state


class _Simulation(NamedTuple):
    """A path to a leaf, and the leaf's worth if it is terminal, else its number among those to be valued."""

    path: list[tuple[MCTSNode, int]]
    worth: float | None
    leaf: int


class _Batch:
    """The simulations of one iteration; `leaves` are those whose values are to be asked for."""

    def __init__(self, search: MCTS, tree: MCTSTree, rng: random.Random) -> None:
        self._search = search
        self._tree = tree
        self._rng = rng
        self._losses: dict[MCTSNode, dict[int, int]] = {}
        self._simulations: list[_Simulation] = []
        self._numbers: dict[tuple[MCTSNode, int], int] = {}
        self.leaves: list[pyspiel.State] = []

    def play(self, node: MCTSNode, state: pyspiel.State) -> None:
        """Choose a path from `node`, whose state is `state`, to a leaf; `state` becomes the leaf."""
        select, scale = self._search.selection, self._search.scale
        path: list[tuple[MCTSNode, int]] = []
        following: MCTSNode | None = node
        while following is not None:
            node = following
            i = select(node, self._losses.get(node, NO_LOSSES), scale, self._rng)
            path.append((node, i))
            state.apply_action(node.actions[i])
            following = self._child(node, i, state)
        node, i = path[-1]
        if self._search.virtual_loss_batch > 1:
            for passed, action in path:
                losses = self._losses.setdefault(passed, {})
                losses[action] = losses.get(action, 0) + VIRTUAL_LOSS
        if state.is_terminal():
            worth = self._tree.outcome(state) if node.count(i) else self._tree.terminal_value(state)
            self._simulations.append(_Simulation(path, worth, -1))
            return
        number = self._numbers.setdefault((node, i), len(self.leaves))
        if number == len(self.leaves):
            self.leaves.append(state)
        self._simulations.append(_Simulation(path, None, number))

    def _child(self, node: MCTSNode, i: int, state: pyspiel.State) -> MCTSNode | None:
        """The node of `state`, to which the i-th action of `node` leads; none if it is a leaf or terminal."""
        child = node.children.get(i)
        if child is None and not state.is_terminal():
            key = self._tree.key(state)
            child = self._tree.table.get(key)
            if child is None and (n := node.count(i)) and not self._tree.is_full:
                priors = node.leaf_priors.pop(i, None)
                child = self._tree.enter(key, state, node.totals[i] / n, self._rng, priors)
            if child is not None:
                node.children[i] = child
        return cast("MCTSNode | None", child)

    def take_in(self, found: Evaluation) -> None:
        """Carry the values of the `leaves`, and the worth of terminal ones, back along the paths."""
        for path, worth, leaf in self._simulations:
            if worth is None:
                node, i = path[-1]
                if not node.count(i):
                    self._tree.note_leaf(self.leaves[leaf], node, i)
                    if found.priors is not None:
                        node.leaf_priors[i] = found.priors[leaf]
                worth = found.values[leaf]
            for node, i in path:
                node.take_in(i, worth)
