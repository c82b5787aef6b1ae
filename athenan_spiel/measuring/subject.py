"""Subject of a measurement: a game, settings of a training, an untrained network, and random states."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.config import TrainingConfig
from athenan_spiel.encoding import Encoder, ObservationStore
from athenan_spiel.encoding.compact import unpack_rows
from athenan_spiel.learning import Targets
from athenan_spiel.learning.labels import Labels, Policies
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.plan import plan_run

STATES = 8192
"""Maximum number of random states. They are generated for at most `STATES_SECONDS`."""
STATES_SECONDS = 1.0


class Subject:
    """A game with settings, ready to be measured.

    Attributes:
        learner: learner of a new training, with outcome, encoder and network.

    Raises:
        ConfigError, UnsupportedGameError: as a training raises them before it starts.
    """

    def __init__(self, game: pyspiel.Game, config: TrainingConfig) -> None:
        self.game = game
        self.config = config
        self.learner = LearnerSide(plan_run(game, config))

    @functools.cached_property
    def targets(self) -> Targets:
        """Random states of the game with random values."""
        end = time.perf_counter() + STATES_SECONDS
        return random_targets(
            self.game,
            self.learner.encoder,
            random.Random(0),
            lambda states: states < STATES and time.perf_counter() < end,
            policies=self.learner.policy is not None,
        )

    def positions(self, count: int) -> NDArray[np.float32]:
        """Returns encoded random states, float32 [count, *shape]; repeated if there are fewer."""
        rows = unpack_rows(self.targets.rows, np.arange(count) % len(self.targets))
        return rows.reshape(-1, *self.learner.encoder.shape)


def random_targets(
    game: pyspiel.Game,
    encoder: Encoder,
    rng: random.Random,
    continues: Callable[[int], bool],
    *,
    policies: bool = False,
) -> Targets:
    """Returns the states of random games as targets of one game, with random values in [-1, 1).

    Args:
        continues: called after each state with the number of states; False ends the generation.
        policies: whether each state that is not terminal gets a uniform policy.
    """
    store, state = ObservationStore(encoder), game.new_initial_state()
    uniform: list[tuple[list[int], list[float]]] = []
    while True:
        store.append(state)
        actions = state.legal_actions()
        if policies:
            uniform.append((actions, [1 / len(actions)] * len(actions) if actions else []))
        if not continues(len(store)):
            break
        if actions:
            state.apply_action(rng.choice(actions))
        else:
            state = game.new_initial_state()
    values = np.array([rng.uniform(-1, 1) for _ in range(len(store))], np.float32)
    return Targets(store.chunks(), Labels(values, policies=Policies.of(uniform) if policies else None))
