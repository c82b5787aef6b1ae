"""Permutation of planes that belongs to a turn of the board.

Hex has one plane for stones linked to the north edge and one for those linked to the south edge; a turn by 180°
exchanges them. The permutation is found by playing a game and its image: each turned plane of the game has a history
of contents, and so has each plane of the image. Planes with equal histories correspond.

`mirror_play` verifies the result on other games.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyspiel

from athenan_spiel.encoding.board_maps import turn
from athenan_spiel.encoding.encoder import Encoder

GAMES = 6
MAX_PLIES = 300
TRIED_ACTIONS = 8
"""Maximum number of actions tried in a state to find one with a unique counterpart."""


def fixed_part(state: pyspiel.State) -> tuple[int, tuple[float, ...]]:
    """Returns the properties that a symmetry preserves: the mover, and the returns of a terminal state."""
    return state.current_player(), tuple(state.returns()) if state.is_terminal() else ()


def match_planes(game: pyspiel.Game, encoder: Encoder, name: str, rng: np.random.Generator) -> list[int] | None:
    """Returns the permutation of planes that belongs to a turn; None if a game has no image.

    Plane i of the image is plane result[i], turned. Planes that were always equal keep their indices if possible.
    """
    histories = _Histories(encoder, name)
    start = game.new_initial_state()
    if not histories.images(start, [start]):
        return None
    histories.append(start, start)
    for _ in range(GAMES):
        state = image = start
        for _ in range(MAX_PLIES):
            if state.is_terminal():
                break
            step = _step(state, image, histories, rng)
            if step is None:
                return None
            state, image = step
    return histories.pairs()


def _step(
    state: pyspiel.State, image: pyspiel.State, histories: _Histories, rng: np.random.Generator
) -> tuple[pyspiel.State, pyspiel.State] | None:
    """Returns a random child and its image, preferably one with a unique image; None if a child has no image."""
    actions = state.legal_actions()
    others = [image.child(action) for action in image.legal_actions()]
    chosen = None
    for action in rng.permutation(actions)[:TRIED_ACTIONS].tolist():
        child = state.child(action)
        images = histories.images(child, others)
        if not images:
            return None
        if chosen is None or len(images) == 1:
            chosen = child, images[0]
        if len(images) == 1:
            break
    assert chosen is not None
    histories.append(*chosen)
    return chosen


class _Histories:
    """Hashes of the history of each plane, turned, and of each plane of the image."""

    def __init__(self, encoder: Encoder, name: str) -> None:
        self._encoder = encoder
        self._name = name
        self._turned = self._plain = [0] * encoder.shape[0]

    def images(self, state: pyspiel.State, candidates: Sequence[pyspiel.State]) -> list[pyspiel.State]:
        """Returns the candidates that may be the image of `state`, given the histories so far."""
        expected, preserved = Counter(self._turned_after(state)), fixed_part(state)
        after = self._plain_after(candidates)
        return [
            x
            for x, planes in zip(candidates, after, strict=True)
            if fixed_part(x) == preserved and Counter(planes) == expected
        ]

    def append(self, state: pyspiel.State, image: pyspiel.State) -> None:
        """Adds `state` and its presumed image to the histories."""
        self._turned = self._turned_after(state)
        (self._plain,) = self._plain_after([image])

    def pairs(self) -> list[int]:
        """Returns for each plane of the image a turned plane with the same history, at the same index if possible."""
        unmatched = [i for i, history in enumerate(self._turned) if history != self._plain[i]]
        pairs = list(range(len(self._plain)))
        for i, history in enumerate(self._plain):
            if history != self._turned[i]:
                pairs[i] = next(j for j in unmatched if self._turned[j] == history)
                unmatched.remove(pairs[i])
        return pairs

    def _turned_after(self, state: pyspiel.State) -> list[int]:
        (planes,) = turn(self._name, self._encoder.encode([state]))
        return [hash((before, plane.tobytes())) for before, plane in zip(self._turned, planes, strict=True)]

    def _plain_after(self, states: Sequence[pyspiel.State]) -> list[list[int]]:
        return [
            [hash((before, plane.tobytes())) for before, plane in zip(self._plain, planes, strict=True)]
            for planes in self._encoder.encode(states)
        ]
