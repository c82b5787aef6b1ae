"""Outcomes: Definition 21 as a law, values calculated by hand, and the default of every game."""

from __future__ import annotations

import functools
import json
import random
import re

import pyspiel
import pytest
from fake_game import FakeGame, first, second
from hypothesis import given, settings
from hypothesis import strategies as st

from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.games import load_game
from athenan_spiel.games import score as score_of
from athenan_spiel.games.measures import MEASURES
from athenan_spiel.games.playout import playout
from athenan_spiel.outcomes import (
    SAMPLE_MATCHES,
    AdditiveDepth,
    Gain,
    MultiplicativeDepth,
    Outcome,
    Presence,
    Sample,
    Score,
    gain,
    make_outcome,
    outcome_from_parameters,
    outcomes_for,
    sample_matches,
)
from athenan_spiel.outcomes.registry import BUILT_IN

MARGIN = "dots_and_boxes(num_rows=2,num_cols=2,utility_margin=true)"


def play(spec: str, *actions: int) -> pyspiel.State:
    """The state after `actions`."""
    state = pyspiel.load_game(spec).new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def random_end(spec: str, rng: random.Random) -> pyspiel.State:
    state = pyspiel.load_game(spec).new_initial_state()
    while not state.is_terminal():
        state.apply_action(rng.choice(state.legal_actions()))
    return state


# Definition 21

LAW_GAMES = [
    "tic_tac_toe",
    "connect_four(rows=4,columns=4)",
    "hex(board_size=3)",
    "breakthrough(rows=6,columns=3)",
    MARGIN,
]


@functools.cache
def ends(spec: str) -> list[pyspiel.State]:
    """Returns terminal states of random games, with every possible result among them."""
    rng = random.Random(spec)
    return [random_end(spec, rng) for _ in range(80)]


OUTCOMES: st.SearchStrategy[Outcome] = st.one_of(
    st.just(Gain()),
    st.builds(AdditiveDepth, longest=st.integers(1, 60), exact=st.booleans()),
    st.builds(MultiplicativeDepth, mean=st.floats(0.5, 1000)),
    st.builds(Score, scale=st.floats(1, 100)),
)


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(LAW_GAMES), st.integers(0, 79), st.integers(0, 79), OUTCOMES)
def test_definition_21_the_order_of_the_gain_is_kept(spec: str, i: int, j: int, outcome: Outcome) -> None:
    """Holds for any two ends and any constants, also for estimates smaller than the real length."""
    one, other = ends(spec)[i], ends(spec)[j]
    assert (outcome(one) < outcome(other)) or gain(one) >= gain(other)
    assert (outcome(one) == 0) == (gain(one) == 0), "a draw, and nothing else, is worth 0"
    assert outcome(one) * gain(one) >= 0, "the second player's wins are negative"


@pytest.mark.parametrize("spec", LAW_GAMES)
def test_the_law_is_tested_on_every_result(spec: str) -> None:
    drawn = {"tic_tac_toe", "connect_four(rows=4,columns=4)", MARGIN}
    assert {gain(end) for end in ends(spec)} == ({-1, 0, 1} if spec in drawn else {-1, 1})


EVERYWHERE = [(game, name) for game in MEASURES for name in outcomes_for(game) if name != "gain"]


@functools.cache
def sample_of(spec: str) -> Sample:
    return sample_matches(pyspiel.load_game(spec), random.Random(7), 12)


@pytest.mark.parametrize(("spec", "name"), EVERYWHERE)
def test_definition_21_in_every_game_that_has_the_outcome(spec: str, name: str) -> None:
    outcome = BUILT_IN[name].for_game(pyspiel.load_game(spec), sample_of(spec))
    worths = [(gain(end), outcome(end)) for end in sample_of(spec).ends]
    assert all((worth > 0) - (worth < 0) == won for won, worth in worths), worths
    assert max(abs(worth) for _, worth in worths) <= outcome.scale or max(won for won, _ in worths) == 0


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(LAW_GAMES), st.integers(0, 79), st.integers(0, 79), st.integers(1, 60), st.floats(0.5, 1000))
def test_quick_wins_and_late_losses_have_larger_values(spec: str, i: int, j: int, estimate: int, mean: float) -> None:
    soon, late = sorted((ends(spec)[i], ends(spec)[j]), key=lambda end: end.move_number())
    if gain(soon) != gain(late) or soon.move_number() == late.move_number():
        return
    exact = AdditiveDepth(longest=pyspiel.load_game(spec).max_game_length(), exact=True)
    estimated = AdditiveDepth(longest=estimate, exact=False)
    multiplicative = MultiplicativeDepth(mean=mean)
    sign = gain(soon)
    assert sign * (exact(soon) - exact(late)) == abs(sign) * (late.move_number() - soon.move_number())
    assert sign * (multiplicative(soon) - multiplicative(late)) >= 0
    assert (sign == 0) == (multiplicative(soon) == multiplicative(late))
    assert sign * (estimated(soon) - estimated(late)) >= 0


