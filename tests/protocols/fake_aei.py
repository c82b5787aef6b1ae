"""An AEI engine that says the moves of its command line, one after the other; or, by its first word, misbehaves."""

import sys
import time

WORD, *MOVES = sys.argv[1:] or ["good"]


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


while line := sys.stdin.readline():
    words = line.split()
    sys.stderr.write(line)
    if words[0] == "aei" and WORD != "silent":
        say("protocol-version 1")
        say("id name Fake")
        say("aeiok")
    elif words[0] == "isready":
        say("readyok")
    elif words[0] == "go":
        say("info depth 4")
        say("log Debug: thinking")
        if WORD == "hang":
            time.sleep(60)
        if WORD == "crash":
            sys.exit("out of luck")
        say(f"bestmove {MOVES.pop(0) if MOVES else ''}".strip())
    elif words[0] == "quit":
        break
