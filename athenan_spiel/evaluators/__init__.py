"""Evaluators, which return values and priors of states to a search.

`base` defines the protocol, `network` combines an encoder and an engine, `simple` needs no network.
"""

from __future__ import annotations

from athenan_spiel.evaluators.base import Evaluation, Evaluator
from athenan_spiel.evaluators.network import NetworkEvaluator
from athenan_spiel.evaluators.simple import RolloutEvaluator, UniformRandomEvaluator, ZeroEvaluator

__all__ = [
    "Evaluation",
    "Evaluator",
    "NetworkEvaluator",
    "RolloutEvaluator",
    "UniformRandomEvaluator",
    "ZeroEvaluator",
]
