"""`athenan completion`: what lets a shell complete subcommands, their options and values, names of files and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from athenan_spiel.cli.completion_scripts import SCRIPTS
from athenan_spiel.cli.exit_codes import DONE
from athenan_spiel.cli.parsing import parse
from athenan_spiel.errors import ConfigError, nearest, shown


@dataclass(frozen=True, kw_only=True)
class CompletionArguments:
    """Print what lets a shell complete the words of `athenan`; docs/using.md says where each shell looks for it.

    Example: athenan completion bash
    """

    shell: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="bash|zsh|fish")]
    """The shell."""


def run(words: Sequence[str]) -> int:
    """Run `athenan completion` with these words; returns the exit code."""
    arguments = parse(CompletionArguments, words, "athenan completion")
    if arguments.shell not in SCRIPTS:
        got = f"{shown(arguments.shell)}{nearest(arguments.shell, SCRIPTS)}"
        raise ConfigError(f"expected the name of a shell, {', '.join(SCRIPTS)}, got {got}")
    from athenan_spiel.cli.options import subcommands

    print(SCRIPTS[arguments.shell](subcommands()), end="")
    return DONE
