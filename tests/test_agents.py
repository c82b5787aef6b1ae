"""Bots are what OpenSpiel expects of a bot, are found by name, and are named by words."""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from numpy.typing import NDArray
from open_spiel.python.algorithms import evaluate_bots as python_flavour

import agents
from agents.athenan import DEFAULT_SECONDS, AthenanBot
from agents.human import LISTED, HumanBot, MatchAbandonedError, in_columns, move_called
from agents.registry import _FACTORIES
from athenan_spiel.agent import Agent
from athenan_spiel.errors import AgentError, AthenanError, BudgetError, EvaluatorError
from athenan_spiel.matches import play_match
from athenan_spiel.search import UBFM, Budget

TIC_TAC_TOE = pyspiel.load_game("tic_tac_toe")
GAMES = ["tic_tac_toe", "connect_four", "breakthrough(rows=4,columns=4)", "amazons(board_size=6)"]

Flavour = Callable[[pyspiel.State, Sequence[pyspiel.Bot]], list[float]]


def by_cpp(state: pyspiel.State, bots: Sequence[pyspiel.Bot]) -> list[float]:
    return pyspiel.evaluate_bots(state, bots, 0)


def by_python(state: pyspiel.State, bots: Sequence[pyspiel.Bot]) -> list[float]:
    return python_flavour.evaluate_bots(state, bots, np.random.RandomState(0))


both_flavours = pytest.mark.parametrize("evaluate", [by_cpp, by_python])


def zero(states: Sequence[pyspiel.State]) -> NDArray[np.floating]:
    return np.zeros(len(states))


def make_agent(game: pyspiel.Game, iterations: int = 5, seed: int = 0) -> Agent:
    return Agent(game, UBFM(game), zero, budget=Budget(iterations=iterations), rng=random.Random(seed))


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


class FakeLoading(types.ModuleType):
    """Stands for `training.loading`: an agent without a network, and notes of what was asked for."""

    def __init__(self) -> None:
        super().__init__("athenan_spiel.training.loading")
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def load_agent(self, folder: str, **options: Any) -> Agent:
        self.calls.append((folder, options))
        return Agent(TIC_TAC_TOE, UBFM(TIC_TAC_TOE), zero, budget=options["budget"], rng=random.Random(options["seed"]))


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
    assert loading.calls == [("runs/x", {"budget": budget, "seed": 3})]
    assert bot.agent.budget == budget


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "bot 'athenan' needs the parameter 'checkpoint', got []"),
        ({"checkpoint": "x", "second": 1.0}, "got 'second': did you mean 'seconds'?"),
        ({"checkpoint": "x", "zzz": 1.0}, "checkpoint, seconds, iterations, evaluations, seed; got 'zzz'"),
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


def test_all_bots_are_listed() -> None:
    names = agents.registered_bots()
    assert names == sorted(names)
    assert {"athenan", "mcts", "random", "human", *pyspiel.registered_bots()} == set(names)


def test_a_bot_can_be_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.registry._FACTORIES", dict(_FACTORIES))
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
        with pytest.raises(AgentError, match=f"a name of its own, got '{taken}'"):
            agents.register_bot(taken, factory)


def test_openspiels_own_bots_are_loaded_too() -> None:
    first = agents.load_bot("fixed_action_preference", TIC_TAC_TOE, 0, {"actions": "0:1:2"})
    second = agents.load_bot("fixed_action_preference", TIC_TAC_TOE, player_id=1, params={"actions": "3:4"})
    assert by_cpp(TIC_TAC_TOE.new_initial_state(), [first, second]) == [1, -1]


def test_parameters_that_openspiel_refuses_are_an_agent_error() -> None:
    with pytest.raises(AgentError, match=r"OpenSpiel's bot 'fixed_action_preference' cannot be made") as error:
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


