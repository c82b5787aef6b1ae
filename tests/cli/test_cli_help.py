"""`--help` and `--help-all` of every command."""

from __future__ import annotations

import re

import pytest
from command_line import Out

from athenan_spiel.cli.main import COMMANDS, main
from athenan_spiel.cli.play import WEB_ONLY
from athenan_spiel.training.presets import preset

WORDS = [*([command] for command in COMMANDS), ["ludii", "sweep"]]
REPEATABLE = ("--allow-code", "--allow-program")
HIDDEN_DEFAULT = {"--config"}
"""Options of `athenan train` whose absence changes nothing."""


def help_of(words: list[str], option: str, capsys: Out) -> str:
    assert main([*words, option]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def entries(text: str) -> dict[str, str]:
    """The entries of a help text by option, each in one line."""
    found: dict[str, str] = {}
    for entry in re.split(r"\n  (?=[-A-Z])", text)[1:]:
        line = " ".join(entry.split("\n\n")[0].split())
        if match := re.match(r"(?:-h, )?(--[\w.-]+)", line):
            found[match[1]] = line
    return found


@pytest.fixture(autouse=True)
def terminal_of_100_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
@pytest.mark.parametrize("option", ["--help", "-h", "--help-all"])
def test_each_option_has_a_text_and_shows_its_default_once(words: list[str], option: str, capsys: Out) -> None:
    text = help_of(words, option, capsys)
    assert "default: none" not in text.lower()
    assert "{None}" not in text
    for name, entry in entries(text).items():
        assert len(entry.lower().split("[default: ")) <= 2, entry
        assert re.search(r"[a-z]{4}.*\.", entry.replace(name, "")), entry
        _, _, default = entry.partition("[default: ")
        assert default.count("(") == default.count(")"), entry
        assert default.count("`") % 2 == 0, entry


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_help_all_lists_all_that_help_lists(words: list[str], capsys: Out) -> None:
    common, everything = (entries(help_of(words, option, capsys)) for option in ("--help", "--help-all"))
    assert {name: everything[name] for name in common} == common
    assert (len(everything) > len(common)) == ("--help-all" in common)


def test_the_help_of_training_is_short_and_help_all_has_every_setting(capsys: Out) -> None:
    common, everything = (entries(help_of(["train"], option, capsys)) for option in ("--help", "--help-all"))
    assert 12 <= len(common) <= 18
    assert {"--time", "--preset", "--search.algorithm", "--folder"} <= common.keys()
    assert {"--search.completion", "--memory.bytes", "--replay.method", "--cluster"} <= everything.keys()
    flags = {"--quiet", "--json", "--help", "--help-all"}
    for name in everything.keys() - flags - HIDDEN_DEFAULT - {*REPEATABLE}:
        assert everything[name].count("[default: ") == 1, everything[name]


def test_the_help_of_bench_is_short_and_help_all_has_every_setting(capsys: Out) -> None:
    common, everything = (entries(help_of(["bench"], option, capsys)) for option in ("--help", "--help-all"))
    own = {"--time", "--only", "--workers", "--preset", "--config", "--json"}
    assert common.keys() == {*own, "--help", "--help-all"}
    assert {"--allow-code", "--ludii-memory", "--network.filters", "--seconds"} <= everything.keys()


@pytest.mark.parametrize("command", ["train", "bench"])
def test_defaults_are_those_of_the_preset_or_chosen_from_the_game(command: str, capsys: Out) -> None:
    quick = entries(help_of([command], "--help-all", capsys))
    assert quick["--network.filters"].endswith("[default: chosen from the game]")
    assert quick["--learner.batch-size"].endswith("[default: 512]")
    paper, settings = entries(help_of([command, "--preset", "paper"], "--help-all", capsys)), preset("paper")
    assert paper["--network.filters"].endswith(f"[default: {settings.network.filters}]")
    assert paper["--learner.batch-size"].endswith(f"[default: {settings.learner.batch_size}]")


def test_the_help_of_play_names_the_condition_of_the_browser_options(capsys: Out) -> None:
    _, _, browser = help_of(["play"], "--help", capsys).partition("\nbrowser (with --web):\n")
    assert entries(browser.partition("\n\nhelp:")[0]).keys() >= {f"--{name}" for name in WEB_ONLY}


def test_a_path_has_a_plain_placeholder(capsys: Out) -> None:
    assert "--onnx FILE " in help_of(["export"], "--help", capsys)
