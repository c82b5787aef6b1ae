"""Bots are what OpenSpiel expects of a bot, and are found by name."""

from __future__ import annotations

import random
import shutil
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import evaluate_bots as python_flavour

import agents
import athenan_spiel as ath
from agents.athenan import AthenanBot
from agents.bot import BaseBot
from agents.human import HumanBot
from agents.parameters import DEFAULT_SECONDS
from agents.registry import BUILT_IN, KINDS
from athenan_spiel.config import DescentConfig, TrainingConfig
from athenan_spiel.errors import (
    AgentError,
    BudgetError,
    CheckpointError,
    EvaluatorError,
)
from athenan_spiel.evaluators.simple import ZeroEvaluator
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.match import play_match
from athenan_spiel.search import UBFM, Budget
from athenan_spiel.training import train

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")
GAMES = ["tic_tac_toe", "connect_four", "breakthrough(rows=4,columns=4)", "amazons(board_size=6)"]

Flavour = Callable[[pyspiel.State, Sequence[pyspiel.Bot]], list[float]]


def by_cpp(state: pyspiel.State, bots: Sequence[pyspiel.Bot]) -> list[float]:
    return pyspiel.evaluate_bots(state, bots, 0)


def by_python(state: pyspiel.State, bots: Sequence[pyspiel.Bot]) -> list[float]:
    return python_flavour.evaluate_bots(state, bots, np.random.RandomState(0))


both_flavours = pytest.mark.parametrize("evaluate", [by_cpp, by_python])


def make_agent(game: pyspiel.Game, iterations: int = 5, seed: int = 0) -> Agent:
    return Agent(game, UBFM(game), ZeroEvaluator(), budget=Budget(iterations=iterations), rng=random.Random(seed))


def make_athenan(game: pyspiel.Game, iterations: int = 5, seed: int = 0) -> AthenanBot:
    return AthenanBot(make_agent(game, iterations, seed))


def after(game: pyspiel.Game, plies: int, seed: int = 0) -> pyspiel.State:
    """A state after some random plies."""
    rng = random.Random(seed)
    state = game.new_initial_state()
    for _ in range(plies):
        state.apply_action(rng.choice(state.legal_actions()))
    return state


@both_flavours
@pytest.mark.parametrize("plies", [0, 3])
@pytest.mark.parametrize("spec", GAMES)
def test_both_flavours_of_evaluate_bots_run_the_bot(evaluate: Flavour, plies: int, spec: str) -> None:
    game = pyspiel.load_game(spec)
    for colour in range(2):
        bots = [make_athenan(game), pyspiel.make_uniform_random_bot(1 - colour, 1)]
        state = after(game, plies)
        returns = evaluate(state, bots[::-1] if colour else bots)
        assert state.is_terminal()
        assert returns == state.returns()


@both_flavours
def test_the_bot_plays_itself_and_mcts(evaluate: Flavour) -> None:
    game = pyspiel.load_game("connect_four")
    assert sum(evaluate(game.new_initial_state(), [make_athenan(game), make_athenan(game)])) == 0
    mcts = agents.make_bot("mcts:20", game, 1)
    assert sum(evaluate(game.new_initial_state(), [make_athenan(game), mcts])) == 0


@both_flavours
def test_matches_one_after_another_start_with_an_empty_tree(evaluate: Flavour) -> None:
    game = pyspiel.load_game("connect_four")
    histories = []
    for _ in range(2):
        bots = [make_athenan(game, 20), make_athenan(game, 20)]
        for _ in range(2):
            bots[0].agent.rng.seed(4)
            bots[1].agent.rng.seed(5)
            state = game.new_initial_state()
            evaluate(state, bots)
            histories.append(state.history())
    assert histories == histories[:1] * 4


@pytest.mark.parametrize("spec", GAMES)
def test_the_methods_of_a_bot_agree(spec: str) -> None:
    game = pyspiel.load_game(spec)
    bot = make_athenan(game)
    state = after(game, 2)
    assert bot.provides_policy()
    assert bot.is_clonable()
    policy = bot.get_policy(state)
    assert [action for action, _ in policy] == state.legal_actions()
    assert sorted({probability for _, probability in policy}) == [0.0, 1.0]
    assert sum(probability for _, probability in policy) == 1.0
    assert dict(policy)[bot.step(state)] == 1.0
    assert bot.step_with_policy(state) == (policy, bot.step(state))
    # The same through OpenSpiel's C++ class, as its algorithms call it.
    assert pyspiel.Bot.step_with_policy(bot, state) == (policy, bot.step(state))
    assert pyspiel.Bot.get_policy(bot, state) == policy


