"""`athenan uci` as other programs meet it: python-chess, our own client, and bad words."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import chess
import chess.engine
import pyspiel
import pytest
from command_line import ATHENAN, TINY, Out, complaint, require_end_with_client
from forking import program

import agents
from athenan_spiel.cli.main import main
from athenan_spiel.play.series import play_series

SECONDS = 60
"""Time in which a process is long there, however busy the machine is."""
pytestmark = pytest.mark.usefixtures("forked_programs")


@pytest.fixture(scope="module")
def breakthrough_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two matches of a small Breakthrough."""
    folder = tmp_path_factory.mktemp("runs") / "bt"
    words = ["train", "breakthrough(rows=6,columns=6)", "--matches", "2", "--folder", str(folder), *TINY]
    assert main(words) == 0
    return folder


def test_python_chess_plays_with_it() -> None:
    with chess.engine.SimpleEngine.popen_uci(
        [*program("athenan"), "uci", "alphabeta(1)", "--game", "chess"], timeout=SECONDS
    ) as engine:
        assert engine.id["name"] == "athenan alphabeta(1)"
        board = chess.Board()
        for _ in range(3):
            played = engine.play(board, chess.engine.Limit(time=0.05), info=chess.engine.INFO_ALL)
            assert played.move in board.legal_moves
            board.push(played.move)
            board.push(next(iter(board.legal_moves)))
        mate = chess.Board("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1")
        info = engine.analyse(mate, chess.engine.Limit(nodes=500))
        assert info["score"].white() == chess.engine.Mate(1)
        assert [move.uci() for move in info["pv"]] == ["a1a8"]
        castled = chess.Board("4k3/8/8/8/8/8/8/4K2R w K - 0 1")
        assert engine.play(castled, chess.engine.Limit(nodes=5), root_moves=[chess.Move.from_uci("e1g1")]).move == (
            chess.Move.from_uci("e1g1")
        )
        with engine.analysis(chess.Board()) as endless:
            endless.stop()
            assert endless.wait().move is not None


def test_python_chess_is_told_of_the_move_that_is_played() -> None:
    command = [*program("athenan"), "uci", "alphabeta", "--game", "chess"]
    with chess.engine.SimpleEngine.popen_uci(command, timeout=SECONDS) as engine:
        board = chess.Board()
        limits = [chess.engine.Limit(nodes=60), chess.engine.Limit(time=0.05), chess.engine.Limit(depth=2)]
        for ply in range(6):
            played = engine.play(board, limits[ply % 3], info=chess.engine.INFO_ALL)
            assert played.info["pv"][0] == played.move
            if limits[ply % 3].depth:
                assert played.info["depth"] == 2
            assert played.move is not None
            board.push(played.move)
        first = next(iter(board.legal_moves))
        info = engine.analyse(board, chess.engine.Limit(depth=2), root_moves=[first])
        assert info["pv"][0] == first
        two = chess.Board("7k/8/8/8/8/8/R7/1R5K w - - 0 1")
        assert engine.analyse(two, chess.engine.Limit(mate=2))["score"].white() == chess.engine.Mate(2)
        mated = chess.Board("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1")
        assert engine.analyse(mated, chess.engine.Limit(time=0.1))["score"].relative == chess.engine.Mate(-0)
        assert engine.play(mated, chess.engine.Limit(time=0.1)).move is None


@pytest.mark.slow(reason="analyses with five numbers of lines, 13 s")
def test_python_chess_analyses_with_several_lines() -> None:
    """`analysis()` without a limit, stopped after some reports, and `analyse()` with one, for MultiPV 1 to 5."""
    command = [*program("athenan"), "uci", "alphabeta", "--game", "chess"]
    with chess.engine.SimpleEngine.popen_uci(command, timeout=SECONDS) as engine:
        engine.configure({"UCI_ShowWDL": True})
        board = chess.Board("r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3")
        for count in range(1, 6):
            with engine.analysis(board, multipv=count) as analysis:
                for reports, _ in enumerate(analysis, 1):
                    if reports > count:
                        break
            best = analysis.wait()
            require_lines(board, analysis.multipv, count)
            assert best.move == analysis.multipv[0]["pv"][0]
            found = engine.analyse(board, chess.engine.Limit(depth=2), multipv=count)
            require_lines(board, found, count)
            scores = [info["score"].relative for info in found]
            assert scores == sorted(scores, reverse=True)
        few = chess.Board("7k/8/8/8/8/8/6q1/7K w - - 0 1")  # the king takes the queen: the only move
        assert len(engine.analyse(few, chess.engine.Limit(depth=2), multipv=5)) == 1
        roots = [chess.Move.from_uci(move) for move in ("a2a3", "f1b5", "h2h4")]
        found = engine.analyse(board, chess.engine.Limit(nodes=500), multipv=5, root_moves=roots)
        assert {info["pv"][0] for info in found} == {*roots}
        assert "multipv" not in engine.analyse(board, chess.engine.Limit(nodes=50))


