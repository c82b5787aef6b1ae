"""`athenan tournament`, `athenan replay`, and the statistics of `athenan eval`."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pyspiel
import pytest
from command_line import Out, complaint

from agents.uniform import RandomBot
from athenan_spiel.cli.main import main
from athenan_spiel.errors import AgentError

pytestmark = pytest.mark.usefixtures("forked_workers")

GAME = ["--game", "tic_tac_toe"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight matches of MCTS against random play, then against itself."""
    path = tmp_path_factory.mktemp("matches") / "saved.jsonl"
    words = ["eval", "mcts:3", "--against", "random", "mcts:3", "--matches", "4", "--save", str(path), *GAME]
    assert main(words) == 0
    return path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_tournament_of_specs(here: Path, capsys: Out) -> None:
    words = ["tournament", "random", "mcts:5", "mcts:9", *GAME, "--matches", "4"]
    assert main([*words, "--check"]) == 0
    assert "ready to play 12 games: random, mcts:5, mcts:9" in capsys.readouterr().err
    assert not (here / "runs").exists()
    assert main(words) == 0
    shown = capsys.readouterr()
    assert "| `mcts:9` |" in shown.out
    assert "games: 12 of 12" in shown.err
    assert "report: runs/tournaments/tic_tac_toe/report.md" in shown.err
    assert main([*words, "--report", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert (table["matches"], table["complete"]) == (12, True)
    assert main([*words, "--folder", "elsewhere", "--pool", "alphabeta(1)@2i"]) == 0
    assert "another tournament" in complaint(capsys, *words, "--seed", "4")


def test_a_tournament_of_a_file(here: Path, capsys: Out) -> None:
    (here / "t.toml").write_text(
        'name = "file"\ngame = "tic_tac_toe"\nagents = ["random", "mcts:3"]\nmatches = 4\n'
        '[openings]\nkind = "file"\nfile = "o.txt"\n'
    )
    (here / "o.txt").write_text("0 4\n4 0\n")
    assert main(["tournament", "t.toml"]) == 0
    assert (here / "runs" / "tournaments" / "file" / "report.md").exists()
    capsys.readouterr()
    assert "--matches is a setting of the file" in complaint(capsys, "tournament", "t.toml", "--matches", "6")


def test_ctrl_c_prints_the_command_to_continue(here: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    from athenan_spiel.arena import tournament

    def stopped(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tournament, "play_all", stopped)
    assert main(["tournament", "random", "mcts:3", *GAME]) == 130
    assert "continue with: athenan tournament random mcts:3 --game tic_tac_toe" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([], "expected a TOML file or agents, got none"),
        (["random", *GAME], "at least two"),
        (["random", "random", *GAME], "agents must differ, got 'random' twice"),
        (["random", "mcts:3"], "expected a game"),
        (["random", "nobody", *GAME], "agent 'nobody'"),
        (["random", "mcts:3", *GAME, "--matches", "3"], "matches must be even"),
        (["random", "mcts:3", *GAME, "--sprt", "5", "0"], "--sprt: a sequential test needs elo0 below elo1"),
        (["random", "mcts:3", *GAME, "--judge", "random"], "--judge is for --openings balanced"),
        (["random", "mcts:3", *GAME, "--anchor", "x"], "anchor must be one of the agents"),
        (["random", "mcts:3", *GAME, "--name", "a/b"], "name must not contain a slash"),
        (["random", "mcts:3", *GAME, "--name", ".hidden"], "name must not contain a slash"),
        (["random", "mcts:3", *GAME, "--check", "--report"], "expected --check or --report, got both"),
        (["random", "mcts:3", *GAME, "--matches-at-once", "0"], "--matches-at-once must be from 1 to 256"),
        (["random", "mcts:3", *GAME, "--report"], "expected the folder of a finished or stopped"),
        (["nowhere.toml"], "nowhere.toml cannot be read"),
    ],
)
def test_invalid_arguments_of_a_tournament(here: Path, capsys: Out, words: list[str], problem: str) -> None:
    said = complaint(capsys, "tournament", *words)
    if problem == "agent 'nobody'":
        assert "nobody" in said
    else:
        assert problem in said
    assert not (here / "runs").exists()


def test_replay_lists_and_shows(saved: Path, capsys: Out) -> None:
    capsys.readouterr()
    assert main(["replay", str(saved)]) == 0
    listed = capsys.readouterr()
    assert len(re.findall(r"tic_tac_toe\(\)", listed.out)) == 8
    assert "--match NUMBER" in listed.err
    assert main(["replay", str(saved), "--match", "2"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("tic_tac_toe(): random (x) against mcts:3 (o)")
    assert "ply 1, of the opening: x(" in shown
    assert re.search(r"ply 3: random plays x\(\d,\d\), \d+\.\d\d s\n", shown)
    assert shown.rstrip().endswith((" won", "a draw"))
    assert main(["replay", str(saved), "--match", "8", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert len(table["moves"]) == len(table["actions"])


def test_replay_at_a_terminal(saved: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch) -> None:
    from athenan_spiel.cli import replay

    console = replay.output()
    console._force_terminal = True
    monkeypatch.setattr(replay, "output", lambda: console)
    answers = iter(["", "n", "p", "5", "99", "x", "0", "q"])

    def answered(prompt: str) -> str:
        sys.stdout.write(f"{prompt}\n")
        return next(answers)

    monkeypatch.setattr("builtins.input", answered)
    assert main(["replay", str(saved), "--match", "1"]) == 0
    shown = capsys.readouterr().out
    prompts = [int(ply) for ply in re.findall(r"^ply (\d+) of", shown, re.MULTILINE)]
    assert prompts == [0, 1, 2, 1, 5, 5, 5, 0]
    assert shown.count(replay.HELP) == 3
    monkeypatch.setattr("builtins.input", lambda prompt: "")
    assert main(["replay", str(saved), "--match", "1"]) == 0, "Enter leads to the end, and out"

    def ended(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", ended)
    assert main(["replay", str(saved), "--match", "1"]) == 0


def test_replay_refuses_false_games(saved: Path, tmp_path: Path, capsys: Out) -> None:
    table = json.loads(saved.read_bytes().splitlines()[0])
    forged = tmp_path / "forged.jsonl"
    forged.write_text(json.dumps(table | {"returns": [0.25, -0.25]}) + "\n")
    assert "game 1 is inconsistent: its actions return" in complaint(capsys, "replay", str(forged))
    forged.write_text("hello\n")
    assert "line 1 is not a saved game" in complaint(capsys, "replay", str(forged))
    forged.write_text("")
    assert "expected a file of saved games" in complaint(capsys, "replay", str(forged))
    assert "expected a file of saved games" in complaint(capsys, "replay", str(forged), "--match", "1")
    count = len(saved.read_bytes().splitlines())
    said = complaint(capsys, "replay", str(saved), "--match", str(count + 1))
    assert f"--match must be from 1 to {count} for {saved}, got {count + 1}" in said
    assert "--match must be at least 1" in complaint(capsys, "replay", str(saved), "--match", "0")
    os.mkfifo(tmp_path / "fifo")
    assert "no regular file" in complaint(capsys, "replay", str(tmp_path / "fifo"))


@pytest.mark.parametrize("command", [("tournament", "mcts:3", "random"), ("eval", "mcts:3", "--against", "random")])
def test_openings_after_which_an_agent_cannot_start(
    command: tuple[str, ...], here: Path, capsys: Out, monkeypatch: pytest.MonkeyPatch
) -> None:

    def require_start(bot: RandomBot, state: pyspiel.State) -> None:
        if len(state.history()) == 2:
            raise AgentError("begins elsewhere")

    monkeypatch.setattr(RandomBot, "require_start", require_start, raising=False)
    words = [*command, *GAME, "--matches", "4"]
    for more in ((), ("--check",)):
        assert "begins elsewhere" in complaint(capsys, *words, *more)
    assert not list(here.rglob("matches.jsonl"))
    assert main([*words, "--opening-plies", "1"]) == 0


def test_eval_prints_statistics(here: Path, capsys: Out) -> None:
    words = ["eval", "mcts:9", "--against", "random", *GAME, "--matches", "20"]
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    (comparison,) = answer["comparisons"]
    assert 0 < comparison["binomial_p"] < 0.2
    assert 0 < comparison["wilcoxon_p"] < 0.2
    total = comparison["total"]
    assert comparison["wins_minus_losses"] == pytest.approx((total["wins"] - total["losses"]) / 20)
    assert comparison["moves"]["contender"]["moves"] >= 20
    assert comparison["move_seconds"]["opponent"]["longest"] >= comparison["move_seconds"]["opponent"]["mean"]
    assert comparison["sprt"] is None
    assert (answer["openings"], answer["opening_plies"]) == ("2 random plies", 2)
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert (
        "openings: 2 random plies, each with both colours\nlength of a series: 20 games, as declared in advance"
        in shown
    )


def test_eval_stops_by_a_sequential_test(here: Path, capsys: Out) -> None:
    words = ["eval", "mcts:30", "--against", "random", *GAME, "--matches", "400", "--sprt", "0", "200"]
    assert main([*words, "--json"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert comparison["sprt"]["verdict"] == "H1"
    assert comparison["matches"] < 100
    assert main(words) == 0
    assert re.search(r"random: SPRT \(H0 \+0 Elo, H1 \+200 Elo, .*: H1 accepted after", capsys.readouterr().out)


def test_eval_with_openings_and_a_limit(here: Path, capsys: Out) -> None:
    (here / "o.txt").write_text("0 4\n4 0\n")
    words = ["eval", "alphabeta@1s", "--against", "random", *GAME, "--matches", "4", "--limit", "2i", "--save", "s"]
    assert main([*words, "--openings", "o.txt"]) == 0
    shown = capsys.readouterr().out
    assert "openings: 2 openings of o.txt" in shown
    assert "limit: 2i per move, except random" in shown
    assert json.loads((here / "s").read_text().splitlines()[0])["specs"] == ["alphabeta@2i", "random"]
    assert "a new file, got 's': File exists" in complaint(capsys, *words)
    assert main([*words[:-2], "--openings", "o.txt", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["opening_plies"] is None
    assert "cannot be read" in complaint(capsys, *words[:-2], "--openings", "nowhere")
    assert "elo0 below elo1" in complaint(capsys, *words[:-2], "--sprt", "1", "0")


def test_eval_alone_saves_and_has_no_test(here: Path, capsys: Out) -> None:
    words = ["eval", "random", "--game", "morpion_solitaire", "--matches", "2"]
    assert main([*words, "--save", "s"]) == 0
    capsys.readouterr()
    assert main(["replay", "s"]) == 0
    assert "score " in capsys.readouterr().out
    assert main(["replay", "s", "--match", "1"]) == 0
    assert "are for games for two players" in complaint(capsys, *words, "--sprt", "0", "5")


def test_replay_writes_pgn_of_chess(here: Path, saved: Path, capsys: Out) -> None:
    assert main(["eval", "random", "--against", "random", "--game", "chess", "--matches", "2", "--save", "c"]) == 0
    assert main(["replay", "c", "--match", "1", "--pgn", "c.pgn"]) == 0
    text = (here / "c.pgn").read_text()
    assert '[White "random"]' in text
    assert "1. " in text
    assert "got 'c.pgn', which exists" in complaint(capsys, "replay", "c", "--match", "1", "--pgn", "c.pgn")
    assert "PGN supports games of chess" in complaint(capsys, "replay", str(saved), "--match", "1", "--pgn", "t.pgn")
    assert not (here / "t.pgn").exists()
    assert "got 'a\\x00b'" in complaint(capsys, "replay", "c", "--match", "1", "--pgn", "a\0b")
    match = json.loads((here / "c").read_text().splitlines()[0])
    match |= {"actions": [], "movers": [], "move_seconds": [], "opening_plies": 0, "returns": [-1.0, 1.0]}
    for resigned, comment in ((False, "Black (GtpBot) lost on time"), (True, "Black resigned")):
        reason = "player 0 (GtpBot) lost on time"
        match["forfeit"] = {"player": 0, "reason": reason, "resigned": resigned}
        (here / "f").write_text(json.dumps(match) + "\n")
        assert main(["replay", "f", "--pgn", f"{resigned}.pgn"]) == 0
        assert (here / f"{resigned}.pgn").read_text().endswith(f'[Result "1-0"]\n\n{{{comment}}} 1-0\n\n')


def test_replay_writes_sgf_of_hex(here: Path, saved: Path, capsys: Out) -> None:
    words = ["eval", "random", "--against", "random", "--game", "hex(board_size=3)", "--matches", "2", "--save", "h"]
    assert main(words) == 0
    assert main(["replay", "h", "--match", "2", "--sgf", "h.sgf"]) == 0
    text = (here / "h.sgf").read_text()
    assert text.startswith("(;")
    assert "GM[11]" in text
    assert "RE[" in text
    assert "SGF is for games of Go and Hex" in complaint(capsys, "replay", str(saved), "--match", "1", "--sgf", "t.sgf")
    assert not (here / "t.sgf").exists()


def test_runs_keep_their_checkpoints(trained: Path, here: Path, capsys: Out) -> None:
    run = here / "run"
    shutil.copytree(trained, run)
    words = ["tournament", "run@2i", "random", "--matches", "4"]
    assert main(words) == 0
    begun = json.loads((here / "runs" / "tournaments" / "tic_tac_toe" / "tournament.json").read_text())
    assert begun["tournament"]["checkpoints"] == {"run@2i": "after 2 matches"}
    capsys.readouterr()
    assert main(words) == 0, "nothing is left to play"
    assert "games: 4 of 4" in capsys.readouterr().err
    assert "cannot play 'connect_four()'" in complaint(capsys, *words, "--game", "connect_four", "--folder", "other")
    assert main(["resume", "run", "--matches", "4"]) == 0
    said = complaint(capsys, *words)
    assert "checkpoints.run@2i is 'after 2 matches', and here 'after 6 matches'" in said
    assert main(["tournament", "run#2@2i", "random", "--matches", "4", "--folder", "named"]) == 0
