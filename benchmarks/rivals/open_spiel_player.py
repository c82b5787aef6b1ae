"""Plays by OpenSpiel's AlphaZero: its own MCTS with the network of its newest checkpoint, without noise."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.algorithms import mcts
from open_spiel.python.algorithms.alpha_zero import evaluator, utils

from open_spiel_alphazero import LEARNING_RATE, UCT_CONSTANT, WEIGHT_DECAY

SHARE = 0.85
"""Fraction of the time per move that is used; the rest is for slower positions."""
TRIED, LEAST = 8, 2
"""Simulations for measuring the speed, and the minimum with which MCTS chooses a move."""


class Player:
    """Plays by the newest checkpoint in a folder.

    Args:
        folder: folder of the training, an absolute path.
        about: contents of its `rival.json`.
        simulations: simulations per search until a time is set.
        seed: seed of the choice between equal actions.

    Raises:
        ValueError: there is no checkpoint of this network.
    """

    def __init__(self, folder: Path, about: dict[str, Any], simulations: int, seed: int) -> None:
        self._game = pyspiel.load_game(about["game"])
        model = utils.api_selector(about["api"]).Model.build_model(
            about["model"],
            self._game.observation_tensor_shape(),
            self._game.num_distinct_actions(),
            about["width"],
            about["depth"],
            WEIGHT_DECAY,
            LEARNING_RATE,
            str(folder),
            decouple_weight_decay=True,
        )
        model.load_checkpoint(newest(folder))
        self._evaluator = evaluator.AlphaZeroEvaluator(self._game, model)
        self._bot = mcts.MCTSBot(
            self._game,
            UCT_CONSTANT,
            max(LEAST, simulations),
            self._evaluator,
            solve=False,
            random_state=np.random.RandomState(seed),
            child_selection_fn=mcts.SearchNode.puct_value,
            dont_return_chance_node=True,
        )
        self._seconds = 0.0
        self.choose([])

    def set_seconds(self, seconds: float) -> None:
        """Sets the approximate time per move."""
        if seconds == self._seconds:
            return
        self._seconds = seconds
        self._bot.max_simulations = TRIED
        self._evaluator._cache.clear()  # known states would cost nothing
        start = time.perf_counter()
        self.choose([])
        taken = time.perf_counter() - start
        self._bot.max_simulations = max(LEAST, int(TRIED * SHARE * seconds / taken))

    def choose(self, history: list[int]) -> int:
        """Returns the action to play after the actions in `history`."""
        state = self._game.new_initial_state()
        for action in history:
            state.apply_action(action)
        return int(self._bot.mcts_search(state).best_child().action)


def newest(folder: Path) -> int:
    """Returns the number of the newest complete checkpoint; raises `ValueError` if there is none."""
    names = [path.name.partition("-")[2] for path in folder.glob("checkpoint-*")]
    numbers = [int(name) for name in names if name.isdecimal()]
    if not numbers:
        raise ValueError("it has no checkpoint")
    return max(numbers)
