"""Network input: states as planes (`encoder`, `edges`), their symmetries (`symmetries`), and their storage (`compact`).

`board_maps` contains the map of a symmetry; `mirror_play` and `plane_matching` verify it by the rules. `action_planes`
finds the cells of actions, `action_images` their images under a symmetry. `description` describes the input for other
programs.
"""

from __future__ import annotations

from athenan_spiel.encoding.action_planes import ActionPlanes, find_action_planes
from athenan_spiel.encoding.compact import CompactRows, ObservationStore
from athenan_spiel.encoding.description import describe_input
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.encoding.symmetries import Symmetries, find_symmetries

__all__ = [
    "ActionPlanes",
    "CompactRows",
    "Encoder",
    "ObservationStore",
    "Symmetries",
    "describe_input",
    "find_action_planes",
    "find_symmetries",
]
