"""The options of all subcommands, read off their own help: what a shell completes."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from athenan_spiel.cli.main import COMMANDS
from athenan_spiel.training.presets import PRESETS

WITHIN = {"ludii": ("sweep",)}
"""What stands before further options of a subcommand."""
FOLDERS = ("RUN", "FOLDER")
"""What words are called that are folders; any other may be a file."""
COLUMNS = "80"
"""Of the help, which is narrow enough that its boxes stand one below the other."""
_HEADER = re.compile(
    r"^[│ ] (?:-h, )?(?P<names>--[a-z][\w.-]*(?:, --[a-z][\w.-]*)*)(?: (?P<value>[A-Z{\[|a-z].*?))?(?:  |$)"
)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Option:
    """An option: its name with the dashes, what it does, whether a value follows, and the values if they are known."""

    name: str
    summary: str
    takes_value: bool
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Subcommand:
    """A subcommand: its name, what it does, its options, and what its first word is: one of some, or else a file."""

    name: str
    summary: str
    options: tuple[Option, ...]
    words: tuple[str, ...]
    takes_folder: bool


def subcommands() -> list[Subcommand]:
    """All of them; takes a second or two, as each has to write its help."""
    return [_subcommand(name, summary) for name, summary in COMMANDS.items()]


def _subcommand(name: str, summary: str) -> Subcommand:
    told = _help(name)
    options = {option.name: option for option in _options(told)}
    for word in WITHIN.get(name, ()):
        options = {option.name: option for option in _options(_help(name, word))} | options
    first = _first_word(told)
    words = tuple(first.split("|")) if re.fullmatch(r"[a-z]+(\|[a-z]+)+", first) else ()
    return Subcommand(name, summary, tuple(options.values()), words, first in FOLDERS)


def _help(*words: str) -> str:
    told = io.StringIO()
    with _narrow(), contextlib.redirect_stdout(told), contextlib.suppress(SystemExit):
        importlib.import_module(f"athenan_spiel.cli.{words[0]}").run([*words[1:], "--help"])
    return _ANSI.sub("", told.getvalue())


@contextlib.contextmanager
def _narrow() -> Iterator[None]:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = COLUMNS
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def _options(told: str) -> list[Option]:
    rows = told.splitlines()
    found = []
    for i, row in enumerate(rows):
        if match := _HEADER.match(row.removesuffix("│").rstrip()):
            value = (match["value"] or "").strip()
            choices = tuple(value[1:-1].split(",")) if re.fullmatch(r"\{[^{}]+\}", value) else ()
            if match["names"] == "--preset":
                choices = tuple(PRESETS)
            summary = _summary([row[match.end() :], *rows[i + 1 :]])
            found += [Option(name, summary, bool(value), choices) for name in match["names"].split(", ")]
    return found


def _summary(rows: list[str]) -> str:
    """The first sentence of an option's help, which goes to where another option or the end of the box is."""
    said: list[str] = []
    for row in rows:
        text = row.strip("│ ")
        if said and (row.startswith(("│ -", "  -", "╰")) or not text):
            break
        said.append(text)
    whole = re.sub(r"\s*\((?:default|required|repeatable).*", "", " ".join(said).strip())
    return re.split(r"(?<=\w)[.;](?:\s|$)", whole)[0]


def _first_word(told: str) -> str:
    rows = told.splitlines()
    start = next((i for i, row in enumerate(rows) if "positional arguments" in row), None)
    boxed = [] if start is None else [text for row in rows[start + 1 :] if (text := row.strip("│ -"))]
    return boxed[0].split(" ")[0] if boxed else ""
