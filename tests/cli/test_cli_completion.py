"""`athenan completion`: what bash, zsh and fish complete by its scripts; without one its tests are skipped."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import Out, complaint

from athenan_spiel.cli import options
from athenan_spiel.cli.completion_scripts import SCRIPTS
from athenan_spiel.cli.main import COMMANDS, main
from athenan_spiel.cli.options import Subcommand

TRIES = [
    (["tr"], {"train"}),
    (["train", "connect_four", "--pres"], {"--preset"}),
    (["train", "connect_four", "--network.archi"], {"--network.architecture"}),
    (["train", "connect_four", "--preset", "gum"], {"gumbel"}),
    (["train", "connect_four", "--preset", "morpion"], {"morpion_solitaire"}),
    (["train", "connect_four", "--workers.inference", "s"], {"shared"}),
    (["ludii", "--proc"], {"--processes"}),
    (["completion", "z"], {"zsh"}),
]
"""Words of `athenan`, the last of them half typed, and what completes it."""


@pytest.fixture(scope="module")
def commands() -> list[Subcommand]:
    return options.subcommands()


@pytest.fixture(scope="module")
def script(commands: list[Subcommand], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which there is the script of each shell, a run, and a file."""
    folder = tmp_path_factory.mktemp("completion")
    for shell, write in SCRIPTS.items():
        (folder / shell).write_text(write(commands), encoding="utf-8")
    (folder / "runs" / "hex5").mkdir(parents=True)
    (folder / "a b.toml").touch()
    return folder


def needs(shell: str) -> str:
    """The shell's program."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"needs {shell}: `apt install {shell}`")
    return program


def said(folder: Path, *words: str) -> set[str]:
    process = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert process.stderr == ""
    return set(process.stdout.splitlines())


IN_BASH = 'source ./bash; COMP_WORDS=(athenan "$@"); COMP_CWORD=$#; _athenan; printf "%s\\n" "${COMPREPLY[@]}"'
IN_ZSH = """
compdef() {}
source ./zsh
_describe() { print -l -- ${${(P)argv[-1]}%%:*} | grep -e "^${words[CURRENT]}" }
compadd() { print -l -- ${(P)argv[-1]} | grep -e "^${words[CURRENT]}" }
_files() { print files $* }
words=(athenan "$@")
CURRENT=$#words
_athenan
"""


@pytest.mark.parametrize(("words", "found"), TRIES)
def test_bash(script: Path, words: list[str], found: set[str]) -> None:
    assert said(script, needs("bash"), "--norc", "-c", IN_BASH, "bash", *words) == found


@pytest.mark.parametrize(("words", "found"), TRIES)
def test_zsh(script: Path, words: list[str], found: set[str]) -> None:
    assert said(script, needs("zsh"), "-f", "-c", IN_ZSH, "zsh", *words) == found


@pytest.mark.parametrize(("words", "found"), TRIES)
def test_fish(script: Path, words: list[str], found: set[str]) -> None:
    ask = f'source ./fish; complete -C "athenan {" ".join(words)}"'
    assert {line.split("\t")[0] for line in said(script, needs("fish"), "--no-config", "-c", ask)} == found


def test_names_of_files_and_folders(script: Path) -> None:
    bash = needs("bash")
    assert said(script, bash, "--norc", "-c", IN_BASH, "bash", "experiment", "a") == {"a b.toml"}
    assert said(script, bash, "--norc", "-c", IN_BASH, "bash", "resume", "runs/") == {"runs/hex5"}
    assert said(script, bash, "--norc", "-c", IN_BASH, "bash", "resume", "a") == {""}
    assert said(script, bash, "--norc", "-c", IN_BASH, "bash", "train", "hex", "--config", "a") == {"a b.toml"}


def test_names_of_files_and_folders_in_zsh_and_fish(script: Path) -> None:
    zsh = needs("zsh")
    assert said(script, zsh, "-f", "-c", IN_ZSH, "zsh", "resume", "ru") == {"files -/"}
    assert said(script, zsh, "-f", "-c", IN_ZSH, "zsh", "experiment", "a") == {"files"}
    ask = 'source ./fish; complete -C "athenan resume runs/"'
    assert said(script, needs("fish"), "--no-config", "-c", ask) == {"runs/hex5/\tDirectory"}


def test_every_option_that_a_help_names_is_completed(commands: list[Subcommand], capsys: Out) -> None:
    assert [command.name for command in commands] == list(COMMANDS)
    for command in commands:
        assert main([command.name, "--help"]) == 0
        named = set(re.findall(r"^[│ ] (?:-h, )?(--[a-z][\w.-]*)", capsys.readouterr().out, re.MULTILINE))
        assert named
        assert named <= {option.name for option in command.options}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_every_choice_is_in_the_script(shell: str, script: Path, commands: list[Subcommand]) -> None:
    text = (script / shell).read_text(encoding="utf-8")
    lists = [option.choices for command in commands for option in command.options if option.choices]
    assert any(len(" ".join(choices)) > 100 for choices in lists)
    for choices in [*lists, *(command.words for command in commands if command.words)]:
        assert re.search(rf"['(]{re.escape(' '.join(choices))}[')]", text)


def test_what_an_option_is(commands: list[Subcommand]) -> None:
    train = next(command for command in commands if command.name == "train")
    found = {option.name: option for option in train.options}
    assert (
        found["--json"].summary
        == "Print each event as a line of JSON (docs/metrics.md), and nothing else but what goes wrong"
    )
    assert not found["--quiet"].takes_value
    assert found["--folder"].takes_value
    assert {"--targets.leaves", "--targets.no-leaves"} <= set(found)
    assert found["--targets.method"].choices == ("tree", "root", "terminal")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_command_prints_the_script(shell: str, script: Path, capsys: Out) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == (script / shell).read_text(encoding="utf-8")


def test_another_shell_is_refused(capsys: Out) -> None:
    assert complaint(capsys, "completion", "fisch") == (
        "athenan completion: expected the name of a shell, bash, zsh, fish, got 'fisch': did you mean 'fish'?\n"
    )
