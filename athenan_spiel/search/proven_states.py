"""States proven in earlier matches (the article, Sections 8.4.3 and 9.3.1: "resolved states are kept in memory").

A match's tree dies with the match, and its proofs with it, though they are true of the game. Here they live on: a
search that expands a state takes those of its children that are known here as resolved, with the completion and the
value they had, and asks the evaluator nothing about them.

1. What is known is a proof under the key by which the tree shared nodes, so it holds wherever that key comes up again.
2. A key is kept as the first 16 bytes of a hash of its text; two keys meet by chance with a probability below 10^-24
   at the most states that are kept. A key must therefore print alike whenever it is equal, as those of
   `transpositions` do.
3. States are kept by the number of actions played. Where none of that number is known, a search pays for one look
   into a dictionary a node; else for the key and the hash of each child, some microseconds.
4. Nothing enters while matches are played: the matches of a round all see the same memory, whatever their order.
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
"""A full memory takes no more until it is emptied: about a gigabyte."""

_COLUMNS: Kinds = {
    "digests": (np.uint8, 2),
    "plies": (np.int32, 1),
    "completions": (np.int8, 1),
    "values": (np.float64, 1),
}
ProvenValue = tuple[int, float]
"""(c(s), v(s)) of a resolved state."""


class Known(Protocol):
    """Who may know of states that a search has not been to that they are proven."""

    def known(
        self, states: Sequence[pyspiel.State], ended: Sequence[bool], key: Callable[[pyspiel.State], Hashable]
    ) -> Mapping[int, ProvenValue]:
        """The proofs of those of `states`, the children of a state, that are known; see `ResolvedStates.known`."""


def digest(key: Hashable) -> bytes:
    """The 16 bytes that a key is kept as."""
    return blake2b(repr(key).encode(), digest_size=DIGEST_BYTES).digest()


class ResolvedStates:
    """The memory of resolved states of one game and one outcome.

    Args:
        most: how many are kept at most.
    """

    def __init__(self, most: int = MOST_STATES) -> None:
        self._most = most
        self._by_ply: dict[int, dict[bytes, ProvenValue]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def is_full(self) -> bool:
        """It takes no more until it is emptied."""
        return self._count >= self._most

    def known(
        self, states: Sequence[pyspiel.State], ended: Sequence[bool], key: Callable[[pyspiel.State], Hashable]
    ) -> dict[int, ProvenValue]:
        """The proofs of those of `states` that are known, by index.

        Args:
            states: at least one, all after equally many actions, as the children of a state are.
            ended: for each whether it is terminal; those are not looked for.
            key: of the tree.
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
        """Keep (key, number of actions played, proof) of each; of two with one key, the later."""
        self.add_arrays(proofs_to_arrays(proofs))

    def add_arrays(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """As `add`, of what `proofs_to_arrays` made of the proofs, in another process perhaps."""
        for name, ply, proof in _rows(arrays):
            table = self._by_ply.get(ply, {})
            if name not in table:
                if self._count >= self._most:
                    continue
                self._count += 1
            self._by_ply.setdefault(ply, table)[name] = proof

    def clear(self) -> None:
        """Forget everything."""
        self._by_ply.clear()
        self._count = 0

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The memory as four arrays over its N states: uint8 [N, 16], int32 [N], int8 [N], float64 [N]."""
        return _to_arrays([(name, ply, proof) for ply, table in self._by_ply.items() for name, proof in table.items()])

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], most: int = MOST_STATES) -> ResolvedStates:
        """Rebuild the memory that `to_arrays` returned, as far as there is room for it.

        Raises:
            CheckpointError: an array is missing, not of the type or shape it should have, or holds what proves nothing.
        """
        names = tuple(_COLUMNS)
        require_arrays("resolved states", arrays, _COLUMNS)
        shapes = {name: arrays[name].shape for name in names if name in arrays}
        count = len(arrays["digests"]) if "digests" in arrays else 0
        expected = {name: (count, DIGEST_BYTES) if name == "digests" else (count,) for name in names}
        if shapes != expected:
            raise CheckpointError(f"expected resolved states in arrays of shapes {expected!r}, got {shapes!r}")
        require_within("resolved states", "completions", arrays["completions"], -1, 2)
        if not np.isfinite(arrays["values"]).all():
            raise CheckpointError("expected finite 'values' of resolved states, got some that are not")
        memory = cls(most)
        for name, ply, proof in islice(_rows(arrays), most):
            memory._by_ply.setdefault(ply, {})[name] = proof
        memory._count = sum(map(len, memory._by_ply.values()))
        return memory


def proofs_to_arrays(proofs: Iterable[tuple[Hashable, int, ProvenValue]]) -> dict[str, NDArray[Any]]:
    """(key, number of actions played, proof) of each of N states, in order, as `ResolvedStates.to_arrays` has them."""
    return _to_arrays([(digest(key), ply, proof) for key, ply, proof in proofs])


def _to_arrays(rows: Sequence[tuple[bytes, int, ProvenValue]]) -> dict[str, NDArray[Any]]:
    return {
        "digests": np.frombuffer(b"".join(name for name, _, _ in rows), np.uint8).reshape(-1, DIGEST_BYTES),
        "plies": np.array([ply for _, ply, _ in rows], np.int32),
        "completions": np.array([completion for _, _, (completion, _) in rows], np.int8),
        "values": np.array([value for _, _, (_, value) in rows], np.float64),
    }


def _rows(arrays: Mapping[str, NDArray[Any]]) -> Iterator[tuple[bytes, int, ProvenValue]]:
    """(digest, number of actions played, proof) of each state that the arrays hold."""
    digests, plies, completions, values = (arrays[name] for name in _COLUMNS)
    columns = zip(digests, plies.tolist(), completions.tolist(), values.tolist(), strict=True)
    for row, ply, completion, value in columns:
        yield row.tobytes(), ply, (completion, value)