def require_lines(board: chess.Board, lines: list[chess.engine.InfoDict], count: int) -> None:
    """The lines have different first moves that are legal, scores, and shares that add up."""
    assert len(lines) == count
    assert len({info["pv"][0] for info in lines}) == count
    for number, info in enumerate(lines, 1):
        assert info.get("multipv", 1) == number
        line = board.copy()
        for move in info["pv"]:
            assert move in line.legal_moves
            line.push(move)
        assert info["score"].turn == board.turn
        assert info["wdl"].relative.total() == 1000
        expected = info["wdl"].relative.expectation()
        centipawns = info["score"].relative.score()
        if centipawns is not None:
            assert (expected > 0.5) == (centipawns > 2) or abs(centipawns) <= 2


def test_a_line_that_is_too_long_is_ignored_whole() -> None:
    said = subprocess.run(
        [*ATHENAN, "uci", "alphabeta(1)", "--game", "chess"],
        input=f"{'x ' * 1_200_000}quit\nisready\nquit\n",
        text=True,
        capture_output=True,
        timeout=SECONDS,
    )
    assert said.stdout.splitlines() == ["info string a line of 1,000,000 characters or more is ignored", "readyok"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the process in /proc")
@pytest.mark.parametrize("command", ["go infinite", "go movetime 600000", "setoption name MultiPV value 4\ngo ponder"])
def test_the_server_ends_with_a_client_that_is_killed(command: str) -> None:
    require_end_with_client(["uci", "alphabeta", "--game", "chess"], command, "info")


def test_our_client_plays_with_it(breakthrough_run: Path) -> None:
    game = pyspiel.load_game("breakthrough(rows=6,columns=6)")
    command = shlex.join([*program("athenan"), "uci", str(breakthrough_run)])
    series = play_series(
        game,
        lambda i: agents.make_bot(f"uci:{command}@10e", game, i),
        lambda i: agents.make_bot("random", game, i, 1),
        2,
        forfeits=True,
    )
    assert series.forfeits() == ([], [])


def test_nothing_but_answers_comes_out(breakthrough_run: Path) -> None:
    said = subprocess.run(
        [*program("athenan"), "uci", f"{breakthrough_run}@5i"],
        input="uci\ngo\nquit\n",
        text=True,
        capture_output=True,
        timeout=SECONDS,
    )
    assert said.returncode == 0
    lines = said.stdout.splitlines()
    assert lines[0] == f"id name athenan {breakthrough_run}@5i"
    assert lines[2:4] == [
        "option name UCI_Variant type combo default breakthrough6x6 var breakthrough6x6",
        "option name MultiPV type spin default 1 min 1 max 256",
    ]
    assert lines[6] == "uciok"
    assert all(line.startswith("info ") for line in lines[7:-1])
    assert lines[-1].startswith("bestmove ")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["mcts:10", "--game", "chess"], "expected an agent of this library, such as runs/NAME or alphabeta@1s, got"),
        (["alphabeta", "--game", "hex"], "UCI engines play amazons, antichess"),
        (["alphabeta"], "expected a game, as no agent is a run"),
        (["nobody", "--game", "chess"], "expected an agent, such as"),
        ([], "missing: AGENT"),
    ],
)
def test_bad_words(words: list[str], problem: str, capsys: Out) -> None:
    assert problem in complaint(capsys, "uci", *words)


def test_an_agent_of_uci_does_not_ponder(breakthrough_run: Path, capsys: Out) -> None:
    said = complaint(capsys, "uci", f"{breakthrough_run}:ponder=true@5i")
    assert "expected an agent that does not ponder, since UCI clients decide when to think: leave ponder out" in said
    assert "expected a limit per move, since UCI sends the clock" in complaint(
        capsys, "uci", f"{breakthrough_run}@5m+2s"
    )
