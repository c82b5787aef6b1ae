"""MCTS: mean values of simulations, whose leaves are valued by a value network or by random playouts.

Sources: the article, Section 3.3 and Remark 6; *Minimax Strikes Back*, first version, Sections 3.4 and 3.5.

A simulation descends from the root to a leaf. A selection rule chooses each step, by default UCT (`uct`). A rule may
use n(s, a), the number of simulations through the action; N(s), the number through the state; and Q(s, a), the mean of
their values from the mover's view, divided by the outcome's scale. That puts values in about [-1, 1], so constants of a
rule mean the same with every outcome. The search satisfies:

1. UCT selects each untried action of a state first, in random order. With first-play urgency an untried action has the
   value of the state itself, without an exploration term, and the formula applies from the start.
2. A leaf is a state outside the tree that a simulation reaches by an untried action. It is valued by the evaluator, or
   by the outcome of one playout; a terminal state by its outcome. A state enters the tree when a second simulation
   reaches it, so the tree holds no leaves. Its first value counts as one more simulation in N(s) and v(s). The root is
   valued when it enters the tree without having been a leaf. In a full tree a leaf stays a leaf, and each simulation
   that reaches it values it anew.
3. v(s, a) is the mean over the simulations through a, and v(s) over all simulations through s, for player 0 and in the
   outcome's unit. It is not averaged with the values of other children and is not a minimax value.
4. v(s, a) of an untried action is that of the tried action worst for the mover, or v(s) if none was tried. It is
   finite, and no decision by value and visits prefers it.
5. Histories of one state share its node, and so the totals on its actions. The totals on the actions that lead to it
   are separate: each is the mean of its own simulations (UCT1 of Childs, Brodeur and Kocsis 2008). The value of a leaf
   therefore counts once on each edge of the path that found it.
6. In a batch of b simulations each counts as a loss for those selected after it (virtual loss of constant 1). Then all
   leaves are evaluated in one request. Two simulations at the same leaf get the same value. Virtual losses are stored
   outside the tree, so an abandoned batch leaves only nodes without simulations.
7. Nothing is proven: there is no completion.
8. If the evaluator returns priors, a node stores those of its actions, for rules that use them; UCT does not. A rule
   that requires priors sets `needs_priors`; the first answer without priors is then an error.
9. The policy of a node is the fraction of its simulations through each action. Without simulations it is the priors.
10. A chance state is a state like any other: a leaf first, valued by the evaluator, then a node, whose actions are its
   outcomes. Instead of a selection rule, its probabilities draw the outcome of each simulation, also in a batch. So
   laws 2, 3 and 5 hold, and v(s, a) before chance estimates an expectation. An outcome that was never drawn has the
   value of its state as a leaf.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Unpack, cast

import pyspiel

from athenan_spiel.arguments import require_callable, require_kind
from athenan_spiel.config.search import AtOnce
from athenan_spiel.config.settings import require_argument
from athenan_spiel.errors import EvaluatorError, SearchError
from athenan_spiel.evaluators.base import Evaluation
from athenan_spiel.games.chance import has_chance
from athenan_spiel.games.playout import random_moves
from athenan_spiel.outcomes.infinite import InfiniteTerminal
from athenan_spiel.search.base import Search, SearchOptions
from athenan_spiel.search.mcts_tree import ChanceNode, MCTSNode, MCTSTree
from athenan_spiel.search.node import Node, Value
from athenan_spiel.search.tree import Store, Tree
from athenan_spiel.search.uct import EXPLORATION_CONSTANT, UCT, Selection
from athenan_spiel.search.walk import Requests

VIRTUAL_LOSS = 1
"""Number of lost simulations that a simulation of the same batch counts as (*Minimax Strikes Back*, first version,
Section 3.5)."""

PLAYOUT_MOVES_PER_YIELD = 100
"""Moves of a playout between two checks of the clock. They take about a second in a large Ludii game."""

NO_LOSSES: Mapping[int, int] = MappingProxyType({})


class MCTS(Search):
    """Monte-Carlo tree search. The module's docstring lists its laws.

    An iteration is a simulation, or a batch of simulations.

    Args:
        game, outcome, key: as for every search.
        exploration_constant, first_play_urgency: as for `UCT`.
        selection: selection rule that replaces UCT.
        rollouts: values leaves by playouts, without an evaluator.
        virtual_loss_batch: b, the number of simulations whose leaves are evaluated together.

    Raises:
        UnsupportedGameError: as every search.
        SearchError: c is negative or not finite; b is not a whole number of at least 1; the outcome is infinite; a rule
            is given together with arguments of UCT; or another argument has the wrong type.

    Attributes:
        selection: selection rule at decisions.
        select: selection of a simulation, which also passes chance states.
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
            raise SearchError(f"MCTS takes a selection rule or arguments of UCT, not both; got {uct!r} and a rule")
        require_kind("rollouts", rollouts, bool, SearchError)
        require_argument("the batch of MCTS", virtual_loss_batch, AtOnce, SearchError)
        if isinstance(self.outcome, InfiniteTerminal):
            raise SearchError(f"MCTS averages values, so its outcome must be finite, got {self.outcome!r}")
        self.selection = selection or uct
        self.select = _ThroughChance(self.selection) if has_chance(self.game) else self.selection
        self.needs_priors = getattr(self.selection, "needs_priors", False)
        if rollouts and self.needs_priors:
            raise SearchError(
                f"MCTS with playouts has no priors, and {self.selection!r} needs them: set rollouts=False"
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
    ) -> Requests[Node]:
        """Selects leaves, requests their evaluations in one batch, and backs them up to the root."""
        grown = cast(MCTSTree, tree)
        if root is None and root_actions is None:
            root = tree.table.get(tree.key(state))
        node = cast("MCTSNode | None", root)
        if node is None:
            found = yield from self._evaluate([state], rng)
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
        batch.backup((yield from self._evaluate(batch.leaves, rng)))
        return node

    def _move_root(self, tree: MCTSTree, node: MCTSNode, rng: random.Random) -> None:
        """Makes `node` the root of further simulations."""
        if tree.root is not None:
            tree.root.noise = tree.root.plan = None
        tree.root = node

    def policy(self, node: Node) -> list[float]:
        """Returns the policy of `Search.policy`, as law 9 defines it."""
        total = sum(node.visits.values())
        if total:
            return [node.count(i) / total for i in range(len(node.actions))]
        return list(cast(MCTSNode, node).priors_or_even())

    def _evaluate(self, states: list[pyspiel.State], rng: random.Random) -> Requests[Evaluation]:
        """Values non-terminal states by the evaluator, or by one playout from each."""
        if self.rollouts:
            return Evaluation((yield from self._play_out(states, rng)))
        return (yield from self._request(states))

    def _play_out(self, states: list[pyspiel.State], rng: random.Random) -> Requests[list[Value]]:
        """Returns the outcome of one playout from each state."""
        results = []
        for state in states:
            results.append(self.outcome((yield from random_end(state, rng))))
        return results

    def _request(self, states: list[pyspiel.State]) -> Requests[Evaluation]:
        """Requests the evaluation of non-terminal states."""
        if not states:
            return Evaluation([])
        found = yield states
        if self.needs_priors and found.priors is None:
            raise EvaluatorError(
                f"{type(self).__name__} needs priors, and this evaluator returns only values: "
                "use a network with a policy, or another search"
            )
        return found


