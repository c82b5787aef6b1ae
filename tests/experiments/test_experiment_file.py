"""Experiment files: settings, and errors with their line before any training."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiment_runs import TINY, Recorder, run_tiny, tiny_file
from replay_items import match_of

from athenan_spiel.config import UbfmConfig
from athenan_spiel.config.converter import read_settings
from athenan_spiel.errors import ConfigError
from athenan_spiel.experiments import (
    ExperimentFile,
    PlayConfig,
    ProtocolConfig,
    check,
    read_experiment,
)
from athenan_spiel.experiments.plan import Plan, slug
from athenan_spiel.learning import make_replay
from athenan_spiel.training.presets import PAPER, QUICK, preset

FULL = Path(__file__).resolve().parents[2] / "examples" / "experiments" / "full"
READY = sorted((Path(__file__).resolve().parents[2] / "examples" / "experiments").glob("*.toml"))
MNK = "mnk(m=3,n=4,k=3)"


def with_text(addition: str) -> ExperimentFile:
    return ExperimentFile(TINY + addition, "tiny.toml")


def line(text: str, part: str) -> int:
    """Returns the number of the first line that contains `part`."""
    return next(number for number, found in enumerate(text.splitlines(), 1) if part in found)


def test_a_variant_is_a_difference_to_the_common_training() -> None:
    descent, ubfm = tiny_file().experiment.variants
    assert (descent.name, ubfm.name) == ("descent", "ubfm")
    assert descent.training.search.algorithm == "descent"
    assert ubfm.training.search.algorithm == "ubfm"
    assert descent.training.search.iterations == ubfm.training.search.iterations == 2
    assert descent.training.network.neurons == ubfm.training.network.neurons == 8
    assert descent.play == PlayConfig()
    assert descent.games == ("tic_tac_toe", MNK)


def test_training_settings_change_the_preset() -> None:
    text = '[training]\npreset = "paper"\nseconds = 60\nmatches = "none"\nsearch.iterations = 7\n'
    head = 'name = "x"\ngames = ["tic_tac_toe"]\nrepetitions = 1\n'
    file = ExperimentFile(head + text + "[variants.a]\n[variants.b]\nseconds = 30\n", "x.toml")
    a, b = file.experiment.variants
    assert a.training.network == PAPER.network
    assert a.training.seconds == 60
    assert b.training.seconds == 30


def test_a_variants_preset_replaces_that_of_training() -> None:
    text = '[training]\npreset = "quick"\nseconds = 60\nnetwork.filters = 8\n'
    head = 'name = "x"\ngames = ["tic_tac_toe"]\nrepetitions = 1\n'
    rival = '[variants.b]\npreset = "alphazero"\nsearch.iterations = 9\nplay = {algorithm = "puct", iterations = 4}\n'
    a, b = ExperimentFile(f"{head}{text}[variants.a]\n{rival}", "x.toml").experiment.variants
    alphazero = preset("alphazero")
    assert (a.training.search, a.training.network.filters) == (preset("quick").search, 8)
    assert b.training.network == dataclasses.replace(alphazero.network, filters=8)
    assert b.training.search == dataclasses.replace(alphazero.search, iterations=9)
    assert (b.training.seconds, b.training.targets) == (60, alphazero.targets)
    check(ExperimentFile(f"{head}{text}[variants.a]\n{rival}", "x.toml"))
    with pytest.raises(ConfigError, match=r"line \d+: variants.b.preset must be one of .*'alphazer'"):
        ExperimentFile(f"{head}{text}[variants.a]\n{rival}".replace('"alphazero"', '"alphazer"'), "x.toml")


def test_a_search_that_needs_a_policy_refuses_value_networks() -> None:
    text = '[training]\nseconds = 5\n[variants.a]\nplay = {algorithm = "puct", iterations = 4}\n[variants.b]\n'
    file = ExperimentFile(f'name = "x"\ngames = ["tic_tac_toe"]\nrepetitions = 1\n{text}', "x.toml")
    with pytest.raises(ConfigError, match=r"x.toml, line 7: variant 'a': play.algorithm='puct' needs a network with a"):
        check(file)


def test_a_limit_replaces_the_others() -> None:
    text = '[training]\npreset = "quick"\nsearch.seconds = 0.5\nmatches = 3\n'
    head = 'name = "x"\ngames = ["tic_tac_toe"]\nrepetitions = 1\n'
    play = '[play]\nalgorithm = "ubfm"\nseconds = 1\n'
    tail = "[variants.a]\n[variants.b]\nplay.iterations = 4\nsearch.iterations = 2\n"
    a, b = ExperimentFile(head + text + play + tail, "x.toml").experiment.variants
    assert (QUICK.seconds, QUICK.search.iterations) == (180, 10)
    assert (a.training.seconds, a.training.matches) == (None, 3)
    assert (a.training.search.seconds, a.training.search.iterations, a.training.search.evaluations) == (0.5, None, None)
    assert (b.training.search.seconds, b.training.search.iterations) == (None, 2)
    assert (b.play.search.seconds, b.play.search.iterations) == (None, 4)


def test_variants_may_play_some_games_only() -> None:
    ubfm, never, only = with_text(
        f'[variants.never]\nseed = 0\noutcome = "gain"\nexcept = ["{MNK}"]\n[variants.only]\noutcome = "gain"\n'
        f'search.iterations = 3\ngames = ["{MNK}"]\n'
    ).experiment.variants[1:]
    assert ubfm.games == ("tic_tac_toe", MNK)
    assert never.games == ("tic_tac_toe",)
    assert only.games == (MNK,)


def test_variants_with_equal_training_share_networks() -> None:
    file = with_text('[variants.ubfm_plays]\nplay = {algorithm = "ubfm", iterations = 3}\n')
    plan = Plan(file.experiment)
    assert len(plan.trainings()) == 2 * 2 * 2
    assert plan.training("tic_tac_toe", "ubfm_plays", 1) == plan.training("tic_tac_toe", "descent", 1)
    assert plan.training("tic_tac_toe", "ubfm", 1) != plan.training("tic_tac_toe", "descent", 1)


def test_every_training_has_its_own_seed() -> None:
    plan = Plan(tiny_file().experiment)
    other = Plan(tiny_file("seed = 1", "seed = 2").experiment)
    seeds = [training.config.seed for training in [*plan.trainings(), *other.trainings()]]
    assert len(set(seeds)) == 16
    assert [t.config.seed for t in Plan(tiny_file().experiment).trainings()] == seeds[:8]


UBFM = 'search.algorithm = "ubfm"'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[variants.ubfm]", "[variant.ubfm]  # here", "variant is not a setting: did you mean 'variants'?"),
        ("stages = 2", "stage = 2  # here", "protocol.stage is not a setting: did you mean 'stages'?"),
        ("stages = 2", "stages = 0  # here", "protocol.stages must be at least 1, got 0"),
        ("stages = 2", 'stages = "2"  # here', "protocol.stages must be a whole number, got '2'"),
        ("resamples = 200", "confidence = 1.5  # here", "protocol.confidence must be between 0 and 1, got 1.5"),
        ("matches = 4\nop", "matches = 3  # here\nop", "protocol.matches must be even and at least 2"),
        ("opening_plies = 1", "opening_plies = -1  # here", "protocol.opening_plies must be at least 0, got -1"),
        ("iterations = 2", "iteration = 2  # here", "training.search.iteration is not a setting: did you mean"),
        ("iterations = 2", "iterations = 0  # here", "training.search.iterations must be at least 1, got 0"),
        ('= "ubfm"', '= "ubmf"  # here', "variant 'ubfm': search.algorithm must be one of"),
        (UBFM, 'serch.algorithm = "ubfm"  # here', "variants.ubfm.serch is not a setting: did"),
        (UBFM, "search = 3  # here", "variants.ubfm.search must be a table"),
        (UBFM, "targets.leafs = 3  # here", "variants.ubfm.targets.leafs is not a setting"),
        (UBFM, "search.rollouts = true  # here", "search.rollouts must be false"),
        (UBFM, "seed = 5  # here", "variants.ubfm.seed is not allowed"),
        (f"[variants.ubfm]\n{UBFM}", "[variants.ubfm]  # here", "variant 'ubfm' is the same as 'descent'"),
        (UBFM, "play = 3  # here", "variants.ubfm.play must be a table"),
        (UBFM, 'play.algorithm = "ubfm"  # here', "variants.ubfm.play must be limited by seconds, "),
        (UBFM, "play.iterations = 3  # here", "variants.ubfm.play.iterations must be none, as"),
        (UBFM, 'play.decision = "safest"  # here', "play.decision must be 'best' for 'minimax"),
        (UBFM, 'play = {algorithm = "ubfm", iterations = 1, rollouts = true}  # here', "play.rollouts must be false"),
        ("[training]", '[training]\npreset = "quik"  # here', "training.preset must be one of quick, hour, day, "),
        ("[training]", "[training]\npreset = 3  # here", "training.preset must be a text, got 3"),
        ("repetitions = 2", "repetitions = 0  # here", "repetitions must be a whole number, at least 1, got 0"),
        ("repetitions = 2", "repetitions = true  # here", "repetitions must be a whole number, at least 1, got T"),
        ("seed = 1", 'seed = "a"  # here', "seed must be a whole number, at least 0, got 'a'"),
        (f'["tic_tac_toe", "{MNK}"]', '["hex", "hex"]  # here', "list of different game strings"),
        ("[protocol]", "[protocol]\n[play]\nalgoritm = 3  # here", "play.algoritm is not a setting: did you mean"),
        (UBFM, 'games = ["mnk(m=3,n=4)"]  # here', "'mnk(m=3,n=4)' is not in games: did"),
        (UBFM, 'games = ["tic_tac_toe"]\nexcept = []  # here', "must have games or except, got b"),
        (UBFM, f'except = ["tic_tac_toe", "{MNK}"]  # here', "variants.ubfm must play at least one game, got none"),
    ],
)
def test_errors_have_their_line(old: str, new: str, message: str) -> None:
    text = TINY.replace(old, new, 1)
    with pytest.raises(ConfigError) as raised:
        ExperimentFile(text, "tiny.toml")
    said = str(raised.value)
    assert said.startswith(f"tiny.toml, line {line(text, '# here')}: "), said
    assert message in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../../evil", "not contain a slash or backslash"),
        ("a\\b", "not contain a slash or backslash"),
        (".", "nor start with a dash or a dot"),
        ("--help", "nor start with a dash or a dot"),
        ("", "name must be a text, got ''"),
        (" ", "name must be 1 to 60 printable characters, got ' '"),
        ("a\0b", "name must be 1 to 60 printable characters, got 'a\\x00b'"),
        ("a\nb", "name must be 1 to 60 printable characters, got 'a\\nb'"),
        ("a\x1b[2Jb", "name must be 1 to 60 printable characters, got 'a\\x1b[2Jb'"),
        ("/etc/evil", "name must not contain a slash or backslash, nor start with a dash or a dot"),
        ("..", "name must not contain a slash or backslash, nor start with a dash or a dot"),
        (".hidden", "name must not contain a slash or backslash, nor start with a dash or a dot"),
        ("x" * 10_000, "name must be 1 to 60 printable characters, got 'xxxxxxxx"),
    ],
)
def test_names_that_cannot_be_folders_are_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        tiny_file('name = "tiny"', f"name = {json.dumps(name)}")
    said = str(raised.value)
    assert said.startswith("tiny.toml, line 1: ")
    assert message in said
    assert "\n" not in said
    assert len(said) < 400


@pytest.mark.parametrize("name", ["a b", "Größe", "x" * 60, "\U00020000" * 60, "a.b-c_d,e"])
def test_names_that_can_be_folders_are_accepted(name: str, tmp_path: Path) -> None:
    assert tiny_file('name = "tiny"', f"name = {json.dumps(name, ensure_ascii=False)}").experiment.name == name
    (tmp_path / name).mkdir()
    (tmp_path / slug(name)).mkdir(exist_ok=True)


@pytest.mark.parametrize("name", ["x" * 10_000, "a\nb", "", "\x1b[2J"])
def test_unprintable_variant_names_are_refused(name: str) -> None:
    with pytest.raises(
        ConfigError, match=r"^tiny.toml, line \d+: a variant's name must be 1 to 60 printable charact"
    ) as raised:
        tiny_file("[variants.ubfm]", f"[variants.{json.dumps(name)}]")
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


def test_long_game_strings_have_different_folders(tmp_path: Path) -> None:
    long, other = f"ludii(game={'x' * 400})", f"ludii(game={'x' * 401})"
    assert slug(long) != slug(other)
    for name in (long, "\U00020000" * 100):
        (tmp_path / slug(name)).mkdir()
    assert slug("hex(board_size=5)") == "hex_board_size_5"
    assert slug("../..") == "_"


def test_games_that_would_share_a_folder_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[check.__module__], "slug", lambda name: name[:1].replace("o", "t"))
    with pytest.raises(ConfigError, match=r"line 2: games 'tic_tac_toe' and 'othello' would share the folder 't'"):
        check(tiny_file(MNK, "othello"))


def test_names_that_differ_only_in_case_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"variants 'descent' and 'Descent' would share the folder 'Descent'"):
        check(tiny_file("[variants.ubfm]", "[variants.Descent]"))


def test_missing_settings_are_reported() -> None:
    with pytest.raises(ConfigError, match=r"^tiny.toml: name must be a text, got None$"):
        tiny_file('name = "tiny"\n')
    with pytest.raises(ConfigError, match=r"compares at least two variants, got 1$"):
        tiny_file('[variants.ubfm]\nsearch.algorithm = "ubfm"\n')
    with pytest.raises(ConfigError, match=r"line \d+: variant 'descent': training must end: set training.seconds or"):
        tiny_file("matches = 4\nmatches_at_once", "matches_at_once")
    with pytest.raises(ConfigError, match=r"^x.toml is not valid TOML: "):
        ExperimentFile("name = ", "x.toml")


def test_unreadable_files_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_experiment(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(ConfigError, match="is not valid TOML: 'utf-8' codec"):
        read_experiment(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('["tic_tac_toe", ', '["tic_tac_to", ', "line 2: games: .*'tic_tac_to'.*did you mean 'tic_tac_toe'"),
        ('["tic_tac_toe", ', '["morpion_solitaire", ', "line 2: games: expected games for two players, got 'morpion"),
        (UBFM, f'{UBFM}\noutcome = "presence"', r"line \d+: .*'ubfm': outcome 'presence' needs"),
        ('"mlp", layers = 1', '"c", layers = 4', r"line \d+: variant 'descent': network: .* \(at tic_tac_toe\)"),
        (
            "opening_plies = 1",
            "opening_plies = 20",
            "line 9: protocol.opening_plies at tic_tac_toe: openings of 20 random",
        ),
        ("[variants.ubfm]", '[variants."descent."]', r"line \d+: .* would share the folder 'descent'"),
    ],
)
def test_unsuitable_settings_are_reported_before_training(tmp_path: Path, old: str, new: str, message: str) -> None:
    file, recorder = tiny_file(old, new), Recorder()
    with pytest.raises(ConfigError, match=f"^tiny.toml, {message}"):
        run_tiny(tmp_path / "x", recorder=recorder, file=file)
    assert recorder.training_counts == []
    assert not (tmp_path / "x").exists()


def test_equal_games_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"line 2: games: 'tic_tac_toe' and 'tic_tac_toe\(\)' are the same game"):
        check(tiny_file(MNK, "tic_tac_toe()"))


def test_a_missing_device_is_reported_before_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ConfigError, match=r"tiny.toml, line \d+: variant 'descent': engine.name='cuda' needs a CUDA"):
        check(tiny_file('engine = {name = "torch", precision = "float32"}', 'engine.name = "cuda"'))


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_the_ready_files_are_valid(path: Path) -> None:
    experiment = read_experiment(path).experiment
    assert experiment.name == path.stem
    assert experiment.repetitions >= 5


def test_depth_one_minimax_is_one_iteration_without_completion() -> None:
    assert PlayConfig().search_config() == UbfmConfig(iterations=1, completion=False)
    assert ProtocolConfig().matches == 2


@pytest.mark.parametrize(
    ("table", "trainings", "matches"), [(2, 1728, 1304640), (3, 1728, 1304640), (4, 1872, 1190928)]
)
def test_the_articles_tables_at_full_scale(table: int, trainings: int, matches: int) -> None:
    """Checks that need no Ludii jar; tests/ludii sets them up."""
    experiment = read_experiment(FULL / f"table_{table}.toml").experiment
    assert len(experiment.games) == 9
    assert {variant.training.seconds for variant in experiment.variants} == {48 * 3600.0}
    assert {variant.training.search.seconds for variant in experiment.variants} == {2.0}
    assert {variant.play.search.algorithm for variant in experiment.variants} == {"minimax"}
    plan = Plan(experiment)
    assert (len(plan.trainings()), plan.match_count()) == (trainings, matches)


@pytest.mark.parametrize(("name", "states"), [("searches", 17), ("searches", 400), ("targets", 17), ("targets", 400)])
def test_ready_files_learn_each_state_as_often_as_documented(name: str, states: int) -> None:
    """Five times with root learning and ten with tree learning, with the games of the slowest variant."""
    config = read_experiment(READY[0].with_name(f"{name}.toml")).experiment.variants[0].training.replay
    replay = make_replay(config, np.random.default_rng(0))
    matches, learned = 60, 0
    for match in range(matches):
        replay.add(match_of([match * states + i for i in range(states)]))
        learned += sum(len(batch.labels) for batch in replay.sample(128))
    assert learned / (matches * states) == pytest.approx({"searches": 5, "targets": 10}[name], rel=0.2)


@pytest.mark.parametrize(
    ("settings", "path", "problem"),
    [
        ({"algorithm": "ubfm", "iterations": 0}, "play.iterations", "must be at least 1, got 0"),
        (
            {"algorithm": "ubfm", "iterations": "none"},
            "play",
            "must be limited by seconds, iterations, ",
        ),
        ({"algorithm": "gumbel", "root_noise": 1.0}, "play.root_noise", "must be none, as it is for training, got 1.0"),
        ({"iterations": 3}, "play.iterations", "must be none, as 'minimax' looks one action ahead, got 3"),
        ({"decision": "first"}, "play.decision", "must be one of 'best', 'safest', 'securest', 'search', got 'first'"),
    ],
)
def test_errors_of_play_have_their_path(settings: dict[str, Any], path: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_settings(PlayConfig, settings)
    assert raised.value.path == path
    assert raised.value.problem.startswith(problem)


def test_an_error_has_path_problem_and_source() -> None:
    with pytest.raises(ConfigError) as raised:
        ExperimentFile(TINY.replace("stages = 2", "stages = 0"), "mine.toml")
    error = raised.value
    assert (error.path, error.source) == ("protocol.stages", "mine.toml")
    assert str(error) == f"mine.toml, line 7: {error.problem}"


def test_matches_without_openings_must_differ_by_chance() -> None:
    text = TINY.replace("= 4\nopening_plies = 1", "= 4  # here\nopening_plies = 0")
    with pytest.raises(ConfigError, match=r"protocol\.matches must be 2 if protocol\.opening_plies is 0") as raised:
        check(ExperimentFile(text, "tiny.toml"))
    assert str(raised.value).startswith(f"tiny.toml, line {line(text, '# here')}: ")
    dice = text.replace(MNK, "pig(players=2)").replace("tic_tac_toe", "einstein_wurfelt_nicht")
    check(ExperimentFile(dice, "tiny.toml"))
