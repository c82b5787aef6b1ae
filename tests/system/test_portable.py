"""Nothing that only POSIX has is used unguarded: by the names in the files, by the types of other systems, and by a run
as on Windows (`windows/sitecustomize.py`). None of it is Windows or macOS: docs/platforms.md says what was tried.
"""

from __future__ import annotations

import ast
import errno
import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import TINY

from athenan_spiel.errors import ConfigError
from athenan_spiel.solving import solver
from athenan_spiel.system import portable, processes, stopping
from athenan_spiel.system.files import locked, opened

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("athenan_spiel", "agents", "ludii_bridge")
LIKE_WINDOWS = Path(__file__).with_name("windows")
_spec = importlib.util.spec_from_file_location("windows_like", LIKE_WINDOWS / "sitecustomize.py")
assert _spec is not None and _spec.loader is not None  # noqa: PT018
windows = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(windows)
GUARDED = {
    "athenan_spiel/system/portable.py": {
        "fcntl",
        "resource",
        "os.O_DIRECTORY",
        "os.sysconf",
        "signal.SIGKILL",
        "/proc/self/statm",
    },
    "athenan_spiel/system/machine.py": {
        "os.sched_getaffinity",
        "os.nice",
        "/proc/meminfo",
        "/proc/self/cgroup",
        "/proc/cpuinfo",
        "/sys/fs/cgroup",
    },
    "athenan_spiel/system/processes.py": {
        "signal.pthread_sigmask",
        "signal.SIG_BLOCK",
        "signal.SIG_SETMASK",
        "signal.SIG_UNBLOCK",
    },
    "athenan_spiel/system/stopping.py": {"signal.pthread_kill"},
    "athenan_spiel/measuring/health.py": {"/dev/shm"},
    "athenan_spiel/training/actors/shared_memory.py": {"os.posix_fallocate", "/dev/shm"},
    "athenan_spiel/protocols/program.py": {"os.killpg"},
    "athenan_spiel/protocols/supervisor.py": {  # which runs on Linux alone
        "/proc",
        "/proc/",
        "os.WNOHANG",
        "os.fork",
        "os.setsid",
        "resource",
        "signal.SIGCHLD",
        "signal.SIGKILL",
        "signal.SIGPIPE",
        "signal.SIG_SETMASK",
        "signal.pthread_sigmask",
    },
    "ludii_bridge/installation.py": {"os.sysconf"},
}
"""What of POSIX alone, or of Linux alone, is used where: each use is behind a question whether it is there."""


def of_posix(tree: ast.Module) -> set[str]:
    """What code uses that only POSIX has, or only Linux: modules, names of `os` and `signal`, and places."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found |= {x.name.partition(".")[0] for x in names} & windows.MODULES
            case ast.ImportFrom(module=str(module), names=names):
                found |= {module.partition(".")[0]} & windows.MODULES
                found |= {f"{module}.{x.name}" for x in names if x.name in windows.NAMES.get(module, ())}
            case ast.Attribute(value=ast.Name(id=module), attr=name) if name in windows.NAMES.get(module, ()):
                found.add(f"{module}.{name}")
            case ast.Constant(value=str(text)) if text.startswith(("/proc", "/sys/", "/dev/")) and " " not in text:
                found.add(text)
    return found


@pytest.fixture(scope="module")
def sources() -> dict[str, ast.Module]:
    """Every file of the packages by its path."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def test_what_only_posix_has_is_used_in_guarded_places_alone(sources: dict[str, ast.Module]) -> None:
    assert {path: found for path, tree in sources.items() if (found := of_posix(tree))} == GUARDED


def test_the_check_sees_each_way_to_name_it() -> None:
    tree = ast.parse("import fcntl\nfrom os import fork\nfrom termios import ECHO\nos.killpg(1)\nPath('/proc/stat')")
    assert of_posix(tree) == {"fcntl", "os.fork", "termios", "os.killpg", "/proc/stat"}


def opened_as_the_system_has_text(tree: ast.Module) -> list[int]:
    """The lines where text is read or written in whatever encoding the system has."""
    lines = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(x.arg == "encoding" or x.arg is None for x in node.keywords):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        modes = [x.value for x in node.args if isinstance(x, ast.Constant) and isinstance(x.value, str)]
        binary = any("b" in mode for mode in modes if set(mode) <= set("rwaxbt+"))
        is_method = isinstance(node.func, ast.Attribute) and ast.unparse(node.func) != "os.open"
        of_path = is_method and name in ("read_text", "write_text")
        if of_path or ((is_method or name == "open") and name in ("open", "fdopen") and modes and not binary):
            lines.append(node.lineno)
    return lines


def test_text_has_an_encoding_of_its_own_in_every_file(sources: dict[str, ast.Module]) -> None:
    assert {path: lines for path, tree in sources.items() if (lines := opened_as_the_system_has_text(tree))} == {}


@pytest.mark.slow(reason="mypy reads all packages once more for each system")
@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_the_types_of_other_systems_have_what_is_used(platform: str, tmp_path: Path) -> None:
    words = ["--platform", platform, "--no-warn-unreachable", "--cache-dir", str(tmp_path), *PACKAGES]
    said = subprocess.run([sys.executable, "-m", "mypy", *words], cwd=ROOT, capture_output=True, text=True).stdout
    # A pipe of Windows has a class of its own, which does what is asked of it here.
    assert [x for x in said.splitlines() if "[attr-defined]" in x or "[name-defined]" in x] == []
    assert re.search(r"\d+ source files", said), said


