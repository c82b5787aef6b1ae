"""Arimaa's notation and Ludii's moves: on a little fake, and on Ludii's own where it is."""

from __future__ import annotations

import random
from typing import Any

import pytest
from fake_arimaa import SET_UP, FakeGame, after

from athenan_spiel.errors import ProgramError
from athenan_spiel.protocols.arimaa import board_of, is_arimaa, read_turn, write_turn

WAYS = {"n": (0, 1), "s": (0, -1), "e": (1, 0), "w": (-1, 0)}


def replayed(board: dict[str, str], text: str) -> dict[str, str]:
    """The board after a move, by the notation alone."""
    board = dict(board)
    for word in text.split():
        piece, square, way = word[0], word[1:3].upper(), word[3:]
        if not way:
            board[square] = piece
            continue
        assert board.pop(square) == piece, text
        if way != "x":
            x, y = WAYS[way]
            goal = f"{chr(ord(square[0]) + x)}{int(square[1]) + y}"
            assert goal not in board, text
            board[goal] = piece
    return board


def random_match(game: Any, rng: random.Random, plies: int) -> int:
    """Each turn of a random match is written, replayed by the notation alone, and read again; how many had a piece of
    the other side or a capture in them."""
    state, special = game.new_initial_state(), 0
    while not state.is_terminal() and len(state.history()) < plies:
        start, mover, turn = state.clone(), state.current_player(), []
        while not state.is_terminal() and state.current_player() == mover:
            turn.append(rng.choice(state.legal_actions()))
            state.apply_action(turn[-1])
        text = write_turn(start, turn)
        assert replayed(board_of(start), text) == board_of(state), text
        again = start.clone()
        for action in read_turn(start, text):
            again.apply_action(action)
        assert (board_of(again), again.current_player()) == (board_of(state), state.current_player()), text
        special += "x" in text or any(word[0].isupper() != (mover == 0) for word in text.split())
    return special


def test_random_turns_of_the_fake() -> None:
    rng = random.Random(5)
    assert sum(random_match(FakeGame(), rng, 300) for _ in range(60)) > 20


def test_set_ups() -> None:
    state = after()
    assert read_turn(state, "Ra1 Hb2") == (0, state.child(0).names().index("65-B2"))
    assert write_turn(state, read_turn(state, "Hb2 Ra1")) == "Hb2 Ra1"
    assert write_turn(after("64-A1", "65-B2"), read_turn(after("64-A1", "65-B2"), "ra7 hb7")) == "ra7 hb7"


def test_a_turn_that_is_short_ends_with_a_pass() -> None:
    state = after(*SET_UP)
    turn = read_turn(state, "Ra1n Ra2n")
    assert len(turn) == 3
    assert write_turn(state, turn) == "Ra1n Ra2n"


def test_a_push_has_the_other_piece_first() -> None:
    state = after(*SET_UP, "B2-B3", "B3-B4", "B4-B5", "B5-B6", "A7-A6", "Pass")
    assert board_of(state) == {"A1": "R", "B6": "H", "A6": "r", "B7": "h"}
    turn = read_turn(state, "ra6s Hb6w")
    names = []
    walk = state.clone()
    for action in turn:
        names.append(walk.names()[action])
        walk.apply_action(action)
    assert names == ["B6-A6", "64-A5", "Pass"]
    assert write_turn(state, turn) == "ra6s Hb6w"


def test_a_pull_and_a_capture() -> None:
    state = after(*SET_UP, "B2-B3", "B3-B4", "B4-B5", "B5-B6", "A7-A6", "Pass")
    turn = read_turn(state, "Hb6e Hc6x")
    assert write_turn(state, turn) == "Hb6e Hc6x"
    assert write_turn(state, read_turn(state, "Hb6s ra6e")) == "Hb6s ra6e"


@pytest.mark.parametrize("text", ["Ra1s", "Rb1n", "Ea1n", "Ha1n", "ra7s", "Ra1", "Ra1n Rb1n", "ra7s Hb2n", "Ra1nw x"])
def test_what_is_no_legal_move(text: str) -> None:
    with pytest.raises(
        ProgramError, match=r"expected a (legal move|move in Arimaa's notation, such as Ed2n Ed3n;),? got"
    ):
        read_turn(after(*SET_UP), text)


def test_what_is_no_move() -> None:
    for text in ("", "pass", "Hc3x", "Ra1n, Ra2n"):
        with pytest.raises(ProgramError, match="expected a move in Arimaa's notation, such as Ed2n Ed3n; got"):
            read_turn(after(*SET_UP), text)


def test_which_game_it_is() -> None:
    assert is_arimaa(FakeGame())  # type: ignore[arg-type]
