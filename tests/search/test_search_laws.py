"""Laws of the search: the tree's clauses after every iteration, what is asked, what is counted, what chance decides.

The strongest of them: table by table the search is the article's, as `oracles.article` has it line by line.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

import pyspiel
import pytest
from drivers import answered, evaluation
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.article import Article
from oracles.brute_force import BruteForce, load, who_won
from oracles.evaluators import Evaluator, coarse, constant, noise
from oracles.proofs import check_proofs, nodes_below

from athenan_spiel.outcomes import make_outcome
from athenan_spiel.search import UBFM, Budget, Descent, Search, think
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Tree

SEARCHES = [Descent, UBFM]
GAMES = [
    "tic_tac_toe",
    "nim(pile_sizes=1;2;3)",
    "dots_and_boxes(num_rows=1,num_cols=2)",
    "hex(board_size=3)",
    "breakthrough(rows=4,columns=2)",
    "clobber(rows=3,columns=3)",
    "amazons(board_size=6)",
    "ultimate_tic_tac_toe",
    "oware(num_houses_per_player=2,num_seeds_per_house=2)",
]
"""Among them draws, several actions in a row by one player, transpositions, positions that recur."""


def iterations(
    search: Search, tree: Tree, state: pyspiel.State, evaluator: Evaluator, rng: random.Random, most: int
) -> Iterator[tuple[Node, list[Sequence[pyspiel.State]]]]:
    """Up to `most` iterations from `state`, while it is not resolved."""
    root = None
    for _ in range(most):
        if root is not None and root.resolved:
            return
        root, asked = answered(search.iteration(tree, state, rng, root), evaluator)
        yield root, asked


Labels = tuple[float, int, bool, tuple[float, ...], tuple[int, ...], tuple[int, ...], dict[int, int]]


def labels(node: Node) -> Labels:
    """Returns everything that changes in a node."""
    return (
        node.value,
        node.completion,
        node.resolved,
        tuple(node.values),
        tuple(node.completions),
        tuple(node.resolutions),
        dict(node.visits),
    )


def contents(tree: Tree) -> dict[object, Labels]:
    return {key: labels(node) for key, node in tree.table.items()}


def check_clauses(tree: Tree) -> None:
    """Checks laws 1, 2 and 4 of `athenan_spiel.search.node` for every node."""
    for key, node in tree.table.items():
        best = node.kind.best
        worths = list(zip(node.completions, node.values, strict=True))
        assert (node.completion, node.value) == best(worths), key
        assert node.resolved == (abs(node.completion) == 1 or all(node.resolutions)), key
        assert all(r == 1 for c, r in zip(node.completions, node.resolutions, strict=True) if c != 0), key
        assert node.unresolved == node.resolutions.count(0)


def check_nothing_proven_was_taken_back(before: dict[object, Labels], tree: Tree) -> None:
    """Checks law 3: resolved labels never change."""
    for key, (value, completion, resolved, values, completions, resolutions, _) in before.items():
        node = tree.table[key]  # type: ignore[index]
        if resolved:
            assert (node.value, node.completion, node.resolved) == (value, completion, True)
        for i, proven in enumerate(resolutions):
            if proven:
                assert (node.values[i], node.completions[i], node.resolutions[i]) == (values[i], completions[i], 1)


def check_path(before: dict[object, Labels], tree: Tree) -> int:
    """On the path just walked v(s, a), c(s, a), r(s, a) are those of a(s); returns its number of actions.

    Clause 5 lets them be older elsewhere.
    """
    length = 0
    for key, node in tree.table.items():
        was = before[key][-1] if key in before else {}
        for i, count in node.visits.items():
            if count != was.get(i, 0):
                assert count == was.get(i, 0) + 1, "an action is selected once an iteration"
                length += 1
                if i in node.children:
                    child = node.children[i]
                    assert node.values[i] == child.value
                    assert node.resolutions[i] == child.resolved
                    assert node.completions[i] == child.completion
    return length


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", GAMES)
def test_clauses_hold_after_every_iteration(spec: str, kind: type[Search]) -> None:
    game = load(spec)
    for seed, evaluator in enumerate([noise(0), coarse(1), constant(0.0)]):
        search = kind(game)
        tree = search.new_tree()
        before: dict[object, Labels] = {}
        for _ in iterations(search, tree, game.new_initial_state(), evaluator, random.Random(seed), 40):
            check_clauses(tree)
            check_nothing_proven_was_taken_back(before, tree)
            check_path(before, tree)
            before = contents(tree)


@pytest.mark.parametrize("kind", SEARCHES)
def test_the_state_given_is_left_as_it_is(kind: type[Search]) -> None:
    state = load("tic_tac_toe").new_initial_state().child(4)
    think(kind(state.get_game()), state, Budget(iterations=20), noise(0))
    assert state.history() == [4]


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", GAMES)
def test_what_is_asked(spec: str, kind: type[Search]) -> None:
    """Every non-terminal child of every expanded state, once for each expansion; and nothing else."""
    game = load(spec)
    search = kind(game)
    tree = search.new_tree()
    state = game.new_initial_state()
    asked: list[pyspiel.State] = []
    for _, requests in iterations(search, tree, state, noise(0), random.Random(0), 60):
        for request in requests:
            assert request
            parent = game.new_initial_state()
            for action in request[0].history()[:-1]:
                parent.apply_action(action)
            children = [parent.child(action) for action in parent.legal_actions()]
            assert [q.history() for q in request] == [c.history() for c in children if not c.is_terminal()]
        if kind is UBFM:
            assert len(requests) <= 1
        asked += [child for request in requests for child in request]
    assert not any(child.is_terminal() for child in asked)
    expected = sum(
        not position.child(action).is_terminal()
        for node, position in nodes_below(tree, state)
        for action in node.actions
    )
    assert len(asked) == expected
    result = think(kind(game), state, Budget(iterations=60), noise(0))
    assert result.evaluations == len(asked)


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", GAMES)
def test_counts_of_selections(spec: str, kind: type[Search]) -> None:
    """At the root: one selection an iteration, but for UBFM's first, which only expands it.

    Elsewhere: whoever arrives at an unresolved state selects, but for UBFM's first arrival, and for Descent's if the
    state is proven by expanding it.
    """
    game = load(spec)
    search = kind(game)
    tree = search.new_tree()
    state = game.new_initial_state()
    count = sum(1 for _ in iterations(search, tree, state, noise(3), random.Random(0), 80))
    root = tree.table[tree.key(state)]
    assert sum(root.visits.values()) == count - (kind is UBFM)
    arrivals: Counter[int] = Counter()
    for node, _ in nodes_below(tree, state):
        for i, child in node.children.items():
            arrivals[id(child)] += node.count(i)
            assert node.count(i) > 0
    for node, position in nodes_below(tree, state):
        selections = sum(node.visits.values())
        if node is not root:
            first = 1 if kind is UBFM else 0
            if not node.resolved:
                assert selections == arrivals[id(node)] - first, position.history()
            else:
                assert selections <= arrivals[id(node)]


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", GAMES)
def test_descent_ends_on_what_is_proven_and_ubfm_where_it_expands(spec: str, kind: type[Search]) -> None:
    game = load(spec)
    search = kind(game)
    tree = search.new_tree()
    before: dict[object, Labels] = {}
    for _, requests in iterations(search, tree, game.new_initial_state(), noise(5), random.Random(0), 25):
        added = [node for key, node in tree.table.items() if key not in before]
        if kind is UBFM:
            assert len(added) <= 1
            assert len(added) >= len(requests)
        resolved_now = sum(
            sum(node.resolutions) > (sum(before[key][5]) if key in before else 0) for key, node in tree.table.items()
        )
        if kind is Descent:
            assert resolved_now, "an iteration of Descent brings a proof, down to the end of a match"
        elif not added:
            assert resolved_now, "an iteration of UBFM that expands nothing has met what is proven"
        before = contents(tree)


ARTICLES = {
    (Descent, True): "completed_descent_iteration",
    (Descent, False): "descent_iteration",
    (UBFM, True): "completed_ubfm_iteration",
    (UBFM, False): "ubfm_iteration",
}


@pytest.mark.parametrize(("kind", "completion"), ARTICLES)
@pytest.mark.parametrize("spec", GAMES)
@pytest.mark.parametrize("outcome_name", ["gain", "additive_depth"])
def test_the_search_is_the_articles(outcome_name: str, spec: str, kind: type[Search], completion: bool) -> None:
    """Algorithms 9 to 12 and 1: after every iteration all tables are equal, ties drawn alike."""
    game = load(spec)
    outcome = make_outcome(outcome_name, game, random.Random(0))  # type: ignore[arg-type]
    for seed, evaluator in enumerate([noise(7), coarse(8), constant(0.0)]):
        search = kind(game, completion=completion, outcome=outcome)
        tree = search.new_tree()
        article = Article(
            f_theta=lambda s, e=evaluator: float(e([s])[0]),  # type: ignore[misc]
            f_t=outcome,
            b_t=who_won,
            key=tree.key,
            rng=random.Random(seed),
        )
        iteration = getattr(article, ARTICLES[kind, completion])
        state = game.new_initial_state()
        for _ in iterations(search, tree, state, evaluator, random.Random(seed), 30):
            iteration(state)
            assert set(tree.table) == article.S
            check_same_tables(article, tree, completion)


def check_same_tables(article: Article, tree: Tree, completion: bool) -> None:
    for key, node in tree.table.items():
        arcs = [(key, action) for action in node.actions]
        assert node.values == [article.v_arc[arc] for arc in arcs]
        assert node.value == article.v[key]
        assert [node.count(i) for i in range(len(arcs))] == [article.n.get(arc, 0) for arc in arcs]
        if completion:
            assert list(node.completions) == [article.c_arc[arc] for arc in arcs]
            assert list(node.resolutions) == [article.r_arc[arc] for arc in arcs]
            assert (node.completion, node.resolved) == (article.c[key], bool(article.r[key]))
        else:
            assert not any(node.completions)
            assert not any(node.resolutions)
            assert not node.resolved


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", GAMES)
def test_an_iteration_broken_off_leaves_a_sound_tree(spec: str, kind: type[Search]) -> None:
    """After an evaluator's error or Ctrl-C the tree is still true, and the search can continue."""
    game = load(spec)
    search = kind(game)
    tree = search.new_tree()
    rng = random.Random(0)
    state = game.new_initial_state()
    evaluator = noise(0)
    for breaks in range(12):
        before = contents(tree)
        iteration = search.iteration(tree, state, rng)
        try:
            request = next(iteration)
            for _ in range(breaks):
                request = iteration.send(evaluation(evaluator, request))
        except StopIteration:
            pass
        iteration.close()
        check_clauses(tree)
        check_nothing_proven_was_taken_back(before, tree)
    if spec in ("tic_tac_toe", "hex(board_size=3)", "clobber(rows=3,columns=3)"):
        oracle = BruteForce()
        result = think(search, state, Budget(iterations=100_000), evaluator, tree=tree)
        assert result.is_resolved
        assert result.completion == oracle.value(state)
        check_proofs(tree, state, oracle.value)


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("spec", ["tic_tac_toe", "amazons(board_size=6)"])
@pytest.mark.parametrize("evaluator", [noise(0), constant(0.0)])
def test_a_search_is_repeated_exactly(evaluator: Evaluator, spec: str, kind: type[Search]) -> None:
    state = load(spec).new_initial_state()

    def grown(seed: int) -> dict[object, Labels]:
        search = kind(load(spec))
        tree = search.new_tree()
        think(search, state, Budget(iterations=25), evaluator, tree=tree, rng=random.Random(seed))
        return contents(tree)

    assert grown(1) == grown(1)
    assert list(grown(1)) == list(grown(1)), "expanded in the same order"


