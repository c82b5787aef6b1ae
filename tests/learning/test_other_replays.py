"""Plain, per-match and no experience replay: which states are kept, how many are learned, and in what minibatches."""

from __future__ import annotations

import io
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from replay_items import Phase, items_of, match_of, matches_of, weight_of
from scipy import stats

from athenan_spiel.config import ReplayConfig
from athenan_spiel.errors import CheckpointError
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.replay import PerMatchReplay, PlainReplay, Replay, StratifiedReplay, make_replay, plain
from athenan_spiel.learning.targets import Targets

METHODS = ("stratified", "plain", "per_match", "none")
every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a plain replay are merged in tests as small as these, too."""
    monkeypatch.setattr(plain, "BLOCK", 16)


def phases(config: ReplayConfig, lengths: list[int], batch_size: int, seed: int = 0) -> Iterator[Phase]:
    """Add matches of the given lengths one after another, with one learning phase after each."""
    replay = make_replay(config, np.random.default_rng(seed))
    for items in matches_of(lengths):
        replay.add(match_of(items))
        yield [items_of(batch) for batch in replay.sample(batch_size)]


def rate(share: float) -> Fraction:
    return Fraction(str(share))


samplings = st.sampled_from([0.01, 0.04, 0.1, 0.3, 0.5, 1.0])
all_lengths = st.lists(st.integers(1, 40), min_size=1, max_size=14)
batch_sizes = st.integers(1, 50)


# Algorithms 6 and 7


def assert_split_as_in_algorithm_7(phase: Phase, batch_size: int) -> None:
    """The fewest minibatches: all of B, but for the last, which may be smaller."""
    sizes = [len(minibatch) for minibatch in phase]
    assert sizes[:-1] == [batch_size] * (len(sizes) - 1)
    assert 1 <= sizes[-1] <= batch_size


@pytest.mark.usefixtures("_small_blocks")
@settings(deadline=None)
@given(st.integers(1, 120), samplings, all_lengths, batch_sizes)
def test_plain_replay_is_a_sample_of_the_last_states(
    states: int, sampling: float, lengths: list[int], batch_size: int
) -> None:
    """Algorithm 6 line by line, but for the choice itself; σ·μ is rounded up, as Algorithm 8 does."""
    config = ReplayConfig(method="plain", states=states, sampling=sampling)
    memory: list[int] = []
    for items, phase in zip(matches_of(lengths), phases(config, lengths, batch_size), strict=True):
        memory += items
        if len(memory) > states:
            memory = memory[-states:]
        expected = len(memory) if len(memory) <= rate(sampling) * states else math.ceil(rate(sampling) * states)
        learned = [item for minibatch in phase for item in minibatch]
        assert len(learned) == len(set(learned)) == expected
        assert set(learned) <= set(memory)
        assert_split_as_in_algorithm_7(phase, batch_size)


@settings(deadline=None)
@given(st.integers(1, 8), samplings, all_lengths, batch_sizes)
def test_per_match_replay_is_a_share_of_the_last_matches(
    matches: int, sampling: float, lengths: list[int], batch_size: int
) -> None:
    config = ReplayConfig(method="per_match", matches=matches, sampling=sampling)
    played: list[list[int]] = []
    for items, phase in zip(matches_of(lengths), phases(config, lengths, batch_size), strict=True):
        played.append(items)
        memory = [item for match in played[-matches:] for item in match]
        learned = [item for minibatch in phase for item in minibatch]
        assert len(learned) == len(set(learned)) == math.ceil(rate(sampling) * len(memory))
        assert set(learned) <= set(memory)
        assert_split_as_in_algorithm_7(phase, batch_size)


@settings(deadline=None)
@given(all_lengths, batch_sizes)
def test_without_replay_each_phase_learns_the_match_just_played(lengths: list[int], batch_size: int) -> None:
    config = ReplayConfig(method="none")
    for items, phase in zip(matches_of(lengths), phases(config, lengths, batch_size), strict=True):
        assert sorted(item for minibatch in phase for item in minibatch) == items
        assert_split_as_in_algorithm_7(phase, batch_size)


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("method", ["plain", "per_match"])
def test_every_kept_state_is_equally_likely(method: Any) -> None:
    """A chi-square test over many seeds; the oldest states of M lie in a block that has lost some."""
    config = ReplayConfig(method=method, states=40, matches=4, sampling=0.25)
    counts = Counter[int]()
    for seed in range(1500):
        *_, last = phases(config, [7, 11, 9, 12, 8], batch_size=4, seed=seed)
        counts.update(item for minibatch in last for item in minibatch)
    assert set(counts) == set(range(7, 47)), "40 states, which happen to be 4 matches, too"
    assert sum(counts.values()) == 1500 * 10
    assert stats.chisquare(list(counts.values())).pvalue > 0.01


def test_minibatches_mix_matches() -> None:
    *_, last = phases(ReplayConfig(method="per_match", matches=10, sampling=1.0), [50] * 10, batch_size=50)
    assert all(len({item // 50 for item in minibatch}) > 5 for minibatch in last)


def test_each_method_learns_its_own_number_of_states() -> None:
    """The last of six phases; each number is another method's mistake."""
    totals = {}
    for method in METHODS:
        config = ReplayConfig(method=method, matches=3, duplication=1.0, states=25, sampling=0.2)  # type: ignore[arg-type]
        *_, last = phases(config, [10] * 6, batch_size=4)
        totals[method] = sum(map(len, last))
    assert totals == {"stratified": 3 * 4, "plain": 5, "per_match": 6, "none": 10}


