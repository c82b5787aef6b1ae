"""Solver: proves the value of a position within limits, by proof-number search, or by Descent or UBFM with completion.

The papers' searches prove states as they search (Section 5). The solver runs one of them on a single tree until the
position is proven, looks one action ahead (`search.ahead`), and limits the memory of the tree. A trained network guides
the search; a proof is true with any evaluator. Proof-number search (`proof_numbers`) uses no evaluator. It is compiled,
and proves small positions ten to a thousand times faster, where it is available.

1. A `Proof` with `proven` is true of the game. Its `value` is the result of best play, with chance the expectation of
   the results over all outcomes. Each action and reply of its line keeps that value. The line ends with the game, or
   where chance chooses.
2. Without `proven`, value and line are the search's estimate.
3. A proof that no limit in seconds or megabytes has ended is bit-identical when repeated.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

import pyspiel

from athenan_spiel.arguments import require_callable, require_kind
from athenan_spiel.config import SEARCH_CONFIGS
from athenan_spiel.config.machine import Megabytes
from athenan_spiel.config.search import ProverName, SolverName
from athenan_spiel.config.settings import Count, Seconds, require_argument
from athenan_spiel.errors import ConfigError, EvaluatorError, SearchError, nearest, shown
from athenan_spiel.evaluators.base import Evaluator
from athenan_spiel.evaluators.simple import ZeroEvaluator
from athenan_spiel.games import given_game, require_state
from athenan_spiel.games.chance import has_chance, is_chance
from athenan_spiel.games.rows import require_single_values
from athenan_spiel.games.validation import require_choice
from athenan_spiel.outcomes import Gain, make_outcome
from athenan_spiel.search import Budget, Search, SearchResult, make_search
from athenan_spiel.search.drive import answered, thought
from athenan_spiel.search.node import Node, NodeKind
from athenan_spiel.search.tree import Tree
from athenan_spiel.solving.proof_numbers import ProofNumberSearch, unavailable
from athenan_spiel.system.machine import free_memory
from athenan_spiel.system.portable import resident_memory

Ending = Literal["proven", "seconds", "iterations", "megabytes"]

SECONDS_PER_CHECK = 0.05
"""Time between two checks of the limits and progress reports of proof-number search, in seconds."""
ITERATIONS_PER_CHECK = 20
"""Number of iterations between two checks of the limits and progress reports."""
DEFAULT_MEGABYTES = 4000.0
"""Default limit on the growth of the process, in megabytes. A position in the tree takes about 2 kB."""
MAX_FREE_MEMORY_FRACTION = 0.9
"""Maximum fraction of the free memory to use, so that the proof ends before the system stops the process."""


@dataclass(frozen=True, kw_only=True)
class Proof:
    """State of a proof, final or in progress. Values are player 0's.

    Attributes:
        proven: whether the position's value is proven.
        value: if proven, the gain of best play: 1 if player 0 wins, -1 if player 1 wins, 0 for a draw; with chance the
            expected gain, in [-1, 1]. In a game for one player it is the best possible outcome, with chance the best
            expected outcome. If not proven, an estimate in the outcome's unit.
        line: actions from the position on, starting with the best. It ends where chance chooses; in a chance state it
            is empty. The line of a final, proven result otherwise ends with the game, any other line where the tree
            ends.
        nodes: number of states expanded.
        iterations, evaluations, seconds: resources used; `evaluations` counts states. Proof-number search has neither
            iterations nor evaluations.
        ending: reason for the end; None while in progress.
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
        """First action of the line, which is not empty."""
        return self.line[0]


@dataclass(frozen=True, kw_only=True)
class ProofBounds:
    """Limits of a proof. None sets no limit.

    Attributes:
        seconds: maximum time, in seconds. The iteration in progress is finished.
        iterations: maximum number of iterations.
        megabytes: maximum growth of the process, in megabytes; 4,000 by default. It is capped at
            `MAX_FREE_MEMORY_FRACTION` of the memory that is free when the proof starts.

    Raises:
        ConfigError: a limit is not a number greater than zero, or is too large.
    """

    seconds: float | None = None
    iterations: int | None = None
    megabytes: float | None = DEFAULT_MEGABYTES

    def __post_init__(self) -> None:
        for name, annotation in (("seconds", Seconds), ("iterations", Count), ("megabytes", Megabytes)):
            called = f"the bound of a proof in {name}"
            require_argument(called, getattr(self, name), annotation, ConfigError, or_none=True)


