"""`athenan gtp` as a program: for our own client and for OpenSpiel's, and against GNU Go with a referee between."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command_line import ATHENAN, Out, complaint
from open_spiel.python.bots.gtp import GTPBot

import agents
from athenan_spiel.cli.main import main
from athenan_spiel.games import load_game
from athenan_spiel.play.match import play_match
from athenan_spiel.protocols.gtp import Gtp
from athenan_spiel.protocols.vertices import vertices_of

PATIENCE = 120.0
GNUGO = shutil.which("gnugo") or "/usr/games/gnugo"


@contextmanager
def serving(*words: str) -> Iterator[Gtp]:
    one = Gtp([*ATHENAN, "gtp", *words], PATIENCE)
    try:
        yield one
    finally:
        one.close()


def test_a_conversation() -> None:
    with serving("alphabeta@2i", "--game", "connect_four") as engine:
        assert engine.ask("name", PATIENCE) == "Athenan alphabeta@2i"
        assert engine.ask("play b d", PATIENCE) == ""
        assert engine.ask("genmove w", PATIENCE)[0] in "ABCDEFG"
        assert engine.ask("time_settings 0 1 1", PATIENCE) == ""


def test_a_run_that_ponders_plays_both_colours_and_ends(tiny_run: Path) -> None:
    commands = "genmove b\ngenmove w\nundo\ngenmove w\nathenan-analyze 10\nname\ngenmove b\nquit\n"
    words = [*ATHENAN, "gtp", f"{tiny_run}:ponder=true@2i"]
    done = subprocess.run(words, input=commands, capture_output=True, text=True, timeout=300)
    answers = done.stdout.removesuffix("\n\n").split("\n\n")
    assert len(answers) == 8
    assert all(answer.startswith("=") for answer in answers)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_and_its_analysis(tiny_run: Path) -> None:
    commands = "athenan-analyze 10\nname\nquit\n"
    done = subprocess.run([*ATHENAN, "gtp", str(tiny_run)], input=commands, capture_output=True, text=True, timeout=300)
    first, second, last = done.stdout.removesuffix("\n\n").split("\n\n")
    assert first.startswith("=\ninfo move ")
    assert (second, last) == (f"= Athenan {tiny_run}", "=")
    assert done.returncode == 0


def test_nothing_else_is_written_to_standard_output() -> None:
    code = (
        "import os, sys\n"
        "from athenan_spiel.cli import gtp\n"
        "from athenan_spiel.cli.main import main\n"
        "import agents\n"
        "made = agents.make_bot\n"
        "def noisy(*words):\n"
        "    print('loading'); os.system('echo from a library'); return made(*words)\n"
        "agents.make_bot = noisy\n"
        "sys.exit(main(['gtp', 'random', '--game', 'tic_tac_toe']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], input="1 play b b2\n", capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("=1\n\n", 0)
    assert "from a library" in done.stderr


def test_the_end_of_the_input_ends_it() -> None:
    words = [*ATHENAN, "gtp", "random", "--game", "tic_tac_toe"]
    for commands, last in (("", ""), ("name", "= Athenan random\n\n"), ("x" * 20_000, "? a command is too long\n\n")):
        done = subprocess.run(words, input=commands, capture_output=True, text=True, timeout=300)
        assert (done.stdout, done.stderr, done.returncode) == (last, "", 0)


def test_bad_words(capsys: Out, tmp_path: Path) -> None:
    assert "got 'human': use `athenan play`" in complaint(capsys, "gtp", "human", "--game", "go")
    assert "missing: AGENT" in complaint(capsys, "gtp")
    assert "expected a game" in complaint(capsys, "gtp", "random")
    assert "for GTP; those of 'chess" in complaint(capsys, "gtp", "random", "--game", "chess")
    assert "GTP is for two players" in complaint(capsys, "gtp", "random", "--game", "morpion_solitaire")
    assert main(["gtp", "--help"]) == 0
    assert "athenan gtp runs/go9@2s" in capsys.readouterr().out


def test_openspiels_bot_plays_with_it() -> None:
    """At games whose moves OpenSpiel writes without a colour, and from the first position: it cannot do more."""
    game = load_game("hex(board_size=4)")
    bot = GTPBot(game, [*ATHENAN, "gtp", "mcts:20", "--game", str(game)])
    try:
        assert bot.name == "athenan mcts:20"
        state, other = game.new_initial_state(), agents.make_bot("random", game, 1)
        while not state.is_terminal():
            mover = state.current_player()
            if mover == 0:
                state.apply_action(bot.step(state))
            else:
                action = other.step(state)
                bot.inform_action(state, mover, action)
                state.apply_action(action)
        assert bot.gtp_cmd("final_score") in ("b+1", "w+1")
    finally:
        bot.close()


@pytest.mark.parametrize(
    "spec", ["go(board_size=5)", "othello", "havannah(board_size=3)", "hex(board_size=3,swap=true)"]
)
def test_gtp_both_ways(spec: str) -> None:
    game = load_game(spec)
    word = "gtp:" + shlex.join([*ATHENAN, "gtp", "mcts:5", "--game", spec])
    bot = agents.make_bot(word, game, 0)
    for colour in (0, 1):
        players = (
            [bot, agents.make_bot("random", game, 1)] if colour == 0 else [agents.make_bot("random", game, 0), bot]
        )
        assert play_match(game, players).forfeit is None


@pytest.mark.skipif(not os.path.exists(GNUGO), reason="GNU Go is not installed: `apt install gnugo`")
@pytest.mark.parametrize("ours", ["b", "w"])
def test_a_referee_agrees_with_both(ours: str) -> None:
    """As twogtp does it: each is asked for its moves, the others are told, and the referee judges each of them."""
    spec = "go(board_size=5,komi=6.5)"
    rules = [GNUGO, "--mode", "gtp", "--chinese-rules", "--capture-all-dead", "--level", "1", "--never-resign"]
    game = load_game(spec)
    vertices, state = vertices_of(game), game.new_initial_state()
    theirs = "bw".replace(ours, "")
    engines: list[Gtp] = []
    try:
        for command in ([*ATHENAN, "gtp", "mcts:20", "--game", spec], rules, rules):
            engines.append(Gtp(command, PATIENCE))
        for engine in engines:
            for order in ("boardsize 5", "clear_board", "komi 6.5"):
                engine.ask(order, PATIENCE)
        who = {ours: engines[0], theirs: engines[1]}
        while not state.is_terminal():
            colour = vertices.colour(state.current_player())
            vertex = who[colour].ask(f"genmove {colour}", PATIENCE)
            action = vertices.action(state, vertex)
            assert action is not None
            state.apply_action(action)
            for engine in (x for x in engines if x is not who[colour]):
                if not state.is_terminal() or vertex.lower() == "pass":
                    engine.ask(f"play {colour} {vertex}", PATIENCE)
        winner = "B" if state.returns()[0] > 0 else "W" if state.returns()[0] < 0 else "0"
        assert engines[0].ask("final_score", PATIENCE)[0] == winner
        if state.history()[-2:] == [25, 25]:
            assert engines[2].ask("final_score", PATIENCE)[0] == winner
    finally:
        for engine in engines:
            engine.close()
