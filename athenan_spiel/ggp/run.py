"""Runs a general game playing series: one task per game, then the report.

Promises:

1. A finished game is never repeated. A stopped or killed game continues from its newest checkpoint and its saved games.
2. A game that fails becomes a row with its reason, and the others continue: errors, a process that dies or runs out of
   memory, and one without any progress for `SILENT_SECONDS`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from athenan_spiel.errors import ExperimentError
from athenan_spiel.experiments.plan import slug
from athenan_spiel.experiments.run import require_processes
from athenan_spiel.ggp.folder import GgpFolder
from athenan_spiel.ggp.report import GgpReport
from athenan_spiel.ggp.settings import GgpSettings
from athenan_spiel.ggp.task import GameProgress, GameTask, fail
from athenan_spiel.system.tasks import LossPolicy, do_tasks

SILENT_SECONDS = 900.0
"""Time without a report after which the process of a game is killed."""

OnProgress = Callable[[str, GameProgress], None]
"""Called with a game and its progress."""


def run_ggp(
    settings: GgpSettings,
    path: str | os.PathLike[str],
    *,
    processes: int,
    on_progress: OnProgress = lambda game, progress: None,
    retry: bool = False,
) -> GgpReport:
    """Train and play the games that are left in the folder `path`, and write the report.

    Args:
        processes: number of concurrent games.
        retry: whether games that failed run again.

    Raises:
        ConfigError: `processes` is out of range.
        ExperimentError: the folder belongs to another series, is in use, damaged or cannot be written.
        KeyboardInterrupt: Ctrl-C was pressed; all work is saved.
    """
    require_processes(processes)
    folder = GgpFolder(path, settings)
    _require_different_folders(settings.games)
    folder.begun()
    with folder.locked():
        folder.begin()
        if retry:
            folder.forget_failures()
        finished = folder.rows()
        tasks = [
            GameTask(folder.folder_of(game).absolute(), game, settings, processes)
            for game in settings.games
            if game not in finished
        ]
        for game, row in finished.items():
            on_progress(
                game, GameProgress("failed", 1.0, row["reason"]) if "reason" in row else GameProgress("finished", 1.0)
            )

        def on_lost(task: GameTask, reason: str) -> Sequence[GameTask]:
            fail(task, reason)
            on_progress(task.game, GameProgress("failed", 1.0, reason))
            return ()

        do_tasks(
            tasks,
            processes,
            lambda task, progress: on_progress(task.game, progress),
            lambda task: None,
            losses=LossPolicy(on_lost, SILENT_SECONDS),
        )
        return report_ggp(settings, path)


def report_ggp(settings: GgpSettings, path: str | os.PathLike[str]) -> GgpReport:
    """Write the report of the games in the folder `path`, finished or not.

    Raises:
        ConfigError: the folder has no series.
        ExperimentError: it belongs to another one, or is damaged.
        OSError: the report cannot be written.
    """
    folder = GgpFolder(path, settings)
    folder.require_begun()
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