def test_the_sample_is_rounded_up_from_the_exact_product() -> None:
    assert math.ceil(0.07 * 100) == 8  # floating point lands above 7
    for method in ("plain", "per_match"):
        config = ReplayConfig(method=method, states=100, sampling=0.07)  # type: ignore[arg-type]
        (phase,) = phases(config, [100], batch_size=1000)
        assert len(phase[0]) == 7


# Every method


def alternately_weighted(lengths: list[int]) -> Iterator[Targets]:
    for number, items in enumerate(matches_of(lengths)):
        yield match_of(items, weighted=number % 2 == 1)


@pytest.mark.usefixtures("_small_blocks")
@every_method
def test_weights_stay_with_their_states(method: Any) -> None:
    """Those of matches without any are 1, and where no match has any, minibatches have none."""
    config = ReplayConfig(method=method, matches=4, duplication=4.0, sampling=1.0, states=45)
    replay = make_replay(config, np.random.default_rng(0))
    lengths = [5, 7, 9, 11, 8, 14, 6]
    owner = [match for match, items in enumerate(matches_of(lengths)) for _ in items]
    kinds = set()
    for number, targets in enumerate(alternately_weighted(lengths)):
        replay.add(targets)
        for batch in replay.sample(8):
            items = items_of(batch)
            if batch.labels.weights is None:
                assert not any(owner[item] % 2 for item in items)
                kinds.add("none")
            else:
                assert batch.labels.weights.dtype == np.float32
                expected = [weight_of(item) if owner[item] % 2 else 1 for item in items]
                assert batch.labels.weights.tolist() == expected
                kinds.add("weights")
        assert number == 0 or kinds == {"none", "weights"}


def restored(replay: Replay, config: ReplayConfig, rng: np.random.Generator) -> Replay:
    """The replay as read from a file, with a generator in the same state."""
    file = io.BytesIO()
    np.savez(file, **replay.to_arrays())  # type: ignore[arg-type]
    file.seek(0)
    twin = np.random.default_rng()
    twin.bit_generator.state = rng.bit_generator.state
    with np.load(file, allow_pickle=False) as arrays:
        return make_replay(config, twin, arrays)