def random_end(state: pyspiel.State, rng: random.Random) -> Requests[pyspiel.State]:
    """Plays random moves from `state` and returns the terminal state.

    Every `PLAYOUT_MOVES_PER_YIELD` moves it yields an empty batch, at which the driver may abandon it.
    """
    state = state.clone()
    for moves, _ in enumerate(random_moves(state, rng.choice)):
        if moves and moves % PLAYOUT_MOVES_PER_YIELD == 0:
            yield []
    return state


@dataclass(frozen=True)
class _ThroughChance:
    """Selection of a simulation in a game with chance (law 10): `rule` selects where a player is to move."""

    rule: Selection

    def __call__(self, node: MCTSNode, losses: Mapping[int, int], scale: float, rng: random.Random) -> int:
        """Returns the index of the action or outcome."""
        return node.draw(rng) if isinstance(node, ChanceNode) else self.rule(node, losses, scale, rng)


class _Simulation(NamedTuple):
    """Path to a leaf, with the leaf's terminal value if it is terminal, else its index in the batch of leaves."""

    path: list[tuple[MCTSNode, int]]
    value: Value | None
    leaf: int


class _Batch:
    """Simulations of one iteration. `leaves` are the states to evaluate."""

    def __init__(self, search: MCTS, tree: MCTSTree, rng: random.Random) -> None:
        self._search = search
        self._tree = tree
        self._rng = rng
        self._losses: dict[MCTSNode, dict[int, int]] = {}
        self._simulations: list[_Simulation] = []
        self._numbers: dict[tuple[MCTSNode, int], int] = {}
        self.leaves: list[pyspiel.State] = []

    def play(self, node: MCTSNode, state: pyspiel.State) -> None:
        """Selects a path from `node` to a leaf. `state`, the state of `node`, becomes the leaf."""
        select, scale = self._search.select, self._search.scale
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
            value = self._tree.outcome(state) if node.count(i) else self._tree.terminal_value(state)
            self._simulations.append(_Simulation(path, value, -1))
            return
        number = self._numbers.setdefault((node, i), len(self.leaves))
        if number == len(self.leaves):
            self.leaves.append(state)
        self._simulations.append(_Simulation(path, None, number))

    def _child(self, node: MCTSNode, i: int, state: pyspiel.State) -> MCTSNode | None:
        """Returns the node of `state`, the successor of `node` by its i-th action. Returns None for a leaf or terminal
        state."""
        child = node.children.get(i)
        if child is None and not state.is_terminal():
            key = self._tree.key(state)
            child = self._tree.table.get(key)
            if child is None and (n := node.count(i)) and not self._tree.is_full:
                priors = node.leaf_priors.pop(i, None)
                own = node.totals[i] / n if self._tree.rows is None else node.value_of(i)
                child = self._tree.enter(key, state, own, self._rng, priors)
            if child is not None:
                node.children[i] = child
        return cast("MCTSNode | None", child)

    def backup(self, found: Evaluation) -> None:
        """Backs up the values of the leaves and the terminal values along the paths."""
        for path, value, leaf in self._simulations:
            if value is None:
                node, i = path[-1]
                if not node.count(i):
                    self._tree.note_leaf(self.leaves[leaf], node, i)
                    if found.priors is not None:
                        node.leaf_priors[i] = found.priors[leaf]
                value = found.values[leaf]
            for node, i in path:
                node.add_simulation(i, value)
