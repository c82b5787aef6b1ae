"""Every setting of a search reaches it: in training, in an agent of a run, and in a search spec."""

from __future__ import annotations

import dataclasses
import operator
import random
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from hand_nodes import kind
from oracles.brute_force import load
from oracles.evaluators import constant, noise
from training_runs import TINY

from athenan_spiel.config import (
    SEARCH_CONFIGS,
    EvaluationConfig,
    ProverConfig,
    SearchConfig,
    TargetsConfig,
    TrainingConfig,
)
from athenan_spiel.config.search import (
    DEEPEST,
    DecisionName,
    PlayName,
    ProverName,
    SearchName,
)
from athenan_spiel.errors import AgentError, ConfigError, SearchError
from athenan_spiel.evaluators import RolloutEvaluator
from athenan_spiel.games import load_game
from athenan_spiel.outcomes import Gain
from athenan_spiel.outcomes.rows import gain_of
from athenan_spiel.search import MCTS, UBFM, AlphaBeta, Budget, Descent, Search, make_search, think
from athenan_spiel.search.algorithms import (
    ALGORITHMS,
    DECISIONS,
    DEFAULT_LINES,
    SEARCH_NAMES,
    decision_of,
    parse_search,
)
from athenan_spiel.search.choice import Decision, best, random_outcome, safest, securest
from athenan_spiel.search.exit import ExItMCTS, ExItUCT
from athenan_spiel.search.gumbel import GumbelMCTS, GumbelSelection, gumbel_choice
from athenan_spiel.search.node import Node
from athenan_spiel.search.proven_states import ResolvedStates
from athenan_spiel.search.puct import PUCT, AlphaZeroMCTS, DirichletNoise
from athenan_spiel.search.ubfm import BestWithUCT
from athenan_spiel.search.uct import UCT
from athenan_spiel.training import load_agent, train
from athenan_spiel.training.actor import Actor
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.settings_file import config_from_dict

TIC_TAC_TOE = load("tic_tac_toe")


def search_of(algorithm: str = "descent", **settings: Any) -> SearchConfig:
    search: SearchConfig = SEARCH_CONFIGS[algorithm](**settings)
    return search


def config(**settings: Any) -> TrainingConfig:
    """A tiny run of this search; over a network with a policy, if it needs one."""
    others: dict[str, Any] = {}
    search = search_of(iterations=2, **settings)
    if search.needs_priors:
        network = dataclasses.replace(TINY.network, policy="auto")
        others = {"network": network, "targets": TargetsConfig(method="terminal")}
    return dataclasses.replace(TINY, search=search, matches=4, matches_at_once=2, **others)


SEARCHES: dict[str, tuple[dict[str, Any], type[Search], dict[str, Any]]] = {
    "descent": ({}, Descent, {"completion": True}),
    "ubfm": ({"algorithm": "ubfm", "completion": False}, UBFM, {"completion": False}),
    "alphabeta": ({"algorithm": "alphabeta"}, AlphaBeta, {"completion": True, "depth": DEEPEST}),
    "alphabeta on values": ({"algorithm": "alphabeta", "completion": False}, AlphaBeta, {"completion": False}),
    "ubfm with UCT": (
        {"algorithm": "ubfm", "exploration_constant": 1.5, "batched": False},
        UBFM,
        {"exploration_constant": 1.5, "select": BestWithUCT(1.5, 1.0), "batched": False},
    ),
    "alphabeta to a depth": ({"algorithm": "alphabeta", "depth": 2}, AlphaBeta, {"depth": 2}),
    "descent, bounded": ({"longest_descent": 3}, Descent, {"longest": 3}),
    "mcts": (
        {"algorithm": "mcts"},
        MCTS,
        {"selection": UCT(0.4, first_play_urgency=False), "rollouts": False, "virtual_loss_batch": 1},
    ),
    "mcts without exploration": (
        {"algorithm": "mcts", "exploration_constant": 0.0},
        MCTS,
        {"selection": UCT(0.0), "completion": False},
    ),
    "mcts with all there is": (
        {
            "algorithm": "mcts",
            "exploration_constant": 1.5,
            "first_play_urgency": True,
            "rollouts": True,
            "virtual_loss_batch": 3,
        },
        MCTS,
        {"selection": UCT(1.5, first_play_urgency=True), "rollouts": True, "virtual_loss_batch": 3},
    ),
    "puct": (
        {"algorithm": "puct"},
        AlphaZeroMCTS,
        {"selection": PUCT(1.25), "noise": DirichletNoise(0.0), "virtual_loss_batch": 1},
    ),
    "puct with all there is": (
        {
            "algorithm": "puct",
            "exploration_constant": 2.0,
            "root_noise": 0.25,
            "dirichlet_alpha": 0.3,
            "virtual_loss_batch": 3,
        },
        AlphaZeroMCTS,
        {"selection": PUCT(2.0), "noise": DirichletNoise(0.25, 0.3), "virtual_loss_batch": 3},
    ),
    "gumbel": (
        {"algorithm": "gumbel"},
        GumbelMCTS,
        {"selection": GumbelSelection(), "considered_actions": 16, "root_noise": 0.0, "virtual_loss_batch": 1},
    ),
    "gumbel with all there is": (
        {"algorithm": "gumbel", "considered_actions": 4, "root_noise": 1.0, "virtual_loss_batch": 3},
        GumbelMCTS,
        {"considered_actions": 4, "root_noise": 1.0, "virtual_loss_batch": 3},
    ),
    "exit": ({"algorithm": "exit"}, ExItMCTS, {"selection": ExItUCT(0.05, 100.0, 0.75), "virtual_loss_batch": 1}),
    "exit with all there is": (
        {
            "algorithm": "exit",
            "exploration_constant": 0.2,
            "prior_weight": 5.0,
            "value_weight": 0.0,
            "first_play_urgency": True,
            "virtual_loss_batch": 3,
        },
        ExItMCTS,
        {"selection": ExItUCT(0.2, 5.0, 0.0, first_play_urgency=True), "virtual_loss_batch": 3},
    ),
}


