"""Checks what a training needs from this machine: system, processor, packages, engine, devices, folders.

1. A check never raises; an error becomes a result with its message.
2. Nothing is changed, installed or downloaded. Required packages are imported, others are only searched for.
3. Ludii is not checked here, because `ludii_bridge` is a separate package.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

import athenan_spiel
from athenan_spiel.errors import printable
from athenan_spiel.system import machine

State = Literal["found", "missing", "broken"]
NEEDED = {
    "open_spiel": ("pyspiel", "2.0.2"),
    "torch": ("torch", "2.13.0"),
    "numpy": ("numpy", "2.4.6"),
    "openvino": ("openvino", "2026.4.1"),
    "safetensors": ("safetensors", "0.8.0"),
    "scipy": ("scipy", "1.17.1"),
    "evalica": ("evalica", "0.4.2"),
    "tomli_w": ("tomli_w", "1.2.0"),
    "cattrs": ("cattrs", "26.2.1"),
    "tyro": ("tyro", "1.0.17"),
    "rich": ("rich", "15.0.0"),
    "sgfmill": ("sgfmill", "1.1.1"),
    "tensorboard": ("tensorboard", "2.21.0"),
    "matplotlib": ("matplotlib", "3.11.2"),
}
"""Packages that a training needs: the imported module, and the tested version."""
OPTIONAL = {
    "ray": ("ray", "2.60.0", "trainings on a cluster"),
    "nicegui": ("web", "3.18.0", "pages in a browser"),
    "onnx": ("onnx", "1.23.2", "networks written for other programs"),
    "onnxscript": ("onnx", "0.7.2", "networks written for other programs"),
}
"""Packages of extras: the extra, the tested version, and the purpose."""
SHARED = Path("/dev/shm")
"""Shared memory of Linux."""
MIN_SHARED_BYTES = 2**27
"""Minimum free shared memory, in bytes: twice the default size in a container."""
MAX_MESSAGE_CHARACTERS = 200
"""Maximum length of a shown error message, in characters."""


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """The result of one check.

    Attributes:
        what: name of the checked item.
        state: `broken`: the item exists but fails.
        needed: whether training needs it.
        text: the finding, or the remedy.
    """

    what: str
    state: State
    needed: bool
    text: str


def findings() -> list[CheckResult]:
    """Returns all checks in the order in which problems should be fixed; imports torch and other packages."""
    return [
        *_system(),
        *(_package(name, module, tested) for name, (module, tested) in NEEDED.items()),
        _check("compiled proof search", _compiled),
        _check("CUDA", _cuda),
        _check("engine", _engine, needed=True),
        _check("learning", _learning, needed=True),
        _check("shared memory", _shared_memory),
        _check("this folder", lambda: _folder(Path.cwd(), "runs are written to runs/ in it")),
        *(_extra(name, extra, tested, what) for name, (extra, tested, what) in OPTIONAL.items()),
    ]


def writable(what: str, path: Path, use: str) -> CheckResult:
    """Check that the folder `path` can be written or created; `use` describes its purpose."""
    return _check(what, lambda: _folder(path, use))


def can_train(found: Sequence[CheckResult]) -> bool:
    """Returns whether everything that training needs was found."""
    return all(finding.state == "found" for finding in found if finding.needed)


class _MissingError(Exception):
    """The item is missing; the message is the remedy."""


def _check(what: str, probe: Callable[[], str], *, needed: bool = False) -> CheckResult:
    """Returns the result of `probe`, or its exception, as a `CheckResult`."""
    try:
        state: State = "found"
        text = probe()
    except _MissingError as error:
        state, text = "missing", str(error)
    except Exception as error:
        state, text = "broken", _first_line(error)
    return CheckResult(what=what, state=state, needed=needed, text=text)


def _first_line(error: Exception) -> str:
    """Returns the first line of an error, printable and cut to `MAX_MESSAGE_CHARACTERS`."""
    first = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {printable(first)[:MAX_MESSAGE_CHARACTERS]}"


def _system() -> list[CheckResult]:
    version = f"{athenan_spiel.__version__}, at {printable(str(Path(athenan_spiel.__file__).parent))}"
    return [
        _check("athenan_spiel", lambda: version, needed=True),
        _check("Python", lambda: f"{platform.python_version()}, at {printable(sys.executable)}", needed=True),
        _check("system", _operating_system),
        _check("processor", _processor),
        _check("cores", _cores),
        _check("memory", _memory),
    ]


def _operating_system() -> str:
    name = f"{platform.system()} {platform.release()}, {platform.machine()}"
    is_tested = sys.platform == "linux" and platform.machine() in ("x86_64", "AMD64")
    return name if is_tested else f"{name}; tested only on Linux, x86_64 (docs/platforms.md)"


def _processor() -> str:
    names = ", ".join(machine.instructions()) or "this system does not report its instruction sets"
    return f"{printable(machine.processor()) or 'unknown'}: {names}"


def _cores() -> str:
    usable, total = machine.cores(), os.cpu_count() or 1
    return f"{usable} usable" + (f" of {total}" if total != usable else "")


def _memory() -> str:
    total, free = machine.memory(), machine.free_memory()
    if total is None:
        raise _MissingError("this system does not report its size, so memory is not checked before a training")
    return f"{machine.gigabytes(total)} usable" + (f", {machine.gigabytes(free)} free" if free else "")


def _package(name: str, module: str, tested: str) -> CheckResult:
    def probe() -> str:
        if importlib.util.find_spec(module) is None:
            raise _MissingError(f"pip install {name}=={tested}")
        try:
            if module == "openvino":
                importlib.import_module("athenan_spiel.engines.silent_openvino")
            else:
                importlib.import_module(module)
        except Exception as error:
            raise RuntimeError(f"{_first_line(error)}: pip install --force-reinstall {name}=={tested}") from error
        return _version(name, tested)

    finding = _check(name, probe, needed=True)
    return CheckResult(**{**vars(finding), "text": finding.text.removeprefix("RuntimeError: ")})


def _extra(name: str, extra: str, tested: str, what: str) -> CheckResult:
    def probe() -> str:
        if importlib.util.find_spec(name) is None:
            raise _MissingError(f"for {what}: pip install 'athenan-spiel[{extra}]'")
        return f"{_version(name, tested)}; for {what}"

    return _check(name, probe)


def _version(name: str, tested: str) -> str:
    version = metadata.version(name)
    return version if version.partition("+")[0] == tested else f"{version}; tested with {tested}"


def _compiled() -> str:
    from athenan_spiel.solving.proof_numbers import unavailable

    if (reason := unavailable()) is not None:
        raise _MissingError(f"positions are proven in Python, as {reason}")
    return f"compiled for open_spiel {metadata.version('open_spiel')}"


def _cuda() -> str:
    import torch

    if not torch.cuda.is_available():
        raise _MissingError("torch finds no device: networks run on the processor")
    return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}"


def _engine() -> str:
    """Returns the engine that default settings choose."""
    from athenan_spiel.config import EngineConfig
    from athenan_spiel.engines import make_engine

    engine = make_engine(EngineConfig(), (1, 3, 3))
    threads = engine.config.threads
    return f"{engine.name}" + (f", threads per process: {threads}" if threads else "")


def _learning() -> str:
    """Returns the precision in which default settings learn."""
    import torch

    from athenan_spiel.engines.threads import has_matrix_units

    if torch.cuda.is_available():
        return "on the CUDA device"
    if has_matrix_units():
        return "bfloat16, as the processor has matrix units for it (AMX)"
    return "float32, as the processor has no matrix units for bfloat16 (AMX)"


def _shared_memory() -> str:
    if not SHARED.is_dir():
        return f"the system has no {SHARED}; it stores shared memory elsewhere"
    usage = shutil.disk_usage(SHARED)
    text = f"{machine.gigabytes(usage.total)}, {machine.gigabytes(usage.free)} free, at {SHARED}"
    if usage.free < MIN_SHARED_BYTES:
        raise _MissingError(
            f"{text}: too little for workers with large networks: docker run --shm-size=1g, or --workers 0"
        )
    return text


def _folder(path: Path, what: str) -> str:
    existing = next(folder for folder in (path, *path.parents) if folder.exists())
    if not os.access(existing, os.W_OK):
        name = printable(str(existing))
        raise _MissingError(f"{name} cannot be written, and {what}: make it writable, or use another folder")
    free = machine.gigabytes(shutil.disk_usage(existing).free)
    access = "can be written" if existing == path else "can be created"
    return f"{printable(str(path))} {access}, {free} free; {what}"
