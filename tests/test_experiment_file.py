"""The file of an experiment: what it means, and that every mistake in it is named with its line before any training."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from experiments import TINY, Recorder, run_tiny, tiny_file

from athenan_spiel.arena.experiments import (
    ExperimentFile,
    Overrides,
    PlayConfig,
    ProtocolConfig,
    check,
    read_experiment,
)
from athenan_spiel.arena.experiments.plan import Plan, slug
from athenan_spiel.errors import ConfigError
from athenan_spiel.training.presets import PAPER, QUICK
from athenan_spiel.training.toml_lines import key_lines, line_of

READY = sorted((Path(__file__).resolve().parent.parent / "examples" / "experiments").glob("*.toml"))
MNK = "mnk(m=3,n=4,k=3)"


def with_text(addition: str) -> ExperimentFile:
    return ExperimentFile(TINY + addition, "tiny.toml")


def line(text: str, part: str) -> int:
    """The number of the first line that holds `part`."""
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


def test_a_preset_is_what_training_differs_from() -> None:
    text = '[training]\npreset = "paper"\nseconds = 60\nmatches = "none"\nsearch.iterations = 7\n'
    head = 'name = "x"\ngames = ["tic_tac_toe"]\nrepetitions = 1\n'
    file = ExperimentFile(head + text + "[variants.a]\n[variants.b]\nseconds = 30\n", "x.toml")
    a, b = file.experiment.variants
    assert a.training.network == PAPER.network
    assert a.training.seconds == 60
    assert b.training.seconds == 30


def test_one_limit_takes_the_place_of_the_others() -> None:
    text = '[training]\npreset = "quick"\nsearch.seconds = 0.5\nmatches = 3\n'
    head = 'name = "x"\ngames = ["tic_tac_toe"]\nrepetitions = 1\n'
    play = '[play]\nalgorithm = "ubfm"\nseconds = 1\n'
    tail = "[variants.a]\n[variants.b]\nplay.iterations = 4\nsearch.iterations = 2\n"
    a, b = ExperimentFile(head + text + play + tail, "x.toml").experiment.variants
    assert (QUICK.seconds, QUICK.search.iterations) == (180, 10)
    assert (a.training.seconds, a.training.matches) == (None, 3)
    assert (a.training.search.seconds, a.training.search.iterations, a.training.search.evaluations) == (0.5, None, None)
    assert (b.training.search.seconds, b.training.search.iterations) == (None, 2)
    assert (b.play.seconds, b.play.iterations) == (None, 4)


def test_variants_take_part_in_some_games_only() -> None:
    ubfm, never, only = with_text(
        f'[variants.never]\nseed = 0\noutcome = "gain"\nexcept = ["{MNK}"]\n[variants.only]\noutcome = "gain"\n'
        f'search.iterations = 3\ngames = ["{MNK}"]\n'
    ).experiment.variants[1:]
    assert ubfm.games == ("tic_tac_toe", MNK)
    assert never.games == ("tic_tac_toe",)
    assert only.games == (MNK,)


def test_variants_that_train_alike_share_their_networks() -> None:
    file = with_text('[variants.ubfm_plays]\nplay = {algorithm = "ubfm", iterations = 3}\n')
    plan = Plan(file.experiment)
    assert len(plan.trainings()) == 2 * 2 * 2
    assert plan.training("tic_tac_toe", "ubfm_plays", 1) == plan.training("tic_tac_toe", "descent", 1)
    assert plan.training("tic_tac_toe", "ubfm", 1) != plan.training("tic_tac_toe", "descent", 1)


def test_seeds_differ_by_everything_that_a_training_is() -> None:
    plan = Plan(tiny_file().experiment)
    other = Plan(tiny_file("seed = 1", "seed = 2").experiment)
    seeds = [training.config.seed for training in [*plan.trainings(), *other.trainings()]]
    assert len(set(seeds)) == 16
    assert [t.config.seed for t in Plan(tiny_file().experiment).trainings()] == seeds[:8]


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        ("[variants.ubfm]", "[variant.ubfm]", "[variant.ubfm]", "variant is not a setting: did you mean 'variants'?"),
        ("stages = 2", "stage = 2", "stage = 2", "protocol.stage is not a setting: did you mean 'stages'?"),
        ("stages = 2", "stages = 0", "stages = 0", "protocol.stages must be at least 1, got 0"),
        ("stages = 2", 'stages = "2"', "stages =", "protocol.stages must be a whole number, got '2'"),
        ("resamples = 200", "confidence = 1.5", "confidence", "protocol.confidence must be between 0 and 1, got 1.5"),
        ("matches = 4\nopening", "matches = 3\nopening", "matches = 3", "protocol.matches must be even and at least 2"),
        (
            "opening_plies = 1",
            "opening_plies = 0",
            "matches = 4",
            "protocol.matches must be 2 where protocol.opening_pl",
        ),
        (
            "opening_plies = 1",
            "opening_plies = -1",
            "opening_plies",
            "protocol.opening_plies must be at least 0, got -1",
        ),
        (
            "iterations = 2",
            "iteration = 2",
            "iteration = 2",
            "training.search.iteration is not a setting: did you mean",
        ),
        (
            "iterations = 2",
            "iterations = 0",
            "iterations = 0",
            "training.search.iterations must be more than zero, got 0",
        ),
        ('= "ubfm"', '= "ubmf"', '"ubmf"', "variant 'ubfm': search.algorithm must be one of"),
        ('search.algorithm = "ubfm"', 'serch.algorithm = "ubfm"', "serch", "variants.ubfm.serch is not a setting: did"),
        ('search.algorithm = "ubfm"', "search = 3", "search = 3", "variants.ubfm.search must be a table"),
        ('search.algorithm = "ubfm"', "targets.leafs = 3", "leafs", "variants.ubfm.targets.leafs is not a setting"),
        ('search.algorithm = "ubfm"', "search.rollouts = true", "search.rollouts", "search.rollouts must be false"),
        ('search.algorithm = "ubfm"', "seed = 5", "seed = 5", "variants.ubfm.seed is not for here"),
        ('search.algorithm = "ubfm"', "", "[variants.ubfm]", "variant 'ubfm' is the same as 'descent'"),
        ('search.algorithm = "ubfm"', "play = 3", "play = 3", "variants.ubfm.play must be a table"),
        (
            'search.algorithm = "ubfm"',
            'play.algorithm = "ubfm"',
            "play.alg",
            "variants.ubfm.play.algorithm='ubfm' needs",
        ),
        (
            'search.algorithm = "ubfm"',
            "play.iterations = 3",
            "play.it",
            "variants.ubfm.play.iterations must be none, as",
        ),
        (
            'search.algorithm = "ubfm"',
            'play.decision = "safest"',
            "play.dec",
            "play.decision must be 'best' for 'minimax",
        ),
        (
            'search.algorithm = "ubfm"',
            'play = {algorithm = "ubfm", iterations = 1, rollouts = true}',
            "play =",
            "play.rollouts must be false",
        ),
        (
            "[training]",
            '[training]\npreset = "quik"',
            "preset",
            "training.preset must be one of quick, paper, got 'quik'",
        ),
        ("[training]", "[training]\npreset = 3", "preset", "training.preset must be a text, got 3"),
        ("repetitions = 2", "repetitions = 0", "repetitions", "repetitions must be a whole number, at least 1, got 0"),
        (
            "repetitions = 2",
            "repetitions = true",
            "repetitions",
            "repetitions must be a whole number, at least 1, got T",
        ),
        ("seed = 1", 'seed = "a"', "seed", "seed must be a whole number, at least 0, got 'a'"),
        (
            'games = ["tic_tac_toe", ',
            'games = ["tic_tac_toe", "tic_tac_toe", ',
            "games",
            "list of different game strings",
        ),
        ("[protocol]", "[protocol]\n[play]\nalgoritm = 3", "algoritm", "play.algoritm is not a setting: did you mean"),
        (
            'search.algorithm = "ubfm"',
            'games = ["mnk(m=3,n=4)"]',
            "mnk(m=3,n=4)",
            "'mnk(m=3,n=4)' is not in games: did",
        ),
        (
            'search.algorithm = "ubfm"',
            'games = ["tic_tac_toe"]\nexcept = []',
            "except",
            "must have games or except, got b",
        ),
        (
            'search.algorithm = "ubfm"',
            f'except = ["tic_tac_toe", "{MNK}"]',
            "except",
            "variants.ubfm must take part in a game, got none",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(old: str, new: str, at: str, message: str) -> None:
    text = TINY.replace(old, new, 1)
    assert text != TINY
    with pytest.raises(ConfigError) as raised:
        ExperimentFile(text, "tiny.toml")
    said = str(raised.value)
    assert said.startswith(f"tiny.toml, line {line(text, at)}: "), said
    assert message in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../../evil", "no slash or backslash"),
        ("/etc/evil", "no slash or backslash"),
        ("a\\b", "no slash or backslash"),
        (".", "not begin with a dash or a dot"),
        ("..", "not begin with a dash or a dot"),
        (".hidden", "not begin with a dash or a dot"),
        ("--help", "not begin with a dash or a dot"),
        ("", "name must be a text, got ''"),
        (" ", "name must be 1 to 60 printable characters, got ' '"),
        ("a\0b", "name must be 1 to 60 printable characters, got 'a\\x00b'"),
        ("a\nb", "name must be 1 to 60 printable characters, got 'a\\nb'"),
        ("a\x1b[2Jb", "name must be 1 to 60 printable characters"),
        ("x" * 10_000, "name must be 1 to 60 printable characters, got 'xxxxxxxx"),
    ],
)
def test_a_name_is_that_of_a_folder_below(name: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        tiny_file('name = "tiny"', f"name = {json.dumps(name)}")
    said = str(raised.value)
    assert said.startswith("tiny.toml, line 1: ")
    assert message in said
    assert "\n" not in said
    assert len(said) < 400


@pytest.mark.parametrize("name", ["a b", "Größe", "x" * 60, "\U00020000" * 60, "a.b-c_d,e"])
def test_names_that_folders_can_have_are_taken(name: str, tmp_path: Path) -> None:
    assert tiny_file('name = "tiny"', f"name = {json.dumps(name, ensure_ascii=False)}").experiment.name == name
    (tmp_path / name).mkdir()
    (tmp_path / slug(name)).mkdir(exist_ok=True)


@pytest.mark.parametrize("name", ["x" * 10_000, "a\nb", "", "\x1b[2J"])
def test_a_variants_name_is_one_that_can_be_shown(name: str) -> None:
    with pytest.raises(
        ConfigError, match=r"^tiny.toml, line \d+: a variant's name must be 1 to 60 printable charact"
    ) as raised:
        tiny_file("[variants.ubfm]", f"[variants.{json.dumps(name)}]")
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


def test_a_long_game_string_has_a_folder_of_its_own(tmp_path: Path) -> None:
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


def test_names_that_differ_in_capitals_alone_would_share_a_folder() -> None:
    with pytest.raises(ConfigError, match=r"variants 'descent' and 'Descent' would share the folder 'Descent'"):
        check(tiny_file("[variants.ubfm]", "[variants.Descent]"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("repetitions = 2", "repetitions = 1000000000", "line 3: repetitions must be at most 1,000, got 1000000000"),
        (
            "seed = 1",
            f"seed = {10**4000}",
            "line 4: seed must be at most 9,223,372,036,854,775,807, got <a whole number of",
        ),
        ("stages = 2", "stages = 1001", "line 7: protocol.stages must be at most 1,000, got 1001"),
        ("matches = 4\nop", "matches = 10002\nop", "line 8: protocol.matches must be at most 10,000, got 10002"),
        ("opening_plies = 1", "opening_plies = 1001", "line 9: protocol.opening_plies must be at most 1,000, got 1001"),
        (
            "resamples = 200",
            "resamples = 1000001",
            "line 10: protocol.resamples must be at most 1,000,000, got 1000001",
        ),
        (
            '["tic_tac_toe", ',
            f"{json.dumps([f'hex(board_size={n})' for n in range(100)])[:-1]}, ",
            "line 2: games must be at most 100 game strings, got 101",
        ),
        (
            "[variants.ubfm]",
            "\n".join(f"[variants.v{n}]" for n in range(100)),
            "line 22: there may be at most 100 variants, got 101",
        ),
    ],
)
def test_numbers_beyond_use_are_refused_with_the_bound(old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        tiny_file(old, new)
    assert str(raised.value).startswith(f"tiny.toml, {message}")
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (Overrides(repetitions=400), "it comes to 2,569,600 matches, more than the 1,000,000 of an experiment at most"),
        (Overrides(stages=1000, pairing_matches=1000), "it comes to 15,996,000 matches, more than the 1,000,000"),
    ],
)
def test_more_matches_than_anybody_plays_are_refused_before_anything_is_made(
    overrides: Overrides, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=message):
        run_tiny(tmp_path / "x", file=tiny_file(overrides=overrides))
    assert not (tmp_path / "x").exists()


def test_more_memory_than_there_may_be_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    file = tiny_file("resamples = 200", 'resamples = 1000000\nopponents = "repetition"', Overrides(repetitions=40))
    with pytest.raises(
        ConfigError, match=r"^tiny.toml .*line 10: the intervals would take 5.2 GB of memory, more than the"
    ):
        run_tiny(tmp_path / "x", file=file)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("old", "new", "processes", "free", "message"),
    [
        ("", "", 5, 10**9, "^5 processes that train at once need 1.3 GB, and 1.0 GB are free: take fewer --processes"),
        ("", "", 99, 10**9, "^8 processes that train at once need 2.0 GB, and 1.0 GB are free"),
        (
            "layers = 1, neurons = 8",
            "layers = 3, neurons = 2000",
            2,
            6 * 10**8,
            "^2 processes that train at once need 1.0",
        ),
        (
            "resamples = 200",
            "resamples = 1000000",
            1,
            10**8,
            "the intervals would take 0.3 GB of memory, more than the 0.1",
        ),
    ],
)
def test_more_memory_than_is_free_is_refused(
    monkeypatch: pytest.MonkeyPatch, old: str, new: str, processes: int, free: int, message: str
) -> None:
    monkeypatch.setattr(sys.modules[check.__module__], "free_memory", lambda: free)
    with pytest.raises(ConfigError, match=message):
        check(tiny_file(old, new), processes=processes)


def test_a_process_has_room_where_several_have_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[check.__module__], "free_memory", lambda: 3 * 10**8)
    check(tiny_file(), processes=1)


@pytest.mark.parametrize("opponents", ["all", "repetition"])
def test_pairings_are_counted_without_being_listed(opponents: str) -> None:
    text = f'stages = 3\nopponents = "{opponents}"'
    other = f'{TINY}[variants.third]\nsearch.iterations = 3\nexcept = ["{MNK}"]\n'.replace("stages = 2", text)
    plan = Plan(ExperimentFile(other, "tiny.toml", Overrides(repetitions=4)).experiment)
    assert plan.pairing_count() == len(list(plan.pairings()))
    assert plan.match_count() == 4 * plan.pairing_count()


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ConfigError, match=r"^tiny.toml: name must be a text, got None$"):
        tiny_file('name = "tiny"\n')
    with pytest.raises(ConfigError, match=r"compares at least two variants, got 1$"):
        tiny_file('[variants.ubfm]\nsearch.algorithm = "ubfm"\n')
    with pytest.raises(ConfigError, match=r"line \d+: variant 'descent': training must end: give training.seconds or"):
        tiny_file("matches = 4\nmatches_at_once", "matches_at_once")
    with pytest.raises(ConfigError, match=r"^x.toml is not valid TOML: "):
        ExperimentFile("name = ", "x.toml")


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_experiment(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(ConfigError, match="is not valid TOML: 'utf-8' codec"):
        read_experiment(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        ('["tic_tac_toe", ', '["tic_tac_to", ', "games", "games: .*'tic_tac_to'.*did you mean 'tic_tac_toe'"),
        ('["tic_tac_toe", ', '["morpion_solitaire", ', "games", "games: players must meet in a game, got 'morpion"),
        (
            'algorithm = "ubfm"',
            'algorithm = "ubfm"\noutcome = "presence"',
            "presence",
            "'ubfm': outcome 'presence' needs",
        ),
        ('"mlp", layers = 1', '"c", layers = 4', "network", r"variant 'descent': network: .* \(at tic_tac_toe\)"),
        (
            "opening_plies = 1",
            "opening_plies = 20",
            "opening_plies",
            "protocol.opening_plies at tic_tac_toe: 20 random",
        ),
        ("[variants.ubfm]", '[variants."descent."]', '"descent."', "would share the folder 'descent'"),
    ],
)
def test_what_does_not_suit_a_game_is_said_before_anything_is_trained(
    tmp_path: Path, old: str, new: str, at: str, message: str
) -> None:
    file = tiny_file(old, new)
    with pytest.raises(ConfigError, match=f"^tiny.toml, line {line(file.text, at)}: .*{message}"):
        check(file)
    recorder = Recorder()
    with pytest.raises(ConfigError):
        run_tiny(tmp_path / "x", recorder=recorder, file=file)
    assert recorder.training_counts == []
    assert not (tmp_path / "x").exists()


def test_a_game_written_in_two_ways_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"line 2: games: 'tic_tac_toe' and 'tic_tac_toe\(\)' are the same game"):
        check(tiny_file(MNK, "tic_tac_toe()"))


def test_a_missing_device_is_said_before_anything_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ConfigError, match=r"tiny.toml, line \d+: variant 'descent': engine.name='cuda' needs a CUDA"):
        check(tiny_file('engine = {name = "torch", precision = "float32"}', 'engine.name = "cuda"'))


@pytest.mark.parametrize("path", READY, ids=lambda path: path.stem)
def test_the_ready_files_are_right(path: Path) -> None:
    experiment = read_experiment(path).experiment
    assert experiment.name == path.stem
    assert experiment.repetitions >= 5


def test_depth_one_minimax_is_one_iteration_without_completion() -> None:
    search = PlayConfig().search()
    assert (search.algorithm, search.iterations, search.completion) == ("ubfm", 1, False)
    assert ProtocolConfig().matches == 2


def test_the_line_of_a_key_is_found_however_it_is_written() -> None:
    text = 'a = 1 # b = 2\nlist = [\n  "c = 3", # [\n  "d",\n]\n'
    text += '[t."x = y.z".u]\n"q.r" . s = 1\np = {v = [1,\n 2]}\nw = 1\n'
    assert list(key_lines(text)) == [
        (1, ("a",)),
        (2, ("list",)),
        (6, ("t", "x = y.z", "u")),
        (7, ("t", "x = y.z", "u", "q.r", "s")),
        (8, ("t", "x = y.z", "u", "p")),
        (10, ("t", "x = y.z", "u", "w")),
    ]
    assert line_of(text, ("t", "x = y.z")) == 6
    assert line_of(text, ("nothing",)) is None


def test_lines_of_quotes_are_passed_over() -> None:
    quotes = '\\"' * 30_000
    assert line_of(f'a = """\n{quotes}\n"""\nb = [\n]\nc = 1\n', ("c",)) == 6
    assert line_of(f'a = "{quotes}"\nb = 1\n', ("b",)) == 2
