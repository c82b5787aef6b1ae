"""Facts about single games: one row per supported game, with correct lengths."""

from __future__ import annotations

import itertools
import random
import re
import types
from collections import Counter, defaultdict
from collections.abc import Hashable
from typing import Any

import numpy as np
import pyspiel
import pytest

from athenan_spiel.encoding import Encoder
from athenan_spiel.errors import UnsupportedGameError
from athenan_spiel.games import given_game, load_game, supported_games
from athenan_spiel.games.chance import is_chance, outcomes_of
from athenan_spiel.games.facts import FACTS, facts_of, longest_match, side_name
from athenan_spiel.games.playout import is_cut, playout, random_moves
from athenan_spiel.games.transpositions import end_function


def test_every_supported_game_has_a_row_in_order() -> None:
    native = [info.short_name for info in supported_games() if not info.short_name.startswith("python_")]
    assert list(FACTS) == sorted(native)


def test_other_games_have_no_facts() -> None:
    facts = facts_of("kuhn_poker")
    assert (facts.transposition, facts.score, facts.pieces, facts.marks, facts.note) == (None, None, None, None, "")
    game = pyspiel.load_game("leduc_poker")
    assert longest_match(game) == game.max_game_length() + game.max_chance_nodes_in_history()


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


CHANCES = [
    "backgammon(hyper_backgammon=True)",
    "banqi",
    "catch",
    "einstein_wurfelt_nicht",
    "maedn",
    "pig(winscore=12)",
    "yacht(num_dice=2,dice_sides=3)",
]
"""Not 2048, whose tiles may have been merged by the last move, nor Stones and Gems, whose stones may be falling."""


@pytest.mark.parametrize("spec", CHANCES)
def test_the_network_input_determines_the_distribution_of_the_next(spec: str) -> None:
    game = load_game(spec)
    encoder, rng = Encoder(game), random.Random(0)
    seen: dict[bytes, tuple[object, list[int]]] = {}
    compared = 0
    for _ in range(150):
        state = game.new_initial_state()
        for actions in itertools.islice(random_moves(state, lambda options: rng.choice(options[:2])), 40):
            if len(actions) > 36:
                continue  # the set-up of EinStein würfelt nicht!
            children = encoder.encode([state.child(action) for action in actions])
            rows = [row.tobytes() for row in children]
            if is_chance(state):
                following: Counter[bytes] = Counter()
                for row, probability in zip(rows, outcomes_of(state)[1], strict=True):
                    following[row] += round(probability * 1e9)
                future: object = following
            else:
                future = set(rows)
            other, history = seen.setdefault(encoder.encode([state]).tobytes(), (future, state.history()))
            assert other == future, f"{history} and {state.history()}"
            compared += history != state.history()
    assert compared > 20


@pytest.mark.parametrize("name", [name for name, facts in FACTS.items() if facts.last_mover is not None])
def test_the_last_mover_is_that_of_the_history(name: str) -> None:
    game, rng, last_mover = load_game(name), random.Random(1), FACTS[name].last_mover
    assert last_mover is not None
    for _ in range(3):
        state = game.new_initial_state()
        for _ in random_moves(state, rng.choice):
            if is_chance(state):
                players = [past.player for past in state.full_history() if past.player >= 0]
                assert last_mover(state) == (players[-1] if players else 0)


def test_the_dice_of_backgammon_and_the_half_of_a_double_are_observed() -> None:
    game, rng = load_game("backgammon"), random.Random(2)
    encoder, doubles = Encoder(game), 0
    for _ in range(5):
        state = game.new_initial_state()
        for _ in random_moves(state, rng.choice):
            dice, second_half = np.split(encoder.encode([state])[0, 198:205], [6])
            printed = re.search(r"Dice: (\d*)", str(state))
            assert printed is not None
            assert [int(x) for x in dice] == [printed[1].count(face) for face in "123456"]
            assert second_half == ("Extra turn: 1" in str(state))
            doubles += int(second_half[0])
    assert doubles > 10


def test_the_cubes_that_a_roll_allows_are_observed() -> None:
    game, rng = load_game("einstein_wurfelt_nicht"), random.Random(0)
    encoder, state = Encoder(game), game.new_initial_state()
    for actions in random_moves(state, rng.choice):
        planes = encoder.encode([state])[0]
        board = [re.findall("..", row.replace("|", "")) for row in str(state).splitlines()]
        for cube in range(12):
            mark = f"{'bw'[cube % 2]}{cube // 2 + 1}"
            assert planes[cube].tolist() == [[x == mark for x in row] for row in board]
        can = {board[r][c] for r, c in np.argwhere(planes[12])}
        names = [] if is_chance(state) else [state.action_to_string(action) for action in actions]
        assert can == {name[:2].lower() for name in names}


def stones_and_gems(element: str) -> pyspiel.Game:
    """Return the game on a board with this element in the middle, away from the agent."""
    rows = [["19"] * 9, *(["19", *["01"] * 7, "19"] for _ in range(5)), ["19"] * 9]
    rows[1][1:3], rows[2][1:3], rows[3][4], rows[5][7] = ["00", "19"], ["19", "19"], element, "07"
    grid = "\n".join(["9|7|40|1", *("|".join(row) for row in rows)])
    return pyspiel.load_game("stones_and_gems", {"grid": grid, "rng_seed": 1})


