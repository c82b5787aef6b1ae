"""What the memories of all replays have in common: the bound on their bytes, and their arrays in a checkpoint."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.encoding.compact import packs_from_arrays, packs_to_arrays
from athenan_spiel.encoding.stored_arrays import require_arrays, require_within
from athenan_spiel.errors import CheckpointError
from athenan_spiel.learning.labels import REPLAY, labels_from_arrays, labels_to_arrays
from athenan_spiel.learning.targets import Targets


class Match(Protocol):
    """What a memory keeps of a match."""

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""


M = TypeVar("M", bound=Match)


def drop_oldest(matches: deque[M], most: int, most_bytes: float) -> bool:
    """Remove the oldest matches, as few as possible: those beyond `most`, and while all take more than `most_bytes`.

    The newest stays always (Remark 5).

    Returns:
        Whether some of `most` matches had to leave for lack of room.
    """
    nbytes = sum(match.nbytes for match in matches)
    lacked = False
    while len(matches) > most or (len(matches) > 1 and nbytes > most_bytes):
        lacked = lacked or len(matches) <= most
        nbytes -= matches.popleft().nbytes
    return lacked


def row_sizes(memory: Sequence[Targets]) -> set[int]:
    """How many numbers an observation has: one size, unless the memory is not what it should be."""
    return {pack.size for targets in memory for pack in targets.rows}


def targets_to_arrays(memory: Sequence[Targets]) -> dict[str, NDArray[Any]]:
    """Lay the arrays of all targets end to end; weights and policies only where there are any."""
    return (
        packs_to_arrays([pack for targets in memory for pack in targets.rows])
        | {"packs": np.array([len(targets.rows) for targets in memory], np.int64)}
        | labels_to_arrays([targets.labels for targets in memory])
    )


def targets_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> list[Targets]:
    """Rebuild the targets that `targets_to_arrays` laid out; they share no memory with `arrays`.

    Raises:
        CheckpointError: an array is missing, of another type, or contradicts another one.
    """
    require_arrays(REPLAY, arrays, {"packs": (np.int64, 1)})
    every = packs_from_arrays(arrays)
    require_within(REPLAY, "packs", arrays["packs"], 0, len(every) + 1)
    if arrays["packs"].sum() != len(every):
        raise CheckpointError(f"expected {arrays['packs'].sum()} packs in the replay, got {len(every)!r}")
    packs = iter(every)
    rows = [list(islice(packs, count)) for count in arrays["packs"]]
    labels = labels_from_arrays(arrays, [sum(map(len, part)) for part in rows])
    return [Targets(part, columns) for part, columns in zip(rows, labels, strict=True)]
