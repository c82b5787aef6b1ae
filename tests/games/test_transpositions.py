"""Transposition keys: histories with equal keys have equal futures; `str(state)` alone would merge too much."""

from __future__ import annotations

import random
import re
from collections.abc import Hashable, Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pyspiel
import pytest

from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.games import load_game, supported_games
from athenan_spiel.games.chance import CHANCE, is_chance
from athenan_spiel.games.facts import facts_of
from athenan_spiel.games.transpositions import TRANSPOSITIONS, Key, key_function

PAIRS = 100
"""Number of pairs of different histories with equal keys to find and compare for each game."""
MATCHES = 3000
"""Maximum number of random games in the search for pairs."""
LONGEST = 40
"""Maximum number of actions of a history, and of its continuation."""
LATE = 150
"""The same for rules that apply late: draws by length and by moves without capture."""
GROUP = 25
"""Number of consecutive random games with many actions, or with few."""
SWAPS = 6
"""Number of histories made from each random one by exchanging two turns of a player."""

MERGED = [
    "2048",
    "amazons(board_size=6)",
    "antichess",
    "backgammon(hyper_backgammon=True)",
    "banqi",
    "breakthrough(rows=5,columns=4)",
    "catch",
    "checkers(rows=8,columns=4)",
    "chess",
    "chinese_checkers",
    "cliff_walking",
    "clobber(rows=3,columns=4)",
    "connect_four",
    "dots_and_boxes",
    "einstein_wurfelt_nicht",
    "gomoku(size=5)",
    "havannah(board_size=3)",
    "hex(board_size=4)",
    "lines_of_action",
    "maedn",
    "mancala",
    "mnk(m=4,n=3,k=3)",
    "morpion_solitaire",
    "nim",
    "nine_mens_morris",
    "othello",
    "pentago",
    "pig(winscore=20)",
    "quoridor(board_size=3)",
    "stones_and_gems",
    "tic_tac_toe",
    "twixt",
    "ultimate_tic_tac_toe",
    "xiangqi",
    "y(board_size=4)",
    "yacht(num_dice=2,dice_sides=3)",
]
VARIANTS = [
    "2048(max_tile=32)",
    "backgammon",
    "backgammon(max_player_turns=6,scoring_type=full_scoring)",
    "banqi(max_no_progress=3)",
    "checkers(rows=10,columns=8,egocentric=True)",
    "chinese_checkers(max_moves=8)",
    "connect_four(rows=4,columns=4,x_in_row=3,egocentric_obs_tensor=True)",
    "dots_and_boxes(num_rows=1,num_cols=4,utility_margin=True)",
    "gomoku(size=4,connect=3,wrap=True,anti=True)",
    "gomoku(size=3,dims=3,connect=3)",
    "havannah(board_size=2,swap=True,ansi_color_output=True)",
    "hex(board_size=3,swap=True,string_rep=explicit)",
    "hex(num_cols=3,num_rows=4)",
    "lines_of_action(max_game_length=30)",
    "nim(pile_sizes=3;3;2,is_misere=False)",
    "pentago(ansi_color_output=True)",
    "pig(horizon=9,piglet=True)",
    "pig(horizon=30,winscore=10,diceoutcomes=3)",
    "quoridor(board_size=3,wall_count=3,ansi_color_output=True)",
    "y(board_size=3,ansi_color_output=True)",
    "yacht(num_dice=3,dice_sides=2,sort_dice=True,rolls_per_turn=2)",
]


def actions_of(state: pyspiel.State, moves: str | Sequence[int]) -> list[int]:
    """Returns the actions of a line, given by number or in the game's notation."""
    state = state.clone()
    actions = []
    for move in moves.split() if isinstance(moves, str) else moves:
        actions.append(state.string_to_action(move) if isinstance(move, str) else move)
        state.apply_action(actions[-1])
    return actions


def after(game: pyspiel.Game, *lines: str | Sequence[int]) -> pyspiel.State:
    """Returns the state after the concatenated lines."""
    state = game.new_initial_state()
    for line in lines:
        for action in actions_of(state, line):
            state.apply_action(action)
    return state


def sight(state: pyspiel.State) -> tuple[Any, ...]:
    """Returns what must be equal for two states with equal keys."""
    name = state.get_game().get_type().short_name
    own = facts_of(name).observation is not None
    seen = encoder_of(str(state.get_game())).encode([state]).tobytes() if own else state.observation_tensor(0)
    chances = state.chance_outcomes() if is_chance(state) else []
    return state.current_player(), state.legal_actions(), chances, state.returns(), seen