def test_bots_report_which_methods_they_have() -> None:
    class Bare(BaseBot):
        pass

    bots = [make_athenan(TIC_TAC_TOE), agents.make_bot("random", TIC_TAC_TOE, 0), HumanBot(), Bare()]
    has = [(bot.provides_policy(), bot.is_clonable()) for bot in bots]
    assert has == [(True, True), (True, True), (False, False), (False, False)]
    for call in (lambda: bots[-1].step(TIC_TAC_TOE.new_initial_state()), bots[-1].restart):
        with pytest.raises(NotImplementedError):
            call()


def test_being_informed_changes_nothing() -> None:
    game = pyspiel.load_game("connect_four")
    told, untold = make_athenan(game, 20), make_athenan(game, 20)
    state = game.new_initial_state()
    told.inform_action(state, 1, 3)
    told.inform_actions(state, [3, 3])
    assert told.step(state) == untold.step(state)


def test_a_clone_plays_alike_and_apart() -> None:
    game = pyspiel.load_game("connect_four")
    bot = make_athenan(game, 20)
    state = game.new_initial_state()
    for action in (bot.step(state), 0):
        state.apply_action(action)
    clone = bot.clone()
    assert isinstance(pyspiel.Bot.clone(bot), AthenanBot)
    assert clone.agent is not bot.agent
    while not state.is_terminal():
        action = bot.step(state)
        assert clone.step(state) == action
        state.apply_action(action)
    clone.restart()
    assert bot.agent.tree.table
    assert not clone.agent.tree.table


def test_restart_at_a_position_forgets_the_match() -> None:
    game = pyspiel.load_game("connect_four")
    bot = make_athenan(game)
    bot.step(game.new_initial_state())
    state = after(game, 4)
    bot.restart_at(state)
    assert not bot.agent.tree.table
    assert bot.step(state) in state.legal_actions()


