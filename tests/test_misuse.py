"""The public API answers what it cannot mean with an error of its own, in a line.

Each public callable is called with plausible wrong things in place of each of its arguments, the others being right.
What comes must be an `AthenanError`, or Python's own TypeError about the signature, and nothing may be left behind.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from numpy.typing import NDArray
from training_runs import TINY

import agents
import athenan_spiel as ath
from athenan_spiel.encoding import Encoder
from athenan_spiel.evaluators import NetworkEvaluator, ZeroEvaluator
from athenan_spiel.evaluators.torch_engine import TorchEngine
from athenan_spiel.outcomes import registry

GAME = ath.load_game("tic_tac_toe")
HEX = ath.load_game("hex(board_size=3)")
STATE = GAME.new_initial_state()
OTHER_STATE = HEX.new_initial_state()


def after(game: pyspiel.Game, *actions: int) -> pyspiel.State:
    state = game.new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state


FINISHED = after(GAME, 0, 3, 1, 4, 2)
CHANCE = pyspiel.load_game("backgammon").new_initial_state()
SIMULTANEOUS = pyspiel.load_game("matrix_rps").new_initial_state()
UNSUPPORTED = {name: pyspiel.load_game(name) for name in ("kuhn_poker", "goofspiel", "backgammon", "matrix_rps")}
NO_SPEC = {
    "no such game": "tic_tac_to",
    "no game string": "",
    "poker": "kuhn_poker",
    "no bracket": "hex(board_size=3",
    "endless board": "hex(board_size=100000)",
    "nothing in a row": "connect_four(x_in_row=0)",
    "long": "x" * 10**6,
    "null": "tic\0tac",
    "surrogate": "\ud800",
}
NOTHING_AT_ALL: dict[str, Any] = {
    "a number": 3,
    "a float": 0.5,
    "nan": math.nan,
    "a huge number": 10**400,
    "a list": [1, 2],
    "a dict": {"a": 1},
    "an object": object(),
    "a class": int,
    "an array": np.zeros((2, 2)),
    "bytes": b"tic_tac_toe",
    "a game type": GAME.get_type(),
}
"""What is no game, state, search, tree, budget, configuration, evaluator, list of players, ..."""
NO_GAME = NOTHING_AT_ALL | NO_SPEC | UNSUPPORTED | {"None": None, "a state": STATE}
NO_STATE = NOTHING_AT_ALL | {
    "a text": "tic_tac_toe",
    "a game": GAME,
    "of another game": OTHER_STATE,
    "finished": FINISHED,
    "chance": CHANCE,
    "simultaneous": SIMULTANEOUS,
}
NO_OBJECT = NOTHING_AT_ALL | {"a text": "x", "a game": GAME, "a state": STATE}
"""Where one object of a class is wanted."""
NO_FUNCTION = {name: value for name, value in NO_OBJECT.items() if not callable(value)}
NO_NUMBER = {name: value for name, value in NO_OBJECT.items() if name not in ("a number", "a float")} | {
    "true": True,
    "negative": -1,
    "infinite": math.inf,
    "a text": "1",
}
NO_WHOLE_NUMBER = NO_NUMBER | {"a float": 0.5}
NO_FOLDER = NOTHING_AT_ALL | {
    "null": "a\0b",
    "surrogate": "\ud800",
    "long": "x" * 10**5,
    "nowhere": "no/such/run",
    "file": __file__,
}


def zeros(states: Sequence[pyspiel.State]) -> NDArray[np.float64]:
    return np.zeros(len(states))


class Answer:
    """An evaluator that answers always the same."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __call__(self, states: Sequence[pyspiel.State]) -> Any:
        return self.answer


ANSWERS = {
    "None": None,
    "a text": "x",
    "texts": ["x"] * 9,
    "too few": np.zeros(8),
    "too many": np.zeros(10),
    "a column": np.zeros((9, 1)),
    "a number": 0.0,
    "nans": np.full(9, math.nan),
    "infinite": [math.inf] * 9,
    "complex": np.zeros(9, complex),
    "booleans": np.zeros(9, bool),
    "objects": [object()] * 9,
    "ragged": [[1.0], [1.0, 2.0]],
    "huge": [10**400] * 9,
    "a dict": {},
    "a generator": (x for x in range(9)),
}
BUDGET = ath.Budget(iterations=1)
SEARCH = ath.UBFM(GAME)


