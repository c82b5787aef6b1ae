"""`athenan gtp`: runs an agent as an engine for front ends and other programs that use GTP."""

from __future__ import annotations

import contextlib
import os
import queue
import select
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TextIO

import tyro

from athenan_spiel import __version__
from athenan_spiel.cli.console import progress
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.options import AllowCode, LudiiMemory, allowed
from athenan_spiel.cli.parsing import parse
from athenan_spiel.errors import ConfigError

if TYPE_CHECKING:
    from athenan_spiel.protocols.gtp_server import GtpServer

MOST_WAITING = 1_000
"""Maximum number of unanswered commands; further ones are read later."""


@dataclass(frozen=True, kw_only=True)
class GtpArguments:
    """Run an agent as an engine for GTP, the Go Text Protocol, which Sabaki, Lizzie, GoGui, HexGui and others use.

    AGENT is a spec string, as for `athenan eval`. The moves of the game must be coordinates, as in Go, Hex, Havannah,
    Y, Othello, Gomoku or Connect Four. The board has the size of the run's board. Commands are read from standard
    input, and only replies are written to standard output. The clock of `time_settings` and `time_left` is kept.
    Without a clock each move takes the limit of the spec string, else one second.

    Example: athenan gtp runs/go9@2s
    """

    agent: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="AGENT")]
    """Agent that answers `genmove`."""
    game: str | None = None
    """OpenSpiel game string; default: the game of the run."""
    seed: int = 0
    """Random seed of the choice between equal moves."""
    allow_code: AllowCode = ()
    """Custom outcome of the run, which may be imported. Without it, the gain times the run's scale is used."""
    ludii_memory: LudiiMemory = None


def run(words: Sequence[str]) -> int:
    """Run `athenan gtp` with these words; returns the exit code."""
    arguments = parse(GtpArguments, words, "athenan gtp")
    from agents import AthenanBot, make_bot, parse_spec
    from agents.limits import LIMITS
    from agents.specs import game_for
    from athenan_spiel.protocols.gtp_server import GtpServer

    spec = parse_spec(arguments.agent).allowing(allowed(arguments.allow_code))
    if spec.is_human:
        raise ConfigError("expected an agent that plays by itself, got 'human': use `athenan play`")
    with _own_output() as output:
        game = game_for(arguments.game, [spec])
        with progress().status("loading the agent"):
            bot = make_bot(spec, game, 0, arguments.seed)
        agent = bot.agent if isinstance(bot, AthenanBot) else None
        has_limit = bool(LIMITS.keys() & spec.params.keys())
        is_shared = agent is not None or game.num_players() == 1
        players = [bot, bot if is_shared else make_bot(spec, game, 1, arguments.seed)]
        server = GtpServer(game, players, agent, name=f"Athenan {spec}", version=__version__, own_limit=has_limit)
        try:
            _serve(server, output)
        finally:
            if agent is not None:
                agent.stop_pondering()
    return DONE


@contextlib.contextmanager
def _own_output() -> Iterator[TextIO]:
    """Context that yields a stream to standard output for the replies. All other output goes to standard error."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(os.dup(kept), "w", encoding="utf-8", errors="replace", newline="\n") as output:
            yield output
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _serve(server: GtpServer, output: TextIO) -> None:
    """Answer the commands on standard input until its end or `quit`."""
    from athenan_spiel.play.driver import without_garbage_collection

    commands: queue.Queue[str] = queue.Queue(MOST_WAITING)
    threading.Thread(target=_read, args=(commands,), daemon=True).start()
    with without_garbage_collection():  # its pauses would delay moves
        while not server.finished and (line := commands.get()):
            for part in server.answers(line, lambda: not commands.empty(), lambda: _is_closed(output)):
                output.write(part)
                output.flush()


def _is_closed(output: TextIO) -> bool:
    """Return whether the other end of a pipe is closed; False on Windows, which does not report it."""
    if sys.platform == "win32":
        return False
    poll = select.poll()
    poll.register(output, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _read(commands: queue.Queue[str]) -> None:
    """Put each line of standard input into `commands`, and an empty text at its end. Long lines are cut off."""
    from athenan_spiel.protocols.gtp_server import LONGEST_COMMAND

    line = " "
    while line:
        line = sys.stdin.readline(LONGEST_COMMAND + 1)
        rest = line
        while rest and not rest.endswith("\n"):
            rest = sys.stdin.readline(LONGEST_COMMAND)
        commands.put(line)