@pytest.mark.parametrize("kind", SEARCHES)
def test_another_generator_breaks_ties_otherwise(kind: type[Search]) -> None:
    state = load("tic_tac_toe").new_initial_state()

    def line(seed: int) -> list[object]:
        search = kind(state.get_game())
        tree = search.new_tree()
        think(search, state, Budget(iterations=5), constant(0.0), tree=tree, rng=random.Random(seed))
        return list(tree.table)

    lines = {tuple(line(seed)) for seed in range(20)}
    assert len(lines) > 10


@pytest.mark.parametrize("kind", SEARCHES)
def test_without_ties_the_generator_changes_nothing(kind: type[Search]) -> None:
    state = load("amazons(board_size=6)").new_initial_state()
    trees = []
    for seed in range(3):
        search = kind(state.get_game())
        tree = search.new_tree()
        think(search, state, Budget(iterations=3), noise(0), tree=tree, rng=random.Random(seed))
        trees.append(contents(tree))
    assert trees[0] == trees[1] == trees[2]


@pytest.mark.parametrize("kind", SEARCHES)
def test_every_tied_action_is_reached_about_as_often(kind: type[Search]) -> None:
    """Nine actions of equal value: each is the first one selected in about a ninth of 900 searches."""
    state = load("tic_tac_toe").new_initial_state()
    firsts: Counter[int] = Counter()
    search = kind(state.get_game())
    for seed in range(900):
        tree = search.new_tree()
        rng = random.Random(seed)
        for root, _ in iterations(search, tree, state, constant(0.0), rng, 2):
            if root.visits:
                firsts.update(next(iter(root.visits)) for _ in range(1))
                break
    assert set(firsts) == set(range(9))
    assert all(60 <= count <= 140 for count in firsts.values()), firsts


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), descent=st.booleans(), count=st.integers(1, 60), spec=st.sampled_from(GAMES[:6]))
def test_proofs_at_any_stopping_point_are_true(seed: int, descent: bool, count: int, spec: str) -> None:
    game = load(spec)
    search = (Descent if descent else UBFM)(game)
    tree = search.new_tree()
    state = game.new_initial_state()
    think(search, state, Budget(iterations=count), noise(seed), tree=tree, rng=random.Random(seed))
    check_clauses(tree)
    check_proofs(tree, state, oracle_of(spec).value)


ORACLES: dict[str, BruteForce] = {}


def oracle_of(spec: str) -> BruteForce:
    return ORACLES.setdefault(spec, BruteForce())