# Worked by hand

COLUMN_WIN = play("connect_four", 0, 1, 0, 1, 0, 1, 0)  # the first player's fourth in column 0 is the 7th of 42 actions
COLUMN_LOSS = play("connect_four", 0, 1, 0, 1, 0, 1, 2, 1)  # the second player's fourth in column 1 is the 8th
DRAW = play("tic_tac_toe", 0, 1, 2, 4, 3, 5, 7, 6, 8)


@pytest.mark.parametrize(
    ("outcome", "win", "loss"),
    [
        (Gain(), 1, -1),
        (AdditiveDepth(longest=42, exact=True), 42 - 7 + 1, -(42 - 8 + 1)),
        (AdditiveDepth(longest=10, exact=False), 10 - 7, -(10 - 8)),
        (AdditiveDepth(longest=8, exact=False), 1, -1),
        (AdditiveDepth(longest=5, exact=False), 1, -1),
        (AdditiveDepth(longest=5, exact=True), 1, -1),  # a bound of the game that is wrong
        (MultiplicativeDepth(mean=10.5), 1.5, -1.3125),
        (Score(), 1, -1),
    ],
    ids=repr,
)
def test_values_by_hand(outcome: Outcome, win: float, loss: float) -> None:
    assert (outcome(COLUMN_WIN), outcome(COLUMN_LOSS), outcome(DRAW)) == (win, loss, 0)
    assert all(type(outcome(end)) is float for end in (COLUMN_WIN, COLUMN_LOSS, DRAW))


@pytest.mark.parametrize("seed", range(5))
def test_additive_depth_of_hex_is_the_number_of_empty_cells_plus_one(seed: int) -> None:
    """Section 6.2.2."""
    outcome = make_outcome("additive_depth", pyspiel.load_game("hex(board_size=4)"), random.Random(0))
    end = random_end("hex(board_size=4)", random.Random(seed))
    assert outcome(end) == end.player_return(0) * (str(end).count(".") + 1)


@pytest.mark.parametrize("seed", range(5))
def test_score_is_the_margin(seed: int) -> None:
    outcome = make_outcome("score", pyspiel.load_game(MARGIN), random.Random(0))
    end = random_end(MARGIN, random.Random(seed))
    assert outcome(end) == str(end).count("1") - str(end).count("2")
    assert outcome == Score(counted=True, scale=4.0)


def test_the_largest_absolute_value_may_be_a_loss() -> None:
    game = FakeGame(first(0, A=3, B=second(0, C=-5, D=1)))
    assert Score().scaled(sample_matches(game, random.Random(0))) == Score(scale=5.0)


GO = "go(board_size=4,komi=2.5)"


def test_score_and_presence_by_hand() -> None:
    """Black's two stones own 16 points, less the komi of 2.5. A game without moves is White's by the komi."""
    a, b, passes = 5, 6, 16
    black, nobody = play(GO, a, passes, b, passes, passes), play(GO, passes, passes)
    white = play(GO, passes, a, passes, b, passes, passes)
    score, presence = Score(counted=True), Presence()
    assert (score(white), presence(white)) == (-18.5, -2)
    assert (score(black), presence(black)) == (13.5, 2)
    assert (score(nobody), presence(nobody)) == (-2.5, -1)
    assert type(score(black)) is type(presence(black)) is float


def test_presence_is_at_least_one_for_a_winner_with_fewer_pieces() -> None:
    """A white stone more on the board, and Black's win by area: komi is negative."""
    spec = "go(board_size=4,komi=-20.5)"
    end = play(spec, 16, 5, 16, 16)
    assert gain(end) == 1
    assert Presence()(end) == 1
    assert Score(counted=True)(end) == 20.5 - 16
    cleared = play("breakthrough(rows=4,columns=2)", 12, 80, 28, 58, 5, 90, 37)  # two pawns are left, both Black's
    assert (gain(cleared), Presence()(cleared)) == (1, 2)


