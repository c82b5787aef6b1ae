"""`athenan completion`: what bash, zsh and fish complete by its scripts; without one its tests are skipped."""

from __future__ import annotations

import ast
import importlib
import os
import pty
import re
import select
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from clocks import HANG_SECONDS
from command_line import Out, complaint

from athenan_spiel.cli.completion import SHELLS, script
from athenan_spiel.cli.help import options_of
from athenan_spiel.cli.ludii import ACTIONS
from athenan_spiel.cli.main import COMMANDS, main
from athenan_spiel.measuring.report import PARTS
from athenan_spiel.training.presets import PRESETS

TRIES = [
    (["tr"], {"train"}),
    (["train", "connect_four", "--pres"], {"--preset"}),
    (["train", "connect_four", "--network.archi"], {"--network.architecture"}),
    (["train", "connect_four", "--preset", "gum"], {"gumbel"}),
    (["train", "connect_four", "--preset", "morpion"], {"morpion_solitaire"}),
    (["train", "connect_four", "--workers.inference", "s"], {"shared"}),
    (["ludii", "sw"], {"sweep"}),
    (["ludii", "sweep", "--proc"], {"--processes"}),
    (["completion", "z"], {"zsh"}),
]
"""Words of `athenan`, the last of them half typed, and what completes it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which there is the script of each shell, a run, and a file."""
    folder = tmp_path_factory.mktemp("completion")
    for shell in SHELLS:
        (folder / shell).write_text(script(shell), encoding="utf-8")
    (folder / "functions").mkdir()
    (folder / "functions" / "_athenan").write_text(script("zsh"), encoding="utf-8")
    (folder / "bashrc").write_text(BASHRC, encoding="utf-8")
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
fpath=($PWD/functions $fpath)
autoload -Uz _athenan
compdef() { print unexpected compdef }
_describe() { print -l -- ${${(P)argv[-1]}%%:*} | grep -e "^${words[CURRENT]}" }
_files() { print files $* }
words=(athenan "$@")
CURRENT=$#words
_athenan
"""
"""The script is loaded from `fpath`, as docs/using.md recommends."""
READY = "ready> "
BASHRC = f"""
source ./bash
athenan() {{ printf '%s\\n' "$@" > ./given; }}
PS1='{READY}'
"""


@pytest.mark.parametrize(("words", "found"), TRIES)
def test_bash(folder: Path, words: list[str], found: set[str]) -> None:
    assert said(folder, needs("bash"), "--norc", "-c", IN_BASH, "bash", *words) == found


@pytest.mark.parametrize(("words", "found"), TRIES)
def test_zsh(folder: Path, words: list[str], found: set[str]) -> None:
    assert said(folder, needs("zsh"), "-f", "-c", IN_ZSH, "zsh", *words) == found


def test_zsh_registers_a_sourced_script(folder: Path) -> None:
    asked = 'compdef() { print -l -- "$@" }; source ./zsh; whence -w _tyro_athenan'
    assert said(folder, needs("zsh"), "-f", "-c", asked) == {"_tyro_athenan", "athenan", "_tyro_athenan: function"}


@pytest.mark.parametrize(("words", "found"), TRIES)
def test_fish(folder: Path, words: list[str], found: set[str]) -> None:
    ask = f'source ./fish; complete -C "athenan {" ".join(words)}"'
    assert {line.split("\t")[0] for line in said(folder, needs("fish"), "--no-config", "-c", ask)} == found


@pytest.mark.parametrize("words", [["experiment", "a"], ["resume", "runs/"], ["train", "hex", "--config", "a"]])
def test_files_are_completed_where_nothing_else_fits(folder: Path, words: list[str]) -> None:
    """bash completes them itself where the script finds nothing, so it quotes their spaces."""
    asked = "source ./bash; complete -p athenan"
    assert said(folder, needs("bash"), "--norc", "-c", asked) == {
        "complete -o bashdefault -o default -F _athenan athenan"
    }
    assert said(folder, needs("bash"), "--norc", "-c", IN_BASH, "bash", *words) == {""}


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["experiment", "a"], "a b.toml"),
        (["resume", "ru"], "runs/"),
        (["resume", "runs/"], "runs/hex5/"),
        (["train", "hex", "--config", "a"], "a b.toml"),
    ],
)
def test_names_of_files_in_bash(folder: Path, words: list[str], completed: str) -> None:
    typed_in_bash(folder, f"athenan {' '.join(words)}\t\n")
    assert (folder / "given").read_text(encoding="utf-8").splitlines() == [*words[:-1], completed]


def typed_in_bash(folder: Path, text: str) -> None:
    """Type a line at the prompt of bash, in a terminal, and wait until bash has run it."""
    (folder / "given").unlink(missing_ok=True)
    terminal, end = pty.openpty()
    program = [needs("bash"), "--noprofile", "--rcfile", "./bashrc", "-i"]
    plain = os.environ | {"TERM": "dumb", "INPUTRC": os.devnull}
    process = subprocess.Popen(
        program, cwd=folder, env=plain, stdin=end, stdout=end, stderr=end, start_new_session=True
    )
    os.close(end)
    try:
        wait_for_prompt(terminal)
        os.write(terminal, text.encode())
        wait_for_prompt(terminal)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def wait_for_prompt(terminal: int) -> None:
    shown = ""
    while not shown.endswith(READY):
        readable, _, _ = select.select([terminal], [], [], HANG_SECONDS)
        assert readable, shown
        shown += os.read(terminal, 4096).decode(errors="replace")


def test_files_are_completed_in_zsh_and_fish(folder: Path) -> None:
    zsh = needs("zsh")
    assert said(folder, zsh, "-f", "-c", IN_ZSH, "zsh", "resume", "ru") == {"files"}
    assert said(folder, zsh, "-f", "-c", IN_ZSH, "zsh", "experiment", "") == {"files"}
    ask = 'source ./fish; complete -C "athenan resume runs/"'
    assert said(folder, needs("fish"), "--no-config", "-c", ask) == {"runs/hex5/"}


def test_every_option_that_a_help_names_is_completed(folder: Path, capsys: Out) -> None:
    commands = specification(folder, "bash")["subcommands"]
    assert set(commands) == set(COMMANDS)
    for name, command in commands.items():
        assert command["description"].split(" ...")[0] in COMMANDS[name]
        assert main([name, "--help-all"]) == 0
        named = set(re.findall(r"^[│ ] (?:-h, )?(--[a-z][\w.-]*)", capsys.readouterr().out, re.MULTILINE))
        assert named
        options = {flag for option in command["options"] for flag in option["flags"]}
        assert named <= options
        assert all(option.replace(".no-", ".").replace("--no-", "--") in named for option in options - named - {"-h"})


@pytest.mark.parametrize("shell", SHELLS)
def test_every_choice_is_in_the_script(folder: Path, shell: str) -> None:
    commands, checked = specification(folder, shell)["subcommands"], []
    for name in COMMANDS:
        type_ = getattr(importlib.import_module(f"athenan_spiel.cli.{name}"), f"{name.capitalize()}Arguments")
        entries = {flag: option for option in commands[name]["options"] for flag in option["flags"]}
        for option in options_of(type_):
            if option.names and option.metavar is not None and option.metavar.startswith("{"):
                choices = option.metavar.strip("{}").split(",")
                assert (entries[option.names[0]]["type"], entries[option.names[0]]["choices"]) == ("choice", choices)
                checked.append(choices)
    assert checked
    assert len(" ".join(PRESETS)) > 100, "a list longer than a line is among them"
    for name in ("train", "bench"):
        assert [o["choices"] for o in commands[name]["options"] if o["flags"] == ["--preset"]] == [list(PRESETS)]
    assert [o["choices"] for o in commands["bench"]["options"] if o["flags"] == ["--only"]] == [list(PARTS)]
    assert list(commands["completion"]["subcommands"]) == list(SHELLS)
    assert set(commands["ludii"]["subcommands"]) == {*ACTIONS, "sweep"}


def test_descriptions_are_one_short_line(folder: Path) -> None:
    """A line break in one would be completed as a candidate."""
    train = {option["flags"][0]: option for option in specification(folder, "bash")["subcommands"]["train"]["options"]}
    assert train["--json"]["description"] == "Print each event as a line of JSON (docs/metrics.md)."
    assert train["--targets.leaves"]["flags"] == ["--targets.leaves", "--targets.no-leaves"]
    assert train["--quiet"]["type"] == "flag"
    assert train["--folder"]["type"] == "path"
    assert train["--folder"]["nargs"] == 1
    assert train["--targets.method"]["choices"] == ["tree", "root", "terminal"]
    assert train["--preset"]["choices"] == list(PRESETS)
    assert all("\n" not in option["description"] and len(option["description"]) < 80 for option in train.values())


def specification(folder: Path, shell: str) -> dict[str, Any]:
    """The commands and options in the script of a shell."""
    text = (folder / shell).read_text(encoding="utf-8").partition("COMPLETION_SPEC = ")[2].partition("\n")[0]
    found: dict[str, Any] = ast.literal_eval(re.sub(r"\\(.)", r"\1", text) if shell == "fish" else text)
    return found


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_prints_the_script(shell: str, folder: Path, capsys: Out) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == (folder / shell).read_text(encoding="utf-8")


def test_another_shell_is_refused(capsys: Out) -> None:
    assert complaint(capsys, "completion", "fisch") == (
        "athenan completion: expected the name of a shell, bash, zsh, fish, got 'fisch': did you mean 'fish'?\n"
    )
