"""Nine Men's Morris."""

from __future__ import annotations

import re

import pyspiel

from athenan_spiel.games.facts.base import Facts, Measure
from athenan_spiel.games.facts.readers import Pieces, merged

_TURN = re.compile(r"Turn number: (\d+)")
MAX_TURNS = 200
"""The number of turns after which OpenSpiel ends the game as a draw; the removal of a man is none."""
_MEN = re.compile(r"Num men: (\d+) (\d+)")


def _men(state: pyspiel.State) -> Pieces:
    """The men on the board and those still to be placed."""
    found = _MEN.search(str(state))
    assert found is not None, "the text of a state of Nine Men's Morris gives the number of men"
    return int(found[1]), int(found[2])


def _cut(state: pyspiel.State) -> bool:
    found = _TURN.search(str(state))
    assert found is not None, "the text of a state of Nine Men's Morris gives the number of the turn"
    return int(found[1]) >= MAX_TURNS


FACTS = Facts(
    transposition=merged(
        "The text shows the points, the mover, the men to be placed, the number of the turn (200 make a draw) and "
        "whether a capture is due. There is no rule of repetition."
    ),
    pieces=Measure("men on the board and still to be placed", _men),
    marks=("W", "B"),
    cut=_cut,
)
