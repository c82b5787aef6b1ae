"""Matches of the network as it is now against OpenSpiel's own MCTS, to see whether training helps."""

from __future__ import annotations

import random
import time

import numpy as np
import pyspiel

from athenan_spiel.config import TrainingConfig
from athenan_spiel.evaluators.base import Evaluator
from athenan_spiel.outcomes import Outcome
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.openspiel_mcts import mcts_bot
from athenan_spiel.play.series import play_series
from athenan_spiel.search import Budget
from athenan_spiel.search.algorithms import parse_search
from athenan_spiel.training.events import EvaluationFinished

STREAM = 0x6576616C
""""eval": keeps these random numbers apart from the run's own."""


def evaluate(
    game: pyspiel.Game,
    outcome: Outcome,
    evaluator: Evaluator,
    config: TrainingConfig,
    matches: int,
) -> EvaluationFinished:
    """Play `config.evaluation.matches` matches, each random opening with both colours, `config.evaluation.search`
    against OpenSpiel's MCTS.

    All that is random in it comes from the run's seed and from `matches`, how many the run has learned, so an
    evaluation changes nothing in the run.
    """
    start = time.perf_counter()
    settings = config.evaluation
    seeds = iter(np.random.SeedSequence([config.seed, matches, STREAM]).generate_state(5, np.uint64).tolist())
    word = parse_search(settings.search)
    search, decision = word.make(game, outcome), word.algorithm.decision
    budget = Budget(seconds=settings.seconds)
    series = play_series(
        game,
        lambda player: Agent(game, search, evaluator, decision=decision, budget=budget, rng=random.Random(next(seeds))),
        lambda player: mcts_bot(game, settings.simulations, next(seeds)),
        settings.matches,
        opening_plies=settings.opening_plies,
        seed=next(seeds),
    )
    return EvaluationFinished(
        matches=matches,
        opponent=f"mcts:{settings.simulations}",
        wins=series.wins,
        draws=series.draws,
        losses=series.losses,
        points=series.points,
        evaluation_seconds=time.perf_counter() - start,
    )
