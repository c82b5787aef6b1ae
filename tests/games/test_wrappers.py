"""Games and states that wrap OpenSpiel's answer as OpenSpiel's do, whatever public attribute is asked."""

from __future__ import annotations

import ast
import contextlib
import copy
import pickle
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from open_spiel.python.observation import INFO_STATE_OBS_TYPE, make_observation

from athenan_spiel.games import load_game
from athenan_spiel.games.lasting_states import LastingStates
from ludii_bridge import LudiiGame, connection
from ludii_bridge.state import LudiiState

ROOT = Path(__file__).resolve().parents[2]


ARGUMENTS: list[tuple[Any, ...]] = [
    (),
    (0,),
    (1,),
    (-1,),
    (0, 0),
    ("",),
    ("x",),
    ("0",),
    ("0\n",),
    (0, ""),
    ({},),
    ({"x": 1},),
    ([],),
    ([0.5, 0.5],),
    (None,),
    (INFO_STATE_OBS_TYPE, {}),
    (None, {}),
    (0, [0]),
]
SPECS = ["morpion_solitaire", "tic_tac_toe", "hex(board_size=3,swap=True)", "mnk", "go(board_size=5)", "kuhn_poker"]
OF_GAMES = [name for name in dir(pyspiel.Game) if not name.startswith("_")]
OF_STATES = [name for name in dir(pyspiel.State) if not name.startswith("_")]


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives, to be compared: the value, or the type and the message of the exception."""
    try:
        return plain(call())
    except TypeError:  # the message has the signature, which Python and C++ write differently
        return TypeError
    except Exception as error:
        return type(error), str(error)


def ask(thing: Any, name: str, given: tuple[Any, ...]) -> Any:
    return getattr(thing, name)(*given)


def plain(value: Any) -> Any:
    if isinstance(value, pyspiel.State):
        return value.serialize()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, pyspiel.Game | pyspiel.GameType | int | float | str | dict | None):
        return value
    if isinstance(value, pyspiel.PlayerAction):
        return value.player, value.action
    return type(value).__name__


def test_these_are_all_wrappers() -> None:
    files = [file for package in ("athenan_spiel", "agents", "ludii_bridge") for file in (ROOT / package).rglob("*.py")]
    classes = [
        each for file in files for each in ast.walk(ast.parse(file.read_text())) if isinstance(each, ast.ClassDef)
    ]
    games, states = (
        {each.name for each in classes if base in map(ast.unparse, each.bases)}
        for base in ("pyspiel.Game", "pyspiel.State")
    )
    assert games == {LastingStates.__name__, LudiiGame.__name__}
    assert states == {LudiiState.__name__}


@pytest.mark.parametrize("name", OF_GAMES)
@pytest.mark.parametrize("spec", SPECS)
def test_a_wrapped_game_answers_as_the_game(spec: str, name: str) -> None:
    game, wrapped = pyspiel.load_game(spec), LastingStates(pyspiel.load_game(spec))
    game.num_distinct_actions(), game.max_game_length()  # as a wrapper does: `mnk` adds to its parameters what it reads
    for given in ARGUMENTS:
        one, other = (outcome(partial(ask, each, name, given)) for each in (game, wrapped))
        assert one == other, given


@pytest.mark.parametrize("spec", SPECS)
def test_a_wrapped_game_is_written_compared_and_copied_as_the_game(spec: str) -> None:
    game, wrapped = pyspiel.load_game(spec), LastingStates(pyspiel.load_game(spec))
    for each in (wrapped, pickle.loads(pickle.dumps(wrapped)), copy.copy(wrapped), copy.deepcopy(wrapped)):
        assert isinstance(each, LastingStates)
        assert (str(each), repr(each)) == (str(game), repr(game))
        assert each == game
        assert game == each
        assert each != pyspiel.load_game("nim")
        assert each.get_type() == game.get_type()
        assert str(each.new_initial_state()) == str(game.new_initial_state())
    assert outcome(lambda: hash(wrapped)) == outcome(lambda: hash(game))


@pytest.mark.parametrize("spec", SPECS)
def test_a_wrapped_game_observes_as_the_game(spec: str) -> None:
    game, wrapped = pyspiel.load_game(spec), LastingStates(pyspiel.load_game(spec))
    for kind in (None, INFO_STATE_OBS_TYPE):
        assert outcome(partial(seen, wrapped, kind)) == outcome(partial(seen, game, kind))


def seen(game: pyspiel.Game, kind: Any) -> Any:
    observation, state = make_observation(game, kind), game.new_initial_state()
    if observation is None:
        return None
    observation.set_from(state, 0)
    tensor = observation.tensor
    return observation.string_from(state, 0), None if tensor is None else tensor.tolist()


@pytest.mark.parametrize("spec", SPECS)
def test_the_states_of_a_wrapped_game_answer_as_the_games(spec: str) -> None:
    rng = random.Random(1)
    game = pyspiel.load_game(spec)
    state, wrapped = game.new_initial_state(), LastingStates(game).new_initial_state()
    while not state.is_terminal():
        action = rng.choice(state.legal_actions())
        state.apply_action(action)
        wrapped.apply_action(action)
        if state.move_number() not in (1, 5) and not state.is_terminal():
            continue
        assert_same_answers(state, wrapped)


def assert_same_answers(state: pyspiel.State, wrapped: pyspiel.State) -> None:
    given = [(), (0,), (1,), (0, state.history()[-1]), ("x",), (0, "x")]
    for name in OF_STATES:
        changes = "apply" in name or name in ("undo_action", "update_distribution", "get_action_struct_sampler")
        for arguments in () if changes else given:
            if arguments and name in ("child", "resample_from_infostate"):
                continue  # OpenSpiel does not ask whether the action is legal
            one, other = (outcome(partial(ask, each, name, arguments)) for each in (state, wrapped))
            assert one == other, (name, arguments)
    for changed in (copy.deepcopy(wrapped), pickle.loads(pickle.dumps(wrapped)), wrapped.clone()):
        assert changed.serialize() == state.serialize()
        assert str(changed) == str(state)


def test_what_load_game_gives_is_observed_or_refused_as_openspiel_does() -> None:
    with pytest.raises(pyspiel.SpielError, match=r"ObservationTensorShape unimplemented"):
        load_game("morpion_solitaire").observation_tensor_shape()


@pytest.fixture
def ludii_game(monkeypatch: pytest.MonkeyPatch) -> Iterator[pyspiel.Game]:
    monkeypatch.syspath_prepend(ROOT / "tests" / "ludii")
    from ludii_fake import FakeTransport

    before = connection.use(FakeTransport())
    yield pyspiel.load_game("ludii(game=Tic-Tac-Toe)")
    connection.use(before)


@pytest.mark.parametrize("name", OF_GAMES)
def test_a_game_of_ludiis_has_every_attribute_of_a_game(ludii_game: pyspiel.Game, name: str) -> None:
    answered(ludii_game, name)


@pytest.mark.parametrize("name", OF_STATES)
def test_a_state_of_ludiis_has_every_attribute_of_a_state(ludii_game: pyspiel.Game, name: str) -> None:
    answered(ludii_game.new_initial_state(), name)
    finished = ludii_game.new_initial_state()
    while not finished.is_terminal():
        finished.apply_action(0)
    answered(finished, name)


def answered(thing: Any, name: str) -> None:
    """Ask for an attribute; a SpielError and a LudiiError, with which questions are refused, are a RuntimeError."""
    for given in ARGUMENTS:
        with contextlib.suppress(RuntimeError, TypeError, ValueError):
            ask(thing, name, given)
