"""A UCI engine that plays Tic-Tac-Toe: the first free square; or, by its word, something that no engine should do."""

import sys
import time
from pathlib import Path

WORD = sys.argv[1] if len(sys.argv) > 1 else "good"
SQUARES = [f"{file}{rank}" for rank in "123" for file in "abc"]
OPTIONS = [
    "option name Hash type spin default 16 min 1 max 64",
    "option name Threads type spin default 4 min 1 max 8",
    "option name Skill Level type spin default 20 min 0 max 20",
    "option name Style type combo default Solid var Solid var Risky",
    "option name Clear Hash type button",
    "option name Ponder type check default true",
    "option name UCI_Variant type combo default chess var chess var "
    + {"unknown": "xiangqi", "defined": "xiangqi", "amazons": "amazons"}.get(WORD, "tictactoe"),
]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def answer(free: list[str], go: str) -> None:
    if WORD == "hang":
        time.sleep(60)
    if WORD == "crash":
        sys.exit("out of luck")
    if WORD == "talk":
        while True:
            say("info depth 1 score cp 0 pv P@a1 P@a2 P@a3")
    if WORD == "slow":
        while sys.stdin.readline().strip() != "stop":
            pass
    say(f"info string {go}")
    say("info depth 1 score cp 0 nodes 1 pv P@a1")
    if "searchmoves" in go:
        say(f"bestmove {go.split('searchmoves')[1].split()[0]}")
        return
    chosen = {"amazons": "d1d9,d9d2", "cheat": "P@z9", "none": "(none)", "null": "0000", "resign": "resign", "mute": ""}
    say(f"bestmove {chosen.get(WORD, f'P@{free[0]}')}".strip())


def main() -> None:
    moves: list[str] = []
    while line := sys.stdin.readline():
        words = line.split()
        free = [square for square in SQUARES if f"P@{square}" not in moves]
        if WORD == "silent":
            time.sleep(60)
        elif WORD == "gtp":
            say("? unknown command\n")
        elif words[0] == "uci":
            say("id name Fake\033[2J 1.0")
            for option in OPTIONS if WORD != "plain" else OPTIONS[:4]:
                say(option)
            if WORD == "defined":
                say("option name VariantPath type string default <empty>")
            say("uciok")
        elif words[0] == "isready":
            if WORD == "unready":
                sys.exit(3)
            say("readyok")
        elif words[0] == "setoption":
            sys.stderr.write(f"{line.strip()}\n")
            if WORD == "defined" and Path(words[-1]).exists():
                sys.stderr.write(Path(words[-1]).read_text().splitlines()[0] + "\n")
        elif words[0] == "position":
            moves = words[3:]
        elif words[0] == "d" and WORD in ("board", "rules", "kin", "defined"):
            say("Fen: 8/8/8 w 0 1" if WORD == "board" else "Fen: 3/3/3[PPPPPpppp] w 0 1")
        elif words[:2] == ["go", "perft"]:
            for square in free[: 4 if WORD == "rules" else None]:
                say(f"P@{square}: 1")
            say("Nodes searched: 9")
        elif words[0] == "go":
            answer(free, line.strip())
        elif words[0] == "quit":
            return


main()
