"""Overrides of an experiment file: checked like the file, stored with the results, never mixed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from experiment_runs import TINY, tiny_file

from athenan_spiel.cli.main import main
from athenan_spiel.errors import ConfigError
from athenan_spiel.experiments import ExperimentFile, Overrides, read_experiment, report
from athenan_spiel.experiments.plan import Plan

Out = pytest.CaptureFixture[str]
OTHER_LENGTHS = TINY.replace("[variants.descent]", "[variants.descent]\nmatches = 6")


def test_overrides_replace_settings_of_the_file() -> None:
    overrides = Overrides(repetitions=3, seed=7, stages=4, pairing_matches=2, matches=5)
    experiment = tiny_file(overrides=overrides).experiment
    assert (experiment.repetitions, experiment.seed) == (3, 7)
    assert (experiment.protocol.stages, experiment.protocol.matches) == (4, 2)
    assert [variant.training.matches for variant in experiment.variants] == [5, 5]
    assert tiny_file(overrides=Overrides()).experiment == tiny_file().experiment


def test_a_subset_of_games_has_the_same_trainings() -> None:
    other = "mnk(m=3,n=4,k=3)"
    text = TINY.replace(
        "[variants.descent]", f'[variants.alone]\ngames = ["{other}"]\nsearch.iterations = 3\n[variants.descent]'
    )
    text += '[fixed]\nopponents = ["mcts:2", {spec = "random", variants = ["alone"]}]\n'
    whole = ExperimentFile(text, "tiny.toml").experiment
    part = ExperimentFile(text, "tiny.toml", Overrides(games=("tic_tac_toe",))).experiment
    assert part.games == ("tic_tac_toe",)
    assert [(variant.name, variant.games) for variant in part.variants] == [
        ("descent", ("tic_tac_toe",)),
        ("ubfm", ("tic_tac_toe",)),
    ]
    assert part.fixed is not None
    assert [(o.spec, o.games, o.variants) for o in part.fixed.opponents] == [
        ("mcts:2", ("tic_tac_toe",), ("descent", "ubfm"))
    ]
    assert set(Plan(part).trainings()) < set(Plan(whole).trainings())


def test_a_subset_of_games_must_leave_something_to_play() -> None:
    """The only opponent does not play the remaining game, and networks meet no others."""
    pool = '[fixed]\nopponents = [{spec = "random", games = ["mnk(m=3,n=4,k=3)"]}]\n'
    text = TINY.replace("opening_plies = 1", 'opening_plies = 1\nopponents = "none"') + pool
    assert ExperimentFile(text, "tiny.toml", Overrides(games=("mnk(m=3,n=4,k=3)",))).experiment.fixed is not None
    with pytest.raises(ConfigError, match=r"games must leave something to compare, got \('tic_tac_toe',\)"):
        ExperimentFile(text, "tiny.toml", Overrides(games=("tic_tac_toe",)))
    among = text.replace('opponents = "none"\n', "")
    assert ExperimentFile(among, "tiny.toml", Overrides(games=("tic_tac_toe",))).experiment.fixed is None


def test_a_length_applies_to_every_training(tmp_path: Path) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(OTHER_LENGTHS)
    assert [v.training.matches for v in read_experiment(path).experiment.variants] == [6, 4]
    for overrides, limits in (
        (Overrides(seconds=30), (30, None)),
        (Overrides(matches=8), (None, 8)),
        (Overrides(seconds=1.5, matches=8), (1.5, 8)),
    ):
        variants = read_experiment(path, overrides).experiment.variants
        assert {(v.training.seconds, v.training.matches) for v in variants} == {limits}


def test_overrides_may_add_a_table() -> None:
    head = (
        'name = "x"\ngames = ["tic_tac_toe"]\nrepetitions = 1\n[variants.a]\n[variants.b]\nsearch.algorithm = "ubfm"\n'
    )
    experiment = ExperimentFile(head, "x.toml", Overrides(stages=2, matches=3)).experiment
    assert experiment.protocol.stages == 2
    assert [v.training.matches for v in experiment.variants] == [3, 3]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"repetitions": 1001}, "repetitions=1001: repetitions must be at most 1,000, got 1001"),
        ({"seed": -1}, "seed=-1: seed must be a whole number, at least 0, got -1"),
        ({"seconds": float("nan")}, "seconds=nan: training.seconds must be a finite number or none, got nan"),
        ({"seconds": -3.0}, "seconds=-3.0: training.seconds must be "),
        ({"matches": 0}, "matches=0: training.matches must be "),
        ({"stages": 0}, "stages=0: protocol.stages must be at least 1, got 0"),
        ({"pairing_matches": 3}, "pairing_matches=3: protocol.matches must be even and at least 2, got 3"),
        ({"games": ("tic_tac",)}, "games=('tic_tac',): games must be different games of the file, got 'tic_tac': did"),
        ({"games": ("tic_tac_toe",) * 2}, "games=('tic_tac_toe', 'tic_tac_toe'): games must be different games of"),
        ({"games": ()}, "games=(): games must leave something to compare, got ()"),
        ({"seed": 3, "stages": 0}, "seed=3, stages=0: protocol.stages must be at least 1, got 0"),
    ],
)
def test_overrides_are_checked_like_the_file(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        tiny_file(overrides=Overrides(**given))
    assert str(raised.value).startswith(f"tiny.toml with {said}")


def test_errors_of_the_file_keep_their_line() -> None:
    with pytest.raises(ConfigError, match=r"^tiny.toml with seed=3, line 7: protocol.stage is not a setting"):
        tiny_file("stages = 2", "stage = 2", Overrides(seed=3))
    with pytest.raises(ConfigError, match=r"^tiny.toml with stages=3, line \d+: protocol must be a table"):
        tiny_file(TINY[TINY.index("[protocol]") : TINY.index("[training]")], "protocol = 3\n", Overrides(stages=3))


def test_overrides_that_make_variants_equal_are_refused() -> None:
    text = 'search.algorithm = "ubfm"'
    with pytest.raises(
        ConfigError, match=r"^tiny.toml with seconds=30, line \d+: variant 'ubfm' is the same as 'descent'"
    ):
        tiny_file(text, "matches = 6", Overrides(seconds=30))


def test_results_with_other_overrides_are_refused(tmp_path: Path, capsys: Out) -> None:
    (tmp_path / "tiny.toml").write_text(TINY)
    words = ["experiment", str(tmp_path / "tiny.toml"), "--folder", str(tmp_path / "x"), "--processes", "1"]
    given = ["--repetitions", "1", "--seed", "7", "--matches", "2", "--stages", "1", "--pairing-matches", "2"]
    assert main([*words, *given]) == 0
    captured = capsys.readouterr()
    said = "repetitions=1, seed=7, matches=2, stages=1, pairing_matches=2"
    assert f"tiny.toml with {said}: 4 trainings, then 4 games\n" in captured.err
    assert "(" not in captured.out.replace("mnk(m=3,n=4,k=3)", ""), "one repetition has no intervals"
    kept = json.loads((tmp_path / "x" / "experiment.json").read_text())
    assert kept["experiment"]["repetitions"] == 1
    assert kept["experiment"]["variants"][0]["training"]["matches"] == 2
    assert kept["overrides"] == {"repetitions": 1, "seed": 7, "matches": 2, "stages": 1, "pairing_matches": 2}
    assert main([*words, *given]) == 0, "the same command goes on"
    capsys.readouterr()
    assert main([*words, *given, "--repetitions", "2"]) == 2
    assert "there repetitions is 1, and here 2; choose another --folder" in capsys.readouterr().err
    assert main([*words, "--report"]) == 2
    assert "there repetitions is 1, and here 2" in capsys.readouterr().err
    overrides = Overrides(repetitions=1, seed=7, matches=2, stages=1, pairing_matches=2)
    assert report(read_experiment(tmp_path / "tiny.toml", overrides), tmp_path / "x").complete


def test_a_check_prints_the_size(tmp_path: Path, capsys: Out) -> None:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    assert main(["experiment", str(path), "--check", "--seconds", "90", "--repetitions", "5", "--processes", "2"]) == 0
    assert capsys.readouterr().err == (
        f"{path} with repetitions=5, seconds=90.0 is valid: 20 trainings, 15 minutes, processes: 2, then 520 games\n"
    )
    assert main(["experiment", str(path), "--check", "--seconds", "86400", "--processes", "1"]) == 0
    assert "8 trainings, 8 days, processes: 1, then 112 games" in capsys.readouterr().err
    assert Plan(tiny_file().experiment).match_count() == 112
