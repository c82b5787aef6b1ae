"""The settings: their ranges, their presets, and their text in `config.toml`."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
import re
import tomllib
import typing
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_public_names import settings_within

from athenan_spiel.config import (
    SEARCH_CONFIGS,
    DescentConfig,
    EncodingConfig,
    EngineConfig,
    EvaluationConfig,
    ExplorationConfig,
    LearnerConfig,
    MctsConfig,
    MinimaxConfig,
    NetworkConfig,
    PuctConfig,
    ReplayConfig,
    Settings,
    TargetsConfig,
    TrainingConfig,
    WarmUpConfig,
)
from athenan_spiel.config.network import DEEPEST
from athenan_spiel.config.settings import LONGEST, MOST, Hint, hints_of
from athenan_spiel.errors import ConfigError
from athenan_spiel.experiments.settings import FixedConfig, PlayConfig, ProtocolConfig
from athenan_spiel.training import preset, settings_from_toml, settings_to_toml
from athenan_spiel.training.settings_file import config_from_dict, config_to_dict, read_text

positive = st.floats(min_value=1e-9, max_value=1e9)
count = st.integers(min_value=1, max_value=MOST)


@st.composite
def configs(draw: st.DrawFn) -> TrainingConfig:
    limits = draw(st.lists(st.sampled_from(["seconds", "iterations", "evaluations"]), min_size=1, unique=True))
    return TrainingConfig(
        matches=draw(st.none() | count),
        seconds=draw(positive),
        seed=draw(st.integers(min_value=0, max_value=2**63 - 1)),
        outcome=draw(st.sampled_from(["gain", "additive_depth", "mobility", "presence", "my.heuristics:of_mine"])),
        search=DescentConfig(
            completion=draw(st.booleans()),
            seconds=draw(positive) if "seconds" in limits else None,
            iterations=draw(count) if "iterations" in limits else None,
            evaluations=draw(count) if "evaluations" in limits else None,
        ),
        exploration=draw(
            st.builds(ExplorationConfig, schedule=st.sampled_from(["uniform", "annealed"]))
            | st.builds(ExplorationConfig, schedule=st.just("constant"), exploitation=st.floats(0, 1))
        ),
        network=NetworkConfig(layers=draw(st.none() | st.integers(1, DEEPEST))),
        learner=LearnerConfig(learning_rate=draw(positive), l2=draw(st.floats(min_value=0, max_value=1))),
    )


@given(configs(), st.text(min_size=1))
@settings(max_examples=50, deadline=None)
def test_settings_survive_their_text_exactly(config: TrainingConfig, game: str) -> None:
    assert settings_from_toml(settings_to_toml(game, config), allow_code=[config.outcome]) == (game, config)
    assert config_from_dict(config_to_dict(config)) == config


def with_search(algorithm: str, **options: Any) -> TrainingConfig:
    policy = NetworkConfig(policy="auto" if SEARCH_CONFIGS[algorithm].needs_priors else "none")
    search = SEARCH_CONFIGS[algorithm](**options)
    return TrainingConfig(search=search, network=policy, targets=TargetsConfig(method="root"))


@pytest.mark.parametrize("algorithm", SEARCH_CONFIGS)
def test_every_search_survives_its_text_and_the_header_of_a_checkpoint(algorithm: str) -> None:
    given = dict.fromkeys(("exploration_constant", "root_noise", "value_weight", "resolved_hours"), 0.5)
    options = {name: given[name] for name in SEARCH_CONFIGS[algorithm]().own_options() if name in given}
    config = with_search(algorithm, seconds=0.5, batched=False, **options)
    text = settings_to_toml("hex", config)
    assert settings_from_toml(text) == ("hex", config)
    assert config_from_dict(json.loads(json.dumps(config_to_dict(config)))) == config
    assert [*tomllib.loads(text)["search"]] == [field.name for field in dataclasses.fields(config.search)]


OLDER = """
completion = {completion}
seconds = "none"
iterations = 20
evaluations = "none"
network_seconds = "none"
batched = true
wins_ahead = false
lines = "none"
random_outcomes = false
chance_samples = "none"
paranoid = false
depth = "none"
exploration_constant = "none"
first_play_urgency = false
rollouts = false
virtual_loss_batch = "none"
considered_actions = "none"
prior_weight = "none"
value_weight = "none"
longest_descent = "none"
resolved_hours = "none"
root_noise = "none"
dirichlet_alpha = "none"
"""
"""The options of all searches, as older versions wrote them."""


@pytest.mark.parametrize("algorithm", SEARCH_CONFIGS)
@pytest.mark.parametrize("completion", ["true", "false"])
def test_an_older_file_lists_the_options_of_all_searches(algorithm: str, completion: str) -> None:
    policy = "[network]\npolicy = 'auto'\n[targets]\nmethod = 'root'\n" * SEARCH_CONFIGS[algorithm].needs_priors
    older = f"game = 'hex'\n[search]\nalgorithm = '{algorithm}'{OLDER.format(completion=completion)}{policy}"
    config = settings_from_toml(older)[1]
    options = {"completion": completion == "true"} if "completion" in config.search.own_options() else {}
    assert config.search == SEARCH_CONFIGS[algorithm](**options)
    with pytest.raises(
        ConfigError, match=r"^config.toml, line 11: search.lines must be none, as only 'ubfm' has it, got"
    ):
        settings_from_toml(older.replace('lines = "none"', "lines = 4").replace("'ubfm'", "'descent'"))


def test_an_empty_table_means_the_defaults() -> None:
    assert settings_from_toml('game = "hex"') == ("hex", TrainingConfig())


def test_a_whole_number_is_a_number() -> None:
    _, config = settings_from_toml('game = "hex"\nseconds = 3')
    assert config.seconds == 3.0
    assert type(config.seconds) is float


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("serach = 1", "config.toml, line 2: serach is not a setting: did you mean 'search'?"),
        ("[serach]\nseconds = 1.0", "config.toml, line 2: serach is not a setting: did you mean 'search'?"),
        (
            "[search]\nalgorithm = 'ubfm'\niteratoins = 3",
            "config.toml, line 4: search.iteratoins is not a setting: did you mean 'iterations'?",
        ),
        ("gaem = 'hex'", "config.toml, line 2: gaem is not a setting: did you mean 'game'?"),
        (
            "search.iterations = 'many'",
            "config.toml, line 2: search.iterations must be a whole number or none, got 'many'",
        ),
        ("[learner]\nl2 = true", "config.toml, line 3: learner.l2 must be a finite number, got True"),
        ("[learner]\nbatch_size = 1.5", "config.toml, line 3: learner.batch_size must be a whole number, got 1.5"),
        (
            "[learner]\nbatch_size = 'none'",
            "config.toml, line 3: learner.batch_size must be a whole number, got 'none'",
        ),
        ("[search]\ncompletion = 1", "config.toml, line 3: search.completion must be true or false, got 1"),
        ("search = 3", "config.toml, line 2: search must be a table, [search], got 3"),
        (
            "[search]\n\n# a comment\nalgorithm = 'decent'",
            "line 5: search.algorithm must be one of 'descent', 'ubfm', 'alphabeta', 'mcts', 'puct', 'gumbel', 'exit', "
            "got 'decent': did you mean 'descent'?",
        ),
        (
            "[search]\nalgorithm = 3",
            "config.toml, line 3: search.algorithm must be one of 'descent', 'ubfm', 'alphabeta', 'mcts', 'puct', "
            "'gumbel', 'exit', got 3",
        ),
        (
            "[encoding]\nsymmetries = 'rotate180'",
            "config.toml, line 3: encoding.symmetries must be 'none', 'all' or, with commas between, some of "
            "rotate_90, rotate_180, rotate_270, flip_horizontal, flip_vertical, transpose, anti_transpose, "
            "got 'rotate180': did you mean 'rotate_180'?",
        ),
        ("[search]\nseconds = -1", "config.toml, line 3: search.seconds must be more than zero, got -1.0"),
        ("[search]\niterations = 'none'", "search must be limited by"),
        ("matches = x", "config.toml is not valid TOML: Invalid value (at line 2, column 11)"),
    ],
)
def test_a_mistake_is_named_with_its_line_and_the_nearest_name(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        settings_from_toml(f'game = "hex"\n{text}')
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_name_that_is_near_to_none_lists_them() -> None:
    with pytest.raises(ConfigError, match=r"xyzzy is not a setting: expected one of distribution, completed"):
        settings_from_toml('game = "hex"\n[exploration]\nxyzzy = 1')


@pytest.mark.parametrize("text", ["", "game = 3", "game = ''"])
def test_the_game_must_be_there(text: str) -> None:
    with pytest.raises(ConfigError, match="game must be an OpenSpiel game string"):
        settings_from_toml(text)


@pytest.mark.parametrize("game", ['game = "hex"', ""])
def test_settings_alone_need_no_game(game: str) -> None:
    assert read_text(f"{game}\nmatches = 3", "mine.toml")[1].matches == 3
    with pytest.raises(ConfigError, match=r"^mine.toml, line 3: matches must be at least 1, got 0$"):
        read_text(f"{game}\n\nmatches = 0", "mine.toml")
    with pytest.raises(ConfigError, match=r"^mine.toml, line 1: game must be an OpenSpiel game string"):
        read_text("game = 3", "mine.toml")


def test_a_dict_with_an_unknown_key_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"search.deep is not a setting"):
        config_from_dict({"search": {"deep": 3}})


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: DescentConfig(iterations=None), "search"),
        (lambda: PuctConfig(dirichlet_alpha=0.3), "search.dirichlet_alpha"),
        (lambda: config_from_dict({"search": {"root_noise": 0.25}}), "search.root_noise"),
        (lambda: ExplorationConfig(schedule="constant"), "exploration.exploitation"),
        (lambda: ExplorationConfig(exploitation=0.9), "exploration.exploitation"),
        (lambda: ExplorationConfig(schedule="never"), "exploration.schedule"),  # type: ignore[arg-type]
        (lambda: ExplorationConfig(distribution="visits", schedule="annealed"), "exploration.schedule"),
        (lambda: ExplorationConfig(distribution="search", schedule="annealed"), "exploration.schedule"),
        (lambda: ExplorationConfig(distribution="search", temperature=1.0), "exploration.temperature"),
        (lambda: ExplorationConfig(distribution="search", plies=3), "exploration.plies"),
        (lambda: ExplorationConfig(distribution="best", plies=3), "exploration.plies"),
        (lambda: config_from_dict({"search": {"algorithm": "decent"}}), "search.algorithm"),
        (lambda: DescentConfig(algorithm="ubfm"), "search.algorithm"),  # type: ignore[arg-type]
        (lambda: DescentConfig(iterations="x"), "search.iterations"),  # type: ignore[arg-type]
        (lambda: DescentConfig(completion=1), "search.completion"),  # type: ignore[arg-type]
        (lambda: EngineConfig(name="foo"), "engine.name"),  # type: ignore[arg-type]
        (lambda: NetworkConfig(filters=1.5), "network.filters"),  # type: ignore[arg-type]
        (lambda: TrainingConfig(matches=True), "matches"),
        (lambda: TrainingConfig(search=None), "search"),  # type: ignore[arg-type]
        (lambda: EncodingConfig(symmetries=""), "encoding.symmetries"),
        (lambda: EncodingConfig(symmetries="all,transpose"), "encoding.symmetries"),
        (lambda: EncodingConfig(symmetries="identity"), "encoding.symmetries"),
        (lambda: EncodingConfig(symmetries="transpose,transpose"), "encoding.symmetries"),
        (lambda: LearnerConfig(beta2=1.0), "learner.beta2"),
        (lambda: EvaluationConfig(matches=3), "evaluation.matches"),
    ],
)
def test_settings_that_contradict_each_other_or_have_a_wrong_type_are_refused(make, field: str) -> None:
    with pytest.raises(ConfigError) as error:
        make()
    assert str(error.value).startswith(f"{field} must be ")


KINDS = (*settings_within(TrainingConfig), MinimaxConfig, PlayConfig, ProtocolConfig, FixedConfig)
RANGES = [
    (kind, field.name, hint)
    for kind in KINDS
    for field in dataclasses.fields(kind)  # type: ignore[arg-type]
    if (hint := hints_of(kind)[field.name]).kind in (int, float)
    and field.name not in ("beta2", "confidence")  # ranges that exclude their maximum
]


@pytest.mark.parametrize(("kind", "name", "hint"), RANGES, ids=lambda x: x if isinstance(x, str) else "")
def test_a_number_outside_its_range_is_refused_with_the_limit(kind: type[Settings], name: str, hint: Hint) -> None:
    assert hint.range is not None, "a number without a range"
    least, most, above = hint.range
    below = least if above else least - 1
    wrong = [(below, f"more than {least or 'zero'}" if above else f"at least {least}")]
    if most < math.inf:
        wrong.append((most + 1 if hint.kind is int else most * 1.01, f"at most {most:,}"))
    for value, expected in wrong:
        got = hint.kind(value)
        with pytest.raises(ConfigError) as error:
            kind(**{name: got})
        assert str(error.value) == f"{kind.table}{name} must be {expected}, got {got!r}"
    for value in (least + 1e-9 if above else least, most):
        if value < math.inf:
            assert hint.range.problem(value) is None


HUGE = 10**400
"""More than a float can hold."""


def numbers_of(kind: type[Settings]) -> list[str]:
    hints = typing.get_type_hints(kind)
    fields = dataclasses.fields(kind)  # type: ignore[arg-type]
    return [field.name for field in fields if hints[field.name] in (int, float, int | None, float | None)]


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in settings_within(TrainingConfig) for name in numbers_of(kind)],
    ids=lambda x: x if isinstance(x, str) else x.__name__,
)
@pytest.mark.parametrize("value", [HUGE, -HUGE, 10**30, math.inf, -math.inf, math.nan, True, 1j, "9" * 5000])
def test_no_number_may_be_huge_and_no_message_is_long(kind: type[Settings], name: str, value: object) -> None:
    if name in ("learning_rate", "l2") and value == 10**30:
        return  # what is too much of these, the first loss shows
    with pytest.raises(ConfigError) as error:
        kind(**{name: value})
    assert str(error.value).startswith(f"{kind.table}{name} must be ")
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("kind", "name", "most"),
    [
        (NetworkConfig, "filters", 100_000),
        (NetworkConfig, "layers", DEEPEST),
        (LearnerConfig, "threads", 1_024),
        (EngineConfig, "threads", 1_024),
        (LearnerConfig, "batch_size", 1_000_000),
        (WarmUpConfig, "processes", 1_024),
        (ReplayConfig, "duplication", 1_000),
        (ReplayConfig, "megabytes", 1e9),
        (DescentConfig, "iterations", MOST),
        (DescentConfig, "seconds", LONGEST),
        (DescentConfig, "resolved_hours", LONGEST // 3600),
        (MctsConfig, "virtual_loss_batch", 10_000),
        (MctsConfig, "exploration_constant", 1e6),
        (PuctConfig, "dirichlet_alpha", 1e6),
        (PuctConfig, "root_noise", 1),
        (ExplorationConfig, "temperature", 1e6),
        (ExplorationConfig, "exploitation", 1),
        (EvaluationConfig, "matches", 100_000),
        (TrainingConfig, "checkpoint_seconds", LONGEST),
        (TrainingConfig, "matches_at_once", 10_000),
        (TrainingConfig, "seed", 2**63 - 1),
    ],
)
def test_the_maximum_of_a_number(kind: type[Settings], name: str, most: float) -> None:
    range_ = hints_of(kind)[name].range
    assert range_ is not None
    assert range_.most == most


@pytest.mark.parametrize("setting", ["seconds", "search.seconds", "replay.megabytes", "matches", "seed"])
def test_a_number_that_no_float_holds_is_refused_in_a_file(setting: str) -> None:
    message = rf"^config.toml, line 2: {setting} must be .*, got <a whole number of about 401 digits>$"
    with pytest.raises(ConfigError, match=message):
        settings_from_toml(f'game = "hex"\n{setting} = {HUGE}')


def test_the_bounds_themselves_are_taken() -> None:
    assert TrainingConfig(seconds=LONGEST, matches=MOST).matches == MOST


def test_annealing_needs_an_end() -> None:
    with pytest.raises(ConfigError, match="in a run without an end, got 'annealed'"):
        TrainingConfig(exploration=ExplorationConfig(schedule="annealed"))
    assert TrainingConfig(learner=LearnerConfig(schedule="cosine")).seconds is None  # the step size stays as it is


def test_the_package_names_only_what_it_has() -> None:
    import athenan_spiel.training as training

    with pytest.raises(AttributeError, match="nothing"):
        training.nothing  # noqa: B018


def test_what_is_no_text_and_no_settings_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^text must be a str, got 5$"):
        settings_from_toml(5)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^game must be a str, got None$"):
        settings_to_toml(None, TrainingConfig())  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^config must be a TrainingConfig, got 'x'$"):
        settings_to_toml("tic_tac_toe", "x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "path", "problem"),
    [
        (lambda: DescentConfig(iterations=0), "search.iterations", "must be at least 1, got 0"),
        (lambda: TrainingConfig(matches=0), "matches", "must be at least 1, got 0"),
        (lambda: config_from_dict({"search": {"algorithm": "mtcs"}}), "search.algorithm", "must be one of 'descent', "),
        (lambda: LearnerConfig(l2="much"), "learner.l2", "must be a finite number, got 'much'"),
        (lambda: DescentConfig(iterations=None), "search", "must be limited by seconds, iterations, "),
        (lambda: EncodingConfig(symmetries="rotate"), "encoding.symmetries", "must be 'none', 'all' or, "),
        (lambda: preset("quik"), "preset", "must be one of quick, hour, day, td_lambda, "),
        (lambda: config_from_dict({"search": {"rounds": 1}}), "search.rounds", "is not a setting: "),
        (lambda: config_from_dict({"search": 1}), "search", "must be a table, [search], got 1"),
    ],
)
def test_an_error_has_the_path_of_the_setting_and_the_problem(
    make: Callable[[], object], path: str, problem: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        make()
    error = raised.value
    assert (error.path, error.source) == (path, "")
    assert error.problem.startswith(problem)
    assert str(error) == f"{path} {error.problem}"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.path, again.problem) == (str(error), path, error.problem)


def test_an_error_of_a_text_has_the_path_the_problem_and_the_file() -> None:
    for text, path in (("[search]\niterations = 0", "search.iterations"), ("[search]\nrounds = 0", "search.rounds")):
        with pytest.raises(ConfigError) as raised:
            read_text(text, "mine.toml")
        error = raised.value
        assert (error.path, error.source) == (path, "mine.toml")
        assert str(error) == f"mine.toml, line 2: {path} {error.problem}"


def test_an_error_of_no_setting_is_its_message() -> None:
    error = ConfigError("expected --first or --second, got both")
    assert (error.path, error.source, error.problem) == ("", "", str(error))


def test_a_problem_may_go_on_with_the_value() -> None:
    assert str(ConfigError.at("engine.name", "='cuda' needs a CUDA device")) == "engine.name='cuda' needs a CUDA device"
    assert str(ConfigError.at("encoding.symmetries", ": no")) == "encoding.symmetries: no"


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"opponents": ()}, "evaluation.opponents must be from 1 to 20 agent specs, got ()"),
        (
            {"opponents": ("a", "b", "a")},
            "opponents must be different specs of at most 1,000 characters, got 'a' among",
        ),
        ({"opponents": ("",)}, "opponents must be different specs of at most 1,000 characters, got '' among them"),
        ({"opponents": ["a"]}, "opponents must be texts, as a tuple, in a file as a list, got ['a']"),
        ({"opponents": (1,)}, "opponents must be texts, as a tuple, in a file as a list, got (1,)"),
        ({"seconds": None}, "evaluation.seconds or one of iterations and evaluations must limit a move, got none of"),
        ({"iterations": 5}, "one of iterations and evaluations must limit a move, got seconds and iterations"),
    ],
)
def test_opponents_and_their_limit_are_checked(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(problem)):
        EvaluationConfig(**settings)


def test_texts_in_a_list_come_back() -> None:
    """Words of any letters, as TOML and as JSON."""
    words = ("mcts:100", 'gtp:"an engine" --mode x@1s', "runs/größe#640@0.1s")
    config = TrainingConfig(evaluation=EvaluationConfig(opponents=words))
    assert settings_from_toml(settings_to_toml("tic_tac_toe", config))[1] == config
    assert config_from_dict(json.loads(json.dumps(config_to_dict(config)))) == config
    assert config_to_dict(config)["evaluation"]["opponents"] == [*words]


def test_an_older_name_of_a_setting_means_what_it_did() -> None:
    older = "[evaluation]\nevery_matches = 5\nsimulations = 30\nseconds = 0.2\n"
    _, config = settings_from_toml(f"game = 'tic_tac_toe'\n{older}")
    assert config.evaluation == EvaluationConfig(every_matches=5, opponents=("mcts:30",), seconds=0.2)
    with pytest.raises(ConfigError, match=r"line 4: evaluation.simulations is the older name of opponents: give one"):
        settings_from_toml(f"game = 'tic_tac_toe'\n{older}opponents = ['random']\n")
