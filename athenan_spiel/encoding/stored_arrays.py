"""Arrays read from a checkpoint, which may come from elsewhere: checked for their types and dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.errors import CheckpointError

Kinds = Mapping[str, tuple[type[np.generic], int]]
"""The type of an array's numbers and its number of dimensions, by its name."""


def require_arrays(what: str, arrays: Mapping[str, NDArray[Any]], kinds: Kinds) -> None:
    """Check that `arrays` has each array of `kinds`, and that it is of that kind.

    Args:
        what: they hold, for messages.

    Raises:
        CheckpointError: one is missing or of another kind.
    """
    if missing := [name for name in kinds if name not in arrays]:
        raise CheckpointError(f"expected {what} as its to_arrays gives it, got none of {missing!r}")
    for name, (kind, dimensions) in kinds.items():
        array = arrays[name]
        if array.dtype != kind or array.ndim != dimensions:
            raise CheckpointError(
                f"expected {name!r} of {what} in {dimensions} dimensions of {np.dtype(kind).name}, "
                f"got {array.ndim} of {array.dtype}"
            )


def require_within(what: str, name: str, array: NDArray[Any], low: int, high: int) -> None:
    """Check that all numbers of `array` are in [low, high).

    Raises:
        CheckpointError: one is not.
    """
    if array.size and not (low <= array.min() and array.max() < high):
        raise CheckpointError(f"expected {name!r} of {what} in [{low}, {high}), got {array.min()!s} to {array.max()!s}")
