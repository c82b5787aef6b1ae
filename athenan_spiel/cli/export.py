"""`athenan export`: a run's agent as one file to be shared, and its network as ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from athenan_spiel.cli.console import progress, quoted, say
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.options import LudiiMemory
from athenan_spiel.cli.parsing import parse
from athenan_spiel.errors import ConfigError, printable, shown


@dataclass(frozen=True, kw_only=True)
class ExportArguments:
    """Write the agent of a run to one file, which every command accepts in place of the run: `athenan play FILE`,
    `athenan eval FILE@0.1s`.

    The file contains the network, the game and the training settings, and nothing about this machine. The run may be
    training meanwhile. --onnx also writes the network for other programs, or without --file only that.

    Example: athenan export runs/connect_four --file connect_four.safetensors
    """

    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """Run or one of its checkpoints: runs/NAME, runs/NAME#640, runs/NAME#best; with --onnx alone also the file of an
    agent."""
    file: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File of the agent; default: NAME.safetensors in the current folder."""
    onnx: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """File of the network as ONNX, with a description of its inputs and outputs. It needs the extra onnx; default: not
    written."""
    overwrite: tyro.conf.FlagCreatePairsOff[bool] = False
    """Replace existing files."""
    ludii_memory: LudiiMemory = None


def run(words: Sequence[str]) -> int:
    """Run `athenan export` with these words; returns the exit code."""
    arguments = parse(ExportArguments, words, "athenan export")
    from agents import parse_spec

    spec = parse_spec(arguments.run)
    if spec.bot != "athenan" or {*spec.params} - {"checkpoint", "matches", "best"}:
        raise ConfigError(f"expected a run such as runs/NAME or runs/NAME#640, got {shown(arguments.run)}")
    folder, which = str(spec.params["checkpoint"]), spec.which
    with progress().status("loading the agent"):
        from athenan_spiel.training.exporting import export_agent, export_onnx, require_new_file

        if arguments.onnx is not None and arguments.file is not None:
            require_new_file(arguments.file, arguments.overwrite)  # before the other one is written
        written = []
        if arguments.onnx is not None:
            written.append(export_onnx(folder, arguments.onnx, checkpoint=which, overwrite=arguments.overwrite))
        if arguments.file is not None or arguments.onnx is None:
            written.append(export_agent(folder, arguments.file, checkpoint=which, overwrite=arguments.overwrite))
    for path in written:
        print(f"{printable(str(path))}: {path.stat().st_size:,} bytes")
    if written[-1] != arguments.onnx:
        say(f"play against it: athenan play {quoted(written[-1])}")
    return DONE