@pytest.mark.parametrize(
    ("text", "bot", "params"),
    [
        ("random", "random", {}),
        ("human", "human", {}),
        ("mcts:1000", "mcts", {"simulations": 1000}),
        ("runs/bt6", "athenan", {"checkpoint": "runs/bt6"}),
        ("/tmp/my runs/bt6/", "athenan", {"checkpoint": "/tmp/my runs/bt6/"}),
        ("./human", "athenan", {"checkpoint": "./human"}),
        ("runs/bt6@0.5s", "athenan", {"checkpoint": "runs/bt6", "seconds": 0.5}),
        ("runs/bt6@.5s", "athenan", {"checkpoint": "runs/bt6", "seconds": 0.5}),
        ("runs/bt6@2s", "athenan", {"checkpoint": "runs/bt6", "seconds": 2.0}),
        ("runs/bt6@200i", "athenan", {"checkpoint": "runs/bt6", "iterations": 200}),
        ("runs/a@b@200i", "athenan", {"checkpoint": "runs/a@b", "iterations": 200}),
    ],
)
def test_words(text: str, bot: str, params: dict[str, object]) -> None:
    word = agents.parse_word(text)
    assert word == agents.AgentWord(text, bot, params)
    assert str(word) == text
    assert word.is_human == (text == "human")


def test_a_folder_that_is_there_needs_no_slash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AgentError):
        agents.parse_word("bt6")
    for name in ("bt6", "bt6@home"):
        (tmp_path / name).mkdir()
        assert agents.parse_word(name).params == {"checkpoint": name}
    assert agents.parse_word("bt6@1s").params == {"checkpoint": "bt6", "seconds": 1.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected an agent: a run's folder"),
        ("randon", "got 'randon': did you mean 'random'?"),
        ("mtcs:50", "got 'mtcs:50': did you mean 'mcts:50'?"),
        ("gtp:/usr/bin/gnugo", "mcts:1000, random or human; got 'gtp:/usr/bin/gnugo'"),
        ("alphabeta@1s", "mcts:1000, random or human; got 'alphabeta@1s'"),
        ("mcts", "mcts takes its simulations a move, at least 1, such as mcts:1000; got 'mcts'"),
        ("mcts:", "at least 1"),
        ("mcts:0", "at least 1"),
        ("mcts:-5", "at least 1"),
        ("mcts:1e3", "at least 1"),
        ("mcts:1000@0.5s", "mcts takes its simulations and no other budget, such as mcts:1000; got 'mcts:1000@0.5s'"),
        ("runs/bt6@", "after @ comes thinking a move, as 0.5s (seconds) or 200i (iterations); got 'runs/bt6@'"),
        ("runs/bt6@fast", "after @ comes"),
        ("runs/bt6@1.5i", "after @ comes"),
        ("runs/bt6@1m", "after @ comes"),
        ("runs/bt6@-1s", "after @ comes"),
    ],
)
def test_words_that_are_not_understood(text: str, message: str) -> None:
    with pytest.raises(AgentError) as error:
        agents.parse_word(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["runs/bt6@0s", "runs/bt6@0i"])
def test_words_without_thinking_time(text: str) -> None:
    with pytest.raises(BudgetError, match="more than zero"):
        agents.parse_word(text)


def test_words_make_bots(loading: FakeLoading) -> None:
    first = agents.make_bot("runs/x@5i", TIC_TAC_TOE, 0, seed=9)
    second = agents.make_bot(agents.parse_word("random"), TIC_TAC_TOE, 1, seed=9)
    assert loading.calls == [("runs/x", {"budget": Budget(iterations=5), "seed": 9})]
    assert len(play_match(TIC_TAC_TOE, [first, second]).history) >= 5
    assert isinstance(agents.make_bot("human", TIC_TAC_TOE, 1, seed=9), HumanBot)
    with pytest.raises(AgentError, match="has the parameters none"):
        agents.load_bot("human", TIC_TAC_TOE, 0, {"seed": 1})


