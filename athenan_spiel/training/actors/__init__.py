"""Actors that play the games of a run in other processes than the trainer.

`ActorPool` starts them, sends them seeds, and replaces lost ones. They run in processes of this machine (`processes`),
which get weights by shared memory, or on a Ray cluster (`ray`), where weights are in Ray's object store.
"""

from athenan_spiel.training.actors.pool import ActorPool

__all__ = ["ActorPool"]
