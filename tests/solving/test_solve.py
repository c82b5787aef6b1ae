"""Tests `solve`: its proofs and lines, its limits, and the proofs found one action ahead."""

from __future__ import annotations

import random
import resource
import sys
from itertools import count
from pathlib import Path
from typing import get_args

import numpy as np
import pyspiel
import pytest
from clocks import Clock
from oracles.brute_force import BruteForce
from oracles.evaluators import noise

import athenan_spiel.solving.solver
from athenan_spiel.config.search import ProverName
from athenan_spiel.errors import ConfigError, SearchError
from athenan_spiel.games import load_game
from athenan_spiel.outcomes import AdditiveDepth, Gain, gain
from athenan_spiel.search import UBFM, drive
from athenan_spiel.search.ahead import MAX_STATES_WITHOUT_WIN, WinsAhead
from athenan_spiel.solving.solver import Proof, ProofBounds, solve
from athenan_spiel.system import portable

GAMES = [
    "tic_tac_toe",
    "hex(board_size=3)",
    "connect_four(rows=3,columns=4,x_in_row=3)",
    "clobber(rows=3,columns=3)",
    "dots_and_boxes(num_rows=1,num_cols=2)",
    "nim(pile_sizes=1;2;3,is_misere=true)",
]


def state_after(spec: str, *history: int) -> pyspiel.State:
    state = load_game(spec).new_initial_state()
    for action in history:
        state.apply_action(action)
    return state


def random_state(spec: str, plies: int, seed: int) -> pyspiel.State:
    """Returns a non-terminal state after some random actions."""
    rng = random.Random(seed)
    state = load_game(spec).new_initial_state()
    for _ in range(plies):
        child = state.child(rng.choice(state.legal_actions()))
        if child.is_terminal():
            break
        state = child
    return state


def check_line(proof: Proof, state: pyspiel.State, oracle: BruteForce) -> None:
    """Checks that the line ends with the game, and that each of its states has the value of the first."""
    assert proof.best_action == proof.line[0]
    for action in proof.line:
        state = state.child(action)
        assert oracle.value(state) == proof.value
    assert state.is_terminal()


@pytest.mark.parametrize("algorithm", get_args(ProverName))
@pytest.mark.parametrize("spec", GAMES)
def test_the_value_and_the_line_are_those_of_perfect_play(spec: str, algorithm: ProverName) -> None:
    oracle = BruteForce()
    for seed in range(4):
        state = random_state(spec, seed, seed)
        proof = solve(state.get_game(), state, algorithm=algorithm, evaluator=noise(seed), rng=random.Random(seed))
        assert proof.proven
        assert proof.ending == "proven"
        assert proof.value == oracle.value(state)
        check_line(proof, state, oracle)


def test_without_a_state_the_game_itself_is_proven_by_a_search_that_knows_nothing() -> None:
    game = load_game("hex(board_size=3)")
    proof = solve(game)
    assert (proof.proven, proof.value) == (True, 1.0)
    assert proof == solve(game, game.new_initial_state()) or proof.seconds > 0  # seconds alone may differ
    again = solve(game)
    assert (again.line, again.nodes, again.evaluations) == (proof.line, proof.nodes, proof.evaluations)


def test_the_value_of_a_win_is_the_gain_whatever_the_outcome() -> None:
    game = load_game("tic_tac_toe")
    outcome = AdditiveDepth(longest=9, exact=True)
    assert solve(game, state_after("tic_tac_toe", 0, 1), outcome=outcome).value == 1.0
    assert solve(game, outcome=outcome).value == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_the_winner_is_quick_and_the_loser_plays_on(seed: int) -> None:
    rng = random.Random(seed)
    state = state_after("tic_tac_toe", 0, 1, 4)  # x threatens 8: o must stop it, and loses all the same
    line = solve(state.get_game(), state, rng=rng).line
    assert line[0] == 8
    assert len(line) == 4
    state = state_after("tic_tac_toe", 0, 3, 1, 6)  # x wins at once by 2, and elsewhere later
    assert solve(state.get_game(), state, rng=rng).line == (2,)