def solve(
    game: pyspiel.Game | str,
    state: pyspiel.State | None = None,
    *,
    algorithm: SolverName | None = None,
    evaluator: Evaluator | None = None,
    outcome: Callable[[pyspiel.State], float] | None = None,
    bounds: ProofBounds | None = None,
    rng: random.Random | None = None,
    on_progress: Callable[[Proof], object] | None = None,
) -> Proof:
    """Proves the value of `state`.

    Args:
        game: the game, or its string.
        state: state of the game, not terminal; the initial one by default. It may be a chance state.
        algorithm: "proof_numbers", "descent" or "ubfm"; None for "proof_numbers" if it is available for the game and
            neither an evaluator nor a limit of iterations is given, else "descent".
        evaluator: returns the values of states for player 0; zeros by default. It affects only the time to a proof.
            Proof-number search ignores it.
        outcome: f_t, the terminal value for player 0; by default the gain, or the score in a game for one player. A
            network requires the outcome it was trained with.
        bounds: limits of the proof; by default the process may grow by 4,000 megabytes, as in `athenan solve`.
        rng: breaks ties; `random.Random(0)` by default.
        on_progress: called with the current `Proof` every `ITERATIONS_PER_CHECK` iterations.

    Returns:
        The proof, or the state of the search when a limit was reached.

    Raises:
        UnsupportedGameError: the game is invalid, or violates an assumption of the algorithms.
        SearchError: `state` is terminal or does not belong to the game; the game's values are rows; or another
            argument has the wrong type.
        ConfigError: the algorithm is unknown or unavailable, or `bounds` has the wrong type or a limit of iterations
            for proof-number search.
        EvaluatorError: the evaluator returned the wrong number of values, or one that is not finite.
    """
    game = given_game(game)
    require_single_values(game, "a proof")
    state = game.new_initial_state() if state is None else state
    require_state(game, state)
    if not is_chance(state):
        require_choice(state)
    provers = get_args(SolverName)
    if algorithm is not None and (not isinstance(algorithm, str) or algorithm not in provers):
        raise ConfigError(
            f"a position is proven by {', '.join(provers[:-1])} or {provers[-1]}, got {shown(algorithm)}"
            f"{nearest(algorithm, provers)}"
        )
    require_callable("evaluator", evaluator, EvaluatorError, or_none=True)
    require_callable("outcome", outcome, SearchError, or_none=True)
    require_kind("bounds", bounds, ProofBounds, ConfigError, or_none=True)
    require_kind("rng", rng, random.Random, SearchError, or_none=True)
    require_callable("on_progress", on_progress, SearchError, or_none=True)
    rng = rng or random.Random(0)
    outcome = outcome or (Gain() if game.num_players() > 1 else make_outcome("score", game, rng))
    bounds, on_progress = bounds or ProofBounds(), on_progress or (lambda proof: None)
    if algorithm is None:
        guided = evaluator is not None or bounds.iterations is not None or unavailable(game) is not None
        algorithm = "descent" if guided else "proof_numbers"
    if algorithm == "proof_numbers":
        scale = float(getattr(outcome, "scale", 1.0))
        return _NumbersSolver(game, bounds, scale).prove(state, bounds, on_progress)
    solver = _Solver(proof_search(game, outcome, algorithm), evaluator or ZeroEvaluator(), rng)
    return solver.prove(state, bounds, on_progress)


def proof_search(
    game: pyspiel.Game, outcome: Callable[[pyspiel.State], float], algorithm: ProverName = "descent"
) -> Search:
    """Returns the search of `solve`: it looks one action ahead, and follows each outcome of chance."""
    all_outcomes = game.max_chance_outcomes() if has_chance(game) else None
    config = SEARCH_CONFIGS[algorithm](wins_ahead=game.num_players() > 1, chance_samples=all_outcomes)
    return make_search(game, config, outcome)


