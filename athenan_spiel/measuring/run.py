"""Runs all measurements of a game on this machine."""

from __future__ import annotations

import dataclasses
import functools
import platform
from collections.abc import Callable, Collection, Sequence
from importlib import metadata
from typing import Any

import pyspiel
import torch

import athenan_spiel
from athenan_spiel.arguments import is_number, require_callable, require_kind
from athenan_spiel.config import TrainingConfig
from athenan_spiel.config.settings import LONGEST
from athenan_spiel.engines import make_engine
from athenan_spiel.errors import ConfigError, nearest, shown
from athenan_spiel.games import given_game
from athenan_spiel.measuring.learners import learner_speeds
from athenan_spiel.measuring.memories import memory
from athenan_spiel.measuring.networks import network_speeds
from athenan_spiel.measuring.report import PARTS, SECONDS, Machine, Part, Report
from athenan_spiel.measuring.searches import search_speeds
from athenan_spiel.measuring.subject import Subject
from athenan_spiel.measuring.trainings import training_speeds, with_workers
from athenan_spiel.system import machine
from athenan_spiel.training.fitting import fit_names, fit_to, measure
from athenan_spiel.training.preflight import worker_count
from athenan_spiel.training.presets import QUICK

WEIGHTS: dict[Part, float] = {"network": 4, "search": 3, "learner": 3, "training": 9, "memory": 1}
"""Relative times of the parts."""
Tell = Callable[[Report, str], object]
"""Called with the results so far and a description of the next measurement."""


def bench(
    game: pyspiel.Game | str = "connect_four",
    config: TrainingConfig | None = None,
    *,
    seconds: float = SECONDS,
    parts: Collection[Part] = PARTS,
    workers: Sequence[int] | None = None,
    fit: Collection[str] | None = None,
    tell: Tell = lambda report, what: None,
) -> Report:
    """Measures this machine on a game.

    Args:
        config: settings of a training, by default the preset `quick`. Limits of a run, warm-up, phases and evaluations
            are ignored.
        seconds: total time of the measurements. Start-up, compilation and loading take additional time, and each
            measurement takes at least one call, batch or round.
        parts: parts of the report to measure.
        workers: numbers of worker processes, each measured with a whole training; 0: the learning process plays. By
            default 0, 1, half of the number that `--workers auto` uses, and that number.
        fit: as for `train`.

    Raises:
        UnsupportedGameError, ConfigError: as `train`, or an argument is out of range.
        LearningError: the loss is not finite.
        KeyboardInterrupt: Ctrl-C was pressed, or another signal asked to stop.
    """
    requested, game = game, given_game(game)
    require_kind("config", config, TrainingConfig, ConfigError, or_none=True)
    require_kind("workers", workers, Sequence, ConfigError, or_none=True)
    require_callable("tell", tell, ConfigError)
    names = fit_names(fit, requested, fits=config is None)
    wanted = _wanted(parts)
    if not (is_number(seconds) and 0 < seconds <= LONGEST):
        raise ConfigError(f"seconds must be more than zero and at most {LONGEST:,}, got {shown(seconds)}")
    config = QUICK if config is None else config
    counts = _usual_workers(str(game)) if workers is None else workers
    if not counts:
        raise ConfigError(f"workers must contain at least one number, got {shown(counts)}")
    for count in counts:
        with_workers(config, count)  # raises before anything is measured
    choice = None
    if names:
        game, config, choice = fit_to(game, config, measure(game), names)
    subject = Subject(game, with_workers(config, 0))
    report = Report(
        machine=this_machine(),
        game=str(game),
        config=config,
        choice=choice,
        model=subject.learner.network.description,
        engine=make_engine(config.engine, subject.learner.encoder.shape).name,
    )
    total = sum(WEIGHTS[part] for part in wanted)
    for part in wanted:
        share = seconds * WEIGHTS[part] / total
        found = _measured(part, subject, counts, share, functools.partial(tell, report))
        report = dataclasses.replace(report, **{part: found})
    return report


def this_machine() -> Machine:
    """Returns the description of this machine."""
    try:
        openvino = metadata.version("openvino")
    except metadata.PackageNotFoundError:
        openvino = None
    return Machine(
        processor=machine.processor(),
        cores=machine.cores(),
        instructions=tuple(machine.instructions()),
        memory=machine.memory(),
        device=torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        torch=torch.__version__,
        openvino=openvino,
        athenan_spiel=athenan_spiel.__version__,
    )


def _measured(
    part: Part, subject: Subject, workers: Sequence[int], seconds: float, say: Callable[[str], object]
) -> Any:
    match part:
        case "network":
            return tuple(network_speeds(subject, seconds, say))
        case "search":
            return tuple(search_speeds(subject, seconds, say))
        case "learner":
            return tuple(learner_speeds(subject, seconds, say))
        case "training":
            return tuple(training_speeds(subject, workers, seconds, say))
        case "memory":
            return memory(subject, seconds, say)


def _usual_workers(game: str) -> list[int]:
    most = worker_count("auto", game)
    return sorted({0, 1, max(1, most // 2), most})


def _wanted(parts: Collection[Part]) -> list[Part]:
    """Returns the requested parts in the order of `PARTS`."""
    if isinstance(parts, str) or not isinstance(parts, Collection) or not parts:
        raise ConfigError(f"parts must contain some of {', '.join(PARTS)}, got {shown(parts)}")
    for part in parts:
        if part not in PARTS:
            raise ConfigError(f"parts must be among {', '.join(PARTS)}, got {shown(part)}{nearest(part, PARTS)}")
    return [part for part in PARTS if part in parts]
