"""Ends of random playouts in place of terminal states, as Section 4.1 of the 2019 article has it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from athenan_spiel.config import TargetsConfig
from athenan_spiel.encoding import Encoder, ObservationStore
from athenan_spiel.errors import ConfigError
from athenan_spiel.evaluators import UniformRandomEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.learning import Targets, make_targets
from athenan_spiel.outcomes import make_outcome
from athenan_spiel.play.self_play import Round, SelfPlayGame
from athenan_spiel.search import Budget, Descent
from athenan_spiel.search.choice import best

GAME = load_game("tic_tac_toe")
ENCODER = Encoder(GAME)


def played(config: TargetsConfig, seed: int) -> tuple[SelfPlayGame, Targets]:
    """A match of self-play, and what is learned of it."""
    outcome = make_outcome("additive_depth", GAME, random.Random(0))
    learning = make_targets(config, ENCODER, outcome)
    search = Descent(GAME, outcome=outcome)
    matches = Round(
        GAME, search, UniformRandomEvaluator(3), best, Budget(iterations=5), [seed], new_store=learning.new_store
    )
    while matches.advance():
        pass
    match = matches.take()
    assert match is not None
    return match, learning.read(match)


def rows(targets: Targets) -> list[bytes]:
    return [row.tobytes() for pack in targets.rows for row in pack.unpack()]


def worth_of_ends() -> dict[bytes, set[float]]:
    """The additive depth of every end of Tic-Tac-Toe by what is seen of it."""
    outcome = make_outcome("additive_depth", GAME, random.Random(0))
    found: dict[bytes, set[float]] = {}
    waiting, seen = [GAME.new_initial_state()], set()
    while waiting:
        state = waiting.pop()
        if str(state) in seen:
            continue
        seen.add(str(state))
        if state.is_terminal():
            found.setdefault(ENCODER.encode([state]).tobytes(), set()).add(float(outcome(state)))
        else:
            waiting += [state.child(action) for action in state.legal_actions()]
    return found


@pytest.mark.parametrize("coefficients", [False, True])
def test_every_other_state_gives_an_end_and_no_terminal_state_is_learned(coefficients: bool) -> None:
    match, plain = played(TargetsConfig(coefficients=coefficients), seed=1)
    again, targets = played(TargetsConfig(coefficients=coefficients, playout_ends=True), seed=1)
    assert again.history == match.history
    nodes, ends = len(match.tree.nodes), (len(match.tree.nodes) + 1) // 2
    assert isinstance(match.tree.store, ObservationStore)
    assert len(targets) == len(rows(targets)) == nodes + ends
    expanded = dict(zip(rows(plain), plain.labels.values.tolist(), strict=True))
    assert [expanded[row] for row in rows(targets)[:nodes]] == targets.labels.values[:nodes].tolist()
    worths = worth_of_ends()
    assert not set(rows(targets)[:nodes]) & worths.keys()
    for row, value in zip(rows(targets)[nodes:], targets.labels.values[nodes:].tolist(), strict=True):
        assert value in worths[row]
    if coefficients:
        assert targets.labels.weights is not None
        assert (targets.labels.weights[nodes:] == 1).all()
        assert targets.labels.weights[:nodes].max() > 1
    else:
        assert targets.labels.weights is None


def test_the_seed_of_the_match_decides_the_ends() -> None:
    config = TargetsConfig(playout_ends=True)
    (_, one), (_, same), (_, other) = played(config, 1), played(config, 1), played(config, 2)
    assert rows(one) == rows(same)
    np.testing.assert_array_equal(one.labels.values, same.labels.values)
    assert rows(one) != rows(other)


def test_only_trees_have_them() -> None:
    with pytest.raises(ConfigError, match=r"targets\.playout_ends must be false, as only 'tree' has them, got True"):
        TargetsConfig(method="root", playout_ends=True)
