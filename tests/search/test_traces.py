"""Descent and UBFM compared with the article's algorithms, traced by hand on a small tree."""

from __future__ import annotations

import random
from typing import NamedTuple

import pytest
from drivers import answered
from fake_game import EXAMPLE, FakeGame, FakeState, Recorder, first, same, score, second

from athenan_spiel.search import UBFM, Descent, Search
from athenan_spiel.search.node import Node
from athenan_spiel.search.tree import Tree


class Arc(NamedTuple):
    """v(s, a), c(s, a), r(s, a), n(s, a)."""

    v: float
    c: int = 0
    r: int = 0
    n: int = 0


class State(NamedTuple):
    """v(s), c(s), r(s), and its arcs by the names of the states they lead to."""

    v: float
    c: int
    r: int
    arcs: dict[str, Arc]


class Step(NamedTuple):
    """One iteration: the batches it requests, and each state that it changes."""

    asked: list[str]
    changed: dict[str, State]


class UntouchedRandom(random.Random):
    """No choice below depends on chance: it would be an error of the order of choice."""

    def getrandbits(self, k: int) -> int:
        raise AssertionError("a tie was broken at random")


def run_iteration(search: Search, tree: Tree, state: FakeState) -> tuple[list[str], Node]:
    """One iteration with the values written in the tree: what it asked, and the root's node."""
    evaluator = Recorder()
    node, _ = answered(search.iteration(tree, state, UntouchedRandom()), evaluator)
    return evaluator.asked, node


def snapshot(game: FakeGame, tree: Tree) -> dict[str, State]:
    """Returns all labels of the tree, by name."""
    return {
        name: State(
            node.value,
            node.completion,
            int(node.resolved),
            {
                child: Arc(node.values[i], node.completions[i], node.resolutions[i], node.count(i))
                for i, child in enumerate(game.places[name].children)
            },
        )
        for name, node in tree.table.items()
    }


def check_trace(search: Search, game: FakeGame, steps: list[Step]) -> Node:
    """Runs the iterations of `steps`, compares requests and the whole tree after each, and returns the root's node."""
    tree = search.new_tree()
    expected: dict[str, State] = {}
    root = None
    for number, step in enumerate(steps, start=1):
        asked, root = run_iteration(search, tree, game.new_initial_state())
        expected |= step.changed
        assert asked == step.asked, f"questions of iteration {number}"
        assert snapshot(game, tree) == expected, f"tree after iteration {number}"
        assert root is tree.table["root"]
    assert root is not None
    return root


# States that come out alike in several traces.
K_WON = State(3, 1, 1, {"L": Arc(3, 1, 1), "M": Arc(-0.4)})
N_LOST = State(-1, -1, 1, {"S": Arc(-1, -1, 1), "T": Arc(2, 1, 1)})
E_WON = State(2, 1, 1, {"I": Arc(0, 0, 1), "J": Arc(2, 1, 1)})
H_DRAWN = State(0, 0, 1, {"P": Arc(0, 0, 1), "Q": Arc(-2, -1, 1)})
F_ARC, C_ARC = Arc(4, 1, 1), Arc(0, 0, 1)

