"""Cumulative mobility: hand calculations, an independent count, and searches that keep histories apart."""

from __future__ import annotations

import importlib
import json
import random
from collections.abc import Iterator, Sequence

import numpy as np
import pyspiel
import pytest
from numpy.typing import NDArray

import athenan_spiel as ath
from athenan_spiel.errors import SearchError
from athenan_spiel.games.playout import playout, random_moves
from athenan_spiel.games.transpositions import history_key, key_function
from athenan_spiel.outcomes import AdditiveDepth, Gain, Mobility, gain, make_outcome, outcomes_for
from athenan_spiel.outcomes.mobility import TurnCounter, mean_mobility
from athenan_spiel.search.base import Search
from athenan_spiel.search.tree import Tree


def play(spec: str, *actions: int) -> pyspiel.State:
    state = pyspiel.load_game(spec).new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


@pytest.mark.parametrize(
    ("spec", "actions", "worth"),
    [
        # The second player wins: 9, 7, 5 actions against 8, 6, 4.
        ("tic_tac_toe", (0, 3, 1, 4, 8, 5), -6 / 7),
        # The first one wins: 9, 7, 5 against 8, 6.
        ("tic_tac_toe", (0, 3, 1, 4, 2), 7 / 7),
        ("tic_tac_toe", (0, 1, 2, 4, 3, 5, 7, 6, 8), 0),
        # The third line closes no box, the fourth does: 4, 2 actions against 3, 1.
        ("dots_and_boxes(num_rows=1,num_cols=1)", (0, 1, 2, 3), -2 / 3),
        # The second player never moves, which counts as one action.
        ("nim(pile_sizes=3;0,is_misere=False)", (4,), 3),
    ],
)
def test_values_by_hand(spec: str, actions: tuple[int, ...], worth: float) -> None:
    end = play(spec, *actions)
    assert end.is_terminal()
    assert Mobility()(end) == pytest.approx(worth)
    assert type(Mobility()(end)) is float


def test_turns_are_counted_for_the_mover() -> None:
    """The second player closes the left box with the fourth line, and moves again."""
    end = play("dots_and_boxes(num_rows=1,num_cols=2)", 0, 2, 4, 5, 1, 3, 6)
    movers = [player for player, _ in TurnCounter().turns(end)]
    expected, state = [], play("dots_and_boxes(num_rows=1,num_cols=2)")
    for action in end.history():
        expected.append(state.current_player())
        state.apply_action(action)
    assert movers == expected
    assert movers != [0, 1, 0, 1, 0, 1, 0]
    assert [legal for _, legal in TurnCounter().turns(end)] == [7, 6, 5, 4, 3, 2, 1]


def test_a_game_in_python_is_the_same() -> None:
    importlib.import_module("open_spiel.python.games")
    actions = (0, 3, 1, 4, 8, 5)
    assert Mobility()(play("python_tic_tac_toe", *actions)) == Mobility()(play("tic_tac_toe", *actions))


def test_means_by_hand() -> None:
    assert mean_mobility(((0, 4), (1, 3), (1, 6), (0, 1))) == (2.5, 4.5)
    assert mean_mobility(((1, 7),)) == (1, 7)
    assert mean_mobility(()) == (1, 1)


GAMES = [
    "amazons(board_size=6)",
    "antichess",
    "breakthrough(rows=6,columns=4)",
    "connect_four",
    "dots_and_boxes",
    "mancala",
    "othello",
    "oware",
]


@pytest.mark.parametrize("spec", GAMES)
def test_mobility_equals_a_count_during_play(spec: str) -> None:
    """One outcome serves all games, so its cache must not carry over from the game before."""
    outcome, rng = Mobility(), random.Random(spec)
    for _ in range(20):
        state = play(spec)
        counts: tuple[list[int], list[int]] = ([], [])
        while not state.is_terminal():
            if (depth := len(state.history())) and rng.random() < 0.1:  # another line from some moves before
                state = play(spec, *state.history()[: rng.randrange(depth)])
                counts = ([], [])
                again = play(spec)
                for action in state.history():
                    counts[again.current_player()].append(len(again.legal_actions()))
                    again.apply_action(action)
                continue
            counts[state.current_player()].append(len(state.legal_actions()))
            state.apply_action(rng.choice(state.legal_actions()))
        first, second = map(np.mean, counts)
        expected = {1: first / second, -1: -second / first, 0: 0}[gain(state)]
        assert outcome(state) == pytest.approx(expected)
        assert outcome(state) == outcome(state.clone()) == Mobility()(state)


def test_equal_actions_from_other_positions_are_other_games() -> None:
    """The cached game is distinguished by its initial position."""
    game = pyspiel.load_game("tic_tac_toe")
    board = [["x", ".", "."], ["o", ".", "."], [".", ".", "."]]
    flat = [cell for row in board for cell in row]
    template = json.loads(game.new_initial_state().to_json())
    begun = game.new_initial_state({**template, "board": flat, "current_player": "x"})
    usual, outcome = game.new_initial_state(), Mobility()
    for state in (begun, usual):
        for action in (1, 4, 2, 5):
            if not state.is_terminal():
                state.apply_action(action)
    assert begun.is_terminal()
    assert TurnCounter().turns(begun) == ((0, 7), (1, 6), (0, 5))
    counter = TurnCounter()
    assert counter.turns(usual) == ((0, 9), (1, 8), (0, 7), (1, 6))
    assert counter.turns(begun) == ((0, 7), (1, 6), (0, 5))
    assert outcome(begun) == 1


