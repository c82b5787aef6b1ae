"""Which data of past matches is learned again after a match (Sections 3.1, 3.2 and 9.3.1), one file a method.

A `Replay` keeps targets and deals out, once a match, the minibatches of a learning phase. `make_replay` makes the one
that the settings name. All keep observations packed, unpack them a few minibatches at a time, and bound their memory
(Remark 5). The source of randomness is their owner's.
"""

from __future__ import annotations

from athenan_spiel.learning.replay.base import Replay, make_replay
from athenan_spiel.learning.replay.minibatches import Batch
from athenan_spiel.learning.replay.per_match import PerMatchReplay
from athenan_spiel.learning.replay.plain import PlainReplay
from athenan_spiel.learning.replay.stratified import StratifiedReplay

__all__ = ["Batch", "PerMatchReplay", "PlainReplay", "Replay", "StratifiedReplay", "make_replay"]