@pytest.mark.usefixtures("_small_blocks")
@every_method
@settings(deadline=None, max_examples=40)
@given(st.integers(1, 5), st.integers(10, 90), samplings, all_lengths, st.integers(0, 13), st.integers(400, 4000))
def test_a_replay_restored_from_a_file_goes_on_identically(
    method: Any, matches: int, states: int, sampling: float, lengths: list[int], saved_at: int, bound: int
) -> None:
    config = ReplayConfig(method=method, matches=matches, states=states, sampling=sampling, megabytes=bound / 1e6)
    rng = np.random.default_rng(5)
    replay = make_replay(config, rng)
    all_targets = list(alternately_weighted([*lengths, 7, 9]))
    saved_at = min(saved_at, len(lengths) - 1)
    for targets in all_targets[:saved_at]:
        replay.add(targets)
        list(replay.sample(8))
    again = restored(replay, config, rng)
    assert (again.states(), again.nbytes) == (replay.states(), replay.nbytes)
    for targets in all_targets[saved_at:]:
        for one in (replay, again):
            one.add(targets)
        assert (again.states(), again.nbytes) == (replay.states(), replay.nbytes)
        for got, expected in zip(again.sample(8), replay.sample(8), strict=True):
            assert items_of(got) == items_of(expected)
            ours, theirs = got.labels.weights, expected.labels.weights
            assert (None if ours is None else ours.tolist()) == (None if theirs is None else theirs.tolist())


@every_method
def test_an_empty_memory_has_no_minibatches_and_survives_its_arrays(method: Any) -> None:
    config, rng = ReplayConfig(method=method), np.random.default_rng(0)
    replay = restored(make_replay(config, rng), config, rng)
    assert list(replay.sample(128)) == []
    assert (replay.states(), replay.nbytes, replay.row_sizes()) == (0, 0, set())
    replay.add(match_of(list(range(9))))
    assert (replay.states(), replay.row_sizes()) == (9, {24})
    assert replay.nbytes > 0


@every_method
def test_a_phase_is_drawn_when_asked_for_even_if_it_is_not_read(method: Any) -> None:
    learned = []
    for read in (True, False):
        replay = make_replay(ReplayConfig(method=method, sampling=0.5, states=30), np.random.default_rng(0))
        replay.add(match_of(list(range(40))))
        first = replay.sample(4)
        if read:
            list(first)
        learned.append([items_of(batch) for batch in replay.sample(4)])
    assert learned[0] == learned[1]


@pytest.mark.parametrize(
    ("method", "kind"),
    [("stratified", StratifiedReplay), ("plain", PlainReplay), ("per_match", PerMatchReplay), ("none", PerMatchReplay)],
)
def test_the_settings_name_the_replay(method: Any, kind: type) -> None:
    assert type(make_replay(ReplayConfig(method=method), np.random.default_rng(0))) is kind


# The bound on memory (Remark 5)


def kept(replay: Replay, batch_size: int = 1000) -> list[int]:
    return sorted(item for batch in replay.sample(batch_size) for item in items_of(batch))


@settings(deadline=None)
@given(st.integers(1, 3000), all_lengths)
def test_per_match_replay_drops_the_oldest_matches_as_few_as_possible(bound: int, lengths: list[int]) -> None:
    config = ReplayConfig(method="per_match", matches=6, sampling=1.0, megabytes=bound / 1e6)
    replay = make_replay(config, np.random.default_rng(0))
    matches = list(matches_of(lengths))
    sizes = [match_of(items).nbytes for items in matches]
    for age, items in enumerate(matches):
        replay.add(match_of(items))
        recent = sizes[max(0, age - 5) : age + 1]
        count = max((k for k in range(1, len(recent) + 1) if sum(recent[-k:]) <= bound), default=1)
        assert kept(replay) == [item for match in matches[age + 1 - count : age + 1] for item in match]
        assert replay.nbytes == sum(recent[-count:])


@pytest.mark.usefixtures("_small_blocks")
@settings(deadline=None)
@given(st.integers(1, 3000), st.integers(5, 200), all_lengths)
def test_plain_replay_keeps_the_newest_states_and_no_block_too_few(bound: int, states: int, lengths: list[int]) -> None:
    config = ReplayConfig(method="plain", states=states, sampling=1.0, megabytes=bound / 1e6)
    replay = make_replay(config, np.random.default_rng(0))
    played: list[int] = []
    before = 0
    for items in matches_of(lengths):
        replay.add(match_of(items))
        played += items
        memory = kept(replay)
        assert memory == played[-len(memory) :], "the newest ones"
        assert min(states, len(items)) <= len(memory) <= states
        if replay.nbytes > bound:
            assert len(memory) < len(items) + 16 + 40, "no more than the newest match and the block that it begins in"
        elif len(memory) < min(states, before + len(items)):
            assert replay.nbytes > bound - match_of(list(range(2 * 16 + 40))).nbytes, "nothing left without need"
        before = len(memory)


