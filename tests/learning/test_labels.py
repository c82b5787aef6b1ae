"""Labels are taken, joined and stored as the plain lists that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from athenan_spiel.errors import CheckpointError
from athenan_spiel.learning.labels import Labels, Policies, labels_at, labels_from_arrays, labels_to_arrays

Plain = list[tuple[list[int], list[float]]]
PLAIN: Plain = [([0, 2, 5], [0.5, 0.25, 0.25]), ([], []), ([1], [1.0]), ([3, 4], [0.0, 1.0])]


def plain(policies: Policies) -> Plain:
    ends = np.cumsum(policies.counts).tolist()
    firsts = [0, *ends][: len(ends)]
    return [(policies.actions[i:j].tolist(), policies.shares[i:j].tolist()) for i, j in zip(firsts, ends, strict=True)]


def some(first: int, count: int, *, weights: bool = False, policies: bool = False) -> Labels:
    return Labels(
        np.arange(first, first + count, dtype=np.float32),
        np.arange(1, count + 1, dtype=np.float32) if weights else None,
        Policies.of([PLAIN[i % 4] for i in range(first, first + count)]) if policies else None,
    )


def same(some: Labels, others: Labels) -> bool:
    of_policies = [None if labels.policies is None else plain(labels.policies) for labels in (some, others)]
    of_weights = [None if labels.weights is None else labels.weights.tolist() for labels in (some, others)]
    return (
        some.values.tolist() == others.values.tolist()
        and of_weights[0] == of_weights[1]
        and of_policies[0] == of_policies[1]
    )


@pytest.mark.parametrize("rows", [[0], [3, 1, 1, 0], [], [1, 1], [2, 3, 0, 1]])
def test_states_are_taken_with_all_that_is_said_of_them(rows: list[int]) -> None:
    labels = some(0, 4, weights=True, policies=True).take(np.array(rows, np.int64))
    assert labels.values.tolist() == rows
    assert labels.weights is not None
    assert labels.weights.tolist() == [row + 1 for row in rows]
    assert labels.policies is not None
    assert plain(labels.policies) == [PLAIN[row] for row in rows]
    assert labels.policies.learned == sum(row != 1 for row in rows)


def test_a_slice_is_those_rows() -> None:
    labels = some(0, 4, policies=True)
    assert same(labels.take(slice(1, 3)), labels.take(np.array([1, 2])))


def test_parts_are_joined_with_the_usual_where_they_say_nothing() -> None:
    joined = Labels.joined([some(0, 2), some(2, 2, weights=True), some(0, 3, policies=True)])
    assert joined.values.tolist() == [0, 1, 2, 3, 0, 1, 2]
    assert joined.weights is not None
    assert joined.weights.tolist() == [1, 1, 1, 2, 1, 1, 1]
    assert joined.policies is not None
    assert plain(joined.policies) == [([], [])] * 4 + PLAIN[:3]
    assert joined.nbytes == 7 * 4 + 7 * 4 + 7 * 4 + 4 * 4 + 4 * 4
    alone = Labels.joined([some(0, 2), some(2, 2)])
    assert (alone.weights, alone.policies) == (None, None)


def test_rows_are_taken_out_of_all_parts_as_if_they_were_joined() -> None:
    parts = [some(0, 3, policies=True), some(3, 1, weights=True), some(4, 5, policies=True, weights=True)]
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = rng.integers(0, 9, 7)
        rows[0] = 3  # of a part with weights
        rows[1] = 0  # and of one with policies
        assert same(labels_at(parts, rows), Labels.joined(parts).take(rows))


@pytest.mark.parametrize("policies", [(False, False), (True, False), (True, True)])
def test_what_is_stored_comes_back(policies: tuple[bool, bool]) -> None:
    parts = [some(0, 3, policies=policies[0]), some(3, 5, weights=True, policies=policies[1])]
    arrays = labels_to_arrays(parts)
    assert ("policy_counts" in arrays) == any(policies)
    back = labels_from_arrays(arrays, [3, 5])
    assert all(same(a, b) for a, b in zip(parts, back, strict=True))


@pytest.mark.parametrize(
    ("name", "broken", "problem"),
    [
        ("with_policies", np.array([True]), "expected 'with_policies' of 2 games"),
        ("with_policies", np.array([1.0, 1.0]), "with_policies"),
        ("policy_counts", np.array([3, 0, 1], np.int32), "expected 4 numbers in the replay's 'policy_counts', got 3"),
        ("policy_counts", np.array([-3, 0, 1, 2], np.int32), "policy_counts"),
        ("policy_counts", np.array([2**30] * 4, np.int32), "numbers in the replay's 'policy_actions'"),
        ("policy_actions", np.array([0, 2, -5, 1, 3, 4], np.int32), "policy_actions"),
        ("policy_shares", np.full(6, np.nan, np.float32), "expected probabilities in the replay's 'policy_shares'"),
        ("policy_shares", np.full(6, -1.0, np.float32), "expected probabilities"),
        ("policy_shares", np.ones(5, np.float32), "expected 6 numbers in the replay's 'policy_shares', got 5"),
    ],
)
def test_what_contradicts_itself_is_refused(name: str, broken: np.ndarray, problem: str) -> None:
    arrays = labels_to_arrays([some(0, 3, policies=True), some(3, 1, policies=True)])
    with pytest.raises(CheckpointError, match=problem):
        labels_from_arrays({**arrays, name: broken}, [3, 1])
    with pytest.raises(CheckpointError):
        labels_from_arrays({n: array for n, array in arrays.items() if n != "policy_actions"}, [3, 1])
