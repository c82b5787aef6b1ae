"""Images of actions under a symmetry, to transform a policy together with a state.

It is read from mirrored matches (`MirrorPlay.meetings`), played twice: an action becomes another one if that alone is
left by all states in which it was met, and if it was met in both. Of all actions only few are met in random play where
they are many. Where the game has `ActionPlanes`, the others follow by a law that is tried on those that were met: the
cell of an action turns with the board, and its plane becomes another one, whatever the cell. If one action that was
met breaks the law, nothing follows from it.
"""

from __future__ import annotations

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.encoding.action_planes import ActionPlanes
from athenan_spiel.encoding.board_maps import BoardMap
from athenan_spiel.encoding.mirror_play import Meetings, MirrorPlay

LEAST_OF_A_PLANE = 2
"""Actions of a plane that have to become those of one other for the rest of the plane to follow."""


def find_images(
    game: pyspiel.Game, play: MirrorPlay, symmetry: BoardMap, planes: ActionPlanes | None, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the image of each action under a verified symmetry.

    Returns:
        [A]: the action, or -1 where it is not known, or is another one in another state. No two actions become one.
    """
    images = np.full(game.num_distinct_actions(), -1)
    first, second = play.meetings(symmetry, rng), play.meetings(symmetry, rng)
    if first is None or second is None:
        return images
    met = Meetings(first)
    for action, possible in second.items():
        met[action] = met.get(action, possible) & possible
    for action in first.keys() & second.keys():
        if len(met[action]) == 1:
            (images[action],) = met[action]
    if planes is not None:
        images = _followed(images, met, symmetry, planes)
    known, counts = np.unique(images, return_counts=True)
    images[np.isin(images, known[counts > 1])] = -1
    return images


def images_by_product(second: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the images of actions under `first` followed by `second`."""
    return np.where(first < 0, -1, second[first])


def _followed(images: NDArray[np.int64], met: Meetings, symmetry: BoardMap, planes: ActionPlanes) -> NDArray[np.int64]:
    """The images with those that follow by the law, or as they are if an action that was met breaks it."""
    turned = symmetry.cells()
    cells = len(turned)
    action_at = np.full(planes.planes * cells, -1)
    (on_the_board,) = np.nonzero(planes.indices >= 0)
    action_at[planes.indices[on_the_board]] = on_the_board
    known: dict[int, list[int]] = {}
    for action, possible in met.items():
        if planes.indices[action] >= 0 and len(possible) == 1:
            known.setdefault(int(planes.indices[action]) // cells, []).extend(possible)
    followed = images.copy()
    for plane, become in known.items():
        if len(become) >= LEAST_OF_A_PLANE and planes.indices[become[0]] >= 0:
            image = planes.indices[become[0]] // cells
            mine = on_the_board[planes.indices[on_the_board] // cells == plane]
            followed[mine] = action_at[image * cells + turned[planes.indices[mine] % cells]]
    followed_met = ((followed[action], possible) for action, possible in met.items() if followed[action] >= 0)
    return followed if all(action in possible for action, possible in followed_met) else images
