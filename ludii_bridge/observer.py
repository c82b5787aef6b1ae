"""What is seen of a Ludii state: the tensor that Ludii makes for learners, in one reused array."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ludii_bridge.errors import LudiiError
from ludii_bridge.transport import Position


class HasPosition(Protocol):
    """A state, as far as it is observed; `state.LudiiState` is one."""

    @property
    def position(self) -> Position:
        """The state in Ludii."""


class LudiiObserver:
    """OpenSpiel's observer for one game; the observation is the same for both players.

    Args:
        shape: of the tensor, (channels, x, y).
        params: none are known.

    Attributes:
        tensor: float32 [channels * x * y], written by `set_from`.
        dict: the same memory in its shape, under "observation".
    """

    def __init__(self, shape: tuple[int, int, int], params: Mapping[str, Any] | None = None) -> None:
        if params:
            raise LudiiError(f"an observation of Ludii's takes no parameters, got {dict(params)!r}")
        self.tensor = np.zeros(math.prod(shape), np.float32)
        self.dict: dict[str, NDArray[np.float32]] = {"observation": self.tensor.reshape(shape)}

    def set_from(self, state: HasPosition, player: int) -> None:
        """Write the observation of `state`."""
        state.position.observe(self.tensor)

    def string_from(self, state: HasPosition, player: int) -> str:
        """The state in words."""
        return str(state)
