"""Runs an experiment: trainings, games, report.

Promises:

1. Errors are reported before anything is trained, if possible (`check`; the folder may belong to another experiment).
2. Finished work is never repeated: trainings whose last stage is saved, and saved games. A stopped or killed training
   continues from its newest checkpoint.
3. All games are played after all trainings, so they do not slow each other down.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from collections.abc import Collection
from pathlib import Path
from typing import Protocol

from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.experiments.check import check
from athenan_spiel.experiments.file import ExperimentFile
from athenan_spiel.experiments.folder import ExperimentFolder
from athenan_spiel.experiments.matches import GamesTask, game_tasks
from athenan_spiel.experiments.plan import Plan, Training
from athenan_spiel.experiments.plots import plot_files
from athenan_spiel.experiments.reaching import Moments
from athenan_spiel.experiments.report import ExperimentResults, TrainingEffort
from athenan_spiel.experiments.statistics import Points
from athenan_spiel.experiments.training import TrainingTask, is_finished, stage_path
from athenan_spiel.system.cluster import Cluster
from athenan_spiel.system.machine import cores
from athenan_spiel.system.tasks import do_tasks
from athenan_spiel.training.checkpoints import Counters, read_header

MOST_PROCESSES = 256
"""Maximum number of processes on machines with fewer cores than this."""


class Progress(Protocol):
    """Receives the progress of an experiment."""

    def trainings(self, done: float, total: int) -> None:
        """Called with the number of finished trainings, including fractions."""

    def matches(self, done: int, total: int) -> None:
        """Called with the number of finished games."""

    def finished(self, training: Training) -> None:
        """Called with each finished training."""


def run_experiment(
    file: ExperimentFile,
    path: str | os.PathLike[str],
    *,
    processes: int,
    progress: Progress,
    allow_code: Collection[str] = (),
    allow_programs: Collection[str] = (),
    cluster: Cluster | None = None,
) -> ExperimentResults:
    """Run the rest of the experiment in the folder `path`, and write its report.

    Args:
        allow_code, allow_programs: as for `check`.
        cluster: the cluster that runs it; all its machines must see the folder. None: this machine.

    Raises:
        ConfigError: a variant does not suit a game, or as `require_processes`.
        ExperimentError: the folder belongs to another experiment, is in use, damaged or cannot be written, or a
            process ended by itself.
        KeyboardInterrupt: Ctrl-C was pressed; running trainings are saved.
    """
    require_processes(processes)
    folder = ExperimentFolder(path if cluster is None else Path(path).absolute(), file)
    folder.begun()
    check(file, allow_code, allow_programs, processes=processes)
    with folder.locked():
        folder.begin()
        if cluster is not None:
            cluster = seeing(cluster, folder.settings_path)
        plan = Plan(file.experiment)
        _train(plan, folder, processes, progress, tuple(allow_programs), cluster)
        _play(plan, folder, processes, progress, cluster)
        return report(file, path)


def seeing(cluster: Cluster, path: Path) -> Cluster:
    """Returns `cluster` after a check that all its machines see the file `path`; machines that join are checked, too.

    Raises:
        ConfigError: one does not see it.
    """
    checked = dataclasses.replace(cluster, check=functools.partial(_folder_problem, path))
    checked.check_nodes()
    return checked


def _folder_problem(path: Path) -> str | None:
    """Returns the reason why a machine cannot see `path`, the settings of the results; None if it can."""
    if path.exists():
        return None
    return f"it does not see {str(path.parent)!r}: choose a --folder on a file system that all machines share"


def require_processes(processes: int) -> None:
    """Check the number of processes.

    Raises:
        ConfigError: it is less than 1, or more than both 256 and the number of cores.
    """
    most = max(MOST_PROCESSES, cores())
    if processes < 1:
        raise ConfigError(f"processes must be at least 1, got {shown(processes)}")
    if processes > most:
        raise ConfigError(
            f"processes must be at most {most}, got {shown(processes)}: more than one per core gains nothing"
        )


def report(file: ExperimentFile, path: str | os.PathLike[str]) -> ExperimentResults:
    """Write tables and plots of the results in the folder `path`, finished or not.

    Raises:
        ConfigError: the folder has no experiment.
        ExperimentError: the folder belongs to another experiment or is damaged.
        CheckpointError: a saved network is damaged.
        OSError: the report cannot be written.
    """
    folder = ExperimentFolder(path, file)
    folder.require_begun()
    plan = Plan(file.experiment)
    points = Points(plan, folder.results())
    moments = {}
    last: dict[tuple[str, str], list[Counters]] = {}
    stages = range(1, plan.experiment.protocol.stages + 1)
    for training in plan.trainings():
        run = folder.inside(training.folder)
        if is_finished(run, stages[-1]):
            counters = [read_header(stage_path(run, stage)).counters for stage in stages]
            shares = [training.config.fraction_done(c.matches, c.seconds) for c in counters]
            moments[training.game, training.name, training.repetition] = shares
            last.setdefault((training.game, training.name), []).append(counters[-1])
    complete = points.played == plan.match_count()
    efforts = [TrainingEffort.mean_of(game, name, counters) for (game, name), counters in last.items()]
    results = ExperimentResults.of(points, efforts, complete=complete, moments=Moments(plan, moments))
    for name, content in (results.files() | plot_files(results)).items():
        folder.write(name, content)
    return results


def _train(
    plan: Plan,
    folder: ExperimentFolder,
    processes: int,
    progress: Progress,
    programs: tuple[str, ...],
    cluster: Cluster | None,
) -> None:
    shares = plan.experiment.protocol.shares()
    trainings = {folder.inside(training.folder): training for training in plan.trainings()}
    for training in trainings.values():
        for stage in range(1, len(shares) + 1):
            folder.inside(stage_path(training.folder, stage))
    done = {path: 1.0 for path in trainings if is_finished(path, len(shares))}
    tasks = [
        TrainingTask(path, training.game, shared_cores(training.config, processes), shares, programs)
        for path, training in trainings.items()
        if path not in done
    ]

    def on_report(task: TrainingTask, share: float) -> None:
        done[task.folder] = share
        progress.trainings(sum(done.values()), len(trainings))

    def on_finished(task: TrainingTask) -> None:
        on_report(task, 1.0)
        progress.finished(trainings[task.folder])

    progress.trainings(len(done), len(trainings))
    do_tasks(tasks, processes, on_report, on_finished, cluster=cluster)


def _play(plan: Plan, folder: ExperimentFolder, processes: int, progress: Progress, cluster: Cluster | None) -> None:
    """Plays the remaining games: first those between networks, then those with opponents of [fixed]."""
    folder.repair()
    played = {key for key, _ in folder.games(folder.key_of)}
    left = []
    for pairing in itertools.chain(plan.pairings(), plan.fixed_pairings()):
        games = range(plan.meeting(pairing).matches)
        if indices := [i for i in games if (pairing, *divmod(i, 2)) not in played]:
            left.append((pairing, indices))
    total = plan.match_count()
    progress.matches(len(played), total)

    def on_report(task: GamesTask, match: SavedMatch) -> None:
        key = folder.key_of(match)
        if key not in played:  # a cluster may run a task twice
            played.add(key)
            folder.append(match)
            progress.matches(len(played), total)

    tasks = game_tasks(plan.experiment, folder.path, left, processes)
    do_tasks(tasks, processes, on_report, lambda task: None, cluster=cluster)


def shared_cores(config: TrainingConfig, processes: int) -> TrainingConfig:
    """Returns `config` for one of several concurrent trainings: threads that are not set get a share of the cores."""
    share = max(1, cores() // processes)
    threads = max(1, share // 2)
    learner, engine, warm_up = config.learner, config.engine, config.warm_up
    return dataclasses.replace(
        config,
        learner=dataclasses.replace(learner, threads=learner.threads or threads),
        engine=dataclasses.replace(engine, threads=engine.threads or threads),
        warm_up=dataclasses.replace(warm_up, processes=warm_up.processes or share),
    )
