"""Turns and reflections of a stack of boards, each with a permutation of its planes.

Conventions: a board is an array [H, W] whose rows go down, as OpenSpiel prints it. Turns are counterclockwise;
`flip_horizontal` exchanges left and right, `flip_vertical` top and bottom, `transpose` reflects along the diagonal
from the top left, `anti_transpose` along the other one. The four that exchange rows and columns require a square board.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

IDENTITY = "identity"

_TURNS: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    IDENTITY: lambda boards: boards,
    "rotate_90": lambda boards: np.rot90(boards, 1, (-2, -1)),
    "rotate_180": lambda boards: np.rot90(boards, 2, (-2, -1)),
    "rotate_270": lambda boards: np.rot90(boards, 3, (-2, -1)),
    "flip_horizontal": lambda boards: boards[..., ::-1],
    "flip_vertical": lambda boards: boards[..., ::-1, :],
    "transpose": lambda boards: np.swapaxes(boards, -1, -2),
    "anti_transpose": lambda boards: np.swapaxes(np.rot90(boards, 2, (-2, -1)), -1, -2),
}


def turn(name: str, boards: NDArray[Any]) -> NDArray[Any]:
    """Returns `boards`, [..., H, W], turned or reflected: [..., H, W], or [..., W, H] if rows become columns."""
    return _TURNS[name](boards)


def product(second: str, first: str) -> str:
    """Returns the name of the turn by `first` and then by `second`."""
    square = np.arange(9).reshape(3, 3)
    turned = turn(second, turn(first, square))
    return next(name for name in _TURNS if np.array_equal(turn(name, square), turned))


class BoardMap:
    """Turn of all planes of an encoded state, followed by a permutation of the planes.

    Args:
        name: name of the turn.
        shape: shape of an encoded state, (C, H, W); any shape for the identity.
        planes: permutation of range(C): plane i of the image is plane planes[i], turned. None keeps their order.

    Attributes:
        name, planes: as the arguments.
    """

    def __init__(self, name: str, shape: Sequence[int], planes: Sequence[int] | None = None) -> None:
        self.name = name
        self._shape = tuple(shape)
        self.planes = None if planes is None else tuple(planes)
        sources = turn(name, np.arange(math.prod(shape)).reshape(shape))
        if self.planes is not None:
            sources = sources[list(self.planes)]
        self._sources = np.ascontiguousarray(sources).reshape(-1)

    def after(self, first: BoardMap) -> BoardMap:
        """Returns the product: `first`, then this map."""
        planes = None
        if self.planes is not None or first.planes is not None:
            order = range(self._shape[0])
            mine, theirs = self.planes or order, first.planes or order
            planes = [theirs[plane] for plane in mine]
        return BoardMap(product(self.name, first.name), self._shape, planes)

    def cells(self) -> NDArray[np.int64]:
        """Returns the image of each cell, counted by rows, as int64 [H * W]."""
        height, width = self._shape[-2:]
        return np.argsort(turn(self.name, np.arange(height * width).reshape(height, width)).reshape(-1))

    def image(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Returns the images of encoded states, float32 [N, size], as a new array."""
        return rows.take(self._sources, axis=1)
