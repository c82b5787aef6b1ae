"""`athenan resume`: continues a run exactly from its last checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from athenan_spiel.cli.console import in_words
from athenan_spiel.cli.options import (
    AllowCode,
    AllowProgram,
    Cluster,
    LudiiMemory,
    Memory,
    Workers,
    allowed,
    parse_duration,
    parse_memory,
    parse_workers,
    with_address,
)
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.restarts import watched, without
from athenan_spiel.cli.train import follow, said, starting


@dataclass(frozen=True, kw_only=True)
class ResumeArguments:
    """Resume the run in the folder RUN, after Ctrl-C, a crash, or its end.

    Without options the run continues to the limits in its config.toml.

    Example: athenan resume runs/connect_four --time 10m
    """

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Run folder."""
    time: Annotated[str | None, tyro.conf.arg(metavar="TIME")] = None
    """Additional training time, such as 90s, 3m or 1h30m; default: up to the limit in config.toml."""
    matches: int | None = None
    """Number of additional games; default: up to the limit in config.toml."""
    start: Annotated[int | None, tyro.conf.arg(name="from", metavar="MATCHES")] = None
    """Number of the checkpoint to continue from. Later checkpoints are renamed and no longer used; default: the
    newest."""
    workers: Workers = None
    """Worker processes from now on: a number, or auto for one per core. With 0 this process plays and learns in turn;
    default: as in config.toml."""
    cluster: Cluster = None
    """Ray cluster of the workers from now on: auto, HOST:PORT, or without ADDRESS a local one, as for `athenan train`;
    default: workers run on this machine, without Ray."""
    restarts: int = 0
    """Maximum number of restarts per hour. A run whose process is killed is resumed from its newest checkpoint."""
    memory: Memory = None
    """Memory budget of all processes from now on, such as 800m or 8g; default: as in config.toml."""
    quiet: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print errors only."""
    json: tyro.conf.FlagCreatePairsOff[bool] = False
    """Print each event as a line of JSON (docs/metrics.md)."""
    allow_code: AllowCode = ()
    """Custom outcome of the run, which is not imported without this option. Repeatable."""
    allow_program: AllowProgram = ()
    """Command of an engine among the opponents of evaluations, as in config.toml. Repeatable."""
    ludii_memory: LudiiMemory = None


def run(words: Sequence[str]) -> int:
    """Run `athenan resume` with these words; returns the exit code."""
    arguments = parse(ResumeArguments, with_address(words), "athenan resume")
    if arguments.restarts:
        resume_words = ["resume", in_words(arguments.run), *said(arguments)]
        resume_words += [word for code in arguments.allow_code for word in ("--allow-code", code)]
        resume_words += [word for program in arguments.allow_program for word in ("--allow-program", program)]
        resume_words += [] if arguments.cluster is None else ["--cluster", arguments.cluster]
        words = ["resume", *without(with_address(words), "--restarts")]
        return watched(words, Path(arguments.run), resume_words, arguments.restarts, quiet=arguments.quiet)
    more_seconds = parse_duration(arguments.time) if arguments.time is not None else None
    code = allowed(arguments.allow_code)
    with starting(arguments):
        from athenan_spiel.training import resume

    return follow(
        lambda callbacks: resume(
            arguments.run,
            more_matches=arguments.matches,
            more_seconds=more_seconds,
            checkpoint=arguments.start,
            workers=None if arguments.workers is None else parse_workers(arguments.workers, arguments.cluster),
            memory=None if arguments.memory is None else parse_memory(arguments.memory),
            outcome=code,
            allow_programs=arguments.allow_program,
            callbacks=callbacks,
            cluster=arguments.cluster,
        ),
        arguments.run,
        arguments,
    )
