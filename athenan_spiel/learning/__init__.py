"""From finished matches to better weights: what is learned, when it is learned again, and the learning itself.

`targets` reads the pairs (s, v) off a match, `replay` keeps those of the last matches and deals them out in
minibatches, `learner` descends the gradient. Only `learner` imports torch, so it is not re-exported here.
"""

from __future__ import annotations

from athenan_spiel.learning.replay import Batch, Replay, StratifiedReplay, make_replay
from athenan_spiel.learning.targets import Targets, TargetsMethod, make_targets, tree_targets

__all__ = [
    "Batch",
    "Replay",
    "StratifiedReplay",
    "Targets",
    "TargetsMethod",
    "make_replay",
    "make_targets",
    "tree_targets",
]
