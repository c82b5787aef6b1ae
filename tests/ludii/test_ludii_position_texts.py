"""Texts of a game's description as a terminal gets them; without Java."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from athenan_spiel.cli.ludii_games import _page
from ludii_bridge.picture import printable
from ludii_bridge.position import JavaPosition


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A1-B2, Größe \N{BLACK CHESS KING}", "A1-B2, Größe \N{BLACK CHESS KING}"),
        ("Stone\x1b[31mRed", "Stone\\x1b[31mRed"),
        ("a\r\nb\x9b2J\u202e", "a\\r\\nb\\x9b2J\\u202e"),
    ],
)
def test_what_steers_a_terminal_is_written_out(text: str, expected: str) -> None:
    action: Any = SimpleNamespace(toTurnFormat=lambda context, coordinates: text)
    position: Any = SimpleNamespace(_context=None)
    assert printable(text) == expected
    assert JavaPosition._words(position, [action, action]) == [expected]


def test_options_and_rulesets_cannot_steer_a_terminal() -> None:
    known: dict[str, Any] = {"name": "Hex", "folder": None, "trainable": None, "swept": None, "defaults": {}}
    known |= {"options": {"Size\x1b[2J": ["9\x9bx9"]}, "rulesets": {"Old\x1b[2J": ["Size\x1b[2J/9x9"]}}
    for column in _page(known).columns:
        assert all(str(cell).isprintable() for cell in column.cells)
