"""The bridge plays as Ludii itself does: a sample of what `benchmarks/ludii_oracle.py` compares."""

from __future__ import annotations

import argparse
import runpy
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("ludii")

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "ludii_oracle.py"
RANDOM = ["Kalah", "Lasca", "Fanorona", "International Draughts", "Surakarta", "Hex", "Pentago", "Reversi"]
"""Sowing, stacks, captures of several pieces, a vote, a swap, moves that read alike, passes."""
CHOSEN = ["Fanorona", "Pentago", "Luuth", "Bay Khom", "Breakthrough"]
"""Most have moves that read alike and do otherwise."""


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPT.parent)  # for what it shares with other benchmarks
        return runpy.run_path(str(SCRIPT))


def counts(**changes: Any) -> argparse.Namespace:
    return argparse.Namespace(**({"seed": 3, "length": 40, "seconds": 60.0, "ai": "UCT", "iterations": 3} | changes))


@pytest.mark.parametrize("name", RANDOM)
def test_a_random_match_is_ludiis_own(script: dict[str, Any], name: str) -> None:
    found = script["play"](name, counts())
    assert found.difference == ""
    assert found.plies >= 20


@pytest.mark.slow(reason="whole matches, whose every legal move is applied twice")
@pytest.mark.parametrize("name", ["Go", "Motiq", "Um el-Bil", "Lamosh"])
def test_a_whole_match_is_ludiis_own(script: dict[str, Any], name: str) -> None:
    found = script["play"](name, counts(length=300))
    assert found.difference == ""
    assert found.ended


@pytest.mark.parametrize("name", CHOSEN)
def test_an_ais_move_is_the_one_that_is_played(script: dict[str, Any], name: str) -> None:
    found = script["choose"](name, counts(length=20))
    assert found.difference == ""
    assert found.plies >= 10


def test_another_move_is_a_difference(script: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The script sees it where Ludii's match goes another way."""
    play = script["Plain"].play
    monkeypatch.setattr(script["Plain"], "play", lambda self, number: play(self, max(number - 1, 0)))
    assert "what stands on the sites" in script["play"]("Breakthrough", counts()).difference
    monkeypatch.setattr(script["Plain"], "texts", lambda self: [])
    assert "number of moves" in script["play"]("Breakthrough", counts()).difference
