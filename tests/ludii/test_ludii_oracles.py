"""Ludii's games against OpenSpiel's own rules and against known values, where that takes longer."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyspiel
import pytest

import athenan_spiel as ath
from ludii_bridge import verdicts

pytestmark = pytest.mark.usefixtures("ludii")

SAMPLE = 50


def histories(state: Any, depth: int) -> int:
    """How many histories of that length follow a state."""
    if depth == 0:
        return 1
    return sum(histories(state.child(action), depth - 1) for action in state.legal_actions())


def test_amazons_has_openspiels_histories() -> None:
    """A turn is three actions in OpenSpiel (which amazon, where to, the arrow) and two moves in Ludii."""
    bridged, native = (ath.load_game(text).new_initial_state() for text in ("ludii(game=Amazons)", "amazons"))
    assert histories(bridged, 1) == histories(native, 2) == 80
    assert histories(bridged, 2) == histories(native, 3) == 2176


@pytest.mark.slow(reason="whole matches, whose every move is found by its text")
def test_random_matches_of_amazons_are_openspiels() -> None:
    rng = random.Random(4)
    bridged, native = (ath.load_game(text).new_initial_state() for text in ("ludii(game=Amazons)", "amazons"))
    while not bridged.is_terminal():
        assert not native.is_terminal()
        assert bridged.current_player() == native.current_player()
        slides = {
            (amazon, to): after
            for amazon in native.legal_actions()
            for to, after in children(native.child(amazon)).items()
        }
        texts = bridged.position.describe_moves()
        assert sorted(texts) == sorted(f"{square(amazon)}-{square(to)}" for amazon, to in slides)
        action = rng.choice(bridged.legal_actions())
        words = texts[action]
        native = next(x for (amazon, to), x in slides.items() if f"{square(amazon)}-{square(to)}" == words)
        bridged.apply_action(action)
        arrows = children(native)
        texts = bridged.position.describe_moves()
        assert sorted(texts) == sorted(f"{square(arrow)}+Dot0" for arrow in arrows)
        action = rng.choice(bridged.legal_actions())
        native = next(x for arrow, x in arrows.items() if f"{square(arrow)}+Dot0" == texts[action])
        bridged.apply_action(action)
    assert native.is_terminal()
    assert bridged.returns() == native.returns()


def children(state: Any) -> dict[int, Any]:
    return {action: state.child(action) for action in state.legal_actions()}


def square(cell: int) -> str:
    """OpenSpiel numbers Amazons' cells from the top, row by row."""
    return f"{'ABCDEFGHIJ'[cell % 10]}{10 - cell // 10}"


@pytest.mark.slow(reason="a proof of thousands of states, each a call into Java")
def test_the_second_player_wins_hex_with_the_swap() -> None:
    game = ath.load_game("ludii(game=Hex,options=Board Size/3x3)")
    budget = ath.Budget(iterations=200_000, seconds=120)
    result = ath.think(ath.UBFM(game), game.new_initial_state(), budget, lambda states: np.zeros(len(states)))
    assert (result.value, result.is_resolved) == (-1, True)


def sample() -> list[str]:
    supported = [verdict.name for verdict in verdicts.read() if not verdict.reason and verdict.branching < 200]
    return sorted(random.Random(50).sample(supported, SAMPLE))


@pytest.mark.slow(reason="OpenSpiel's test plays and writes matches of fifty games")
@pytest.mark.parametrize("name", sample())
def test_openspiels_own_test_plays_a_sample_of_the_sweep(name: str) -> None:
    game = pyspiel.load_game("ludii", {"game": name.translate(str.maketrans("()", "[]")), "max_length": 15})
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)
