"""What `perfect_play.py` counts and prints, and what it refuses."""

from __future__ import annotations

import dataclasses
import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import forking
import pytest
from training_runs import TINY

import agents
import athenan_spiel as ath
from athenan_spiel.training import train

ROOT = Path(__file__).resolve().parents[2]
HEX = "hex(board_size=5)"


@pytest.fixture
def script() -> ModuleType:
    return importlib.import_module("perfect_play")


@pytest.fixture(scope="module")
def hex_run(tmp_path_factory: pytest.TempPathFactory) -> str:
    config = dataclasses.replace(TINY, matches=2, matches_at_once=2)
    return str(train(ath.load_game(HEX), config, tmp_path_factory.mktemp("runs") / "hex5").folder)


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return forking.script(ROOT / "benchmarks" / "perfect_play.py", *words, folder=ROOT)


def printed(script: ModuleType, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What it prints in this process."""
    sys.argv = ["perfect_play.py", *words]
    script.main()
    return capsys.readouterr().out


@pytest.fixture(autouse=True)
def _arguments_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", sys.argv)


def test_random_moves_keep_about_what_they_keep_on_average(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    told = json.loads(printed(script, capsys, "connect_four", "random", "--json"))
    (agent,) = told["agents"]
    assert told["game"] == "connect_four"
    assert told["set"] == "judging"
    assert told["positions"]["random"] == 550
    assert len(agent["kept"]) == told["positions"]["all"]
    for group, count in told["positions"].items():
        share = agent["shares"][group]
        assert share["low"] <= share["estimate"] <= share["high"]
        assert share["estimate"] == pytest.approx(told["uniformly_random"][group], abs=2.5 / count**0.5)
    assert told["mended"] == []


def test_the_tables_have_a_line_for_each_agent(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(script, capsys, "othello", "random", "mcts:2", "--positions", "7").splitlines()
    assert lines[0] == "othello, judging: % of moves that keep the result, with the 95 % interval"
    assert lines[1].split("  ")[0] == "all, 7"
    assert "random, 3" in lines[1]
    assert "mcts, 2" in lines[1]
    assert "self-play, 2" in lines[1]
    assert lines[1].endswith("ms a move  agent")
    assert [line.split()[-1] for line in lines[2:5]] == ["moves", "random", "mcts:2"]
    assert lines[5] == ""
    assert lines[6].startswith("last third, 7")
    assert len(lines) == 10


def test_a_run_without_a_limit_is_measured_at_each(
    script: ModuleType, capsys: pytest.CaptureFixture[str], hex_run: str
) -> None:
    words = [HEX, hex_run, f"{hex_run}@3i", "mcts:2", "--limits", "1", "4", "0.01s", "--positions", "9"]
    told = json.loads(printed(script, capsys, *words, "--set", "choosing", "--json"))
    assert told["set"] == "choosing"
    names = [agent["agent"] for agent in told["agents"]]
    assert names == [f"{hex_run}@1i", f"{hex_run}@4i", f"{hex_run}@0.01s", f"{hex_run}@3i", "mcts:2"]
    assert [(mend["before"], mend["after"]) for mend in told["mended"]] == [(names[0], names[1]), (names[1], names[2])]
    kept = [agent["kept"] for agent in told["agents"]]
    for mend, before, after in zip(told["mended"], kept, kept[1:], strict=False):
        among = [later for sooner, later in zip(before, after, strict=True) if not sooner]
        assert mend["positions"] == len(among)
        assert not among or mend["share"]["estimate"] == pytest.approx(sum(among) / len(among))
    text = printed(script, capsys, *words)
    assert sum(line.startswith("where ") or "fails nowhere" in line for line in text.splitlines()) == 2


def test_one_iteration_is_the_network_alone(script: ModuleType, hex_run: str) -> None:
    game, solved = ath.load_game(HEX), importlib.import_module("solved.positions")
    for search in ("", ":mcts"):
        ((word, of),) = script.read_agents([hex_run + search], ["1"])
        assert (word.text, of) == (f"{hex_run}{search}@1i", hex_run + search)
        agent = agents.make_bot(word, game, 0).agent
        for position in solved.read(HEX, "choosing")[:10]:
            state = position.state(game)
            children = [state.child(action) for action in state.legal_actions()]
            values = [agent.search.outcome(x) if x.is_terminal() else float(agent.evaluator([x])[0]) for x in children]
            best = max(values) if state.current_player() == 0 else min(values)
            played = state.legal_actions().index(agent.step(state))
            assert values[played] == pytest.approx(best, abs=1e-5)


def test_what_a_limit_mends(script: ModuleType) -> None:
    def measurement(word: str, run: str | None, *kept: bool) -> Any:
        return importlib.import_module("solved.measurements").Measurement(word, run, kept, 1.0)

    first = measurement("a@1i", "a", True, False, False, False)
    second = measurement("a@2i", "a", False, True, False, True)
    perfect = measurement("b@1i", "b", True, True, True, True)
    other = measurement("random", None, False, False, False, False)
    (found,) = script.mended_by_limits([first, second, perfect, other, other])
    assert (found.before, found.after, found.positions) == ("a@1i", "a@2i", 3)
    assert found.share.estimate == pytest.approx(2 / 3)
    assert script.mended_line(found).startswith("where a@1i fails (3), a@2i keeps the result in % 66.7 (")
    assert found.to_json()["share"]["estimate"] == found.share.estimate
    (nothing,) = script.mended_by_limits([perfect, perfect])
    assert script.mended_line(nothing) == "b@1i fails nowhere"
    assert nothing.to_json() == {"before": "b@1i", "after": "b@1i", "positions": 0, "share": None}


def test_positions_are_those_of_all_sources_in_turn(script: ModuleType) -> None:
    solved = importlib.import_module("solved.positions").SolvedPosition
    sources = ["random"] * 4 + ["mcts"] + ["self-play"] * 2
    known = [solved((index,), (0,), source) for index, source in enumerate(sources)]
    assert [position.actions[0] for position in script.chosen(known, None)] == [0, 4, 5, 1, 6, 2, 3]
    assert [position.actions[0] for position in script.chosen(known, 4)] == [0, 4, 5, 1]


def test_a_game_is_found_by_another_string_of_it(script: ModuleType) -> None:
    assert script.find_game("breakthrough(columns=5,rows=5)").name == "breakthrough(rows=5,columns=5)"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([HEX], "AGENT"),
        (["conect_four", "random"], "did you mean 'connect_four'"),
        (["tic_tac_toe", "random"], "expected a game with solved positions, one of connect_four, "),
        ([HEX, "randm"], "did you mean 'random'"),
        ([HEX, "human"], "expected agents that play by themselves, got 'human'"),
        ([HEX, "runs/nowhere"], "got 'runs/nowhere"),
        ([HEX, "random", "--positions", "0"], "--positions: expected 1 or more, got 0"),
        ([HEX, "random", "--seed", "-1"], "--seed: expected 0 to"),
        ([HEX, "random", "--set", "judgment"], "--set: invalid choice: 'judgment'"),
        ([HEX, "runs/nowhere", "--limits", "0"], "0"),
        ([HEX, "runs/nowhere", "--limits", "quick"], "expected a limit such as 30 (iterations) or 0.1s"),
        ([HEX, "runs/nowhere", "--limits", "60s/match"], "expected a limit such as 30 (iterations) or 0.1s"),
    ],
)
def test_what_is_wrong_is_said_in_two_lines(words: list[str], message: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_a_run_of_another_game_is_refused(hex_run: str) -> None:
    done = run("othello", hex_run)
    assert (done.returncode, done.stdout) == (2, "")
    assert "hex(board_size=5)" in done.stderr
    assert len(done.stderr.splitlines()) == 1
