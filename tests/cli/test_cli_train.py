"""`athenan train` and `athenan resume`: settings, limits, folders, what is printed of events, and Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from clocks import HANG_SECONDS
from command_line import ATHENAN, TINY, Out, complaint

import athenan_spiel
from athenan_spiel.cli.main import main
from athenan_spiel.training.events import Callback, RunStarted, StopNoticed
from athenan_spiel.training.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("forked_workers")


def test_a_time_too_short_for_a_round_of_matches_is_told(tmp_path: Path, capsys: Out) -> None:
    assert main(["train", "tic_tac_toe", "--seconds", "1e-9", "--folder", str(tmp_path / "run")]) == 0
    said = "no game ended in that time, so nothing was learned"
    assert said in capsys.readouterr().err
    assert main(["resume", str(tmp_path / "run"), "--matches", "2"]) == 0
    assert said not in capsys.readouterr().err
    assert main(["resume", str(tmp_path / "run"), "--time", "0.000000001s"]) == 0
    told = capsys.readouterr().err
    assert said in told, "though there are matches from before"
    assert f"matches_at_once = 1 in {tmp_path / 'run' / 'config.toml'}" in told
    assert "--matches-at-once" not in told, "which resume has not"


@pytest.mark.parametrize(
    ("limit", "said", "more"), [("--matches=4", "4 games", "--matches 4"), ("--time=2s", "2s", "--time 2s")]
)
def test_a_run_that_reached_its_limit_says_how_to_continue(
    limit: str, said: str, more: str, tmp_path: Path, capsys: Out
) -> None:
    folder = str(tmp_path / "run")
    assert main(["train", "tic_tac_toe", limit, "--folder", folder, *TINY, "--workers", "0", "--quiet"]) == 0
    before = RunFolder(folder).load()
    assert before is not None
    assert main(["resume", folder]) == 0
    line = capsys.readouterr().err.splitlines()[-1]
    assert line == f"training limit of {said} reached; continue with: athenan resume {folder} {more}"
    assert main(["resume", folder, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert main(line.split("athenan ")[1].split(" ")) == 0
    assert "training limit" not in capsys.readouterr().err
    after = RunFolder(folder).load()
    assert after is not None
    assert after.header.counters.matches > before.header.counters.matches


def test_train_into_the_folder_of_a_run_says_how_to_continue_it(tmp_path: Path, capsys: Out) -> None:
    folder = str(tmp_path / "run")
    new = ["train", "tic_tac_toe", "--matches", "2", "--folder", folder, *TINY, "--workers", "0"]
    assert main([*new, "--quiet"]) == 0
    said = complaint(capsys, *new)
    assert said.endswith(f"continue it with athenan resume {folder} --time 3m, or choose another folder\n")
    config = tmp_path / "run" / "config.toml"
    config.write_text(config.read_text().replace("matches = 2\n", "matches = 3\n", 1))
    said = complaint(capsys, *new)
    assert said.endswith(f"continue it with athenan resume {folder}, or choose another folder\n")
    assert main(["resume", folder, "--quiet"]) == 0
    config.write_text("damaged")
    assert "holds a run already" in complaint(capsys, *new)


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
    settings.write_text("[search]\nalgorithm = 'mcts'\nroot_noise = 0.25")
    problem = "search.root_noise must be none, as only 'puct' and 'gumbel' have it, got 0.25"
    assert complaint(capsys, *words) == f"athenan train: {settings}, line 3: {problem}\n"
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

    def train(game: object, config: athenan_spiel.TrainingConfig, folder: Path, **options: object) -> athenan_spiel.Run:
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


def interrupted_training(folder: Path, signals: int) -> tuple[int, str]:
    """Exit code and standard error of a run that gets Ctrl-C once it has written its first checkpoint."""
    words = ["train", "tic_tac_toe", "--folder", str(folder), "--time", "1h", *TINY]
    process = subprocess.Popen([*ATHENAN, *words], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + HANG_SECONDS
    while not list(folder.glob("checkpoints/0*")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    _, said = process.communicate(timeout=HANG_SECONDS)
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
    words = ["train", "tic_tac_toe", "--time", "1h", "--folder", "run", *TINY, "--json"]
    train = subprocess.Popen(
        [*ATHENAN, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert train.stdout is not None
    assert train.stderr is not None
    assert '"run_started"' in train.stdout.readline()
    train.stdout.close()
    assert train.wait(HANG_SECONDS) == 1
    assert train.stderr.read() == ""
    train.stderr.close()
    assert list((tmp_path / "run" / "checkpoints").glob("0*"))


@pytest.mark.parametrize("command", ["train", "resume"])
def test_a_second_ctrl_c_that_is_raised_ends_in_one_line_and_code_130(
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

    def interrupted(*arguments: object, callbacks: Sequence[Callback], **options: object) -> None:
        for callback in callbacks:
            callback(started)
            callback(StopNoticed(matches=1))
        raise KeyboardInterrupt

    monkeypatch.setattr(training, command, interrupted)
    words = {"train": ["tic_tac_toe", "--folder", str(tmp_path / "run")], "resume": [str(tmp_path / "run")]}[command]
    assert main([command, *words]) == 130
    said = capsys.readouterr().err
    assert "games since the last checkpoint are not saved" in said
    assert said.splitlines()[-1].endswith(f"continue with: athenan resume {tmp_path / 'run'} --allow-code mine:crosses")


@pytest.mark.parametrize("signals", [1, pytest.param(2, marks=pytest.mark.slow("a second real run, ten seconds"))])
def test_ctrl_c_saves_and_says_how_to_go_on(signals: int, tmp_path: Path) -> None:
    code, said = interrupted_training(tmp_path / "run", signals)
    assert code in (130, -signal.SIGINT)[:signals], "a second Ctrl-C may come when all is saved"
    if code == 130:
        assert said.splitlines()[-1].endswith(f"continue with: athenan resume {tmp_path / 'run'}")
    else:
        assert "checkpoint is" not in said
    assert "Traceback" not in said
    assert main(["resume", str(tmp_path / "run"), "--matches", "2"]) == 0
