"""A model: a game, an encoder, an outcome and weights, made a ready evaluator here and nowhere else.

Who plays with a network makes a `Model`: an actor of a training, the trained agent of a run, a player of an
experiment. Who learns one needs the network alone, which `value_network` gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyspiel
import torch

from athenan_spiel.config import EngineConfig, TrainingConfig
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.engines import make_engine
from athenan_spiel.errors import CheckpointError
from athenan_spiel.evaluators import NetworkEvaluator
from athenan_spiel.networks import ValueNetwork, make_network, playing_bytes, require_memory
from athenan_spiel.outcomes import Outcome

Weights = Mapping[str, torch.Tensor]
"""The numbers of a network, by the names of its layers."""


@dataclass(frozen=True, eq=False)
class Model:
    """How a network sees the states of a game and values them.

    Attributes:
        outcome: what the ends of matches are worth.
        encoder: makes the network's input of a state.
        network: the value network; `evaluator` computes with a copy of its weights.
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
    engine: EngineConfig | None = None,
) -> Model:
    """The model of a training of `game` with the settings `config`.

    Args:
        weights: of the network; none: the evaluator answers nothing before `Model.load`.
        engine: what computes, in place of the settings'.

    Raises:
        CheckpointError: the weights are those of a network of another shape.
        ConfigError: the network does not fit the game or the memory that is free; the engine does not suit this
            machine.
    """
    encoder = Encoder(game, edges=config.encoding.edges)
    evaluator = NetworkEvaluator(encoder, make_engine(engine or config.engine, encoder.shape))
    model = Model(game, outcome, encoder, value_network(encoder, config, outcome), evaluator)
    if weights is not None:
        model.load(weights)
    return model


def value_network(encoder: Encoder, config: TrainingConfig, outcome: Outcome, *, seed: int = 0) -> ValueNetwork:
    """The network of a training, with its initial weights drawn from `seed`.

    Raises:
        ConfigError: it does not fit the game, or into the memory that is free.
    """
    require_memory(playing_bytes(encoder.shape, config.network), "to play")
    bounded = config.outcome == "gain"
    return make_network(encoder.shape, config.network, bounded=bounded, scale=outcome.scale, seed=seed)


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
