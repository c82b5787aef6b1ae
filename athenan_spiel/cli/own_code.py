"""What the words of a command allow to be executed: outcomes of the user's own, and engines that a file names.

Outcomes "module:name" come by `--outcome` or `--allow-code`. Only what is named there is ever imported; a name in a
run's folder or in a file of settings is not. The current folder is searched, too, after all that is installed, and
only then: without such a word nothing is imported from it.

Programs (`gtp:`, `uci:`, `aei:`) that stand in a file are begun only where `--allow-program` says their command.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Annotated

import tyro

from athenan_spiel.errors import ConfigError, shown

AllowCode = Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="MODULE:NAME")]
"""The type of an option `--allow-code`, which may be said again and again."""
AllowProgram = Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="COMMAND")]
"""The type of an option `--allow-program`, which may be said again and again."""
_PATH = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def allowed(names: Sequence[str]) -> tuple[str, ...]:
    """`names` of code, which the user has said in this call; their modules may be in the current folder.

    Raises:
        ConfigError: one is not of the form "module:name".
    """
    for name in names:
        if not _PATH.fullmatch(name):
            raise ConfigError(f"expected code as module:name, such as my_module:material, got {shown(name)}")
    if names and "" not in sys.path:
        sys.path.append("")
    return tuple(names)
