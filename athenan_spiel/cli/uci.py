"""`athenan uci`: runs an agent as a UCI engine, for front ends such as Cute Chess and for other programs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from athenan_spiel.cli.console import progress
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.options import AllowCode, allowed
from athenan_spiel.cli.parsing import parse
from athenan_spiel.errors import AgentError, shown

LONGEST_LINE = 1_000_000
"""Maximum length of a line, in characters, far more than the moves of a game need."""


@dataclass(frozen=True, kw_only=True)
class UciArguments:
    """Run an agent as a UCI engine, which reads commands from standard input and replies on standard output.

    AGENT is a spec string, as for `athenan eval`: runs/NAME, runs/NAME#640, runs/NAME@0.5s, alphabeta@1s. Its limit
    applies when `go` gives none. The game must be one of UCI's variants: Chess, Breakthrough, Othello (flipello),
    Amazons and others. Enter the whole line as the command of the engine in a front end.

    Example: athenan uci runs/breakthrough@1s
    """

    agent: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")]
    """Agent that plays."""
    game: str | None = None
    """OpenSpiel game string; default: the game of the run."""
    seed: int = 0
    """Random seed of the choice between equal moves."""
    allow_code: AllowCode = ()
    """Custom outcome of the run, which may be imported. Without it, the gain times the run's scale is used."""


def run(words: Sequence[str]) -> int:
    """Run `athenan uci` with these words; returns the exit code."""
    arguments = parse(UciArguments, words, "athenan uci")
    from agents import AthenanBot, make_bot, parse_spec
    from agents.specs import game_for
    from athenan_spiel.protocols.uci_moves.table import uci_game
    from athenan_spiel.protocols.uci_server import UciServer

    spec = parse_spec(arguments.agent).allowing(allowed(arguments.allow_code))
    game = game_for(arguments.game, [spec])
    uci_game(game)  # before the agent is loaded
    if "match_seconds" in spec.params:
        raise AgentError(f"expected a limit per move, since UCI sends the clock, got {shown(spec.text)}")
    with progress().status("loading the agent"):
        bot = make_bot(spec, game, 0, arguments.seed)
    if not isinstance(bot, AthenanBot):
        raise AgentError(
            f"expected an agent of this library, such as runs/NAME or alphabeta@1s, got {shown(spec.text)}"
        )
    lock = threading.Lock()

    def say(line: str) -> None:
        with lock:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()

    UciServer(bot.agent, f"athenan {spec.text}", say).run(_lines(say))
    return DONE


def _lines(say: Callable[[str], None]) -> Iterator[str]:
    """Yields the lines of standard input. Lines that are too long are reported and skipped."""
    while line := sys.stdin.readline(LONGEST_LINE):
        if len(line) < LONGEST_LINE or line.endswith("\n"):
            yield line
            continue
        while line and not line.endswith("\n"):
            line = sys.stdin.readline(LONGEST_LINE)
        say(f"info string a line of {LONGEST_LINE:,} characters or more is ignored")
