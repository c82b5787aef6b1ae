"""Ludii's games against OpenSpiel's own rules and against known values, where that takes longer."""

from __future__ import annotations

import dataclasses
import random
import re
from pathlib import Path
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
    budget = ath.Budget(iterations=200_000)
    result = ath.think(ath.UBFM(game), game.new_initial_state(), budget, lambda states: np.zeros(len(states)))
    assert (result.value, result.is_resolved) == (-1, True)


def moved(state: Any, move: str) -> Any:
    """The state of Ludii's chess after a move from one square to another, such as e2e4."""
    a, b = move[:2].upper(), move[2:].upper()
    found = [x for x in state.legal_actions() if re.match(rf"{a}[-x]{b}", state.action_to_string(x))]
    assert len(found) == 1, (move, [state.action_to_string(x) for x in state.legal_actions()])
    return state.child(found[0])


def played(native: Any, move: str) -> Any:
    board = native.board()
    find = pyspiel.chess.action_to_move
    return native.child(next(x for x in native.legal_actions() if find(x, board).to_lan() == move))


def test_a_third_repetition_ends_chess_in_openspiel_alone_and_both_know_the_hundredth_quiet_ply() -> None:
    bridged, native = (ath.load_game(text).new_initial_state() for text in ("ludii(game=Chess)", "chess"))
    for move in ["g1f3", "g8f6", "f3g1", "f6g8"] * 2:
        bridged, native = moved(bridged, move), played(native, move)
    assert (native.is_terminal(), bridged.is_terminal()) == (True, False)
    bridged = moved(ath.load_game("ludii(game=Chess)").new_initial_state(), "e2e4")
    bridged = moved(bridged, "e7e5")
    for ply in range(100):
        assert not bridged.is_terminal()
        bridged = moved(bridged, ("e1e2", "e8e7", "e2e1", "e7e8")[ply % 4])
    assert bridged.is_terminal()
    assert bridged.returns() == [0, 0]


def test_who_is_stalemated_passes_once_before_the_draw_of_ludiis_chess() -> None:
    """Sam Loyd's stalemate in ten moves."""
    bridged, native = (ath.load_game(text).new_initial_state() for text in ("ludii(game=Chess)", "chess"))
    for move in (
        "e2e3 a7a5 d1h5 a8a6 h5a5 h7h5 h2h4 a6h6 a5c7 f7f6 c7d7 e8f7 d7b7 d8d3 b7b8 d3h7 b8c8 f7g6 c8e6".split()  # noqa: SIM905
    ):
        bridged, native = moved(bridged, move), played(native, move)
    assert native.is_terminal()
    assert [bridged.action_to_string(action) for action in bridged.legal_actions()] == ["Pass"]
    bridged.apply_action(0)
    assert bridged.is_terminal()
    assert bridged.returns() == native.returns() == [0, 0]


SMALL_CONNECT_FOUR = """
(game "Small Connect Four" (players 2)
    (equipment {(board (rectangle ROWS COLUMNS)) (piece "Disc" Each)})
    (rules
        (play (move Add (to (forEach (sites Empty)
            if:(or (is In (site) (sites Bottom)) (is Occupied (ahead (site) S)))))))
        (end (if (is Line LENGTH) (result Mover Win)))))
"""
"""Our own description: Ludii's has one size of board."""


@pytest.mark.parametrize(
    ("rows", "columns", "length", "value"),
    [
        (3, 3, 3, 0),
        (3, 4, 3, 1),
        (4, 4, 3, 1),
        pytest.param(3, 4, 4, 0, marks=pytest.mark.slow(reason="a draw: ten thousands of states, each one Java's")),
    ],
)
def test_connect_four_on_a_small_board_is_worth_what_openspiels_is(
    tmp_path: Path, rows: int, columns: int, length: int, value: int
) -> None:
    file = tmp_path / "Small.lud"
    text = SMALL_CONNECT_FOUR.replace("ROWS", str(rows)).replace("COLUMNS", str(columns))
    file.write_text(text.replace("LENGTH", str(length)), encoding="utf-8")
    bridged = ath.load_game(str(pyspiel.load_game("ludii", {"file": str(file)})))
    native = ath.load_game(f"connect_four(rows={rows},columns={columns},x_in_row={length})")
    assert histories(bridged.new_initial_state(), 4) == histories(native.new_initial_state(), 4)
    proofs = [ath.solve(game) for game in (bridged, native)]
    assert [(proof.proven, proof.value) for proof in proofs] == [(True, value)] * 2


@pytest.mark.slow(reason="trains for minutes; without a network the proof takes a million states")
def test_the_first_player_wins_hex_4x4(tmp_path: Path) -> None:
    """No limit is a time: 300 matches are learned, and the proof took 1,867 iterations of 20,000."""
    game = ath.load_game("ludii(game=Hex,options=Board Size/4x4;Swap Rules/Off)")
    config = dataclasses.replace(ath.preset("quick"), outcome="gain", seconds=None, matches=300, seed=1)
    ath.train(game, config, tmp_path / "run")
    evaluator = ath.load_agent(tmp_path / "run").evaluator
    proof = ath.solve(game, evaluator=evaluator, bounds=ath.ProofBounds(iterations=20_000))
    assert (proof.proven, proof.value) == (True, 1)


def sample() -> list[str]:
    supported = [verdict.name for verdict in verdicts.read() if not verdict.reason and verdict.branching < 200]
    return sorted(random.Random(50).sample(supported, SAMPLE))


@pytest.mark.slow(reason="OpenSpiel's test plays and writes matches of fifty games")
@pytest.mark.parametrize("name", sample())
def test_openspiels_own_test_plays_a_sample_of_the_sweep(name: str) -> None:
    game = pyspiel.load_game("ludii", {"game": name.translate(str.maketrans("()", "[]")), "max_length": 40})
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)
