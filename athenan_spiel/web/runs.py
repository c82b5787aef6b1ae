"""Runs of a folder and their metrics, read once for all visitors.

The folder is untrusted: nothing in it is followed out of it, and one bad run doesn't hide another.

1. Files are read in one thread of the reader, never in the event loop. A long file is read in parts, so other visitors
   are served in between.
2. Settings are read again only if the time, size or inode of `config.toml` has changed.
3. Metrics are read incrementally. Curves and their charts are shared between visitors.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import itertools
import json
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from athenan_spiel.config import TrainingConfig
from athenan_spiel.drawing.charts import smoothed
from athenan_spiel.errors import AthenanError, printable
from athenan_spiel.system.files import is_folder
from athenan_spiel.training.best import BEST
from athenan_spiel.training.curves import METRICS, RunCurves
from athenan_spiel.training.run_folder import CONFIG, RunFolder
from athenan_spiel.training.run_picture import reliability_chart, run_charts
from athenan_spiel.web.charts import ChartOptions, chart_options
from athenan_spiel.web.overview import RunOverview
from athenan_spiel.web.reports import has_report

MAX_RUNS = 500
"""Maximum number of runs listed from a folder."""
MAX_SHARED_RUNS = 64
"""Maximum number of runs whose curves are kept in memory, and of pages whose charts are."""
READ_SECONDS = 1.0
"""Time limit, in seconds, after which reading metrics pauses to show what was read."""
OVERVIEW_SECONDS = 0.2
"""The same for the table of runs."""
TABLE_SECONDS = 1.0
"""Seconds between two updates of the table of runs."""
BATCH_SECONDS = 0.05
"""Time, in seconds, after which the reader's thread serves other visitors."""
MAX_CHECKPOINTS = 100
"""Maximum number of checkpoints listed, the newest ones."""
NO_ROWS = "[]"
"""Table without runs."""
TRAININGS = "trainings"
"""Folder of the runs of an experiment: trainings/GAME/VARIANT/REPETITION."""
GAMES = "games"
"""Folder of the runs of a general game playing series: games/GAME/run."""

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Stamp = tuple[int, int, int, int]
"""Modification and change time in ns, size in bytes, and inode of a file."""
Reading = Callable[["RunEntry"], RunOverview | None]
"""Reads the overview of a run."""


@dataclass(frozen=True)
class RunEntry:
    """Run in a folder.

    Attributes:
        name: name of its folder, any text; with slashes if it belongs to an experiment.
        game: game string; None if the settings cannot be read.
        problem: why they cannot be read.
        config: settings, if they can be read.
        report: name of the folder with its report; None without one.
    """

    name: str
    path: Path
    game: str | None
    problem: str | None = None
    config: TrainingConfig | None = None
    report: str | None = None

    @property
    def title(self) -> str:
        """Name on one line; control characters and backslashes are escaped, so titles are unique."""
        return printable(self.name.replace("\\", "\\\\"))

    @property
    def address(self) -> str:
        """Name in a URL."""
        return quote(self.name, safe="")

    @property
    def is_addressable(self) -> bool:
        """Whether a URL can contain the name: it must be UTF-8."""
        return is_utf8(self.name)


@dataclass(frozen=True)
class CheckpointEntry:
    """Checkpoint of a run.

    Attributes:
        name: number of games, or "best".
        written_at: time of writing, in seconds since 1970.
    """

    name: str
    written_at: float


