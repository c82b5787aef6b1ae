"""Labels of states to learn, as columns: values, weights and policies.

The samples of a game and a minibatch each contain one `Labels`. Only this file joins, indexes and stores them, so a new
column needs changes only here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from athenan_spiel.encoding.stored_arrays import Kinds, require_arrays, require_within
from athenan_spiel.errors import CheckpointError

REPLAY = "the replay"

Rows = NDArray[np.integer[Any]] | slice


@dataclass(frozen=True, slots=True, eq=False)
class Policies:
    """Distributions over legal actions of N states; a state may have none."""

    counts: NDArray[np.int32]
    """[N]: number of legal actions of each state; 0 without a policy."""
    actions: NDArray[np.int32]
    """[Σ counts]: legal actions of all states, concatenated."""
    shares: NDArray[np.float32]
    """[Σ counts]: probability of each action; those of a state sum to 1."""

    @classmethod
    def of(cls, policies: Sequence[tuple[Sequence[int], Sequence[float]]]) -> Policies:
        """Returns policies from the (legal actions, probabilities) of each state."""
        return cls(
            np.array([len(actions) for actions, _ in policies], np.int32),
            np.array([action for actions, _ in policies for action in actions], np.int32),
            np.array([share for _, shares in policies for share in shares], np.float32),
        )

    @classmethod
    def none(cls, states: int) -> Policies:
        """Returns the policies of N states that all have none, N = `states`."""
        return cls(np.zeros(states, np.int32), np.empty(0, np.int32), np.empty(0, np.float32))

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def learned(self) -> int:
        """Number of states with a policy."""
        return int((self.counts > 0).sum())

    @property
    def nbytes(self) -> int:
        """Size of the arrays, in bytes."""
        return self.counts.nbytes + self.actions.nbytes + self.shares.nbytes

    def take(self, rows: Rows) -> Policies:
        """Returns the rows `rows`."""
        counts = self.counts[rows]
        ends = np.cumsum(self.counts, dtype=np.int64)
        firsts = ends[rows] - counts
        within = np.arange(counts.sum(dtype=np.int64)) - np.repeat(np.cumsum(counts, dtype=np.int64) - counts, counts)
        at = np.repeat(firsts, counts) + within
        return Policies(counts, self.actions[at], self.shares[at])

    def renamed(self, names: NDArray[np.int64], which: NDArray[np.int64]) -> Policies:
        """Returns the policies with renamed actions.

        Args:
            names: [K, A]: K mappings of the A actions; -1: the action has no image, and its state gets no policy.
            which: [N]: index of the mapping for each state.
        """
        actions = names[np.repeat(which, self.counts), self.actions]
        rows = np.repeat(np.arange(len(self)), self.counts)
        known = np.ones(len(self), np.bool_)
        known[rows[actions < 0]] = False
        kept = known[rows]
        counts = np.where(known, self.counts, 0).astype(np.int32)
        return Policies(counts, actions[kept].astype(np.int32), self.shares[kept])

    @staticmethod
    def joined(parts: Sequence[Policies]) -> Policies:
        """Returns the concatenation of `parts`."""
        return Policies(
            np.concatenate([np.empty(0, np.int32), *(part.counts for part in parts)]),
            np.concatenate([np.empty(0, np.int32), *(part.actions for part in parts)]),
            np.concatenate([np.empty(0, np.float32), *(part.shares for part in parts)]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Labels of N states."""

    values: NDArray[np.float32]
    """[N]: v(s) for the first player; in a game with rows [N, n]: v(s) for each player."""
    weights: NDArray[np.float32] | None = None
    """[N]: weight of each state in the loss, above zero; None: 1 each."""
    policies: Policies | None = None
    """[N] distributions over legal actions; None: no policy is learned."""

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        """Size of the arrays, in bytes."""
        others = (column.nbytes for column in (self.weights, self.policies) if column is not None)
        return self.values.nbytes + sum(others)

    def take(self, rows: Rows) -> Labels:
        """Returns the rows `rows`."""
        return Labels(
            self.values[rows],
            None if self.weights is None else self.weights[rows],
            None if self.policies is None else self.policies.take(rows),
        )

    @staticmethod
    def joined(parts: Sequence[Labels]) -> Labels:
        """Returns the concatenation of `parts`. Parts without weights or policies get weights 1 and empty policies."""
        values = _values_of(parts)
        weights = policies = None
        if any(part.weights is not None for part in parts):
            weights = np.concatenate(
                [np.ones(len(part), np.float32) if part.weights is None else part.weights for part in parts],
                dtype=np.float32,
            )
        if any(part.policies is not None for part in parts):
            policies = Policies.joined([part.policies or Policies.none(len(part)) for part in parts])
        return Labels(values, weights, policies)


def _values_of(parts: Sequence[Labels]) -> NDArray[np.float32]:
    return np.concatenate([part.values for part in parts]) if parts else np.empty(0, np.float32)