# Algorithm 10.
DESCENT = [
    # root → A (.6, the best) → D (.2, the least) → H (G is resolved), whose actions are all terminal: proven a draw.
    # Back: D knows all and is drawn. A keeps E open, so it is worth 0 but unproven. The root's best is now B.
    Step(
        ["A B", "D E", "H"],
        {
            "root": State(0.5, 0, 0, {"A": Arc(0, 0, 0, 1), "B": Arc(0.5), "C": C_ARC}),
            "A": State(0, 0, 0, {"D": Arc(0, 0, 1, 1), "E": Arc(0.4), "F": F_ARC}),
            "D": State(0, 0, 1, {"G": Arc(-3, -1, 1), "H": Arc(0, 0, 1, 1)}),
            "H": H_DRAWN,
        },
    ),
    # root → B → K, which L wins at once: no further. For player 1 it is the worst, so B is worth N's estimate.
    Step(
        ["K N", "M"],
        {
            "root": State(0.7, 0, 0, {"A": Arc(0, 0, 0, 1), "B": Arc(0.7, 0, 0, 1), "C": C_ARC}),
            "B": State(0.7, 0, 0, {"K": Arc(3, 1, 1, 1), "N": Arc(0.7)}),
            "K": K_WON,
        },
    ),
    # root → B → N, which S loses. So B is lost, and the root is worth what A and C are.
    Step(
        [],
        {
            "root": State(0, 0, 0, {"A": Arc(0, 0, 0, 1), "B": Arc(-1, -1, 1, 2), "C": C_ARC}),
            "B": State(-1, -1, 1, {"K": Arc(3, 1, 1, 1), "N": Arc(-1, -1, 1, 1)}),
            "N": N_LOST,
        },
    ),
    # A alone is open, and E in it. J wins E; player 1 prefers the draw in D. All is known: a draw.
    Step(
        [],
        {
            "root": State(0, 0, 1, {"A": Arc(0, 0, 1, 2), "B": Arc(-1, -1, 1, 2), "C": C_ARC}),
            "A": State(0, 0, 1, {"D": Arc(0, 0, 1, 1), "E": Arc(2, 1, 1, 1), "F": F_ARC}),
            "E": E_WON,
        },
    ),
]

# Algorithm 12: one state is expanded each time, or one line is found to end.
UBFM_S = [
    Step(["A B"], {"root": State(0.6, 0, 0, {"A": Arc(0.6), "B": Arc(0.5), "C": C_ARC})}),
    Step(
        ["D E"],
        {
            "root": State(0.5, 0, 0, {"A": Arc(0.2, n=1), "B": Arc(0.5), "C": C_ARC}),
            "A": State(0.2, 0, 0, {"D": Arc(0.2), "E": Arc(0.4), "F": F_ARC}),
        },
    ),
    Step(
        ["K N"],
        {
            "root": State(0.3, 0, 0, {"A": Arc(0.2, n=1), "B": Arc(0.3, n=1), "C": C_ARC}),
            "B": State(0.3, 0, 0, {"K": Arc(0.3), "N": Arc(0.7)}),
        },
    ),
    Step(
        ["M"],
        {
            "root": State(0.7, 0, 0, {"A": Arc(0.2, n=1), "B": Arc(0.7, n=2), "C": C_ARC}),
            "B": State(0.7, 0, 0, {"K": Arc(3, 1, 1, 1), "N": Arc(0.7)}),
            "K": K_WON,
        },
    ),
    Step(
        [],
        {
            "root": State(0.2, 0, 0, {"A": Arc(0.2, n=1), "B": Arc(-1, -1, 1, 3), "C": C_ARC}),
            "B": State(-1, -1, 1, {"K": Arc(3, 1, 1, 1), "N": Arc(-1, -1, 1, 1)}),
            "N": N_LOST,
        },
    ),
    Step(
        ["H"],
        {
            "root": State(0.1, 0, 0, {"A": Arc(0.1, n=2), "B": Arc(-1, -1, 1, 3), "C": C_ARC}),
            "A": State(0.1, 0, 0, {"D": Arc(0.1, n=1), "E": Arc(0.4), "F": F_ARC}),
            "D": State(0.1, 0, 0, {"G": Arc(-3, -1, 1), "H": Arc(0.1)}),
        },
    ),
    Step(
        [],
        {
            "root": State(0, 0, 0, {"A": Arc(0, n=3), "B": Arc(-1, -1, 1, 3), "C": C_ARC}),
            "A": State(0, 0, 0, {"D": Arc(0, 0, 1, 2), "E": Arc(0.4), "F": F_ARC}),
            "D": State(0, 0, 1, {"G": Arc(-3, -1, 1), "H": Arc(0, 0, 1, 1)}),
            "H": H_DRAWN,
        },
    ),
    Step(
        [],
        {
            "root": State(0, 0, 1, {"A": Arc(0, 0, 1, 4), "B": Arc(-1, -1, 1, 3), "C": C_ARC}),
            "A": State(0, 0, 1, {"D": Arc(0, 0, 1, 2), "E": Arc(2, 1, 1, 1), "F": F_ARC}),
            "E": E_WON,
        },
    ),
]

