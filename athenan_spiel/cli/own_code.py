"""Options that allow a command to execute custom outcomes, and engines named in a file.

An outcome "module:name" is imported only if `--outcome` or `--allow-code` names it, never because a run folder or a
settings file does. With such an option the current folder is searched too, after all installed packages.

A program (`gtp:`, `uci:`, `aei:`) named in a file is started only if `--allow-program` gives its command.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Annotated

import tyro

from athenan_spiel.errors import ConfigError, shown

AllowCode = Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="MODULE:NAME")]
"""Type of the repeatable option `--allow-code`."""
AllowProgram = Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="COMMAND")]
"""Type of the repeatable option `--allow-program`."""
_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def allowed(names: Sequence[str]) -> tuple[str, ...]:
    """Check names of code given by the user, and let their modules be in the current folder.

    Raises:
        ConfigError: one is not of the form "module:name".
    """
    for name in names:
        if not _PATH.fullmatch(name):
            raise ConfigError(f"expected code as module:name, such as my_module:material, got {shown(name)}")
    if names and "" not in sys.path:
        sys.path.append("")
    return tuple(names)