def agent(**changed: Any) -> ath.Agent:
    right = {"game": GAME, "search": SEARCH, "evaluator": zeros, "budget": BUDGET}
    return ath.Agent(**(right | changed))


def trees() -> Mapping[str, Any]:
    """Trees that `SEARCH` must not grow."""
    return {
        "another game's": ath.UBFM(HEX).new_tree(),
        "MCTS's": ath.MCTS(GAME).new_tree(),
        "alpha-beta's": ath.AlphaBeta(GAME).new_tree(),
        "without completion": ath.UBFM(GAME, completion=False).new_tree(),
        "of another worth": ath.UBFM(GAME, outcome=lambda state: 0.0).new_tree(),
        **NO_OBJECT,
    }


ENCODER = Encoder(GAME)
NO_STATES = NO_OBJECT | {
    "None": None,
    "a list": [1, 2],
    "of another game": [OTHER_STATE],
    "of a game that would end the process": [pyspiel.load_game("chess").new_initial_state()],
    "of None": [None],
    "a generator": (STATE for _ in range(2)),
}
# For each public callable: right arguments, and wrong ones for each.
Wrong = Mapping[str, Mapping[str, Any]]
SEARCH_OPTIONS = {
    "game": NO_GAME,
    "outcome": NO_FUNCTION,
    "completion": NO_OBJECT | {"None": None},
    "key": NO_FUNCTION,
}
CALLS: Mapping[str, tuple[Callable[..., Any], Mapping[str, Any], Wrong]] = {
    "Descent": (ath.Descent, {"game": GAME}, SEARCH_OPTIONS),
    "UBFM": (ath.UBFM, {"game": GAME}, SEARCH_OPTIONS),
    "AlphaBeta": (
        ath.AlphaBeta,
        {"game": GAME},
        {**SEARCH_OPTIONS, "depth": NO_WHOLE_NUMBER | {"zero": 0, "too deep": 257}},
    ),
    "MCTS": (
        ath.MCTS,
        {"game": GAME},
        {
            **{name: wrong for name, wrong in SEARCH_OPTIONS.items() if name != "completion"},
            "exploration_constant": NO_NUMBER | {"None": None},
            "first_play_urgency": NO_OBJECT | {"None": None},
            "rollouts": NO_OBJECT | {"None": None},
            "virtual_loss_batch": NO_WHOLE_NUMBER | {"None": None, "zero": 0, "too many": 10**9},
        },
    ),
    "Budget": (
        ath.Budget,
        {},
        {
            "seconds": NO_NUMBER | {"zero": 0, "too long": 1e308},
            "iterations": NO_WHOLE_NUMBER | {"zero": 0, "too many": 10**12},
            "evaluations": NO_WHOLE_NUMBER | {"zero": 0, "too many": 10**12},
        },
    ),
    "ProofBounds": (
        ath.ProofBounds,
        {},
        {
            "seconds": NO_NUMBER | {"zero": 0, "too long": 1e308},
            "iterations": NO_WHOLE_NUMBER | {"zero": 0, "too many": 10**30},
            "megabytes": NO_NUMBER | {"zero": 0, "too many": 1e300},
        },
    ),
    "think": (
        ath.think,
        {"search": SEARCH, "state": STATE, "budget": BUDGET, "evaluator": zeros},
        {
            "search": NO_OBJECT | {"None": None, "its class": ath.UBFM},
            "state": NO_STATE | {"None": None},
            "budget": NO_OBJECT | {"None": None},
            "evaluator": NO_FUNCTION | {name: Answer(answer) for name, answer in ANSWERS.items()} | {"None": None},
            "tree": trees(),
            "rng": NO_OBJECT | {"numpy's": np.random.default_rng(0)},
        },
    ),
    "solve": (
        ath.solve,
        {"game": GAME, "bounds": ath.ProofBounds(iterations=1)},
        {
            "game": NO_GAME,
            "state": NO_STATE,
            "algorithm": NO_OBJECT | {"None": None, "misspelt": "decent"},
            "evaluator": NO_FUNCTION | {name: Answer(answer) for name, answer in ANSWERS.items()},
            "outcome": NO_FUNCTION,
            "bounds": NO_OBJECT | {"a budget": BUDGET},
            "rng": NO_OBJECT | {"numpy's": np.random.default_rng(0)},
            "on_progress": NO_FUNCTION,
        },
    ),
    "Agent": (
        agent,
        {},
        {
            "game": NO_GAME | {"another": HEX},
            "search": NO_OBJECT | {"None": None, "another game's": ath.UBFM(HEX)},
            "evaluator": NO_FUNCTION | {"None": None},
            "decision": NO_FUNCTION,
            "budget": NO_OBJECT | {"None": None},
            "rng": NO_OBJECT,
        },
    ),
    "Agent.encoder.encode": (ENCODER.encode, {"states": [STATE, FINISHED]}, {"states": NO_STATES}),
    "Agent.evaluator": (
        NetworkEvaluator(ENCODER, TorchEngine(ENCODER.shape)),
        {"states": [STATE]},
        {"states": NO_STATES},
    ),
    "Agent.step": (lambda state: agent().step(state), {"state": STATE}, {"state": NO_STATE | {"None": None}}),
    "Agent.think": (lambda state: agent().think(state), {"state": STATE}, {"state": NO_STATE | {"None": None}}),
    "Agent.policy": (lambda state: agent().policy(state), {"state": STATE}, {"state": NO_STATE | {"None": None}}),
    "play_match": (
        ath.play_match,
        {"game": GAME, "players": [agent(), agent()]},
        {
            "game": NO_GAME | {"another": HEX},
            "players": NO_OBJECT
            | {"None": None, "one": [agent()], "three": [agent()] * 3, "texts": ["mcts:1", "random"]},
            "opening": {name: wrong for name, wrong in NO_OBJECT.items() if name != "a list"}
            | {"None": None, "twice": [0, 0], "floats": [0.0], "texts": ["0"], "beyond": [9]},
        },
    ),
    "play_series": (
        ath.play_series,
        {"game": GAME, "contender": lambda player: agent(), "opponent": lambda player: agent(), "matches": 2},
        {
            "game": NO_GAME | {"for one": ath.load_game("cliff_walking")},
            "contender": NO_FUNCTION | {"None": None, "an agent": agent()},
            "opponent": NO_FUNCTION | {"None": None, "of nothing": lambda player: None},
            "matches": NO_WHOLE_NUMBER | {"None": None, "odd": 3, "zero": 0, "too many": 10**9},
            "opening_plies": NO_WHOLE_NUMBER | {"None": None, "too many": 10**9},
            "seed": {
                name: wrong for name, wrong in NO_WHOLE_NUMBER.items() if name not in ("negative", "a huge number")
            },
            "on_match": NO_FUNCTION,
        },
    ),
    "train": (
        lambda folder="run", **arguments: ath.train(**({"config": TINY} | arguments), folder=folder),
        {"game": GAME},
        {
            "game": NO_GAME,
            "config": NO_OBJECT | {"a search's": ath.SearchConfig()},
            "folder": {name: wrong for name, wrong in NO_FOLDER.items() if name != "nowhere"},
            "listeners": NO_OBJECT | {"None": None, "texts": ["x"]},
            "stop": NO_FUNCTION,
            "milestones": NO_OBJECT | {"None": None, "one": [1.0], "texts": ["x"], "nan": [math.nan]},
        },
    ),
    "load_agent": (
        ath.load_agent,
        {"folder": "run"},
        {
            "folder": NO_FOLDER | {"None": None},
            "checkpoint": NO_OBJECT | {"negative": -1, "true": True, "of no match": 10**9},
            "seconds": NO_NUMBER | {"zero": 0, "None": None},
            "budget": NO_OBJECT,
            "seed": {
                name: wrong for name, wrong in NO_WHOLE_NUMBER.items() if name not in ("negative", "a huge number")
            },
            "engine": NO_OBJECT,
            "search": NO_OBJECT | {"None": None, "misspelt": "ufbm"},
            "outcome": NO_OBJECT,
        },
    ),
    "resume": (
        ath.resume,
        {"folder": "run"},
        {
            "folder": NO_FOLDER | {"None": None},
            "more_matches": NO_WHOLE_NUMBER | {"zero": 0},
            "more_seconds": NO_NUMBER | {"zero": 0},
            "outcome": NO_OBJECT,
            "listeners": NO_OBJECT | {"None": None},
            "stop": NO_FUNCTION,
            "milestones": NO_OBJECT | {"None": None},
        },
    ),
    "LinePrinter": (
        ath.LinePrinter,
        {"stream": io.StringIO()},
        {"stream": NO_OBJECT | {"None": None}, "every_seconds": NO_NUMBER | {"None": None}},
    ),
    "ProgressBar": (
        ath.ProgressBar,
        {},
        {"stream": NO_OBJECT, "every_seconds": NO_NUMBER | {"None": None}, "clock": NO_FUNCTION | {"None": None}},
    ),
    "check_game": (
        ath.check_game,
        {"game": GAME},
        {
            "game": NOTHING_AT_ALL | NO_SPEC | {"None": None, "a state": STATE} | UNSUPPORTED,
            "matches": NO_WHOLE_NUMBER | {"None": None, "zero": 0, "too many": 10**10},
            "rng": NO_OBJECT,
        },
    ),
    "load_game": (ath.load_game, {"spec": "hex"}, {"spec": NOTHING_AT_ALL | NO_SPEC | {"None": None, "a game": GAME}}),
    "unmet_conditions": (
        ath.unmet_conditions,
        {"game": GAME},
        {"game": NOTHING_AT_ALL | {"None": None, "a state": STATE, "a text": "tic_tac_toe"}},
    ),
    "gain": (ath.gain, {"state": FINISHED}, {"state": NOTHING_AT_ALL | {"None": None, "a text": "x", "a game": GAME}}),
    "score": (
        ath.score,
        {"state": ath.load_game("othello").new_initial_state()},
        {"state": NOTHING_AT_ALL | {"None": None, "a text": "x", "a game": GAME, "without a score": STATE}},
    ),
    "piece_counts": (
        ath.piece_counts,
        {"state": ath.load_game("othello").new_initial_state()},
        {"state": NOTHING_AT_ALL | {"None": None, "a text": "x", "a game": GAME, "without pieces": STATE}},
    ),
    "preset": (ath.preset, {"name": "quick"}, {"name": NO_OBJECT | {"None": None, "misspelt": "quik"}}),
    "register_outcome": (
        ath.register_outcome,
        {"name": "of_this_test", "kind": ath.gain},
        {
            "name": {name: wrong for name, wrong in NO_OBJECT.items() if name != "a text"}
            | {"taken": "gain", "a path": "a:b"},
            "kind": NO_FUNCTION | {"None": None, "a class": int},
        },
    ),
}
RECORDS = {"MatchResult", "Proof", "Run", "SearchResult", "Series", "Outcome"}
"""What the library gives, and a base class: nobody calls them with things of his own."""
NO_ARGUMENTS = {"supported_games"}


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, the current one; what is registered is forgotten again."""
    monkeypatch.setattr(registry, "_REGISTERED", {})
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("called", "argument"), [(called, argument) for called, (_, _, wrong) in CALLS.items() for argument in wrong]
)
def test_what_makes_no_sense_is_an_error_of_one_line(called: str, argument: str, nowhere: Path, tiny_run: Path) -> None:
    function, right, wrong = CALLS[called]
    if called in ("load_agent", "resume") and argument != "folder":
        right = {**right, "folder": tiny_run}
    before = sorted(tiny_run.rglob("*"))
    answers = {name: answer_to(function, {**right, argument: value}) for name, value in wrong[argument].items()}
    assert {name: answer for name, answer in answers.items() if answer is not None} == {}
    assert list(nowhere.iterdir()) == []
    assert sorted(tiny_run.rglob("*")) == before


def answer_to(function: Callable[..., Any], arguments: Mapping[str, Any]) -> str | None:
    """What is wrong with the answer to a call that makes no sense; None: nothing."""
    try:
        return f"gave {function(**arguments)!r}"
    except ath.AthenanError as error:
        message = str(error)
    except TypeError as error:
        message = str(error)
        if not re.search(r"(takes|missing|unexpected|got multiple).*(argument|position)", message):
            return repr(error)
    except Exception as error:
        return repr(error)
    return None if message and "\n" not in message and len(message) < 1500 else f"says {message!r}"


@pytest.mark.parametrize(
    "called", [name for name in CALLS if name not in ("train", "load_agent", "resume", "Agent.evaluator")]
)
def test_the_right_arguments_are_right(called: str, nowhere: Path) -> None:
    function, right, _ = CALLS[called]
    if right:
        function(**right)


def test_every_public_callable_is_tried() -> None:
    settings = {name for name in ath.__all__ if name.endswith("Config")}  # tests/test_config.py tries these
    errors = {name for name in ath.__all__ if name.endswith("Error")}
    functions = {name for name in ath.__all__ if callable(getattr(ath, name))} - settings - errors
    assert functions - RECORDS - NO_ARGUMENTS - {"Evaluator"} == {name.split(".")[0] for name in CALLS}


@pytest.mark.parametrize(
    "called", ["Descent", "UBFM", "AlphaBeta", "MCTS", "solve", "play_match", "play_series", "check_game"]
)
def test_a_string_stands_for_the_game_it_loads(called: str) -> None:
    function, right, _ = CALLS[called]
    function(**{**right, "game": "tic_tac_toe"})


def test_an_agent_takes_a_string_too() -> None:
    assert str(agent(game="tic_tac_toe").game) == str(GAME)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ath.Descent(3), "expected a game, such as load_game('connect_four') gives, got 3"),
        (lambda: ath.Descent("tic_tac_to"), "no game is called 'tic_tac_to': did you mean 'tic_tac_toe'?"),
        (
            lambda: ath.Descent(UNSUPPORTED["kuhn_poker"]),
            "'kuhn_poker()' is not supported: it has chance; it hides information",
        ),
        (
            lambda: ath.solve(pyspiel.load_game("connect_four(x_in_row=0)")),
            "'connect_four(x_in_row=0)' cannot be played: x_in_row must be at least 1, got 0",
        ),
        (
            lambda: ath.load_game(f"go(komi={'9' * 400}.0)"),
            "cannot be played: komi must be finite, got inf",
        ),
        (
            lambda: ath.think(SEARCH, OTHER_STATE, BUDGET, zeros),
            "expected a state of 'tic_tac_toe()', got one of 'hex(board_size=3)'",
        ),
        (
            lambda: ath.solve(GAME, OTHER_STATE),
            "expected a state of 'tic_tac_toe()', got one of 'hex(board_size=3)'",
        ),
        (lambda: agent().step(OTHER_STATE), "expected a state of 'tic_tac_toe()', got one of 'hex(board_size=3)'"),
        (lambda: ath.think(SEARCH, "x", BUDGET, zeros), "expected a state of 'tic_tac_toe()', got 'x'"),
        (
            lambda: ath.think(SEARCH, STATE, BUDGET, zeros, tree=ath.MCTS(GAME).new_tree()),
            "expected a tree of this search, a UBFM of 'tic_tac_toe()' with the same outcome and completion, got "
            "another search's MCTSTree: make one by search.new_tree()",
        ),
        (lambda: ath.think(SEARCH, STATE, 3, zeros), "budget must be a Budget, got 3"),
        (lambda: ath.think(SEARCH, STATE, BUDGET, None), "evaluator must be a function, got None"),
        (
            lambda: ath.think(SEARCH, STATE, BUDGET, Answer(None)),
            "the evaluator must answer an array of numbers, got None",
        ),
        (
            lambda: agent(search=ath.UBFM(HEX)),
            "expected a search of 'tic_tac_toe()', got a UBFM of 'hex(board_size=3)'",
        ),
        (lambda: ath.play_match(GAME, [agent()]), "expected a list of 2 players, got [<athenan_spiel.agent.Agent"),
        (
            lambda: ath.play_match(GAME, ["mcts:1", "random"]),
            "expected a bot or an agent as player 0, got 'mcts:1'",
        ),
        (lambda: ath.Budget(iterations=1.5), "a budget's iterations must be a whole number, got 1.5"),
        (lambda: ath.Budget(seconds=True), "a budget's seconds must be finite and more than zero, got True"),
        (lambda: ath.Budget(seconds=1e308), "a budget's seconds must be at most 3,153,600,000, got 1e+308"),
        (
            lambda: ath.Budget(iterations=10**12),
            "a budget's iterations must be at most 1,000,000,000, got 1000000000000",
        ),
        (
            lambda: ath.ProofBounds(megabytes=1e300),
            "the bound of a proof in megabytes must be at most 1,000,000,000, got 1e+300",
        ),
        (lambda: ath.train(GAME, {"seconds": 3}), "config must be a TrainingConfig or None, got {'seconds': 3}"),
        (lambda: ath.train(GAME, TINY, folder=3), "expected the path of a run's folder, got 3: that is no path"),
        (lambda: ath.train(GAME, TINY, milestones=[1]), "a milestone must be a share of the run, in (0, 1), got 1"),
        (lambda: ath.load_agent("x" * 10**4), "expected the path of a run's folder, got 'xxx"),
    ],
)
def test_the_errors_say_what_was_expected_and_what_came(
    call: Callable[[], object], message: str, nowhere: Path
) -> None:
    with pytest.raises(ath.AthenanError) as error:
        call()
    assert message in str(error.value)


@pytest.mark.parametrize("state", [CHANCE, SIMULTANEOUS])
def test_a_state_where_no_single_player_moves_is_refused(state: pyspiel.State) -> None:
    from athenan_spiel.games import require_open_state

    who = "chance moves" if state.is_chance_node() else "all players move at once"
    with pytest.raises(ath.SearchError, match=f"one player is to move, got one where {who}"):
        require_open_state(state.get_game(), state)


@pytest.mark.parametrize("worth", [None, "x", math.nan, math.inf, 10**400, [1.0]], ids=lambda worth: repr(worth)[:9])
@pytest.mark.parametrize("kind", [ath.Descent, ath.UBFM, ath.AlphaBeta, ath.MCTS])
def test_an_outcome_gives_finite_numbers(kind: Any, worth: object) -> None:
    search = kind(GAME, outcome=lambda state: worth)
    with pytest.raises(
        ath.ConfigError, match=r"expected an outcome to give a finite number, got .* for \[0, 3, 1, 4, 2"
    ):
        ath.think(search, after(GAME, 0, 3, 1, 4), ath.Budget(iterations=50), zeros)


@pytest.mark.parametrize("index", ["x", None, -1, 9, 0.5])
def test_a_decision_is_the_index_of_an_action(index: Any) -> None:
    with pytest.raises(ath.AgentError, match=r"^a decision must be the index of one of 9 actions, got "):
        agent(decision=lambda node, rng: index).step(STATE)


def test_numbers_of_numpy_are_numbers() -> None:
    budget = ath.Budget(seconds=np.float64(3), iterations=np.int64(2), evaluations=np.int32(100))
    assert ath.think(SEARCH, STATE, budget, zeros).iterations <= 2
    assert ath.ProofBounds(iterations=np.int64(3)).iterations == 3
    assert ath.play_series(GAME, lambda player: agent(), lambda player: agent(), np.int64(2), seed=np.int64(1)).tally


def test_a_tree_is_shared_by_searches_that_mean_the_same() -> None:
    tree = ath.Descent(GAME).new_tree()
    ath.think(ath.UBFM(GAME), STATE, ath.Budget(iterations=3), zeros, tree=tree)
    twice = ath.load_game("tic_tac_toe()")
    ath.think(ath.Descent(twice), after(twice, 4), ath.Budget(iterations=3), ZeroEvaluator(), tree=tree)
    assert len(tree.nodes) > 3


def test_a_fault_of_a_game_is_not_taken_for_a_wrong_argument() -> None:
    class Broken:
        def num_players(self) -> int:
            return 2

        def player_return(self, player: int) -> float:
            return self.no_such_attribute  # type: ignore[attr-defined]

    with pytest.raises(AttributeError, match="no_such_attribute"):
        ath.gain(Broken())


def test_a_tensor_that_learns_is_no_answer() -> None:
    import torch

    def learning(states: Sequence[pyspiel.State]) -> torch.Tensor:
        return torch.zeros(len(states), requires_grad=True)

    with pytest.raises(ath.EvaluatorError, match=r"must answer an array of numbers, got .*requires grad"):
        ath.think(SEARCH, STATE, BUDGET, learning)


def test_no_argument_is_kept_by_a_call_that_was_refused() -> None:
    played = agent()
    played.think(STATE)
    with pytest.raises(ath.SearchError):
        played.step(OTHER_STATE)
    assert played.step(STATE) in STATE.legal_actions()


@pytest.mark.parametrize("method", ["step", "step_with_policy", "get_policy"])
def test_a_random_bot_does_not_move_for_the_other_player(method: str) -> None:
    bot = agents.load_bot("random", GAME, 0)
    with pytest.raises(ath.SearchError, match="player 0 is to move, got one where player 1 is"):
        getattr(bot, method)(after(GAME, 4))
