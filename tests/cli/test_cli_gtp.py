"""`athenan gtp` as a program: for our own client and for OpenSpiel's, and against GNU Go with a referee between."""

from __future__ import annotations

import gc
import io
import itertools
import os
import queue
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from command_line import ATHENAN, Out, complaint, require_end_with_client
from forking import program
from open_spiel.python.bots.gtp import GTPBot

import agents
from athenan_spiel.cli.main import main
from athenan_spiel.games import load_game
from athenan_spiel.play.match import play_match
from athenan_spiel.protocols.gtp import Gtp
from athenan_spiel.protocols.gtp_server import GtpServer
from athenan_spiel.protocols.vertices import vertices_of

PATIENCE = 120.0
GNUGO = shutil.which("gnugo") or "/usr/games/gnugo"
pytestmark = pytest.mark.usefixtures("forked_programs")


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
    words = [*program("athenan"), "gtp", f"{tiny_run}:ponder=true@2i"]
    done = subprocess.run(words, input=commands, capture_output=True, text=True, timeout=300)
    answers = done.stdout.removesuffix("\n\n").split("\n\n")
    assert len(answers) == 8
    assert all(answer.startswith("=") for answer in answers)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_run_and_its_analysis(tiny_run: Path) -> None:
    commands = "athenan-analyze 10\nname\nquit\n"
    done = subprocess.run(
        [*program("athenan"), "gtp", str(tiny_run)], input=commands, capture_output=True, text=True, timeout=300
    )
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
    words = [*program("athenan"), "gtp", "random", "--game", "tic_tac_toe"]
    for commands, last in (("", ""), ("name", "= Athenan random\n\n"), ("x" * 20_000, "? a command is too long\n\n")):
        done = subprocess.run(words, input=commands, capture_output=True, text=True, timeout=300)
        assert (done.stdout, done.stderr, done.returncode) == (last, "", 0)


# Front ends, by the commands that they send. Their sources are public; these sequences are written after them.


class FrontEnd:
    """A client that reads lines as they come. `talk` sends commands, and waits for what each one promises.

    A command that runs until the next one ends with `...`; the client waits for two lines of its response. It sends a
    command that begins with `& ` without waiting.
    """

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [*program("athenan"), "gtp", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.open = 0
        """Number of responses that have not ended."""

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.removesuffix("\n"))

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.open += bool(line)

    def response(self) -> list[str]:
        """The lines of the next response, up to the empty line."""
        found = []
        while line := self.lines.get(timeout=PATIENCE):
            found.append(line)
        self.open -= 1
        return found

    def talk(self, *commands: str) -> list[list[str]]:
        """The responses that have ended since, in order; the first lines of one that has not are the last."""
        found: list[list[str]] = []
        for command in commands:
            self.send(command.removeprefix("& ").removesuffix("..."))
            if command.startswith("& "):
                continue
            while self.open > command.endswith("..."):
                found.append(self.response())
            if command.endswith("..."):
                found.append([self.lines.get(timeout=PATIENCE) for _ in range(2)])
        return found

    def close(self) -> int:
        """The exit code after `quit`."""
        self.talk("quit")
        return self.process.wait(PATIENCE)


GO5 = ("alphabeta@0.3s", "--game", "go(board_size=5,komi=0.5)")


def moves_in(line: str) -> list[str]:
    return [info.split()[1] for info in line.split("info ")[1:]]


