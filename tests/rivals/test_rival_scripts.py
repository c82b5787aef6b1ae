"""The rivals' scripts as far as they need nothing but this project: their command lines, and the engine's GTP."""

from __future__ import annotations

import importlib
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyspiel
import pytest
from clocks import HANG_SECONDS

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ("pgx_gumbel", "open_spiel_alphazero", "gtp_server", "learning_data")


def run(script: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "benchmarks" / "rivals" / f"{script}.py"), *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS)


class First:
    """Plays the first legal action."""

    def __init__(self, game: pyspiel.Game) -> None:
        self.game, self.seconds = game, 0.0

    def set_seconds(self, seconds: float) -> None:
        self.seconds = seconds

    def choose(self, history: list[int]) -> int:
        state = self.game.new_initial_state()
        for action in history:
            state.apply_action(action)
        return int(state.legal_actions()[0])


def answers(name: str, *commands: str) -> tuple[list[str], First]:
    """What the engine says to these, and its player."""
    server = importlib.import_module("gtp_server")
    game = pyspiel.load_game(name)
    player, out = First(game), io.StringIO()
    server.Server(game, player, "rival").serve(io.StringIO("\n".join(commands)), out)
    return out.getvalue().removesuffix("\n\n").split("\n\n"), player


@pytest.mark.parametrize("script", SCRIPTS)
def test_help_is_there_without_the_rivals_libraries(script: str) -> None:
    done = run(script, "--help")
    assert done.returncode == 0, done.stderr
    assert f"python benchmarks/rivals/{script}.py" in done.stdout


def test_the_readmes_commands_have_these_options() -> None:
    readme = (ROOT / "benchmarks" / "rivals" / "README.md").read_text()
    commands = re.findall(r"benchmarks/rivals/(\w+)\.py([^\n]*)", readme)
    assert {script for script, _ in commands} == set(SCRIPTS)
    helps = {script: run(script, "--help").stdout for script in SCRIPTS}
    for script, words in commands:
        for option in re.findall(r"--[a-z-]+", words.partition('"')[0]):
            assert option in helps[script], (script, option)


@pytest.mark.parametrize(
    ("script", "words", "message"),
    [
        ("pgx_gumbel", "connect_four", "expected --folder"),
        ("pgx_gumbel", "--minutes -1 --folder x", "--minutes"),
        ("pgx_gumbel", "--minutes nan --folder x", "--minutes"),
        ("open_spiel_alphazero", "--simulations 0 --folder x", "--simulations"),
        ("open_spiel_alphazero", "conect_four --folder x", "expected a game of OpenSpiel, got 'conect_four'"),
        ("learning_data", "nowhere", "expected the folder of an experiment with trainings, got 'nowhere'"),
        ("gtp_server", "--folder nowhere", "expected the folder of a rival"),
        ("gtp_server", "--folder {folder}", "expected one of pgx_gumbel"),
    ],
)
def test_what_is_wrong_is_said_in_two_lines(script: str, words: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "rival.json").write_text(json.dumps({"rival": "another", "game": "connect_four"}))
    done = run(script, *words.format(folder=tmp_path).split())
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.skipif(importlib.util.find_spec("jax") is not None, reason="jax is installed beside the project")
@pytest.mark.parametrize("rival", ["pgx_gumbel", "open_spiel_alphazero"])
def test_a_library_that_is_missing_is_said_in_a_line(rival: str, tmp_path: Path) -> None:
    (tmp_path / "rival.json").write_text(json.dumps({"rival": rival, "game": "connect_four"}))
    for script, words in ((rival, ("--folder", str(tmp_path / "new"))), ("gtp_server", ("--folder", str(tmp_path)))):
        done = run(script, *words)
        assert done.returncode == 2
        assert re.fullmatch(rf"{script}.py: needs .*jax.*: run it in the environment .*\n", done.stderr)


