"""Transposition texts of Ludii's games: histories that share one have one future, and such pairs are really found.

Ludii's hash and its flags decide what a text holds; these tests are why they may be trusted.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyspiel
import pytest
from open_spiel.python.observation import make_observation

from ludii_bridge import LudiiError

pytestmark = pytest.mark.usefixtures("ludii")

LENGTH = 14
"""Moves of a history."""
FUTURE = 12
"""Moves after it that are compared."""
TRIES = 60
"""Histories that are changed in search of one that comes to the same."""

QUICK = ["Breakthrough", "Reversi"]
GAMES = [
    "Amazons", "Ataxx", "Clobber", "Connect Four", "Connect6", "Gomoku", "Havannah", "Hex", "Lines of Action",
    "Santorini", "Shobu", "Tic-Tac-Toe", "Xiangqi", "Y",
]  # fmt: skip


@pytest.mark.parametrize("name", QUICK)
def test_histories_with_one_text_have_one_future(name: str) -> None:
    assert_one_future(name, wanted=4)


@pytest.mark.slow(reason="many histories of many games, whose moves are written and read")
@pytest.mark.parametrize("name", GAMES)
def test_histories_with_one_text_have_one_future_in_many_games(name: str) -> None:
    assert_one_future(name, wanted=4)


def assert_one_future(name: str, wanted: int) -> None:
    """Pairs are found, and their futures are alike."""
    game = pyspiel.load_game("ludii", {"game": name.translate(str.maketrans("()", "[]")), "max_length": 200})
    rng = random.Random(11)
    found = 0
    for one, other in pairs(game, rng):
        assert one.history() != other.history()
        compare(game, one, other, rng)
        found += 1
        if found == wanted:
            return
    assert found, f"no two histories of {name} came to the same"


def pairs(game: Any, rng: random.Random) -> Iterator[tuple[Any, Any]]:
    """States of different histories that have one transposition text: two moves of one player change places."""
    for _ in range(TRIES):
        state, words, movers = game.new_initial_state(), [], []
        for _ in range(rng.randint(5, LENGTH)):
            if state.is_terminal():
                break
            action = rng.choice(state.legal_actions())
            words.append(state.action_to_string(action))
            movers.append(state.current_player())
            state.apply_action(action)
        choices = [(i, j) for j in range(len(words) - 2) for i in range(j) if movers[i] == movers[j]]
        for i, j in rng.sample(choices, min(len(choices), 4)):
            changed = [*words[:i], words[j], *words[i + 1 : j], words[i], *words[j + 1 :]]
            other = replayed(game, changed)
            if other is None or changed == words:
                continue
            text = game.transposition_text(state)
            if text is not None and text == game.transposition_text(other):
                yield state, other


def replayed(game: Any, words: list[str]) -> Any:
    """The state after these moves, or None where one of them is not legal."""
    state = game.new_initial_state()
    for word in words:
        try:
            state.apply_action(state.string_to_action(word))
        except LudiiError:
            return None
    return state


def compare(game: Any, one: Any, other: Any, rng: random.Random) -> None:
    """The same moves lead both to the same states."""
    one, other = one.clone(), other.clone()
    observation = make_observation(game)
    for _ in range(FUTURE):
        assert str(one) == str(other)
        assert one.current_player() == other.current_player()
        assert one.returns() == other.returns()
        assert one.scores() == other.scores()
        assert one.position.describe_moves() == other.position.describe_moves()
        observation.set_from(one, 0)
        seen = observation.tensor.copy()
        observation.set_from(other, 0)
        assert (seen == observation.tensor).all()
        if one.is_terminal():
            return
        action = rng.choice(one.legal_actions())
        one.apply_action(action)
        other.apply_action(action)
