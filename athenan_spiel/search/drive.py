"""Thinking about one state for a while: the budget, the drive of a search under it, and what comes out.

The clock is here and nowhere below. A budget is looked at between iterations, so a result always rests on whole
iterations, and at least on one; with iterations or evaluations alone it is reproducible to the bit. Of a search whose
iterations may be long (`Search.interruptible`) it is also looked at after each answer: the iteration is then given up,
and the result rests on those before it. Who plays by the clock may have the iterations of other searches ended there as
well (`Search.curtails`).

A search ends sooner where its tree is full (`Tree.is_full`): after the iteration that filled it, and in a tree that was
full when it began, with all let go that cannot be reached any more, after one. `Tree.curtailed` counts such searches.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Protocol

import pyspiel

from athenan_spiel.arguments import require_callable, require_kind
from athenan_spiel.config.settings import Count, Seconds, require_argument
from athenan_spiel.errors import BudgetError, EvaluatorError, SearchError, shown
from athenan_spiel.evaluators.base import Evaluation, Evaluator, checked
from athenan_spiel.games import require_open_state
from athenan_spiel.search.base import Search
from athenan_spiel.search.choice import Decision, best
from athenan_spiel.search.node import Node
from athenan_spiel.search.result import SearchResult, Used, make_result
from athenan_spiel.search.tree import Tree
from athenan_spiel.search.walk import Enough, Questions, T, one_by_one

Clock = Callable[[], float]
"""Seconds from some moment on, such as a match's own."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How long to think about a state: until the first of these is reached, or the state is proven.

    Attributes:
        seconds: time in all.
        iterations: of the search; docs/using.md says what one is in each.
        evaluations: states valued. In a tree without completion an iteration that asks for none counts as one, as
            thinking would not end where every line has.
        network_seconds: time in which values are waited for (*Minimax Strikes Back*, first version, Section 7.2); of an
            iteration that asks for none its own time counts, too.

    Raises:
        BudgetError: no limit is given, or one is not a number greater than zero, or larger than any use of it: a
            hundred years, a billion iterations or evaluations, which are whole numbers.
    """

    seconds: float | None = None
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

    @property
    def timed(self) -> bool:
        """A clock is needed to see when it is spent."""
        return self.seconds is not None or self.network_seconds is not None

    def spent(self, seconds: float, iterations: int, evaluations: int, network_seconds: float = 0.0) -> bool:
        """True once what has been used (`seconds`, `iterations`, `evaluations`, `network_seconds`) reaches a limit."""
        return (
            (self.iterations is not None and iterations >= self.iterations)
            or (self.evaluations is not None and evaluations >= self.evaluations)
            or (self.seconds is not None and seconds >= self.seconds)
            or (self.network_seconds is not None and network_seconds >= self.network_seconds)
        )


class Limits(Protocol):
    """A budget, or what stands for one that may become smaller while a search is in progress."""

    @property
    def timed(self) -> bool:
        """A clock is needed to see when it is spent."""

    @property
    def iterations(self) -> int | None:
        """Maximum number of iterations."""

    @property
    def network_seconds(self) -> float | None:
        """Time in which values are waited for."""

    def spent(self, seconds: float, iterations: int, evaluations: int, network_seconds: float = 0.0) -> bool:
        """True once what has been used reaches a limit."""


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
) -> Questions[tuple[Node, Used]]:
    """Iterate from `state` until the budget is spent or nothing can change: (node, what was used).

    Under a limit in time each iteration that asked for nothing is followed by an empty question: a state whose best
    line has ended would else be searched to the end of its seconds, and other matches could not go on meanwhile.

    Args:
        clock: by which the seconds count; the machine's by default.
        punctual: a limit in time is looked at after each answer, too, where the search can end an iteration there
            (`Search.curtails`), the first one as well. Whoever learns from the tree leaves iterations whole.
        root_actions: legal actions, in their order, to which the root is restricted; `Tree` says what its node is.
    """
    clock = clock or time.perf_counter
    punctual = punctual and budget.timed and search.curtails
    timed, of_network, bounded = budget.timed, budget.network_seconds is not None, tree.most is not None
    start = clock() if timed else 0.0
    iterations = evaluations = questions = unasked = 0
    waited = 0.0
    tree.planned = budget.iterations
    root = tree.table.get(tree.key(state))
    if bounded and tree.is_full:
        tree.let_go(root, rng)
    iterate = search.iteration
    if root_actions is not None:
        root, iterate = None, partial(search.iteration, root_actions=root_actions)
    tree.search_root = root
    while root is None or not search.finished(root):
        iteration = iterate(tree, state, rng, root)
        if not search.batched:
            iteration = one_by_one(iteration, needs_first=root is None)
        before, began = evaluations, clock() if of_network else 0.0
        try:
            question = next(iteration)
            while True:
                if count := len(question):
                    evaluations += count
                    questions += 1
                if of_network:
                    asked = clock()
                    answer = yield question
                    waited += clock() - asked
                    question = iteration.send(answer)
                else:
                    question = iteration.send((yield question))
                if (
                    search.interruptible
                    and iterations > 0
                    and budget.spent(clock() - start if timed else 0.0, iterations, evaluations + unasked, waited)
                ):
                    iteration.close()
                    break
                if punctual and budget.spent(clock() - start, 0, 0, waited):
                    question = iteration.throw(Enough)
        except StopIteration as finished:
            root = tree.search_root = finished.value
            iterations += 1
        except Enough:  # the tree is full
            root = tree.search_root = root or tree.table[tree.key(state)]
        unasked += evaluations == before and not tree.completion
        if of_network and evaluations == before:
            waited += clock() - began
        if budget.spent(clock() - start if timed else 0.0, iterations, evaluations + unasked, waited):
            break
        if bounded and tree.is_full:
            tree.curtailed += 1
            break
        if timed and evaluations == before:
            yield []
    assert root is not None
    return root, Used(iterations, evaluations, questions)


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
) -> Questions[SearchResult]:
    """`search_under`, and what it has found: `think`, for a driver that answers the questions itself."""
    clock = clock or time.perf_counter
    start = clock()
    allowed = None if root_actions is None else require_root_actions(state, root_actions)
    node, used = yield from search_under(
        search, tree, state, budget, rng, clock, punctual=punctual, root_actions=allowed
    )
    return make_result(node, rng, used, clock() - start, state, decision=decision, root_actions=allowed)


def require_root_actions(state: pyspiel.State, root_actions: Sequence[int]) -> list[int]:
    """Returns the given actions without duplicates, in the order of the legal actions.

    Raises:
        SearchError: there are none, or one is not legal in `state`.
    """
    legal = state.legal_actions()
    try:
        wanted = set(root_actions)
    except TypeError:
        raise SearchError(f"expected root_actions as a sequence of legal actions, got {shown(root_actions)}") from None
    if wrong := [action for action in wanted if type(action) is bool or action not in legal]:
        raise SearchError(f"expected legal actions as root_actions, got {shown(wrong[0])}: take some of {shown(legal)}")
    if not wanted:
        raise SearchError("expected at least one legal action as root_actions, got none: leave it out to search all")
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
    """Search from `state` with `evaluator` until `budget` is spent or the state is proven.

    Args:
        search: such as `Descent(game)`.
        state: of the search's game, not terminal; it is left as it is.
        budget: how long to think.
        evaluator: values n states for player 0, as float [n]; what it raises comes through as it is.
        tree: grown further if given (`search.new_tree()`), so that one match's thoughts build on each other.
        rng: breaks ties; `random.Random(0)` by default.
        decision: selects `action` of the result, with which its principal variation begins. By default Algorithm 11.
        root_actions: legal actions to which the search is restricted: no other action of `state` is searched or
            evaluated. None searches all. A tree that is given keeps what was found below, and nothing about `state`.

    Returns:
        What is known of the state and of each of its n legal actions, or of each of the n actions in `root_actions`.

    Raises:
        SearchError: `state` is none of the search's game, or no single player is to move in it; the tree is another
            search's; `search` or `rng` is none; `decision` is not callable; `root_actions` is empty or has an action
            that is not legal.
        BudgetError, EvaluatorError: there is no budget or no evaluator.
        EvaluatorError: the evaluator answered with the wrong number of values, or one that is not finite; or with
            priors that are no probabilities.
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


def answered(questions: Questions[T], evaluator: Evaluator) -> T:
    """What the generator returns when `evaluator` answers all it asks."""
    try:
        question = next(questions)
        while True:
            evaluation = checked(evaluator(question), question) if question else Evaluation([])
            question = questions.send(evaluation)
    except StopIteration as finished:
        answer: T = finished.value
        return answer
