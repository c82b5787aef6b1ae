"""Commands, scripts and workers in processes forked from a server that has imported the heavy modules.

Starting one takes milliseconds, where a new interpreter takes seconds. The server never computes, so torch survives
the fork. Tests of how an interpreter starts, or of what it imports, start a real one.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any

from clocks import HANG_SECONDS

from athenan_spiel.cli.main import main

PRELOADED = [
    "agents",
    "athenan_spiel.arena.processes",
    "athenan_spiel.cli.main",
    "athenan_spiel.engines.openvino_engine",
    "athenan_spiel.experiments",
    "athenan_spiel.training.loop",
    "athenan_spiel.training.callbacks",  # loads TensorBoard
    "openvino",
    "scipy.stats",
    "torch._dynamo",  # loaded by optimisers when first used
    "tyro",
]


def forkserver() -> ForkServerContext:
    """Returns the context of processes that have torch loaded already, without having run it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


class Worker(ForkServerProcess):
    """A forked process with the environment, output, blocked signals and parent that a spawned one would have."""

    def start(self) -> None:
        self._starter = os.getpid(), dict(os.environ), signal.pthread_sigmask(signal.SIG_BLOCK, ())
        super().start()

    def run(self) -> None:
        parent, environment, blocked = self._starter
        for number in (1, 2):
            with contextlib.suppress(OSError):
                opened = os.open(f"/proc/{parent}/fd/{number}", os.O_WRONLY | os.O_APPEND)
                os.dup2(opened, number)
                os.close(opened)
        os.environ.clear()
        os.environ.update(environment)
        tempfile.tempdir = None
        os.getppid = lambda: parent if Path(f"/proc/{parent}").exists() else 1
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        super().run()


class WorkerContext(ForkServerContext):
    """The context of workers, in place of `system.processes.context`."""

    Process = Worker


def worker_context() -> WorkerContext:
    forkserver()
    return WorkerContext()


def start_server() -> None:
    """Starts the server, whose folder would otherwise appear in the first test that needs it."""
    process = forkserver().Process()
    process.start()
    process.join()


def athenan(*words: str, folder: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Runs the `athenan` command in `folder`, as `subprocess.run` does."""
    return _completed(main, (list(words),), ["athenan", *words], folder, stdin)


def script(path: Path, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a Python file in `folder`, as `subprocess.run` does."""
    return _completed(_run_path, (str(path),), [str(path), *words], folder, "")


def _run_path(path: str) -> None:
    sys.path.insert(0, str(Path(path).parent))
    main = ModuleType("__main__")
    main.__file__ = path
    sys.modules["__main__"] = sys.modules["__mp_main__"] = main  # the second name is that of objects from workers
    exec(compile(Path(path).read_bytes(), path, "exec"), vars(main))


def _completed(
    call: Callable[..., object], arguments: Sequence[Any], argv: list[str], folder: Path, stdin: str
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as streams:
        Path(streams, "0").write_text(stdin)
        given = streams, str(folder), dict(os.environ), argv, call, arguments
        process = forkserver().Process(target=_with_streams, args=given)
        process.start()
        process.join(HANG_SECONDS)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(argv, HANG_SECONDS)
        out, err = (Path(streams, name).read_text() for name in "12")
        return subprocess.CompletedProcess(argv, process.exitcode, out, err)


def _with_streams(
    streams: str,
    folder: str,
    environment: Mapping[str, str],
    argv: list[str],
    call: Callable[..., object],
    arguments: Sequence[Any],
) -> None:
    """Calls with files as the standard streams and exits with the code that is returned."""
    for descriptor, flags in enumerate((os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT)):
        opened = os.open(os.path.join(streams, str(descriptor)), flags | os.O_APPEND, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), "utf-8")
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8")
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    os.chdir(folder)
    sys.argv[:] = argv
    try:
        sys.exit(call(*arguments))
    finally:
        sys.stdout.flush()
