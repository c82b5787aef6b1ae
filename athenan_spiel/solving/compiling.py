"""Compiles `prover.cpp` when the package is installed; see `hatch_build.py`.

It imports nothing but the standard library, since the build environment has no other package than `open_spiel`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shlex
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("prover.cpp")
LIBRARY = "prover.so"
"""File name of the compiled library, beside this file."""
COMPILERS = ("c++", "g++", "clang++")
FLAGS = ("-std=c++17", "-O2", "-DNDEBUG", "-shared", "-fPIC", "-s")
INCLUDED = ("..", "abseil-cpp", "json/include")
"""Folders with headers, relative to that of `open_spiel`."""
MAX_SECONDS = 300.0
"""Maximum duration of the compilation."""


class CompilationError(Exception):
    """The library cannot be compiled; the message has one line."""


def find_compiler() -> list[str] | None:
    """Returns the command of a C++ compiler: the environment variable CXX, or the first of `COMPILERS` that exists."""
    named = shlex.split(os.environ.get("CXX", ""))
    if named:
        return named if shutil.which(named[0]) else None
    return next(([path] for name in COMPILERS if (path := shutil.which(name))), None)


def compile_library(target: Path) -> None:
    """Compiles the library for the installed `open_spiel`, whose headers are part of its wheel.

    Raises:
        CompilationError: there is no compiler, no `open_spiel` or no headers of it, or the compilation failed.
    """
    compiler = find_compiler()
    if compiler is None:
        raise CompilationError("no C++ compiler was found")
    found = importlib.util.find_spec("open_spiel")
    folders = [] if found is None else [Path(x) for x in found.submodule_search_locations or ()]
    headers = next((folder for folder in folders if (folder / "spiel.h").exists()), None)
    if headers is None:
        raise CompilationError("the headers of open_spiel were not found")
    version = importlib.metadata.version("open_spiel")
    unfinished = target.with_name(f"{target.name}.{os.getpid()}")
    command = [
        *compiler,
        *FLAGS,
        f'-DOPEN_SPIEL_VERSION="{version}"',
        *(part for folder in INCLUDED for part in ("-isystem", str(headers / folder))),
        *("-o", str(unfinished), str(SOURCE)),
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=MAX_SECONDS)
        unfinished.replace(target)
    except (OSError, subprocess.SubprocessError) as error:
        printed = (getattr(error, "stderr", None) or b"").decode(errors="replace")
        reason = next((line for line in printed.splitlines() if "error" in line), f"{type(error).__name__}")
        raise CompilationError(f"{compiler[0]} failed: {reason.strip()[:200]}") from error
    finally:
        unfinished.unlink(missing_ok=True)
