"""The search that a configuration describes."""

from __future__ import annotations

from collections.abc import Callable

import pyspiel

from athenan_spiel.config import SearchConfig
from athenan_spiel.resolved import Known
from athenan_spiel.search.alphabeta import AlphaBeta
from athenan_spiel.search.base import Search
from athenan_spiel.search.descent import Descent
from athenan_spiel.search.mcts import EXPLORATION_CONSTANT, MCTS
from athenan_spiel.search.ubfm import UBFM


def make_search(
    game: pyspiel.Game,
    config: SearchConfig,
    outcome: Callable[[pyspiel.State], float],
    known: Known | None = None,
) -> Search:
    """The search over `game` that `config` describes; its limits are for the driver.

    Args:
        outcome: f_t, the worth of a terminal state.
        known: states proven in earlier matches, for Descent and UBFM with completion.
    """
    if config.algorithm == "alphabeta":
        return AlphaBeta(game, outcome=outcome, completion=config.completion)
    if config.algorithm == "mcts":
        constant = config.exploration_constant
        return MCTS(
            game,
            outcome=outcome,
            exploration_constant=EXPLORATION_CONSTANT if constant is None else constant,
            first_play_urgency=config.first_play_urgency,
            rollouts=config.rollouts,
            virtual_loss_batch=config.virtual_loss_batch or 1,
        )
    if config.algorithm == "descent":
        longest = config.longest_descent
        return Descent(game, outcome=outcome, completion=config.completion, known=known, longest=longest)
    return UBFM(game, outcome=outcome, completion=config.completion, known=known)
