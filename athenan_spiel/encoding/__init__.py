"""What the network sees: states as planes (`encoder`, `edges`), their mirror images (`symmetries`), and their storage.

Of a symmetry `board_maps` has the map, `mirror_play` and `plane_matching` try it on the rules. `compact` stores.
`action_planes` finds where on the board actions belong, `action_images` what they become when it is turned.
`description` tells other programs what the numbers mean.
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
