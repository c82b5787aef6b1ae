"""Plausible wrong things for each argument of each public callable, the other arguments being right (`CALLS`)."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyspiel
from numpy.typing import NDArray
from training_runs import TINY

import athenan_spiel as ath
from athenan_spiel.encoding import Encoder
from athenan_spiel.engines.torch_engine import TorchEngine
from athenan_spiel.evaluators import NetworkEvaluator
from athenan_spiel.search.uct import UCT

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
UNSUPPORTED = {name: pyspiel.load_game(name) for name in ("kuhn_poker", "goofspiel", "leduc_poker", "matrix_rps")}
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
BREAKS_A_LAW = {name: UNSUPPORTED[name] for name in ("goofspiel", "matrix_rps")}
"""Games that break a law of `check_game`; it accepts others that cannot be trained."""
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
NO_FILE = NO_FOLDER | {"nowhere": "no/such/folder/file", "a folder": "/"}
"""Where a new file is wanted."""


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
    "most_states": NO_WHOLE_NUMBER | {"zero": 0},
}
CHANCE_OPTIONS = {
    "chance_selection": NO_FUNCTION | {"None": None},
    "chance_samples": NO_WHOLE_NUMBER | {"None": None, "zero": 0},
}
CALLS: Mapping[str, tuple[Callable[..., Any], Mapping[str, Any], Wrong]] = {
    "Descent": (ath.Descent, {"game": GAME}, SEARCH_OPTIONS | CHANCE_OPTIONS),
    "UBFM": (ath.UBFM, {"game": GAME}, SEARCH_OPTIONS | CHANCE_OPTIONS),
    "Expectiminimax": (
        ath.Expectiminimax,
        {"game": GAME},
        {**SEARCH_OPTIONS, "depth": NO_WHOLE_NUMBER | {"zero": 0, "too deep": 257}},
    ),
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
    "AlphaZeroMCTS": (
        ath.AlphaZeroMCTS,
        {"game": GAME},
        {
            **{name: wrong for name, wrong in SEARCH_OPTIONS.items() if name != "completion"},
            "exploration_constant": NO_NUMBER | {"None": None, "negative": -1.0},
            "root_noise": NO_NUMBER | {"negative": -0.1, "more than all": 1.1},
            "dirichlet_alpha": NO_NUMBER | {"zero": 0.0},
            "virtual_loss_batch": NO_WHOLE_NUMBER | {"None": None, "zero": 0, "too many": 10**9},
        },
    ),
    "GumbelMCTS": (
        ath.GumbelMCTS,
        {"game": GAME},
        {
            **{name: wrong for name, wrong in SEARCH_OPTIONS.items() if name != "completion"},
            "considered_actions": NO_WHOLE_NUMBER | {"None": None, "zero": 0},
            "root_noise": NO_NUMBER | {"negative": -0.1, "more than all": 1.1},
            "selection": NO_OBJECT | {"another rule": UCT()},
            "virtual_loss_batch": NO_WHOLE_NUMBER | {"None": None, "zero": 0, "too many": 10**9},
        },
    ),
    "ExItMCTS": (
        ath.ExItMCTS,
        {"game": GAME},
        {
            **{name: wrong for name, wrong in SEARCH_OPTIONS.items() if name != "completion"},
            "exploration_constant": NO_NUMBER | {"None": None, "negative": -1.0},
            "prior_weight": NO_NUMBER | {"None": None, "negative": -1.0},
            "value_weight": NO_NUMBER | {"None": None, "negative": -1.0},
            "first_play_urgency": NO_OBJECT | {"None": None},
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
    "show": (ath.show, {"thing": STATE}, {"thing": NOTHING_AT_ALL | {"None": None, "a game": GAME}}),
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
            "algorithm": NO_OBJECT | {"misspelt": "decent"},
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
            "match_seconds": NO_NUMBER | {"zero": 0},
            "match_increment": NO_NUMBER | {"None": None, "alone": 1.0},
            "ponder": NO_OBJECT | {"None": None, "one": 1},
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
    "Agent.policy": (
        lambda state, temperature=None: agent().policy(state, temperature),
        {"state": STATE},
        {"state": NO_STATE | {"None": None}, "temperature": NO_NUMBER | {"zero": 0}},
    ),
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
            "config": NO_OBJECT | {"a search's": ath.DescentConfig()},
            "folder": {name: wrong for name, wrong in NO_FOLDER.items() if name != "nowhere"},
            "callbacks": NO_OBJECT | {"None": None, "texts": ["x"]},
            "stop": NO_FUNCTION,
            "milestones": NO_OBJECT | {"None": None, "one": [1.0], "texts": ["x"], "nan": [math.nan]},
            "max_rollbacks": NO_WHOLE_NUMBER | {"None": None},
            "cluster": NO_OBJECT,
        },
    ),
    "load_agent": (
        ath.load_agent,
        {"folder": "run"},
        {
            "folder": NO_FOLDER | {"None": None},
            "checkpoint": NO_OBJECT | {"negative": -1, "true": True, "of no match": 10**9},
            "seconds": NO_NUMBER | {"zero": 0},
            "match_seconds": NO_NUMBER | {"zero": 0},
            "match_increment": NO_NUMBER | {"None": None, "alone": 1.0},
            "ponder": NO_OBJECT | {"None": None, "one": 1},
            "budget": NO_OBJECT,
            "seed": {
                name: wrong for name, wrong in NO_WHOLE_NUMBER.items() if name not in ("negative", "a huge number")
            },
            "engine": NO_OBJECT,
            "search": NO_OBJECT | {"misspelt": "ufbm"},
            "outcome": NO_OBJECT,
        },
    ),
    "export_agent": (
        ath.export_agent,
        {"run": "run", "file": "agent.safetensors"},
        {
            "run": NO_FOLDER | {"None": None},
            "file": NO_FILE,
            "checkpoint": NO_OBJECT | {"negative": -1, "true": True, "of no match": 10**9},
            "overwrite": NO_OBJECT | {"None": None, "one": 1},
        },
    ),
    "export_onnx": (
        ath.export_onnx,
        {"agent": "run", "file": "network.onnx"},
        {
            "agent": NO_FOLDER | {"None": None},
            "file": NO_FILE | {"None": None},
            "checkpoint": NO_OBJECT | {"negative": -1, "true": True, "of no match": 10**9},
            "overwrite": NO_OBJECT | {"None": None, "one": 1},
        },
    ),
    "resume": (
        ath.resume,
        {"folder": "run"},
        {
            "folder": NO_FOLDER | {"None": None},
            "more_matches": NO_WHOLE_NUMBER | {"zero": 0},
            "more_seconds": NO_NUMBER | {"zero": 0},
            "memory": NO_WHOLE_NUMBER | {"zero": 0, "too little": 1},
            "outcome": NO_OBJECT,
            "callbacks": NO_OBJECT | {"None": None},
            "stop": NO_FUNCTION,
            "milestones": NO_OBJECT | {"None": None},
            "max_rollbacks": NO_WHOLE_NUMBER | {"None": None},
            "cluster": NO_OBJECT,
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
            "game": NOTHING_AT_ALL | NO_SPEC | {"None": None, "a state": STATE} | BREAKS_A_LAW,
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