def test_a_game_from_a_fen_is_counted_from_its_start() -> None:
    game = pyspiel.load_game("chess")
    state = game.new_initial_state("7k/8/5KQ1/8/8/8/8/8 w - - 0 1")
    moves = len(state.legal_actions())
    state.apply_action(next(a for a in state.legal_actions() if state.action_to_string(1, a) == "Qg7#"))
    assert state.is_terminal()
    assert Mobility()(state) == gain(state) * moves / 1


def test_a_game_from_an_unstored_position_is_refused() -> None:
    game = pyspiel.load_game("dots_and_boxes(num_rows=1,num_cols=1)")
    state = game.new_initial_state("1100")
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    with pytest.raises(SearchError, match=r"mobility needs a game of .* that can be replayed.*use 'additive_depth'"):
        Mobility()(state)


# In searches


@pytest.mark.parametrize("kind", [ath.Descent, ath.UBFM])
def test_a_search_keeps_histories_apart(kind: type[Search]) -> None:
    """Two orders of the same three moves are two nodes with mobility, and one with an outcome of the position."""
    game = pyspiel.load_game("tic_tac_toe")
    one, other = play("tic_tac_toe", 0, 3, 1), play("tic_tac_toe", 1, 3, 0)
    apart, shared = kind(game, outcome=Mobility()), kind(game, outcome=AdditiveDepth(longest=9, exact=True))
    assert apart.key(one) != apart.key(other)
    assert shared.key(one) == shared.key(other)
    assert kind(game).key(one) == kind(game).key(other)
    assert kind(game, outcome=Mobility(), key=str).key is str, "a given key is taken"
    assert (Mobility.path_dependent, AdditiveDepth.path_dependent, Gain.path_dependent) == (True, False, False)


@pytest.mark.parametrize("kind", [ath.Descent, ath.UBFM])
@pytest.mark.parametrize("apart", [True, False])
def test_a_node_has_the_ends_of_its_own_history(kind: type[Search], apart: bool) -> None:
    """Shared nodes would give a history the mobility of another one, which the keys prevent."""
    game = pyspiel.load_game("clobber(rows=3,columns=3)")
    search = kind(game, outcome=Mobility(), completion=False, key=None if apart else key_function(game))
    tree, evaluator, rng = search.new_tree(), Noise(), random.Random(0)
    for _ in range(60):
        state = game.new_initial_state()
        while not state.is_terminal():
            ath.think(search, state, ath.Budget(iterations=1), evaluator, tree=tree)
            state.apply_action(rng.choice(state.legal_actions()))
    found = list(ends_in(tree, game.new_initial_state()))
    assert len(found) > 100
    assert all(worth == Mobility()(end) for worth, end in found) == apart


class Noise:
    """An evaluator with arbitrary values, all different."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def __call__(self, states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
        return self.rng.uniform(-1, 1, len(states))


def ends_in(tree: Tree, state: pyspiel.State) -> Iterator[tuple[float, pyspiel.State]]:
    """Yields every terminal state below `state` by every path, with the value stored in the tree."""
    node = tree.table.get(tree.key(state))
    if node is None:
        return
    for i, action in enumerate(node.actions):
        child = state.child(action)
        if child.is_terminal():
            yield node.values[i], child
        else:
            yield from ends_in(tree, child)


def test_games_outside_the_table_use_their_actions() -> None:
    game = pyspiel.load_game("misere(game=tic_tac_toe())")
    state = game.new_initial_state()
    state.apply_action(4)
    assert history_key(game)(state) == (4,)


def test_the_scale_comes_from_the_sample() -> None:
    game = pyspiel.load_game("nim(pile_sizes=3;0,is_misere=False)")
    outcome = make_outcome("mobility", game, random.Random(0))
    assert outcome == Mobility(scale=3.0), "the first player takes all three of three"
    assert outcome.parameters == {"scale": 3.0}


@pytest.mark.parametrize("spec", ["backgammon", "einstein_wurfelt_nicht", "pig(winscore=20)"])
def test_outcomes_of_chance_do_not_count(spec: str) -> None:
    game, rng = ath.load_game(spec), random.Random(3)
    for _ in range(5):
        state = game.new_initial_state()
        counts: tuple[list[int], list[int]] = ([], [])
        for actions in random_moves(state, rng.choice):
            if state.current_player() >= 0:
                counts[state.current_player()].append(len(actions))
        first, second = (float(np.mean(count)) for count in counts)
        expected = first / second if gain(state) > 0 else -second / first
        assert Mobility()(state) == pytest.approx(expected if gain(state) else 0)


@pytest.mark.parametrize("spec", ["backgammon", "banqi", "einstein_wurfelt_nicht", "maedn", "pig", "yacht"])
def test_all_outcomes_of_a_game_with_chance_keep_the_order_of_the_gain(spec: str) -> None:
    game, rng = ath.load_game(spec), random.Random(0)
    ends = [playout(game.new_initial_state(), rng.choice) for _ in range(12)]
    for name in outcomes_for(spec):
        outcome = make_outcome(name, game, rng)
        values = {g: [outcome(end) for end in ends if gain(end) == g] for g in (-1, 0, 1)}
        assert max(values[-1], default=-1e-9) < 0 < min(values[1], default=1e-9)
        assert not any(values[0])
