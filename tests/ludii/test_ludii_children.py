"""Children made by the bridge's short ways are the states that OpenSpiel's own way makes, whatever is asked first."""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel
import pytest
from ludii_fake import FakeTransport
from open_spiel.python.observation import make_observation

import athenan_spiel as ath
from athenan_spiel.encoding import Encoder
from athenan_spiel.evaluators.simple import UniformRandomEvaluator
from athenan_spiel.games.children import Joined
from ludii_bridge import LudiiError
from ludii_bridge.state import LudiiState

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


def among_all(game: Any, *actions: int) -> Any:
    """As `short`, each time taken from among all children."""
    state = game.new_initial_state()
    for action in actions:
        state = state.children(state.legal_actions())[action]
    return state


@pytest.mark.parametrize("short", [short, among_all])
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
def test_it_is_the_same_state(game: Any, first: Callable[[Any], Any], count: int, short: Callable[..., Any]) -> None:
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


@pytest.mark.parametrize("actions", [[0, 1, 2, 3, 4, 5, 6, 7, 8], [8, 7, 6, 5, 4, 3, 2, 1, 0], [5], [3, 3, 1], []])
def test_children_are_those_of_the_actions_in_their_order(game: Any, actions: list[int]) -> None:
    state = game.new_initial_state()
    children, expected = state.children(actions), [state.child(action) for action in actions]
    assert len(children) == len(expected)
    assert [*map(moves, children)] == [*map(moves, expected)]
    assert children.players == [child.current_player() for child in expected]
    assert [*map(moves, children.some(range(len(actions))[::2]))] == [*map(moves, expected[::2])]
    assert [*map(moves, children[1:])] == [*map(moves, expected[1:])]


def match(game: Any) -> Any:
    """The unfinished states of a match of random actions."""
    state, rng = game.new_initial_state(), random.Random(1)
    while not state.is_terminal():
        yield state.clone()
        state.apply_action(rng.choice(state.legal_actions()))


def test_children_know_their_end_and_what_is_seen_of_them(game: Any) -> None:
    observation = make_observation(game)
    players = set()
    for state in match(game):
        children = state.children(state.legal_actions())
        assert children.players == [child.current_player() for child in children]
        players.update(children.players)
        seen = np.empty((len(children), observation.tensor.size), np.float32)
        children.observe(seen)
        for row, child in zip(seen, children, strict=True):
            observation.set_from(child, 0)
            assert row.tolist() == observation.tensor.tolist()
    assert players == {pyspiel.PlayerId.TERMINAL, 0, 1}


def test_children_stay_as_they_are_when_the_state_goes_on(game: Any) -> None:
    state = slow(game, 4)
    children = state.children([0, 1])
    state.apply_action(5)
    assert [*map(moves, children)] == [[(0, 4), (0, 0)], [(0, 4), (0, 1)]]


def goes_on_without_its_siblings(game: Any) -> None:
    children = game.new_initial_state().children([0, 1])

    def first() -> tuple[Any, ...]:
        return str(children[0]), children[0].legal_actions(), str(children[0].child(0))

    before = first()
    for child in children:
        child.apply_action(child.legal_actions()[-1])
    assert first() == before


def test_a_child_that_goes_on_leaves_those_asked_for_later_as_they_are(game: Any) -> None:
    goes_on_without_its_siblings(game)


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("name", ["Breakthrough", "Santorini"])
def test_a_child_that_goes_on_leaves_ludiis_as_they_are(name: str) -> None:
    goes_on_without_its_siblings(pyspiel.load_game("ludii", {"game": name}))


@pytest.mark.parametrize("actions", [[9], [0, -1], [0.5]])
def test_an_illegal_action_has_no_child_among_others(game: Any, actions: list[Any]) -> None:
    with pytest.raises(LudiiError, match="expected a legal action, 0 to 8, got"):
        game.new_initial_state().children(actions)


def test_a_match_that_is_over_has_no_children(game: Any) -> None:
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(0)
    assert len(state.children([])) == 0
    with pytest.raises(LudiiError, match="expected no action, as the game is over, got 0"):
        state.children([0])


def test_actions_may_come_as_an_array(game: Any) -> None:
    state = game.new_initial_state()
    assert [child.history() for child in state.children(np.array([1, 0]))] == [[1], [0]]


def test_a_network_sees_of_children_what_it_sees_of_each(fake: FakeTransport) -> None:
    """Encoded at once or one by one, in one part or several, terminal ones too."""
    game = ath.load_game("ludii(game=Swap)")
    encoder = Encoder(game)
    joined, alone = Joined(), []
    for state in match(game):
        children = state.children(state.legal_actions())
        joined.append(children)
        alone += list(children)
    joined.append([slow(game, 2)])
    alone.append(slow(game, 2))
    assert {-4, 0, 1} <= {state.current_player() for state in alone}
    np.testing.assert_array_equal(encoder.encode(joined), encoder.encode(alone))


@pytest.mark.parametrize("search", [ath.Descent, ath.UBFM, ath.AlphaBeta])
def test_a_search_finds_the_same_with_and_without_them(
    fake: FakeTransport, search: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> Any:
        game = ath.load_game("ludii(game=Swap)")
        result = ath.think(
            search(game), slow(game, 4), ath.Budget(iterations=4), UniformRandomEvaluator(3), rng=random.Random(2)
        )
        return result.evaluations, result.values.tolist(), result.visits.tolist(), result.resolved.tolist()

    at_once = found()
    monkeypatch.delattr(LudiiState, "children")
    assert found() == at_once


def test_a_look_ahead_finds_the_same_with_and_without_them(
    fake: FakeTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> Any:
        game = ath.load_game("ludii(game=Swap)")
        proof = ath.solve(game, slow(game, 4, 0, 3))
        return proof.proven, proof.value, proof.nodes

    at_once = found()
    monkeypatch.delattr(LudiiState, "children")
    assert found() == at_once
