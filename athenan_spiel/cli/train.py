"""`athenan train`: a new training run, with a live view on standard error or its events on standard output."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

import tyro

from athenan_spiel.cli.console import as_word, progress, quoted, say
from athenan_spiel.cli.durations import parse_duration
from athenan_spiel.cli.exit_codes import BAD_INPUT, DONE, STOPPED
from athenan_spiel.cli.java import LudiiMemory
from athenan_spiel.cli.own_code import AllowCode, AllowProgram, allowed
from athenan_spiel.cli.parsing import option_value, parse
from athenan_spiel.cli.workers import Workers, parse_workers, usual_workers
from athenan_spiel.config import TrainingConfig
from athenan_spiel.errors import ConfigError
from athenan_spiel.training.new_folder import new_folder

if TYPE_CHECKING:
    from rich.status import Status

    from athenan_spiel.training import Listener, Run


@dataclass(frozen=True, kw_only=True)
class TrainArguments:
    """Train an agent on GAME, into a run folder. Ctrl-C, SIGTERM and SIGHUP save and stop; `athenan resume` goes on.

    Example: athenan train connect_four --preset quick --time 3m
    """

    game: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="GAME")]
    """An OpenSpiel game string, such as connect_four or "hex(board_size=7)"; `athenan games` lists them."""
    preset: Annotated[str, tyro.conf.arg(metavar="NAME")] = "quick"
    """Settings to start from: minutes on two cores, or a set-up of the papers; `athenan train --preset` lists them.
    Options below change single ones."""
    config: str | None = None
    """A TOML file of settings to start from instead, such as another run's config.toml (its game does not count)."""
    time: Annotated[str | None, tyro.conf.arg(metavar="TIME")] = None
    """Training time, such as 90s, 3m or 1h30m. Without --matches, it is the only limit; and the other way round."""
    workers: Workers = None
    """Processes that play matches while this one learns: a number, or auto for one for each core; 0: this process plays
    and learns in turn, reproducible to the bit. By default auto with the preset quick and a minute or more, else 0."""
    folder: str | None = None
    """The run folder; by default runs/ and the name of the game."""
    quiet: tyro.conf.FlagCreatePairsOff[bool] = False
    """Say nothing but what goes wrong."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print each event as a line of JSON (docs/metrics.md), and nothing else but what goes wrong."""
    allow_code: AllowCode = ()
    """An outcome of yours that the file of --config may name; what --outcome names is allowed by that."""
    allow_program: AllowProgram = ()
    """The command of an engine that the file of --config names among the opponents of evaluations."""
    ludii_memory: LudiiMemory = None
    settings: Annotated[TrainingConfig, tyro.conf.arg(name="")] = field(default_factory=TrainingConfig)


def run(words: Sequence[str]) -> int:
    """Run `athenan train` with these words; returns the exit code."""
    if words and words[-1] == "--preset":
        _list_presets()
        return DONE
    default = TrainArguments(game=tyro.MISSING, settings=_start(words))
    arguments = parse(TrainArguments, words, "athenan train", default)
    config = _limited(arguments.settings, words)
    workers = arguments.workers
    if workers is None and _is_quick(arguments) and option_value(words, "--workers.count") is None:
        workers = usual_workers(config)
    if workers is not None:
        config = _with_workers(config, parse_workers(workers), arguments.game)
    _require_allowed(config.outcome, arguments.allow_code, option_value(words, "--outcome"))
    from athenan_spiel.games import load_game
    from athenan_spiel.outcomes import kind_called

    kind_called(config.outcome)  # a wrong name is told before Java starts
    game = load_game(arguments.game)
    folder = Path(arguments.folder) if arguments.folder is not None else new_folder(game.get_type().short_name)
    with starting(arguments):
        from athenan_spiel.training import train

    fit = _to_fit(words, arguments)
    own = arguments.config is None or option_value(words, "--evaluation.opponents") is not None
    programs = None if own else arguments.allow_program
    return follow(
        lambda listeners: train(game, config, folder, fit=fit, allow_programs=programs, listeners=listeners),
        folder,
        arguments,
    )


class Output(Protocol):
    """The options on what is said of a run."""

    @property
    def quiet(self) -> bool:
        """Nothing but what goes wrong."""

    @property
    def json(self) -> bool:
        """The events on standard output, and else nothing but what goes wrong."""


