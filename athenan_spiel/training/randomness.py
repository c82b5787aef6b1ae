"""Random sources of a run, derived from its seed. Each game has a seed of its own."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np


class Randomness:
    """Random sources of a run, one for each purpose.

    Args:
        seed: the run's seed.
        states: states of the generators to keep, by name; None: all generators in their initial states.

    Attributes:
        outcome: generator for the random games that an outcome measures.
        network: seed of the initial weights.
        warm_up: seed of the warm-up's random games.
        generators: generators used throughout the run: "matches" (seeds of games), "replay" and "symmetries".
            Checkpoints contain their states.
    """

    def __init__(self, seed: int, states: Mapping[str, Any] | None = None) -> None:
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
        if states is not None:
            self.generators = {name: self.generators[name] for name in states}
            self.set_states(states)

    def states(self) -> dict[str, dict[str, Any]]:
        """Returns the state of each generator."""
        return {name: dict(generator.bit_generator.state) for name, generator in self.generators.items()}

    def set_states(self, states: Mapping[str, Any]) -> None:
        """Set the state of each generator.

        Raises:
            KeyError, OverflowError, TypeError, ValueError: a state is missing or invalid.
        """
        for name, generator in self.generators.items():
            generator.bit_generator.state = states[name]


def _seed(sequence: np.random.SeedSequence) -> int:
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))
