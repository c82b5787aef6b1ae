"""Random matches of games that both Ludii and OpenSpiel have, move by move: the same moves, movers, ends, results."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import pyspiel
import pytest

pytestmark = pytest.mark.usefixtures("ludii")


class Pair(NamedTuple):
    """A game of both."""

    ludii: str
    native: str
    place: Callable[[int, int], tuple[int, int]] = lambda x, y: (x, y)
    """OpenSpiel's column and row, from 1, of Ludii's."""
    write: Callable[[list[str]], str] = "".join
    """A move in OpenSpiel's words, from the places in Ludii's."""


PAIRS = {
    "Tic-Tac-Toe": Pair(
        "game=Tic-Tac-Toe", "tic_tac_toe", write=lambda words: f"({int(words[0][1]) - 1},{ord(words[0][0]) - ord('a')})"
    ),
    "Connect Four": Pair("game=Connect Four", "connect_four", write=lambda words: str(ord(words[0][0]) - ord("a"))),
    "Reversi": Pair("game=Reversi", "othello", lambda x, y: (x, 9 - y)),
    "Hex": Pair("game=Hex,options=Board Size/5x5;Swap Rules/Off", "hex(board_size=5)", lambda x, y: (y, 6 - x)),
    "Clobber": Pair("game=Clobber,options=Rows/5;Columns/6", "clobber(rows=5,columns=6)", lambda x, y: (7 - x, y)),
    "Breakthrough": Pair(
        "game=Breakthrough,options=Board Size/6x6", "breakthrough(rows=6,columns=6)", lambda x, y: (x, 7 - y)
    ),
    "Lines of Action": Pair("game=Lines of Action", "lines_of_action"),
    "Y": Pair("game=Y,options=Board Size/10", "y(board_size=10)", lambda x, y: (x - y + 1, y)),
    "Havannah": Pair("game=Havannah,options=Board Size/4x4;Swap Rules/Off", "havannah(board_size=4)"),
}


PASS_AT_THE_END = ("Tic-Tac-Toe", "Reversi")
"""Where OpenSpiel ends a match on a full board (or where nobody can move), and Ludii wants both to pass first."""


def in_openspiels_words(text: str, pair: Pair) -> str:
    """A move of Ludii's, such as "A1-B2" or "E3+Disc0=1, E4=1"."""
    if text == "Pass":
        return "pass"
    places = []
    for letter, number in re.findall(r"([A-Z])(\d+)", re.split(r"[+,/]", text)[0]):
        x, y = pair.place(ord(letter) - ord("A") + 1, int(number))
        places.append(f"{chr(ord('a') + x - 1)}{y}")
    return pair.write(places)


def plain(text: str) -> str:
    """A move of OpenSpiel's without marks of who moves and what is captured."""
    return re.sub(r"^[xo](?=[(\d])|[*-]|(?<=\d)x(?=[a-z])", "", text.lower())


def board(native: pyspiel.State) -> str:
    """The stones, without who moves."""
    return str(native).split("Current player")[0]


LONG = pytest.mark.slow(reason="matches of some hundred moves with dozens to choose from")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[LONG] if name == "Lines of Action" else []) for name in PAIRS]
)
def test_random_matches_are_openspiels(name: str) -> None:
    pair = PAIRS[name]
    for seed in range(6):
        rng = random.Random(seed)
        bridged: Any = pyspiel.load_game(f"ludii({pair.ludii})").new_initial_state()
        native = pyspiel.load_game(pair.native).new_initial_state()
        seen = []
        while not native.is_terminal():
            assert not bridged.is_terminal()
            assert bridged.current_player() == native.current_player()
            mine = {in_openspiels_words(bridged.action_to_string(a), pair): a for a in bridged.legal_actions()}
            theirs = {plain(native.action_to_string(a)): a for a in native.legal_actions()}
            assert sorted(mine) == sorted(theirs)
            seen.append(board(native))
            words = rng.choice(sorted(mine))
            bridged.apply_action(mine[words])
            native.apply_action(theirs[words])
        if name == "Lines of Action" and board(native) in seen:  # a draw in OpenSpiel, while Ludii goes on
            assert native.returns() == [0, 0]
            continue
        while not bridged.is_terminal():
            assert name in PASS_AT_THE_END
            assert [bridged.action_to_string(action) for action in bridged.legal_actions()] == ["Pass"]
            bridged.apply_action(0)
        assert bridged.returns() == native.returns()