@pytest.mark.parametrize(
    ("bounds", "ending"),
    [
        (ProofBounds(iterations=7), "iterations"),
        (ProofBounds(iterations=45), "iterations"),
        (ProofBounds(seconds=0.05), "seconds"),
        (ProofBounds(seconds=0.05, iterations=10**9), "seconds"),
    ],
)
def test_a_bound_ends_it_with_what_is_known(bounds: ProofBounds, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(step=2**-10)
    for module in (athenan_spiel.solving.solver, drive):
        monkeypatch.setattr(module, "time", clock)
    proof = solve(load_game("hex(board_size=5)"), algorithm="descent", bounds=bounds)
    assert (proof.proven, proof.ending) == (False, ending)
    assert bounds.iterations is None or proof.iterations == bounds.iterations or ending == "seconds"
    assert bounds.seconds is None or bounds.seconds <= proof.seconds < bounds.seconds + 10 * clock.step
    assert proof.line
    assert proof.nodes > 0


def test_the_bound_of_the_memory_is_on_what_it_grows_by(monkeypatch: pytest.MonkeyPatch) -> None:
    grown = count(500)  # megabytes, one more at each look
    monkeypatch.setattr(athenan_spiel.solving.solver, "resident_megabytes", lambda: float(next(grown)))
    proof = solve(load_game("hex(board_size=5)"), algorithm="descent", bounds=ProofBounds(megabytes=3))
    assert proof.ending == "megabytes"
    assert proof.iterations == 3 * athenan_spiel.solving.solver.ITERATIONS_PER_CHECK


def test_the_memory_of_the_process_is_measured_in_megabytes() -> None:
    before = athenan_spiel.solving.solver.resident_megabytes()
    taken = np.ones(25_000_000)  # 200 MB
    after = athenan_spiel.solving.solver.resident_megabytes()
    assert taken[0]
    assert 100 < after - before < 300


@pytest.mark.parametrize(("platform", "unit"), [("darwin", 1e6), ("freebsd", 1e3)])
def test_where_the_system_does_not_say_the_peak_stands_for_the_memory(
    platform: str, unit: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portable, "STATM", tmp_path / "statm")
    monkeypatch.setattr(sys, "platform", platform)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    assert before <= athenan_spiel.solving.solver.resident_megabytes() <= 1.5 * before


def test_progress_is_told_on_the_way() -> None:
    told: list[Proof] = []
    proof = solve(load_game("tic_tac_toe"), algorithm="descent", on_progress=told.append)
    assert len(told) == (proof.iterations - 1) // athenan_spiel.solving.solver.ITERATIONS_PER_CHECK
    assert not any(known.proven or known.ending for known in told)
    assert [known.iterations for known in told] == [
        athenan_spiel.solving.solver.ITERATIONS_PER_CHECK * n for n in range(1, len(told) + 1)
    ]
    assert [known.nodes for known in told] == sorted(known.nodes for known in told)
    assert told[0].nodes < told[-1].nodes <= proof.nodes


def test_a_game_for_one_player_is_worth_its_best_score() -> None:
    game = load_game("morpion_solitaire")
    state = game.new_initial_state()
    rng = random.Random(3)
    line = []
    while not state.is_terminal():
        line.append(rng.choice(state.legal_actions()))
        state.apply_action(line[-1])
    late = game.new_initial_state()
    for action in line[:-3]:
        late.apply_action(action)

    def most(state: pyspiel.State) -> float:
        return (
            state.player_return(0) if state.is_terminal() else max(map(most, map(state.child, state.legal_actions())))
        )

    proof = solve(game, late)
    assert proof.proven
    assert proof.value == most(late)
    for action in proof.line:
        late.apply_action(action)
    assert late.is_terminal()
    assert late.player_return(0) == proof.value


def test_what_cannot_be_proven_is_refused() -> None:
    game = load_game("tic_tac_toe")
    with pytest.raises(SearchError, match="got a terminal one after \\[0, 3, 1, 4, 2\\]"):
        solve(game, state_after("tic_tac_toe", 0, 3, 1, 4, 2))
    with pytest.raises(ConfigError, match="by proof_numbers, descent or ubfm, got 'decent': did you mean 'descent'"):
        solve(game, algorithm="decent")


@pytest.mark.parametrize("name", ["seconds", "iterations", "megabytes"])
def test_a_bound_must_be_positive(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"in {name} must be (more than zero|at least 1), got 0"):
        ProofBounds(**{name: 0})


def wins_ahead(state: pyspiel.State) -> dict[int, tuple[int, float]]:
    """Returns the proofs of the children of `state`, after an end of the game was seen at its ply."""
    ahead = WinsAhead(Gain())
    ahead.wins([state], [True])
    children = [state.child(action) for action in state.legal_actions()]
    return ahead.wins(children, [child.is_terminal() for child in children])


@pytest.mark.parametrize("spec", GAMES)
def test_the_wins_ahead_are_all_that_one_action_brings(spec: str) -> None:
    for seed in range(12):
        state = random_state(spec, seed, seed)
        expected = {}
        for i, child in enumerate(map(state.child, state.legal_actions())):
            if not child.is_terminal():
                ends = [end for end in map(child.child, child.legal_actions()) if end.is_terminal()]
                won = [end for end in ends if end.player_return(child.current_player()) > 0]
                if won:
                    expected[i] = (gain(won[0]), float(gain(won[0])))
        unfinished = [i for i, child in enumerate(map(state.child, state.legal_actions())) if not child.is_terminal()]
        patient = any(i in expected for i in unfinished[:MAX_STATES_WITHOUT_WIN])
        assert wins_ahead(state) == (expected if patient else {})


def test_a_win_ahead_is_worth_the_end_that_was_found() -> None:
    outcome = AdditiveDepth(longest=9, exact=True)
    ahead = WinsAhead(outcome)
    state = state_after("tic_tac_toe", 0, 3, 1)  # x threatens 2 and would win with the fifth action
    ahead.wins([state], [True])
    children = [state.child(action) for action in state.legal_actions()]
    proofs = ahead.wins(children, [False] * len(children))
    assert proofs == {i: (1, 5.0) for i, action in enumerate(state.legal_actions()) if action != 2}


def test_nothing_is_looked_at_where_no_match_was_seen_to_end() -> None:
    ahead = WinsAhead(Gain())
    state = state_after("tic_tac_toe", 0, 3, 1)
    children = [state.child(action) for action in state.legal_actions()]
    ended = [False] * len(children)
    assert ahead.wins(children, ended) == {}
    end = state_after("tic_tac_toe", 0, 3, 1, 4, 2)
    assert ahead.wins([end], [True]) == {}
    assert len(ahead.wins(children, ended)) == 5


def test_looking_ahead_saves_most_of_the_nodes() -> None:
    """Without `wins_ahead`, the search of the same position expands several times as many states."""
    state = state_after("hex(board_size=4)", 5, 10, 6)
    game = state.get_game()
    proof = solve(game, state, algorithm="ubfm")
    search = UBFM(game)
    tree = search.new_tree()
    from athenan_spiel.evaluators import ZeroEvaluator
    from athenan_spiel.search import Budget, think

    result = think(search, state, Budget(iterations=10**6), ZeroEvaluator(), tree=tree)
    assert result.is_resolved
    assert result.completion == proof.value
    assert len(tree.nodes) > 3 * proof.nodes


def test_a_threat_that_few_replies_meet_is_found_and_where_none_is_little_is_asked() -> None:
    asked = 0

    class Counting(WinsAhead):
        def _won_end(self, state: pyspiel.State) -> pyspiel.State | None:
            nonlocal asked
            asked += 1
            return super()._won_end(state)

    state = state_after("hex(board_size=4)", 5, 10)
    children = [state.child(action) for action in state.legal_actions()]
    ahead = Counting(Gain())
    ahead.wins([state], [True])
    assert ahead.wins(children, [False] * len(children)) == {}
    assert asked == MAX_STATES_WITHOUT_WIN < len(children)
