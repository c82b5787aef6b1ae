"""Training: self-play and learning, events and callbacks, and the run folder.

- `plan`: everything computed from game, settings and machine before a run, with `fitting`, `preflight` (checks) and
  `memory_budget`;
- `settings_file`, `presets`: settings as text and by name;
- `checkpoints`, `run_folder`, `best`: the run on disk;
- `model`: a network as an evaluator; `actor`: plays games; `learner_side`: learns them;
- `loop`: `train` and `resume`; `session`: one session of a run, with `clock`, `saving` and `adaptation`;
- `actors`: the pool of actors that play the games, in this process, in others, or on Ray;
- `events`, `broadcast`, `callbacks`, `results`: progress reports; `curves`, `metrics_table`: metrics, read again;
- `evaluation`: games against other agents;
- `loading`: the trained agent; `agent_file`, `exporting`: the agent as a file.

Importing the package loads no large library: each name is imported at its first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from athenan_spiel.training.events import Callback, Event
    from athenan_spiel.training.exporting import export_agent, export_onnx
    from athenan_spiel.training.loading import load_agent
    from athenan_spiel.training.loop import resume, train
    from athenan_spiel.training.presets import PRESETS, preset
    from athenan_spiel.training.session import Run
    from athenan_spiel.training.settings_file import settings_from_toml, settings_to_toml

__all__ = [
    "PRESETS",
    "Callback",
    "Event",
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
    "Callback": "events",
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
