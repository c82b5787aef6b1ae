"""Measures a machine on a game: speed of network, search, learner and training, and memory.

- `report`: the results as plain records;
- `subject`: the measured game with settings and random states; `stand_ins`: engines for measurements;
- `health`: checks of the machine and its packages;
- `networks`, `searches`, `learners`, `trainings`, `memories`: one part of the measurement each; `run`: all of them.

The package imports each name when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from athenan_spiel.measuring.report import Report
    from athenan_spiel.measuring.run import bench

__all__ = ["Report", "bench"]

_MODULES = {"Report": "report", "bench": "run"}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
