"""The `athenan` command: what it prints where, its exit codes, and what it must not load."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Out, complaint

import athenan_spiel
from athenan_spiel.cli.main import COMMANDS, main


def modules_imported(code: str) -> int:
    """How many modules a new interpreter imports for `code`."""
    program = f"import sys; before = {{*sys.modules}}; {code}; print(len({{*sys.modules}} - before), file=sys.stderr)"
    return int(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stderr)


def test_importing_and_asking_for_help_load_nothing_heavy() -> None:
    code = (
        "import sys, athenan_spiel, athenan_spiel.cli.main as m; m.main(['--help']);"
        "print(sorted({'torch', 'openvino', 'pyspiel', 'numpy', 'tyro', 'rich'} & set(sys.modules)), file=sys.stderr)"
    )
    finished = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert finished.stderr.strip() == "[]"


def test_importing_is_quick() -> None:
    """Some 60 modules, most of them Python's own; torch alone has a thousand."""
    assert modules_imported("import athenan_spiel") < 100
    assert modules_imported("from athenan_spiel.cli.main import main; main(['--help'])") < 100


def test_a_training_and_its_agent_do_not_load_torchs_compiler(tmp_path: Path) -> None:
    """It takes a second, with sympy."""
    run = str(tmp_path / "run")
    code = (
        "import sys; from athenan_spiel import load_agent; from athenan_spiel.cli.main import main;"
        f"code = main(['train', 'tic_tac_toe', '--matches', '1', '--folder', {run!r}]); load_agent({run!r});"
        "sys.exit(code or sorted({'torch._dynamo', 'sympy'} & set(sys.modules)) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_has_an_example_and_loads_no_torch(command: str) -> None:
    code = (
        f"import sys; from athenan_spiel.cli.main import main; code = main(['{command}', '--help']);"
        "sys.exit(code or 'torch' in sys.modules)"
    )
    finished = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert f"Example: athenan {command} " in finished.stdout
    assert finished.stderr == ""


def test_help_lists_the_commands(capsys: Out) -> None:
    assert main(["--help"]) == 0
    captured = capsys.readouterr()
    assert all(f"\n  {command} " in captured.out for command in COMMANDS)
    assert captured.err == ""


def test_without_words_the_help_goes_to_standard_error(capsys: Out) -> None:
    assert main([]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("usage: athenan COMMAND")


def test_version(capsys: Out) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"athenan {athenan_spiel.__version__}\n"


def test_public_names_are_there_and_sorted() -> None:
    import ast

    tree = ast.parse(Path(athenan_spiel.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed == set(athenan_spiel._MODULE_OF)
    assert typed <= set(athenan_spiel.__all__) <= set(dir(athenan_spiel))
    for name in {*athenan_spiel.__all__} - {"Evaluator", "SearchConfig"}:  # types of the standard library
        assert getattr(athenan_spiel, name).__module__.startswith("athenan_spiel")
    with pytest.raises(AttributeError, match="module 'athenan_spiel' has no attribute 'Descend'"):
        _ = athenan_spiel.Descend


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["trian"], "got 'trian': did you mean 'train'?"),
        (["xyz"], "got 'xyz': see `athenan --help`"),
        (["train"], "athenan train: missing: GAME"),
        (["train", "conect_four"], "connect_four"),
        (["train", "kuhn_poker"], "kuhn_poker"),
        (["train", "hex", "--preset", "fast"], "preset must be one of quick, hour, day, td_lambda, "),
        (["train", "hex", "--preset="], "preset must be one of quick, hour, day, td_lambda, "),
        (["train", "hex", "--preset", "paper", "--config", "x.toml"], "expected --preset or --config"),
        (["train", "hex", "--config", "absent.toml"], "absent.toml cannot be read: No such file or directory"),
        (["train", "hex", "--time", "soon"], "expected a length of time above zero, like 90s"),
        (["train", "hex", "--time", "1m", "--seconds", "60"], "expected --time or --seconds"),
        (["train", "hex", "--matches", "0"], "matches must be at least 1, got 0"),
        (["resume"], "missing: RUN"),
        (["resume", "no/such/run"], "'no/such/run'"),
        (["resume", "no/such/run", "--time", "0s"], "expected a length of time above zero"),
        (["play", "no/such/run"], "'no/such/run'"),
        (["play", "x", "--first", "--second"], "expected --first or --second, got both"),
        (["eval", "random"], "expected a game, as no agent is a run"),
        (["eval", "random", "--game", "hex"], "expected at least one agent after --against, got none"),
        (["eval", "mcts:10", "--game", "morpion_solitaire"], "mcts needs a game that rewards at its end only"),
        (["eval", "random", "--game", "morpion_solitaire", "--matches", "0"], "matches must be at least 1, got 0"),
        (["eval", "random", "--against", "random"], "expected a game, as no agent is a run"),
        (["eval", "random", "--against", "human", "--game", "hex"], "got 'human': use `athenan play`"),
        (["eval", "random", "--against", "rnadom", "--game", "hex"], "did you mean 'random'?"),
        (["eval", "random", "--against", "random", "--game", "hxe"], "hxe"),
        (["eval", "random", "--against", "random", "--game", "hex", "--matches", "3"], "even and at least 2, got 3"),
        (["eval", "no/such/run", "--against", "random"], "'no/such/run'"),
        (
            ["eval", "random", "--against", "random", "mcts:2"],
            "expected a game, as no agent is a run: add one such as --game",
        ),
        (["games", "--sjon"], "unknown option '--sjon': did you mean '--json'?"),
        (["games", "no such game"], "no such game"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_bad_words_get_one_or_two_lines(words: list[str], said: str, capsys: Out) -> None:
    assert said in complaint(capsys, *words)


def test_no_message_steers_the_terminal(capsys: Out) -> None:
    for name in ("\n3", "\x1b[2J", "a\x7f", "a\rb", "\u202e", "\x9b2J"):
        said = complaint(capsys, "experiment", name)
        assert repr(name)[1:-1] in said
        assert name not in said


def test_no_message_fills_the_terminal(capsys: Out) -> None:
    assert len(complaint(capsys, "train", "tic_tac_toe", "--folder", "x" * 100_000)) < 3000
    assert len(complaint(capsys, "games", "x\n" * 100_000)) < 3000


def raising(error: BaseException) -> Callable[[list[str]], int]:
    def run(words: list[str]) -> int:
        raise error

    return run


def test_a_full_disk_is_said_in_one_line(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "athenan_spiel.cli.games.run", raising(OSError(errno.ENOSPC, "No space left on device", "runs/x"))
    )
    assert complaint(capsys, "games") == "athenan games: No space left on device: runs/x\n"
    monkeypatch.setattr("athenan_spiel.cli.games.run", raising(OSError(errno.EIO, "Input/output error")))
    assert complaint(capsys, "games") == "athenan games: Input/output error\n"


def test_memory_that_runs_out_is_said_in_one_line(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.cli.games.run", raising(MemoryError("Unable to allocate 48.8 GiB")))
    said = complaint(capsys, "games")
    assert said.startswith("athenan games: memory ran out (Unable to allocate 48.8 GiB): use a smaller board")
    monkeypatch.setattr("athenan_spiel.cli.games.run", raising(MemoryError()))
    assert complaint(capsys, "games").startswith("athenan games: memory ran out: use a smaller board")


def test_a_bug_shows_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (ZeroDivisionError("a bug"), OSError("no file was concerned")):
        monkeypatch.setattr("athenan_spiel.cli.games.run", raising(error))
        with pytest.raises(type(error)):
            main(["games"])


def test_ctrl_c_anywhere_is_no_traceback(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.cli.games.run", raising(KeyboardInterrupt()))
    assert main(["games"]) == 130
    assert capsys.readouterr().err == "athenan games: stopped\n"
