"""The actors of a run on the nodes of a Ray cluster; the learner is the process that begins them.

`placed` finds the cluster; `Cluster` is what the learner sees of the actors (`worker`) and of what values states for
those of a node (`desks`); `playing` and `valuing` are what runs in each.
"""

from athenan_spiel.training.cluster.cluster import Cluster
from athenan_spiel.training.cluster.placing import placed

__all__ = ["Cluster", "placed"]
