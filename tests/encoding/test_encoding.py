"""Encoder: player 0's observation and the side to move, for every supported game, terminal states included."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import numpy as np
import pyspiel
import pytest
from numpy.typing import NDArray

from athenan_spiel.encoding import Encoder, describe_input
from athenan_spiel.encoding.encoder import last_player
from athenan_spiel.errors import ConfigError, EncodingError, UnsupportedGameError
from athenan_spiel.games import load_game, supported_games
from athenan_spiel.games.chance import CHANCE, has_chance, is_chance
from athenan_spiel.games.facts import FACTS, facts_of
from athenan_spiel.games.facts.base import Observation

# Random play ends late on a large board: these are played on a smaller one.
SMALLER = {
    "chinese_checkers": "chinese_checkers(max_moves=200)",
    "cursor_go": "cursor_go(board_size=5,max_cursor_moves=5)",
    "go": "go(board_size=7)",
    "mnk": "mnk(m=7,n=6,k=4)",
}
NAMES = sorted(info.short_name for info in supported_games() if info.players != (1, 1))
BOARDS = {
    "2048": (12, 4, 4),
    "backgammon": (207,),
    "banqi": (36, 4, 8),
    "catch": (2, 10, 5),
    "einstein_wurfelt_nicht": (15, 5, 5),
    "connect_four": (4, 6, 7),
    "gomoku": (4, 15, 15),
    "gomoku(size=4,dims=3)": (3 * 64 + 1,),
    "gomoku(size=7)": (4, 7, 7),
    "hex": (10, 11, 11),
    "nim": (40,),
    "oware": (15,),
    "twixt": (13, 8, 6),
    "xiangqi": (16, 10, 9),
}


def played_states(game: pyspiel.Game, seed: int = 0) -> list[pyspiel.State]:
    """Returns all states of a random game, including the terminal one."""
    rng = random.Random(seed)
    states = [game.new_initial_state()]
    while not states[-1].is_terminal():
        states.append(states[-1].child(rng.choice(states[-1].legal_actions())))
    return states


def expected_row(encoder: Encoder, state: pyspiel.State) -> NDArray[np.float32]:
    """Returns the observation, the side to move, which in a chance state is the last mover, and a mark of chance."""
    game = state.get_game()
    own = facts_of(game.get_type().short_name).observation
    if own is None:
        observed = np.array(state.observation_tensor(0), np.float32)
    else:
        shape, fill = own(game)
        observed = np.full(shape, np.nan, np.float32)
        fill(state, observed)
    plane = int(np.prod(encoder.shape[1:]))
    mover, chance = state.current_player(), state.current_player() == CHANCE
    marks = np.array([(last_player(state) if chance else mover) == 1, *([chance] if has_chance(game) else [])])
    return np.concatenate([observed.reshape(-1), np.repeat(marks.astype(np.float32), plane)])


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_player_0s_observation_and_the_side_to_move(name: str) -> None:
    game = load_game(SMALLER.get(name, name))
    encoder = Encoder(game)
    states = played_states(game)
    expected = {0, 1, int(pyspiel.PlayerId.TERMINAL)} | ({CHANCE} if has_chance(game) else set())
    assert {int(state.current_player()) for state in states} == expected

    batch = encoder.encode(states)

    assert batch.dtype == np.float32
    assert batch.shape == (len(states), *encoder.shape)
    for row, state in zip(batch.reshape(len(states), -1), states, strict=True):
        np.testing.assert_array_equal(row, expected_row(encoder, state))


@pytest.mark.parametrize("name", NAMES)
def test_the_side_to_move_fills_the_last_plane(name: str) -> None:
    game = load_game(SMALLER.get(name, name))
    encoder = Encoder(game)
    states = played_states(game, seed=1)
    for plane, state in zip(encoder.encode(states)[:, -2 if has_chance(game) else -1], states, strict=True):
        mover = last_player(state) if state.current_player() == CHANCE else state.current_player()
        assert np.all(plane == (mover == 1))


@pytest.mark.parametrize("spec", BOARDS)
def test_boards_are_planes_and_other_observations_flat(spec: str) -> None:
    encoder = Encoder(load_game(spec))
    assert encoder.shape == BOARDS[spec]
    assert encoder.size == np.prod(BOARDS[spec])


def test_a_gomoku_board_has_its_stones_at_their_cells() -> None:
    game = load_game("gomoku(size=7)")
    state = game.new_initial_state()
    state.apply_action(3 * 7 + 2)
    planes = Encoder(game).encode([state])[0]
    assert [tuple(np.argwhere(plane == 1)[0]) for plane in planes[:3] if plane.sum() == 1] == [(3, 2)]


def test_games_written_in_python_are_encoded() -> None:
    import open_spiel.python.games  # registers them

    assert open_spiel.python.games
    game = pyspiel.load_game("python_tic_tac_toe")
    encoder = Encoder(game)
    states = played_states(game)
    assert encoder.shape == (4, 3, 3)
    for row, state in zip(encoder.encode(states).reshape(len(states), -1), states, strict=True):
        np.testing.assert_array_equal(row, expected_row(encoder, state))


def test_encoding_into_a_given_array_fills_and_returns_it() -> None:
    game = load_game("hex(board_size=5)")
    encoder = Encoder(game)
    states = played_states(game)
    out = np.full((len(states), *encoder.shape), np.nan, np.float32)
    assert encoder.encode(states, out) is out
    np.testing.assert_array_equal(out, encoder.encode(states))


def test_a_single_state_can_be_encoded_into_a_row() -> None:
    game = load_game("breakthrough")
    encoder = Encoder(game)
    rows = np.full((3, encoder.size), np.nan, np.float32)
    state = played_states(game)[7]
    encoder.encode_into(state, rows[1])
    np.testing.assert_array_equal(rows[1], expected_row(encoder, state))
    assert np.isnan(rows[[0, 2]]).all()


def test_earlier_batches_are_not_overwritten() -> None:
    game = load_game("connect_four")
    encoder = Encoder(game)
    states = played_states(game)
    first = encoder.encode(states[:1])
    before = first.copy()
    encoder.encode(states[1:])
    np.testing.assert_array_equal(first, before)


def test_an_empty_list_is_an_empty_batch() -> None:
    assert Encoder(load_game("connect_four")).encode([]).shape == (0, 4, 6, 7)


@pytest.mark.parametrize(
    "out",
    [
        np.empty((2, 4, 6, 7), np.float32),
        np.empty((1, 4, 6, 7), np.float64),
        np.empty((1, 4, 6, 14), np.float32)[..., ::2],
    ],
    ids=["rows", "type", "gaps"],
)
def test_an_array_that_does_not_fit_is_refused(out: NDArray[np.float32]) -> None:
    game = load_game("connect_four")
    with pytest.raises(EncodingError, match=r"C-contiguous float32 array of shape \(1, 4, 6, 7\), got float"):
        Encoder(game).encode([game.new_initial_state()], out)


def test_a_game_without_a_tensor_is_refused() -> None:
    with pytest.raises(UnsupportedGameError, match="observation tensor, 'coin_game' has none"):
        Encoder(pyspiel.load_game("coin_game"))


def test_facts_may_define_the_observation(monkeypatch: pytest.MonkeyPatch) -> None:
    def last_action(game: pyspiel.Game) -> Observation:
        def fill(state: pyspiel.State, planes: NDArray[np.float32]) -> None:
            planes.fill(0.0)
            if state.history():
                planes.reshape(-1)[state.history()[-1]] = 1.0

        return (1, 3, 3), fill

    monkeypatch.setitem(FACTS, "tic_tac_toe", replace(FACTS["tic_tac_toe"], observation=last_action))
    game = load_game("tic_tac_toe")
    encoder = Encoder(game)
    state = game.new_initial_state()
    second = state.child(5)
    assert encoder.shape == (2, 3, 3)
    expected = np.zeros((3, 2, 3, 3), np.float32)
    expected[1, 0, 1, 2] = 1.0
    expected[1, 1] = 1.0
    expected[2, 0, 0, 0] = 1.0
    np.testing.assert_array_equal(encoder.encode([state, second, second.child(0)]), expected)


def test_games_for_one_player_have_no_side_to_move(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_number(game: pyspiel.Game) -> Observation:
        return (1,), lambda state, numbers: numbers.fill(state.move_number())

    monkeypatch.setitem(FACTS, "morpion_solitaire", replace(FACTS["morpion_solitaire"], observation=one_number))
    game = pyspiel.load_game("morpion_solitaire")
    encoder = Encoder(game)
    state = game.new_initial_state()
    assert encoder.shape == (1,)
    assert encoder.encode([state.child(state.legal_actions()[0]), state]).tolist() == [[1.0], [0.0]]


def test_rectangular_hex_boards_keep_their_rows() -> None:
    """OpenSpiel declares [planes, columns, rows], but writes row by row."""
    game = load_game("hex(num_cols=4,num_rows=3)")
    state = game.new_initial_state()
    state.apply_action(1 * 4 + 2)
    planes = Encoder(game).encode([state])[0]
    assert planes.shape == (10, 3, 4)
    assert np.argwhere(planes[5]).tolist() == [[1, 2]]


# Edges


def test_edges_of_hex_are_in_the_planes_of_linked_stones() -> None:
    game = load_game("hex(num_cols=3,num_rows=2)")
    state = game.new_initial_state()
    for action in (4, 2):  # black in the second row, white in the last column
        state.apply_action(action)
    planes = Encoder(game, edges=True).encode([state])[0]
    empty = np.zeros((4, 5))
    expected = {
        name: empty.copy() for name in ("white won", "west", "east", "white", "empty", "black", "south", "north")
    }
    expected["north"][0, :] = 1
    expected["south"][3, :] = 1
    expected["west"][:, 0] = 1
    expected["east"][:, 4] = 1
    expected["south"][2, 2] = 1
    expected["east"][1, 3] = 1
    expected["empty"][1, [1, 2]] = 1
    expected["empty"][2, [1, 3]] = 1
    for plane, (name, board) in zip(planes, expected.items(), strict=False):
        np.testing.assert_array_equal(plane, board, err_msg=name)
    assert not planes[8:].any()  # nobody has won, and Black is to move
    assert planes.shape == (10, 4, 5)


def test_edges_of_plain_hex_are_in_the_players_planes() -> None:
    game = load_game("hex(board_size=2,plain_obs_tensor=true)")
    state = game.new_initial_state().child(1)
    black = [[1, 1, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]]
    white = [[1, 0, 0, 1], [1, 0, 0, 1], [1, 0, 0, 1], [1, 0, 0, 1]]
    empty = [[0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    assert Encoder(game, edges=True).encode([state])[0].tolist() == [black, white, empty, np.ones((4, 4)).tolist()]


@pytest.mark.parametrize("spec", ["hex(board_size=4)", "hex(num_cols=5,num_rows=3)"])
def test_edges_do_not_change_the_board(spec: str) -> None:
    game = load_game(spec)
    framed, plain = Encoder(game, edges=True), Encoder(game)
    states = played_states(game)
    batch = framed.encode(states)
    np.testing.assert_array_equal(batch[:, :, 1:-1, 1:-1], plain.encode(states))
    margin = np.ones(batch.shape[2:], bool)
    margin[1:-1, 1:-1] = False
    assert (batch[:, :-1, margin] == batch[:1, :-1, margin]).all()  # the edges are always the same
    row = np.empty(framed.size, np.float32)
    framed.encode_into(states[3], row)
    np.testing.assert_array_equal(row.reshape(framed.shape), batch[3])


@pytest.mark.parametrize("spec", ["y(board_size=5)", "twixt", "connect_four", "mancala"])
def test_edges_need_sides_that_belong_to_players(spec: str) -> None:
    name = spec.partition("(")[0]
    with pytest.raises(ConfigError, match=rf"whose sides belong to the players \(hex\), got '{name}': use false"):
        Encoder(load_game(spec), edges=True)


@pytest.mark.parametrize("spec", ["pig(players=4,winscore=30)", "chinese_checkers(players=3)"])
def test_each_player_but_the_first_has_a_plane_of_its_turn(spec: str) -> None:
    """In a chance state it is the player who moved last, and none at the end."""
    game = load_game(spec)
    players, encoder, rng = game.num_players(), Encoder(game), random.Random(1)
    added = players - 1 + encoder.has_chance
    state, last, seen = game.new_initial_state(), 0, set()
    for _ in range(200):
        mover = state.current_player()
        turn, at_chance = (last, True) if mover == CHANCE else (max(mover, 0), False)
        expected = [float(turn == player) for player in range(1, players)] + [float(at_chance)] * encoder.has_chance
        assert encoder.encode([state])[0][-added:].tolist() == expected
        seen.add((turn, at_chance))
        if state.is_terminal():
            break
        last = mover if mover >= 0 else last
        state.apply_action(rng.choice(state.legal_actions()))
    assert {turn for turn, _ in seen} == set(range(players))


@pytest.mark.parametrize("spec", ["tic_tac_toe", "backgammon", "2048", "pig(players=3)", "quoridor(players=3)"])
def test_the_description_says_what_is_added_to_the_observation(spec: str) -> None:
    game = load_game(spec)
    encoder, state, rng, last = Encoder(game), game.new_initial_state(), random.Random(0), 0
    text = describe_input(game, encoder)
    found = re.findall(r"(?:plane|number) (\d+): 1 if player (\d) is to move", text)
    turns = {int(i): int(player) for i, player in found}
    chances = [int(i) for i in re.findall(r"(?:plane|number) (\d+): 1 in a chance state, else 0", text)]
    assert max([*turns, *chances]) == encoder.shape[0] - 1
    assert (len(turns), len(chances)) == (game.num_players() - 1, int(has_chance(game)))
    while len(state.history()) < 40 and not state.is_terminal():
        mover = state.current_player()
        last = last if mover < 0 else mover
        planes = encoder.encode([state])[0].reshape(encoder.shape[0], -1)
        assert all((planes[i] == (player == last)).all() for i, player in turns.items())
        assert all((planes[i] == is_chance(state)).all() for i in chances)
        state.apply_action(rng.choice(state.legal_actions()))


@pytest.mark.parametrize(
    "spec",
    [
        *("amazons(board_size=6)", "nine_mens_morris", "quoridor(board_size=5,wall_count=4)", "quoridor(players=3)"),
        "ultimate_tic_tac_toe",
    ],
)
def test_states_with_equal_rows_have_equal_legal_actions(spec: str) -> None:
    game = load_game(spec)
    encoder = Encoder(game)
    legal: dict[bytes, list[int]] = {}
    for seed in range(8):
        for state in played_states(game, seed)[:-1]:
            row = encoder.encode([state]).tobytes()
            assert legal.setdefault(row, state.legal_actions()) == state.legal_actions()


@pytest.mark.parametrize("spec", ["quoridor", "quoridor(board_size=4)", "quoridor(players=3,wall_count=3)"])
def test_quoridors_planes_are_the_printed_pawns_and_walls(spec: str) -> None:
    game = load_game(spec)
    encoder = Encoder(game)
    players, size = game.num_players(), game.get_parameters()["board_size"]
    for state in played_states(game):
        lines = str(state).split("\n")[2:]
        planes = encoder.encode([state])[0]
        above, below, left, right = planes[players : players + 4]
        for row, column in np.ndindex(size, size):
            at = 4 + 4 * column  # a cell's mark in a printed row, between " 1 " and "|"
            cells, under = lines[2 * row], lines[2 * row + 1].ljust(4 * size + 4)
            assert [planes[i, row, column] for i in range(players)] == [
                cells[at - 1] == mark for mark in "0@#"[:players]
            ]
            assert right[row, column] == (cells[at + 1] == "|") == (left[row, column + 1] if column + 1 < size else 0)
            assert below[row, column] == (under[at - 1] == "-") == (above[row + 1, column] if row + 1 < size else 0)
        assert not above[0].any()
        assert not left[:, 0].any()
        hands = np.ones(players)
        for played in state.full_history():
            is_wall = state.action_to_string(played.player, played.action)[-1] in "hv"
            hands[played.player] -= is_wall / game.get_parameters()["wall_count"]
        np.testing.assert_allclose(planes[players + 4 : 2 * players + 4, 0, 0], hands, atol=1e-6)


def test_ultimate_tic_tac_toes_planes_are_the_printed_boards() -> None:
    game = load_game("ultimate_tic_tac_toe")
    encoder = Encoder(game)
    for state in (state for seed in range(4) for state in played_states(game, seed)):
        planes, text = encoder.encode([state])[0][:5], str(state)
        lines = [line.replace(" ", "") for line in text.split("\n") if re.fullmatch(r"[.xo]{3}( [.xo]{3}){2}", line)]
        forced = re.search(r"Forced board: (\d)", text)
        for number in range(9):
            top, left = 3 * (number // 3), 3 * (number % 3)
            board = "".join(line[left : left + 3] for line in lines[top : top + 3])
            shown = planes[:, top : top + 3, left : left + 3].reshape(5, 9)
            for plane, mark in enumerate("ox"):
                three = r"^(...)?(...)?MMM|M..M..M|^M...M...M|^..M.M.M".replace("M", mark)
                assert shown[plane].tolist() == [cell == mark for cell in board]
                assert shown[2 + plane].tolist() == [re.search(three, board) is not None] * 9
            assert state.is_terminal() or shown[4].tolist() == [forced is not None and int(forced[1]) == number] * 9


def test_nine_mens_morris_shows_men_in_hand_and_captures_due() -> None:
    game = load_game("nine_mens_morris")
    encoder = Encoder(game)
    for state in played_states(game):
        shown = re.search(r"deploy: (\d) (\d)", str(state))
        assert shown
        added = encoder.encode([state])[0, 5:8]
        expected = [int(shown[1]) / 9, int(shown[2]) / 9, "Capture time" in str(state)]
        np.testing.assert_allclose(added, np.broadcast_to(np.array(expected)[:, None, None], added.shape), rtol=1e-6)


def test_amazons_shows_the_part_of_the_turn_and_its_amazon() -> None:
    game = load_game("amazons")
    encoder = Encoder(game)
    turn = [game.new_initial_state()]
    for action in (60, 63, 3 * 10 + 6):
        turn.append(turn[-1].child(action))
    planes = encoder.encode(turn)[:, 4:7]
    assert planes.reshape(4, 3, 100).sum(axis=2).tolist() == [[0, 0, 0], [100, 0, 1], [0, 100, 1], [0, 0, 0]]
    assert (planes[1, 2, 6, 0], planes[2, 2, 6, 3]) == (1, 1)
