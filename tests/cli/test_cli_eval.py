"""`athenan eval`: all is checked before the first match, and what was played is told whatever happens later."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pyspiel
import pytest
from command_line import TINY, Out, complaint, fails_in_match

from athenan_spiel.cli.main import main
from athenan_spiel.errors import AgentError
from ludii_bridge.errors import LudiiError

pytestmark = pytest.mark.usefixtures("forked_workers")


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four matches of Tic-Tac-Toe with the checkpoints 0, 2 and 4, to be left as it is."""
    folder = tmp_path_factory.mktemp("runs") / "stages"
    words = ["--matches", "4", "--milestone-matches", "2", "--keep", "3", "--folder", str(folder), *TINY]
    assert main(["train", "tic_tac_toe", *words]) == 0
    return folder


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
        del comparison["seconds"], comparison["move_seconds"]
        answers.append(comparison)
    assert answers[0] == answers[1]


def test_eval_in_processes_says_the_same(trained: Path, capsys: Out) -> None:
    answers = []
    for at_once in ([], ["--matches-at-once", "1"], ["--matches-at-once", "16"]):
        words = ["eval", f"{trained}@2i", "--against", "random", "mcts:2", "--matches", "18", "--json"]
        assert main([*words, *at_once]) == 0
        answer = json.loads(capsys.readouterr().out)
        for comparison in answer["comparisons"]:
            del comparison["seconds"], comparison["move_seconds"]
        answers.append(answer)
    assert answers[0] == answers[1] == answers[2]


