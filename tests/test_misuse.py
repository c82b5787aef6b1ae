"""The public API answers what it cannot mean with an error of its own, in a line.

Each public callable is called with plausible wrong things in place of each of its arguments, the others being right.
What comes must be an `AthenanError`, or Python's own TypeError about the signature, and nothing may be left behind.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from training_runs import TINY
from wrong_arguments import (
    BUDGET,
    CALLS,
    CHANCE,
    GAME,
    HEX,
    OTHER_STATE,
    SEARCH,
    SIMULTANEOUS,
    STATE,
    UNSUPPORTED,
    Answer,
    after,
    agent,
    zeros,
)

import agents
import athenan_spiel as ath
from athenan_spiel.evaluators import ZeroEvaluator
from athenan_spiel.outcomes import registry

RECORDS = {"Evaluation", "MatchResult", "Proof", "Run", "SearchResult", "Series", "Outcome"}
"""What the library gives, and a base class: nobody calls them with things of his own."""
NO_ARGUMENTS = {"supported_games"}
CALLED_BY_IPYTHON = {"load_ipython_extension", "unload_ipython_extension"}
"""With its own shell."""
OF_A_RUN = {"load_agent": "folder", "resume": "folder", "export_agent": "run", "export_onnx": "agent"}
"""What needs a run, and by which argument."""


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
    if called in OF_A_RUN and argument != OF_A_RUN[called]:
        right = {**right, OF_A_RUN[called]: tiny_run}
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


@pytest.mark.parametrize("called", [name for name in CALLS if name not in ("train", *OF_A_RUN, "Agent.evaluator")])
def test_the_right_arguments_are_right(called: str, nowhere: Path) -> None:
    function, right, _ = CALLS[called]
    if right:
        function(**right)


def test_every_public_callable_is_tried() -> None:
    settings = {name for name in ath.__all__ if name.endswith("Config")}  # tests/config/test_config.py tries these
    errors = {name for name in ath.__all__ if name.endswith("Error")}
    functions = {name for name in ath.__all__ if callable(getattr(ath, name))} - settings - errors
    assert functions - RECORDS - NO_ARGUMENTS - CALLED_BY_IPYTHON - {"Evaluator"} == {
        name.split(".")[0] for name in CALLS
    }


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
            "'kuhn_poker()' is not supported: it hides information",
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
            "another search's MCTSTree: create one by search.new_tree()",
        ),
        (lambda: ath.think(SEARCH, STATE, 3, zeros), "budget must be a Budget, got 3"),
        (lambda: ath.think(SEARCH, STATE, BUDGET, None), "evaluator must be a function, got None"),
        (
            lambda: ath.think(SEARCH, STATE, BUDGET, Answer(None)),
            "the evaluator must return an array of numbers, got None",
        ),
        (
            lambda: agent(search=ath.UBFM(HEX)),
            "expected a search of 'tic_tac_toe()', got a UBFM of 'hex(board_size=3)'",
        ),
        (lambda: ath.play_match(GAME, [agent()]), "expected a list of 2 players, got [Agent('tic_tac_toe()'"),
        (
            lambda: ath.play_match(GAME, ["mcts:1", "random"]),
            "expected a bot or an agent as player 0, got 'mcts:1'",
        ),
        (lambda: ath.Budget(iterations=1.5), "a budget's iterations must be a whole number, got 1.5"),
        (lambda: ath.Budget(seconds=True), "a budget's seconds must be a number, got True"),
        (lambda: ath.Budget(seconds=1e308), "a budget's seconds must be at most 3,153,600,000, got 1e+308"),
        (
            lambda: ath.Budget(iterations=10**12),
            "a budget's iterations must be at most 1,000,000,000, got 1000000000000",
        ),
        (
            lambda: ath.ProofBounds(megabytes=1e300),
            "the bound of a proof in megabytes must be at most 1,000,000,000, got 1e+300",
        ),
        (lambda: ath.train(GAME, {"seconds": 3}), "config must be a TrainingConfig, got {'seconds': 3}"),
        (lambda: ath.train(GAME, TINY, folder=3), "expected the path of a run's folder, got 3: not a path"),
        (lambda: ath.train(GAME, TINY, milestones=[1]), "a milestone must be a fraction of the run, in (0, 1), got 1"),
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
        ath.ConfigError, match=r"expected an outcome to return a finite number, got .* for \[0, 3, 1, 4, 2"
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

    with pytest.raises(ath.EvaluatorError, match=r"must return an array of numbers, got .*requires grad"):
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
