"""Engines, which run value networks.

`base` defines the protocol. `choice` makes one of `openvino_engine`, `cuda_engine` and `torch_engine`, which are
imported when they are chosen.
"""

from __future__ import annotations

from athenan_spiel.engines.base import Answers, Deferred, Engine, Pending
from athenan_spiel.engines.choice import make_engine
from athenan_spiel.engines.threads import half_of_the_cores, most_threads, require_threads, torch_threads

__all__ = [
    "Answers",
    "Deferred",
    "Engine",
    "Pending",
    "half_of_the_cores",
    "make_engine",
    "most_threads",
    "require_threads",
    "torch_threads",
]
