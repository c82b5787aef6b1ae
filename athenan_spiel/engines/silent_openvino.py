"""OpenVINO, imported without its telemetry.

Where the package `openvino_telemetry` is found, and OpenVINO's wheel brings it, `import openvino` reports itself to
Google Analytics without asking, and writes an identifier to the user's home. Where it is not found, nothing of that
happens; so it is not, for as long as that import takes. A program that has imported OpenVINO before has had its way.
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