@pytest.mark.parametrize(("settings", "kind", "attributes"), SEARCHES.values(), ids=SEARCHES)
def test_settings_make_the_search(settings: dict[str, Any], kind: type[Search], attributes: dict[str, Any]) -> None:
    outcome = Gain()
    search = make_search(TIC_TAC_TOE, search_of(**settings), outcome)
    assert type(search) is kind
    assert search.outcome is outcome
    assert {name: getattr(search, name) for name in attributes} == attributes


@pytest.mark.parametrize(("settings", "kind"), [(settings, kind) for settings, kind, _ in SEARCHES.values()])
def test_an_actor_searches_as_the_settings_say(
    settings: dict[str, Any], kind: type[Search], monkeypatch: pytest.MonkeyPatch
) -> None:
    searches: list[Search] = []
    monkeypatch.setattr("athenan_spiel.training.actor.Round", lambda _, search, *rest, **named: searches.append(search))
    learner = LearnerSide(plan_run(TIC_TAC_TOE, config(**settings)))
    Actor(TIC_TAC_TOE, learner.config, learner.outcome).play(learner.published(), None, [1], progress=0.0)
    assert [type(search) for search in searches] == [kind]


@pytest.mark.parametrize("settings", [settings for settings, _, _ in SEARCHES.values()], ids=SEARCHES)
def test_every_search_trains(settings: dict[str, Any], tmp_path: Path) -> None:
    trained = train(TIC_TAC_TOE, config(**settings), tmp_path / "run")
    assert trained.matches == 4


@pytest.mark.parametrize("algorithm", ["alphabeta", "mcts"])
@pytest.mark.parametrize(
    "targets", [{"method": "root"}, {"method": "terminal"}, {"leaves": True}, {"playout_ends": True}], ids=str
)
def test_every_target_is_learned_from_the_other_searches(
    algorithm: str, targets: dict[str, Any], tmp_path: Path
) -> None:
    settings = dataclasses.replace(config(algorithm=algorithm), targets=TargetsConfig(**targets), matches=2)
    assert train(TIC_TAC_TOE, settings, tmp_path / "run").matches == 2


# How a run is played