def test_sabakis_commands() -> None:
    """It asks four questions at once, chooses commands from the list, and interrupts by `protocol_version`."""
    sabaki = FrontEnd(*GO5)
    *_, known = sabaki.talk("& name", "& version", "& protocol_version", "list_commands")
    commands = [known[0].removeprefix("= "), *known[1:]]
    analyses = ("analyze", "kata-analyze", "lz-analyze")
    moves = ("genmove_analyze", "kata-genmove_analyze", "lz-genmove_analyze")
    assert next(name for name in analyses if name in commands) == "kata-analyze"
    assert next(name for name in moves if name in commands) == "kata-genmove_analyze"
    assert not {"set_free_handicap", "fixed_handicap"} & {*commands}
    assert sabaki.talk("komi 0.5", "boardsize 5", "clear_board") == [["="]] * 3
    ((head, line),) = sabaki.talk("kata-analyze B 50...")
    assert head == "="
    assert moves_in(line)[0] in line.partition(" pv ")[2].split()[0]
    rest, version = sabaki.talk("protocol_version")  # an interruption
    assert rest[-1].startswith("info move ")
    assert version == ["= 2"]
    assert sabaki.talk("& clear_board", "& play B C3", "play W D3") == [["="]] * 3
    ((head, line),) = sabaki.talk("kata-analyze B 50...")
    _, version, undone, replayed, (head, line) = sabaki.talk(
        "& protocol_version", "& undo", "& play W C4", "kata-analyze B 50..."
    )  # another node of the game tree is chosen
    assert (version, undone, replayed, head) == (["= 2"], ["="], ["="], "=")
    assert "C4" not in moves_in(line)
    _, version, answer = sabaki.talk("& protocol_version", "kata-genmove_analyze B 50")
    *infos, played = answer[1:]
    assert played == f"play {moves_in(infos[-1])[0]}"
    vertex = played.removeprefix("play ")
    assert vertex == "pass" or sabaki.talk(f"play W {vertex}") == [[f"? illegal move: {vertex!r}"]]
    assert sabaki.close() == 0


def test_lizzies_commands() -> None:
    """It numbers its commands, ponders by `lz-analyze` after each, and ends that by `name`."""
    lizzie, number = FrontEnd(*GO5), itertools.count(1)

    def talk(*commands: str) -> list[list[str]]:
        return lizzie.talk(*(re.sub("^(& )?", rf"\g<0>{next(number)} ", command) for command in commands))

    name, version = talk("name", "version")
    assert name == ["=1 Athenan alphabeta@0.3s"]
    assert int(version[0].split()[1].split(".")[1]) >= 0  # it reads the second number
    assert talk("boardsize 5", "komi 0.5") == [["=3"], ["=4"]]
    ((head, line),) = talk("lz-analyze 10...")
    assert head == "=5"
    assert all(re.search(r" winrate \d+ .* order \d+ pv [A-Ep]", f" {info}") for info in line.split("info ")[1:])
    _, played, (head, line) = talk("& play B C3", "lz-analyze 10...")
    assert (played, head) == (["=6"], "=7")
    assert "C3" not in moves_in(line)
    _, undone, (head, line) = talk("& undo", "lz-analyze 10...")
    assert (undone, head) == (["=8"], "=9")
    assert "C3" in moves_in(line)
    _, refused, (head, _) = talk("& fixed_handicap 2", "lz-analyze 10...")
    assert refused == ["?10 the rules of go(board_size=5,komi=0.5) have no handicap"]
    _, refused = talk("lz-analyze 10 avoid b C3,D3 30 avoid w C3 30")
    assert refused[0].startswith("?12 avoid restricts the next move only")
    ((head, line),) = talk("lz-analyze 10 avoid b C3,D3 1...")
    assert not {"C3", "D3"} & {*moves_in(line)}
    _, named = talk("name")  # ends pondering
    assert named[0].startswith("=14 Athenan")
    _, answer = talk("time_settings 0 1 1", "lz-genmove_analyze B 10")
    assert answer[0] == "=16"
    assert answer[-1] == f"play {moves_in(answer[-2])[0]}"
    assert lizzie.close() == 0


