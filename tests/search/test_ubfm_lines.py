"""UBFM over several lines: which leaves an iteration expands; and searches that look one action ahead."""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Iterator

import pyspiel
import pytest
from drivers import answered
from oracles.brute_force import BruteForce, load
from oracles.evaluators import noise, noise_by_history
from oracles.proofs import check_proofs

from athenan_spiel.config import DescentConfig, UbfmConfig
from athenan_spiel.errors import ConfigError, SearchError
from athenan_spiel.outcomes.infinite import InfiniteTerminal
from athenan_spiel.search import UBFM, Budget, Descent, think
from athenan_spiel.search.minimax import MinimaxSearch
from athenan_spiel.search.node import Node, NodeKind
from athenan_spiel.search.tree import Tree
from athenan_spiel.search.walk import SearchInterrupted
from athenan_spiel.training.settings_file import config_from_dict

GAMES = ["tic_tac_toe", "connect_four(rows=4,columns=4,x_in_row=3)", "dots_and_boxes", "breakthrough(rows=4,columns=3)"]


def expansions(
    search: UBFM, state: pyspiel.State, count: int, seed: int = 0
) -> Iterator[tuple[Tree, list[tuple[int, ...]], int]]:
    """Yields, for each iteration, the tree, the histories of its new states, and the number of requests."""
    tree, rng, root = search.new_tree(), random.Random(seed), None
    for _ in range(count):
        before = set(tree.table)
        root, asked = answered(search.iteration(tree, state, rng, root), noise_by_history(seed))
        yield tree, [key for key in tree.table if key not in before], len(asked)  # type: ignore[misc]
        if root.resolved:
            return


class Naive:
    """Returns the leaves that an iteration must expand, by the definition, in a tree with one parent per state."""

    def __init__(self, root: Node, own: tuple[int, ...]) -> None:
        self.root, self.own = root, own
        self.lost: set[tuple[int, ...]] = set()

    def leaves(self, most: int) -> list[tuple[int, ...]]:
        """At most so many, each the end of the best line while those before it are lost."""
        found: list[tuple[int, ...]] = []
        while len(found) < most and self.worth(self.root, self.own) is not None:
            node: Node | None = self.root
            history = self.own
            while node is not None:
                at = self.best(node, history)
                history, node = (*history, node.actions[at]), node.children.get(at)
            found.append(history)
            self.lost.add(history)
        return found

    def best(self, node: Node, history: tuple[int, ...]) -> int:
        """The action that is gone into; there are no ties."""
        worths = {i: self.arc(node, history, i) for i, resolved in enumerate(node.resolutions) if not resolved}
        open_ = {i: worth for i, worth in worths.items() if worth is not None}
        return node.kind.best(open_, key=open_.__getitem__)  # type: ignore[no-any-return]

    def arc(self, node: Node, history: tuple[int, ...], i: int) -> float | None:
        """v(s, a) while lines are lost; None where none is left behind it."""
        following = (*history, node.actions[i])
        if following in self.lost:
            return None
        child = node.children.get(i)
        return node.values[i] if child is None else self.worth(child, following)

    def worth(self, node: Node, history: tuple[int, ...]) -> float | None:
        """v(s) while lines are lost, resolved actions included; None where no line is left."""
        arcs = [self.arc(node, history, i) for i, resolved in enumerate(node.resolutions) if not resolved]
        left = [worth for worth in arcs if worth is not None]
        if not left:
            return None
        drawn = [v for v, r, c in zip(node.values, node.resolutions, node.completions, strict=True) if r and c == 0]
        return float(node.kind.best([*left, *drawn]))


@pytest.mark.parametrize("lines", [2, 3, 7])
@pytest.mark.parametrize("spec", GAMES)
def test_the_leaves_are_those_of_the_definition(spec: str, lines: int) -> None:
    game = load(spec)
    for seed in range(3):
        search = UBFM(game, lines=lines, key=history_of)
        state = game.new_initial_state()
        expected: list[tuple[int, ...]] | None = None
        for tree, new, requests in expansions(search, state, 30, seed):
            assert requests <= 1
            if expected is not None:
                assert sorted(new) == sorted(expected)
            root = tree.table[search.key(state)]
            expected = [] if root.resolved else Naive(root, ()).leaves(lines)


def history_of(state: pyspiel.State) -> tuple[int, ...]:
    """Key that distinguishes all paths to a state, so each state has one parent."""
    return tuple(state.history())


@pytest.mark.parametrize("spec", GAMES)
def test_what_is_taken_for_lost_meanwhile_leaves_no_trace(spec: str) -> None:
    """Afterwards all values come from those below, as after any iteration."""
    game = load(spec)
    for tree, new, _ in expansions(UBFM(game, lines=5), game.new_initial_state(), 60):
        assert len(new) <= 5
        for node in tree.table.values():
            worths = list(zip(node.completions, node.values, strict=True))
            assert (node.completion, node.value) == node.kind.best(worths)
            assert all(math.isfinite(value) for value in node.values)
            assert node.unresolved == node.resolutions.count(0)
            assert all(count > 0 for count in node.visits.values())


