"""Images of actions under a symmetry, to transform a policy together with a state.

They are found in mirrored random games (`MirrorPlay.image_candidates`), played twice. The image of an action is known
if the action occurred both times and all its states leave a single candidate.

If a game has many actions, random play contains only few of them. If the game has `ActionPlanes`, the images of the
others follow from a rule: the cell of an action turns with the board, and all actions of a plane move to one other
plane. The rule is used only if every action that occurred obeys it.
"""

from __future__ import annotations

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.encoding.action_planes import ActionPlanes
from athenan_spiel.encoding.board_maps import BoardMap
from athenan_spiel.encoding.mirror_play import ImageCandidates, MirrorPlay

MIN_KNOWN_IMAGES = 2
"""Minimum number of known images in a plane for the images of its other actions to be derived."""


def find_images(
    game: pyspiel.Game, play: MirrorPlay, symmetry: BoardMap, planes: ActionPlanes | None, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Returns the image of each action under a verified symmetry.

    Returns:
        int64 [A]: the image, or -1 if it is unknown or differs between states. No two actions have the same image.
    """
    images = np.full(game.num_distinct_actions(), -1)
    first, second = play.image_candidates(symmetry, rng), play.image_candidates(symmetry, rng)
    if first is None or second is None:
        return images
    candidates = ImageCandidates(first)
    for action, possible in second.items():
        candidates[action] = candidates.get(action, possible) & possible
    for action in first.keys() & second.keys():
        if len(candidates[action]) == 1:
            (images[action],) = candidates[action]
    if planes is not None:
        images = _derived(images, candidates, symmetry, planes)
    known, counts = np.unique(images, return_counts=True)
    images[np.isin(images, known[counts > 1])] = -1
    return images


def images_by_product(second: NDArray[np.int64], first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the images of actions under `first` followed by `second`."""
    return np.where(first < 0, -1, second[first])


def _derived(
    images: NDArray[np.int64], candidates: ImageCandidates, symmetry: BoardMap, planes: ActionPlanes
) -> NDArray[np.int64]:
    """Returns the images with those derived from planes, or unchanged if an action that occurred contradicts one."""
    turned = symmetry.cells()
    cells = len(turned)
    action_at = np.full(planes.planes * cells, -1)
    (on_the_board,) = np.nonzero(planes.indices >= 0)
    action_at[planes.indices[on_the_board]] = on_the_board
    known: dict[int, list[int]] = {}
    for action, possible in candidates.items():
        if planes.indices[action] >= 0 and len(possible) == 1:
            known.setdefault(int(planes.indices[action]) // cells, []).extend(possible)
    derived = images.copy()
    for plane, known_images in known.items():
        if len(known_images) >= MIN_KNOWN_IMAGES and planes.indices[known_images[0]] >= 0:
            image_plane = planes.indices[known_images[0]] // cells
            in_plane = on_the_board[planes.indices[on_the_board] // cells == plane]
            derived[in_plane] = action_at[image_plane * cells + turned[planes.indices[in_plane] % cells]]
    occurred = ((derived[action], possible) for action, possible in candidates.items() if derived[action] >= 0)
    return derived if all(action in possible for action, possible in occurred) else images
