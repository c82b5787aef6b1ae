"""Actors that play a run's games beside the process that learns.

`ActorPool` starts, feeds and replaces them. They run in processes of this machine (`processes`) or on a Ray cluster
(`ray`), which differ in how weights reach them: by shared memory, or by Ray's store.
"""

from athenan_spiel.training.actors.pool import ActorPool

__all__ = ["ActorPool"]
