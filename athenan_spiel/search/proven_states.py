"""States proven in earlier games (the article, Sections 8.4.3 and 9.3.1: "resolved states are kept in memory").

The tree of a game ends with the game, although its proofs stay true. `ResolvedStates` keeps the proofs. A search that
expands a state treats children found there as resolved, with the stored completion and value, and does not evaluate
them.

1. Each entry is a proof under the key by which the tree shared nodes, so it holds wherever that key occurs again.
2. A key is stored as the first 16 bytes of a hash of its text. Two keys collide with a probability below 10^-24 at the
   maximum number of states. Equal keys must therefore have the same text, as those of `transpositions` have.
3. States are grouped by the number of actions played. If no proof has that number, a search pays for one dictionary
   lookup per node; otherwise for the key and the hash of each child, some microseconds.
4. No proof is added while games are played: all games of a round see the same proofs, whatever their order.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any, Protocol

import numpy as np
import pyspiel
from numpy.typing import NDArray

from athenan_spiel.encoding.stored_arrays import Kinds, require_arrays, require_within
from athenan_spiel.errors import CheckpointError

DIGEST_BYTES = 16
MOST_STATES = 4_000_000
"""Maximum number of proven states, about a gigabyte. Further states are dropped until `clear` is called."""

_COLUMNS: Kinds = {
    "digests": (np.uint8, 2),
    "plies": (np.int32, 1),
    "completions": (np.int8, 1),
    "values": (np.float64, 1),
}
ProvenValue = tuple[Any, Any]
"""Labels (c(s), v(s)) of a resolved state: numbers, or the rows of gains and values."""


class Known(Protocol):
    """Protocol of a source of proofs from outside the tree."""

    def known(
        self, states: Sequence[pyspiel.State], ended: Sequence[bool], key: Callable[[pyspiel.State], Hashable]
    ) -> Mapping[int, ProvenValue]:
        """Returns the known proofs of the children of a state; see `ResolvedStates.known`."""


def digest(key: Hashable) -> bytes:
    """Returns the 16-byte hash under which a key is stored."""
    return blake2b(repr(key).encode(), digest_size=DIGEST_BYTES).digest()


class ResolvedStates:
    """Proofs of resolved states, for one game and one outcome.

    Args:
        most: maximum number of states.
    """

    def __init__(self, most: int = MOST_STATES) -> None:
        self._most = most
        self._by_ply: dict[int, dict[bytes, ProvenValue]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def is_full(self) -> bool:
        """Whether the maximum number of states is reached. Further states are dropped until `clear` is called."""
        return self._count >= self._most

    def known(
        self, states: Sequence[pyspiel.State], ended: Sequence[bool], key: Callable[[pyspiel.State], Hashable]
    ) -> dict[int, ProvenValue]:
        """Returns the known proofs of `states`, by index.

        Args:
            states: at least one state, all at the same ply, as the children of a state are.
            ended: whether each state is terminal. Terminal states are skipped.
            key: key function of the tree.
        """
        table = self._by_ply.get(states[0].move_number())
        if table is None:
            return {}
        found = {}
        for i, state in enumerate(states):
            if not ended[i] and (proof := table.get(digest(key(state)))) is not None:
                found[i] = proof
        return found

    def add(self, proofs: Iterable[tuple[Hashable, int, ProvenValue]]) -> None:
        """Adds proofs, given as (key, number of actions played, proof). A later proof replaces an earlier one of the
        same key."""
        self.add_arrays(proofs_to_arrays(proofs))

    def add_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Adds proofs from the arrays of `proofs_to_arrays`, which another process may have made."""
        for name, ply, proof in _rows(arrays):
            table = self._by_ply.get(ply, {})
            if name not in table:
                if self._count >= self._most:
                    continue
                self._count += 1
            self._by_ply.setdefault(ply, table)[name] = proof

    def clear(self) -> None:
        """Removes all proofs."""
        self._by_ply.clear()
        self._count = 0

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Returns the proofs of N states as arrays: uint8 [N, 16], int32 [N], int8 [N], float64 [N].

        In a game with chance, where completions are expectations, theirs is float64 [N]; in a game with rows of n
        numbers completions and values are float64 [N, n].
        """
        return _to_arrays([(name, ply, proof) for ply, table in self._by_ply.items() for name, proof in table.items()])

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], most: int = MOST_STATES) -> ResolvedStates:
        """Rebuilds the proofs from the arrays of `to_arrays`, up to the maximum number.

        Raises:
            CheckpointError: an array is missing, or has the wrong type, shape or values.
        """
        names = tuple(_COLUMNS)
        require_arrays("resolved states", arrays, _columns_of(arrays))
        shapes = {name: arrays[name].shape for name in names if name in arrays}
        count = len(arrays["digests"]) if "digests" in arrays else 0
        width = arrays["values"].shape[1:] if "values" in arrays else ()
        widths = {"digests": (DIGEST_BYTES,), "values": width, "completions": width}
        expected = {name: (count, *widths.get(name, ())) for name in names}
        if shapes != expected:
            raise CheckpointError(f"expected resolved states in arrays of shapes {expected!r}, got {shapes!r}")
        if arrays["completions"].dtype == np.int8:
            require_within("resolved states", "completions", arrays["completions"], -1, 2)
        elif not (abs(arrays["completions"]) <= 1).all():
            raise CheckpointError("expected 'completions' of resolved states in [-1, 1], got others")
        if not np.isfinite(arrays["values"]).all():
            raise CheckpointError("expected finite 'values' of resolved states, got some that are not")
        memory = cls(most)
        for name, ply, proof in islice(_rows(arrays), most):
            memory._by_ply.setdefault(ply, {})[name] = proof
        memory._count = sum(map(len, memory._by_ply.values()))
        return memory


def proofs_to_arrays(proofs: Iterable[tuple[Hashable, int, ProvenValue]]) -> dict[str, NDArray[Any]]:
    """Returns the arrays of N proofs in order, in the format of `ResolvedStates.to_arrays`."""
    return _to_arrays([(digest(key), ply, proof) for key, ply, proof in proofs])


def _to_arrays(rows: Sequence[tuple[bytes, int, ProvenValue]]) -> dict[str, NDArray[Any]]:
    return {
        "digests": np.frombuffer(b"".join(name for name, _, _ in rows), np.uint8).reshape(-1, DIGEST_BYTES),
        "plies": np.array([ply for _, ply, _ in rows], np.int32),
        "completions": _completions([completion for _, _, (completion, _) in rows]),
        "values": np.array([value for _, _, (_, value) in rows], np.float64),
    }


def _completions(completions: list[Any]) -> NDArray[Any]:
    """Returns int8 without a float or a row among them, as in a game without chance."""
    return np.array(completions, np.float64 if any(type(c) in (float, tuple, list) for c in completions) else np.int8)


def _columns_of(arrays: Mapping[str, NDArray[Any]]) -> Kinds:
    """Returns the expected columns, with completions of the given type if it is float64."""
    completions = arrays.get("completions")
    if completions is None or completions.dtype != np.float64:
        return _COLUMNS
    if completions.ndim == 2:
        return {**_COLUMNS, "completions": (np.float64, 2), "values": (np.float64, 2)}
    return {**_COLUMNS, "completions": (np.float64, 1)}


def _rows(arrays: Mapping[str, NDArray[Any]]) -> Iterator[tuple[bytes, int, ProvenValue]]:
    """Yields (digest, number of actions played, proof) of each state in the arrays."""
    digests, plies, completions, values = (arrays[name] for name in _COLUMNS)
    columns = zip(digests, plies.tolist(), completions.tolist(), values.tolist(), strict=True)
    for row, ply, completion, value in columns:
        yield row.tobytes(), ply, (completion, value)
