"""From finished matches to better weights: what is learned, when it is learned again, and the learning itself.

`targets` reads the pairs (s, v(s)) off a match's tree, `replay` keeps those of the last matches and deals them
out in minibatches, `learner` descends the gradient. Only `learner` imports torch, so it is not re-exported here.
"""

from __future__ import annotations

from athenan_spiel.learning.replay import Batch, StratifiedReplay
from athenan_spiel.learning.targets import Targets, tree_targets

__all__ = ["Batch", "StratifiedReplay", "Targets", "tree_targets"]
