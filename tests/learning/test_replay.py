"""Stratified experience replay against a literal, slow transcription of the article's Algorithm 8."""

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
from replay_items import Phase, items_of, match_of, matches_of
from scipy import stats

from athenan_spiel.config import ReplayConfig
from athenan_spiel.encoding.compact import CompactRows
from athenan_spiel.errors import CheckpointError
from athenan_spiel.learning.labels import Labels
from athenan_spiel.learning.replay import StratifiedReplay
from athenan_spiel.learning.replay.base import WINDOW_BYTES
from athenan_spiel.learning.replay.stratified import deal, minibatch_count
from athenan_spiel.learning.targets import Targets


class LiteralReplay:
    """Algorithm 8 as printed, line by line, on lists of items; `rng.integers` is its choice(E)."""

    def __init__(self, mu: int, delta: float, rng: np.random.Generator) -> None:
        self.mu, self.delta, self.rng = mu, Fraction(str(delta)), rng
        self.memory: list[tuple[list[int], list[int]]] = []

    def take(self, items: list[int]) -> int:
        return items.pop(int(self.rng.integers(len(items))))

    def phase(self, D: list[int], B: int) -> Phase:
        self.memory.append((list(D), []))
        if len(self.memory) > self.mu:
            self.memory.pop(0)
        n = sum(math.ceil(self.delta / self.mu * (len(D) + len(D1))) for D, D1 in self.memory)
        g = max(1, n // B)
        if abs(n // g - B) > abs(n // (g + 1) - B):
            g += 1
        G = list(range(g))
        S: Phase = [[] for _ in G]
        for D, D1 in self.memory:
            for _ in range(math.ceil(self.delta / self.mu * (len(D) + len(D1)))):
                item = self.take(D)
                D1.append(item)
                if not D:
                    D.extend(D1)
                    D1.clear()
                j = self.take(G)
                if not G:
                    G.extend(range(g))
                S[j].append(item)
        return S


def phases(config: ReplayConfig, lengths: list[int], batch_size: int, seed: int = 0) -> Iterator[Phase]:
    """Add matches of the given lengths one after another, with one learning phase after each."""
    replay = StratifiedReplay(config, np.random.default_rng(seed))
    for items in matches_of(lengths):
        replay.add(match_of(items))
        yield [items_of(batch) for batch in replay.sample(batch_size)]


def literal_phases(config: ReplayConfig, lengths: list[int], batch_size: int, seed: int = 0) -> Iterator[Phase]:
    replay = LiteralReplay(config.matches, config.duplication, np.random.default_rng(seed))
    for items in matches_of(lengths):
        yield replay.phase(items, batch_size)


configs = st.builds(
    ReplayConfig, matches=st.integers(1, 8), duplication=st.sampled_from([0.1, 0.3, 1.0, 1.5, 3.0, 7.0, 20.0])
)
all_lengths = st.lists(st.integers(1, 40), min_size=1, max_size=14)
batch_sizes = st.integers(1, 50)


@settings(deadline=None)
@given(configs, all_lengths, batch_sizes)
def test_each_phase_has_the_minibatches_and_the_shares_of_the_literal_algorithm(
    config: ReplayConfig, lengths: list[int], batch_size: int
) -> None:
    owner = [match for match, items in enumerate(matches_of(lengths)) for _ in items]
    ours, literal = phases(config, lengths, batch_size), literal_phases(config, lengths, batch_size)
    for got, expected in zip(ours, literal, strict=True):
        assert sorted(map(len, got)) == sorted(map(len, expected))
        shares = [Counter(owner[item] for minibatch in phase for item in minibatch) for phase in (got, expected)]
        assert shares[0] == shares[1]


@settings(deadline=None)
@given(configs, all_lengths, batch_sizes)
def test_minibatches_are_stratified(config: ReplayConfig, lengths: list[int], batch_size: int) -> None:
    owner = [match for match, items in enumerate(matches_of(lengths)) for _ in items]
    for phase in phases(config, lengths, batch_size):
        sizes = [len(minibatch) for minibatch in phase]
        assert max(sizes) - min(sizes) <= 1
        for match, share in Counter(owner[item] for minibatch in phase for item in minibatch).items():
            for minibatch in phase:  # the match's share meets at most two rounds of dealing that it does not fill
                part = sum(owner[item] == match for item in minibatch)
                assert abs(part - share / len(phase)) < 2


@settings(deadline=None)
@given(configs, all_lengths, batch_sizes)
def test_nothing_is_learned_again_before_all_of_its_match_was(
    config: ReplayConfig, lengths: list[int], batch_size: int
) -> None:
    learned = Counter[int]()
    matches = list(matches_of(lengths))
    for age, phase in enumerate(phases(config, lengths, batch_size)):
        learned.update(item for minibatch in phase for item in minibatch)
        for items in matches[: age + 1]:
            counts = [learned[item] for item in items]
            assert max(counts) - min(counts) <= 1


@settings(deadline=None, max_examples=30)
@given(configs, st.integers(1, 30), st.data())
def test_while_its_match_is_kept_a_state_is_learned_delta_times(
    config: ReplayConfig, length: int, data: st.DataObject
) -> None:
    others = data.draw(st.lists(st.integers(1, 20), min_size=config.matches, max_size=config.matches))
    learned = Counter[int]()
    for phase in phases(config, [length, *others], batch_size=8):
        learned.update(item for minibatch in phase for item in minibatch if item < length)
    per_phase = math.ceil(Fraction(str(config.duplication)) / config.matches * length)
    times = config.matches * per_phase / length
    assert times >= config.duplication
    for item in range(length):
        assert math.floor(times) <= learned[item] <= math.ceil(times)


def test_a_phase_of_a_young_memory_is_short() -> None:
    """δ/μ is the share of a match even while fewer than μ matches are kept."""
    config = ReplayConfig(matches=100, duplication=3.0)
    totals = [sum(map(len, phase)) for phase in phases(config, [200] * 4, batch_size=128)]
    assert totals == [6, 12, 18, 24]


def test_the_share_of_a_match_is_rounded_up_from_the_exact_quotient() -> None:
    replay = StratifiedReplay(ReplayConfig(matches=100, duplication=1.1), np.random.default_rng(0))
    assert math.ceil(1.1 / 100 * 1000) == 12  # floating point lands above 11
    assert [replay.sample_size(states) for states in (0, 1, 90, 91, 1000, 1001)] == [0, 1, 1, 2, 11, 12]


def test_delta_above_mu_learns_a_match_several_times_in_one_phase() -> None:
    (phase,) = phases(ReplayConfig(matches=1, duplication=5.0), [7], batch_size=1000)
    assert Counter(phase[0]) == dict.fromkeys(range(7), 5)


@pytest.mark.parametrize(
    ("states", "batch_size", "expected"),
    [(1, 128, 1), (127, 128, 1), (171, 128, 1), (172, 128, 2), (256, 128, 2), (383, 128, 3), (11, 4, 2), (7, 1, 7)],
)
def test_the_number_of_minibatches(states: int, batch_size: int, expected: int) -> None:
    literal = LiteralReplay(1, 1.0, np.random.default_rng(0)).phase(list(range(states)), batch_size)
    assert len(literal) == expected
    assert minibatch_count(states, batch_size) == expected


@pytest.mark.parametrize(("states", "minibatches"), [(1, 1), (12, 4), (13, 4), (3, 3)])
def test_dealing_goes_in_rounds(states: int, minibatches: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        dealt = deal(states, minibatches, rng)
        assert len(dealt) == states
        for first in range(0, states, minibatches):
            deck = dealt[first : first + minibatches].tolist()
            assert len(set(deck)) == len(deck)
            assert set(deck) <= set(range(minibatches))


def outcomes(source: Any, runs: int) -> Counter[str]:
    """How often each whole outcome occurs: what is in which minibatch in the last phase, over many seeds."""
    config, lengths, batch_size = ReplayConfig(matches=2, duplication=1.3), [2, 3, 3], 2
    counts = Counter[str]()
    for seed in range(runs):
        *_, last = source(config, lengths, batch_size, seed)
        counts[repr([sorted(minibatch) for minibatch in last])] += 1
    return counts


def test_outcomes_are_distributed_as_in_the_literal_algorithm() -> None:
    """A chi-square test of homogeneity over every possible phase; the seeds are fixed, so it never flickers."""
    ours, literal = outcomes(phases, 4000), outcomes(literal_phases, 4000)
    assert set(ours) == set(literal)
    assert len(ours) == 54  # 9 pairs of the second match, where a turn ends in mid-phase, by 6 of the third
    table = [[counts[key] for key in ours] for counts in (ours, literal)]
    assert stats.chi2_contingency(table).pvalue > 0.01


def test_the_oldest_matches_leave_when_there_are_more_than_mu() -> None:
    replay = StratifiedReplay(ReplayConfig(matches=2, duplication=2.0), np.random.default_rng(0))
    for items in matches_of([3, 4, 5]):
        replay.add(match_of(items))
    assert len(replay) == 2
    assert replay.states() == 9
    assert {item for batch in replay.sample(4) for item in items_of(batch)} == set(range(3, 12))


def bytes_of(items: list[int]) -> int:
    """What a match takes in memory."""
    replay = StratifiedReplay(ReplayConfig(), np.random.default_rng(0))
    replay.add(match_of(items))
    return replay.nbytes


@settings(deadline=None)
@given(st.integers(1, 3000), all_lengths)
def test_the_bound_on_memory_drops_the_oldest_as_few_as_possible(bound: int, lengths: list[int]) -> None:
    """Remark 5; the newest match stays even where it alone exceeds the bound."""
    config = ReplayConfig(matches=6, duplication=6.0, megabytes=bound / 1e6)
    replay = StratifiedReplay(config, np.random.default_rng(0))
    matches = matches_of(lengths)
    sizes = [bytes_of(items) for items in matches]
    for age, items in enumerate(matches):
        replay.add(match_of(items))
        recent = sizes[max(0, age + 1 - config.matches) : age + 1]
        kept = max((k for k in range(1, len(recent) + 1) if sum(recent[-k:]) <= bound), default=1)
        assert len(replay) == kept
        assert replay.nbytes == sum(recent[-kept:])


def test_the_bound_on_memory_is_for_the_time_being() -> None:
    long, short = bytes_of(list(range(18))), bytes_of(list(range(4)))
    replay = StratifiedReplay(ReplayConfig(matches=3, megabytes=(long + short - 1) / 1e6), np.random.default_rng(0))
    kept = []
    for items in matches_of([4, 4, 18, 4, 4, 4]):
        replay.add(match_of(items))
        kept.append(len(replay))
    assert kept == [1, 2, 1, 1, 2, 3]


@settings(deadline=None, max_examples=50)
@given(configs, all_lengths, batch_sizes, st.integers(0, 13))
def test_a_replay_restored_from_a_file_goes_on_identically(
    config: ReplayConfig, lengths: list[int], batch_size: int, saved_at: int
) -> None:
    rng = np.random.default_rng(5)
    replay = StratifiedReplay(config, rng)
    for i, items in enumerate(matches_of(lengths)):
        if i == min(saved_at, len(lengths) - 1):
            break
        replay.add(match_of(items))
        list(replay.sample(batch_size))
    again = restored(replay, config, rng)
    assert (len(again), again.states(), again.nbytes) == (len(replay), replay.states(), replay.nbytes)
    for items in list(matches_of([*lengths, 7, 9]))[i:]:
        for one in (replay, again):
            one.add(match_of(items))
        for got, expected in zip(again.sample(batch_size), replay.sample(batch_size), strict=True):
            np.testing.assert_array_equal(got.observations, expected.observations)
            np.testing.assert_array_equal(got.labels.values, expected.labels.values)


def restored(replay: StratifiedReplay, config: ReplayConfig, rng: np.random.Generator) -> StratifiedReplay:
    """The replay as read from a file, with a generator in the same state."""
    file = io.BytesIO()
    np.savez(file, **replay.to_arrays())  # type: ignore[arg-type]
    file.seek(0)
    twin = np.random.default_rng()
    twin.bit_generator.state = rng.bit_generator.state
    with np.load(file, allow_pickle=False) as arrays:
        return StratifiedReplay.from_arrays(config, twin, arrays)


def test_an_empty_memory_has_no_minibatches_and_survives_its_arrays() -> None:
    config, rng = ReplayConfig(), np.random.default_rng(0)
    replay = restored(StratifiedReplay(config, rng), config, rng)
    assert list(replay.sample(128)) == []
    assert (len(replay), replay.states(), replay.nbytes) == (0, 0, 0)


def saved_arrays() -> dict[str, NDArray[Any]]:
    replay = StratifiedReplay(ReplayConfig(), np.random.default_rng(0))
    for items in matches_of([5, 6]):
        replay.add(match_of(items))
    return replay.to_arrays()


@pytest.mark.parametrize("name", ["packs", "drawn", "order", "values"])
def test_missing_arrays_are_refused_by_name(name: str) -> None:
    arrays = saved_arrays()
    del arrays[name]
    with pytest.raises(CheckpointError, match=rf"got none of \['{name}'\]"):
        StratifiedReplay.from_arrays(ReplayConfig(), np.random.default_rng(0), arrays)


@pytest.mark.parametrize(("name", "count"), [("drawn", 2), ("order", 11), ("values", 11)])
def test_arrays_that_contradict_each_other_are_refused(name: str, count: int) -> None:
    arrays = saved_arrays()
    arrays[name] = arrays[name][:-1]
    expected = f"expected {count} numbers in the replay's '{name}', got {count - 1}"
    with pytest.raises(CheckpointError, match=expected):
        StratifiedReplay.from_arrays(ReplayConfig(), np.random.default_rng(0), arrays)


HOSTILE: dict[str, Any] = {
    "bits": [lambda a: a.astype(np.int64), lambda a: a.reshape(1, -1), lambda a: a[:-1]],
    "codes": [lambda a: np.full_like(a, 255), lambda a: a.astype(np.float32)],
    "code_columns": [lambda a: np.full_like(a, 10**6), lambda a: np.full_like(a, -1)],
    "float_columns": [lambda a: a.astype(np.uint8)],
    "shapes": [lambda a: a.astype(np.float64), lambda a: -a, lambda a: a[:, :4], lambda a: a + 2**40, lambda a: a[:-1]],
    "packs": [lambda a: -a, lambda a: a[:-1], lambda a: a.astype(np.uint64), lambda a: a * 2],
    "values": [lambda a: a.astype(np.float64), lambda a: a.reshape(-1, 1), lambda a: a[1:]],
    "weighted": [lambda a: a.astype(np.int8), lambda a: ~a, lambda a: a[1:]],
    "weights": [lambda a: a.astype("<U9"), lambda a: np.ones(3, np.float32)],
    "order": [lambda a: np.zeros_like(a), lambda a: a + 1, lambda a: a.astype(np.int64), lambda a: -a],
    "drawn": [lambda a: a + 10**6, lambda a: a - 10**6, lambda a: a.astype(np.float64), lambda a: a[1:]],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_arrays_of_another_kind_are_one_line(name: str) -> None:
    """Each array in turn is changed; all else is as it was written."""
    replay = StratifiedReplay(ReplayConfig(matches=5), np.random.default_rng(0))
    rng = np.random.default_rng(1)
    for length in (3, 7):
        rows = rng.integers(0, 3, (length, 12)).astype(np.float32) / 3
        replay.add(Targets([CompactRows.pack(rows)], Labels(np.zeros(length, np.float32))))
    arrays = replay.to_arrays()
    assert len(arrays["codes"]), "there is a codebook"
    for change in HOSTILE[name]:
        with pytest.raises(CheckpointError) as error:
            StratifiedReplay.from_arrays(
                ReplayConfig(), np.random.default_rng(0), arrays | {name: change(arrays[name])}
            )
        assert len(str(error.value).splitlines()) == 1


def test_a_phase_is_drawn_when_asked_for_even_if_it_is_not_read() -> None:
    learned = []
    for read in (True, False):
        replay = StratifiedReplay(ReplayConfig(matches=4, duplication=1.0), np.random.default_rng(0))
        replay.add(match_of(list(range(40))))
        first = replay.sample(4)
        if read:
            list(first)
        learned.append([items_of(batch) for batch in replay.sample(4)])
    assert learned[0] == learned[1]


def test_a_minibatch_stays_as_it_was_given() -> None:
    """Memory is taken anew for each window, so a learner may keep a minibatch while it asks for the next."""
    size, count = 4096, 3 * WINDOW_BYTES // (4 * 4096)
    rows = np.random.default_rng(1).integers(0, 2, (count, size)).astype(np.float32)
    replay = StratifiedReplay(ReplayConfig(matches=1, duplication=1.0), np.random.default_rng(0))
    replay.add(Targets([CompactRows.pack(rows)], Labels(np.arange(count, dtype=np.float32))))
    batches = list(replay.sample(100))
    assert sum(len(batch.labels.values) for batch in batches) == count
    for batch in batches:
        np.testing.assert_array_equal(batch.observations, rows[batch.labels.values.astype(np.int64)])


def test_nbytes_counts_rows_values_and_order() -> None:
    replay = StratifiedReplay(ReplayConfig(), np.random.default_rng(0))
    replay.add(Targets([CompactRows.pack(np.eye(800, 1210, dtype=np.float32))], Labels(np.zeros(800, np.float32))))
    assert replay.nbytes == 800 * (152 + 4 + 4)


@pytest.mark.parametrize(("intensity", "times"), [(1.0, 1), (2.0, 2), (10.0, 6), (1000.0, 6)])
def test_phases_grow_with_the_intensity_up_to_three_times_delta_of_an_average_game(
    intensity: float, times: int
) -> None:
    replay = StratifiedReplay(ReplayConfig(matches=8, duplication=1.0), np.random.default_rng(0))
    for items in matches_of([80] * 4):
        replay.add(match_of(items))
    replay.intensity = intensity
    assert replay.max_intensity == 6, "3 * 8 / 4"
    assert [len(items_of(batch)) for batch in replay.sample(1000)] == [4 * 10 * times]
    assert replay.copy().intensity == intensity
