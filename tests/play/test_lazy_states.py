"""The states of a line of play are those that its actions lead to."""

from __future__ import annotations

import random

import pyspiel
import pytest

from athenan_spiel.play.lazy_states import LazyStates

GAMES = ["tic_tac_toe", "chess", "amazons(board_size=6)", "dots_and_boxes"]


def played(spec: str, moves: int) -> tuple[pyspiel.Game, list[pyspiel.State], list[int]]:
    game, rng = pyspiel.load_game(spec), random.Random(3)
    state = game.new_initial_state()
    states = [state.clone()]
    while len(states) <= moves and not state.is_terminal():
        state.apply_action(rng.choice(state.legal_actions()))
        states.append(state.clone())
    return game, states, state.history()


@pytest.mark.parametrize("spec", GAMES)
def test_a_line_is_the_list_of_its_states(spec: str) -> None:
    game, states, history = played(spec, 40)
    line = LazyStates(game, history)
    texts = [state.serialize() for state in states]
    assert len(line) == len(states)
    assert [state.serialize() for state in line] == texts
    assert [state.serialize() for state in line[:-1]] == texts[:-1]
    assert [state.serialize() for state in line[2:5]] == texts[2:5]
    assert [line[i].serialize() for i in (0, 3, -1)] == [texts[i] for i in (0, 3, -1)]
    assert [state.serialize() for state in reversed(line)] == texts[::-1]
    with pytest.raises(IndexError):
        line[len(line)]


def test_some_of_the_states() -> None:
    game, states, history = played("tic_tac_toe", 5)
    first, last = LazyStates(game, history, [2, 5])
    assert (first.history(), last.history()) == (states[2].history(), states[5].history())
    assert len(LazyStates(game, history, [2, 5])) == 2


def test_each_state_is_ones_own() -> None:
    game, _, history = played("tic_tac_toe", 4)
    line = LazyStates(game, history)
    for state in line:
        state.apply_action(state.legal_actions()[0])
    assert [state.history() for state in line] == [history[:i] for i in range(5)]