def test_without_replay_a_match_may_be_larger_than_the_bound() -> None:
    replay = make_replay(ReplayConfig(method="none", megabytes=1e-6), np.random.default_rng(0))
    replay.add(match_of(list(range(30))))
    assert kept(replay) == list(range(30))


# A large plain memory


def test_short_matches_share_packs() -> None:
    """A memory of 5,000 matches of ten states opens some dozens of packs, not thousands."""
    replay = PlainReplay(ReplayConfig(method="plain", states=40_000), np.random.default_rng(0))
    for first in range(0, 50_000, 10):
        replay.add(match_of(list(range(first, first + 10)), chunk=10))
    assert replay.states() == 40_000
    assert len(replay.to_arrays()["shapes"]) < 40_000 / plain.BLOCK + plain.BLOCK / 10 + 1
    assert set(kept(replay)) <= set(range(10_000, 50_000))


def test_a_million_states() -> None:
    replay = PlainReplay(ReplayConfig(method="plain"), np.random.default_rng(0))
    (rows,) = match_of(list(range(20_000)), chunk=20_000).rows
    for match in range(55):
        replay.add(Targets([rows], Labels(np.full(20_000, match, np.float32))))
    assert replay.states() == 1_000_000
    values = np.concatenate([batch.labels.values for batch in replay.sample(128)])
    assert len(values) == 40_000
    assert values.min() == 5
    assert values.max() == 54


# Damaged checkpoints


def saved_arrays(method: Any) -> dict[str, NDArray[Any]]:
    replay = make_replay(ReplayConfig(method=method), np.random.default_rng(0))
    for targets in alternately_weighted([5, 6]):
        replay.add(targets)
    return replay.to_arrays()


@pytest.mark.parametrize("method", ["plain", "per_match"])
def test_missing_arrays_are_refused_by_name(method: Any) -> None:
    names = ["packs", "values", "dropped"] if method == "plain" else ["packs", "values"]
    for name in names:
        arrays = saved_arrays(method)
        del arrays[name]
        with pytest.raises(CheckpointError, match=rf"got none of \['{name}'\]"):
            make_replay(ReplayConfig(method=method), np.random.default_rng(0), arrays)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("values", "expected 11 numbers in the replay's 'values', got 10"),
        ("weights", "expected 6 numbers in the replay's 'weights', got 5"),
        ("weighted", "expected 'weighted' of 2 games in the replay, got 1"),
        ("dropped", "expected 1 numbers in the replay's 'dropped', got 0"),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(name: str, message: str) -> None:
    arrays = saved_arrays("plain")
    arrays[name] = arrays[name][:-1]
    with pytest.raises(CheckpointError, match=message):
        make_replay(ReplayConfig(method="plain"), np.random.default_rng(0), arrays)


@pytest.mark.parametrize("dropped", [-1, 6])
def test_more_dropped_states_than_there_are_in_a_block_are_refused(dropped: int) -> None:
    arrays = saved_arrays("plain") | {"dropped": np.array([dropped], np.int64)}
    with pytest.raises(
        CheckpointError, match=f"the number of dropped states of the replay's first block in \\[0, 5\\), got {dropped}"
    ):
        make_replay(ReplayConfig(method="plain"), np.random.default_rng(0), arrays)


def test_a_stratified_memory_of_an_older_version_has_no_weights() -> None:
    arrays = saved_arrays("stratified")
    del arrays["weighted"], arrays["weights"]
    replay = make_replay(ReplayConfig(duplication=100.0), np.random.default_rng(0), arrays)
    assert {batch.labels.weights is None for batch in replay.sample(4)} == {True}
