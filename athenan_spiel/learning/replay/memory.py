"""What the memories of all replays have in common: the bound on their bytes, and their arrays in a checkpoint."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.encoding.compact import packs_from_arrays, packs_to_arrays
from athenan_spiel.encoding.stored_arrays import Kinds, require_arrays, require_within
from athenan_spiel.errors import CheckpointError
from athenan_spiel.learning.targets import Targets

REPLAY = "the replay"


class Match(Protocol):
    """What a memory keeps of a match."""

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""


M = TypeVar("M", bound=Match)


def drop_oldest(matches: deque[M], most: int, most_bytes: float) -> None:
    """Remove the oldest matches, as few as possible: those beyond `most`, and while all take more than `most_bytes`.

    The newest stays always (Remark 5).
    """
    nbytes = sum(match.nbytes for match in matches)
    while len(matches) > most or (len(matches) > 1 and nbytes > most_bytes):
        nbytes -= matches.popleft().nbytes


def row_sizes(memory: Sequence[Targets]) -> set[int]:
    """How many numbers an observation has: one size, unless the memory is not what it should be."""
    return {pack.size for targets in memory for pack in targets.rows}


def targets_to_arrays(memory: Sequence[Targets]) -> dict[str, NDArray[Any]]:
    """Lay the arrays of all targets end to end; weights only where there are any."""
    weights = [targets.weights for targets in memory]
    return packs_to_arrays([pack for targets in memory for pack in targets.rows]) | {
        "packs": np.array([len(targets.rows) for targets in memory], np.int64),
        "values": np.concatenate([np.empty(0, np.float32), *(targets.values for targets in memory)]),
        "weighted": np.array([w is not None for w in weights], np.bool_),
        "weights": np.concatenate([np.empty(0, np.float32), *(w for w in weights if w is not None)]),
    }


def targets_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> list[Targets]:
    """Rebuild the targets that `targets_to_arrays` laid out; they share no memory with `arrays`.

    Checkpoints of runs that began without weights may lack those arrays.

    Raises:
        CheckpointError: an array is missing, of another type, or contradicts another one.
    """
    require_arrays(REPLAY, arrays, {"packs": (np.int64, 1), "values": (np.float32, 1)})
    every = packs_from_arrays(arrays)
    require_within(REPLAY, "packs", arrays["packs"], 0, len(every) + 1)
    if arrays["packs"].sum() != len(every):
        raise CheckpointError(f"expected {arrays['packs'].sum()} packs in the replay, got {len(every)!r}")
    packs = iter(every)
    rows = [list(islice(packs, count)) for count in arrays["packs"]]
    lengths = [sum(map(len, part)) for part in rows]
    weighted = arrays.get("weighted", np.zeros(len(rows), np.bool_))
    weights = arrays.get("weights", np.empty(0, np.float32))
    kinds: Kinds = {"weighted": (np.bool_, 1), "weights": (np.float32, 1)}
    require_arrays(REPLAY, {"weighted": weighted, "weights": weights}, kinds)
    if len(weighted) != len(rows):
        raise CheckpointError(f"expected 'weighted' of {len(rows)!r} matches in the replay, got {len(weighted)!r}")
    values_by_part = cut("values", arrays["values"], lengths)
    weights_by_part = cut("weights", weights, [n if w else 0 for n, w in zip(lengths, weighted, strict=True)])
    parts = zip(rows, values_by_part, weights_by_part, weighted, strict=True)
    return [Targets(packs, v, w if has_weights else None) for packs, v, w, has_weights in parts]


def cut(name: str, flat: NDArray[Any], lengths: Sequence[int]) -> list[NDArray[Any]]:
    """The parts of `flat` that are as long as `lengths`, as copies.

    Raises:
        CheckpointError: it is not as long as all of them.
    """
    if len(flat) != sum(lengths):
        raise CheckpointError(f"expected {sum(lengths)!r} numbers in the replay's {name!r}, got {len(flat)!r}")
    ends = np.cumsum(lengths, dtype=np.int64)
    return [flat[end - length : end].copy() for end, length in zip(ends, lengths, strict=True)]