def as_on_windows(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Python with these words, as on Windows."""
    env = {**os.environ, "PYTHONPATH": str(LIKE_WINDOWS), "AS_ON_WINDOWS": "1"}
    return subprocess.run([sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True)


IMPORT_ALL = """
import importlib, pkgutil, sys
import athenan_spiel, agents, ludii_bridge
from athenan_spiel.system import portable, machine, stopping
assert not hasattr(portable, "fcntl")
assert not hasattr(portable.os, "sysconf")
assert len(stopping.SIGNALS) == 3
for package in (athenan_spiel, agents, ludii_bridge):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith(("__main__", ".prover")):  # prover.so is a library, not a module of Python
            importlib.import_module(module.name)
from athenan_spiel.cli.main import main
assert machine.memory() is None or machine.memory() > 0
def run(*words):
    code = main(words)
    assert code == 0, (words, code)
tiny = sys.argv[1:]
run("train", "tic_tac_toe", "--matches", "2", "--folder", "ttt", "--workers", "0", *tiny)
run("resume", "ttt", "--matches", "4")
run("eval", "ttt@1i", "--against", "random", "--matches", "2")
run("solve", "tic_tac_toe", "--megabytes", "none")
assert main(["solve", "tic_tac_toe", "--search", "ubfm"]) == 2
assert main(["train", "tic_tac_toe", "--matches", "2", "--folder", "other", "--restarts", "1", *tiny]) == 2
"""


@pytest.mark.slow(reason="imports every module, and begins a dozen processes as on Windows")
def test_every_module_is_imported_and_an_agent_trained_as_on_windows(tmp_path: Path) -> None:
    process = as_on_windows("-c", IMPORT_ALL, *TINY, folder=tmp_path)
    assert process.returncode == 0, process.stderr
    refusals = [line for line in process.stderr.splitlines() if line.startswith("athenan")]
    assert refusals == [
        "athenan solve: this system does not report the memory of a process, so it cannot be limited: omit the "
        "limit (--megabytes none)",
        "athenan train: --restarts needs signals that let a process save, which Windows lacks: leave it out",
    ]


@pytest.mark.slow(reason="a training in three processes, each of which begins as on Windows")
def test_workers_play_as_on_windows(tmp_path: Path) -> None:
    words = ["train", "tic_tac_toe", "--matches", "4", "--folder", "ttt", "--workers", "2", *TINY]
    process = as_on_windows("-m", "athenan_spiel", *words, folder=tmp_path)
    assert process.returncode == 0, process.stderr


def test_a_file_that_another_process_has_locked_is_not_waited_for(tmp_path: Path) -> None:
    with locked(tmp_path / "lock"), pytest.raises(BlockingIOError), locked(tmp_path / "lock"):
        pass
    with locked(tmp_path / "lock"):
        pass


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.EACCES, BlockingIOError), (errno.EDEADLK, BlockingIOError), (errno.EIO, OSError)]
)
def test_what_windows_says_of_a_locked_file_is_what_others_say(
    number: int, kind: type[OSError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def locking(descriptor: int, mode: int, count: int) -> None:
        raise OSError(number, "no")

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(portable, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking), raising=False)
    with pytest.raises(OSError, match=r"another process has locked it|no") as raised:
        portable.lock(0)
    assert type(raised.value) is kind


@pytest.mark.parametrize("platform", [sys.platform, "win32"])
def test_a_folder_is_in_sight_until_it_is_moved(platform: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    folder = tmp_path / "run"
    folder.mkdir()
    with portable.watched_folder(folder) as is_there:
        assert is_there()
        folder.rename(tmp_path / "moved")
        assert not is_there()
        folder.mkdir()
        assert not is_there()


def test_where_no_flag_refuses_a_link_its_name_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("athenan_spiel.system.files.NO_LINK", 0)
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(OSError, match="it is a link, which is not followed"), opened(tmp_path / "link", 10):
        pass
    with opened(tmp_path / "link", 10, follow=True) as file:
        assert file.read() == b"x"


def test_a_system_that_says_nothing_of_memory_bounds_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert portable.sysconf_bytes("SC_PHYS_PAGES") is None
    assert portable.resident_memory() is None
    with pytest.raises(ConfigError, match=r"^this system does not report the memory of a process"):
        solver.resident_megabytes()


@pytest.mark.parametrize("platform", [sys.platform, "win32"])
def test_a_process_whose_parent_is_there_is_no_orphan(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert not portable.is_orphan(os.getppid())
    monkeypatch.setattr(portable.multiprocessing, "parent_process", lambda: SimpleNamespace(is_alive=lambda: False))
    assert portable.is_orphan(os.getppid()) == (platform == "win32")


@pytest.mark.usefixtures("_signals_as_they_were")
def test_a_process_that_cannot_block_signals_ignores_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heard = []
    processes._ignoring([signal.SIGTERM, signal.SIGINT], heard.append, 1)
    assert heard == [1]
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    monkeypatch.setattr(sys, "platform", "win32")
    processes.unblock_signal(signal.SIGTERM)
    processes.unblock_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture
def _signals_as_they_were() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in stopping.SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_signals_as_they_were")
def test_a_signal_that_was_lost_comes_again_where_threads_take_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(signal, "pthread_kill")

    class Finalized:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def lost() -> None:
        Finalized()
        time.sleep(20 * stopping.AGAIN_SECONDS)

    with stopping.StopRequests() as stops, stops.droppable(), pytest.raises(stopping.StopSignal):
        lost()
    assert stops.signal == signal.SIGINT