PLAYED: dict[str, tuple[type[Search], Decision, dict[str, Any]]] = {
    "ubfm_k": (UBFM, safest, {"completion": True, "lines": DEFAULT_LINES}),
    "ubfm_k(3)": (UBFM, safest, {"completion": True, "lines": 3}),
    "ubfm_s": (UBFM, safest, {"completion": True, "lines": 1}),
    "ubfm": (UBFM, best, {"completion": True, "exploration_constant": None}),
    "ubfm_s(1.4)": (UBFM, safest, {"exploration_constant": 1.4}),
    "ubfm(0)": (UBFM, best, {"exploration_constant": 0.0}),
    "descent": (Descent, best, {"completion": True}),
    "alphabeta": (AlphaBeta, best, {"completion": True, "depth": DEEPEST}),
    "alphabeta(1)": (AlphaBeta, best, {"depth": 1}),
    "mcts": (MCTS, safest, {"selection": UCT()}),
    "mcts(0)": (MCTS, safest, {"selection": UCT(0.0)}),
    "mcts(2.5)": (MCTS, safest, {"selection": UCT(2.5)}),
    "puct": (AlphaZeroMCTS, safest, {"selection": PUCT(1.25), "noise": DirichletNoise(0.0)}),
    "puct(2.5)": (AlphaZeroMCTS, safest, {"selection": PUCT(2.5)}),
    "gumbel": (GumbelMCTS, gumbel_choice, {"selection": GumbelSelection(), "root_noise": 0.0}),
    "exit": (ExItMCTS, safest, {"selection": ExItUCT(0.05, 100.0, 0.75)}),
    "exit(0.2)": (ExItMCTS, safest, {"selection": ExItUCT(0.2)}),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(TIC_TAC_TOE, config(), folder)
    return folder


@pytest.fixture(scope="module")
def with_policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "policy"
    train(TIC_TAC_TOE, config(algorithm="puct"), folder)
    return folder


def test_every_word_is_tried() -> None:
    assert {text.partition("(")[0] for text in PLAYED} == set(SEARCH_NAMES)


@pytest.mark.parametrize("text", PLAYED)
def test_a_run_is_played_with_any_search(text: str, finished: Path, with_policy: Path) -> None:
    kind, decision, attributes = PLAYED[text]
    asks = parse_search(text).config.needs_priors
    agent = load_agent(with_policy if asks else finished, budget=Budget(iterations=4), seed=1, search=text)
    assert type(agent.search) is kind
    assert agent.decision is decision
    assert {name: getattr(agent.search, name) for name in attributes} == attributes
    assert agent.search.outcome(TIC_TAC_TOE.new_initial_state()) == 0
    assert agent.step(agent.game.new_initial_state()) in range(9)


def test_ubfm_over_several_lines_is_the_default(finished: Path) -> None:
    agent = load_agent(finished, budget=Budget(iterations=4))
    assert isinstance(agent.search, UBFM)
    assert (agent.search.lines, agent.decision) == (DEFAULT_LINES, safest)


NO_SEARCH: dict[str, str] = {
    "": "one of ubfm_s, ubfm_k, ubfm, descent, alphabeta, mcts, puct, gumbel, exit; got ''",
    "mtcs": "got 'mtcs': did you mean 'mcts'?",
    "mcts(": "got 'mcts('",
    "minimax": "got 'minimax'",
    "mcts(x)": "mcts takes an exploration constant from zero to 1,000,000, such as mcts(0.5); got 'mcts(x)'",
    "puct(x)": "puct takes an exploration constant from zero to 1,000,000, such as puct(1.25); got 'puct(x)'",
    "exit(x)": "exit takes an exploration constant from zero to 1,000,000, such as exit(0.05); got 'exit(x)'",
    "mcts(2000000)": "takes an exploration constant from zero to 1,000,000, such as mcts(0.5); got 'mcts(2000000)'",
    "alphabeta(1.5)": "alphabeta takes a depth from 1 to 256, such as alphabeta(3); got 'alphabeta(1.5)'",
    "alphabeta(0)": "alphabeta takes a depth from 1 to 256, such as alphabeta(3); got 'alphabeta(0)'",
    "alphabeta(257)": "alphabeta takes a depth from 1 to 256, such as alphabeta(3); got 'alphabeta(257)'",
    "descent(1)": "descent takes no number; got 'descent(1)': write 'descent'",
    "ubfm_k(1.5)": "ubfm_k takes a number of lines from 1 to 10,000, such as ubfm_k(8); got 'ubfm_k(1.5)'",
    "ubfm_k(0)": "ubfm_k takes a number of lines from 1 to 10,000, such as ubfm_k(8); got 'ubfm_k(0)'",
    "ubfm_s()": "ubfm_s takes an exploration constant from zero to 1,000,000, such as ubfm_s(0.5); got 'ubfm_s()'",
}


@pytest.mark.parametrize("text", NO_SEARCH)
def test_what_names_no_search(text: str, tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=re.escape(NO_SEARCH[text])):
        parse_search(text)
    with pytest.raises(AgentError):  # before the folder is looked into
        load_agent(tmp_path, search=text)


def test_a_word_is_a_text() -> None:
    with pytest.raises(AgentError, match=r"one of ubfm_s, .*; got 7"):
        parse_search(7)  # type: ignore[arg-type]


# The registry


def test_the_names_of_settings_are_those_of_the_registry() -> None:
    """`config` cannot import the searches, so it has the names for types and the command line."""
    assert set(get_args(SearchName)) == set(SEARCH_CONFIGS)
    assert {*get_args(PlayName), "ubfm_s", "ubfm_k"} == set(ALGORITHMS)
    assert {"ubfm_s", "ubfm_k", *get_args(SearchName)} == set(SEARCH_NAMES)
    assert set(get_args(DecisionName)) == {*DECISIONS, "search"}
    made = {name: make_search(TIC_TAC_TOE, SEARCH_CONFIGS[name](), Gain()) for name in get_args(SearchName)}
    for name, search in made.items():
        of = SEARCH_CONFIGS[name]
        assert (of.tells_policy, of.needs_priors) == (search.tells_policy, search.needs_priors)
    assert set(get_args(ProverName)) == {name for name, of in SEARCH_CONFIGS.items() if issubclass(of, ProverConfig)}


def test_what_is_of_training_alone_is_a_setting_of_its_search() -> None:
    assert all(set(of.for_training) <= OWN_SETTINGS[name] for name, of in SEARCH_CONFIGS.items())
    assert SEARCH_CONFIGS["puct"].for_training == ("root_noise", "dirichlet_alpha")


def test_the_decision_of_a_search_is_that_of_its_word() -> None:
    for name in get_args(PlayName):
        assert decision_of(name, "search") is ALGORITHMS[name].decision
        assert decision_of(name, "safest") is safest


def test_a_search_has_one_class_by_whatever_name() -> None:
    for algorithm in ALGORITHMS.values():
        assert algorithm.search is ALGORITHMS[algorithm.config.algorithm].search


NOT_DEFAULT: dict[str, Any] = {
    "longest_descent": 2,
    "resolved_hours": 1.0,
    "wins_ahead": True,
    "lines": 3,
    "depth": 2,
    "exploration_constant": 0.5,
    "first_play_urgency": True,
    "rollouts": True,
    "virtual_loss_batch": 2,
    "root_noise": 0.25,
    "dirichlet_alpha": 0.3,
    "considered_actions": 4,
    "prior_weight": 5.0,
    "value_weight": 0.5,
    "random_outcomes": True,
    "chance_samples": 1,
    "evaluate_outcomes": True,
    "paranoid": True,
}
REQUIRED: dict[str, dict[str, Any]] = {"dirichlet_alpha": {"root_noise": 0.25}}
"""Settings that require others."""
HOLDERS: dict[str, str] = {
    "longest_descent": "longest",
    "resolved_hours": "known",
    "random_outcomes": "chance_selection",
    "root_noise": "noise.share",
    "dirichlet_alpha": "noise.alpha",
}
"""Attribute of a search that holds a setting, if it is not the setting's name or in the selection rule."""
OF_SEARCHES: dict[tuple[str, str], str] = {
    ("puct", "exploration_constant"): "c_init",
    ("gumbel", "root_noise"): "root_noise",
}
"""Where one search has it elsewhere than others."""


OWN_SETTINGS = {name: {*of().own_options()} for name, of in SEARCH_CONFIGS.items()}


def test_every_setting_of_a_search_of_its_own_is_tried() -> None:
    assert {name for own in OWN_SETTINGS.values() for name in own} == {*NOT_DEFAULT, "completion"}


@pytest.mark.parametrize("setting", NOT_DEFAULT)
@pytest.mark.parametrize("algorithm", get_args(SearchName))
def test_no_setting_is_dropped(algorithm: SearchName, setting: str) -> None:
    """The setting reaches the search, or is rejected."""
    value = NOT_DEFAULT[setting]
    if setting not in OWN_SETTINGS[algorithm]:
        with pytest.raises(ConfigError, match=rf"search.{setting} must be (none|false), as only .* ha(s|ve) it"):
            config_from_dict({"search": {"algorithm": algorithm, setting: value}})
        return
    known = ResolvedStates() if setting == "resolved_hours" else None
    expected = {"resolved_hours": known, "random_outcomes": random_outcome}.get(setting, value)
    settings = {setting: value, **REQUIRED.get(setting, {})}
    game = load_game("pig(players=3)") if setting == "paranoid" else TIC_TAC_TOE
    search = make_search(game, SEARCH_CONFIGS[algorithm](**settings), gain_of(game), known)
    named = OF_SEARCHES.get((algorithm, setting), HOLDERS.get(setting, setting))
    holder = search if hasattr(search, named.partition(".")[0]) else search.selection  # type: ignore[attr-defined]
    assert operator.attrgetter(named)(holder) == expected


@pytest.mark.parametrize("algorithm", ["alphabeta", "mcts", "puct", "gumbel", "exit"])
def test_proven_states_are_not_given_to_a_search_that_does_not_look_into_them(algorithm: SearchName) -> None:
    with pytest.raises(SearchError, match=f"known states require Descent or UBFM, got '{algorithm}'"):
        make_search(TIC_TAC_TOE, SEARCH_CONFIGS[algorithm](), Gain(), ResolvedStates())


@pytest.mark.parametrize("kind", [Descent, UBFM])
def test_proven_states_are_not_given_to_a_search_without_completion(kind: type[Search]) -> None:
    with pytest.raises(
        SearchError, match=f"require Descent or UBFM with completion, got a {kind.__name__} with completion=False"
    ):
        kind(TIC_TAC_TOE, completion=False, known=ResolvedStates())


# Matches while training


def test_a_run_does_not_begin_with_a_search_that_there_is_not(tmp_path: Path) -> None:
    settings = dataclasses.replace(config(), evaluation=EvaluationConfig(search="mtcs"))
    with pytest.raises(ConfigError, match=r"^evaluation.search must name a search: .*did you mean 'mcts'"):
        train(TIC_TAC_TOE, settings, tmp_path / "run")
    assert not (tmp_path / "run").exists()


# The evaluator of an agent without a network


def test_rollouts_are_of_the_history_and_the_seed() -> None:
    state = TIC_TAC_TOE.new_initial_state()
    children = [state.child(action) for action in state.legal_actions()]
    evaluator = RolloutEvaluator(Gain(), 7)
    values = evaluator(children)
    assert set(values) <= {-1.0, 0.0, 1.0}
    assert values.tolist() == [float(RolloutEvaluator(Gain(), 7)([child])[0]) for child in children]
    assert children[0].history() == [0], "the states are left as they are"
    assert len({tuple(RolloutEvaluator(Gain(), seed)(children)) for seed in range(20)}) > 10
    assert evaluator([]).shape == (0,)


def test_rollouts_average_to_the_worth_of_random_play() -> None:
    """The mean over seeds is that of uniformly random play, counted out."""
    state = TIC_TAC_TOE.new_initial_state().child(4)
    mean = sum(float(RolloutEvaluator(Gain(), seed)([state])[0]) for seed in range(2000)) / 2000
    assert abs(mean - expected(state)) < 0.08


def expected(state: Any) -> float:
    """The mean gain of uniformly random play."""
    if state.is_terminal():
        return float(state.player_return(0))
    values = [expected(state.child(action)) for action in state.legal_actions()]
    return sum(values) / len(values)


# Remark 16


def node(maximises: bool) -> Node:
    """0: a proven draw; 1: open, most visited and best by value; 2: lost; 3: another draw, visited more than 0."""
    sign = 1 if maximises else -1
    made = Node(range(4), [0.0, sign * 0.9, sign * 2.0, -sign * 0.1], kind(maximises))
    made.visits = {0: 2, 1: 50, 2: 70, 3: 4}
    for i, completion in {0: 0, 2: -1, 3: 0}.items():
        made.resolve(i, sign * completion)
    return made


@pytest.mark.parametrize("maximises", [True, False])
def test_the_securest_action_is_a_proven_draw(maximises: bool) -> None:
    rng = random.Random(0)
    made = node(maximises)
    assert (best(made, rng), safest(made, rng), securest(made, rng)) == (1, 1, 3)  # of two draws the more visited
    made.visits[0] = 4
    assert securest(made, rng) == 0  # then the better value
    made.resolve(1, 1 if maximises else -1)
    assert securest(made, rng) == 1  # a win comes before any draw


@pytest.mark.parametrize("maximises", [True, False])
def test_without_draws_the_securest_action_is_the_safest(maximises: bool) -> None:
    made = Node(range(3), [0.1, 0.2, 0.3], kind(maximises))
    made.visits = {0: 3, 1: 9, 2: 1}
    assert securest(made, random.Random(0)) == safest(made, random.Random(0)) == 1
    made.resolve(1, -1 if maximises else 1)
    assert securest(made, random.Random(0)) == 0


def test_ties_of_the_securest_are_drawn() -> None:
    made = Node(range(3), [0.1, 0.1, 0.1], kind(True))
    assert {securest(made, random.Random(seed)) for seed in range(30)} == {0, 1, 2}


def test_securing_a_draw_holds_it() -> None:
    """In tic-tac-toe a proven draw is played where an optimist would still look for more."""
    for seed in range(4):
        result = think(UBFM(TIC_TAC_TOE), TIC_TAC_TOE.new_initial_state(), Budget(iterations=2000), noise(seed))
        assert result.resolved[securest(result.node, random.Random(0))] or not result.resolved.any()
    proven = think(UBFM(TIC_TAC_TOE), TIC_TAC_TOE.new_initial_state(), Budget(iterations=20_000), constant(0.0))
    assert proven.is_resolved
