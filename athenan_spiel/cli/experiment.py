"""`athenan experiment`: variants compared by the article's protocol, from a file to tables and plots."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from athenan_spiel.cli.console import as_word, output, print_json, progress, say
from athenan_spiel.cli.exit_codes import DONE, STOPPED
from athenan_spiel.cli.java import LudiiMemory
from athenan_spiel.cli.own_code import AllowCode, AllowProgram, allowed
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.workers import Cluster, with_address
from athenan_spiel.errors import ConfigError
from athenan_spiel.system.machine import cores
from athenan_spiel.training.new_folder import RUNS

if TYPE_CHECKING:
    from types import TracebackType

    from athenan_spiel.experiments import ExperimentFile, Results
    from athenan_spiel.experiments.plan import Training


@dataclass(frozen=True, kw_only=True)
class ExperimentArguments:
    """Run the experiment that FILE describes: train variants, let them play all against all, write tables and plots.

    Ctrl-C saves and stops; the same command goes on, and repeats nothing that is finished. Some settings may be given
    here in place of the file's own; they are checked and kept as those would be.

    Example: athenan experiment examples/experiments/searches.toml --processes 2
    """

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """A TOML file of games, variants and settings; docs/experiments.md says what may stand in it."""
    folder: str | None = None
    """Where results go; by default runs/ and the experiment's name."""
    processes: int | None = None
    """Trainings, and later matches, at once; by default one for each core. It changes how much a second of training
    is, so keep it over the whole of an experiment."""
    cluster: Cluster = None
    """Do them on a Ray cluster: auto for that which runs on this machine, HOST:PORT for one that it is a node of;
    without ADDRESS a local one. All its machines must see the folder. --processes is then by default all its cores."""
    games: tuple[str, ...] | None = None
    """These of the file's games alone."""
    repetitions: int | None = None
    """In place of the file's: trainings of each variant at each game."""
    seed: int | None = None
    """In place of the file's."""
    seconds: float | None = None
    """In place of the file's: how long each training lasts, whatever the variants say of it."""
    matches: int | None = None
    """The same in matches."""
    stages: int | None = None
    """In place of the file's [protocol]: networks saved of each training."""
    pairing_matches: int | None = None
    """In place of matches in the file's [protocol]: matches between two networks."""
    fixed_matches: int | None = None
    """In place of matches in the file's [fixed]: matches of a network with each opponent there."""
    check: tyro.conf.FlagCreatePairsOff[bool] = False
    """Only check the file: every variant is made ready for every game."""
    report: tyro.conf.FlagCreatePairsOff[bool] = False
    """Only make tables and plots again from what the folder holds, finished or not."""
    allow_code: AllowCode = ()
    """An outcome of yours that the file may name."""
    allow_program: AllowProgram = ()
    """The command of an engine among the opponents of the file, as it stands there."""
    ludii_memory: LudiiMemory = None
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the results as one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan experiment` with these words; returns the exit code."""
    arguments = parse(ExperimentArguments, with_address(words), "athenan experiment")
    if arguments.check and arguments.report:
        raise ConfigError("expected --check or --report, got both")
    code = allowed(arguments.allow_code)
    console = progress()
    with console.status("checking"):
        from athenan_spiel.experiments import (
            Overrides,
            check,
            read_experiment,
            report,
            require_processes,
            run_experiment,
        )
        from athenan_spiel.experiments.run import MOST_PROCESSES
        from athenan_spiel.training.actors.placement import on_cluster

        processes = cores() if arguments.processes is None else arguments.processes
        require_processes(processes)
        overrides = Overrides(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(Overrides)})
        file = read_experiment(arguments.file, overrides)
        if arguments.check:
            check(file, code, arguments.allow_program, processes=processes)
    folder = Path(arguments.folder) if arguments.folder is not None else RUNS / file.experiment.name
    if arguments.check:
        say(f"{file.source} is right: {_size(file, processes)}")
        return DONE
    try:
        if arguments.report:
            results = report(file, folder)
        else:
            with on_cluster(arguments.cluster, file.experiment.games) as site:
                if site is not None and arguments.processes is None:
                    processes = min(MOST_PROCESSES, site.processors)
                with _View(f"{file.source}: {_size(file, processes)}") as view:
                    results = run_experiment(
                        file,
                        folder,
                        processes=processes,
                        progress=view,
                        allow_code=code,
                        allow_programs=arguments.allow_program,
                        site=site,
                    )
    except KeyboardInterrupt:
        say(f"stopped; go on with: athenan experiment {' '.join(map(as_word, words))}")
        return STOPPED
    _print(results, folder, as_json=arguments.json)
    return DONE


def _print(results: Results, folder: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(results.to_json())
    else:
        output().print(results.tables(), soft_wrap=True)
    say(f"report: {folder / 'report.md'}" + ("" if results.complete else " (not finished: some matches are missing)"))


def _size(file: ExperimentFile, processes: int) -> str:
    """How much there is to do."""
    from athenan_spiel.experiments.plan import Plan

    plan = Plan(file.experiment)
    trainings = plan.trainings()
    seconds = [training.config.seconds for training in trainings]
    known = [second for second in seconds if second is not None]
    length = f", {_length(sum(known) / processes)}, processes: {processes}" if len(known) == len(seconds) else ""
    return f"{len(trainings):,} trainings{length}, then {plan.match_count():,} matches"


def _length(seconds: float) -> str:
    """A length of time, in the largest unit of which there are two."""
    for unit, many in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * many:
            return f"{seconds / many:,.0f} {unit}"
    return f"{seconds:.0f} seconds"


class _View:
    """Bars on a terminal, lines elsewhere; `heading` comes before both."""

    def __init__(self, heading: str) -> None:
        self._heading: str | None = heading
        console = progress()
        self._lines = not console.is_terminal
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeRemainingColumn(),
        )
        self._bars = Bars(*columns, console=console, transient=True, disable=self._lines)
        self._trainings = self._bars.add_task("trainings", total=None, count="")
        self._matches = self._bars.add_task("matches", total=None, count="", start=False)

    def __enter__(self) -> _View:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def trainings(self, done: float, total: int) -> None:
        """Show how much of the trainings is done."""
        if self._heading is not None:
            say(self._heading)
            self._heading = None
        self._bars.update(self._trainings, completed=done, total=total, count=f"{done:.1f}/{total}")

    def matches(self, done: int, total: int) -> None:
        """Show how many matches are played."""
        self._bars.start_task(self._matches)
        self._bars.update(self._matches, completed=done, total=total, count=f"{done:,}/{total:,}")
        if self._lines and done in (0, total):
            say(f"matches: {done:,} of {total:,}")

    def finished(self, training: Training) -> None:
        """Say it where there are no bars."""
        if self._lines:
            say(f"trained: {training.name} at {training.game}, repetition {training.repetition}")
