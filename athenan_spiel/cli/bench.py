"""`athenan bench`: measures this machine on a game."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar

import tyro

from athenan_spiel.cli.bench_tables import heading, tables_of
from athenan_spiel.cli.console import output, print_json
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.options import AllowCode, LudiiMemory, parse_duration, parse_workers
from athenan_spiel.cli.parsing import option_value, parse
from athenan_spiel.cli.settings import is_fitted, lists_presets, require_allowed, settings_to_start_from, to_fit
from athenan_spiel.cli.waiting import Waiting
from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import ConfigError
from athenan_spiel.measuring.report import PARTS, SECONDS, Part
from athenan_spiel.training.presets import FITTED

if TYPE_CHECKING:
    from athenan_spiel.measuring.report import Report


@dataclass(frozen=True, kw_only=True)
class BenchArguments:
    """Measure this machine on GAME: the network by batch size on every available engine, the search with and without
    the network, the learner, a training with and without workers, and the memory of a tree node and of a training
    sample.

    The settings are those of `athenan train`; limits of the run, warm-up, phases and evaluations are ignored. Other
    programs that run at the same time change the results. docs/scaling.md explains each number.

    Example: athenan bench "hex(board_size=7)" --only search learner --time 20s
    """

    common: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "measurement": ("time", "only", "workers"),
        "settings": ("preset", "config"),
        "output": ("json",),
    }
    """Options of the short help, by group."""

    game: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")] = "connect_four"
    """OpenSpiel game string."""
    preset: Annotated[str, tyro.conf.arg(metavar="NAME")] = "quick"
    """Preset of the settings; `athenan bench --preset` lists all. Other options change single settings."""
    config: str | None = None
    """TOML file of settings in place of a preset, such as a run's config.toml."""
    time: Annotated[str | None, tyro.conf.arg(metavar="TIME")] = None
    """Total time of the measurements, such as 20s or 5m. Start-up and compilation take extra time; default: 40s."""
    only: Annotated[tuple[Part, ...], tyro.conf.arg(metavar="PART [PART ...]")] = PARTS
    """Parts to measure: network, search, learner, training, memory."""
    workers: Annotated[tuple[str, ...], tyro.conf.arg(metavar="N [N ...]")] = ()
    """Numbers of worker processes to measure a training with, or auto; 0: the learning process plays;
    default: 0, 1, half of auto, auto."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print one JSON document."""
    allow_code: AllowCode = ()
    """Custom outcome that the file of --config may name; --outcome needs no permission."""
    ludii_memory: LudiiMemory = None
    settings: Annotated[TrainingConfig, tyro.conf.arg(name="")] = field(default_factory=TrainingConfig)


def run(words: Sequence[str]) -> int:
    """Run `athenan bench` with these arguments; returns the exit code."""
    if lists_presets(words):
        return DONE
    start = dataclasses.replace(settings_to_start_from(words), matches=None, seconds=SECONDS)
    chosen = FITTED if is_fitted(words) else ()
    arguments = parse(BenchArguments, words, "athenan bench", BenchArguments(settings=start), chosen)
    config, seconds = arguments.settings, _seconds(arguments, words)
    counts = [parse_workers(text) for text in dict.fromkeys(arguments.workers)]
    require_allowed(config.outcome, arguments.allow_code, words)
    from athenan_spiel.games import load_game
    from athenan_spiel.outcomes import kind_called

    kind_called(config.outcome)  # reports a wrong name before Java starts
    game = load_game(arguments.game)
    with _View(seconds, quiet=arguments.json) as view:
        from athenan_spiel.measuring import bench
        from athenan_spiel.training.preflight import worker_count

        workers = [worker_count(count, arguments.game) for count in counts] or None
        fit = to_fit(words, arguments.game)
        report = bench(game, config, seconds=seconds, parts=arguments.only, workers=workers, fit=fit, tell=view.show)
        view.print_new(report)
    if arguments.json:
        print_json(report.document())
    return DONE


def _seconds(arguments: BenchArguments, words: Sequence[str]) -> float:
    if arguments.settings.matches is not None:
        raise ConfigError.at(
            "matches", f"must be none, as measurements end by their time, got {arguments.settings.matches!r}"
        )
    if arguments.time is None:
        if arguments.settings.seconds is None:
            raise ConfigError.at("seconds", "must be a number here, got none")
        return arguments.settings.seconds
    if option_value(words, "--seconds") is not None:
        raise ConfigError("expected --time or --seconds, which are the same, got both")
    return parse_duration(arguments.time)


class _View:
    """Prints the tables of each part as soon as it is measured.

    On a terminal, a line below shows the current measurement and the remaining time.
    """

    def __init__(self, seconds: float, *, quiet: bool) -> None:
        self._quiet = quiet
        self._shown: set[Part] = set()
        self._output = output()
        self._waiting = Waiting("starting", seconds, quiet=quiet)

    def __enter__(self) -> _View:
        self._waiting.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._waiting.stop()

    def show(self, report: Report, measurement: str) -> None:
        """Print new parts, and show the current measurement."""
        self.print_new(report)
        self._waiting.update(measurement)

    def print_new(self, report: Report) -> None:
        """Print the parts that were not printed yet."""
        new = [part for part in PARTS if getattr(report, part) is not None and part not in self._shown]
        if self._quiet or not new:
            return
        self._waiting.stop()
        if not self._shown:
            self._output.print(heading(report))
        for part in new:
            for table in tables_of(report, part):
                self._output.print()
                self._output.print(table)
        self._shown.update(new)
        self._waiting.start()
