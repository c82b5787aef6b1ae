"""Build hook: compiles `athenan_spiel/solving/prover.cpp` if the machine has a C++ compiler.

Without one, or if the compilation fails, the package is installed without the library. It then proves positions in
Python; `athenan doctor` shows the reason.
"""

from __future__ import annotations

import importlib.util
import re
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
FOLDER = "athenan_spiel/solving"


def compiling() -> ModuleType:
    """Returns `athenan_spiel.solving.compiling`, loaded without the packages that `athenan_spiel` needs."""
    spec = importlib.util.spec_from_file_location("compiling", ROOT / FOLDER / "compiling.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class CompilingHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled library to the wheel, or to the source folder of an editable installation."""

    def dependencies(self) -> list[str]:
        """Returns the packages that the compilation needs: `open_spiel` with its headers, in the tested version."""
        if self.target_name != "wheel" or compiling().find_compiler() is None:
            return []
        constraints = ROOT / "constraints.txt"
        pinned = re.search(r"^open[-_]spiel==\S+", constraints.read_text("utf-8") if constraints.exists() else "", re.M)
        return [pinned[0] if pinned else "open_spiel>=2,<3"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compiles the library."""
        if self.target_name != "wheel":
            return
        module = compiling()
        target = ROOT / FOLDER / module.LIBRARY
        try:
            module.compile_library(target)
        except module.CompilationError as error:
            target.unlink(missing_ok=True)
            self.app.display_warning(f"athenan-spiel is installed without compiled proof search: {error}")
            return
        build_data["artifacts"].append(f"{FOLDER}/{module.LIBRARY}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{re.sub(r'[-.]', '_', sysconfig.get_platform())}"
