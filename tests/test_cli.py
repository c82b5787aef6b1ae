"""The `athenan` command: what it prints where, its exit codes, and what it must not load."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import athenan_spiel
from athenan_spiel.cli.main import COMMANDS, main
from athenan_spiel.errors import AgentError
from athenan_spiel.training.events import Listener, RunStarted, StopNoticed
from ludii_bridge.errors import LudiiError

ATHENAN = [sys.executable, "-m", "athenan_spiel"]
TINY = ["--matches-at-once", "2", "--search.iterations", "1", "--network.filters", "4", "--network.neurons", "8"]

Out = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two matches of Tic-Tac-Toe."""
    folder = tmp_path_factory.mktemp("runs") / "ttt"
    assert main(["train", "tic_tac_toe", "--matches", "2", "--folder", str(folder), *TINY]) == 0
    return folder


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four matches of Tic-Tac-Toe with the checkpoints 0, 2 and 4, to be left as it is."""
    folder = tmp_path_factory.mktemp("runs") / "stages"
    words = ["--matches", "4", "--milestone-matches", "2", "--keep", "3", "--folder", str(folder), *TINY]
    assert main(["train", "tic_tac_toe", *words]) == 0
    return folder


def seconds(code: str) -> float:
    """The least of three times that a new interpreter takes for `code`."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def complaint(capsys: Out, *words: str) -> str:
    """The one or two lines that are said about bad words."""
    capsys.readouterr()
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert 1 <= len(lines) <= 2, captured.err
    assert lines[0].startswith("athenan")
    return captured.err


def test_importing_and_asking_for_help_load_nothing_heavy() -> None:
    code = (
        "import sys, athenan_spiel, athenan_spiel.cli.main as m; m.main(['--help']);"
        "print(sorted({'torch', 'openvino', 'pyspiel', 'numpy', 'tyro', 'rich'} & set(sys.modules)), file=sys.stderr)"
    )
    finished = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert finished.stderr.strip() == "[]"


def test_importing_is_quick() -> None:
    assert seconds("import athenan_spiel") < 2
    assert seconds("from athenan_spiel.cli.main import main; main(['--help'])") < 1


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
    assert typed == set(athenan_spiel._HOME)
    assert typed <= set(athenan_spiel.__all__) <= set(dir(athenan_spiel))
    for name in athenan_spiel.__all__:
        assert getattr(athenan_spiel, name).__module__.startswith("athenan_spiel") or name == "Evaluator"
    with pytest.raises(AttributeError, match="module 'athenan_spiel' has no attribute 'Descend'"):
        _ = athenan_spiel.Descend


def test_a_time_too_short_for_a_round_of_matches_is_told(tmp_path: Path, capsys: Out) -> None:
    assert main(["train", "tic_tac_toe", "--seconds", "0.001", "--folder", str(tmp_path / "run")]) == 0
    said = "no round of matches came to its end in that time, so nothing was learned"
    assert said in capsys.readouterr().err
    assert main(["resume", str(tmp_path / "run"), "--matches", "2"]) == 0
    assert said not in capsys.readouterr().err
    assert main(["resume", str(tmp_path / "run"), "--time", "0.001s"]) == 0
    assert said in capsys.readouterr().err, "though there are matches from before"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["trian"], "got 'trian': did you mean 'train'?"),
        (["xyz"], "got 'xyz': see `athenan --help`"),
        (["train"], "athenan train: missing: GAME"),
        (["train", "conect_four"], "connect_four"),
        (["train", "kuhn_poker"], "kuhn_poker"),
        (["train", "hex", "--preset", "fast"], "invalid choice 'fast'"),
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


def test_settings_of_a_file(trained: Path, tmp_path: Path, capsys: Out) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text((trained / "config.toml").read_text(encoding="utf-8").replace("filters = 4", "filters = 5"))
    words = ["train", "tic_tac_toe", "--config", str(settings), "--folder", str(tmp_path / "run"), "--seed", "3"]
    assert main(words) == 0
    config = (tmp_path / "run" / "config.toml").read_text(encoding="utf-8")
    assert "filters = 5" in config
    assert "seed = 3" in config
    assert "iterations = 1" in config

    settings.write_text("[replay]\nmatchse = 3")
    assert f"{settings}, line 2: replay.matchse is not a setting: did you mean 'matches'?" in complaint(capsys, *words)
    settings.write_text("[replay")
    assert f"{settings} is not valid TOML" in complaint(capsys, *words)