class RunReader:
    """Reads run folders for all visitors. Its coroutines are called from the event loop."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="reading runs")
        self._entries: dict[Path, tuple[Stamp, RunEntry]] = {}
        self._curves: OrderedDict[Path, tuple[RunCurves, int]] = OrderedDict()
        self._overviews: dict[Path, tuple[Stamp, RunOverview | None]] = {}
        self._table = NO_ROWS
        self._table_due = 0.0
        self._renewal: asyncio.Future[str] | None = None
        self._charts: OrderedDict[Hashable, list[ChartOptions]] = OrderedDict()
        self._versions = itertools.count()

    async def list_runs(self, folder: Path) -> list[RunEntry]:
        """Returns the runs in a folder, or the one run that the folder is, sorted by name."""
        return await self._run_in_thread(lambda: list_runs(folder, self._entries))

    async def prepare(self, folder: Path) -> None:
        """Reads the runs in a folder for the first visitor."""
        await self.renewed_table(folder)

    async def renewed_table(self, folder: Path) -> str:
        """Returns the rows of the runs in a folder as `table`. All visitors share one call per `TABLE_SECONDS`."""
        if time.monotonic() >= self._table_due or self._renewal is None:
            self._table_due = time.monotonic() + TABLE_SECONDS
            self._renewal = asyncio.ensure_future(self._listed_table(folder))
        return await asyncio.shield(self._renewal)

    async def _listed_table(self, folder: Path) -> str:
        return await self.table(await self.list_runs(folder))

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
                if isinstance(error, FileNotFoundError) and run.path.is_dir():  # the run has no event yet
                    continue
                problems.append(f"{run.title}: its metrics cannot be read: {error.strerror}")
        return "; ".join(problems)

    async def view(self, runs: Sequence[RunEntry], view: Callable[[Mapping[str, RunCurves]], T]) -> T:
        """Returns the result of `view`, called in the reader's thread with the curves by title."""
        return await self._run_in_thread(lambda: view({run.title: self._shared(run)[0] for run in runs}))

    async def table(self, runs: Sequence[RunEntry], *, whole: bool = True) -> str:
        """Returns the rows of the table of runs as JSON; the same text until one changes.

        Metrics are read for at most `OVERVIEW_SECONDS`, those of the newest runs first: the ends of all files before
        whole files. Figures that are not read yet are missing.

        Args:
            whole: whether whole files are read, too.
        """
        end = time.monotonic() + OVERVIEW_SECONDS
        for read in (self._read_ends, self._read_overview)[: 1 + whole]:
            stale = await self._run_in_thread(functools.partial(self._stale, runs, read))
            while stale and time.monotonic() < end:
                stale = await self._run_in_thread(functools.partial(self._read_some, stale, read))
        return await self._run_in_thread(lambda: self._renewed_table(runs))

    async def checkpoints(self, run: RunEntry) -> list[CheckpointEntry]:
        """Returns the newest checkpoints of a run, newest first, after its best network, if it has one."""
        return await self._run_in_thread(lambda: list_checkpoints(run.path))

    async def charts(self, runs: Sequence[RunEntry], axis: str = "time", smoothing: float = 0.0) -> list[ChartOptions]:
        """Returns the options of the charts of runs; the same list until a run changes.

        Args:
            axis: one of `run_picture.AXES`.
            smoothing: weight of `drawing.charts.smoothed`.
        """
        return await self._run_in_thread(lambda: self._shared_charts(runs, axis, smoothing))

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

    def _stale(self, runs: Sequence[RunEntry], read: Reading) -> Sequence[tuple[RunEntry, Stamp]]:
        """Returns the runs that `read` is to read, newest first."""
        found = []
        for run in runs:
            with contextlib.suppress(OSError):
                stamp = _stamp(run.path / METRICS)
                if not self._is_read(run, stamp, read):
                    found.append((run, stamp))
        return sorted(found, key=lambda one: one[1], reverse=True)

    def _is_read(self, run: RunEntry, stamp: Stamp, read: Reading) -> bool:
        """Returns whether `read` has nothing to do: the ends of a file are read only once."""
        if run.path not in self._overviews:
            return False
        known, overview = self._overviews[run.path]
        return read == self._read_ends or (known == stamp and (overview is None or overview.steps is not None))

    def _read_some(self, stale: Sequence[tuple[RunEntry, Stamp]], read: Reading) -> Sequence[tuple[RunEntry, Stamp]]:
        """Reads the first of these runs for about `BATCH_SECONDS`. Returns those that are still to be read."""
        end = time.monotonic() + BATCH_SECONDS
        for i, (run, stamp) in enumerate(stale):
            if time.monotonic() >= end:
                return stale[i:]
            if self._is_read(run, stamp, read):  # for another visitor
                continue
            try:
                overview = read(run)
            except OSError:
                self._overviews[run.path] = (stamp, None)
                continue
            if overview is None:
                return stale[i:]
            self._overviews[run.path] = (stamp, overview)
        return []

    def _read_ends(self, run: RunEntry) -> RunOverview | None:
        return RunOverview.of(RunCurves.of_ends(run.path), is_complete=False)

    def _read_overview(self, run: RunEntry) -> RunOverview | None:
        """Reads a part of the metrics. Returns the overview; None if more is to be read."""
        curves, version = self._curves.get(run.path) or (RunCurves(run.path), next(self._versions))
        is_new = curves.update()
        if curves.has_more or curves.ended is None or run.path in self._curves:  # is read further later
            _keep(self._curves, run.path, (curves, next(self._versions) if is_new else version))
        return None if curves.has_more else RunOverview.of(curves)

    def _renewed_table(self, runs: Sequence[RunEntry]) -> str:
        for gone in self._overviews.keys() - {run.path for run in runs}:
            del self._overviews[gone]
        now, rows = time.time(), []
        for run in runs:
            _, overview = self._overviews.get(run.path, (None, None))
            rows.append({**_row(run), **({} if overview is None else overview.figures(now))})
        text = json.dumps(rows, allow_nan=False)
        if text != self._table:
            self._table = text
        return self._table

    def _shared_charts(self, runs: Sequence[RunEntry], axis: str, smoothing: float) -> list[ChartOptions]:
        shared = {run.title: self._shared(run) for run in runs}
        key = (axis, smoothing, *((title, version) for title, (_, version) in shared.items()))
        found = self._charts.get(key)
        if found is None:
            charts = run_charts({title: curves for title, (curves, _) in shared.items()}, axis)
            found = [chart_options(smoothed(chart, smoothing)) for chart in charts]
            if len(runs) == 1 and (reliability := reliability_chart(runs[0].path)) is not None:
                found.append(chart_options(reliability))
        _keep(self._charts, key, found)
        return found


