"""What answers a search's question, and on which engine it runs.

`network` joins an encoder and an engine into an evaluator; `engine` says what an engine is and chooses one of
`openvino_engine`, `cuda_engine` and `torch_engine`, which are imported when they are chosen; `simple` needs no network.
"""

from __future__ import annotations

from athenan_spiel.evaluators.engine import Engine, make_engine
from athenan_spiel.evaluators.network import NetworkEvaluator
from athenan_spiel.evaluators.simple import RolloutEvaluator, UniformRandomEvaluator, ZeroEvaluator
from athenan_spiel.evaluators.threads import half_of_the_cores, most_threads, require_threads, torch_threads

__all__ = [
    "Engine",
    "NetworkEvaluator",
    "RolloutEvaluator",
    "UniformRandomEvaluator",
    "ZeroEvaluator",
    "half_of_the_cores",
    "make_engine",
    "most_threads",
    "require_threads",
    "torch_threads",
]