# Algorithm 9: each iteration ends in a terminal state; nothing is proven, and c and r stay 0.
DESCENT_PLAIN = [
    Step(
        ["A B", "D E", "H"],
        {
            "root": State(0.5, 0, 0, {"A": Arc(0, n=1), "B": Arc(0.5), "C": Arc(0)}),
            "A": State(0, 0, 0, {"D": Arc(0, n=1), "E": Arc(0.4), "F": Arc(4)}),
            "D": State(0, 0, 0, {"G": Arc(-3), "H": Arc(0, n=1)}),
            "H": State(0, 0, 0, {"P": Arc(0, n=1), "Q": Arc(-2)}),
        },
    ),
    Step(
        ["K N", "M"],
        {
            "root": State(0.7, 0, 0, {"A": Arc(0, n=1), "B": Arc(0.7, n=1), "C": Arc(0)}),
            "B": State(0.7, 0, 0, {"K": Arc(3, n=1), "N": Arc(0.7)}),
            "K": State(3, 0, 0, {"L": Arc(3, n=1), "M": Arc(-0.4)}),
        },
    ),
    Step(
        [],
        {
            "root": State(0, 0, 0, {"A": Arc(0, n=1), "B": Arc(-1, n=2), "C": Arc(0)}),
            "B": State(-1, 0, 0, {"K": Arc(3, n=1), "N": Arc(-1, n=1)}),
            "N": State(-1, 0, 0, {"S": Arc(-1, n=1), "T": Arc(2)}),
        },
    ),
]

# Algorithm 1. As Algorithm 12 here until the sixth iteration, but that c and r stay 0; the seventh finds H's value.
UBFM_PLAIN = [
    *(
        Step(
            step.asked,
            {
                name: State(state.v, 0, 0, {child: Arc(arc.v, n=arc.n) for child, arc in state.arcs.items()})
                for name, state in step.changed.items()
            },
        )
        for step in UBFM_S[:7]
    ),
]


@pytest.mark.parametrize(
    ("search", "completion", "steps"),
    [
        pytest.param(Descent, True, DESCENT, id="Algorithm 10: Descent"),
        pytest.param(UBFM, True, UBFM_S, id="Algorithm 12: UBFM"),
        pytest.param(Descent, False, DESCENT_PLAIN, id="Algorithm 9: Descent without completion"),
        pytest.param(UBFM, False, UBFM_PLAIN, id="Algorithm 1: UBFM without completion"),
    ],
)
def test_worked_trace(search: type[Search], completion: bool, steps: list[Step]) -> None:
    root = check_trace(search(EXAMPLE, outcome=score, completion=completion, key=str), EXAMPLE, steps)
    assert root.resolved == completion, "the traces with completion go on until the root is proven"


# X is reached through A and through B.
TRANSPOSITION = FakeGame(
    first(
        0.0,
        A=second(0.9, X=first(0.5, U=second(0.3, Y=-1), V=-2), W=first(0.7, R=0)),
        B=second(0.8, X=same, Z=first(0.45, S=second(0.6, T=0))),
    )
)


