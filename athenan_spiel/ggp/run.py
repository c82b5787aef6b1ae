"""Runs a general game playing series: one task per game, then the report.

Promises:

1. A finished game is never repeated. A stopped or killed game continues from its newest checkpoint and its saved games.
2. A game that fails becomes a row with its reason, and the others continue: errors, a process that dies or runs out of
   memory, and one without any progress for `SILENT_SECONDS`. On a cluster a game is attempted again first.
3. report.md is written again every `REPORT_SECONDS` while games are running; the other files at the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from athenan_spiel.errors import ExperimentError
from athenan_spiel.experiments.plan import slug
from athenan_spiel.experiments.run import require_processes, seeing
from athenan_spiel.ggp.folder import GgpFolder
from athenan_spiel.ggp.report import GgpReport
from athenan_spiel.ggp.rows import read_row
from athenan_spiel.ggp.settings import GgpSettings
from athenan_spiel.ggp.task import GameProgress, GameTask, fail, progress_of
from athenan_spiel.system.cluster import Cluster
from athenan_spiel.system.machine import cores
from athenan_spiel.system.tasks import LossPolicy, do_tasks

SILENT_SECONDS = 900.0
"""Time without a report after which the process of a game is killed."""
REPORT_SECONDS = 5.0
"""Time between two updates of report.md, in seconds."""

OnProgress = Callable[[str, GameProgress], None]
"""Called with a game and its progress."""


def run_ggp(
    settings: GgpSettings,
    path: str | os.PathLike[str],
    *,
    processes: int,
    on_progress: OnProgress = lambda game, progress: None,
    retry: bool = False,
    cluster: Cluster | None = None,
) -> GgpReport:
    """Train and play the games that are left in the folder `path`, and write the report.

    Args:
        processes: number of concurrent games.
        retry: whether games that failed, or lack games against opponents, run again.
        cluster: the cluster that runs it; all its machines must see the folder. None: this machine.

    Raises:
        ConfigError: `processes` is out of range.
        ExperimentError: the folder belongs to another series, is in use, damaged or cannot be written.
        KeyboardInterrupt: Ctrl-C was pressed; all work is saved.
    """
    require_processes(processes)
    folder = GgpFolder(path if cluster is None else Path(path).absolute(), settings)
    _require_different_folders(settings.games)
    folder.begun()
    with folder.locked():
        folder.begin()
        if cluster is not None:
            cluster = seeing(cluster, folder.settings_path)
        if retry:
            folder.forget_failures()
        finished = folder.rows()
        on_a_machine = processes if cluster is None else min(processes, cores())
        tasks = [
            GameTask(folder.folder_of(game).absolute(), game, settings, on_a_machine)
            for game in settings.games
            if game not in finished
        ]
        for game, row in finished.items():
            on_progress(game, progress_of(row))
        live = _LiveReport(folder, settings, on_progress)

        def on_lost(task: GameTask, reason: str) -> Sequence[GameTask]:
            if read_row(task.folder, task.game) is None:
                fail(task, reason)
            live.update(task.game, progress_of(read_row(task.folder, task.game) or {"reason": reason}))
            return ()

        try:
            do_tasks(
                tasks,
                processes,
                lambda task, progress: live.update(task.game, progress),
                lambda task: None,
                cluster=cluster,
                losses=LossPolicy(on_lost, SILENT_SECONDS),
                reuses_processes=False,
            )
        finally:
            report = _write_report(settings, folder)
        return report


class _LiveReport:
    """Writes report.md while games are running.

    Args:
        on_progress: called with each progress.
    """

    def __init__(self, folder: GgpFolder, settings: GgpSettings, on_progress: OnProgress) -> None:
        self._folder = folder
        self._settings = settings
        self._on_progress = on_progress
        self._running: dict[str, GameProgress] = {}
        self._due = 0.0

    def update(self, game: str, progress: GameProgress) -> None:
        """Take the progress of a game.

        Raises:
            ExperimentError: the report cannot be written.
        """
        self._on_progress(game, progress)
        if progress.phase in ("finished", "failed"):
            self._running.pop(game, None)
        else:
            self._running[game] = progress
        if time.monotonic() >= self._due:
            report = GgpReport(self._settings, self._folder.rows(), dict(self._running))
            self._folder.write("report.md", report.markdown())
            self._due = time.monotonic() + REPORT_SECONDS


def report_ggp(settings: GgpSettings, path: str | os.PathLike[str]) -> GgpReport:
    """Write the report of the games in the folder `path`, finished or not.

    Raises:
        ConfigError: the folder has no series.
        ExperimentError: it belongs to another one, is in use, damaged or cannot be written.
    """
    folder = GgpFolder(path, settings)
    folder.require_begun()
    with folder.locked():
        return _write_report(settings, folder)


def _write_report(settings: GgpSettings, folder: GgpFolder) -> GgpReport:
    report = GgpReport(settings, folder.rows())
    for name, content in report.files().items():
        folder.write(name, content)
    return report


def _require_different_folders(games: Sequence[str]) -> None:
    """Check that each game has its own folder, also on case-insensitive file systems."""
    known: dict[str, str] = {}
    for game in games:
        if (other := known.setdefault(slug(game).casefold(), game)) != game:
            raise ExperimentError(f"{other!r} and {game!r} would share the folder {slug(game)!r}: leave out one")