def labels_at(parts: Sequence[Labels], rows: NDArray[np.integer[Any]]) -> Labels:
    """Returns the rows `rows` of the concatenated `parts`, without concatenating them."""
    firsts = np.cumsum([0, *map(len, parts)])
    by_part = np.argsort(rows, kind="stable")
    ascending = rows[by_part]
    edges = np.searchsorted(ascending, firsts)
    found = [
        parts[i].take(ascending[edges[i] : edges[i + 1]] - firsts[i]) for i in np.flatnonzero(np.diff(edges)).tolist()
    ]
    positions = np.empty(len(rows), np.int64)
    positions[by_part] = np.arange(len(rows))
    return Labels.joined(found).take(positions)


def labels_to_arrays(parts: Sequence[Labels]) -> dict[str, NDArray[Any]]:
    """Returns the concatenated columns of `parts`; weights and policies only of parts that have them."""
    weights = [part.weights for part in parts]
    policies = [part.policies for part in parts]
    arrays: dict[str, NDArray[Any]] = {
        "values": _values_of(parts),
        "weighted": np.array([w is not None for w in weights], np.bool_),
        "weights": np.concatenate([np.empty(0, np.float32), *(w for w in weights if w is not None)]),
    }
    if any(p is not None for p in policies):
        every = Policies.joined([p for p in policies if p is not None])
        arrays |= {
            "with_policies": np.array([p is not None for p in policies], np.bool_),
            "policy_counts": every.counts,
            "policy_actions": every.actions,
            "policy_shares": every.shares,
        }
    return arrays


def labels_from_arrays(arrays: Mapping[str, NDArray[Any]], lengths: Sequence[int]) -> list[Labels]:
    """Returns the parts of these lengths that `labels_to_arrays` concatenated; they share no memory with `arrays`.

    Checkpoints of runs that started without weights or policies may lack those arrays.

    Raises:
        CheckpointError: an array is missing, of another type, or contradicts another one.
    """
    has_rows = "values" in arrays and arrays["values"].ndim == 2 and arrays["values"].shape[1] > 1
    require_arrays(REPLAY, arrays, {"values": (np.float32, 2 if has_rows else 1)})
    weighted = arrays.get("weighted", np.zeros(len(lengths), np.bool_))
    weights = arrays.get("weights", np.empty(0, np.float32))
    kinds: Kinds = {"weighted": (np.bool_, 1), "weights": (np.float32, 1)}
    require_arrays(REPLAY, {"weighted": weighted, "weights": weights}, kinds)
    _require_each("weighted", weighted, lengths)
    values = cut("values", arrays["values"], lengths)
    own_weights = cut("weights", weights, _where(weighted, lengths))
    policies = _policies_from_arrays(arrays, lengths)
    return [
        Labels(v, w if has_weights else None, p)
        for v, w, has_weights, p in zip(values, own_weights, weighted, policies, strict=True)
    ]


def _policies_from_arrays(arrays: Mapping[str, NDArray[Any]], lengths: Sequence[int]) -> list[Policies | None]:
    if "with_policies" not in arrays:
        return [None] * len(lengths)
    kinds: Kinds = {
        "with_policies": (np.bool_, 1),
        "policy_counts": (np.int32, 1),
        "policy_actions": (np.int32, 1),
        "policy_shares": (np.float32, 1),
    }
    require_arrays(REPLAY, arrays, kinds)
    with_policies = arrays["with_policies"]
    _require_each("with_policies", with_policies, lengths)
    counts = cut("policy_counts", arrays["policy_counts"], _where(with_policies, lengths))
    require_within(REPLAY, "policy_counts", arrays["policy_counts"], 0, 2**31)
    require_within(REPLAY, "policy_actions", arrays["policy_actions"], 0, 2**31)
    legal = [int(part.sum(dtype=np.int64)) for part in counts]
    actions = cut("policy_actions", arrays["policy_actions"], legal)
    shares = cut("policy_shares", arrays["policy_shares"], legal)
    if not all(np.isfinite(part).all() and (part >= 0).all() for part in shares):
        raise CheckpointError(
            "expected probabilities in the replay's 'policy_shares', got negative, infinite or NaN numbers"
        )
    parts = zip(with_policies, counts, actions, shares, strict=True)
    return [Policies(c, a, s) if has_policies else None for has_policies, c, a, s in parts]


def _require_each(name: str, column: NDArray[np.bool_], lengths: Sequence[int]) -> None:
    if len(column) != len(lengths):
        raise CheckpointError(f"expected {name!r} of {len(lengths)!r} games in the replay, got {len(column)!r}")


def _where(present: NDArray[np.bool_], lengths: Sequence[int]) -> list[int]:
    return [length if has else 0 for length, has in zip(lengths, present, strict=True)]


def cut(name: str, flat: NDArray[Any], lengths: Sequence[int]) -> list[NDArray[Any]]:
    """Splits `flat` into parts of these lengths, as copies.

    Raises:
        CheckpointError: the lengths don't add up to its length.
    """
    if len(flat) != sum(lengths):
        raise CheckpointError(f"expected {sum(lengths)!r} numbers in the replay's {name!r}, got {len(flat)!r}")
    ends = accumulate(lengths)
    return [flat[end - length : end].copy() for end, length in zip(ends, lengths, strict=True)]
