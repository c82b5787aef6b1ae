"""The descriptions in `examples/ludii`, against rules written here apart from them and against Ludii's own."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import athenan_spiel as ath

pytestmark = pytest.mark.usefixtures("ludii")

DESCRIPTIONS = Path(__file__).parents[2] / "examples" / "ludii"

Point = tuple[int, int]
Line = tuple[Point, ...]
CROSS = ("...XXXX...", "...X..X...", "...X..X...", "XXXX..XXXX", "X........X")
"""The upper half of the points that are marked at first; the lower half is its mirror image."""


class Morpion:
    """Morpion Solitaire: the points marked and the lines drawn; 5D where lines in one direction are disjoint."""

    def __init__(self, size: int, *, disjoint: bool) -> None:
        rows = [*CROSS, *reversed(CROSS)]
        edge = (size - len(rows)) // 2
        self.marked = {(edge + x, edge + y) for y, row in enumerate(rows) for x, mark in enumerate(row) if mark == "X"}
        self.drawn: dict[Point, list[set[Point]]] = {direction: [] for direction in ((1, 0), (0, 1), (1, 1), (1, -1))}
        self._size = size
        self._shared = 0 if disjoint else 1

    def lines(self) -> dict[frozenset[Point], Line]:
        """The lines that may be drawn, by their two ends."""
        found = {}
        for x in range(self._size):
            for y in range(self._size):
                for (dx, dy), drawn in self.drawn.items():
                    line = tuple((x + i * dx, y + i * dy) for i in range(5))
                    on_board = all(0 <= a < self._size and 0 <= b < self._size for a, b in line)
                    free = all(len(other.intersection(line)) <= self._shared for other in drawn)
                    if on_board and free and len(self.marked.intersection(line)) == 4:
                        found[frozenset((line[0], line[-1]))] = line
        return found

    def draw(self, line: Line) -> None:
        """Mark the fifth point and draw the line."""
        direction = (line[1][0] - line[0][0], line[1][1] - line[0][1])
        self.marked.update(line)
        self.drawn[direction].append(set(line))


def ends_of(words: str) -> frozenset[Point]:
    """The two points that a move names, as in "*K7-K11/0"."""
    found = re.fullmatch(r"\*([A-Z])(\d+)-([A-Z])(\d+)(/0)?", words)
    assert found, words
    return frozenset((ord(found[i]) - ord("A"), int(found[i + 1]) - 1) for i in (1, 3))


@pytest.mark.slow(reason="Ludii takes up to a tenth of a second for a move of Morpion Solitaire")
@pytest.mark.parametrize("lines", ["Disjoint", "Touching"])
def test_random_matches_of_morpion_solitaire_are_those_of_its_rules(lines: str) -> None:
    game: Any = ath.load_game(f"ludii(file={DESCRIPTIONS / 'morpion_solitaire.lud'},options=Lines/{lines})")
    rng = random.Random(3)
    for _ in range(3):
        state, rules = game.new_initial_state(), Morpion(24, disjoint=lines == "Disjoint")
        assert len(rules.lines()) == 28
        moves = [state.action_to_string(action) for action in state.legal_actions()]
        while expected := rules.lines():
            assert sorted(map(sorted, map(ends_of, moves))) == sorted(map(sorted, expected))
            action = rng.choice(state.legal_actions())
            rules.draw(expected[ends_of(moves[action])])
            state.apply_action(action)
            moves = [state.action_to_string(action) for action in state.legal_actions()]
        assert moves == ["Pass"], "Ludii ends a match without a line to draw by a pass"
        state.apply_action(state.legal_actions()[-1])
        assert state.is_terminal()
        assert state.returns() == [sum(map(len, rules.drawn.values()))]


def test_the_lines_are_disjoint_unless_asked_otherwise() -> None:
    game: Any = ath.load_game(f"ludii(file={DESCRIPTIONS / 'morpion_solitaire.lud'})")
    state, rules = game.new_initial_state(), Morpion(24, disjoint=True)
    rng = random.Random(0)
    for _ in range(8):
        expected = rules.lines()
        action = rng.choice(state.legal_actions())
        rules.draw(expected[ends_of(state.action_to_string(action))])
        state.apply_action(action)
    assert {ends_of(state.action_to_string(action)) for action in state.legal_actions()} == set(rules.lines())


@pytest.mark.slow(reason="plays whole matches of Go")
def test_go_is_ludiis_on_a_board_that_ludii_has(tmp_path: Path) -> None:
    """On 9 x 9 points: the same moves until two passes, and the winner is who has the larger area."""
    text = (DESCRIPTIONS / "go_11.lud").read_text(encoding="utf-8")
    (tmp_path / "go_9.lud").write_text(text.replace("square 11", "square 9"), encoding="utf-8")
    ours = ath.load_game(f"ludii(file={tmp_path / 'go_9.lud'})").new_initial_state()
    theirs = ath.load_game("ludii(game=Go,options=Board Size/9x9)").new_initial_state()
    rng = random.Random(5)
    while not ours.is_terminal():
        moves = [re.sub(r"\+.*", "", ours.action_to_string(action)) for action in ours.legal_actions()]
        assert moves == [re.sub(r"\+.*", "", theirs.action_to_string(action)) for action in theirs.legal_actions()]
        action = rng.choice(ours.legal_actions())
        ours.apply_action(action)
        theirs.apply_action(action)
    assert theirs.is_terminal()
    first, second = areas(np.array([line.split() for line in str(ours).splitlines()[:9]]))
    gain = float(np.sign(first - second))
    assert ours.returns() == [gain, -gain]


def areas(board: Any) -> list[int]:
    """Of each player the stones, and the empty points from which empty points lead to no other's stones."""
    found = []
    for own, other in (("S", "s"), ("s", "S")):
        reached = {tuple(point) for point in np.argwhere(board == other)}
        stack = list(reached)
        while stack:
            x, y = stack.pop()
            for point in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                inside = all(0 <= number < len(board) for number in point)
                if inside and point not in reached and board[point] == ".":
                    reached.add(point)
                    stack.append(point)
        empty = {tuple(point) for point in np.argwhere(board == ".")}
        found.append(int((board == own).sum()) + len(empty - reached))
    return found


def test_escapes_in_the_name_of_a_piece_are_written_out(tmp_path: Path) -> None:
    escaped = "Stone\x1b[31mRed"
    description = (DESCRIPTIONS / "go_11.lud").read_text(encoding="utf-8")
    assert '(piece "Stone" Each)' in description
    description = description.replace("Stone", escaped)
    file = tmp_path / "escapes.lud"
    file.write_text(description, encoding="utf-8")
    game = ath.load_game(f"ludii(file={file})")
    state = game.new_initial_state()
    state.apply_action(state.legal_actions()[-1])
    texts = [str(state), *(state.action_to_string(action) for action in state.legal_actions())]
    assert all(line.isprintable() for text in texts for line in text.split("\n"))
    assert "Stone\\x1b[31mRed" in str(state)
    assert any("Stone\\x1b[31mRed" in text for text in texts[1:])
    assert all(name.isprintable() for name, _, _ in game.piece_types())
