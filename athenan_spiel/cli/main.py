"""The `athenan` command: runs a subcommand, and reports errors as a line and an exit code."""

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
    "train": "train an agent on a game and store it in a run folder",
    "resume": "continue a run exactly where it stopped",
    "export": "write the agent of a run to one file, or its network as ONNX",
    "eval": "play games between an agent and others, and report scores",
    "tournament": "play a tournament of agents, and rate them",
    "replay": "show a saved game",
    "play": "play against an agent, in the terminal or in a browser",
    "watch": "show a run in a browser, while it trains or afterwards",
    "web": "show all runs of a folder in a browser, and play against them",
    "gtp": "run an agent as a GTP engine, for front ends",
    "experiment": "compare variants of the algorithms as a file defines, with tables and plots",
    "ggp": "train and measure an agent for each of many games",
    "bench": "measure the speed of search, network and learner on this machine",
    "solve": "prove the result of a position, with the best moves",
    "uci": "run an agent as a UCI engine, for front ends and other programs",
    "ludii": "check Java and Ludii, and install Ludii's jar",
    "games": "list the games that can be trained, and why others cannot",
    "doctor": "check the installation, and suggest fixes",
    "completion": "print a script that completes these commands in a shell",
}
"""Subcommands, each with its summary; the module of a subcommand has its name."""
LONGEST_LINE = 1000
"""Maximum length of a line of an error message, in characters."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `athenan` with `arguments`, by default those of the command line, and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _prepare_streams()
    stops = StopRequests()
    try:
        with stops, stops.droppable():
            code = _dispatch(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = STOPPED  # a second signal, while the command reported the first
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
    """Replace streams that the shell has closed (`>&-`) by the null device.

    Characters that cannot be encoded or decoded become a question mark or U+FFFD.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _drop_output() -> None:
    """Discard buffered output that cannot be written, so that the interpreter does not try again at exit."""
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
        return _fail(command, f"memory ran out{reason}: use a smaller board or network, or fewer games at once")
    except KeyboardInterrupt:
        return _stopped(command)
    except Exception as error:
        if _is_stop(error):
            return _stopped(command)
        if not _is_ludii_error(error):
            raise
        return _fail(command, str(error))


def _stopped(command: str) -> int:
    _print_error(f"{command}: stopped")
    return STOPPED


def _is_stop(error: BaseException | None) -> bool:
    """Return whether a signal caused `error`: native code and imports convert the exception of a handler."""
    while error is not None and not isinstance(error, StopSignal):
        error = error.__cause__ or error.__context__
    return error is not None


def _is_ludii_error(error: Exception) -> bool:
    """Return whether the bridge to Ludii, a separate package, raised `error`."""
    bridge = sys.modules.get("ludii_bridge.errors")
    return bridge is not None and isinstance(error, bridge.LudiiError)


def _fail(command: str, message: str) -> int:
    lines = [_shortened(line) for line in message.split("\n") if line.strip()][:2]
    _print_error(f"{command}: " + "\n".join(lines))
    return BAD_INPUT


def _print_error(text: str) -> None:
    """Write to standard error, unless it is closed."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


def _shortened(line: str) -> str:
    """Return `line` without control characters, and of bounded length."""
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
