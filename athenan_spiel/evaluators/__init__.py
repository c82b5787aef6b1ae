"""What answers a search's question: `base` says what that is, `network` joins an encoder and an engine, `simple` needs
no network.
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
