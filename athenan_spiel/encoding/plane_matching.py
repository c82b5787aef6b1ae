"""Which plane becomes which when the board is turned.

Hex shows the stones that are linked to the north edge in one plane and those linked to the south edge in another; when
the board is turned by 180° they change places. Such a permutation is not given but found: a match and its image are
played side by side, so every plane of the one, turned, has its history of contents, and so has every plane of the
other. They are images of each other as long as the histories can be paired off, and the pairs are the permutation.

The result is a guess, which `mirror_play` verifies on other games.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyspiel

from athenan_spiel.encoding.board_maps import turn
from athenan_spiel.encoding.encoder import Encoder

MATCHES = 6
MOST_PLIES = 300
TRIED_ACTIONS = 8
"""Actions that are tried for one whose counterpart is beyond doubt."""


def standing(state: pyspiel.State) -> tuple[int, tuple[float, ...]]:
    """Return the mover, and the returns of a terminal state, which a symmetry preserves."""
    return state.current_player(), tuple(state.returns()) if state.is_terminal() else ()


def match_planes(game: pyspiel.Game, encoder: Encoder, name: str, rng: np.random.Generator) -> list[int] | None:
    """The permutation of the planes that goes with a turn: plane i of the image is plane [i], turned.

    Planes that were always equal keep their places as far as possible.

    Returns:
        The permutation; None if some match was found to have no image.
    """
    histories = _Histories(encoder, name)
    start = game.new_initial_state()
    if not histories.images(start, [start]):
        return None
    histories.go_on(start, start)
    for _ in range(MATCHES):
        state = image = start
        for _ in range(MOST_PLIES):
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
    """A random child and its image, if it may be told which it is from a single one; None if a child has none."""
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
    histories.go_on(*chosen)
    return chosen


class _Histories:
    """What each plane of the states of a match has shown, turned, and what each of their images' has: as hashes."""

    def __init__(self, encoder: Encoder, name: str) -> None:
        self._encoder = encoder
        self._name = name
        self._turned = self._plain = [0] * encoder.shape[0]

    def images(self, state: pyspiel.State, candidates: Sequence[pyspiel.State]) -> list[pyspiel.State]:
        """The candidates that may be the image of `state` after all that was shown so far."""
        expected, at = Counter(self._turned_after(state)), standing(state)
        after = self._plain_after(candidates)
        return [
            x for x, planes in zip(candidates, after, strict=True) if standing(x) == at and Counter(planes) == expected
        ]

    def go_on(self, state: pyspiel.State, image: pyspiel.State) -> None:
        """Show `state` and what is taken for its image."""
        self._turned = self._turned_after(state)
        (self._plain,) = self._plain_after([image])

    def pairs(self) -> list[int]:
        """For each plane of the images a turned plane with its history, the one at its own place if possible."""
        left = [i for i, history in enumerate(self._turned) if history != self._plain[i]]
        pairs = list(range(len(self._plain)))
        for i, history in enumerate(self._plain):
            if history != self._turned[i]:
                pairs[i] = next(j for j in left if self._turned[j] == history)
                left.remove(pairs[i])
        return pairs

    def _turned_after(self, state: pyspiel.State) -> list[int]:
        (planes,) = turn(self._name, self._encoder.encode([state]))
        return [hash((before, plane.tobytes())) for before, plane in zip(self._turned, planes, strict=True)]

    def _plain_after(self, states: Sequence[pyspiel.State]) -> list[list[int]]:
        return [
            [hash((before, plane.tobytes())) for before, plane in zip(self._plain, planes, strict=True)]
            for planes in self._encoder.encode(states)
        ]