def test_eval_with_seconds_a_move_plays_in_processes(trained: Path, capsys: Out) -> None:
    words = ["eval", f"{trained}@0.001s", "--against", f"{trained}@0.001s", "--matches", "6", "--json"]
    assert main([*words, "--matches-at-once", "2"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert (comparison["matches"], comparison["forfeits"]) == (6, {"contender": [], "opponent": []})
    assert min(comparison["seconds"].values()) > 0


def test_eval_in_processes_is_stopped_and_tells_what_was_played(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    from athenan_spiel.play.series import SeriesRecord

    add, added = SeriesRecord.add, []

    def stopping(played: SeriesRecord, *match: Any) -> None:
        add(played, *match)
        added.append(match)
        if len(added) == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(SeriesRecord, "add", stopping)
    words = ["eval", "mcts:3000", "--against", "random", "--game", "connect_four", "--matches", "60"]
    assert main([*words, "--matches-at-once", "2", "--json"]) == 143
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert (answer["finished"], answer["reason"]) == (False, "stopped")
    assert 3 <= answer["comparisons"][0]["matches"] < 60
    assert "stopped" in captured.err


def test_eval_prints_a_table(capsys: Out) -> None:
    assert main(["eval", "mcts:50", "--against", "random", "--game", "tic_tac_toe", "--matches", "10"]) == 0
    out = capsys.readouterr().out
    assert "mcts:50 at tic_tac_toe()" in out
    assert re.search(r"│ random +│ +10 │", out)
    assert "95% interval" in out


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
        (["--against", "mcts:2", "ludii:UCT@1s"], "UCT is one of Ludii's AIs"),
        (["--against", "mcts:2", "--game", "hex"], "learned 'tic_tac_toe()' and cannot play 'hex"),
        (["--against", "mcts:2", "--opening-plies", "9"], "9 random plies must not end the game"),
        (["--against", "mcts:2", "--opening-plies", "-1"], "an opening must have zero plies or more, got -1"),
        (["--against", "mcts:2", "--matches", "200000"], "matches must be at most 100000, got 200000"),
        (["--against", "mcts:2", "RUN:ponder=true@1i"], ":ponder=true@1i ponders, which would take the time of "),
        (
            ["--against", "RUN:ponder=true@1i", "--check"],
            "turn pondering off, or play against a person or an engine (gtp:, uci:, aei:)",
        ),
        (["--against", "mcts:2", "--limit", "5m+2"], "must be like 0.1s, 200i, 5000e, 60s/match or 5m+2s, got '5m+2'"),
        (["--against", "mcts@0s+2s"], "the seconds of a game clock must be more than zero, got 0.0"),
        (["--against", "mcts:2", "--matches-at-once", "0"], "--matches-at-once must be from 1 to 256, got 0"),
        (["--against", "mcts:2", "--matches-at-once", "257"], "--matches-at-once must be from 1 to 256, got 257"),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_all_is_checked_before_the_first_match(
    words: list[str], said: str, stages: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    fails_in_match(monkeypatch, 1, AssertionError("a match was begun"))
    assert said in complaint(capsys, "eval", f"{stages}#2@1i", *(word.replace("RUN", str(stages)) for word in words))


def test_an_agent_ponders_against_an_engine(stages: Path, capsys: Out) -> None:
    fake = Path(__file__).parent.parent / "protocols" / "fake_gtp.py"
    engine = f"gtp:{shlex.join([sys.executable, str(fake), 'tic_tac_toe'])}"
    assert main(["eval", f"{stages}:ponder=true@2i", "--against", engine, "--matches", "4", "--json"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert comparison["matches"] == 4
    assert comparison["forfeits"] == {"contender": [], "opponent": []}
    assert not [thread for thread in threading.enumerate() if thread.name == "pondering"]


def test_a_series_with_increments(stages: Path, capsys: Out) -> None:
    clock = "30s+0.1s"  # both solve the game long before, and no busy machine makes them lose on time
    words = ["eval", f"{stages}:ubfm@{clock}", "--against", f"mcts@{clock}", "--matches", "2"]
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["finished"]
    assert answer["comparisons"][0]["forfeits"] == {"contender": [], "opponent": []}


def test_a_check_plays_nothing(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.arena.evaluation.play_all", None)
    words = ["eval", "random", "--against", "mcts:3", "--game", "tic_tac_toe", "--check"]
    assert main(words) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "ready to play tic_tac_toe(): random, mcts:3" in said.err
    assert "9 random plies" in complaint(capsys, *words, "--opening-plies", "9")
    assert "got 'mtcs:3'" in complaint(capsys, *words[:3], "mtcs:3", *words[4:])


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


class Fails(pyspiel.Bot):
    """Plays the first legal action, and in the matches of those numbers an illegal one or an error."""

    def __init__(self, matches: set[int], failure: Exception | None) -> None:
        super().__init__()
        self.failure, self.matches, self.begun = failure, matches, 0

    def restart_at(self, state: pyspiel.State) -> None:
        self.begun += 1

    def step(self, state: pyspiel.State) -> int:
        if self.begun not in self.matches:
            return int(state.legal_actions()[0])
        if self.failure is not None:
            raise self.failure
        return -1

    def inform_action(self, state: pyspiel.State, player_id: int, action: int) -> None:
        pass


def random_fails(monkeypatch: pytest.MonkeyPatch, matches: set[int], failure: Exception | None) -> None:
    """Let the agent `random` fail in the matches of those numbers that it plays as either player."""
    import agents

    make = agents.make_bot

    def make_bot(word: agents.AgentSpec, *given: Any) -> pyspiel.Bot:
        return Fails(matches, failure) if word.text == "random" else make(word, *given)

    monkeypatch.setattr(agents, "make_bot", make_bot)


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (None, "must choose a legal action"),
        (LudiiError("UCT chose no\nlegal move"), "UCT chose no legal move"),
        (ZeroDivisionError("division"), "ZeroDivisionError: division"),
    ],
)
def test_an_opponent_that_fails_loses_that_match_and_the_series_goes_on(
    failure: Exception | None, reason: str, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:
    random_fails(monkeypatch, {2}, failure)
    words = ["eval", "mcts:2", "--against", "random", "mcts:3", "--game", "tic_tac_toe", "--matches", "6", "--json"]
    assert main(words) == 0
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert answer["finished"]
    assert [comparison["matches"] for comparison in answer["comparisons"]] == [6, 6]
    forfeits = answer["comparisons"][0]["forfeits"]
    assert forfeits["contender"] == []
    assert len(forfeits["opponent"]) == 2
    assert all(reason in text for text in forfeits["opponent"])
    assert answer["comparisons"][0]["total"]["wins"] >= 2
    (line,) = captured.err.splitlines()
    assert line.startswith("mcts:2 against random: random forfeited 2 of 6 games, the first as ")
    assert reason in line


def test_a_series_that_was_all_forfeited_measures_nothing(capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    random_fails(monkeypatch, {1}, LudiiError("Java is broken"))
    assert main(["eval", "random", "--against", "mcts:2", "--game", "tic_tac_toe", "--matches", "2"]) == 2
    captured = capsys.readouterr()
    assert re.search(r"│ mcts:2 +│ +2 │", captured.out)
    assert captured.err == "random against mcts:2: random forfeited 2 of 2 games, the first as Java is broken\n"


def test_memory_that_runs_out_is_no_answer_of_a_player(monkeypatch: pytest.MonkeyPatch, capsys: Out) -> None:
    random_fails(monkeypatch, {1}, MemoryError("48 GiB"))
    assert main(["eval", "random", "--against", "mcts:2", "--game", "tic_tac_toe", "--matches", "2"]) == 2
    said = capsys.readouterr().err
    assert "48 GiB" in said
    assert "forfeited" not in said
