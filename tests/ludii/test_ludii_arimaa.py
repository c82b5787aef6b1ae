"""Arimaa's notation on Ludii's own Arimaa; tests/protocols/test_arimaa.py has it on a fake."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

import athenan_spiel as ath

sys.path.insert(0, str(Path(__file__).parents[1] / "protocols"))

from test_arimaa import random_match

from athenan_spiel.protocols.arimaa import is_arimaa


@pytest.mark.slow(reason="plays a hundred plies of a slow game, and describes each")
@pytest.mark.usefixtures("ludii")
def test_random_turns_are_written_and_read_again() -> None:
    game = ath.load_game("ludii(game=Arimaa)")
    assert is_arimaa(game)
    assert not is_arimaa(ath.load_game("ludii(game=Hex)"))
    assert random_match(game, random.Random(2), 110) > 0