def test_worked_trace_through_a_transposition() -> None:
    """Remark 13: v, c and r of an arc are those of its last visit, whatever other paths found since (law 5)."""
    u_lost = State(-1, -1, 1, {"Y": Arc(-1, -1, 1)})
    v_arc = Arc(-2, -1, 1)
    steps = [
        Step(["A B"], {"root": State(0.9, 0, 0, {"A": Arc(0.9), "B": Arc(0.8)})}),
        Step(
            ["X W"],
            {
                "root": State(0.8, 0, 0, {"A": Arc(0.5, n=1), "B": Arc(0.8)}),
                "A": State(0.5, 0, 0, {"X": Arc(0.5), "W": Arc(0.7)}),
            },
        ),
        # X has no node yet, so its value is asked for again.
        Step(
            ["X Z"],
            {
                "root": State(0.5, 0, 0, {"A": Arc(0.5, n=1), "B": Arc(0.45, n=1)}),
                "B": State(0.45, 0, 0, {"X": Arc(0.5), "Z": Arc(0.45)}),
            },
        ),
        # X falls to .3 on the path through A; B still says .5.
        Step(
            ["U"],
            {
                "root": State(0.45, 0, 0, {"A": Arc(0.3, n=2), "B": Arc(0.45, n=1)}),
                "A": State(0.3, 0, 0, {"X": Arc(0.3, n=1), "W": Arc(0.7)}),
                "X": State(0.3, 0, 0, {"U": Arc(0.3), "V": v_arc}),
            },
        ),
        # Z rises, and B takes the .5 that it remembers of X.
        Step(
            ["S"],
            {
                "root": State(0.5, 0, 0, {"A": Arc(0.3, n=2), "B": Arc(0.5, n=2)}),
                "B": State(0.5, 0, 0, {"X": Arc(0.5), "Z": Arc(0.6, n=1)}),
                "Z": State(0.6, 0, 0, {"S": Arc(0.6)}),
            },
        ),
        # Through B the walk goes on from X's node, and X is proven lost; n(A, X) is not touched, nor what A knows of X.
        Step(
            [],
            {
                "root": State(0.3, 0, 0, {"A": Arc(0.3, n=2), "B": Arc(-1, -1, 1, 3)}),
                "B": State(-1, -1, 1, {"X": Arc(-1, -1, 1, 1), "Z": Arc(0.6, n=1)}),
                "X": State(-1, -1, 1, {"U": Arc(-1, -1, 1, 1), "V": v_arc}),
                "U": u_lost,
            },
        ),
        # The visit of A finds X resolved, asks nothing, and learns it.
        Step(
            [],
            {
                "root": State(-1, -1, 1, {"A": Arc(-1, -1, 1, 3), "B": Arc(-1, -1, 1, 3)}),
                "A": State(-1, -1, 1, {"X": Arc(-1, -1, 1, 2), "W": Arc(0.7)}),
            },
        ),
    ]
    check_trace(UBFM(TRANSPOSITION, outcome=score, key=str), TRANSPOSITION, steps)


def test_descent_stops_at_a_state_that_another_path_has_proven() -> None:
    """Resolution stop: the second path to X makes no request and expands no state."""
    x = first(0.5, U=1, V=-2)
    game = FakeGame(first(0.0, A=second(0.9, X=x, W=first(0.7, R=0)), B=second(0.8, X=same, Z=first(0.85, S=0))))
    x_won, x_arc = State(1, 1, 1, {"U": Arc(1, 1, 1), "V": Arc(-2, -1, 1)}), Arc(1, 1, 1, 1)
    a = State(0.7, 0, 0, {"X": x_arc, "W": Arc(0.7)})
    b = State(0.85, 0, 0, {"X": x_arc, "Z": Arc(0.85)})
    steps = [
        Step(["A B", "X W"], {"root": State(0.8, 0, 0, {"A": Arc(0.7, n=1), "B": Arc(0.8)}), "A": a, "X": x_won}),
        Step(["X Z"], {"root": State(0.85, 0, 0, {"A": Arc(0.7, n=1), "B": Arc(0.85, n=1)}), "B": b}),
    ]
    check_trace(Descent(game, outcome=score, key=str), game, steps)


@pytest.mark.parametrize("kind", [Descent, UBFM])
@pytest.mark.parametrize("completion", [True, False])
def test_completion_leaves_the_fixed_point_in_which_values_alone_are_stuck(
    kind: type[Search], completion: bool
) -> None:
    """Section 5.2: without completion a search may go to the same end again and again, past a win."""
    game = FakeGame(first(0.0, A=second(0.5, C=0), B=second(-0.1, D=1)))
    search = kind(game, outcome=score, completion=completion, key=str)
    tree = search.new_tree()
    for _ in range(10):
        _, root = run_iteration(search, tree, game.new_initial_state())
        if root.resolved:
            break
    assert (root.value, root.completion, root.resolved) == ((1, 1, True) if completion else (0, 0, False))
    assert ("B" in tree.table) == completion
