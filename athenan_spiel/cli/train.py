"""`athenan train`: starts a run, with a live view on standard error or its events on standard output."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Protocol

import tyro

from athenan_spiel.cli.console import as_word, in_words, progress, say
from athenan_spiel.cli.exit_codes import DONE, STOPPED
from athenan_spiel.cli.options import (
    AllowCode,
    AllowProgram,
    Cluster,
    LudiiMemory,
    Memory,
    Workers,
    duration_text,
    parse_duration,
    parse_memory,
    parse_workers,
    with_address,
)
from athenan_spiel.cli.parsing import option_value, parse
from athenan_spiel.cli.restarts import watched, without
from athenan_spiel.cli.settings import is_fitted, lists_presets, require_allowed, settings_to_start_from, to_fit
from athenan_spiel.config import MemoryConfig, TrainingConfig
from athenan_spiel.errors import ConfigError
from athenan_spiel.training.new_folder import new_folder
from athenan_spiel.training.presets import FITTED

if TYPE_CHECKING:
    from rich.status import Status

    from athenan_spiel.training import Callback, Run


@dataclass(frozen=True, kw_only=True)
class TrainArguments:
    """Train an agent on GAME and store it in a run folder.

    Ctrl-C, SIGTERM and SIGHUP save a checkpoint and stop the run; `athenan resume` continues it. Every setting of
    `config.toml` is an option (`--help-all`).

    Example: athenan train connect_four --preset quick --time 3m
    """

    common: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "settings to start from": ("preset", "config"),
        "length and folder": ("time", "matches", "folder"),
        "search and learning": ("search.algorithm", "search.iterations", "outcome", "seed"),
        "evaluation": ("evaluation.every_seconds", "evaluation.opponents"),
        "machine": ("workers", "memory"),
        "output": ("quiet", "json"),
    }
    """Options of the short help, by group."""

    game: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")]
    """OpenSpiel game string, such as connect_four or "hex(board_size=7)"; `athenan games` lists all games."""
    preset: Annotated[str, tyro.conf.arg(metavar="NAME")] = "quick"
    """Preset: quick, hour, day or td_lambda for any game, or a training of the papers; `athenan train --preset` lists
    all. Other options change single settings."""
    config: Annotated[str | None, tyro.conf.arg(metavar="FILE")] = None
    """TOML file to start from in place of --preset, such as the config.toml of another run, whose game is ignored."""
    time: Annotated[str | None, tyro.conf.arg(metavar="TIME")] = None
    """Training time, such as 90s, 3m or 1h30m. A limit given by --time or --matches replaces both limits of the preset;
    default: as in the preset."""
    workers: Workers = None
    """Worker processes, which play games while this process learns: a number, or auto for one per core. With 0 this
    process plays and learns in turn, and the run is bit-reproducible; default: auto for the presets for any game
    if only a time limit of at least a minute is set, on several cores without a GPU, else 0."""
    cluster: Cluster = None
    """Ray cluster of the workers: auto for the one running on this machine, HOST:PORT for one that this machine is a
    node of. Without ADDRESS a local cluster is started and stopped with the run. Without --workers there is one worker
    per core of the cluster; default: workers run on this machine, without Ray."""
    restarts: int = 0
    """Maximum number of restarts per hour. A run whose process is killed is resumed from its newest checkpoint."""
    memory: Memory = None
    """Memory budget of all processes of the run, such as 800m or 8g; default: no limit."""
    folder: Annotated[str | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Run folder, which must be new; default: runs/GAME."""
    quiet: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print errors only."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print each event as a line of JSON (docs/metrics.md)."""
    allow_code: AllowCode = ()
    """Custom outcome that the file of --config may name; --outcome allows its own. Repeatable."""
    allow_program: AllowProgram = ()
    """Command of an engine that the file of --config may name as an opponent of evaluations. Repeatable."""
    ludii_memory: LudiiMemory = None
    settings: Annotated[TrainingConfig, tyro.conf.arg(name="")] = field(default_factory=TrainingConfig)


def run(words: Sequence[str]) -> int:
    """Run `athenan train` with these words; returns the exit code."""
    if lists_presets(words):
        return DONE
    words = with_address(words)
    default = TrainArguments(game=tyro.MISSING, settings=settings_to_start_from(words))
    arguments = parse(TrainArguments, words, "athenan train", default, chosen=FITTED if is_fitted(words) else ())
    config = _limited(arguments.settings, words)
    require_allowed(config.outcome, arguments.allow_code, words)
    if arguments.restarts:
        return _watched(words, arguments, config)
    if arguments.memory is not None:
        config = dataclasses.replace(config, memory=MemoryConfig(bytes=parse_memory(arguments.memory)))
    workers = None if arguments.workers is None else parse_workers(arguments.workers, arguments.cluster)
    from athenan_spiel.games import load_game
    from athenan_spiel.outcomes import kind_called

    kind_called(config.outcome)  # reports an invalid name before Java starts
    game = load_game(arguments.game)
    folder = Path(arguments.folder) if arguments.folder is not None else new_folder(game.get_type().short_name)
    with starting(arguments):
        from athenan_spiel.training import train

        if workers is None and is_fitted(words) and option_value(words, "--workers.count") is None:
            from athenan_spiel.training.preflight import usual_workers

            workers = usual_workers(config, game)
    fit = to_fit(words, arguments.game)
    from_options = arguments.config is None or option_value(words, "--evaluation.opponents") is not None
    programs = None if from_options else arguments.allow_program
    return follow(
        lambda callbacks: train(
            game,
            config,
            folder,
            workers=workers,
            fit=fit,
            allow_programs=programs,
            callbacks=callbacks,
            cluster=arguments.cluster,
        ),
        folder,
        arguments,
    )