@pytest.mark.parametrize(
    ("words", "limits"),
    [
        ([], (None, 180.0)),
        (["--matches", "7"], (7, None)),
        (["--time", "1m"], (None, 60.0)),
        (["--seconds", "9"], (None, 9.0)),
        (["--matches", "7", "--time=2m"], (7, 120.0)),
        (["--seconds", "none"], (None, None)),
    ],
)
def test_a_limit_in_words_takes_the_place_of_both(
    words: list[str], limits: tuple[int | None, float | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = []

    def train(game: object, config: athenan_spiel.TrainingConfig, folder: Path, listeners: object) -> athenan_spiel.Run:
        begun.append((config, folder))
        return athenan_spiel.Run(
            folder=folder, game="", config=config, matches=0, seconds=0.0, reason="matches", checkpoint=folder
        )

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("athenan_spiel.training.train", train, raising=False)
    assert main(["train", "hex(board_size=3)", *words]) == 0
    ((config, folder),) = begun
    assert (config.matches, config.seconds) == limits
    assert folder == Path("runs/hex")


def test_a_new_run_gets_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from athenan_spiel.training.new_folder import new_folder

    monkeypatch.chdir(tmp_path)
    for name in ("hex", "hex-2"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    assert new_folder("hex") == Path("runs/hex-3")


def test_a_folder_that_holds_a_run_is_left_alone(trained: Path, capsys: Out) -> None:
    before = sorted(trained.rglob("*"))
    assert "resume" in complaint(capsys, "train", "tic_tac_toe", "--folder", str(trained))
    assert sorted(trained.rglob("*")) == before


def test_resume_goes_on(trained: Path, capsys: Out) -> None:
    assert main(["resume", str(trained), "--matches", "2"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert (trained / "checkpoints" / "000004" / "state.json").is_file()


def test_eval_in_json_says_nothing_else_on_standard_output(trained: Path, capsys: Out) -> None:
    words = [
        "eval",
        f"{trained}@2i",
        "--against",
        "random",
        "mcts:2",
        "random",
        "--matches",
        "4",
        "--seed",
        "1",
        "--json",
    ]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["game"] == "tic_tac_toe()"
    assert answer["finished"] is True
    assert [comparison["opponent"] for comparison in answer["comparisons"]] == ["random", "mcts:2", "random"]
    assert all(comparison["matches"] == 4 for comparison in answer["comparisons"])
    assert all(sum(comparison["total"].values()) == 4 for comparison in answer["comparisons"])


def test_eval_is_reproducible(trained: Path, capsys: Out) -> None:
    answers = []
    for _ in range(2):
        assert main(["eval", f"{trained}@2i", "--against", "random", "--matches", "6", "--json"]) == 0
        (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
        del comparison["seconds"]
        answers.append(comparison)
    assert answers[0] == answers[1]


def test_eval_prints_a_table(capsys: Out) -> None:
    assert main(["eval", "mcts:50", "--against", "random", "--game", "tic_tac_toe", "--matches", "10"]) == 0
    out = capsys.readouterr().out
    assert "mcts:50 at tic_tac_toe()" in out
    assert re.search(r"│ random +│ +10 │", out)
    assert "95% interval" in out


def fails_in_match(monkeypatch: pytest.MonkeyPatch, number: int, failure: BaseException) -> None:
    """Let `failure` end the match of that number."""
    import athenan_spiel.matches as matches

    play, played = matches.play_match, []

    def failing(*arguments: object, **options: object) -> matches.MatchResult:
        if len(played) == number - 1:
            raise failure
        played.append(play(*arguments, **options))  # type: ignore[arg-type]
        return played[-1]

    monkeypatch.setattr(matches, "play_match", failing)


TWO_SERIES = ["eval", "random", "--against", "random", "mcts:2", "--game", "tic_tac_toe", "--matches", "4"]


def test_eval_stopped_counts_what_was_played(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    fails_in_match(monkeypatch, 4, KeyboardInterrupt())
    assert main([*TWO_SERIES, "--json"]) == 130
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert (answer["finished"], answer["reason"]) == (False, "stopped")
    assert [comparison["matches"] for comparison in answer["comparisons"]] == [3]
    assert "stopped" in captured.err


@pytest.mark.parametrize("failure", [AgentError("an illegal move"), LudiiError("Java fails"), MemoryError("48 GiB")])
@pytest.mark.parametrize("number", [1, 7])
def test_an_agent_that_fails_takes_no_result_with_it(
    failure: Exception, number: int, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails_in_match(monkeypatch, number, failure)
    assert main([*TWO_SERIES, "--json"]) == 2
    captured = capsys.readouterr()
    assert str(failure) in captured.err
    assert len(captured.err.splitlines()) == 1
    answer = json.loads(captured.out)
    assert (answer["finished"], answer["reason"]) == (False, str(failure))
    assert [comparison["matches"] for comparison in answer["comparisons"]] == ([4, 2] if number == 7 else [])


def test_a_bug_takes_no_result_with_it(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    fails_in_match(monkeypatch, 6, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main(TWO_SERIES)
    out = capsys.readouterr().out
    assert re.search(r"│ random +│ +4 │", out)
    assert re.search(r"│ mcts:2 +│ +1 │", out)
    fails_in_match(monkeypatch, 1, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main([*TWO_SERIES, "--json"])
    assert json.loads(capsys.readouterr().out)["reason"] == "ZeroDivisionError"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--against", "mcts:2", "no/such/run"], "'no/such/run'"),
        (["--against", "mcts:2", "RUN#3"], "got 3: there are 0, 2, 4"),
        (["--against", "mcts:2", "ludii:UCT@1s"], "plays its games alone"),
        (["--against", "mcts:2", "--game", "hex"], "learned 'tic_tac_toe()' and cannot play 'hex"),
        (["--against", "mcts:2", "--opening-plies", "9"], "9 random plies must leave the match open"),
        (["--against", "mcts:2", "--opening-plies", "-1"], "an opening must have zero plies or more, got -1"),
        (["--against", "mcts:2", "--matches", "200000"], "matches must be at most 100000, got 200000"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_all_is_checked_before_the_first_match(
    words: list[str], said: str, stages: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails_in_match(monkeypatch, 1, AssertionError("a match was begun"))
    assert said in complaint(capsys, "eval", f"{stages}#2@1i", *(word.replace("RUN", str(stages)) for word in words))


def test_a_checkpoint_is_loaded_once_for_all_matches(stages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from athenan_spiel.training import loading

    loaded = []
    load_agent = loading.load_agent
    monkeypatch.setattr(
        loading, "load_agent", lambda folder, **options: loaded.append(folder) or load_agent(folder, **options)
    )
    assert main(["eval", f"{stages}@1i", "--against", "random", f"{stages}#0@1i", "--matches", "4"]) == 0
    assert loaded == [str(stages), str(stages)]


def test_the_stages_of_a_run_are_compared(stages: Path, capsys: Out) -> None:
    assert main(["eval", f"{stages}#4@5i", "--against", f"{stages}#2:ubfm@5i", f"{stages}@5i", "--matches", "2"]) == 0
    assert "#2:ubfm@5i" in capsys.readouterr().out


@pytest.mark.parametrize("colour", ["--first", "--second"])
def test_play_to_the_end(trained: Path, colour: str, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = ["?", "nonsense", *map(str, list(range(9)) * 9)]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(answers)))
    assert main(["play", str(trained), "--seconds", "0.01", colour]) == 0
    out = capsys.readouterr().out
    assert "'nonsense' is no legal move" in out
    assert out.splitlines()[-1] in ("You have won.", "A draw.", "The agent has won.")


def test_play_ends_with_the_input(trained: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["play", str(trained)]) == 0
    assert "the match was ended" in capsys.readouterr().out


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
    assert said.startswith("athenan games: memory ran out (Unable to allocate 48.8 GiB): take a smaller board")
    monkeypatch.setattr("athenan_spiel.cli.games.run", raising(MemoryError()))
    assert complaint(capsys, "games").startswith("athenan games: memory ran out: take a smaller board")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", ["--help", "games hex", "games hex --json"])
@pytest.mark.parametrize("buffered", ["", "1"])
def test_standard_output_on_a_full_disk_is_said_in_one_line(words: str, buffered: str) -> None:
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [*ATHENAN, *words.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": buffered},
        )
    command = "athenan games" if words.startswith("games") else "athenan"
    assert (process.returncode, process.stderr) == (2, f"{command}: No space left on device\n")


@pytest.mark.parametrize(("closed", "left"), [(">&-", "stderr"), ("2>&-", "stdout")])
def test_a_stream_that_the_shell_has_closed_leads_nowhere(closed: str, left: str) -> None:
    command = " ".join(["exec", *map(shlex.quote, [*ATHENAN, "games", "hex", "--json"]), closed])
    process = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert process.returncode == 0
    assert process.stderr == ""
    assert bool(process.stdout) == (left == "stdout")


def test_a_closed_standard_input_ends_the_match(trained: Path) -> None:
    command = " ".join(["exec", *map(shlex.quote, [*ATHENAN, "play", str(trained), "--seconds", "0.01"]), "<&-"])
    process = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.endswith("the match was ended: no more input\n")


def test_what_the_terminal_cannot_write_is_no_traceback(trained: Path) -> None:
    words = ["eval", f"{trained}@1i", "--against", "random", "--matches", "2", "--opening-plies", "0"]
    process = subprocess.run(
        [*ATHENAN, *words], capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.isascii()


def test_a_bug_shows_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (ZeroDivisionError("a bug"), OSError("no file was concerned")):
        monkeypatch.setattr("athenan_spiel.cli.games.run", raising(error))
        with pytest.raises(type(error)):
            main(["games"])


def test_ctrl_c_anywhere_is_no_traceback(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.cli.games.run", raising(KeyboardInterrupt()))
    assert main(["games"]) == 130
    assert capsys.readouterr().err == "athenan games: stopped\n"


def test_a_reader_that_goes_away_is_no_traceback() -> None:
    process = subprocess.Popen([*ATHENAN, "games", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(60) == 1
    assert process.stderr.read() == ""
    process.stderr.close()


def interrupted_training(folder: Path, signals: int) -> tuple[int, str]:
    """Exit code and standard error of a run that gets Ctrl-C once it has written its first checkpoint."""
    words = ["train", "tic_tac_toe", "--folder", str(folder), "--time", "1h", *TINY]
    process = subprocess.Popen([*ATHENAN, *words], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(folder.glob("checkpoints/0*")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.mark.parametrize("command", ["train", "resume"])
def test_quiet_says_nothing_but_what_goes_wrong(command: str, tmp_path: Path, capsys: Out) -> None:
    new = ["train", "tic_tac_toe", "--folder", str(tmp_path / "run"), *TINY, "--matches", "2", "--quiet"]
    assert main(new) == 0
    if command == "resume":
        assert main(["resume", str(tmp_path / "run"), "--matches", "2", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
    assert main(new) == 2
    assert "holds a run already" in capsys.readouterr().err


def test_json_prints_each_event_as_a_line(tmp_path: Path, capsys: Out) -> None:
    folder = str(tmp_path / "run")
    assert main(["train", "tic_tac_toe", "--matches", "2", "--folder", folder, *TINY, "--json"]) == 0
    captured = capsys.readouterr()
    events = [json.loads(line) for line in captured.out.splitlines()]
    kinds = [event["event"] for event in events]
    assert (kinds[0], kinds[-1], captured.err) == ("run_started", "run_finished", "")
    assert {"round_progress", "match_finished", "checkpoint_written"} <= set(kinds)
    assert events[0]["folder"] == events[-1]["folder"] == folder
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    kept = [{k: v for k, v in e.items() if k not in ("folder", "time")} for e in events if "progress" not in e["event"]]
    assert kept == [{name: value for name, value in line.items() if name != "time"} for line in lines]
    assert main(["resume", folder, "--matches", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["matches"] == 4


def test_a_reader_of_events_who_leaves_ends_the_run_which_is_saved(tmp_path: Path) -> None:
    words = ["train", "tic_tac_toe", "--time", "60s", "--folder", "run", *TINY, "--json"]
    train = subprocess.Popen(
        [*ATHENAN, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert train.stdout is not None
    assert train.stderr is not None
    assert '"run_started"' in train.stdout.readline()
    train.stdout.close()
    assert train.wait(60) == 1
    assert train.stderr.read() == ""
    train.stderr.close()
    assert list((tmp_path / "run" / "checkpoints").glob("0*"))


@pytest.mark.parametrize("command", ["train", "resume"])
def test_a_second_ctrl_c_ends_in_one_line_and_code_2(
    command: str, tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    from athenan_spiel import training

    started = RunStarted(
        matches=0,
        seconds=0.0,
        game="tic_tac_toe()",
        config=athenan_spiel.TrainingConfig(outcome="mine:crosses"),
        folder=tmp_path / "run",
        network="",
        engine="",
        outcome="mine:crosses",
        symmetries=(),
    )

    def interrupted(*arguments: object, listeners: Sequence[Listener], **options: object) -> None:
        for listener in listeners:
            listener(started)
            listener(StopNoticed(matches=1))
        raise KeyboardInterrupt

    monkeypatch.setattr(training, command, interrupted)
    words = {"train": ["tic_tac_toe", "--folder", str(tmp_path / "run")], "resume": [str(tmp_path / "run")]}[command]
    assert main([command, *words]) == 2
    said = capsys.readouterr().err
    assert said.splitlines()[-1].endswith(f"go on with: athenan resume {tmp_path / 'run'} --allow-code mine:crosses")


@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_saves_and_says_how_to_go_on(signals: int, tmp_path: Path) -> None:
    code, said = interrupted_training(tmp_path / "run", signals)
    assert code in (130, 2)[:signals], "a second Ctrl-C may come when all is saved"
    assert said.splitlines()[-1].endswith(f"go on with: athenan resume {tmp_path / 'run'}")
    assert "Traceback" not in said
    assert main(["resume", str(tmp_path / "run"), "--matches", "2"]) == 0
