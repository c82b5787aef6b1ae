"""A process that dies or hangs fails only its own game."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from command_line import Out
from fatal_bots import Fatal

import agents
from athenan_spiel.arena.processes import Encounter, play_all
from athenan_spiel.arena.sprt import SequentialTest, Sprt
from athenan_spiel.cli.main import main
from athenan_spiel.errors import ExperimentError
from athenan_spiel.play.series import Fixture, SeriesRecord, fixtures
from athenan_spiel.system.tasks import MAX_LOSSES_IN_A_ROW

pytestmark = pytest.mark.usefixtures("forked_workers")

GAME = pyspiel.load_game("tic_tac_toe")
REASONS = {
    "segv": "its process ended by signal 11 (SIGSEGV)",
    "kill": "its process ended by signal 9 (SIGKILL)",
    "exit": "its process ended with code 3",
    "hang": "its process made no progress for 10 s and was killed",
}
HARMLESS = ("segv", ())


def play(way: str, numbers: tuple[int, ...], *, at_once: int | None = None, seconds: float = 60.0) -> Any:
    bots = [Fatal(way, numbers), Fatal(*HARMLESS)]
    played, failed = SeriesRecord(), []

    def on_failure(index: int, fixture: Fixture, reason: str) -> None:
        failed.append((fixture.index, reason))

    play_all(
        [Encounter(GAME, [bots, bots[::-1]], fixtures(GAME, 8, 2, 5))],
        lambda index, fixture, result: played.add(fixture, result),
        forfeits=True,
        at_once=at_once,
        on_failure=on_failure,
        silent_seconds=seconds,
    )
    return played.series(), failed


@pytest.mark.parametrize("way", ["segv", "kill", "exit"])
def test_a_dead_process_fails_only_its_match(way: str) -> None:
    series, failed = play(way, (2,), at_once=2 if way == "kill" else None)
    assert sorted(failed) == [(4, REASONS[way]), (5, REASONS[way])]  # both colours of the third opening
    all_of_them = [result.history for result in play("segv", ())[0].results]
    assert [result.history for result in series.results] == [*all_of_them[:4], *all_of_them[6:]]


@pytest.mark.slow(reason="a process has ten seconds to show that it makes progress, and starts anew after that")
def test_a_process_that_hangs_in_native_code_is_killed() -> None:
    series, failed = play("hang", (1,), seconds=10.0)
    assert [reason for _, reason in failed] == [REASONS["hang"]] * 2
    assert len(series.results) == 6


def test_repeated_process_deaths_end_the_series() -> None:
    bots = [Fatal("kill", tuple(range(100))), Fatal(*HARMLESS)]
    sides, planned = [bots, bots[::-1]], fixtures(GAME, 40, 2, 5)
    with pytest.raises(ExperimentError, match=f"{MAX_LOSSES_IN_A_ROW} processes were lost in a row, the last as its"):
        play_all([Encounter(GAME, sides, planned)], print, forfeits=True, on_failure=lambda *told: None)


@pytest.fixture
def fatal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the agent `random` end its process in the games of the second opening."""
    make = agents.make_bot

    def make_bot(word: agents.AgentSpec, *given: Any) -> pyspiel.Bot:
        return Fatal("segv", (1,)) if word.text == "random" else make(word, *given)

    monkeypatch.setattr(agents, "make_bot", make_bot)


@pytest.mark.usefixtures("fatal")
def test_eval_reports_failed_matches_and_counts_the_others(capsys: Out) -> None:
    words = ["eval", "mcts:2", "--against", "random", "mcts:3", "--game", "tic_tac_toe", "--matches", "6"]
    assert main([*words, "--json"]) == 0
    captured = capsys.readouterr()
    first, second = json.loads(captured.out)["comparisons"]
    assert (first["matches"], first["failed"]) == (4, [REASONS["segv"]] * 2)
    assert (second["matches"], second["failed"]) == (6, [])
    assert sum(first["total"].values()) == 4
    assert captured.err == (
        "mcts:2 against random: 2 of 6 games failed, the first as its process ended by signal 11 (SIGSEGV)\n"
    )
    assert main(words) == 0
    assert "failed" in capsys.readouterr().out


def test_a_stopped_evaluation_reports_failed_matches(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    def play_all(*given: Any, on_failure: Any, **options: Any) -> None:
        on_failure(0, Fixture(0, 0, 0, ()), REASONS["segv"])
        raise KeyboardInterrupt

    monkeypatch.setattr("athenan_spiel.arena.evaluation.play_all", play_all)
    assert main(["eval", "mcts:2", "--against", "random", "--game", "tic_tac_toe", "--matches", "2"]) == 130
    assert f"mcts:2 against random: 1 of 1 games failed, the first as {REASONS['segv']}" in capsys.readouterr().err


def test_the_time_limit_of_a_move_extends_the_stall_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A player that thinks without the driver reports nothing meanwhile."""
    given: dict[str, Any] = {}
    monkeypatch.setattr("athenan_spiel.arena.processes.do_tasks", lambda *args, **options: given.update(options))
    for limit, seconds in (({"seconds": 700.0}, 700.0), ({"match_seconds": 900.0}, 900.0), ({}, 0.0)):
        bots = [Fatal(*HARMLESS), Fatal(*HARMLESS)]
        vars(bots[1]).update(limit)
        play_all(
            [Encounter(GAME, [bots, bots[::-1]], fixtures(GAME, 2, 2, 5))],
            lambda *told: None,
            forfeits=True,
            on_failure=lambda *told: None,
            silent_seconds=600.0,
        )
        assert given["losses"].silent_seconds == 600.0 + seconds


def test_a_series_without_a_result_is_reported_as_failure(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    make = agents.make_bot
    monkeypatch.setattr(
        agents,
        "make_bot",
        lambda word, *given: Fatal("segv", (0, 1)) if word.text == "random" else make(word, *given),
    )
    words = ["eval", "mcts:2", "--against", "random", "mcts:3", "--game", "tic_tac_toe", "--matches", "4", "--json"]
    assert main(words) == 2
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert [one["opponent"] for one in answer["comparisons"]] == ["mcts:3"]
    assert answer["without_result"] == [{"series": "mcts:2 against random", "failed": [REASONS["segv"]] * 4}]
    assert "mcts:2 against random: 4 of 4 games failed" in captured.err


@pytest.mark.usefixtures("fatal")
def test_a_tournament_continues_and_replays_failed_matches(
    tmp_path: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["tournament", "mcts:2", "random", "--game", "tic_tac_toe", "--matches", "6", "--folder", str(tmp_path)]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert "2 games failed, the first: mcts:2 against random at tic_tac_toe(), opening 1: its process ended" in said
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["matches"], len(report["failed"]), report["complete"]) == (4, 2, False)
    assert "2 games failed and have no result" in (tmp_path / "report.md").read_text()
    monkeypatch.undo()
    assert main(words) == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["matches"], report["failed"], report["complete"]) == (6, [], True)


def test_an_opening_with_a_failed_match_is_left_out_of_a_sequential_test() -> None:
    test, other = SequentialTest(Sprt(elo0=0, elo1=50)), SequentialTest(Sprt(elo0=0, elo1=50))
    test.add(0, 1.0)
    test.drop(0)
    for number in range(1, 4):
        for each, index in ((test, number), (other, number - 1)):
            each.add(index, 1.0)
            each.add(index, 0.5)
    assert (test.openings, test.llr) == (other.openings, other.llr) == (3, other.llr)