class _NumbersSolver:
    """Proof-number search of one position. Its estimates are the middle of the proven bounds, times `scale`."""

    def __init__(self, game: pyspiel.Game, bounds: ProofBounds, scale: float) -> None:
        if bounds.iterations is not None:
            raise ConfigError(
                f"proof-number search has no iterations, got a limit of {bounds.iterations}: limit seconds"
            )
        if (reason := unavailable(game)) is not None:
            raise ConfigError(f"proof-number search can't be used: {reason}; use 'descent'")
        most = _most_megabytes(bounds)
        self._search = ProofNumberSearch(game, DEFAULT_MEGABYTES if most is None else most)
        self._scale = scale
        self._start = time.perf_counter()

    def prove(self, state: pyspiel.State, bounds: ProofBounds, on_progress: Callable[[Proof], object]) -> Proof:
        """Searches until `state` is proven or a limit is reached."""

        def report() -> None:
            on_progress(self._proof_so_far(None, self._promising(state)))

        ending = self._searched(state, bounds.seconds, report)
        if ending != "proven":
            return self._proof_so_far(ending, self._promising(state))
        proof, line = self._proof_so_far(ending, ()), []
        state = state.clone()
        while not state.is_terminal() and self._searched(state) == "proven":
            line.append(self._search.best_action)
            state.apply_action(line[-1])
        return replace(proof, line=tuple(line), nodes=self._search.nodes, seconds=time.perf_counter() - self._start)

    def _searched(
        self, state: pyspiel.State, seconds: float | None = None, report: Callable[[], None] = lambda: None
    ) -> Ending:
        """Searches `state`, and returns why the search has ended."""
        self._search.start(state)
        while True:
            left = math.inf if seconds is None else seconds - (time.perf_counter() - self._start)
            if left <= 0:
                return "seconds"
            ending = self._search.run(min(left, SECONDS_PER_CHECK))
            if ending != "limit":
                return "proven" if ending == "proven" else "megabytes"
            report()

    def _proof_so_far(self, ending: Ending | None, line: tuple[int, ...]) -> Proof:
        proven, bounds = ending == "proven", self._search.root.bounds
        return Proof(
            proven=proven,
            value=sum(bounds) / 2 * (1.0 if proven else self._scale),
            line=line,
            nodes=self._search.nodes,
            iterations=0,
            evaluations=0,
            seconds=time.perf_counter() - self._start,
            ending=ending,
        )

    def _promising(self, state: pyspiel.State) -> tuple[int, ...]:
        """Returns the most promising action by its numbers; a longer line would not be best play."""
        mover, actions = state.current_player(), self._search.actions
        best = max(actions, key=lambda action: actions[action].promise(mover), default=state.legal_actions()[0])
        return (best,)


