"""`--restarts`: the training runs in a child process, which is restarted from the newest checkpoint after a kill.

1. If the child ends by itself, with or without an error, the command ends with its exit code.
2. The parent handles Ctrl-C, SIGTERM and SIGHUP, and sends SIGTERM to the child, which saves a checkpoint. A second
   Ctrl-C kills the child.
3. If the parent is killed, the child saves a checkpoint and ends.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from athenan_spiel.cli.console import quoted, say
from athenan_spiel.cli.exit_codes import STOPPED
from athenan_spiel.errors import ConfigError, LearningError
from athenan_spiel.system.portable import is_orphan
from athenan_spiel.system.processes import start_process, unblock_signal
from athenan_spiel.system.stopping import SIGNALS, StopRequests

WITHIN_SECONDS = 3600.0
"""Period in which restarts are counted, in seconds."""
POLL_SECONDS = 0.1


def watched(words: Sequence[str], folder: Path, again: Sequence[str], most: int, *, quiet: bool) -> int:
    """Run `athenan` with `words` in a child process, and return its exit code.

    Args:
        folder: the run folder.
        again: arguments that resume the run, once it exists.
        most: maximum number of restarts per hour.
        quiet: whether to print nothing about restarts.

    Raises:
        ConfigError: `most` is negative, or the system is Windows.
        LearningError: the child was killed more than `most` times within an hour.
    """
    from athenan_spiel.training.run_folder import CONFIG

    if most < 0:
        raise ConfigError(f"--restarts must be at least 0, got {most}")
    if sys.platform == "win32":
        raise ConfigError("--restarts needs signals that let a process save, which Windows lacks: leave it out")
    killed: deque[float] = deque()
    with StopRequests(raises=True) as stops:
        while True:
            code = _code(words, stops)
            if stops.requested:
                return STOPPED
            if code >= 0:
                return code
            killed.append(time.monotonic())
            while killed[-1] - killed[0] > WITHIN_SECONDS:
                killed.popleft()
            ended = f"the process that learns was ended by {signal.Signals(-code).name} (out of memory?)"
            if len(killed) > most:
                times = f"{len(killed)} times within an hour"
                raise LearningError(f"{ended}, {times}; continue with: athenan resume {quoted(folder)}")
            if not quiet:
                say(f"{ended}: it continues from its newest checkpoint")
            if (folder / CONFIG).exists():
                words = again


def without(words: Sequence[str], option: str) -> list[str]:
    """Return the arguments without an option and its value."""
    found = [word for word in words if not word.startswith(f"{option}=")]
    while option in found:
        index = found.index(option)
        del found[index : index + 2]
    return found


def _code(words: Sequence[str], stops: StopRequests) -> int:
    """Run the child, and return its exit code; negative: the number of the signal that killed it."""
    process = start_process(_command, list(words), os.getpid(), blocked_signals=SIGNALS)
    has_sent_stop = False
    try:
        while process.exitcode is None:
            process.join(POLL_SECONDS)
            if stops.requested and not has_sent_stop:
                has_sent_stop = True
                process.terminate()
        return process.exitcode
    finally:
        if process.exitcode is None:
            process.kill()
            process.join()


def _command(words: list[str], parent: int) -> None:
    from athenan_spiel.cli.main import main

    unblock_signal(signal.SIGTERM)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    sys.exit(main(words))


def _end_with(parent: int) -> None:
    """Send SIGTERM to this process when its parent has ended."""
    while not is_orphan(parent):
        time.sleep(POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
