"""Facts about single games: one row per supported game, with correct lengths."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Hashable

import pyspiel
import pytest

from athenan_spiel.encoding import Encoder
from athenan_spiel.games import load_game, supported_games
from athenan_spiel.games.facts import FACTS, facts_of, longest_match
from athenan_spiel.games.playout import playout
from athenan_spiel.games.transpositions import end_function


def test_every_supported_game_has_a_row_in_order() -> None:
    native = [info.short_name for info in supported_games() if not info.short_name.startswith("python_")]
    assert list(FACTS) == sorted(native)


def test_other_games_have_no_facts() -> None:
    facts = facts_of("backgammon")
    assert (facts.transposition, facts.score, facts.pieces, facts.marks, facts.note) == (None, None, None, None, "")
    assert longest_match(pyspiel.load_game("backgammon")) == pyspiel.load_game("backgammon").max_game_length()


@pytest.mark.parametrize(
    ("spec", "longest", "said"),
    [
        ("hex(board_size=2,swap=True)", 5, 4),
        ("hex(board_size=2)", 4, 4),
        ("dots_and_boxes(num_rows=2,num_cols=1)", 7, 6),
        ("dots_and_boxes(num_rows=1,num_cols=2)", 7, 8),
        ("dots_and_boxes", 12, 12),
        ("go(board_size=2,max_game_length=1)", 2, 1),
    ],
)
def test_the_maximum_length_follows_the_rules(spec: str, longest: int, said: int) -> None:
    game = load_game(spec)
    assert (longest_match(game), game.max_game_length()) == (longest, said)
    rng = random.Random(0)
    lengths = {playout(game.new_initial_state(), rng.choice).move_number() for _ in range(300)}
    assert max(lengths) == longest


@pytest.mark.parametrize(
    "spec",
    [
        "hex(board_size=3)",
        "hex(board_size=3,swap=True)",
        "hex(board_size=3,plain_obs_tensor=True)",
        "dots_and_boxes(num_rows=2,num_cols=1)",
        "havannah(board_size=2)",
        "y(board_size=3)",
        "gomoku(size=4,connect=3)",
        "twixt",
        "tic_tac_toe",
        "breakthrough(rows=4,columns=3)",
        "clobber(rows=3,columns=3)",
        "connect_four(rows=3,columns=4,x_in_row=3)",
    ],
)
def test_ends_have_equal_keys_iff_their_inputs_are_equal(spec: str) -> None:
    game = load_game(spec)
    encoder, end_key, rng = Encoder(game), end_function(game), random.Random(0)
    seen: defaultdict[Hashable, set[bytes]] = defaultdict(set)
    keys: defaultdict[bytes, set[Hashable]] = defaultdict(set)
    for _ in range(400):
        end = playout(game.new_initial_state(), rng.choice)
        row = encoder.encode([end]).tobytes()
        seen[end_key(end)].add(row)
        keys[row].add(end_key(end))
    assert max(map(len, seen.values())) == 1
    assert max(map(len, keys.values())) == 1
