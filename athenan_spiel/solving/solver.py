"""Proving a position: Descent or UBFM with completion, until it is resolved or a bound is met.

The papers' searches prove as they search (Section 5); here nothing else is wanted of them. So they are driven by the
proof alone, on one tree, look one action ahead (`search.ahead`), and the memory that the tree takes is bounded. A
network trained on the game says where to look first; a proof is true whatever the evaluator says.

1. A `Proof` that is `proven` is true of the game: its `value` is what best play leads to, and its line, along which
   each action and each reply keeps that value, ends with the match.
2. Of one that is not, value and line are the search's opinion.
3. One that no limit in seconds or megabytes has ended can be repeated to the bit.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import pyspiel

from athenan_spiel.arguments import require_callable, require_kind
from athenan_spiel.config import SearchConfig
from athenan_spiel.config.machine import Megabytes
from athenan_spiel.config.search import ProverName
from athenan_spiel.config.settings import Count, Seconds, require_argument
from athenan_spiel.errors import ConfigError, EvaluatorError, SearchError, nearest, shown
from athenan_spiel.evaluators.base import Evaluator
from athenan_spiel.evaluators.simple import ZeroEvaluator
from athenan_spiel.games import given_game, require_open_state
from athenan_spiel.outcomes import Gain, make_outcome
from athenan_spiel.search import Budget, Search, SearchResult, make_search, think
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Tree
from athenan_spiel.system.machine import free_memory
from athenan_spiel.system.portable import occupied

Ending = Literal["proven", "seconds", "iterations", "megabytes"]

STRETCH = 20
"""Iterations between two looks at the clock, the memory, and the caller's progress."""
MEGABYTES = 4000.0
"""By which the process may grow where nothing else is said; a position in the tree takes about 2 kB."""
SHARE_OF_FREE_MEMORY = 0.9
"""What is left lets a proof end by itself before the system ends it."""


@dataclass(frozen=True, kw_only=True)
class Proof:
    """What is known of a position, in the end or on the way. Values are player 0's.

    Attributes:
        proven: whether the position's value is proven.
        value: if proven, the gain of best play: 1 if player 0 wins, -1 if player 1 does, 0 for a draw; in a game for
            one player the best outcome that there is. Else an estimate, by the outcome.
        line: actions from the position on, the first of them the best one. Once the whole is at an end and proven,
            the line ends with the match; on the way and without a proof, it is as long as the tree reaches.
        nodes: states expanded.
        iterations, evaluations, seconds: what was used; evaluations counts states valued.
        ending: why it ended; None on the way.
    """

    proven: bool
    value: float
    line: tuple[int, ...]
    nodes: int
    iterations: int
    evaluations: int
    seconds: float
    ending: Ending | None = None

    @property
    def best_action(self) -> int:
        """The first action of the line."""
        return self.line[0]


@dataclass(frozen=True, kw_only=True)
class ProofBounds:
    """How much a proof may cost at most; each may be None, which is no bound.

    Attributes:
        seconds: of time, after which the iteration in progress is finished.
        iterations: of the search.
        megabytes: by which the memory of the whole process may grow, 4,000 by default; never more than
            `SHARE_OF_FREE_MEMORY` of what is free when the proof begins.

    Raises:
        ConfigError: one is not a number greater than zero, or larger than any use of it.
    """

    seconds: float | None = None
    iterations: int | None = None
    megabytes: float | None = MEGABYTES

    def __post_init__(self) -> None:
        for name, annotation in (("seconds", Seconds), ("iterations", Count), ("megabytes", Megabytes)):
            called = f"the bound of a proof in {name}"
            require_argument(called, getattr(self, name), annotation, ConfigError, or_none=True)


def solve(
    game: pyspiel.Game | str,
    state: pyspiel.State | None = None,
    *,
    algorithm: ProverName = "descent",
    evaluator: Evaluator | None = None,
    outcome: Callable[[pyspiel.State], float] | None = None,
    bounds: ProofBounds | None = None,
    rng: random.Random | None = None,
    on_progress: Callable[[Proof], object] | None = None,
) -> Proof:
    """Prove what `state` is worth.

    Args:
        game: the game, or its string.
        state: a state of it, not terminal; the initial one by default.
        algorithm: "descent" or "ubfm".
        evaluator: values states for player 0; by default it knows nothing. It decides how soon a proof is found.
        outcome: f_t, the worth of a terminal state; by default the gain, of one player the score. A network wants the
            one that it was trained with.
        bounds: when to give up; by default when the process has grown by 4,000 megabytes, as `athenan solve` does.
        rng: breaks ties; `random.Random(0)` by default.
        on_progress: is told every `STRETCH` iterations what is known.

    Returns:
        What is proven, or what is known where a bound was met before.

    Raises:
        UnsupportedGameError: the game is none, or outside what the algorithms assume.
        SearchError: `state` is terminal, or none of the game; another argument is not of its kind.
        ConfigError: the algorithm is unknown, or `bounds` are none.
        EvaluatorError: the evaluator answered with the wrong number of values, or one that is not finite.
    """
    game = given_game(game)
    state = game.new_initial_state() if state is None else state
    require_open_state(game, state)
    provers = get_args(ProverName)
    if not isinstance(algorithm, str) or algorithm not in provers:
        raise ConfigError(
            f"a position is proven by {' or '.join(provers)}, got {shown(algorithm)}{nearest(algorithm, provers)}"
        )
    require_callable("evaluator", evaluator, EvaluatorError, or_none=True)
    require_callable("outcome", outcome, SearchError, or_none=True)
    require_kind("bounds", bounds, ProofBounds, ConfigError, or_none=True)
    require_kind("rng", rng, random.Random, SearchError, or_none=True)
    require_callable("on_progress", on_progress, SearchError, or_none=True)
    rng = rng or random.Random(0)
    if game.num_players() > 1:
        outcome = outcome or Gain()
        search = make_search(game, SearchConfig(algorithm=algorithm, wins_ahead=True), outcome)
    else:
        search = make_search(game, SearchConfig(algorithm=algorithm), outcome or make_outcome("score", game, rng))
    solver = _Solver(search, evaluator or ZeroEvaluator(), rng)
    return solver.prove(state, bounds or ProofBounds(), on_progress or (lambda proof: None))


