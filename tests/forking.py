"""Commands, scripts and workers in processes forked from a server that has imported the heavy modules.

Starting one takes milliseconds, where a new interpreter takes seconds. The server never computes, so torch survives
the fork. Tests of how an interpreter starts, or of what it imports, start a real one.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any

import forked_program
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


def program(name: str) -> list[str]:
    """Returns the command that starts `athenan` or a Python file, forked within `served_programs`."""
    return [sys.executable, "-I", "-S", forked_program.__file__, name]


@contextlib.contextmanager
def served_programs() -> Iterator[None]:
    """Forks the commands of `program` in this context, on Linux."""
    if sys.platform != "linux":
        yield
        return
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        address = os.path.join(folder, "programs")
        listener.bind(address)
        listener.listen()
        server = forkserver().Process(target=_serve_programs, args=(listener,))
        server.start()
        os.environ[forked_program.SERVER] = address
        yield
        del os.environ[forked_program.SERVER]
        server.kill()
        server.join()


def _serve_programs(listener: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        client, _ = listener.accept()
        if not os.fork():
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os._exit(_run_for(client))
        client.close()


def _run_for(client: socket.socket) -> int:
    """Runs the program that a client names, with its streams; ends at once with the client."""
    head, descriptors, _, _ = socket.recv_fds(client, 8, 3)
    given = b""
    while len(given) < int.from_bytes(head, "big"):
        given += client.recv(1 << 20)
    name, words, folder, environment = json.loads(given)
    for descriptor, opened in enumerate(descriptors):
        os.dup2(opened, descriptor)
        os.close(opened)
    _use_streams(environment)
    os.chdir(folder)
    sys.argv[:] = [name, *words]
    threading.Thread(target=lambda: os._exit(0 if client.recv(1) else 1), daemon=True).start()
    code: object = 1
    try:
        code = main(words) if name == "athenan" else _run_path(name)
        sys.stdout.flush()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
        code = 1
    with contextlib.suppress(OSError):
        client.sendall(str(code or 0).encode())
    return int(str(code or 0))


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


def _use_streams(environment: Mapping[str, str]) -> None:
    """Uses the open descriptors 0 to 2 as the standard streams, and the environment."""
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), "utf-8")
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8")
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), "utf-8", "backslashreplace", write_through=True)
    os.environ.clear()
    os.environ.update(environment)


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
    _use_streams(environment)
    tempfile.tempdir = None
    os.chdir(folder)
    sys.argv[:] = argv
    try:
        sys.exit(call(*arguments))
    finally:
        sys.stdout.flush()