@pytest.mark.parametrize(
    ("element", "fault"), [("23", "remove element 23"), ("43", "the elements 42 to 45"), ("05", "")]
)
def test_a_grid_with_random_elements_is_refused(element: str, fault: str) -> None:
    game = stones_and_gems(element)
    if not fault:
        assert playout(given_game(game).new_initial_state(), random.Random(0).choice).is_terminal()
        return
    for wrong in (game, str(game), str(game).replace(f"|{element}|", f"| 0{element}|")):
        with pytest.raises(UnsupportedGameError, match=fault):
            given_game(wrong)


def test_openspiel_cannot_repeat_a_turn_of_an_orange() -> None:
    """The reason for refusing them; once this fails, `rng_seed` may work."""
    ends = set()
    for _ in range(2):
        game = stones_and_gems("43")
        for _ in range(10):
            state = game.new_initial_state()
            for _ in range(8):
                state.apply_action(0)
            ends.add(state.serialize())
    assert len(ends) > 1


@pytest.mark.parametrize(
    ("spec", "cut"),
    [("backgammon(max_player_turns=3)", True), ("pig(horizon=5)", True), ("backgammon", False), ("pig", False)],
)
def test_a_limit_of_turns_cuts_a_game_with_chance(spec: str, cut: bool) -> None:
    game = load_game(spec)
    assert is_cut(playout(game.new_initial_state(), random.Random(0).choice)) == cut


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("chess", ["Black", "White"]),
        ("clobber", ["White", "Black"]),
        ("connect_four", ["Red", "Yellow"]),
        ("tic_tac_toe", ["x", "o"]),
        ("xiangqi", ["Red", "Black"]),
        ("quoridor(players=3)", ["Black", "White", "Red"]),
        ("nim", ["player 0", "player 1"]),
        ("misere(game=tic_tac_toe())", ["player 0", "player 1"]),
        ("morpion_solitaire", ["player 0"]),
    ],
)
def test_sides_have_names(spec: str, names: list[str]) -> None:
    game = load_game(spec)
    assert [side_name(game, player) for player in range(game.num_players())] == names


def sided(*sides: tuple[str, tuple[int, int, int]]) -> Any:
    """A game in Python that describes its sides."""
    kind = types.SimpleNamespace(short_name="own")
    return types.SimpleNamespace(sides=lambda: sides, num_players=lambda: len(sides), get_type=lambda: kind)


@pytest.mark.parametrize(
    ("sides", "names"),
    [
        ([("", (250, 250, 250)), ("", (50, 50, 50))], ["White", "Black"]),
        ([("", (255, 0, 0)), ("", (0, 127, 255))], ["Red", "Blue"]),
        ([("", (150, 150, 150)), ("", (255, 255, 255))], ["Black", "White"]),
        ([("", (0, 0, 190)), ("", (190, 0, 190)), ("", (0, 190, 190))], ["Blue", "Violet", "Green"]),
        ([(" Order ", (250, 250, 250)), ("Chaos", (50, 50, 50))], ["Order", "Chaos"]),
        ([("<b>x</b>", (255, 0, 0)), ("[red]", (0, 0, 255))], ["Red", "Blue"]),
        ([("a" * 21, (255, 0, 0)), ("\u202eevil", (0, 0, 255))], ["Red", "Blue"]),
        ([("Same", (255, 0, 0)), ("same", (0, 0, 255)), ("player 0", (0, 255, 0))], ["player 0", "player 1", "Green"]),
        ([("Blue", (255, 0, 0)), ("", (0, 0, 255))], ["player 0", "player 1"]),
        ([("One", (255, 0, 0))], ["player 0"]),
    ],
)
def test_a_game_describes_its_sides(sides: list[tuple[str, tuple[int, int, int]]], names: list[str]) -> None:
    game = sided(*sides)
    assert [side_name(game, player) for player in range(len(sides))] == names


def test_more_sides_than_colours_are_numbered_where_they_share_one() -> None:
    game = sided(*[("", (190, 0, 0))] * 8)
    names = [side_name(game, player) for player in range(8)]
    assert (names[0], names[7]) == ("player 0", "player 7")
    assert len(set(names)) == 8


@pytest.mark.parametrize(
    ("name", "mover"),
    [
        ("antichess", r" (\w) "),
        ("chess", r" (\w) "),
        ("crazyhouse", r" (\w) "),
        ("go", r"to_play=(\w)"),
        ("gomoku", r"^(\w)"),
        ("hive", r";(\w+)\["),
        ("othello", r"(\w+) \(x\) to play"),
        ("shogi", r" (\w) "),
    ],
)
def test_the_name_of_the_first_mover_is_that_of_the_printed_state(name: str, mover: str) -> None:
    state = load_game(name).new_initial_state()
    found = re.search(mover, str(state))
    assert found is not None
    assert side_name(state.get_game(), state.current_player()).lower().startswith(found[1].lower())