@pytest.mark.usefixtures("rivals")
def test_a_folder_with_files_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = importlib.import_module("rival_folder")
    assert folder.new_folder(str(tmp_path / "new")).is_dir()
    for name, message in ((tmp_path, "which has files: give another"), ("/dev/null/x", "cannot be created")):
        with pytest.raises(SystemExit) as ended:
            folder.new_folder(str(name))
        assert ended.value.code == 2
        assert message in capsys.readouterr().err


@pytest.mark.usefixtures("rivals")
def test_the_engine_plays_connect_four_by_columns() -> None:
    said, player = answers(
        "connect_four",
        "1 protocol_version",
        "boardsize 7 6",
        "clear_board",
        "play b D1",
        "play white d2",
        "2 play w d3",
        "",
        "# nothing",
        "kgs-time_settings byoyomi 0 0.1 1",
        "3 genmove b",
        "undo",
        "play B A",
        "quit",
        "name",
    )
    assert said == ["=1 2", "=", "=", "=", "=", said[5], "=", "=3 A", "=", "=", "="]
    assert said[5].startswith("?2 illegal move")
    assert player.seconds == pytest.approx(0.1)


@pytest.mark.usefixtures("rivals")
def test_the_engine_plays_hex_and_othello_as_openspiel_writes_them() -> None:
    said, _ = answers("hex(board_size=5)", "boardsize 5", "play b c2", "genmove w", "play b c2")
    assert said == ["=", "=", "= a1", "? illegal move"]
    said, player = answers("othello", "boardsize 8", "play b d3", "genmove w", "time_settings 0 4 2")
    assert said == ["=", "=", "= c3", "="]
    assert player.seconds == 2


@pytest.mark.usefixtures("rivals")
@pytest.mark.parametrize(
    "command",
    [
        "boardsize 8",
        "play b",
        "play b Z9",
        "play b Dx",
        "play w D1",
        "genmove",
        "genmove w",
        "undo",
        "time_settings 60 0 0",
        "time_settings 0 nan 1",
        "time_settings 0 inf 1",
        "time_settings 0 1",
        "kgs-time_settings absolute 60",
        "kgs-time_settings",
        "kgs-time_settings byoyomi 0",
        "nonsense",
    ],
)
def test_the_engine_refuses_what_it_cannot_do(command: str) -> None:
    said, player = answers("connect_four", command, "genmove b")
    assert said[0].startswith("? ")
    assert said[1] == "= A"
    assert player.seconds == 0


@pytest.mark.usefixtures("rivals")
def test_the_engine_does_not_move_when_the_match_has_ended() -> None:
    moves = [f"play {colour} {column}" for colour, column in zip("bwbwbwb", "ABABABA", strict=True)]
    said, _ = answers("connect_four", *moves, "genmove w")
    assert said[-1] == "? illegal move: that colour is not to move"


def test_what_trainings_made_of_their_time_is_a_table(tmp_path: Path) -> None:
    """One match in 2 s, of 30 states to learn; two matches in 4 s, of 5 states each; and none."""
    for variant, matches, seconds, states in (("Athénan", 1, 2.0, 30), ("AlphaZero", 2, 4.0, 5), ("ExIt", 0, 3.0, 0)):
        folder = tmp_path / "trainings" / "hex" / variant / "1"
        folder.mkdir(parents=True)
        lines: list[dict[str, object]] = [{"event": "match_finished", "targets": states}] * matches
        counted = {"states_learned": 8, "evaluations": 100, "network_calls": 20}
        if matches:
            lines.append({"event": "round_finished", "matches": matches, "seconds": seconds, **counted})
        lines.append({"event": "run_finished", "matches": matches, "seconds": seconds + 1})
        (folder / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = run("learning_data", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "| Athénan | 0.5 | 15.0 | 4.0 | 50.0 | 10.0 |" in done.stdout
    assert "| AlphaZero | 0.5 | 2.5 | 2.0 | 25.0 | 5.0 |" in done.stdout
    assert "| ExIt | 0.0 | 0.0 | 0.0 | 0.0 | 0.0 |" in done.stdout
    assert "| Athénan | 1.00 | 6.00 | 2.00 | 2.00 | 2.00 |" in done.stdout
