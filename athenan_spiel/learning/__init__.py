"""Learning from finished games: training samples, experience replay and gradient descent.

`targets` reads the pairs (s, v) of a game, `replay` keeps those of the last games and samples minibatches, `learner`
takes gradient steps. Only `learner` imports torch, so it is not re-exported here.
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
