"""Ludii's Ataxx beside Fairy-Stockfish's: the same legal moves, and matches without a forfeit."""

from __future__ import annotations

import random

import pytest
from installed import FAIRY_STOCKFISH, needs_fairy_stockfish

import agents
import athenan_spiel as ath
from athenan_spiel.errors import AgentError
from athenan_spiel.protocols.uci import UciEngine
from athenan_spiel.protocols.uci_moves.table import uci_game

pytestmark = [
    pytest.mark.slow(reason="plays a few hundred plies of a game of Ludii's beside an engine"),
    pytest.mark.usefixtures("ludii"),
    needs_fairy_stockfish,
]


@pytest.fixture
def engine() -> UciEngine:
    started = UciEngine([str(FAIRY_STOCKFISH)])
    game = ath.load_game("ludii(game=Ataxx)")
    try:
        started.choose(uci_game(game), game)
    except AgentError as error:
        started.close()
        pytest.skip(f"needs Fairy-Stockfish 14 or newer: {error}")
    return started


def test_the_legal_moves_are_the_same(engine: UciEngine) -> None:
    game = ath.load_game("ludii(game=Ataxx)")
    uci, rng = uci_game(game), random.Random(5)
    compared = 0
    while compared < 100:
        state, moves = game.new_initial_state(), []
        while not state.is_terminal() and len(moves) < 150:
            turns = uci.turns(state)
            if rng.random() < 0.5:
                assert engine.legal_moves(moves) == set(turns), moves
                compared += 1
            moves.append(rng.choice([*turns]))
            state.apply_action(turns[moves[-1]][0])
    engine.close()


def test_matches_end_without_a_forfeit(engine: UciEngine) -> None:
    engine.close()
    game = ath.load_game("ludii(game=Ataxx)")
    series = ath.play_series(
        game,
        lambda player: agents.make_bot(f"uci:{FAIRY_STOCKFISH}@200e", game, player),
        lambda player: agents.make_bot("random", game, player),
        4,
        forfeits=True,
    )
    assert not any(result.forfeit for result in series.results)
    assert series.wins == 4
