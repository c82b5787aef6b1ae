"""`athenan experiment`: compares variants by the article's protocol, with tables and plots."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from athenan_spiel.cli.console import as_word, output, print_json, progress, say
from athenan_spiel.cli.exit_codes import DONE, STOPPED
from athenan_spiel.cli.options import AllowCode, AllowProgram, Cluster, LudiiMemory, allowed, with_address
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.series import ProgressView
from athenan_spiel.errors import ConfigError
from athenan_spiel.system.machine import cores
from athenan_spiel.training.new_folder import RUNS

if TYPE_CHECKING:
    from athenan_spiel.experiments import ExperimentFile, ExperimentResults
    from athenan_spiel.experiments.plan import Training


@dataclass(frozen=True, kw_only=True)
class ExperimentArguments:
    """Run the experiment of FILE: train variants, let them play a round robin, write tables and plots.

    Ctrl-C saves and stops; the same command continues and repeats no finished work. Some options replace settings of
    the file, with the same checks.

    Example: athenan experiment examples/experiments/searches.toml --processes 2
    """

    file: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]
    """TOML file of games, variants and settings (docs/experiments.md)."""
    folder: str | None = None
    """Folder of the results; default: runs/NAME."""
    processes: int | None = None
    """Number of concurrent trainings, and later games. It affects the speed of each training, so keep it for the
    whole experiment; default: one per core."""
    cluster: Cluster = None
    """Address of a Ray cluster that runs the experiment: auto for the one of this machine, HOST:PORT for one that this
    machine is a node of; without ADDRESS a local one. All its machines must see the folder. --processes is then by
    default the number of its cores."""
    games: tuple[str, ...] | None = None
    """Subset of the games; default: the file's."""
    repetitions: int | None = None
    """Trainings of each variant at each game; default: the file's."""
    seed: int | None = None
    """Random seed; default: the file's."""
    seconds: float | None = None
    """Length of each training in seconds, also of variants with their own; default: the file's."""
    matches: int | None = None
    """Length of each training in games, also of variants with their own; default: the file's."""
    stages: int | None = None
    """Saved networks per training: `stages` in [protocol]; default: the file's."""
    pairing_matches: int | None = None
    """Games between two networks: `matches` in [protocol]; default: the file's."""
    fixed_matches: int | None = None
    """Games of a network against each fixed opponent: `matches` in [fixed]; default: the file's."""
    check: tyro.conf.FlagCreatePairsOff[bool] = False
    """Only check the file, by setting up every variant for every game."""
    report: tyro.conf.FlagCreatePairsOff[bool] = False
    """Only write tables and plots of the folder's results again, finished or not."""
    allow_code: AllowCode = ()
    """Custom outcome that the file may name."""
    allow_program: AllowProgram = ()
    """Command of an engine among the file's opponents, exactly as in the file."""
    ludii_memory: LudiiMemory = None
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print the results as one JSON document."""


def run(words: Sequence[str]) -> int:
    """Run `athenan experiment` with these arguments; returns the exit code."""
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
        from athenan_spiel.training.actors.placement import join_for_games

        processes = cores() if arguments.processes is None else arguments.processes
        require_processes(processes)
        overrides = Overrides(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(Overrides)})
        file = read_experiment(arguments.file, overrides)
        if arguments.check:
            check(file, code, arguments.allow_program, processes=processes)
    folder = Path(arguments.folder) if arguments.folder is not None else RUNS / file.experiment.name
    if arguments.check:
        say(f"{file.source} is valid: {_size(file, processes)}")
        return DONE
    try:
        if arguments.report:
            results = report(file, folder)
        else:
            with join_for_games(arguments.cluster, file.experiment.games) as cluster:
                if cluster is not None and arguments.processes is None:
                    processes = min(MOST_PROCESSES, cluster.processors)
                with _View(f"{file.source}: {_size(file, processes)}") as view:
                    results = run_experiment(
                        file,
                        folder,
                        processes=processes,
                        progress=view,
                        allow_code=code,
                        allow_programs=arguments.allow_program,
                        cluster=cluster,
                    )
    except KeyboardInterrupt:
        say(f"stopped; continue with: athenan experiment {' '.join(map(as_word, words))}")
        return STOPPED
    _print(results, folder, as_json=arguments.json)
    return DONE


def _print(results: ExperimentResults, folder: Path, *, as_json: bool) -> None:
    if as_json:
        print_json(results.to_json())
    else:
        output().print(results.tables(), soft_wrap=True)
    say(f"report: {folder / 'report.md'}" + ("" if results.complete else " (not finished: some games are missing)"))


def _size(file: ExperimentFile, processes: int) -> str:
    """Returns the amount of work as text."""
    from athenan_spiel.experiments.plan import Plan

    plan = Plan(file.experiment)
    trainings = plan.trainings()
    seconds = [training.config.seconds for training in trainings]
    known = [second for second in seconds if second is not None]
    length = f", {_length(sum(known) / processes)}, processes: {processes}" if len(known) == len(seconds) else ""
    return f"{len(trainings):,} trainings{length}, then {plan.match_count():,} games"


def _length(seconds: float) -> str:
    """Returns a duration in the largest unit that fits at least twice."""
    for unit, length in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} seconds"


class _View(ProgressView):
    """Progress of an experiment below a heading."""

    def __init__(self, heading: str) -> None:
        super().__init__()
        self._heading = heading

    def trainings(self, done: float, total: int) -> None:
        """Show the number of finished trainings, including fractions."""
        if self._heading:
            say(self._heading)
            self._heading = ""
        self.bar("trainings", float(done), total)

    def finished(self, training: Training) -> None:
        """Print a line about the finished training if there are no progress bars."""
        if self._lines:
            say(f"trained: {training.name} at {training.game}, repetition {training.repetition}")