class _Solver:
    """A search on one tree, with the resources it has used."""

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
        """Searches until `state` is resolved or a limit is reached."""
        most = _most_megabytes(bounds)
        before = 0.0 if most is None else resident_megabytes()
        while True:
            result = self._think(state, self._next_budget(bounds))
            if result.is_resolved:
                line = tuple(self._proven_line(state))
                return replace(self._proof_so_far(result), line=line, ending="proven")
            proof = self._proof_so_far(result)
            if bounds.seconds is not None and proof.seconds >= bounds.seconds:
                return replace(proof, ending="seconds")
            if bounds.iterations is not None and proof.iterations >= bounds.iterations:
                return replace(proof, ending="iterations")
            if most is not None and resident_megabytes() - before >= most:
                return replace(proof, ending="megabytes")
            on_progress(proof)

    def _next_budget(self, bounds: ProofBounds) -> Budget:
        """Returns the budget until the next check of the limits, at least one iteration."""
        iterations = (
            ITERATIONS_PER_CHECK
            if bounds.iterations is None
            else min(ITERATIONS_PER_CHECK, bounds.iterations - self._iterations)
        )
        if bounds.seconds is None:
            return Budget(iterations=iterations)
        left = bounds.seconds - (time.perf_counter() - self._start)
        return Budget(iterations=iterations, seconds=max(left, 1e-6))

    def _think(self, state: pyspiel.State, budget: Budget) -> SearchResult:
        result = answered(thought(self._search, self._tree, state, budget, self._rng), self._evaluator)
        self._iterations += result.iterations
        self._evaluations += result.evaluations
        return result

    def _proof_so_far(self, result: SearchResult) -> Proof:
        return Proof(
            proven=result.is_resolved,
            value=float(result.completion) if result.is_resolved and self._two_players else result.value,
            line=_before_chance(result),
            nodes=len(self._tree.nodes),
            iterations=self._iterations,
            evaluations=self._evaluations,
            seconds=time.perf_counter() - self._start,
        )

    def _proven_line(self, state: pyspiel.State) -> list[int]:
        """Returns best play of both sides from `state`, which is resolved, to the end of the game or to chance.

        States that were proven by looking ahead have no node; they are searched here, an iteration each.
        """
        root = self._tree.table[self._tree.key(state)]
        lengths = _lengths(root)
        state = state.clone()
        line = []
        while not (state.is_terminal() or is_chance(state)):
            node = self._tree.table.get(self._tree.key(state))
            while node is None or not node.resolved:
                node = self._think(state, Budget(iterations=1)).node
            action = node.actions[_by_length(node, lengths)]
            line.append(action)
            state.apply_action(action)
        return line


def _before_chance(result: SearchResult) -> tuple[int, ...]:
    """Returns the principal variation up to the first chance state."""
    assert result.state is not None
    state = result.state.clone()
    line = []
    for action in result.principal_variation:
        if is_chance(state):
            break
        line.append(action)
        state.apply_action(action)
    return tuple(line)


def _most_megabytes(bounds: ProofBounds) -> float | None:
    """Returns the maximum growth of the process, in megabytes, within the free memory."""
    free = free_memory()
    if bounds.megabytes is None or free is None:
        return bounds.megabytes
    return min(bounds.megabytes, MAX_FREE_MEMORY_FRACTION * free / 1e6)


def _by_length(node: Node, lengths: Mapping[int, int]) -> int:
    """Returns the index of a best action of a resolved node: the shortest proof for the winner, else the longest."""
    wins = node.completion == node.kind.won
    best = min if wins else max
    return best(_value_keeping(node), key=lambda i: lengths.get(id(node.children.get(i)), 0))


def _lengths(root: Node) -> dict[int, int]:
    """Returns the number of actions that `_by_length` plays from each node below `root` that it can reach, by id.

    States proven without a node, terminal or by looking ahead, count 0. From a chance node the longest play counts.
    """
    lengths: dict[int, int] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        ways = range(len(node.actions)) if node.kind is NodeKind.CHANCE else _value_keeping(node)
        following = [node.children[i] for i in ways if i in node.children]
        open_ = [child for child in following if id(child) not in lengths]
        if open_ and id(node) not in lengths:
            stack += open_
            continue
        stack.pop()
        played = ways if node.kind is NodeKind.CHANCE else [_by_length(node, lengths)]
        lengths[id(node)] = 1 + max(lengths.get(id(node.children.get(i)), 0) for i in played)
    return lengths


def _value_keeping(node: Node) -> list[int]:
    """Returns the proven actions that keep the value of a resolved node.

    The value is c(s, a), or v(s, a) if neither player wins.
    """
    proven = [i for i, resolved in enumerate(node.resolutions) if resolved and node.completions[i] == node.completion]
    if node.completion:
        return proven
    return [i for i in proven if node.values[i] == node.value]


def resident_megabytes() -> float:
    """Returns the memory that this process uses, in megabytes. Some systems report only its peak.

    Raises:
        ConfigError: the system reports neither, so no limit can be kept.
    """
    taken = resident_memory()
    if taken is None:
        raise ConfigError(
            "this system does not report the memory of a process, so it cannot be limited: omit the limit "
            "(--megabytes none)"
        )
    return taken / 1e6
