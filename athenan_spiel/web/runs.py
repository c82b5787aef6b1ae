"""Runs of a folder and their metrics, read once for all visitors.

The folder is untrusted: nothing in it is followed out of it, and one bad run doesn't hide another.

1. Files are read in one thread of the reader, never in the event loop. A long file is read in parts, so other visitors
   are served in between.
2. Settings are read again only if the time, size or inode of `config.toml` has changed.
3. Metrics are read incrementally. Curves and their charts are shared between visitors.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from athenan_spiel.config import TrainingConfig
from athenan_spiel.drawing.charts import Chart
from athenan_spiel.errors import AthenanError, printable
from athenan_spiel.system.files import is_folder
from athenan_spiel.training.curves import RunCurves
from athenan_spiel.training.run_folder import CONFIG, RunFolder
from athenan_spiel.training.run_picture import run_charts

MAX_RUNS = 500
"""Maximum number of runs listed from a folder."""
MAX_SHARED_RUNS = 64
"""Maximum number of runs whose curves are kept in memory, and of pages whose charts are."""
READ_SECONDS = 1.0
"""Time limit, in seconds, after which reading metrics pauses to show what was read."""

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Stamp = tuple[int, int, int, int]
"""Modification and change time in ns, size in bytes, and inode of a file."""


@dataclass(frozen=True)
class RunEntry:
    """Run in a folder.

    Attributes:
        name: name of its folder, any text without a slash.
        game: game string; None if the settings cannot be read.
        problem: why they cannot be read.
        config: settings, if they can be read.
    """

    name: str
    path: Path
    game: str | None
    problem: str | None = None
    config: TrainingConfig | None = None

    @property
    def title(self) -> str:
        """Name on one line; control characters and backslashes are escaped, so titles are unique."""
        return printable(self.name.replace("\\", "\\\\"))

    @property
    def is_addressable(self) -> bool:
        """Whether a URL can contain the name: it must be UTF-8."""
        return is_utf8(self.name)


class RunReader:
    """Reads run folders for all visitors. Its coroutines are called from the event loop."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reading runs")
        self._entries: dict[Path, tuple[Stamp, RunEntry]] = {}
        self._curves: OrderedDict[Path, tuple[RunCurves, int]] = OrderedDict()
        self._charts: OrderedDict[Hashable, list[Chart]] = OrderedDict()
        self._versions = itertools.count()

    async def list_runs(self, folder: Path) -> list[RunEntry]:
        """Returns the runs in a folder, or the one run that the folder is, sorted by name."""
        return await self._run_in_thread(lambda: list_runs(folder, self._entries))

    async def renew(self, runs: Sequence[RunEntry]) -> Sequence[RunEntry]:
        """Returns the runs with their current settings; a deleted run stays as it was."""
        return await self._run_in_thread(lambda: [self._renewed(run) for run in runs])

    async def read(self, runs: Sequence[RunEntry]) -> str:
        """Reads new metrics of runs for at most `READ_SECONDS`.

        Returns:
            The errors; empty if all could be read.
        """
        end, problems = time.monotonic() + READ_SECONDS, []
        for run in runs:
            try:
                while await self._run_in_thread(functools.partial(self._update, run)) and time.monotonic() < end:
                    pass
            except OSError as error:
                problems.append(f"{run.title}: its metrics cannot be read: {error.strerror}")
        return "; ".join(problems)

    async def view(self, runs: Sequence[RunEntry], view: Callable[[Mapping[str, RunCurves]], T]) -> T:
        """Returns the result of `view`, called in the reader's thread with the curves by title."""
        return await self._run_in_thread(lambda: view({run.title: self._shared(run)[0] for run in runs}))

    async def charts(self, runs: Sequence[RunEntry]) -> list[Chart]:
        """Returns the curves of runs; the same list until one changes."""
        return await self._run_in_thread(lambda: self._shared_charts(runs))

    def close(self) -> None:
        """Stops reading."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _run_in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _shared(self, run: RunEntry) -> tuple[RunCurves, int]:
        """Returns the curves of a run, and a version number that changes with them."""
        found = self._curves.get(run.path) or (RunCurves(run.path), next(self._versions))
        _keep(self._curves, run.path, found)
        return found

    def _renewed(self, run: RunEntry) -> RunEntry:
        try:
            return _entry(run.path, run.name, self._entries)
        except OSError:
            return run

    def _update(self, run: RunEntry) -> bool:
        curves, _ = self._shared(run)
        is_new = curves.update()
        if is_new:
            self._curves[run.path] = (curves, next(self._versions))
        return is_new

    def _shared_charts(self, runs: Sequence[RunEntry]) -> list[Chart]:
        shared = {run.title: self._shared(run) for run in runs}
        key = tuple((title, version) for title, (_, version) in shared.items())
        found = self._charts.get(key)
        if found is None:
            found = run_charts({title: curves for title, (curves, _) in shared.items()})
        _keep(self._charts, key, found)
        return found


def list_runs(folder: Path, known: dict[Path, tuple[Stamp, RunEntry]] | None = None) -> list[RunEntry]:
    """Returns the runs in a folder, or the one run that the folder is, sorted by name.

    Args:
        known: cache of runs read before; it is updated.
    """
    known = {} if known is None else known
    if (folder / CONFIG).is_file():
        return [_entry(folder, folder.absolute().name, known)]
    found = []
    for path in sorted(folder.iterdir())[: 10 * MAX_RUNS] if folder.is_dir() else []:
        try:
            if is_folder(path) and (path / CONFIG).is_file():
                found.append(_entry(path, path.name, known))
        except OSError as error:  # such as a folder of another user
            found.append(RunEntry(path.name, path, None, error.strerror))
    for gone in known.keys() - {run.path for run in found}:
        del known[gone]
    return found[:MAX_RUNS]


def _entry(path: Path, name: str, known: dict[Path, tuple[Stamp, RunEntry]]) -> RunEntry:
    status = (path / CONFIG).lstat()
    stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
    if path not in known or known[path][0] != stamp:
        known[path] = (stamp, _read(path, name))
    return known[path][1]


def _keep(kept: OrderedDict[K, V], key: K, value: V) -> None:
    """Stores a value as the most recently used, and drops the least recently used one if there are too many."""
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > MAX_SHARED_RUNS:
        kept.popitem(last=False)


def is_utf8(name: str) -> bool:
    """Returns whether a file name is UTF-8, so a page can show and send it."""
    try:
        os.fsencode(name).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _read(path: Path, name: str) -> RunEntry:
    try:
        game, config = RunFolder(path).settings()
    except AthenanError as error:
        return RunEntry(name, path, None, printable(str(error).split("\n")[0]))
    return RunEntry(name, path, game, None, config)