def _watched(words: Sequence[str], arguments: TrainArguments, config: TrainingConfig) -> int:
    """Train in a child process, which is restarted if it is killed."""
    from athenan_spiel.games.spec import read_spec

    folder = new_folder(read_spec(arguments.game.strip()).name) if arguments.folder is None else Path(arguments.folder)
    resume_words = [*_resume_words(folder, config, arguments.cluster), *said(arguments)]
    words = ["train", *without(without(words, "--restarts"), "--folder"), "--folder", in_words(folder)]
    return watched(words, folder, resume_words, arguments.restarts, quiet=arguments.quiet)


class OutputOptions(Protocol):
    """Options of the output of a training."""

    @property
    def quiet(self) -> bool:
        """Print errors only."""

    @property
    def json(self) -> bool:
        """Print events as lines of JSON."""

    @property
    def cluster(self) -> str | None:
        """Address of the cluster of the workers; None without one."""


def starting(output: OutputOptions) -> Status:
    """Return the status line shown while torch is loaded."""
    return progress(quiet=output.quiet or output.json or not sys.stderr.isatty()).status("starting")


def follow(start: Callable[[Sequence[Callback]], Run], folder: str | Path, output: OutputOptions) -> int:
    """Train by `start`, print the events of the run in `folder`, and return the exit code."""
    from athenan_spiel.training.callbacks import JsonLines, view
    from athenan_spiel.training.events import RunStarted
    from athenan_spiel.training.run_folder import CONFIG

    started: list[RunStarted] = []
    callbacks: list[Callback] = [lambda event: started.append(event) if isinstance(event, RunStarted) else None]
    if output.json:
        callbacks.append(JsonLines(sys.stdout))
    elif not output.quiet:
        callbacks.append(view(progress()))
    try:
        run = start(callbacks)
    except KeyboardInterrupt:
        if not started:  # nothing was learned
            raise
        command = _continue_with(folder, started[0].config, output.cluster)
        say(f"stopped at once: games since the last checkpoint are not saved, {command}")
        return STOPPED
    silent = output.quiet or output.json
    if run.reason == "stopped":
        if not silent:
            say(_continue_with(run.folder, run.config, output.cluster))
        return STOPPED
    if silent or not started:
        return DONE
    if run.config.limit_reached(started[0].matches, started[0].seconds) is not None:
        say(_limit_text(run, output.cluster))
    elif run.matches == started[0].matches and run.reason == "seconds":
        say(
            "no game ended in that time, so nothing was learned; resume with more --time, or with "
            f"matches_at_once = 1 in {as_word(in_words(run.folder / CONFIG))}"
        )
    return DONE


def _continue_with(folder: str | Path, config: TrainingConfig, cluster: str | None = None) -> str:
    """Return the command that continues a run, as a sentence."""
    return f"continue with: athenan {' '.join(map(as_word, _resume_words(folder, config, cluster)))}"


def _limit_text(run: Run, cluster: str | None) -> str:
    """Return the message about a run that had already reached its limit before this session."""
    if run.reason == "matches":
        limit, more = (
            f"{run.config.matches:,} game{'s' * (run.config.matches != 1)}",
            ["--matches", str(run.config.matches)],
        )
    else:
        limit = duration_text(run.config.seconds or 0.0)
        more = ["--time", limit]
    words = [*_resume_words(run.folder, run.config, cluster), *more]
    return f"training limit of {limit} reached; continue with: athenan {' '.join(map(as_word, words))}"


def _resume_words(folder: str | Path, config: TrainingConfig, cluster: str | None) -> list[str]:
    """Return the arguments that continue a run and allow its custom outcome and engines again."""
    from agents import parse_spec
    from athenan_spiel.errors import AthenanError

    words = ["resume", in_words(folder)]
    if cluster is not None:
        words += ["--cluster", cluster]
    if ":" in config.outcome:
        words += ["--allow-code", config.outcome]
    for text in config.evaluation.opponents if config.evaluation.asked else ():
        try:
            program = parse_spec(text).program
        except AthenanError:  # such as a deleted run
            continue
        words += [] if program is None else ["--allow-program", program]
    return words


def said(output: OutputOptions) -> list[str]:
    """Return the output options as arguments."""
    return ["--quiet"] * output.quiet + ["--json"] * output.json


def _limited(config: TrainingConfig, words: Sequence[str]) -> TrainingConfig:
    """Return `config` with the limits given as options, each of which replaces both limits of the preset."""
    time, seconds, matches = (option_value(words, option) for option in ("--time", "--seconds", "--matches"))
    if time is not None and seconds is not None:
        raise ConfigError("expected --time or --seconds, which are the same, got both")
    if time is None and seconds is None and matches is None:
        return config
    return dataclasses.replace(
        config,
        seconds=parse_duration(time) if time is not None else config.seconds if seconds is not None else None,
        matches=config.matches if matches is not None else None,
    )
