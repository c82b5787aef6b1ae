"""No file makes the library begin a program: a run, a tournament or an experiment from elsewhere can name any."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from command_line import Out, complaint
from experiment_runs import TINY as TINY_EXPERIMENT
from training_runs import TINY

import agents
import athenan_spiel as ath
from athenan_spiel.arena.tournament import run_tournament
from athenan_spiel.arena.tournament_settings import read_tournament
from athenan_spiel.cli.main import main
from athenan_spiel.cli.train import _continue_with
from athenan_spiel.errors import AgentError, AthenanError, ConfigError
from athenan_spiel.experiments import check, read_experiment
from athenan_spiel.training.settings_file import settings_to_toml

pytestmark = pytest.mark.usefixtures("forked_workers")

GAME = "tic_tac_toe"
NOT_BEGUN = r"a file names the program '.*trap', which needs your permission to start: .* add --allow-program .*trap"
ALONE = TINY_EXPERIMENT.replace("[training]", 'opponents = "none"\n\n[training]', 1)


class Trap:
    """An engine that leaves a mark when it is begun, and says nothing."""

    def __init__(self, folder: Path) -> None:
        self.command = str(folder / "trap")
        self._mark = folder / "sprung"
        Path(self.command).write_text(f"#!/bin/sh\ntouch {self._mark}\n")
        Path(self.command).chmod(0o755)

    @property
    def sprung(self) -> bool:
        """Whether it was begun since this was asked last."""
        there = self._mark.exists()
        self._mark.unlink(missing_ok=True)
        return there


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trap:
    monkeypatch.chdir(tmp_path)
    return Trap(tmp_path)


def evaluated(trap: Trap) -> ath.TrainingConfig:
    opponents = ("random", f"gtp:{trap.command}@1s")
    return dataclasses.replace(TINY, evaluation=ath.EvaluationConfig(every_matches=3, opponents=opponents))


@pytest.mark.parametrize("kind", ["gtp:{}@1s", "gtp:{}", "uci:{}@100e", "uci:{};Hash=1", "aei:{}@1s"])
def test_every_kind_of_engine_is_asked_for(trap: Trap, kind: str) -> None:
    word = agents.parse_spec(kind.format(trap.command))
    assert word.program is not None
    assert word.program.startswith(trap.command)
    agents.require_programs([word], None)
    agents.require_programs([agents.parse_spec("mcts:5"), word], [word.program])
    for allowed in ((), (trap.command + " -x",), ("none",)):
        with pytest.raises(AgentError, match=r"a file names the program .* add --allow-program"):
            agents.require_programs([word], allowed)


def test_what_would_steer_a_terminal_is_written_out() -> None:
    for command in ("x\033[2J", "x" * 5000):
        with pytest.raises(AgentError) as error:
            agents.require_programs([agents.parse_spec(f"gtp:{command}")], ())
        assert str(error.value).isprintable()
        assert len(str(error.value)) < 1000


def test_a_run_that_is_resumed(trap: Trap, tmp_path: Path, capsys: Out) -> None:
    run = ath.train(GAME, dataclasses.replace(TINY, matches=1), tmp_path / "run")
    (run.folder / "config.toml").write_text(settings_to_toml(run.game, evaluated(trap)))
    with pytest.raises(ConfigError, match=NOT_BEGUN):
        ath.resume(run.folder, more_matches=3)
    words = ["resume", str(run.folder), "--matches", "3"]
    assert "add --allow-program" in complaint(capsys, *words)
    assert "add --allow-program" in complaint(capsys, *words, "--allow-program", "gnugo --mode gtp")
    assert not trap.sprung
    complaint(capsys, *words, "--allow-program", trap.command)  # it speaks no GTP, but was begun
    assert trap.sprung


def test_a_training_by_settings_of_a_file(trap: Trap, tmp_path: Path, capsys: Out) -> None:
    (tmp_path / "c.toml").write_text(settings_to_toml(GAME, evaluated(trap)))
    words = ["train", GAME, "--config", "c.toml", "--folder", "run"]
    assert "add --allow-program" in complaint(capsys, *words)
    with pytest.raises(ConfigError, match=NOT_BEGUN):
        ath.train(GAME, evaluated(trap), "run", allow_programs=())
    assert not trap.sprung
    complaint(capsys, *words, "--allow-program", trap.command)
    assert trap.sprung
    complaint(capsys, *words, "--evaluation.opponents", f"gtp:{trap.command}")  # one's own word
    assert trap.sprung
    assert not Path("run").exists()


@pytest.mark.parametrize(
    "where", ["[fixed]\nopponents = ['{}']", "[training.evaluation]\nevery_matches = 2\nopponents = ['{}']"]
)
def test_an_experiment(trap: Trap, tmp_path: Path, where: str, capsys: Out) -> None:
    text = where.format(f"gtp:{trap.command}@1s")
    (tmp_path / "e.toml").write_text(f"{ALONE if 'fixed' in where else TINY_EXPERIMENT}\n{text}\n")
    with pytest.raises(ConfigError, match=NOT_BEGUN):
        check(read_experiment("e.toml"))
    assert "add --allow-program" in complaint(capsys, "experiment", "e.toml")
    assert not trap.sprung
    allowed = ["experiment", "e.toml", "--allow-program", trap.command]
    assert main([*allowed, *(["--check"] if "fixed" in where else ["--processes", "1"])]) == 2  # it speaks no GTP
    assert trap.sprung


def test_a_tournament(trap: Trap, tmp_path: Path, capsys: Out) -> None:
    word = f"gtp:{trap.command}@1s"
    head = f'name = "t"\ngame = "{GAME}"\nmatches = 2\n'
    (tmp_path / "t.toml").write_text(f"{head}agents = ['random', '{word}']\n")
    with pytest.raises(AgentError, match=NOT_BEGUN):
        run_tournament(read_tournament("t.toml"), "out")
    assert "add --allow-program" in complaint(capsys, "tournament", "t.toml")
    assert not trap.sprung
    assert not Path("out").exists()
    complaint(capsys, "tournament", "t.toml", "--allow-program", trap.command)
    assert trap.sprung
    complaint(capsys, "tournament", "random", word, "--game", GAME, "--matches", "2")  # one's own word
    assert trap.sprung
    (tmp_path / "j.toml").write_text(
        f"{head}agents = ['random', 'mcts:2']\n[openings]\nkind = 'balanced'\njudge = '{word}'\n"
    )
    with pytest.raises(AthenanError, match=r"must be an agent that reports values, a run or alphabeta, got 'gtp:"):
        run_tournament(read_tournament("j.toml"), "out", allow_programs=[trap.command])
    assert not trap.sprung


def test_stopped_runs_say_how_to_go_on(trap: Trap) -> None:
    told = _continue_with("runs/x", evaluated(trap))
    assert told == f"continue with: athenan resume runs/x --allow-program {trap.command}"


@pytest.mark.parametrize("option", ["--allow-program", "--allow-code", "--save", "-x", "--"])
def test_no_word_of_a_file_is_an_option(trap: Trap, tmp_path: Path, option: str, capsys: Out) -> None:
    """Opponents are words of a command that is begun: one with a dash could allow what another one names."""
    word = f"gtp:{trap.command}"
    with pytest.raises(ConfigError, match="none begins with a dash"):
        ath.EvaluationConfig(every_matches=3, opponents=(word, option, trap.command))
    text = settings_to_toml(GAME, evaluated(trap)).replace(f'"{word}@1s"', f'"{word}", "{option}", "{trap.command}"')
    assert f'"{option}"' in text
    (tmp_path / "c.toml").write_text(text)
    assert "begins with a dash" in complaint(capsys, "train", GAME, "--config", "c.toml", "--folder", "run")
    assert not trap.sprung


def test_no_name_of_a_program_is_allowed_from_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = Trap(tmp_path)
    Path(trap.command).rename(tmp_path / "none")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    for word in ("gtp:none", "gtp:"):
        config = dataclasses.replace(TINY, evaluation=ath.EvaluationConfig(every_matches=3, opponents=(word,)))
        with pytest.raises(AthenanError):
            ath.train(GAME, config, "run", allow_programs=())
    assert not trap.sprung