@cache
def encoder_of(spec: str) -> Encoder:
    return Encoder(load_game(spec))


def turns(game: pyspiel.Game, history: Sequence[int]) -> list[list[int]]:
    """Returns the history, split where the mover changes; a roll belongs to the move after it."""
    state, movers = game.new_initial_state(), []
    for action in history:
        movers.append(state.current_player())
        state.apply_action(action)
    for i in range(len(movers) - 2, -1, -1):
        if movers[i] == CHANCE:
            movers[i] = movers[i + 1]
    moves = zip(movers, history, strict=True)
    return [[action for _, action in turn] for _, turn in groupby(moves, key=lambda move: move[0])]


def histories(game: pyspiel.Game, rng: random.Random, longest: int = LONGEST) -> Iterator[list[int]]:
    """Random histories, each followed by some that exchange two turns of a player in it; these may be illegal.

    Every second group of matches plays only few actions, the same ones, so that histories often meet again.
    """
    rank: dict[int, float] = {}
    for match in range(MATCHES):
        if match % GROUP == 0:
            rank.clear()
            few = 3 if match // GROUP % 2 else None
        state = game.new_initial_state()
        length = rng.randint(2, longest)
        while not state.is_terminal() and state.move_number() < length:
            actions = state.legal_actions()
            if few:
                actions.sort(key=lambda action: rank.setdefault(action, rng.random()))
            state.apply_action(rng.choice(actions[:few]))
        yield state.history()
        parts = turns(game, state.history())
        for _ in range(SWAPS if len(parts) > 2 else 0):
            first = rng.randrange(len(parts) - 2)
            second = rng.choice(range(first + 2, min(first + 7, len(parts)), 2))
            exchanged = list(parts)
            exchanged[first], exchanged[second] = parts[second], parts[first]
            yield [action for part in exchanged for action in part]


def pairs(
    game: pyspiel.Game, key: Key, rng: random.Random, longest: int = LONGEST
) -> Iterator[tuple[pyspiel.State, pyspiel.State]]:
    """Pairs of unfinished states with equal keys where histories come together, that is with unequal keys before."""
    seen: dict[Hashable, tuple[pyspiel.State, Hashable]] = {}
    given: set[tuple[int, ...]] = set()
    for history in histories(game, rng, longest):
        state, before = game.new_initial_state(), None
        for action in history:
            if action not in state.legal_actions():
                break
            state.apply_action(action)
            if state.is_terminal():
                break
            now = key(state)
            other, before_other = seen.setdefault(now, (state.clone(), before))
            played = tuple(state.history())
            if before != before_other and played not in given:
                given.add(played)
                yield other.clone(), state.clone()
            before = now


def assert_one_future(first: pyspiel.State, second: pyspiel.State, rng: random.Random, longest: int) -> None:
    """Asserts that two states are equal, and stay equal whatever is played."""
    before = first.history(), second.history()
    for _ in range(longest):
        assert sight(first) == sight(second), f"{before} and {first.history()}"
        if first.is_terminal():
            return
        action = rng.choice(first.legal_actions())
        first.apply_action(action)
        second.apply_action(action)


def compare(spec: str, *, ply: bool, wanted: int = PAIRS, longest: int = LONGEST) -> None:
    """Finds `wanted` pairs of `spec` and compares each."""
    game, rng, found = load_game(spec), random.Random(spec), 0
    for first, second in pairs(game, key_function(game, ply=ply), rng, longest):
        assert not ply or first.move_number() == second.move_number()
        assert_one_future(first, second, rng, longest)
        found += 1
        if found == wanted:
            return
    pytest.fail(f"only {found} pairs of histories with equal keys in {MATCHES} matches of {spec}")


@pytest.mark.parametrize("spec", MERGED)
def test_histories_with_equal_keys_have_one_future(spec: str) -> None:
    compare(spec, ply=True)


@pytest.mark.parametrize("spec", VARIANTS)
def test_keys_hold_for_parameters_too_and_without_the_ply(spec: str) -> None:
    compare(spec, ply=False)


