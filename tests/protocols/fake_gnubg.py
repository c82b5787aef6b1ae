"""Fake GNU Backgammon that answers `hint` by the moves of its command line in turn, or fails by its first word."""

import sys
import time

WORD, *MOVES = [word for word in sys.argv[1:] if not word.startswith("--")] or ["good"]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def board(letters: str) -> str:
    numbers = [0 if x == "-" else ord(x) - 64 if x < "a" else 96 - ord(x) for x in letters]
    return ":".join(["board:you:gnubg:1:0:0", *map(str, numbers), "1:3:1"])


while line := sys.stdin.readline():
    words = line.split()
    sys.stderr.write(line)
    if words[:2] == ["set", "xgid"] and WORD != "deaf":
        position = words[2].removeprefix("XGID=").split(":")[0]
        say("The dice have been set to 3 and 1.")
        say(board("-" * 26 if WORD == "other" else position))
    elif words[0] == "hint":
        if WORD == "hang":
            time.sleep(60)
        if WORD == "crash":
            sys.exit("out of luck")
        if WORD == "flood":
            while True:
                say("board:" + "x" * 10_000)
        move = MOVES.pop(0) if MOVES else ""
        say(f"    1. Cubeless 0-ply   {move:28} Eq.: +0.218")
        say("       0.551 0.174 0.013 - 0.449 0.124 0.005")
    elif words == ["show", "prompt"] and WORD != "silent":
        say("The prompt is set to `(\\p) '.")
    elif words[0] == "quit":
        break
