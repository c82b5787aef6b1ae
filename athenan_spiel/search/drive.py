"""Driver of a search: runs iterations under a budget and returns the result.

Only the driver reads the clock. The budget is checked between iterations, so a result always rests on whole iterations,
and on at least one. With iterations or evaluations alone it is bit-identical when repeated. For a search with long
iterations (`Search.interruptible`) the budget is also checked after each answer: the iteration is then abandoned, and
the result rests on those before it. A caller with a clock may also end the iterations of other searches early
(`Search.curtails`), and the search one step before its time limit, if the next step is expected to exceed it.

A search ends sooner if its tree is full (`Tree.is_full`): after the iteration that filled it. If the tree was full at
the start, unreachable states are pruned first; if it is still full, the search ends after one iteration.
`Tree.curtailed` counts such searches.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from typing import Protocol, cast

import pyspiel

from athenan_spiel.arguments import require_callable, require_kind
from athenan_spiel.config.settings import Count, Seconds, require_argument
from athenan_spiel.errors import BudgetError, EvaluatorError, SearchError, shown
from athenan_spiel.evaluators.base import Evaluation, Evaluator, checked
from athenan_spiel.games import require_open_state
from athenan_spiel.search.base import Search
from athenan_spiel.search.choice import Decision, best
from athenan_spiel.search.minimax_tree import MinimaxTree
from athenan_spiel.search.node import Node
from athenan_spiel.search.result import SearchResult, Used, make_result
from athenan_spiel.search.tree import Tree
from athenan_spiel.search.walk import Requests, SearchInterrupted, T, one_by_one

Clock = Callable[[], float]
"""Clock that returns seconds since a fixed moment, such as the start of a game."""


@dataclass(frozen=True)
class Budget:
    """Limits of a search: it ends when the first limit is reached, or when the state is proven.

    Attributes:
        seconds: total time, in seconds; the only limit that can be given without its name: `Budget(0.5)`.
        iterations: number of iterations; docs/using.md defines one for each search.
        evaluations: number of states evaluated. In a tree without completion, or of a game with chance, an iteration
            that requests none counts as one, since the search may not end once every line has ended.
        network_seconds: time spent waiting for evaluations, in seconds (*Minimax Strikes Back*, first version, Section
            7.2). An iteration that requests none adds its own time.

    Raises:
        BudgetError: no limit is given; a limit is not a positive number; or it exceeds a hundred years, a billion
            iterations or a billion evaluations. Iterations and evaluations must be whole numbers.
    """

    seconds: float | None = None
    _: KW_ONLY
    iterations: int | None = None
    evaluations: int | None = None
    network_seconds: float | None = None

    def __post_init__(self) -> None:
        limits = {field.name: getattr(self, field.name) for field in fields(self)}
        if all(limit is None for limit in limits.values()):
            raise BudgetError("a budget needs a limit: seconds, iterations, evaluations or network_seconds; got none")
        for name, limit in limits.items():
            annotation = Count if name in ("iterations", "evaluations") else Seconds
            require_argument(f"a budget's {name}", limit, annotation, BudgetError, or_none=True)

    def __repr__(self) -> str:
        limits = ((field.name, getattr(self, field.name)) for field in fields(self))
        return f"Budget({', '.join(f'{name}={limit!r}' for name, limit in limits if limit is not None)})"

    @property
    def timed(self) -> bool:
        """Whether a limit needs a clock."""
        return self.seconds is not None or self.network_seconds is not None

    @property
    def only_timed(self) -> bool:
        """Whether neither iterations nor evaluations are limited."""
        return self.iterations is None and self.evaluations is None

    def spent(self, seconds: float, iterations: int, evaluations: int, network_seconds: float = 0.0) -> bool:
        """Returns whether the used `seconds`, `iterations`, `evaluations` or `network_seconds` reach a limit."""
        return (
            (self.iterations is not None and iterations >= self.iterations)
            or (self.evaluations is not None and evaluations >= self.evaluations)
            or (self.seconds is not None and seconds >= self.seconds)
            or (self.network_seconds is not None and network_seconds >= self.network_seconds)
        )


class Limits(Protocol):
    """Protocol of a budget whose limits may shrink during a search."""

    @property
    def timed(self) -> bool:
        """Whether a limit needs a clock."""

    @property
    def iterations(self) -> int | None:
        """Maximum number of iterations."""

    @property
    def network_seconds(self) -> float | None:
        """Maximum time spent waiting for evaluations, in seconds."""

    def spent(self, seconds: float, iterations: int, evaluations: int, network_seconds: float = 0.0) -> bool:
        """Returns whether the resources used reach a limit."""


def search_under(
    search: Search,
    tree: Tree,
    state: pyspiel.State,
    budget: Limits,
    rng: random.Random,
    clock: Clock | None = None,
    *,
    punctual: bool = False,
    root_actions: Sequence[int] | None = None,
    proofs: Mapping[int, int] | None = None,
) -> Requests[tuple[Node, Used]]:
    """Runs iterations from `state` until the budget is spent or nothing can change. Returns (node, resources used).

    Under a time limit an empty request follows each iteration that made no request, so that a driver of many games can
    continue with the others.

    Args:
        clock: clock for the time limits; the machine's by default.
        punctual: keeps close to the limit of seconds. The search ends when the mean time between two checks would
            exceed the time that is left. The time limits are also checked after each answer, from the first iteration
            on, if the search can end an iteration there (`Search.curtails`). Searches whose trees are learned from keep
            iterations whole.
        root_actions: legal actions, in order, to which the root is restricted; `tree` describes the restricted root.
        proofs: proven gain of player 0 after some actions of `state`, for a tree with all actions of a state.
    """
    clock = clock or time.perf_counter
    expected = _Pace() if punctual and budget.timed else None
    punctual = punctual and budget.timed and search.curtails
    ends = tree.completion and not tree.has_chance  # a sample of a state's outcomes proves nothing
    timed, of_network, bounded = budget.timed, budget.network_seconds is not None, tree.most is not None
    start = clock() if timed else 0.0
    iterations = evaluations = requests = without_request = 0
    waited = 0.0
    tree.planned = budget.iterations
    tree.start(state)
    root = tree.table.get(tree.key(state))
    if bounded and tree.is_full:
        tree.prune(root, rng)
    iterate = search.iteration
    if root_actions is not None:
        root, iterate = None, partial(search.iteration, root_actions=root_actions)
    tree.search_root = root
    if proofs and root is not None:
        cast(MinimaxTree, tree).resolve_actions(root, proofs)
    while root is None or not search.finished(root):
        iteration = iterate(tree, state, rng, root)
        if not search.batched:
            iteration = one_by_one(iteration, needs_first=root is None)
        before, began = evaluations, clock() if of_network else 0.0
        try:
            request = next(iteration)
            while True:
                if count := len(request):
                    evaluations += count
                    requests += 1
                if of_network:
                    asked = clock()
                    answer = yield request
                    waited += clock() - asked
                    request = iteration.send(answer)
                else:
                    request = iteration.send((yield request))
                if search.interruptible and iterations > 0:
                    seconds = clock() - start if timed else 0.0
                    if expected is not None:
                        seconds += expected.next_step(seconds)
                    if budget.spent(seconds, iterations, evaluations + without_request, waited):
                        iteration.close()
                        break
                if punctual:
                    assert expected is not None
                    seconds = clock() - start
                    if budget.spent(seconds + expected.next_step(seconds), 0, 0, waited):
                        request = iteration.throw(SearchInterrupted)
        except StopIteration as finished:
            is_new, root = root is None, finished.value
            tree.search_root = root
            if proofs and is_new:
                cast(MinimaxTree, tree).resolve_actions(root, proofs)
            iterations += 1
        except SearchInterrupted:  # the tree is full
            root = tree.search_root = root or tree.table[tree.key(state)]
        without_request += evaluations == before and not ends
        if of_network and evaluations == before:
            waited += clock() - began
        seconds = clock() - start if timed else 0.0
        if expected is not None:
            seconds += expected.next_step(seconds)
        if budget.spent(seconds, iterations, evaluations + without_request, waited):
            break
        if bounded and tree.is_full:
            tree.curtailed += 1
            break
        if timed and evaluations == before:
            yield []
    assert root is not None
    return root, Used(iterations, evaluations, requests)


class _Pace:
    """Mean time between two checks of the clock, without the time to the first, which may include a warm-up."""

    def __init__(self) -> None:
        self._checks = 0
        self._first = 0.0

    def next_step(self, seconds: float) -> float:
        """Returns the expected duration of the step after this check, 0 before the third check.

        Args:
            seconds: time since the start of the search.
        """
        self._checks += 1
        if self._checks == 1:
            self._first = seconds
        return (seconds - self._first) / (self._checks - 1) if self._checks > 2 else 0.0


def thought(
    search: Search,
    tree: Tree,
    state: pyspiel.State,
    budget: Budget,
    rng: random.Random,
    clock: Clock | None = None,
    *,
    punctual: bool = False,
    decision: Decision = best,
    root_actions: Sequence[int] | None = None,
    order: Decision | None = None,
    proofs: Mapping[int, int] | None = None,
) -> Requests[SearchResult]:
    """Runs `search_under` and returns its result. It is `think` for a driver that answers the requests itself.

    Args:
        order: as for `make_result`.
        proofs: as for `search_under`.
    """
    clock = clock or time.perf_counter
    start = clock()
    allowed = None if root_actions is None else require_root_actions(state, root_actions)
    node, used = yield from search_under(
        search, tree, state, budget, rng, clock, punctual=punctual, root_actions=allowed, proofs=proofs
    )
    return make_result(
        node,
        rng,
        used,
        clock() - start,
        state,
        decision=decision,
        root_actions=allowed,
        calibration=search.calibration,
        order=order,
    )


def require_root_actions(state: pyspiel.State, root_actions: Sequence[int]) -> list[int]:
    """Returns the given actions without duplicates, in the order of the legal actions.

    Raises:
        SearchError: there are no actions, or one is not legal in `state`.
    """
    legal = state.legal_actions()
    try:
        wanted = set(root_actions)
    except TypeError:
        raise SearchError(f"expected root_actions as a sequence of legal actions, got {shown(root_actions)}") from None
    if wrong := [action for action in wanted if type(action) is bool or action not in legal]:
        raise SearchError(f"expected legal actions as root_actions, got {shown(wrong[0])}: take some of {shown(legal)}")
    if not wanted:
        raise SearchError("expected at least one legal action as root_actions, got none: omit it to search all")
    return [action for action in legal if action in wanted]


def think(
    search: Search,
    state: pyspiel.State,
    budget: Budget,
    evaluator: Evaluator,
    *,
    tree: Tree | None = None,
    rng: random.Random | None = None,
    decision: Decision = best,
    root_actions: Sequence[int] | None = None,
) -> SearchResult:
    """Searches from `state` until `budget` is spent or the state is proven.

    Args:
        search: search to run, such as `Descent(game)`.
        state: state of the search's game, not terminal; it is not changed.
        budget: limits of the search.
        evaluator: returns the values of n states for player 0, float [n]. Its exceptions are passed on unchanged.
        tree: tree to grow (`search.new_tree()`). Pass the same tree for all moves of a game to reuse what was found.
        rng: breaks ties; `random.Random(0)` by default.
        decision: selects the result's `action`, with which its principal variation starts; Algorithm 11 by default.
        root_actions: legal actions to which the search is restricted. No other action of `state` is searched or
            evaluated. None searches all. A given tree keeps what was found below the root, and nothing about `state`.

    Returns:
        Result for the state and its n legal actions, or the n actions in `root_actions`.

    Raises:
        SearchError: `state` does not belong to the search's game, or no single player is to move in it; the tree
            belongs to another search; `search` or `rng` has the wrong type; `decision` is not callable; `root_actions`
            is empty or has an illegal action.
        BudgetError: the budget is missing.
        EvaluatorError: the evaluator is missing, returned the wrong number of values, a value that is not finite, or
            priors that are not probabilities.
    """
    require_kind("search", search, Search, SearchError)
    require_open_state(search.game, state)
    require_kind("budget", budget, Budget, BudgetError)
    require_callable("evaluator", evaluator, EvaluatorError)
    require_kind("rng", rng, random.Random, SearchError, or_none=True)
    require_callable("decision", decision, SearchError)
    if tree is not None:
        search.require_own(tree)
    tree = tree if tree is not None else search.new_tree()
    rng = rng or random.Random(0)
    return answered(thought(search, tree, state, budget, rng, decision=decision, root_actions=root_actions), evaluator)


def answered(requests: Requests[T], evaluator: Evaluator) -> T:
    """Runs a generator to its end with `evaluator` answering its requests. Returns the generator's result."""
    try:
        request = next(requests)
        while True:
            evaluation = checked(evaluator(request), request) if request else Evaluation([])
            request = requests.send(evaluation)
    except StopIteration as finished:
        answer: T = finished.value
        return answer
