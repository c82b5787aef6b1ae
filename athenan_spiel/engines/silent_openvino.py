"""Import of OpenVINO without its telemetry.

If the package `openvino_telemetry` is found, which OpenVINO's wheel installs, `import openvino` reports itself to
Google Analytics without asking, and writes an identifier to the user's home. This module hides that package during the
import. If the program has imported OpenVINO before, this module has no effect.
"""

from __future__ import annotations

import sys
from typing import Any, cast

_TELEMETRY = "openvino_telemetry"


def _import_silently() -> None:
    modules = cast(dict[str, Any], sys.modules)
    if "openvino" in modules or _TELEMETRY in modules:
        return
    modules[_TELEMETRY] = None  # to Python: there is no such module
    try:
        import openvino  # type: ignore[import-untyped]  # noqa: F401
    finally:
        del modules[_TELEMETRY]


_import_silently()

import openvino  # noqa: E402

__all__ = ["openvino"]
