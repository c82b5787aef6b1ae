"""Marks of pieces: a move adds pieces with the mark of the mover."""

from __future__ import annotations

import random
import re
import types
from collections import Counter

import pyspiel
import pytest

from athenan_spiel.games import load_game
from athenan_spiel.games.facts import FACTS, mark_of
from ludii_bridge import LudiiGame

MARKS = {name: facts.marks for name, facts in FACTS.items() if facts.marks}


def cells(state: pyspiel.State) -> str:
    """The text without colours, brackets about the last move and without the lines that are no board; the
    empty squares of a FEN one by one."""
    lines = re.sub(r"[\[\]]", " ", re.sub(r"\x1b\[[0-9;]*m", "", str(state))).splitlines()
    if len(lines) == 1:
        return re.sub(r"\d+", lambda run: "." * int(run[0]), lines[0].split(" ")[0].replace("+", ""))
    about = re.compile(r"player|play|walls|men|turn|board|bar:|dice:|scores|^[BW]$", re.IGNORECASE)
    return "\n".join(line.rstrip() for line in lines if not about.search(line))


def appeared(game: str, before: str, after: str) -> list[str]:
    """The characters that a move has brought onto cells; where it turns a part of the board, those that are more."""
    if game == "pentago":
        return list((Counter(after) - Counter(before)).elements())
    return [there for was, there in zip(before, after, strict=True) if was != there]


def is_drawn_as(mark: str, character: str) -> bool:
    if "letters" in mark:
        return character.islower() if "small" in mark else character.isupper()
    return character in mark.replace("crowned", "").replace(", ", "")


@pytest.mark.parametrize("name", sorted(set(MARKS) - {"hive"}))  # Hive's text is its moves
def test_a_move_adds_pieces_of_the_mover(name: str) -> None:
    game = load_game(name)
    rng = random.Random(1)
    own = [0, 0]
    for _ in range(4):
        state = game.new_initial_state()
        while not state.is_terminal() and state.move_number() < 120:
            if state.is_chance_node():
                state.apply_action(rng.choice(state.legal_actions()))
                continue
            mover, before = state.current_player(), cells(state)
            state.apply_action(rng.choice(state.legal_actions()))
            after = cells(state)
            if state.is_terminal() or len(before) != len(after):  # drawn otherwise
                continue
            new = appeared(name, before, after)
            if name == "maedn":  # a captured piece returns to its home, on the board
                new = [x for x in new if is_drawn_as(MARKS[name][mover], x)]
            assert not [character for character in new if is_drawn_as(MARKS[name][1 - mover], character)]
            own[mover] += any(is_drawn_as(MARKS[name][mover], character) for character in new)
    assert min(own) >= 1


def test_white_begins_in_hive() -> None:
    state = load_game("hive").new_initial_state()
    assert state.current_player() == 0
    assert state.action_to_string(state.legal_actions()[0]).startswith("w")


def test_an_unknown_game_has_no_marks() -> None:
    assert mark_of(load_game("tic_tac_toe"), 1) == "o"
    assert mark_of(load_game("nim"), 0) is None
    assert mark_of(load_game("morpion_solitaire"), 0) is None


@pytest.mark.parametrize(
    ("players", "owners", "mark"),
    [
        (2, (1, 2), "the small letters"),
        (2, (1, 2, 0), "the small letters"),
        (2, (0,), None),
        (2, (1,), None),
        (1, (1,), None),
        (3, (1, 2, 3), "the letter p"),
        (3, (1, 2, 3, 2, 4), "the letters p i"),
        (3, (1, 2, 4), None),
    ],
)
def test_marks_of_a_ludii_game_need_pieces_of_each_player(
    players: int, owners: tuple[int, ...], mark: str | None
) -> None:
    components = tuple((f"Piece{owner}", owner) for owner in owners)
    traits = types.SimpleNamespace(players=players)
    game = types.SimpleNamespace(rules=types.SimpleNamespace(components=components, traits=traits))
    kind = types.SimpleNamespace(short_name="ludii")
    told = types.SimpleNamespace(marks=lambda: LudiiGame.marks(game), get_type=lambda: kind)
    assert mark_of(told, 1) == mark
