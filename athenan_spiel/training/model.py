"""A model: a game, an encoder, an outcome and weights, made a ready evaluator here and nowhere else.

Who plays with a network makes a `Model`: an actor of a training, the trained agent of a run, a player of an
experiment. Who learns one needs the network alone, which `new_network` gives.
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
from athenan_spiel.networks import PolicyShape, ValueNetwork, make_network, playing_bytes, require_memory
from athenan_spiel.outcomes import Outcome

Weights = Mapping[str, torch.Tensor]
"""The numbers of a network, by the names of its layers."""


@dataclass(frozen=True, eq=False)
class Model:
    """How a network sees the states of a game and values them.

    Attributes:
        outcome: what the ends of matches are worth.
        encoder: makes the network's input of a state.
        network: the network; `evaluator` computes with a copy of its weights.
        evaluator: answers what states are worth.
    """

    game: pyspiel.Game
    outcome: Outcome
    encoder: Encoder
    network: ValueNetwork
    evaluator: NetworkEvaluator

    def load(self, weights: Weights) -> None:
        """Compute with a copy of these weights from now on.

        Raises:
            CheckpointError: they are those of a network of another shape.
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
    """The model of a training of `game` with the settings `config`.

    Args:
        weights: of the network; none: the evaluator answers nothing before `Model.load`.
        engine: engine, or its settings, in place of those of `config`.
        encoder: the encoder; by default a new one.

    Raises:
        CheckpointError: the weights are those of a network of another shape.
        ConfigError: the network does not fit the game or the memory that is free; the engine does not suit this
            machine.
    """
    encoder = encoder or Encoder(game, edges=config.encoding.edges)
    if engine is None or isinstance(engine, EngineConfig):
        engine = make_engine(engine or config.engine, encoder.shape)
    evaluator = NetworkEvaluator(encoder, engine)
    policy = policy_shape(game, encoder, config.network)
    model = Model(game, outcome, encoder, new_network(encoder, config, outcome, policy), evaluator)
    if weights is not None:
        model.load(weights)
    return model


def new_network(
    encoder: Encoder, config: TrainingConfig, outcome: Outcome, policy: PolicyShape | None = None, *, seed: int = 0
) -> ValueNetwork:
    """The network of a training, with its initial weights drawn from `seed`.

    Args:
        policy: what `policy_shape` says of the game.

    Raises:
        ConfigError: it does not fit the game, or into the memory that is free.
    """
    require_memory(playing_bytes(encoder.shape, config.network, policy), "to play")
    bounded = config.outcome == "gain"
    scale = outcome.scale
    return make_network(encoder.shape, config.network, bounded=bounded, scale=scale, seed=seed, policy=policy)


def policy_shape(game: pyspiel.Game, encoder: Encoder, config: NetworkConfig) -> PolicyShape | None:
    """The actions that a network with these settings tells a policy of; None where it tells none.

    Raises:
        ConfigError: it is to tell one, and the game's actions mean something else in each state.
    """
    if config.policy == "none":
        return None
    require_fixed_actions(game)
    found = None if config.policy == "dense" else find_action_planes(game, encoder)
    if found is None:
        return PolicyShape(game.num_distinct_actions())
    return PolicyShape(game.num_distinct_actions(), found.planes, tuple(found.indices.tolist()))


def load_weights(network: ValueNetwork, weights: Weights) -> None:
    """Give `network` the weights of a checkpoint.

    Raises:
        CheckpointError: they are those of a network of another shape.
    """
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        problem = str(error).splitlines()[-1].strip()
        raise CheckpointError(f"the checkpoint's weights do not fit {network.description}: {problem}") from None