def starting(output: Output) -> Status:
    """What is shown at a terminal while torch is loaded."""
    return progress(quiet=output.quiet or output.json or not sys.stderr.isatty()).status("starting")


def follow(start: Callable[[Sequence[Listener]], Run], folder: str | Path, output: Output) -> int:
    """Train by `start`, say what happens to the run in `folder` as `output` wants it, and return the exit code."""
    from athenan_spiel.training.events import RunStarted
    from athenan_spiel.training.listeners import JsonLines, view

    begun: list[RunStarted] = []
    listeners: list[Listener] = [lambda event: begun.append(event) if isinstance(event, RunStarted) else None]
    if output.json:
        listeners.append(JsonLines(sys.stdout))
    elif not output.quiet:
        listeners.append(view(progress()))
    try:
        run = start(listeners)
    except KeyboardInterrupt:
        if not begun:  # nothing was learned
            raise
        say(f"stopped at once; the last checkpoint is kept, {_go_on_with(folder, begun[0].config)}")
        return BAD_INPUT
    silent = output.quiet or output.json
    if run.reason == "stopped":
        if not silent:
            say(_go_on_with(run.folder, run.config))
        return STOPPED
    if begun and run.matches == begun[0].matches and run.reason == "seconds" and not silent:
        say("no match came to its end in that time, so nothing was learned; give more, or try --matches-at-once 1")
    return DONE


def _go_on_with(folder: str | Path, config: TrainingConfig) -> str:
    """The command that goes on with a run of these settings, whose code and programs have to be allowed again."""
    from agents import parse_word
    from athenan_spiel.errors import AthenanError

    code = f" --allow-code {quoted(config.outcome)}" if ":" in config.outcome else ""
    programs = ""
    for text in config.evaluation.opponents if config.evaluation.asked else ():
        try:
            program = parse_word(text).program
        except AthenanError:  # such as a run that is gone by now
            continue
        programs += "" if program is None else f" --allow-program {as_word(program)}"
    return f"go on with: athenan resume {quoted(folder)}{code}{programs}"


def _require_allowed(outcome: str, allow_code: Sequence[str], said: str | None) -> None:
    """Refuse an outcome that has to be imported and that a file alone names."""
    names = allowed([*allow_code, *([said] if said is not None and ":" in said else [])])
    if ":" in outcome and outcome not in names:
        from athenan_spiel.outcomes import not_allowed

        raise not_allowed(outcome)


def _start(words: Sequence[str]) -> TrainingConfig:
    """The settings that the options change: those of --config, else of --preset."""
    name, file = option_value(words, "--preset"), option_value(words, "--config")
    if file is None:
        from athenan_spiel.training.presets import preset

        return preset("quick" if name is None else name)
    if name is not None:
        raise ConfigError("expected --preset or --config to start from, got both")
    from athenan_spiel.training.settings_file import read_text, read_users_toml

    return read_text(read_users_toml(file), file)[1]


def _list_presets() -> None:
    from athenan_spiel.training.presets import ALL

    width = max(map(len, ALL))
    for name, preset in ALL.items():
        print(f"{name:{width}}  {preset.about}")


def _with_workers(config: TrainingConfig, count: int | Literal["auto"], game: str) -> TrainingConfig:
    from athenan_spiel.training.means import worker_count

    return dataclasses.replace(config, workers=dataclasses.replace(config.workers, count=worker_count(count, game)))


def _is_quick(arguments: TrainArguments) -> bool:
    return arguments.config is None and arguments.preset == "quick"


def _to_fit(words: Sequence[str], arguments: TrainArguments) -> list[str]:
    """What is made to fit the game: with the preset `quick`, all that no word says."""
    from athenan_spiel.games.spec import read_spec
    from athenan_spiel.training.fitting import FITTED

    if not _is_quick(arguments):
        return []
    written = [word.replace("-", "_").replace("__", "--", 1) for word in words]  # either is understood
    said = {name for name in FITTED if option_value(written, f"--{name}") is not None}
    return [name for name in FITTED if name not in said | read_spec(arguments.game.strip()).parameters.keys()]


def _limited(config: TrainingConfig, words: Sequence[str]) -> TrainingConfig:
    """`config` with the limits that were given in words; each one takes the place of both that it started with."""
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
