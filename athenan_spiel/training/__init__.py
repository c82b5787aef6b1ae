"""Training: the loop of self-play and learning, its events and listeners, and the run folder it lives in.

- `settings_file`, `presets`: a run's settings, as text and by name;
- `checkpoints`, `run_folder`: the run on disk;
- `means`: what a run needs of the machine and the game; `model`: its network as a ready evaluator;
- `actor`: plays matches and gives records; `learner_side`: learns them; `randomness`: what is random in a run;
- `session`: the loop of a run, with its `clock`, `limits`, `warming`, `rounds`, `saving` and `set_backs`; `loop`:
  `train` and `resume`; `stopping`: how it is asked to stop;
- `events`, `broadcast`, `listeners`: what it tells, and to whom; `evaluation`: its matches against MCTS;
- `loading`: the trained agent; `agent_file`, `exporting`: the same as one file, to be shared.

Importing the package alone loads nothing heavy: each name is imported when it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from athenan_spiel.training.events import Event, Listener
    from athenan_spiel.training.exporting import export_agent, export_onnx
    from athenan_spiel.training.loading import load_agent
    from athenan_spiel.training.loop import resume, train
    from athenan_spiel.training.presets import PRESETS, preset
    from athenan_spiel.training.session import Run
    from athenan_spiel.training.settings_file import settings_from_toml, settings_to_toml

__all__ = [
    "PRESETS",
    "Event",
    "Listener",
    "Run",
    "export_agent",
    "export_onnx",
    "load_agent",
    "preset",
    "resume",
    "settings_from_toml",
    "settings_to_toml",
    "train",
]

_MODULES = {
    "PRESETS": "presets",
    "Event": "events",
    "Listener": "events",
    "Run": "session",
    "export_agent": "exporting",
    "export_onnx": "exporting",
    "load_agent": "loading",
    "preset": "presets",
    "resume": "loop",
    "settings_from_toml": "settings_file",
    "settings_to_toml": "settings_file",
    "train": "loop",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
