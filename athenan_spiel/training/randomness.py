"""Everything random in a run, from its one seed, but what is random in a match, which has a seed of its own."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np


class Randomness:
    """The sources of a run's random numbers, each for one purpose.

    Attributes:
        outcome: draws what the outcome wants to know of the game.
        network: the seed of the initial weights.
        warm_up: the seed of the random matches before the first one.
        generators: of what goes on as long as the run does, by purpose: the seeds of "matches", the "replay" and the
            "symmetries". Their states belong into a checkpoint.
    """

    def __init__(self, seed: int) -> None:
        sequences = np.random.SeedSequence(seed).spawn(6)
        for_outcome, for_network, for_matches, for_replay, for_warm_up, for_symmetries = sequences
        self.outcome = random.Random(_seed(for_outcome))
        self.network = _seed(for_network)
        self.warm_up = _seed(for_warm_up)
        self.generators = {
            "matches": np.random.default_rng(for_matches),
            "replay": np.random.default_rng(for_replay),
            "symmetries": np.random.default_rng(for_symmetries),
        }

    def states(self) -> dict[str, dict[str, Any]]:
        """The states of the generators."""
        return {name: dict(generator.bit_generator.state) for name, generator in self.generators.items()}

    def set_states(self, states: Mapping[str, Any]) -> None:
        """Let each generator go on from its state among `states`.

        Raises:
            KeyError, OverflowError, TypeError, ValueError: one is missing, or is the state of no such generator.
        """
        for name, generator in self.generators.items():
            generator.bit_generator.state = states[name]


def _seed(sequence: np.random.SeedSequence) -> int:
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))