class Terminal:
    """A person who types given lines, and what the screen has shown."""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.shown: list[str] = []

    def ask(self, prompt: str) -> str:
        self.shown.append(prompt)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)

    def bot(self, width: int = 80) -> HumanBot:
        return HumanBot(self.ask, lambda text: self.shown.append(str(text)), width=width)

    @property
    def screen(self) -> str:
        return "\n".join(self.shown)


def test_a_person_sees_the_board_and_the_moves_and_types_one() -> None:
    terminal = Terminal("x(1,1)")
    assert terminal.bot().step(TIC_TAC_TOE.new_initial_state()) == 4
    assert "...\n...\n..." in terminal.screen
    assert "4: x(1,1)" in terminal.screen


@pytest.mark.parametrize("line", ["8", " 8 ", "X(2,2)", "x(2,2)  "])
def test_a_move_has_a_name_and_a_number(line: str) -> None:
    assert Terminal(line).bot().step(TIC_TAC_TOE.new_initial_state()) == 8


def test_names_come_before_numbers_and_capitals_may_matter() -> None:
    names = {0: "1", 1: "0", 2: "b3", 3: "B3", 7: "Nf3"}
    assert [move_called(answer, names) for answer in ("1", "b3", "B3", "7", "nF3")] == [0, 2, 3, 7, 7]
    assert [move_called(answer, names) for answer in ("5", "", "x", "-1", "²")] == [None] * 5


def test_wrong_input_is_answered_in_a_line_and_asked_again() -> None:
    terminal = Terminal("x(1,3)", "4", "", "5")
    state = TIC_TAC_TOE.new_initial_state()
    state.apply_action(4)
    assert terminal.bot().step(state) == 5
    refusals = [text for text in terminal.shown if "is no legal move" in text]
    assert [text.count("\n") for text in refusals] == [0, 0, 0]
    assert refusals[1] == "'4' is no legal move (`?` lists them, `quit` ends)"
    assert "did you mean" in refusals[0]


def test_help_lists_the_moves() -> None:
    game = pyspiel.load_game("hex")
    terminal = Terminal("?", "0")
    assert terminal.bot().step(game.new_initial_state()) == 0
    first, _, rest = terminal.screen.partition("Your move: ")
    assert game.num_distinct_actions() > LISTED
    assert "121 legal moves: `?` lists them" in first
    assert "60: " not in first
    assert "60: " in rest


@pytest.mark.parametrize("width", [1, 20, 80])
def test_columns_fit_the_terminal_and_lose_nothing(width: int) -> None:
    names = {action: f"move{action}" for action in range(30)}
    lines = in_columns(names, width).splitlines()
    assert sorted("  ".join(lines).replace(": ", ":").split()) == sorted(f"{a}:move{a}" for a in names)
    assert max(map(len, lines)) <= max(width, len("29: move29"))


@pytest.mark.parametrize(("lines", "reason"), [(("quit",), "by quit"), (("QUIT",), "by quit"), ((), "no more input")])
def test_a_person_may_leave(lines: tuple[str, ...], reason: str) -> None:
    bots = [Terminal(*lines).bot(), pyspiel.make_uniform_random_bot(1, 0)]
    with pytest.raises(MatchAbandonedError, match=reason) as error:
        play_match(TIC_TAC_TOE, bots)
    assert isinstance(error.value, AthenanError)


@both_flavours
def test_a_person_plays_a_match_and_is_told_the_other_moves(evaluate: Flavour) -> None:
    terminal = Terminal("0", "1", "2")
    other = agents.load_bot("fixed_action_preference", TIC_TAC_TOE, 1, {"actions": "3:4"})
    assert evaluate(TIC_TAC_TOE.new_initial_state(), [terminal.bot(), other]) == [1.0, -1.0]
    assert "The other player plays o(1,0)." in terminal.screen


def test_a_person_is_a_harmless_bot() -> None:
    bot = Terminal().bot()
    bot.restart()
    bot.restart_at(TIC_TAC_TOE.new_initial_state())
    bot.inform_actions(TIC_TAC_TOE.new_initial_state(), [0, 0])
    assert not bot.provides_policy()
    assert not bot.is_clonable()
