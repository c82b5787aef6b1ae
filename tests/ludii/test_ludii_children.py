"""A child made by the bridge's short way is the state that OpenSpiel's own way makes, whatever is asked of it first."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pyspiel
import pytest
from ludii_fake import FakeTransport

from ludii_bridge import LudiiError

ACTIONS = (4, 0, 3)


@pytest.fixture
def game(fake: FakeTransport) -> Any:
    return pyspiel.load_game("ludii(game=Twice,max_actions=9)")


def slow(game: Any, *actions: int) -> Any:
    state = game.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


def short(game: Any, *actions: int) -> Any:
    state = game.new_initial_state()
    for action in actions:
        state = state.child(action)
    return state


def moves(state: Any) -> list[tuple[int, int]]:
    return [(move.player, move.action) for move in state.full_history()]


def deserialized(state: Any) -> Any:
    text = pyspiel.serialize_game_and_state(state.get_game(), state)
    return pyspiel.deserialize_game_and_state(text)[1]


@pytest.mark.parametrize(
    "first",
    [
        moves,
        lambda state: state.history(),
        lambda state: state.move_number(),
        lambda state: state.history_str(),
        lambda state: state.information_state_string(0),
        lambda state: state.information_state_string(),
        lambda state: state.is_initial_state(),
        lambda state: state.serialize(),
        lambda state: str(state.get_game().deserialize_state(state.serialize())),
        lambda state: moves(deserialized(state)),
        lambda state: moves(pickle.loads(pickle.dumps(state))),
        lambda state: moves(state.clone()),
        lambda state: moves(copy.deepcopy(state)),
        lambda state: moves(state.child(2)),
        lambda state: moves(state.clone().child(2)),
        lambda state: moves(deserialized(state).child(2)),
    ],
)
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_it_is_the_same_state(game: Any, first: Callable[[Any], Any], count: int) -> None:
    expected, state = slow(game, *ACTIONS[:count]), short(game, *ACTIONS[:count])
    assert first(state) == first(expected)
    assert moves(state) == moves(expected)
    assert state.move_number() == count
    assert str(state) == str(expected)


def test_it_goes_on_in_either_way(game: Any) -> None:
    state, expected = short(game, 4, 0), slow(game, 4, 0)
    for one in (state, expected):
        one.apply_action(3)
    assert moves(state) == moves(expected) == [(0, 4), (0, 0), (1, 3)]
    assert moves(state.child(1)) == moves(expected.child(1)) == [(0, 4), (0, 0), (1, 3), (1, 1)]
    assert moves(state) == moves(expected)


def test_what_is_known_of_the_past_grows_with_it(game: Any) -> None:
    """The moves so far are kept for the next child, and not beyond the next move."""
    state = short(game, 4)
    state.child(0)
    state.apply_action(1)
    assert state.child(2).history() == [4, 1, 2]


def test_a_search_of_openspiels_takes_it(game: Any) -> None:
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, 3), 2.0, 20, 10, True, 5, False)
    state = short(game, 4, 0)
    assert bot.step_with_policy(state)[1] in state.legal_actions()
    assert pyspiel.evaluate_bots(short(game, 4, 0), [pyspiel.make_uniform_random_bot(i, 3) for i in (0, 1)], 1)


def test_an_illegal_action_has_no_child(game: Any) -> None:
    with pytest.raises(LudiiError, match="expected a legal action, 0 to 8, got 9"):
        game.new_initial_state().child(9)
