"""What a machine does with a game: speeds of the network, the search, the learner and the whole training, and memory.

- `report`: what was measured, as plain records;
- `subject`: what it is measured on, a game with settings and random states of it; `stand_ins`: engines that note their
  time, or need none;
- `health`: what of the machine and its packages is found, and what to do about the rest;
- `networks`, `searches`, `learners`, `trainings`, `memories`: one part of the measurement each; `run`: all of them.

Importing the package alone loads nothing heavy: each name is imported when it is first asked for.
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