@pytest.mark.slow(reason="plays 300 long pairs of histories for each game to the end")
@pytest.mark.parametrize("spec", MERGED + VARIANTS)
def test_long_histories_with_equal_keys_have_one_future(spec: str) -> None:
    compare(spec, ply=spec in VARIANTS, wanted=300, longest=LATE)


LIES: list[tuple[str, str | list[int], str | list[int], str | list[int]]] = [
    # game, two histories after which str(state), mover and ply are equal, and what must be played to see a difference
    ("amazons(board_size=6)", [34, 35, 28, 6, 18, 3, 35], [34, 16, 28, 6, 18, 3, 16], []),
    ("antichess", "Nf3 Nf6 Ng1 Ng8", "Nc3 Nc6 Nb1 Nb8", "Nf3"),
    (
        "checkers(rows=8,columns=3)",
        [136, 62, 106, 76, 88, 47, 123, 76, 154, 28, 137],
        [122, 60, 104, 94, 74, 29, 137, 94, 152, 46, 123],
        [],
    ),
    ("chess", "Nf3 Nf6 Ng1 Ng8", "Nc3 Nc6 Nb1 Nb8", "Nf3"),
    ("chinese_checkers(max_moves=8)", [28, 703, 91], [29, 703, 102], []),
    ("crazyhouse", "Nf3 Nf6 Ng1 Ng8", "Nc3 Nc6 Nb1 Nb8", "Nf3"),
    ("cursor_go(board_size=2,max_cursor_moves=4)", [1, 0, 5], [2, 1, 5], [5]),
    ("dots_and_boxes", [6, 1], [1, 6], []),
    ("go(board_size=2)", [4, 0, 3], [3, 0, 4], [4]),
    (
        "lines_of_action",
        [7382, 3156, 146, 2986, 5599, 6258, 812, 2144, 1176, 5432, 7638, 7114, 5622],
        [7382, 3156, 146, 2986, 5599, 6258, 812, 2144, 7638, 5432, 1176, 7114, 5622],
        [4846],
    ),
    (
        "oware(num_houses_per_player=2,num_seeds_per_house=2)",
        [1, 0, 1, 0, 0, 1, 1, 0],
        [1, 0, 1, 1, 0, 1, 1, 0],
        [1, 1],
    ),
    ("shogi", "2h3h 8b7b 3h2h 7b8b", "2h1h 8b9b 1h2h 9b8b", "2h3h"),
]


@pytest.mark.parametrize(("spec", "one", "other", "continuation"), LIES, ids=[lie[0] for lie in LIES])
def test_histories_that_str_would_merge_are_separate(
    spec: str, one: str | list[int], other: str | list[int], continuation: str | list[int]
) -> None:
    game = load_game(spec)
    first, second = after(game, one), after(game, other)
    assert str(first) == str(second)
    assert first.current_player() == second.current_player()
    assert first.move_number() == second.move_number()
    assert sight(after(game, one, continuation)) != sight(after(game, other, continuation))
    assert key_function(game)(first) != key_function(game)(second)


@pytest.mark.parametrize(
    "spec", ["einstein_wurfelt_nicht", "maedn", "pig(horizon=9)", "yacht(num_dice=2,dice_sides=2)"]
)
def test_states_with_chance_that_str_would_merge_are_separate(spec: str) -> None:
    """Finds two states with the same text, mover and ply, one of which has other outcomes, actions or children."""
    game, rng = load_game(spec), random.Random(spec)
    key = key_function(game)
    seen: dict[Hashable, dict[Hashable, set[Hashable]]] = {}
    for _, history in zip(range(400), histories(game, rng, 12), strict=False):
        state = game.new_initial_state()
        for action in history:
            if action not in state.legal_actions():
                break
            state.apply_action(action)
            if state.is_terminal():
                break
            text = (str(state), state.current_player(), state.move_number())
            children = [state.child(action) for action in state.legal_actions()]
            future = repr(state.legal_actions()), tuple((x.current_player(), str(x), *x.returns()) for x in children)
            seen.setdefault(text, {}).setdefault(future, set()).add(key(state))
    told_apart = [futures for futures in seen.values() if len(futures) > 1]
    assert told_apart
    for futures in told_apart:
        assert len(set.union(*futures.values())) == sum(map(len, futures.values()))


def test_chess_merges_once_no_position_can_recur() -> None:
    for name in ("chess", "antichess"):
        game = load_game(name)
        key = key_function(game)
        assert key(after(game, "a3 a6 Nf3 h6 h3")) == key(after(game, "Nf3 h6 h3 a6 a3"))
        assert key(after(game, "a3 a6 Nf3 Nf6")) != key(after(game, "Nf3 a6 a3 Nf6"))


