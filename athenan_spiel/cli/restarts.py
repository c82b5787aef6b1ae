"""`--restarts`: a command that trains is run by a process of its own, and goes on from the newest checkpoint if that is
killed.

1. A process that ends by itself, well or with an error, ends the command with its code: trying again would not help.
2. Ctrl-C, SIGTERM and SIGHUP are heard by the process that watches, which passes them on as SIGTERM: what is learned is
   saved. A second Ctrl-C ends the other one at once.
3. When the process that watches is killed, the other one saves and ends.
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
from athenan_spiel.system.processes import begin, hear
from athenan_spiel.system.stopping import SIGNALS, StopRequests

WITHIN_SECONDS = 3600.0
LOOK_SECONDS = 0.1


def watched(words: Sequence[str], folder: Path, again: Sequence[str], most: int, *, quiet: bool) -> int:
    """Run `athenan` with these words in a process of its own; returns its exit code.

    Args:
        folder: of the run.
        again: the words with which the run goes on, once there is one.
        most: how often it may be begun again within an hour.
        quiet: do not say that it is.

    Raises:
        ConfigError: `most` is less than none, or the system cannot tell a process to save.
        LearningError: it was killed more often.
    """
    from athenan_spiel.training.run_folder import CONFIG

    if most < 0:
        raise ConfigError(f"--restarts must be at least 0, got {most}")
    if sys.platform == "win32":
        raise ConfigError("--restarts needs signals that let a process save, which Windows has not: leave it out")
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
                raise LearningError(f"{ended}, {times}; go on with: athenan resume {quoted(folder)}")
            if not quiet:
                say(f"{ended}: it goes on from its newest checkpoint")
            if (folder / CONFIG).exists():
                words = again


def without(words: Sequence[str], option: str) -> list[str]:
    """The words but for an option and its value."""
    found = [word for word in words if not word.startswith(f"{option}=")]
    while option in found:
        at = found.index(option)
        del found[at : at + 2]
    return found


def _code(words: Sequence[str], stops: StopRequests) -> int:
    """The code with which the process of the command has ended; negative: that of the signal that has killed it."""
    process = begin(_command, list(words), os.getpid(), deaf_to=SIGNALS)
    is_told = False
    try:
        while process.exitcode is None:
            process.join(LOOK_SECONDS)
            if stops.requested and not is_told:
                is_told = True
                process.terminate()
        return process.exitcode
    finally:
        if process.exitcode is None:
            process.kill()
            process.join()


def _command(words: list[str], parent: int) -> None:
    from athenan_spiel.cli.main import main

    hear(signal.SIGTERM)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    sys.exit(main(words))


def _end_with(parent: int) -> None:
    """Let this process save and end soon after `parent`, whose child it is."""
    while not is_orphan(parent):
        time.sleep(LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