def test_a_repetition_in_go_is_a_draw_whatever_the_score() -> None:
    rng = random.Random(0)
    draws = [end for end in (random_end("go(board_size=3,komi=0.5)", rng) for _ in range(400)) if not gain(end)]
    assert draws
    assert any(len(set(score_of(end))) == 2 for end in draws)
    assert {outcome(end) for end in draws for outcome in (Score(counted=True), Presence())} == {0.0}


def test_a_win_without_a_margin_is_half_a_point() -> None:
    rng = random.Random(0)
    ends_ = [random_end("amazons(board_size=6)", rng) for _ in range(40)]
    assert [end for end in ends_ if score_of(end) == (0, 0)]
    for end in ends_:
        first, second = score_of(end)
        assert Score(counted=True)(end) == (first - second or 0.5 * gain(end))
        assert (first - second) * gain(end) >= 0


@pytest.mark.parametrize("name", ["gain", "additive_depth", "multiplicative_depth", "mobility", "presence"])
def test_one_player_has_only_the_score(name: str) -> None:
    game = pyspiel.load_game("morpion_solitaire")
    with pytest.raises(ConfigError, match=rf"must be 'score' in a game for one player such as .*, got '{name}'"):
        make_outcome(name, game, random.Random(0))


def test_the_score_of_one_player_is_the_sum_of_the_rewards_and_nobody_wins() -> None:
    game = pyspiel.load_game("morpion_solitaire")
    outcome = make_outcome("score", game, random.Random(0))
    sample = sample_matches(game, random.Random(0))
    for end in sample.ends:
        assert outcome(end) == len(end.history()) == end.returns()[0] > 0
        assert gain(end) == Gain()(end) == 0
    assert outcome == Score(scale=max(sample.lengths))


# What is chosen

# P where the rules' bound is taken, None where it is far from any match and the length is estimated.
BOUNDS: dict[str, int | None] = {
    "amazons": 300,
    "antichess": None,
    "breakthrough": 209,
    "checkers": None,
    "chess": None,
    "chinese_checkers": None,
    "clobber": 29,
    "connect_four": 42,
    "crazyhouse": None,
    "cursor_go": None,
    "dots_and_boxes": 12,
    "go": 722,
    "gomoku": 225,
    "havannah": 169,
    "hex": 121,
    "hive": 500,
    "lines_of_action": None,
    "mancala": None,
    "mnk": 225,
    "nim": 16,
    "nine_mens_morris": 214,
    "othello": 128,
    "oware": None,
    "pentago": 36,
    "quoridor": 324,
    "shogi": None,
    "tic_tac_toe": 9,
    "twixt": 61,
    "ultimate_tic_tac_toe": 162,
    "xiangqi": 500,
    "y": 190,
}


@pytest.mark.parametrize("spec", BOUNDS)
def test_a_loose_bound_is_replaced_by_an_estimate(spec: str) -> None:
    game = pyspiel.load_game(spec)
    outcome = make_outcome("additive_depth", game, random.Random(0))
    if (bound := BOUNDS[spec]) is not None:
        assert (outcome.parameters["longest"], outcome.parameters["exact"]) == (bound, True)
        assert game.max_game_length() == bound
    else:
        lengths = sample_matches(game, random.Random(0)).lengths
        assert (outcome.parameters["longest"], outcome.parameters["exact"]) == (max(lengths), False)
        assert len(lengths) == SAMPLE_MATCHES
        assert 2.5 * max(lengths) < game.max_game_length()


def test_a_swap_counts_in_the_length_of_a_game() -> None:
    """A win on the last of five plies has the smallest value, 1; each ply sooner adds 1."""
    game = load_game("hex(board_size=2,swap=True)")
    outcome = make_outcome("additive_depth", game, random.Random(0))
    assert outcome.parameters["longest"] == 5
    rng = random.Random(1)
    ends = [playout(game.new_initial_state(), rng.choice) for _ in range(200)]
    worths = {(end.move_number(), abs(outcome(end))) for end in ends}
    assert worths == {(3, 3.0), (4, 2.0), (5, 1.0)}


