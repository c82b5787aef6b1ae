"""The `athenan` command: chooses the subcommand, and turns what went wrong into a line and an exit code."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence

from athenan_spiel import __version__
from athenan_spiel.cli.exit_codes import BAD_INPUT, BROKEN_PIPE, DONE, STOPPED, stopped_by
from athenan_spiel.errors import AthenanError, nearest, printable
from athenan_spiel.system.stopping import StopRequests, StopSignal

COMMANDS = {
    "train": "train an agent on a game, into a run folder",
    "resume": "go on with a run exactly where it stopped",
    "export": "write a run's agent to one file that can be shared, or its network as ONNX",
    "eval": "let an agent play matches against others, and count",
    "tournament": "let many agents meet, and rate them",
    "replay": "show a match that was saved",
    "play": "play against an agent, in the terminal or in a browser",
    "watch": "look at a run as it trains, in a browser",
    "web": "look at all runs of a folder, and play against them, in a browser",
    "gtp": "let an agent be spoken to by GTP, as front ends do",
    "experiment": "compare variants of the algorithms, from a file to tables and plots",
    "bench": "measure what this machine does with a game",
    "solve": "prove who wins a position, and by which moves",
    "uci": "let an agent play as a UCI engine, for front ends and other programs",
    "ludii": "say whether Java and Ludii are found, and how to get them",
    "games": "list the games that can be trained, and why not where they cannot",
    "doctor": "say what of this machine and its packages is found, and what to do about the rest",
    "completion": "print a script that completes these commands in a shell",
}
"""The subcommands, each the module of that name beside this one, and what it does."""
LONGEST_LINE = 1000
"""Characters of a line that says what went wrong: whatever a file holds, it does not fill the terminal."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `athenan` with these words (those of the command line if none are given); return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _prepare_streams()
    stops = StopRequests()
    try:
        with stops, stops.droppable():
            code = _dispatch(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = STOPPED  # once more, while the command said that it was stopped
    except BrokenPipeError:
        _drop_output()
        return BROKEN_PIPE
    except OSError as error:
        if error.errno is None:
            raise
        _drop_output()
        command = " ".join(["athenan", *(name for name in words[:1] if name in COMMANDS)])
        return _fail(command, f"{error.strerror}: {error.filename}" if error.filename else f"{error.strerror}")
    _drop_output()
    return stopped_by(stops.signal) if code == STOPPED else code


def _prepare_streams() -> None:
    """Let no stream fail for its own sake: one that the shell has closed (`>&-`) leads nowhere, and what its encoding
    lacks becomes a question mark, what comes in and is no text a mark that no move has in its name."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _drop_output() -> None:
    """Forget what is left in the buffers if it cannot be written; the interpreter would try again at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(_help(), file=sys.stdout if words else sys.stderr)
        return DONE if words else BAD_INPUT
    if words[0] == "--version":
        print(f"athenan {__version__}")
        return DONE
    name, *rest = words
    if name not in COMMANDS:
        hint = nearest(name, COMMANDS) or ": see `athenan --help`"
        return _fail("athenan", f"expected one of {', '.join(COMMANDS)}, got {name!r}{hint}")
    return _run(name, rest)


def _run(name: str, arguments: list[str]) -> int:
    command = f"athenan {name}"
    try:
        code: int = importlib.import_module(f"athenan_spiel.cli.{name}").run(arguments)
        return code
    except SystemExit as stop:  # after --help
        return stop.code if isinstance(stop.code, int) else DONE
    except AthenanError as error:
        return _fail(command, str(error))
    except MemoryError as error:
        reason = f" ({error})" if str(error) else ""
        return _fail(command, f"memory ran out{reason}: take a smaller board or network, or fewer matches at once")
    except KeyboardInterrupt:
        return _stopped(command)
    except Exception as error:
        if _is_of_stop(error):
            return _stopped(command)
        if not _is_ludiis(error):
            raise
        return _fail(command, str(error))


def _stopped(command: str) -> int:
    _tell(f"{command}: stopped")
    return STOPPED


def _is_of_stop(error: BaseException | None) -> bool:
    """Whether it was raised because a signal had come: native code and class bodies that are being imported turn what a
    handler raises into errors of their own."""
    while error is not None and not isinstance(error, StopSignal):
        error = error.__cause__ or error.__context__
    return error is not None


def _is_ludiis(error: Exception) -> bool:
    """The bridge to Ludii raised it, which is no part of this package and seldom loaded."""
    bridge = sys.modules.get("ludii_bridge.errors")
    return bridge is not None and isinstance(error, bridge.LudiiError)


def _fail(command: str, message: str) -> int:
    lines = [_harmless(line) for line in message.split("\n") if line.strip()][:2]
    _tell(f"{command}: " + "\n".join(lines))
    return BAD_INPUT


def _tell(text: str) -> None:
    """Write to standard error, if anybody is there."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


def _harmless(line: str) -> str:
    """`line` without what would steer a terminal, as the name of a file may, and of bounded length."""
    return printable(line) if len(line) <= LONGEST_LINE else f"{printable(line[:LONGEST_LINE])}..."


def _help() -> str:
    width = max(map(len, COMMANDS))
    rows = [f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(
        [
            "usage: athenan COMMAND ...",
            "",
            "Agents that learn to play a game from its rules alone: OpenSpiel's games, minimax search, tree learning.",
            "",
            "commands:",
            *rows,
            "",
            "options:",
            "  --version  print the version",
            "  --help     print this; after a command, its common options (--help-all: all of them)",
            "",
            "example: athenan train connect_four --preset quick --time 3m",
        ]
    )