class _Solver:
    """A search on one tree, and what it has used so far."""

    def __init__(self, search: Search, evaluator: Evaluator, rng: random.Random) -> None:
        self._search = search
        self._two_players = search.game.num_players() > 1
        self._evaluator = evaluator
        self._rng = rng
        self._tree: Tree = search.new_tree()
        self._start = time.perf_counter()
        self._iterations = 0
        self._evaluations = 0

    def prove(self, state: pyspiel.State, bounds: ProofBounds, on_progress: Callable[[Proof], object]) -> Proof:
        """Search until `state` is resolved or a bound is met."""
        most = _most_megabytes(bounds)
        before = 0.0 if most is None else resident_megabytes()
        while True:
            result = self._think(state, self._stretch(bounds))
            if result.is_resolved:
                line = tuple(self._proven_line(state))
                return replace(self._known(result), line=line, ending="proven")
            proof = self._known(result)
            if bounds.seconds is not None and proof.seconds >= bounds.seconds:
                return replace(proof, ending="seconds")
            if bounds.iterations is not None and proof.iterations >= bounds.iterations:
                return replace(proof, ending="iterations")
            if most is not None and resident_megabytes() - before >= most:
                return replace(proof, ending="megabytes")
            on_progress(proof)

    def _stretch(self, bounds: ProofBounds) -> Budget:
        """Until the bounds are looked at again; at least one iteration, as every budget allows."""
        iterations = STRETCH if bounds.iterations is None else min(STRETCH, bounds.iterations - self._iterations)
        if bounds.seconds is None:
            return Budget(iterations=iterations)
        left = bounds.seconds - (time.perf_counter() - self._start)
        return Budget(iterations=iterations, seconds=max(left, 1e-6))

    def _think(self, state: pyspiel.State, budget: Budget) -> SearchResult:
        result = think(self._search, state, budget, self._evaluator, tree=self._tree, rng=self._rng)
        self._iterations += result.iterations
        self._evaluations += result.evaluations
        return result

    def _known(self, result: SearchResult) -> Proof:
        return Proof(
            proven=result.is_resolved,
            value=float(result.completion) if result.is_resolved and self._two_players else result.value,
            line=tuple(result.principal_variation),
            nodes=len(self._tree.nodes),
            iterations=self._iterations,
            evaluations=self._evaluations,
            seconds=time.perf_counter() - self._start,
        )

    def _proven_line(self, state: pyspiel.State) -> list[int]:
        """Best play of both sides from `state`, which is resolved, to the end of the match.

        States that were proven without a node, by looking ahead, are searched now: that takes an iteration each.
        """
        root = self._tree.table[self._tree.key(state)]
        lengths = _lengths(root)
        state = state.clone()
        line = []
        while not state.is_terminal():
            node = self._tree.table.get(self._tree.key(state))
            while node is None or not node.resolved:
                node = self._think(state, Budget(iterations=1)).node
            action = node.actions[_by_length(node, lengths)]
            line.append(action)
            state.apply_action(action)
        return line


def _most_megabytes(bounds: ProofBounds) -> float | None:
    """By how much the process may grow: as the bounds say, but within the memory that is free."""
    free = free_memory()
    if bounds.megabytes is None or free is None:
        return bounds.megabytes
    return min(bounds.megabytes, SHARE_OF_FREE_MEMORY * free / 1e6)


def _by_length(node: Node, lengths: Mapping[int, int]) -> int:
    """Of the actions that keep a resolved node's value, the one with the shortest proof for who wins, the longest for
    who does not."""
    wins = node.completion == node.kind.won
    best = min if wins else max
    return best(_keeping(node), key=lambda i: lengths.get(id(node.children.get(i)), 0))


def _lengths(root: Node) -> dict[int, int]:
    """How many actions `_by_length` plays from each node below `root` that it may come to, by id.

    What was proven without a node, a match's end or what looking ahead has found, counts 0.
    """
    lengths: dict[int, int] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        following = [node.children[i] for i in _keeping(node) if i in node.children]
        open_ = [child for child in following if id(child) not in lengths]
        if open_ and id(node) not in lengths:
            stack += open_
            continue
        stack.pop()
        chosen = node.children.get(_by_length(node, lengths))
        lengths[id(node)] = 1 + lengths.get(id(chosen), 0)
    return lengths


def _keeping(node: Node) -> list[int]:
    """The proven actions of a resolved node that are worth what it is: by c(s, a), and if neither wins by v(s, a)."""
    proven = [i for i, resolved in enumerate(node.resolutions) if resolved and node.completions[i] == node.completion]
    if node.completion:
        return proven
    return [i for i in proven if node.values[i] == node.value]


def resident_megabytes() -> float:
    """The memory that this process occupies; where the system does not say, the most that it ever has.

    Raises:
        ConfigError: the system says neither, so no bound can be kept.
    """
    taken = occupied()
    if taken is None:
        raise ConfigError(
            "this system does not say what memory a process takes, so it is not bounded here: leave the bound out "
            "(--megabytes none)"
        )
    return taken / 1e6
