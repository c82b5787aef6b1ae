"""Exact expectations of `solve`, against brute force over small games with chance."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Hashable
from typing import get_args

import pyspiel
import pytest
from oracles.evaluators import noise

from athenan_spiel.config.search import ProverName
from athenan_spiel.errors import SearchError
from athenan_spiel.games import load_game
from athenan_spiel.games.chance import is_chance, roll
from athenan_spiel.games.transpositions import key_function
from athenan_spiel.solving.solver import Proof, ProofBounds, solve

ALGORITHMS = pytest.mark.parametrize("algorithm", get_args(ProverName))

LATE_STATES = 1000


class Expectations:
    """Expected return of player 0 under best play, by brute force over all actions and outcomes."""

    def __init__(self, game: pyspiel.Game, most: int = 10**6) -> None:
        self._key = key_function(game)
        self._most = most
        self._known: dict[Hashable, float] = {}

    def __call__(self, state: pyspiel.State) -> float:
        if state.is_terminal():
            return float(state.player_return(0))
        key = self._key(state)
        if key not in self._known:
            if len(self._known) >= self._most:
                raise TooManyError
            if is_chance(state):
                self._known[key] = math.fsum(p * self(state.child(outcome)) for outcome, p in state.chance_outcomes())
            else:
                best = max if state.current_player() == 0 else min
                self._known[key] = best(self(state.child(action)) for action in state.legal_actions())
        return self._known[key]


class TooManyError(Exception):
    """More states than brute force takes here."""


@functools.cache
def late(name: str, seed: int, *, rolled: bool) -> pyspiel.State:
    """The earliest undecided state of a random game with at most `LATE_STATES` states below it, before or after a roll.

    Most random games end while there are many pieces, or are decided long before; further games are played then.
    """
    game = load_game(name)
    rng = random.Random(seed)
    while True:
        state = game.new_initial_state()
        states = []
        while not state.is_terminal():
            states.append(state.clone())
            if roll(state, rng.random):
                states.append(state.clone())
            state.apply_action(rng.choice(state.legal_actions()))
        for after in reversed([before for before in states[len(states) // 2 :] if is_chance(before) != rolled]):
            try:
                value = Expectations(game, LATE_STATES)(after)
            except (TooManyError, RecursionError):
                break
            if abs(value) < 1:
                state = after
        if not state.is_terminal():
            return state


def check_line(proof: Proof, state: pyspiel.State, value: Expectations) -> None:
    """Checks that each action keeps the value, and that the line ends with the game or with chance."""
    for action in proof.line:
        assert not is_chance(state)
        state = state.child(action)
        assert value(state) == pytest.approx(proof.value, abs=1e-9)
    assert state.is_terminal() or is_chance(state)


@ALGORITHMS
@pytest.mark.parametrize(("winscore", "horizon"), [(6, 9), (20, 7), (3, 12)])
def test_pig_to_a_short_horizon(winscore: int, horizon: int, algorithm: ProverName) -> None:
    game = load_game(f"pig(players=2,winscore={winscore},horizon={horizon})")
    value, state = Expectations(game), game.new_initial_state()
    proof = solve(game, algorithm=algorithm, rng=random.Random(1))
    assert (proof.proven, proof.ending) == (True, "proven")
    assert proof.value == pytest.approx(value(state), abs=1e-12)
    check_line(proof, state, value)


@ALGORITHMS
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        *(("einstein_wurfelt_nicht", seed) for seed in range(6)),
        *(("backgammon", seed) for seed in (2, 4)),
        *(
            pytest.param("backgammon", seed, marks=pytest.mark.slow("four to ten seconds each"))
            for seed in (0, 1, 3, 5)
        ),
    ],
)
def test_late_positions(name: str, seed: int, algorithm: ProverName) -> None:
    game = load_game(name)
    value = Expectations(game)
    for rolled in (False, True):
        state = late(name, seed, rolled=rolled)
        proof = solve(game, state.clone(), algorithm=algorithm, evaluator=noise(seed), rng=random.Random(seed))
        assert proof.proven
        assert proof.value == pytest.approx(value(state), abs=1e-12)
        assert -1 <= proof.value <= 1
        check_line(proof, state, value)
        assert bool(proof.line) == rolled


@ALGORITHMS
def test_a_game_for_one_player_has_its_best_expected_score(algorithm: ProverName) -> None:
    game = load_game("catch(rows=3,columns=9)")
    value, state = Expectations(game), game.new_initial_state()
    proof = solve(game, state, algorithm=algorithm)
    assert proof.value == pytest.approx(value(state), abs=1e-12)
    assert -1 < proof.value < 1
    assert proof.line == ()


def test_all_outcomes_are_searched_however_many_a_search_for_moves_distinguishes() -> None:
    """The first roll of Yacht has 252 or more outcomes; a search for moves takes a sample of 64."""
    game = load_game("yacht(players=1)")
    state = game.new_initial_state()
    assert len(state.chance_outcomes()) > 64
    proof = solve(game, state, bounds=ProofBounds(iterations=1))
    assert not proof.proven
    assert proof.evaluations >= len(state.chance_outcomes())


def test_a_limit_leaves_an_estimate_before_chance() -> None:
    game = load_game("einstein_wurfelt_nicht")
    state = game.new_initial_state()
    proof = solve(game, state, bounds=ProofBounds(iterations=3))
    assert (proof.proven, proof.ending, proof.line) == (False, "iterations", ())
    roll(state, random.Random(0).random)
    proof = solve(game, state, bounds=ProofBounds(iterations=3))
    assert len(proof.line) == 1
    assert is_chance(state.child(proof.best_action))


def test_terminal_states_and_other_games_are_refused() -> None:
    game = load_game("catch(rows=2,columns=1)")
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
    with pytest.raises(SearchError, match="terminal"):
        solve(game, state)
    with pytest.raises(SearchError, match="expected a state of"):
        solve("pig(players=2)", game.new_initial_state())
