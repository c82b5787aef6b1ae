"""The words of the command line: options of a subcommand, and lengths of time."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest
import tyro

from athenan_spiel.cli.options import duration_text, parse_duration
from athenan_spiel.cli.parsing import option_value, parse
from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import ConfigError, shown


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Does something."""

    game: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")]
    """What it is done with."""
    speed: Literal["quick", "slow"] = "quick"
    """How fast."""
    settings: Annotated[TrainingConfig, tyro.conf.arg(name="")] = field(default_factory=TrainingConfig)


def complaint(*words: str) -> str:
    with pytest.raises(ConfigError) as error:
        parse(Arguments, words, "athenan test")
    return str(error.value)


def test_nested_settings_override_their_defaults_and_keep_the_rest() -> None:
    words = ["hex", "--search.algorithm", "ubfm", "--search.iterations", "none", "--search.seconds", "2", "--matches=8"]
    parsed = parse(Arguments, words, "athenan test")
    assert parsed.game == "hex"
    assert (parsed.settings.search.algorithm, parsed.settings.search.seconds) == ("ubfm", 2.0)
    assert parsed.settings.search.iterations is None
    assert parsed.settings.matches == 8
    assert parsed.settings.replay == TrainingConfig().replay


def test_defaults_can_come_from_elsewhere() -> None:
    default = Arguments(game=tyro.MISSING, settings=TrainingConfig(seed=7, matches=3))
    parsed = parse(Arguments, ["hex", "--matches", "5"], "athenan test", default)
    assert (parsed.settings.seed, parsed.settings.matches) == (7, 5)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "missing: GAME"),
        (
            ["hex", "--speed", "fast"],
            "invalid choice 'fast' for argument '--speed'. Expected one of ('quick', 'slow').",
        ),
        (["hex", "--speed"], "Missing value for argument '--speed'. Expected 1 values."),
        (["hex", "--replay.matches", "few"], "--replay.matches: expected a whole number, got 'few'"),
        (["hex", "--replay.duplication", "x"], "--replay.duplication: expected a number, got 'x'"),
        (["hex", "--replay.duplication", "nan"], "--replay.duplication: expected a number, got 'nan'"),
        (["hex", "--replay.matches", "٣"], "--replay.matches: expected a whole number, got '٣'"),
        (["hex", "--search.seconds", "٣.٥"], "--search.seconds: expected a number, got '٣.٥'"),
        (["hex", "--search.iterations", "many"], "--search.iterations: expected a whole number, got 'many'"),
        (["hex", "--replay.matches", "0"], "replay.matches must be at least 1, got 0"),
        (["hex", "--matches-at-once", "100000"], "matches_at_once must be at most 10,000, got 100000"),
        (["hex", "--replay.megabytes", "1e300"], "replay.megabytes must be at most 1,000,000,000, got 1e+300"),
        (["hex", "--replay.matches", "7" * 100], f"replay.matches must be at most 1,000,000,000, got {'7' * 100}"),
        (["hex", "--seed", "-1"], "seed must be at least 0, got -1"),
        (["hex", "--search.lines", "4"], "search.lines must be none, as only 'ubfm' has it, got 4"),
        (
            ["hex", "--search.algorithm", "alphabeta", "--search.paranoid"],
            "search.paranoid must be false, as only 'descent' and 'ubfm' have it, got True",
        ),
        (["hex", "--search.lines", "0", "--search.algorithm", "ubfm"], "search.lines must be at least 1, got 0"),
        (
            ["hex", "--serach.algorithm", "ubfm"],
            "unknown option '--serach.algorithm': did you mean '--search.algorithm'?",
        ),
        (["hex", "--filters=3"], "unknown option '--filters': did you mean '--network.filters'?"),
        (["hex", "--lr", "3"], "unknown option '--lr': did you mean '--learner.learning-rate'?"),
        (
            ["hex", "--no-search.completion"],
            "unknown option '--no-search.completion': did you mean '--search.no-completion'?",
        ),
        (["hex", "--no-edges"], "unknown option '--no-edges': did you mean '--encoding.no-edges'?"),
        (
            ["hex", "--encoding.edges", "true"],
            "unexpected argument 'true': write a flag as --table.name or --table.no-name",
        ),
        (["hex", "--zzz"], "unknown option '--zzz'"),
        (["hex", "go"], "unexpected argument 'go'; quote a word that contains spaces or parentheses"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_mistake_is_one_line(words: list[str], message: str, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))
    assert complaint(*words) == message


def test_help_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        parse(Arguments, ["--help"], "athenan test")
    assert stop.value.code == 0
    assert "--search.iterations INT" in capsys.readouterr().out


def test_the_last_value_of_an_option_counts() -> None:
    assert option_value(["hex", "--preset", "quick", "--preset=paper"], "--preset") == "paper"
    assert option_value(["hex", "--preset"], "--preset") is None
    assert option_value(["hex"], "--preset") is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("3m", 180),
        ("1h30m", 5400),
        ("45", 45),
        ("0.5", 0.5),
        (".5s", 0.5),
        ("1d2h", 93600),
        ("2m30s", 150),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"), [(180.0, "3m"), (5400, "1h30m"), (93600, "1d2h"), (363.2, "6m4s"), (0.5, "1s"), (1e-9, "1s")]
)
def test_a_duration_as_text_is_parsed_again(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
    assert parse_duration(text) == math.ceil(seconds)


@pytest.mark.parametrize(
    "text", ["", "0", "0s", "-3m", "3 minutes", "3M", "1e3", "inf", "nan", "30m1h", "m", "9" * 400, "٣m", "٣"]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(
        ConfigError, match=r"expected a length of time above zero, like 90s, 3m, 1h30m or 45 \(seconds\)"
    ) as error:
        parse_duration(text)
    assert f"got {shown(text)}" in str(error.value)
