"""Experiments by the article's common protocol (Section 3.3), from a TOML file to tables and plots.

- `file` reads `settings`, some of which `Overrides` may replace; `check` finds errors before anything is trained;
- `plan` lists trainings and pairings; `training` and `matches` run them as tasks of worker processes;
- `folder` stores results; `statistics`, `report` and `plots` evaluate them; `run` does all of it.
"""

from athenan_spiel.experiments.check import check
from athenan_spiel.experiments.file import ExperimentFile, Overrides, read_experiment
from athenan_spiel.experiments.report import ExperimentResults
from athenan_spiel.experiments.run import Progress, report, require_processes, run_experiment
from athenan_spiel.experiments.settings import Experiment, PlayConfig, ProtocolConfig, Variant

__all__ = [
    "Experiment",
    "ExperimentFile",
    "ExperimentResults",
    "Overrides",
    "PlayConfig",
    "Progress",
    "ProtocolConfig",
    "Variant",
    "check",
    "read_experiment",
    "report",
    "require_processes",
    "run_experiment",
]