def test_a_client_of_kata_analyze() -> None:
    """KaTrain itself drives KataGo's analysis engine, which takes JSON instead of GTP.

    So this is a client of KataGo's GTP, with the information that KaTrain asks of the analysis engine: the whole
    position, the candidates, and ownership, which there is none of. It interrupts by an empty line, repeats itself, and
    sends commands while a move is searched.
    """
    client = FrontEnd(*GO5)
    refused = client.talk("kata-analyze b 20 rootInfo true ownership true")[0]
    assert refused == ["? ownership is not available, as this agent does not estimate it: leave it out"]
    for _ in range(3):
        ((head, line),) = client.talk("kata-analyze b 20 maxmoves 3 rootInfo true ownership false...")
        assert head == "="
        assert len(moves_in(line.partition("rootInfo")[0])) == 3
        words = line.partition("rootInfo ")[2].split()
        root = dict(zip(words[::2], map(float, words[1::2]), strict=True))
        assert {"visits", "winrate"} <= {*root}
        assert 0 <= root["winrate"] <= 1
        client.send("")
        rest = client.response()
        assert all(line.startswith("info ") for line in rest)
    for _ in range(3):  # the next analysis interrupts the last
        client.talk("kata-analyze 20...", "lz-analyze 20...")
    *_, answer, undone, again = client.talk(
        "& name", "& kata-genmove_analyze b 20", "& undo", "kata-genmove_analyze b 20"
    )
    for response in (answer, again):
        assert response[-1] == f"play {moves_in(response[-2])[0]}"
    assert undone == ["="]
    assert client.close() == 0


@pytest.mark.slow(reason="answers fifty analyses, 6 s")
def test_a_client_that_repeats_itself_without_listening() -> None:
    commands = "".join(f"{i} lz-analyze 10\n\n{i} kata-analyze b 1\n" for i in range(25))
    words = [*program("athenan"), "gtp", *GO5]
    commands += "7 name\n8 kata-analyze b 10"  # an analysis that ends with the input
    done = subprocess.run(words, input=commands, capture_output=True, text=True, timeout=PATIENCE)
    *analyses, last, unended = done.stdout.removesuffix("\n\n").split("\n\n")
    assert [answer.split("\n")[0] for answer in analyses] == [f"={i}" for i in range(25) for _ in "lk"]
    assert all("info move " in answer for answer in analyses)
    assert (last, done.stderr, done.returncode) == ("=7 Athenan alphabeta@0.3s", "", 0)
    assert unended.startswith("=8\ninfo move ")


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the process in /proc")
@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("lz-analyze 10", "info"),
        ("kata-genmove_analyze b 10", "info"),
        ("name\ngenmove b", "="),
        ("lz-analyze 1000", "info"),
    ],
)
def test_the_server_ends_with_a_client_that_is_killed(command: str, answer: str) -> None:
    """A move may take ten minutes here; the client is killed while it is searched."""
    require_end_with_client(["gtp", "alphabeta@600s", "--game", "go(board_size=9)"], command, answer)


def test_garbage_is_collected_between_matches_only(monkeypatch: pytest.MonkeyPatch, capfd: Out) -> None:
    """A collection takes a quarter of a second, which would delay a move."""
    collected: list[str] = []
    answers = GtpServer.answers

    def noting(server: GtpServer, line: str, *arguments: Any) -> Iterator[str]:
        assert not gc.isenabled()
        monkeypatch.setattr(gc, "collect", lambda: collected.append(line.strip()))
        return answers(server, line, *arguments)

    monkeypatch.setattr(GtpServer, "answers", noting)
    monkeypatch.setattr("sys.stdin", io.StringIO("genmove b\ngenmove w\nclear_board\ngenmove b\nquit\n"))
    assert main(["gtp", "random", "--game", "connect_four"]) == 0
    assert capfd.readouterr().out.count("= ") == 3
    assert collected == ["clear_board"]
    assert gc.isenabled()


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
    bot = GTPBot(game, [*program("athenan"), "gtp", "mcts:20", "--game", str(game)])
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
    word = "gtp:" + shlex.join([*program("athenan"), "gtp", "mcts:5", "--game", spec])
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
        for command in ([*program("athenan"), "gtp", "mcts:20", "--game", spec], rules, rules):
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
