"""Plan of a run: everything computed from its game, its settings and this machine before the run begins.

Training only reads the plan. During a run only `adaptation` and rollbacks change settings.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyspiel

from athenan_spiel.config import TrainingConfig
from athenan_spiel.encoding import Encoder
from athenan_spiel.learning.augmentation import ChosenSymmetries
from athenan_spiel.networks import PolicyShape
from athenan_spiel.outcomes import Kind, Outcome, is_code, kind_called, make_outcome, outcome_from_parameters
from athenan_spiel.training.checkpoints import Header
from athenan_spiel.training.fitting import Fit, fit_to, measure
from athenan_spiel.training.memory_budget import MemoryBudget, plan_memory
from athenan_spiel.training.model import policy_shape
from athenan_spiel.training.preflight import require_resources, require_suited
from athenan_spiel.training.presets import BY_TIME


class Randomness:
    """Random generators and seeds of a run, one for each purpose, derived from its seed. Each game has its own seed.

    Args:
        seed: the run's seed.
        states: states by generator name; generators without a state are dropped. None: all generators have their
            initial states.

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


@dataclass(frozen=True, kw_only=True, eq=False)
class RunPlan:
    """Game, settings and everything computed from them before a run begins.

    Attributes:
        game: the game, with the `max_length` chosen for it.
        config: the final settings.
        outcome: terminal values.
        kind: function or class of the outcome if it is custom code, else None.
        encoder: the encoder of the network's input.
        policy: shape of the network's policy; None without a policy.
        symmetries: the symmetries that augment training samples.
        memory: the memory budget; None without `memory.bytes`.
        generators: states of the run's random generators.
        fit: measurements that the settings were fitted to; None if they were not fitted.
        choice: description of the settings chosen for the game; None if none were chosen.
    """

    game: pyspiel.Game
    config: TrainingConfig
    outcome: Outcome
    kind: Kind | None
    encoder: Encoder
    policy: PolicyShape | None
    symmetries: ChosenSymmetries
    memory: MemoryBudget | None
    generators: Mapping[str, Any]
    fit: Fit | None = None
    choice: str | None = None


def plan_run(
    game: pyspiel.Game,
    config: TrainingConfig,
    *,
    fit: Collection[str] | None = None,
    elapsed: Callable[[], float] | None = None,
    header: Header | None = None,
    kind: Kind | None = None,
) -> RunPlan:
    """Returns the plan of a run with these settings on this machine.

    Args:
        fit: names among `presets.FITTED` of the settings to choose for the game. None: the game is not measured.
        elapsed: returns the training time until now, in seconds. None: settings are not fitted to the training time.
        header: header of the checkpoint that the run resumes from; None for a new run.
        kind: function or class of a custom outcome that the caller has loaded. None: it is found by name.

    Raises:
        CheckpointError: the header does not fit.
        ConfigError: the game has no such outcome, edges or symmetry, or a setting does not suit this machine.
    """
    encoder = Encoder(game, edges=config.encoding.edges)
    fitted, choice = None, None
    if fit is not None:
        given, measured = game, measure(game, encoder)
        game, config, choice = fit_to(game, config, measured, fit, elapsed, encoder)
        fitted = Fit(measured, [name for name in fit if name in BY_TIME])
        if game is not given:
            encoder = Encoder(game, edges=config.encoding.edges)
    elif header is not None:
        fitted = Fit.restored(header.fit, config, header.config)
    random = Randomness(config.seed)
    if kind is None and is_code(config.outcome):
        kind = kind_called(config.outcome)
    if header is None:
        outcome: Outcome = make_outcome(config.outcome, game, random.outcome, kind)
    else:
        outcome = outcome_from_parameters(config.outcome, header.outcome, kind)
    require_suited(config, game, outcome)
    policy = policy_shape(game, encoder, config.network)
    require_resources(config, encoder.shape, policy)
    memory = None
    if config.memory.bytes is not None:
        memory = plan_memory(config, game, outcome, encoder, policy)
        config = dataclasses.replace(config, memory=memory.memory)
    symmetries = ChosenSymmetries.find(
        game, encoder, config.encoding.symmetries, random.generators["symmetries"], policies=policy is not None
    )
    if not symmetries.names:
        del random.generators["symmetries"]  # it is never used
    return RunPlan(
        game=game,
        config=config,
        outcome=outcome,
        kind=kind,
        encoder=encoder,
        policy=policy,
        symmetries=symmetries,
        memory=memory,
        generators=random.states(),
        fit=fitted,
        choice=choice,
    )
