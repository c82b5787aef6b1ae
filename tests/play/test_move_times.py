"""Moves keep near to their time; `benchmarks/move_times.py` measures how near, on a machine that does nothing else."""

from __future__ import annotations

import statistics

import pyspiel
import pytest

import agents
from athenan_spiel.evaluators.simple import ZeroEvaluator
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.match import play_match
from athenan_spiel.search import MCTS, UBFM, AlphaBeta, Budget, Descent, Search

HEX = pyspiel.load_game("hex(board_size=7)")
GENEROUS = 2.0
"""Seconds beyond the limit that half of the moves may take on a machine that does many other things."""


def median_move(player: agents.AthenanBot | Agent) -> float:
    result = play_match(HEX, [player, agents.make_bot("random", HEX, 1)])
    moves = zip(result.movers, result.move_seconds, strict=True)
    return statistics.median(seconds for mover, seconds in moves if mover == 0)


@pytest.mark.parametrize("search", [UBFM, Descent, AlphaBeta, MCTS])
def test_agents_keep_near_to_their_time(search: type[Search]) -> None:
    agent = Agent(HEX, search(HEX), ZeroEvaluator(), budget=Budget(seconds=0.05))
    assert median_move(agent) < 0.05 + GENEROUS


@pytest.mark.parametrize("word", ["mcts@0.05s", "uct@0.05s", "alphabeta@0.05s"])
def test_words_keep_near_to_their_time(word: str) -> None:
    assert median_move(agents.make_bot(word, HEX, 0)) < 0.05 + GENEROUS
