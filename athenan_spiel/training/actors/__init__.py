"""Actors, which play the games of a run.

`ActorPool` starts them, sends them seeds, and replaces lost ones. Without workers, the only actor plays in this process
(`inline`) and is reproducible. Workers run in processes of this machine (`processes`), which get weights by shared
memory, or on a Ray cluster (`ray`), where weights are in Ray's object store. `rounds` plays and learns rounds of games.
"""

from athenan_spiel.training.actors.pool import ActorPool

__all__ = ["ActorPool"]
