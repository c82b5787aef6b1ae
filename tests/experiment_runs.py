"""A tiny experiment for tests: two variants, two games, two repetitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from athenan_spiel.experiments import ExperimentFile, ExperimentResults, Overrides, run_experiment
from athenan_spiel.experiments.folder import ExperimentFolder
from athenan_spiel.experiments.plan import GameResult, Training

TINY = """\
name = "tiny"
games = ["tic_tac_toe", "mnk(m=3,n=4,k=3)"]
repetitions = 2
seed = 1

[protocol]
stages = 2
matches = 4
opening_plies = 1
resamples = 200

[training]
matches = 4
matches_at_once = 2
network = {architecture = "mlp", layers = 1, neurons = 8}
engine = {name = "torch", precision = "float32"}
learner = {batch_size = 32, precision = "float32"}

[training.search]
iterations = 2

[variants.descent]

[variants.ubfm]
search.algorithm = "ubfm"
"""
TRAININGS = 8
MATCHES = 4 * (2 * 6 + 2 * 2 * 2 * 2)
"""Four for each pairing: at each of two games, six of four final networks and, with two repetitions, of two earlier
networks with two final ones each."""


class Recorder:
    """Records the progress of an experiment."""

    def __init__(self) -> None:
        self.trained: list[Training] = []
        self.training_counts: list[tuple[float, int]] = []
        self.match_counts: list[tuple[int, int]] = []

    def trainings(self, done: float, total: int) -> None:
        self.training_counts.append((done, total))

    def matches(self, done: int, total: int) -> None:
        self.match_counts.append((done, total))

    def finished(self, training: Training) -> None:
        self.trained.append(training)


def tiny_file(old: str = "", new: str = "", overrides: Overrides | None = None) -> ExperimentFile:
    """Returns the tiny experiment, with `old` replaced by `new` in its text."""
    assert old in TINY
    return ExperimentFile(TINY.replace(old, new, 1) if old else TINY, "tiny.toml", overrides)


def run_tiny(
    folder: Path, processes: int = 1, recorder: Recorder | None = None, file: ExperimentFile | None = None
) -> ExperimentResults:
    """Run the rest of the tiny experiment."""
    return run_experiment(file or tiny_file(), folder, processes=processes, progress=recorder or Recorder())


def rows(folder: Path) -> list[dict[str, Any]]:
    """The saved games as JSON objects."""
    return [json.loads(line) for line in (folder / "matches.jsonl").read_text().splitlines()]


def results(folder: Path, file: ExperimentFile | None = None) -> list[GameResult]:
    """The results of the saved games."""
    return [*ExperimentFolder(folder, file or tiny_file()).results()]


def sorted_rows(folder: Path) -> list[str]:
    """The saved games without their times, sorted."""
    return sorted(json.dumps({k: v for k, v in row.items() if "seconds" not in k}) for row in rows(folder))
