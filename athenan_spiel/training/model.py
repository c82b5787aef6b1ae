"""Model: game, encoder, outcome and weights, combined into an evaluator.

Actors, trained agents and the players of an experiment use `Model`. The trainer has only a network (`new_network`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyspiel
import torch

from athenan_spiel.config import EngineConfig, NetworkConfig, TrainingConfig
from athenan_spiel.encoding.action_planes import find_action_planes
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.engines import Engine, make_engine
from athenan_spiel.errors import CheckpointError
from athenan_spiel.evaluators import NetworkEvaluator
from athenan_spiel.games import require_fixed_actions
from athenan_spiel.games.rows import values_of
from athenan_spiel.networks import PolicyShape, ValueNetwork, make_network, playing_bytes, require_memory
from athenan_spiel.outcomes import Outcome

Weights = Mapping[str, torch.Tensor]
"""Tensors of a network by name."""


@dataclass(frozen=True, eq=False)
class Model:
    """A network and everything needed to evaluate states with it.

    Attributes:
        outcome: terminal values.
        encoder: converts states to the network's input.
        network: the network; `evaluator` has a copy of its weights.
        evaluator: evaluates states.
    """

    game: pyspiel.Game
    outcome: Outcome
    encoder: Encoder
    network: ValueNetwork
    evaluator: NetworkEvaluator

    def load(self, weights: Weights) -> None:
        """Use a copy of these weights from now on.

        Raises:
            CheckpointError: the weights don't fit the network.
        """
        load_weights(self.network, weights)
        self.evaluator.load(self.network)


def make_model(
    game: pyspiel.Game,
    config: TrainingConfig,
    outcome: Outcome,
    weights: Weights | None = None,
    *,
    engine: EngineConfig | Engine | None = None,
    encoder: Encoder | None = None,
) -> Model:
    """Returns the model for `game` with the settings `config`.

    Args:
        weights: weights of the network; None: call `Model.load` before evaluating.
        engine: engine, or its settings, in place of those of `config`.
        encoder: the encoder; by default a new one.

    Raises:
        CheckpointError: the weights don't fit the network.
        ConfigError: the network does not fit the game or the free memory, or the engine does not suit this machine.
    """
    encoder = encoder or Encoder(game, edges=config.encoding.edges)
    if engine is None or isinstance(engine, EngineConfig):
        engine = make_engine(engine or config.engine, encoder.shape)
    evaluator = NetworkEvaluator(encoder, engine)
    policy = policy_shape(game, encoder, config.network)
    model = Model(game, outcome, encoder, new_network(game, encoder, config, outcome, policy), evaluator)
    if weights is not None:
        model.load(weights)
    return model


def new_network(
    game: pyspiel.Game,
    encoder: Encoder,
    config: TrainingConfig,
    outcome: Outcome,
    policy: PolicyShape | None = None,
    *,
    seed: int = 0,
) -> ValueNetwork:
    """Returns a network with initial weights drawn from `seed`.

    Args:
        policy: shape of the policy, by `policy_shape`.

    Raises:
        ConfigError: the network does not fit the game or the free memory.
    """
    require_memory(playing_bytes(encoder.shape, config.network, policy), "to play")
    bounded = config.outcome == "gain"
    scale = outcome.scale
    return make_network(
        encoder.shape,
        config.network,
        bounded=bounded,
        scale=scale,
        seed=seed,
        policy=policy,
        values=values_of(game),
    )


def policy_shape(game: pyspiel.Game, encoder: Encoder, config: NetworkConfig) -> PolicyShape | None:
    """Returns the shape of the network's policy; None without a policy.

    Raises:
        ConfigError: the meaning of the game's actions differs between states, so it can't have a policy.
    """
    if config.policy == "none":
        return None
    require_fixed_actions(game)
    found = None if config.policy == "dense" else find_action_planes(game, encoder)
    if found is None:
        return PolicyShape(game.num_distinct_actions())
    return PolicyShape(game.num_distinct_actions(), found.planes, tuple(found.indices.tolist()))


def load_weights(network: ValueNetwork, weights: Weights) -> None:
    """Load weights of a checkpoint into `network`.

    Raises:
        CheckpointError: the weights don't fit the network.
    """
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        problem = str(error).splitlines()[-1].strip()
        raise CheckpointError(
            f"the checkpoint's weights do not fit {network.description}: {problem}; if another version of this library "
            "trained them, train again"
        ) from None
