"""Coverage of intervals, Elo differences, comparisons, and the MCTS bot."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable

import numpy as np
import pyspiel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from athenan_spiel.arena import (
    Comparison,
    Interval,
    elo_difference,
    share_interval,
)
from athenan_spiel.errors import ConfigError
from athenan_spiel.play.match import MatchResult
from athenan_spiel.play.openspiel_mcts import mcts_bot
from athenan_spiel.play.series import Series

Groups = list[list[float]]


def series_of(*points: tuple[float, float]) -> Series:
    """Returns two games per pair of points; each pair has another opening."""
    results = []
    for opening, pair in enumerate(points):
        for colour, worth in enumerate(pair):
            gain = 2 * worth - 1
            returns = (gain, -gain) if colour == 0 else (-gain, gain)
            results.append(MatchResult((opening,), 1, returns, (0.5, 0.25)))
    return Series(tuple(results), (0, 1) * len(points))


def independent(share: float, drawn: float, pairs: int) -> Callable[[np.random.Generator], Groups]:
    won = share - drawn / 2
    return lambda rng: rng.choice([1.0, 0.5, 0.0], p=[won, drawn, 1 - won - drawn], size=(pairs, 2)).tolist()


def one_result_an_opening(share: float, pairs: int) -> Callable[[np.random.Generator], Groups]:
    return lambda rng: [[float(won)] * 2 for won in rng.random(pairs) < share]


def one_colour_wins(pairs: int) -> Callable[[np.random.Generator], Groups]:
    return lambda rng: [[1.0, 0.0]] * pairs


def uneven_openings(pairs: int) -> Callable[[np.random.Generator], Groups]:
    """Half of the openings are won with probability 0.9, half with 0.4; some have more games."""

    def draw(rng: np.random.Generator) -> Groups:
        shares = rng.choice([0.9, 0.4], size=pairs)
        return [[float(x) for x in rng.random(2 + 2 * (i % 3)) < share] for i, share in enumerate(shares)]

    return draw


@pytest.mark.parametrize(
    ("share", "draw"),
    [
        (0.5, independent(0.5, 0.0, 100)),
        (0.5, independent(0.5, 0.6, 100)),
        (0.65, independent(0.65, 0.1, 100)),
        (0.95, independent(0.95, 0.02, 100)),
        (0.65, independent(0.65, 0.0, 10)),
        (0.95, independent(0.95, 0.0, 10)),
        (0.65, one_result_an_opening(0.65, 100)),
        (0.95, one_result_an_opening(0.95, 25)),
        (0.5, one_colour_wins(50)),
        (0.65, uneven_openings(25)),
    ],
)
def test_the_interval_has_the_declared_coverage(share: float, draw: Callable[[np.random.Generator], Groups]) -> None:
    rng = np.random.default_rng(0)
    samples = 1000
    intervals = [share_interval(draw(rng)) for _ in range(samples)]
    covered = sum(interval.low <= share <= interval.high for interval in intervals)
    # 0.95, less three standard errors of the simulation.
    assert covered / samples >= 0.93


def test_matches_that_share_their_result_count_once() -> None:
    apart = share_interval([[1.0], [1.0], [0.0], [1.0]] * 10)
    twice = share_interval([[1.0] * 2, [1.0] * 2, [0.0] * 2, [1.0] * 2] * 10)
    assert (twice.low, twice.high) == pytest.approx((apart.low, apart.high))


def test_independent_matches_give_wilsons_interval() -> None:
    # 190 of 200, the variance between pairs being that of independent matches: Wilson's interval is 0.910 to 0.973.
    groups = [[1.0, 0.0]] * 10 + [[1.0, 1.0]] * 90
    interval = share_interval(groups)
    assert (interval.low, interval.high) == pytest.approx((0.910, 0.973), abs=0.001)


def test_the_interval_has_a_width_if_every_game_was_won() -> None:
    interval = share_interval([[1.0, 1.0]] * 100)
    assert interval.estimate == interval.high == 1.0
    assert 0.97 < interval.low < 0.99


def test_a_single_opening_gives_a_wide_interval() -> None:
    interval = share_interval([[1.0, 1.0]])
    assert interval.low < 0.25
    assert interval.high == 1.0


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=4), min_size=1, max_size=12),
    st.sampled_from([0.5, 0.9, 0.95, 0.999]),
)
def test_laws_of_the_interval(groups: Groups, confidence: float) -> None:
    interval = share_interval(groups, confidence)
    assert 0.0 <= interval.low <= interval.estimate <= interval.high <= 1.0
    assert interval.low < interval.high
    mirrored = share_interval([[1 - x for x in group] for group in groups], confidence)
    assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((interval.low, interval.high))


def test_more_confidence_is_wider() -> None:
    groups = [[1.0, 0.5], [0.0, 1.0], [1.0, 1.0]]
    assert share_interval(groups, 0.99).low < share_interval(groups, 0.9).low


def test_a_series_has_the_interval_of_its_openings_and_an_elo_difference() -> None:
    series = series_of((1.0, 0.0), (1.0, 1.0))
    assert series.interval(0.9) == share_interval([[1.0, 0.0], [1.0, 1.0]], 0.9)
    elo = series.elo(0.9)
    assert elo.estimate == elo_difference(0.75)
    assert (elo.low, elo.high) == tuple(map(elo_difference, (series.interval(0.9).low, series.interval(0.9).high)))


def test_no_match_has_no_interval() -> None:
    with pytest.raises(ConfigError, match="at least one game, got none"):
        Series().interval()


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, True, "0.9"])
def test_confidence_is_a_probability(confidence: float) -> None:
    with pytest.raises(ConfigError, match=f"between 0 and 1, got {confidence!r}"):
        share_interval([[1.0]], confidence)


def test_known_elo_differences() -> None:
    assert elo_difference(0.5) == 0.0
    assert elo_difference(10 / 11) == pytest.approx(400.0)
    assert elo_difference(0.76) == pytest.approx(200, abs=1)
    assert elo_difference(1.0) == math.inf
    assert elo_difference(0.0) == -math.inf


@given(st.floats(0.001, 0.999))
def test_the_difference_is_of_the_odds_and_turns_with_the_sides(share: float) -> None:
    odds = 10 ** (elo_difference(share) / 400)
    assert odds / (1 + odds) == pytest.approx(share)
    assert elo_difference(1 - share) == pytest.approx(-elo_difference(share))


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_shares_outside_the_unit_interval_are_refused(share: float) -> None:
    with pytest.raises(ConfigError, match="must be in"):
        elo_difference(share)


def test_a_comparison_describes_the_series() -> None:
    comparison = Comparison.of("runs/a", "mcts:100", series_of((1.0, 0.5), (1.0, 0.0)))
    said = comparison.to_json()
    assert said["matches"] == 4
    assert said["total"] == {"wins": 2, "draws": 1, "losses": 1}
    assert said["as_first_player"] == {"wins": 2, "draws": 0, "losses": 0}
    assert said["as_second_player"] == {"wins": 0, "draws": 1, "losses": 1}
    assert said["points"]["estimate"] == 0.625
    assert said["elo_difference"]["estimate"] == pytest.approx(elo_difference(0.625))
    assert said["openings"] == 2
    assert said["seconds"] == {"contender": 1.5, "opponent": 1.5}
    assert json.loads(json.dumps(said)) == said
    assert str(comparison).startswith(
        "runs/a against mcts:100: 2 won, 1 drawn, 1 lost, 62.5% of the points (95% interval "
    )


def test_comparisons_with_different_series_differ() -> None:
    series = series_of((1.0, 0.5), (1.0, 0.0))
    comparison = Comparison.of("a", "b", series)
    failed = dataclasses.replace(series, failures=("its process ended",))
    other = dataclasses.replace(comparison, series=failed)
    assert other.failures == ("its process ended",)
    assert other.points == comparison.points
    assert other != comparison
    assert comparison == Comparison.of("a", "b", series_of((1.0, 0.5), (1.0, 0.0)))
    assert "series=Series(" in repr(comparison)
    with pytest.raises(dataclasses.FrozenInstanceError):
        comparison.series = failed  # type: ignore[misc]


def test_an_infinite_difference_is_null_in_json() -> None:
    said = Comparison.of("a", "b", series_of((1.0, 1.0), (1.0, 1.0))).to_json()
    assert said["elo_difference"]["estimate"] is None
    assert said["elo_difference"]["high"] is None
    assert said["elo_difference"]["low"] is not None
    json.dumps(said, allow_nan=False)


def test_an_interval_follows_an_increasing_function() -> None:
    assert Interval(0.5, 0.25, 0.75, 0.9).mapped(lambda x: 4 * x) == Interval(2.0, 1.0, 3.0, 0.9)


def test_mcts_is_seeded_and_finds_a_win_in_one() -> None:
    game = pyspiel.load_game("tic_tac_toe")
    state = game.new_initial_state()
    for action in (0, 3, 1, 4):
        state.apply_action(action)
    assert mcts_bot(game, 100, seed=5).step(state) == 2
    trees = [mcts_bot(game, 50, seed).mcts_search(game.new_initial_state()) for seed in (1, 1, 2)]
    counts = [[child.explore_count for child in tree.children] for tree in trees]
    assert counts[0] == counts[1] != counts[2]
    assert trees[0].explore_count == 50


def test_mcts_needs_a_simulation() -> None:
    with pytest.raises(ConfigError, match="simulations of MCTS must be at least 1, got 0"):
        mcts_bot(pyspiel.load_game("tic_tac_toe"), 0, seed=0)
