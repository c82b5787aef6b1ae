"""Actors in processes of their own, beside the learner, on one machine.

`Fleet` is what the learner sees of them; `playing` is what runs in each. Weights and counters lie in shared memory
(`board`), records of finished matches come through pipes.
"""

from athenan_spiel.training.fleet.actors import Actors
from athenan_spiel.training.fleet.fleet import Fleet
from athenan_spiel.training.fleet.rounds import FleetRounds

__all__ = ["Actors", "Fleet", "FleetRounds"]