def list_runs(folder: Path, known: dict[Path, tuple[Stamp, RunEntry]] | None = None) -> list[RunEntry]:
    """Returns the runs in a folder and in its experiments, or the one run that the folder is, sorted by name.

    Args:
        known: cache of runs read before; it is updated.
    """
    known = {} if known is None else known
    if (folder / CONFIG).is_file():
        return [_entry(folder, folder.absolute().name, known)]
    found = []
    for path, name, report in itertools.islice(_run_folders(folder), MAX_RUNS):
        try:
            if is_folder(path) and (path / CONFIG).is_file():
                found.append(dataclasses.replace(_entry(path, name, known), report=report))
        except OSError as error:  # such as a folder of another user
            found.append(RunEntry(name, path, None, error.strerror))
    for gone in known.keys() - {run.path for run in found}:
        del known[gone]
    return found


def _run_folders(folder: Path) -> Iterator[tuple[Path, str, str | None]]:
    """Yields the path, the name and the report of each subfolder that is a run, or that cannot be read."""
    if folder.is_dir():
        yield from _trainings(folder, "", folder.absolute().name)
    for path in sorted(folder.iterdir())[: 10 * MAX_RUNS] if folder.is_dir() else []:
        try:
            if is_folder(path) and not (path / CONFIG).is_file():
                yield from _trainings(path, f"{path.name}/", path.name)
            elif is_folder(path):
                yield path, path.name, path.name if has_report(path) else None
        except OSError:
            yield path, path.name, None


def _trainings(experiment: Path, prefix: str, name: str) -> Iterator[tuple[Path, str, str | None]]:
    """Yields the runs of an experiment, or of a general game playing series."""
    report = name if has_report(experiment) else None
    for game in _items(experiment / GAMES):
        if is_folder(game) and (game / "run" / CONFIG).is_file():
            yield game / "run", f"{prefix}{game.name}", report
    for game in _items(experiment / TRAININGS):
        for variant in _items(game):
            for path in _items(variant):
                if (path / CONFIG).is_file():
                    yield path, f"{prefix}{game.name}/{variant.name}/{path.name}", report


def _items(folder: Path) -> list[Path]:
    """Returns the items of a folder, sorted by name; none if it is something else or cannot be read."""
    try:
        return sorted(folder.iterdir())[: 10 * MAX_RUNS] if is_folder(folder) else []
    except OSError:
        return []


def list_checkpoints(folder: Path) -> list[CheckpointEntry]:
    """Returns the newest checkpoints of the run in `folder`, newest first, after its best network, if it has one."""
    try:
        paths = RunFolder(folder).checkpoints()[::-1][:MAX_CHECKPOINTS]
        best = folder / BEST
        listed = [best, *paths] if is_folder(best) else paths
        return [CheckpointEntry(path.name, path.lstat().st_mtime) for path in listed]
    except (AthenanError, OSError):
        return []


def _entry(path: Path, name: str, known: dict[Path, tuple[Stamp, RunEntry]]) -> RunEntry:
    stamp = _stamp(path / CONFIG)
    if path not in known or known[path][0] != stamp:
        known[path] = (stamp, _read(path, name))
    return known[path][1]


def _stamp(path: Path) -> Stamp:
    status = path.lstat()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _row(run: RunEntry) -> dict[str, Any]:
    """Returns the part of a row of the table of runs that needs no metrics."""
    address = run.address if run.is_addressable else None
    game = run.game or f"cannot be read: {run.problem}"
    report = None if run.report is None or not is_utf8(run.report) else quote(run.report, safe="")
    row = {"key": str(run.path), "title": run.title, "game": game, "address": address, "report": report}
    return {**row, "analyse": None if run.game is None else urlencode({"game": run.game})}


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