def test_an_error_in_the_bot_comes_through_cpp() -> None:
    bot = make_athenan(TIC_TAC_TOE)
    bot.agent.evaluator = lambda states: np.zeros(1)
    with pytest.raises(EvaluatorError):
        by_cpp(TIC_TAC_TOE.new_initial_state(), [bot, bot.clone()])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a real run, two matches long."""
    config = TrainingConfig(matches=2, matches_at_once=2, search=DescentConfig(iterations=2))
    return str(train(TIC_TAC_TOE, config, tmp_path_factory.mktemp("runs") / "ttt").folder)


@both_flavours
def test_a_trained_run_plays(evaluate: Flavour, run: str) -> None:
    bot = agents.load_bot("athenan", TIC_TAC_TOE, 0, {"checkpoint": run, "iterations": 500})
    clone = bot.clone()
    # 500 iterations a move solve the rest of the match from early on: against itself, a draw.
    assert evaluate(TIC_TAC_TOE.new_initial_state(), [bot, clone]) == [0.0, 0.0]
    state = TIC_TAC_TOE.new_initial_state()
    random_bot = agents.make_bot("random", TIC_TAC_TOE, 1, seed=1)
    assert evaluate(state, [agents.make_bot(f"{run}@500i", TIC_TAC_TOE, 0), random_bot])[0] >= 0.0


def test_a_trained_run_is_reproducible_by_its_seed(run: str) -> None:
    def play(seed: int) -> tuple[int, ...]:
        bots = [agents.make_bot(f"{run}@3i", TIC_TAC_TOE, player, seed + player) for player in range(2)]
        return play_match(TIC_TAC_TOE, bots).history

    assert play(5) == play(5)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError):
        agents.make_bot(f"{tmp_path}/nothing@1s", TIC_TAC_TOE, 0)


class FakeLoading(types.ModuleType):
    """Stands for `training.loading`: an agent without a network, and notes of what was asked for."""

    def __init__(self) -> None:
        super().__init__("athenan_spiel.training.loading")
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def load_agent(self, folder: str, **options: Any) -> Agent:
        self.calls.append((folder, options))
        return Agent(
            TIC_TAC_TOE,
            UBFM(TIC_TAC_TOE),
            ZeroEvaluator(),
            budget=options["budget"],
            rng=random.Random(options["seed"]),
        )


@pytest.fixture
def loading(monkeypatch: pytest.MonkeyPatch) -> FakeLoading:
    fake = FakeLoading()
    monkeypatch.setitem(sys.modules, "athenan_spiel.training.loading", fake)
    return fake


@pytest.mark.parametrize(
    ("params", "budget"),
    [
        ({}, Budget(seconds=DEFAULT_SECONDS)),
        ({"seconds": 2}, Budget(seconds=2.0)),
        ({"iterations": np.int64(5)}, Budget(iterations=5)),
        ({"seconds": 0.5, "evaluations": 100}, Budget(seconds=0.5, evaluations=100)),
        ({"seconds": None, "iterations": 7}, Budget(iterations=7)),
    ],
)
def test_athenan_takes_a_budget(loading: FakeLoading, params: Mapping[str, object], budget: Budget) -> None:
    bot = agents.load_bot("athenan", TIC_TAC_TOE, player_id=0, params={"checkpoint": "runs/x", "seed": 3, **params})
    options = {
        "checkpoint": None,
        "budget": budget,
        "seed": 3,
        "search": None,
        "outcome": (),
        "match_seconds": None,
        "match_increment": 0.0,
        "ponder": False,
        "proofs": True,
    }
    assert loading.calls == [("runs/x", options)]
    assert bot.agent.budget == budget


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "bot 'athenan' needs the parameter 'checkpoint', got []"),
        ({"checkpoint": "x", "second": 1.0}, "got 'second': did you mean 'seconds'?"),
        (
            {"checkpoint": "x", "zzz": 1.0},
            "match_increment, temperature, ponder, seed, checkpoint, matches, best, search, proofs, outcome; got 'zzz'",
        ),
        (
            {"checkpoint": "x", "search": "mtcs"},
            "expected a search, one of ubfm_s, ubfm_k, ubfm, descent, alphabeta, mcts, puct, gumbel, exit",
        ),
        ({"checkpoint": 7}, "'checkpoint' of bot 'athenan' must be a text, got 7"),
        ({"checkpoint": "x", "seconds": "1"}, "'seconds' of bot 'athenan' must be a number, got '1'"),
        ({"checkpoint": "x", "iterations": 2.5}, "'iterations' of bot 'athenan' must be a whole number, got 2.5"),
        ({"checkpoint": "x", "iterations": True}, "'iterations' of bot 'athenan' must be a whole number, got True"),
        ({"checkpoint": "x", "seed": None}, "'seed' of bot 'athenan' must be a whole number, got None"),
    ],
)
def test_athenan_refuses_parameters(loading: FakeLoading, params: Mapping[str, object], message: str) -> None:
    with pytest.raises(AgentError) as error:
        agents.load_bot("athenan", TIC_TAC_TOE, 0, params)
    assert message in str(error.value)
    assert not loading.calls


def test_athenan_refuses_to_think_for_no_time(loading: FakeLoading) -> None:
    with pytest.raises(BudgetError, match="more than zero, got 0"):
        agents.load_bot("athenan", TIC_TAC_TOE, 0, {"checkpoint": "x", "seconds": 0})
    assert not loading.calls


def test_a_run_of_another_game_is_refused(loading: FakeLoading) -> None:
    with pytest.raises(AgentError, match=r"'runs/x' learned 'tic_tac_toe\(\)' and cannot play 'hex\(\)'"):
        agents.load_bot("athenan", pyspiel.load_game("hex"), 0, {"checkpoint": "runs/x"})


def test_defaults_spelled_out_are_the_same_game(loading: FakeLoading, monkeypatch: pytest.MonkeyPatch) -> None:
    game = pyspiel.load_game("connect_four")
    monkeypatch.setattr(loading, "load_agent", lambda folder, **options: make_agent(game))
    agents.load_bot("athenan", pyspiel.load_game("connect_four(rows=6,columns=7)"), 0, {"checkpoint": "x"})
    with pytest.raises(AgentError, match="cannot play"):
        agents.load_bot("athenan", pyspiel.load_game("connect_four(rows=5)"), 0, {"checkpoint": "x"})


def test_alphabeta_needs_no_network() -> None:
    """It proves a small game and plays it perfectly, whatever its seed."""
    game = pyspiel.load_game("nim(pile_sizes=1;2;3)")  # the second player wins
    for seed in (0, -1):
        alphabeta = agents.load_bot("alphabeta", game, 1, {"iterations": 20, "seed": seed})
        assert alphabeta.agent.think(game.new_initial_state()).completion == -1
        assert play_match(game, [pyspiel.make_uniform_random_bot(0, 1), alphabeta]).returns == (-1, 1)
    shallow = agents.make_bot("alphabeta(2)", game, 1)
    assert shallow.agent.think(game.new_initial_state()).iterations == 2


def test_alphabeta_plays_for_the_score_where_nobody_else_plays() -> None:
    game = ath.load_game("cliff_walking")
    alphabeta = agents.make_bot("alphabeta@20i", game, 0)
    assert play_match(game, [alphabeta]).returns == (-9.0,), "the shortest way that does not fall, 9 steps long"


@pytest.mark.parametrize("depth", [0, -3, 257])
def test_alphabeta_refuses_a_depth(depth: int) -> None:
    with pytest.raises(AgentError, match=f"the depth of bot 'alphabeta' must be at (least 1|most 256), got {depth}"):
        agents.load_bot("alphabeta", TIC_TAC_TOE, 0, {"depth": depth})


def test_all_bots_are_listed() -> None:
    names = agents.registered_bots()
    assert names == sorted(names)
    assert {"athenan", "mcts", "uct", "pyspiel", *(kind.name for kind in BUILT_IN), *pyspiel.registered_bots()} == set(
        names
    )


def test_a_bot_can_be_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.registry.KINDS", dict(KINDS))
    made: list[tuple[int, dict[str, object]]] = []

    def factory(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> pyspiel.Bot:
        made.append((player_id, dict(params)))
        return pyspiel.make_uniform_random_bot(player_id, 0)

    agents.register_bot("mine", factory)
    assert "mine" in agents.registered_bots()
    agents.load_bot("mine", TIC_TAC_TOE, 1, {"x": 2})
    agents.load_bot("mine", TIC_TAC_TOE, 0)
    assert made == [(1, {"x": 2}), (0, {})]
    for taken in ("mine", "athenan", "uniform_random"):
        with pytest.raises(AgentError, match=f"must be new, got '{taken}'"):
            agents.register_bot(taken, factory)


def test_openspiels_own_bots_are_loaded_too() -> None:
    first = agents.load_bot("fixed_action_preference", TIC_TAC_TOE, 0, {"actions": "0:1:2"})
    second = agents.load_bot("fixed_action_preference", TIC_TAC_TOE, player_id=1, params={"actions": "3:4"})
    assert by_cpp(TIC_TAC_TOE.new_initial_state(), [first, second]) == [1, -1]


def test_parameters_that_openspiel_refuses_are_an_agent_error() -> None:
    with pytest.raises(AgentError, match=r"OpenSpiel's bot 'fixed_action_preference' cannot be created") as error:
        agents.load_bot("fixed_action_preference", TIC_TAC_TOE, 0, {"actions": object()})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("name", "hint"), [("athenann", "athenan"), ("uniform_randm", "uniform_random")])
def test_an_unknown_bot_gets_the_nearest_name(name: str, hint: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AgentError, match=f"got '{name}': did you mean '{hint}'"):
        agents.load_bot(name, TIC_TAC_TOE, 0)
    assert capfd.readouterr().err == ""


def test_mcts_and_random_take_a_seed() -> None:
    state = TIC_TAC_TOE.new_initial_state()
    for name, params in (("mcts", {"simulations": 30}), ("random", {})):
        pairs = [agents.load_bot(name, TIC_TAC_TOE, 0, {**params, "seed": 2**63 + 1}) for _ in range(2)]
        assert [pairs[0].step(state) for _ in range(5)] == [pairs[1].step(state) for _ in range(5)]


def test_words_make_bots(loading: FakeLoading) -> None:
    first = agents.make_bot("runs/x@5i", TIC_TAC_TOE, 0, seed=9)
    second = agents.make_bot(agents.parse_spec("random"), TIC_TAC_TOE, 1, seed=9)
    given = {"checkpoint": None, "budget": Budget(iterations=5), "match_seconds": None, "seed": 9}
    options = {**given, "match_increment": 0.0, "ponder": False, "proofs": True, "search": None, "outcome": ()}
    assert loading.calls == [("runs/x", options)]
    assert len(play_match(TIC_TAC_TOE, [first, second]).history) >= 5
    agents.make_bot("runs/x:mcts(0.5)@5i", TIC_TAC_TOE, 0, seed=9)
    agents.make_bot("runs/x#48@5i", TIC_TAC_TOE, 0, seed=9)
    assert loading.calls[1:] == [
        ("runs/x", {**options, "search": "mcts(0.5)"}),
        ("runs/x", {**options, "checkpoint": 48}),
    ]
    assert isinstance(agents.make_bot("human", TIC_TAC_TOE, 1, seed=9), HumanBot)
    with pytest.raises(AgentError, match="has the parameters none"):
        agents.load_bot("human", TIC_TAC_TOE, 0, {"seed": 1})


def test_a_game_may_be_a_string() -> None:
    for word in ("alphabeta(1)", "mcts:2", "random"):
        assert agents.make_bot(word, "tic_tac_toe", 0).step(TIC_TAC_TOE.new_initial_state()) in range(9)


def test_the_best_checkpoint_is_taken_where_there_is_one(tiny_run: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="has no best network: one is kept after the first evaluation"):
        agents.make_bot(f"{tiny_run}#best", TIC_TAC_TOE, 0)
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    shutil.copytree(next((run / "checkpoints").iterdir()), run / "best")
    bot = agents.make_bot(f"{run}#best@5i", TIC_TAC_TOE, 0)
    assert isinstance(bot, AthenanBot)
    assert agents.parse_spec(f"{run}#best").learned_game() == "tic_tac_toe()"
    with pytest.raises(AgentError, match="takes matches or best, not both; got 3 matches"):
        agents.load_bot("athenan", TIC_TAC_TOE, 0, {"checkpoint": str(run), "best": True, "matches": 3})