def test_a_value_may_exceed_the_scale() -> None:
    """The scale is the largest absolute value in 32 random games. Sooner wins may exceed it; it clips nothing."""
    game = load_game("clobber(rows=4,columns=4)")
    outcome = make_outcome("additive_depth", game, random.Random(0))
    rng = random.Random(1)
    most = max(abs(outcome(playout(game.new_initial_state(), rng.choice))) for _ in range(2000))
    assert most > outcome.scale


def test_multiplicative_depth_uses_the_mean_length_of_random_games() -> None:
    game = pyspiel.load_game("tic_tac_toe")
    lengths = sample_matches(game, random.Random(5)).lengths
    assert make_outcome("multiplicative_depth", game, random.Random(5)).parameters == {
        "mean": sum(lengths) / 32,
        "scale": sum(lengths) / 32 / 5,  # some of them end as soon as they can
    }
    assert 7 < sum(lengths) / 32 < 8.5, "random Tic-Tac-Toe lasts 7.6 plies on average"


@pytest.mark.parametrize("spec", ["tic_tac_toe", "hex(board_size=3)", "chess"])
@pytest.mark.parametrize("name", ["score", "presence"])
def test_an_outcome_without_a_count_is_refused(spec: str, name: str) -> None:
    game = pyspiel.load_game(spec)
    if (name, spec) == ("presence", "chess"):
        assert make_outcome(name, game, random.Random(0)).scale > 1
        return
    with pytest.raises(ConfigError, match=rf"^outcome '{name}' needs a game with") as error:
        make_outcome(name, game, random.Random(0))
    assert f"{str(game)!r} has none" in str(error.value)
    assert "games with one: " in str(error.value)
    assert "othello" in str(error.value)
    assert str(error.value).endswith("use 'additive_depth'")
    assert "\n" not in str(error.value)


def test_an_unknown_name_is_refused_with_suggestions() -> None:
    known = "gain, additive_depth, multiplicative_depth, score, mobility, presence"
    game = pyspiel.load_game("tic_tac_toe")
    with pytest.raises(ConfigError, match=f"one of {known}, or \"module:name\" for a custom outcome, got 'xyz'$"):
        make_outcome("xyz", game, random.Random(0))
    with pytest.raises(ConfigError, match=r"got 'mobilty': did you mean 'mobility'\?$"):
        make_outcome("mobilty", game, random.Random(0))


NAMES: list[str] = ["gain", "additive_depth", "multiplicative_depth", "score", "mobility"]


@pytest.mark.parametrize("name", NAMES)
def test_parameters_come_back_through_json(name: str) -> None:
    outcome = make_outcome(name, pyspiel.load_game(MARGIN), random.Random(0))
    again = outcome_from_parameters(name, json.loads(json.dumps(outcome.parameters)))
    assert (again, again.name, again.scale) == (outcome, name, outcome.scale)
    assert [again(end) for end in ends(MARGIN)] == [outcome(end) for end in ends(MARGIN)]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("gain", {"longest": 9}),
        ("additive_depth", {"longest": 9}),
        ("additive_depth", {"longest": 9, "exact": True, "mean": 3.0}),
        ("multiplicative_depth", {}),
        ("additive_depth", {"longest": "x", "exact": True, "scale": 1.0}),
        ("additive_depth", {"longest": [9], "exact": True, "scale": 1.0}),
        ("mobility", {"scale": 1.0, "_counter": 1.0}),
        ("gain", None),
    ],
)
def test_foreign_parameters_are_refused(name: str, parameters: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=f"the parameters of outcome '{name}', got {re.escape(shown(parameters))}"):
        outcome_from_parameters(name, parameters)


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        *((name, MARGIN) for name in NAMES),
        *((name, "othello") for name in [*NAMES, "presence"]),
        *((name, "hex(board_size=11)") for name in NAMES if name != "score"),
    ],
)
def test_the_scale_has_the_size_of_large_values(name: str, spec: str) -> None:
    """The scale neither amplifies errors nor makes targets small compared with the L2 penalty."""
    outcome = make_outcome(name, pyspiel.load_game(spec), random.Random(0))
    worths = [abs(outcome(random_end(spec, random.Random(seed)))) for seed in range(40)]
    assert 0.5 * max(worths) <= outcome.scale <= 2 * max(worths)


def test_estimates_depend_only_on_the_generator() -> None:
    game = pyspiel.load_game("breakthrough(rows=6,columns=6)")
    one, same, other = (make_outcome("multiplicative_depth", game, random.Random(seed)) for seed in (1, 1, 2))
    assert one == same != other