@pytest.mark.parametrize("exploration_constant", [None, 0.5])
@pytest.mark.parametrize("completion", [True, False])
def test_what_it_proves_is_true(completion: bool, exploration_constant: float | None) -> None:
    game = load("tic_tac_toe")
    search = UBFM(game, lines=4, completion=completion, exploration_constant=exploration_constant)
    tree, start = search.new_tree(), game.new_initial_state()
    result = think(search, start, Budget(iterations=4000 if completion else 300), noise(0), tree=tree)
    check_proofs(tree, start, BruteForce().value)
    assert result.is_resolved == completion


@pytest.mark.parametrize("kind", [UBFM, Descent])
def test_what_looking_ahead_proves_is_true(kind: type[MinimaxSearch]) -> None:
    game = load("tic_tac_toe")
    start = game.new_initial_state()
    evaluations = []
    for wins_ahead in (False, True):
        search = kind(game, wins_ahead=wins_ahead)
        tree = search.new_tree()
        result = think(search, start, Budget(iterations=8000), noise(0), tree=tree)
        check_proofs(tree, start, BruteForce().value)
        assert result.is_resolved
        evaluations.append(result.evaluations)
    assert evaluations[1] < 0.9 * evaluations[0]


def test_each_tree_looks_ahead_by_itself() -> None:
    """Games must not depend on the games before them."""
    search = UBFM(load("tic_tac_toe"), wins_ahead=True)
    assert search.new_tree().ahead is not search.new_tree().ahead  # type: ignore[attr-defined]
    assert UBFM(load("tic_tac_toe")).new_tree().ahead is None  # type: ignore[attr-defined]


def test_one_line_is_ubfm() -> None:
    game = load("connect_four")
    state = game.new_initial_state()
    results = [
        think(search, state, Budget(iterations=50), noise(1), rng=random.Random(0))
        for search in (UBFM(game), UBFM(game, lines=1))
    ]
    assert results[0].visits.tolist() == results[1].visits.tolist()


def test_a_line_that_is_lost_to_all_leaves_the_next_best_to_the_other_player() -> None:
    """The kinds' worst values are on either side, so a minimiser's lost line is no gain to the maximiser above it."""
    assert (NodeKind.MAXIMISER.won, NodeKind.MINIMISER.won) == (1, -1)
    game = load("nim(pile_sizes=2;2)")
    for _, new, _ in expansions(UBFM(game, lines=50, key=history_of), game.new_initial_state(), 10):
        assert len(set(new)) == len(new), "no leaf is expanded twice, and it ends"


def test_a_full_tree_takes_no_more() -> None:
    game = load("tic_tac_toe")
    search = UBFM(game, lines=4, most_states=30)
    tree = search.new_tree()
    think(search, game.new_initial_state(), Budget(iterations=500), noise(0), tree=tree)
    assert len(tree.table) <= 30 + 3


def test_it_can_be_pickled_and_what_cannot_be_is_refused() -> None:
    game = load("tic_tac_toe")
    assert pickle.loads(pickle.dumps(UBFM(game, lines=3))).lines == 3
    for lines, bound in ((0, "at least 1"), (10_001, "at most 10,000")):
        with pytest.raises(SearchError, match=f"lines of UBFM must be {bound}, got {lines}"):
            UBFM(game, lines=lines)
    with pytest.raises(SearchError, match="over several lines requires finite values"):
        UBFM(game, lines=2, outcome=InfiniteTerminal())
    with pytest.raises(SearchError, match="known and wins_ahead require Descent or UBFM with completion"):
        UBFM(game, wins_ahead=True, completion=False)
    with pytest.raises(ConfigError, match=r"search\.wins_ahead must be false, unless states are proven"):
        DescentConfig(wins_ahead=True, completion=False)
    with pytest.raises(ConfigError, match=r"search\.lines must be none, as only 'ubfm' has it"):
        config_from_dict({"search": {"lines": 2}})
    assert UbfmConfig(lines=2).lines == 2


def test_an_iteration_that_is_broken_off_counts_nothing() -> None:
    game = load("connect_four")
    search = UBFM(game, lines=4)
    tree, rng, state = search.new_tree(), random.Random(0), game.new_initial_state()
    root = None
    for _ in range(5):
        root, _ = answered(search.iteration(tree, state, rng, root), noise(0))
    assert root is not None
    before = [dict(node.visits) for node in tree.table.values()], [node.values[:] for node in tree.table.values()]
    iteration = search.iteration(tree, state, rng, root)
    next(iteration)
    with pytest.raises(SearchInterrupted):
        iteration.throw(SearchInterrupted())
    nodes = list(tree.table.values())[: len(before[0])]
    assert ([dict(node.visits) for node in nodes], [node.values for node in nodes]) == before


@pytest.mark.parametrize(("spec", "lines"), [("hex(board_size=7)", 2), ("hex(board_size=11)", 1), ("tic_tac_toe", 16)])
def test_where_there_are_many_actions_there_are_fewer_lines(spec: str, lines: int) -> None:
    game = load(spec)
    found = [len(new) for _, new, _ in expansions(UBFM(game, lines=16), game.new_initial_state(), 12)]
    assert max(found) == lines
    assert found[1] == min(lines, 9)