def test_lines_of_action_merges_across_a_capture_only() -> None:
    game = load_game("lines_of_action")
    rng, key = random.Random(0), key_function(game)
    found = [pair for pair, _ in zip(pairs(game, key, rng), range(20), strict=False)]
    assert all(any(action % 2 for action in state.history()) for pair in found for state in pair)


def test_games_that_count_plies_keep_them_in_the_key() -> None:
    counting = [name for name, entry in TRANSPOSITIONS.items() if entry.counts_plies]
    assert counting == ["2048", "cliff_walking", "lines_of_action", "mancala", "quoridor", "xiangqi"]
    for name in counting:
        game = load_game(name)
        state = after(game, next(histories(game, random.Random(name))))
        assert key_function(game, ply=False)(state) == key_function(game)(state)


def test_moving_back_and_forth_is_another_state_if_plies_count() -> None:
    game = load_game("quoridor(board_size=3)")
    steps = [
        a for a in game.new_initial_state().legal_actions() if game.new_initial_state().action_to_string(a) == "a3"
    ]
    there = after(game, steps)
    aside = next(a for a in there.legal_actions() if there.action_to_string(a) == "a1")
    back = after(game, steps, [aside], "b3", "b1")
    start = game.new_initial_state()
    assert (str(back), back.current_player()) == (str(start), start.current_player())
    assert key_function(game, ply=False)(back) != key_function(game, ply=False)(start)


@pytest.mark.parametrize(
    "spec", ["misere(game=tic_tac_toe())", "start_at(history=4;8,game=tic_tac_toe())", "python_tic_tac_toe"]
)
def test_games_outside_the_table_are_not_merged(spec: str) -> None:
    game = load_game(spec)
    key = key_function(game)
    one, other = after(game, [0, 1, 2]), after(game, [2, 1, 0])
    assert str(one) == str(other)
    assert key(one) != key(other)
    assert key(one) == key(after(game, [0, 1, 2])) == (0, 1, 2)


@pytest.mark.parametrize("name", sorted(name for name, entry in TRANSPOSITIONS.items() if not entry.merged))
def test_the_key_without_merging_is_the_history(name: str) -> None:
    game = load_game(name)
    key, rng = key_function(game), random.Random(name)
    keys: dict[Hashable, list[int]] = {}
    for _, history in zip(range(30), histories(game, rng), strict=False):
        state = game.new_initial_state()
        for action in history:
            if action not in state.legal_actions():
                break
            state.apply_action(action)
            assert keys.setdefault(key(state), state.history()) == state.history()


@pytest.mark.parametrize(("name", "move"), [("chess", "Nf3"), ("crazyhouse", "Nf3"), ("shogi", "2h3h")])
def test_a_given_initial_state_is_part_of_the_history(name: str, move: str) -> None:
    game = load_game(name)
    given = game.new_initial_state(str(game.new_initial_state()))
    given.apply_action(given.string_to_action(move))
    assert str(given) == str(after(game, move))
    assert key_function(game)(given) != key_function(game)(after(game, move))


def test_a_finished_state_keeps_its_history() -> None:
    """On a full Hex board the observation marks the last stone, which the text does not."""
    game = load_game("hex(board_size=2)")
    one, other = after(game, [0, 1, 2]), after(game, [2, 1, 0])
    assert one.is_terminal()
    assert str(one) == str(other)
    assert sight(one) != sight(other)
    assert key_function(game)(one) != key_function(game)(other)


def test_the_table_has_the_supported_games() -> None:
    native = {info.short_name for info in supported_games() if not info.short_name.startswith("python_")}
    assert set(TRANSPOSITIONS) == native
    merged = {name for name, entry in TRANSPOSITIONS.items() if entry.merged}
    assert {spec.partition("(")[0] for spec in MERGED} == merged


def test_the_page_for_readers_is_the_table() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "transpositions.md"
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    listed = [
        (name, "the ply" if entry.counts_plies else "", entry.text, entry.reason)
        for name, entry in TRANSPOSITIONS.items()
    ]
    assert [(name, text, also, reason) for name, text, also, reason in rows] == [
        (name, text, also, reason) for name, also, text, reason in listed
    ]
