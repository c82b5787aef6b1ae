"""Experiments by the article's common protocol (Section 3.3), from a file to tables and plots.

`file` reads `settings`, and `overrides` in place of some; `check` says what cannot work; `plan` lists trainings and
pairings; `training` and `matches` do them, in the processes of `workers`; `folder` keeps what came out; `statistics`,
`report` and `plots` say what it means; `run` is all of it.
"""

from athenan_spiel.experiments.check import check
from athenan_spiel.experiments.file import ExperimentFile, read_experiment
from athenan_spiel.experiments.overrides import Overrides
from athenan_spiel.experiments.report import Results
from athenan_spiel.experiments.run import Progress, report, require_processes, run_experiment
from athenan_spiel.experiments.settings import Experiment, PlayConfig, ProtocolConfig, Variant

__all__ = [
    "Experiment",
    "ExperimentFile",
    "Overrides",
    "PlayConfig",
    "Progress",
    "ProtocolConfig",
    "Results",
    "Variant",
    "check",
    "read_experiment",
    "report",
    "require_processes",
    "run_experiment",
]
