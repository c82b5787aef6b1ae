"""What every case has to keep, whatever it was given: the invariants, each a line of complaint where it was broken."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

from forked import Ended

from athenan_spiel.cli import exit_codes
from athenan_spiel.cli.main import LONGEST_LINE as LONGEST_LINE_CUT

EXIT_CODES = {code for name, code in vars(exit_codes).items() if name.isupper()} - {exit_codes.BROKEN_PIPE}
"""The codes that docs/reliability.md lists; nobody closes a pipe here."""
LONGEST_MESSAGE = 2000
"""Characters of an error of the library."""
LONGEST_LINE = LONGEST_LINE_CUT + 50
"""Characters of a line of a refusal; it begins with the command, and ends with three points where it was cut."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_WARNING = re.compile(r"\b\w*Warning: ")
_ANYWHERE = ("/dev/", "/proc/", "/sys/")
"""What is opened here is no file of anybody's."""
_HARMLESS_STARTS = re.compile(r"fc-list|127\.0\.0\.1', 9\b")
"""matplotlib looks for fonts; the sandbox's proxy is asked for a download."""
_IDLE_IMPORTS = re.compile(r"^(_|apport_python_hook|sitecustomize|usercustomize|org\b|java\b)")


def broken(ended: Ended, root: Path) -> Iterator[str]:
    """What any case broke: each line is the invariant's name, a colon, and what was seen.

    Args:
        root: of the sandbox; what the case writes lies below.
    """
    if ended.hung:
        yield f"hang: still ran after {ended.seconds:.0f} s"
    elif ended.idle:
        yield "hang: waited for what never came, until Ctrl-C"
    if ended.megabytes:
        yield f"memory: {ended.megabytes:,.0f} MB"
    elif ended.code < 0 and not ended.hung and not (ended.interrupted and ended.code == -signal.SIGINT):
        yield f"crash: ended by signal {-ended.code}"
    if "Traceback (most recent call last)" in ended.stderr + ended.stdout:
        yield f"traceback: {last_line(ended.stderr)}"
    for kind, what in ended.deeds:
        if kind == "write" and not what.startswith((f"{root}/", *_ANYWHERE)):
            yield f"outside: opened {what} for writing"
        elif kind == "start" and not _HARMLESS_STARTS.search(what):
            yield f"code: started {what}"
    modules = sorted({what for kind, what in ended.deeds if kind == "import" and not _IDLE_IMPORTS.match(what)})
    if modules:
        yield f"code: the current folder could have brought the module {modules[0]}, one of {len(modules)}"


def broken_by_line(ended: Ended, words: Sequence[str]) -> Iterator[str]:
    """What a command line broke beyond that, in what it printed and how it ended."""
    if ended.hung or ended.code < 0 or "Traceback (most" in ended.stderr:
        return
    if ended.code not in EXIT_CODES:
        yield f"exit code: {ended.code}"
    if found := _CONTROL.search(ended.stdout + ended.stderr.replace("\r", "")):
        yield f"control: printed the character {found[0]!r}"
    if found := _WARNING.search(ended.stderr):
        yield f"warning: {found[0]}{ended.stderr[found.end() :][:100]!r}"
    if "--help" in words or "-h" in words:
        return
    if ended.code == exit_codes.BAD_INPUT:
        yield from _broken_by_message(ended, words)
    documents = ended.stdout.splitlines() if words[0] in ("train", "resume") else [ended.stdout]
    if "--json" in words and ended.stdout and not all(map(_is_json, documents)):
        yield f"json: {ended.stdout[:80]!r}"


def _broken_by_message(ended: Ended, words: Sequence[str]) -> Iterator[str]:
    """A refusal is one or two lines, at the end of standard error, and nothing else is printed but what went before."""
    lines = ended.stderr.splitlines()
    first = next((i for i in reversed(range(len(lines))) if lines[i].startswith(("athenan", "stopped at once"))), None)
    if not words:  # then the help is printed
        return
    if first is None:
        yield f"message: none, but {ended.stderr[-200:]!r}"
    elif len(lines) - first > 2:
        yield f"message: {len(lines) - first} lines, {ended.stderr[-200:]!r}"
    elif (longest := max(map(len, lines[first:]))) > LONGEST_LINE:
        yield f"message: {longest:,} characters, {lines[first][:200]!r}"
    elif not re.search(r": \S", lines[first]) and not lines[first].startswith("stopped"):
        yield f"message: empty, {lines[first][:200]!r}"
    if ended.stdout and words[0] != "play":
        yield f"stdout: {ended.stdout[:80]!r} beside a refusal"


def last_line(text: str) -> str:
    """The last line of `text` that says something, at a length to be shown."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")[:300]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
