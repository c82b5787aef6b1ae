"""`athenan uci`: an agent as a UCI engine, for front ends such as Cute Chess and for other programs' referees."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from athenan_spiel.cli.console import progress
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.own_code import AllowCode, allowed
from athenan_spiel.cli.parsing import parse
from athenan_spiel.errors import AgentError, shown

LONGEST_LINE = 1_000_000
"""Characters of a line that is read; the moves of a match are far fewer."""


@dataclass(frozen=True, kw_only=True)
class UciArguments:
    """Let an agent play as a UCI engine: it reads commands from the standard input and answers on the standard output.

    The agent is one word, as for `athenan eval`: runs/NAME, runs/NAME#640, runs/NAME@0.5s, alphabeta@1s. Its limit
    holds where `go` says none. The game must have a name among UCI's variants: Chess, Breakthrough, Othello (flipello),
    Amazons and others. Give a front end this whole line as the engine's command.

    Example: athenan uci runs/breakthrough@1s
    """

    agent: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")]
    """The agent that plays."""
    game: str | None = None
    """An OpenSpiel game string; not needed where the agent is a run."""
    seed: int = 0
    """Of the agent's choices among equal moves."""
    allow_code: AllowCode = ()
    """An outcome of yours that the run was trained with; without this, the run's is the gain times its scale."""


def run(words: Sequence[str]) -> int:
    """Run `athenan uci` with these words; returns the exit code."""
    arguments = parse(UciArguments, words, "athenan uci")
    from agents import AthenanBot, make_bot, parse_word
    from agents.words import game_for
    from athenan_spiel.protocols.uci_moves.table import uci_game
    from athenan_spiel.protocols.uci_server import UciServer

    word = parse_word(arguments.agent).allowing(allowed(arguments.allow_code))
    game = game_for(arguments.game, [word])
    uci_game(game)  # before the agent is loaded
    if "match_seconds" in word.params:
        raise AgentError(f"expected a limit a move, as the clock is told by UCI itself, got {shown(word.text)}")
    with progress().status("loading the agent"):
        bot = make_bot(word, game, 0, arguments.seed)
    if not isinstance(bot, AthenanBot):
        raise AgentError(
            f"expected an agent of this library, such as runs/NAME or alphabeta@1s, got {shown(word.text)}"
        )
    lock = threading.Lock()

    def say(line: str) -> None:
        with lock:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()

    UciServer(bot.agent, f"athenan {word.text}", say).run(_lines(say))
    return DONE


def _lines(say: Callable[[str], None]) -> Iterator[str]:
    """Yields the lines that come in. A line that is too long is reported and skipped whole."""
    while line := sys.stdin.readline(LONGEST_LINE):
        if len(line) < LONGEST_LINE or line.endswith("\n"):
            yield line
            continue
        while line and not line.endswith("\n"):
            line = sys.stdin.readline(LONGEST_LINE)
        say(f"info string a line of {LONGEST_LINE:,} characters or more is ignored")
