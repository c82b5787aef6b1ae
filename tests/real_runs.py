"""The command `athenan` in processes of its own, to be killed and stopped, and what its folder must hold then."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clocks import HANG_SECONDS

from athenan_spiel.training.run_folder import RunFolder

ROOT = Path(__file__).resolve().parents[1]
SMALL = (
    *("--matches-at-once", "3", "--search.iterations", "20", "--network.architecture", "mlp", "--network.layers", "1"),
    *("--network.neurons", "16", "--replay.matches", "5", "--learner.batch-size", "32", "--engine.name", "torch"),
    *("--learner.precision", "float32", "--engine.precision", "float32", "--checkpoint-seconds", "0"),
)
"""Settings with which matches take milliseconds, and checkpoints are written all the time."""
GAME = "connect_four(rows=4,columns=4,x_in_row=3)"


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds."""
    end = time.monotonic() + HANG_SECONDS
    while not holds():
        assert time.monotonic() < end, "hangs"
        time.sleep(0.02)


class Command:
    """`athenan WORDS`, in a session of processes of its own.

    Args:
        place: the current folder; what is printed is kept there.
        before: called in the process before it begins.
    """

    def __init__(
        self,
        words: Sequence[str],
        place: Path,
        environment: Mapping[str, str] | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        self._errors = place / f"stderr-{time.monotonic_ns()}"
        paths = [*(environment or {}).get("PYTHONPATH", "").split(os.pathsep), str(ROOT)]
        own = {"OMP_NUM_THREADS": "1", **(environment or {}), "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "athenan_spiel", *words],
                cwd=place,
                env={**os.environ, **own},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                preexec_fn=before,
            )

    @property
    def said(self) -> str:
        """What stands on standard error."""
        return self._errors.read_text()

    @property
    def running(self) -> bool:
        """Whether the command has not ended."""
        return self._process.poll() is None

    def helpers(self) -> list[int]:
        """The processes that it has spawned, oldest first: that which values for all, if there is one, and workers."""
        return [process for process, words in self._session() if "spawn_main" in words]

    def kill(self) -> None:
        """End the command alone by SIGKILL, and wait until the others have ended by themselves."""
        self._process.kill()
        self._process.wait()
        self.until_alone()

    def until_alone(self) -> None:
        """Wait until no process of the session is left."""
        until(lambda: not self._session())

    def end(self, number: int = 0) -> tuple[int, float]:
        """Send a signal, if one is given, and wait for the end.

        Returns:
            The exit code, and the processor time that all took from then on: other work on the machine does not count.
        """
        before = self._processor_seconds()
        if number:
            os.kill(self._process.pid, number)
        end = time.monotonic() + HANG_SECONDS
        while not (found := os.wait4(self._process.pid, os.WNOHANG))[0]:
            assert time.monotonic() < end, "hangs"
            time.sleep(0.01)
        _, status, used = found
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode, used.ru_utime + used.ru_stime - before

    def close(self) -> None:
        """End all that is left of it."""
        for process, _ in self._session():
            os.kill(process, signal.SIGKILL)
        self._process.wait()

    def _session(self) -> list[tuple[int, str]]:
        """The processes of the session that have not ended, each with its command line, in order of their numbers."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                state, _, _, session = _stat(folder)[:4]
                words = (folder / "cmdline").read_text() if state != "Z" and int(session) == self._process.pid else None
            except (OSError, ValueError):
                continue
            if words is not None:
                found.append((int(folder.name), words))
        return sorted(found)

    def _processor_seconds(self) -> float:
        """Of all processes of the session, those that have ended included."""
        ticks = 0
        for process, _ in self._session():
            try:
                ticks += sum(map(int, _stat(Path("/proc", str(process)))[11:15]))
            except OSError:
                continue
        return ticks / os.sysconf("SC_CLK_TCK")


def _stat(folder: Path) -> list[str]:
    """What Linux says of a process, from its state on."""
    return (folder / "stat").read_text().rpartition(")")[2].split()


def rows(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's metrics, up to one that a kill has cut."""
    path, found = folder / "metrics.jsonl", []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    return found


def count(event: str, folder: Path) -> int:
    """The number of lines of an event."""
    path = folder / "metrics.jsonl"
    return path.read_bytes().count(f'{{"event": "{event}",'.encode()) if path.exists() else 0


def of(event: str, folder: Path) -> list[dict[str, Any]]:
    """Those of an event."""
    return [row for row in rows(folder) if row["event"] == event]


def saved(folder: Path) -> int:
    """The matches that the newest checkpoint holds, which must be whole; the metrics must tell of each of them once."""
    checkpoint = RunFolder(folder).load()
    if checkpoint is None:
        return 0
    counters = checkpoint.header.counters
    for event in ("match_finished", "learning_finished"):
        told = [row["matches"] for row in of(event, folder) if row["matches"] <= counters.matches]
        assert told == list(range(1, counters.matches + 1)), "a line is lost, or stands there twice"
    learned = [row["states_learned"] for row in of("learning_finished", folder) if row["matches"] <= counters.matches]
    assert sum(learned) == counters.states_learned, "the lines tell of the run that the checkpoint comes from"
    return counters.matches
