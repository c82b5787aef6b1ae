"""Line numbers of the keys of a TOML text, which `tomllib` doesn't provide.

The text is valid TOML with line feeds. A key inside an inline table has the line of the table.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator

KeyPath = tuple[str, ...]

_STRING = r'"(?:\\.|[^"\\])*"|' + r"'[^']*'"
_KEY = rf"(?:{_STRING}|[A-Za-z0-9_-]+)"
_DOTTED = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEADER = re.compile(rf"\s*\[\[?\s*({_DOTTED})\s*\]")
_SETTING = re.compile(rf"\s*({_DOTTED})\s*=")
_BRACKET_OR_OTHER = re.compile(r""""(?:\\.|[^"\\])*+"?|'[^']*+'?|#.*|[\[\]{}]""")
"""An unclosed string extends to the end of the line. Searching for its end from each of its quotes took a minute for a
line with 30,000 escaped quotes."""

_LONG_STRING = r'"""(?:\\.|"{1,2}(?!")|[^"\\])*+(?:"{3,5})?' + r"|'''(?:'{1,2}(?!')|[^'])*+(?:'{3,5})?"
_LONG_STRING_OR_OTHER = re.compile(rf"(?P<long>{_LONG_STRING})|{_STRING}|#[^\n]*", re.DOTALL)


def key_lines(text: str) -> Iterator[tuple[int, KeyPath]]:
    """Yield each line that sets a key or opens a table: its number, from 1, and the full path."""
    table: KeyPath = ()
    depth = 0  # of brackets that are open since an earlier line
    short = _LONG_STRING_OR_OTHER.sub(_line_feeds, text)
    for number, line in enumerate(short.split("\n"), 1):
        if not depth:
            if header := _HEADER.match(line):
                table = _split(header[1])
                yield number, table
                continue
            if setting := _SETTING.match(line):
                yield number, table + _split(setting[1])
        for token in _BRACKET_OR_OTHER.findall(line):
            depth += (token in "[{") - (token in "]}")


def line_of(text: str, path: KeyPath) -> int | None:
    """Return the line that sets `path`, or else the first line that sets a key below it."""
    lines = list(key_lines(text))
    exact = (number for number, found in lines if found == path)
    below = (number for number, found in lines if found[: len(path)] == path)
    return next(exact, None) or next(below, None)


def _split(dotted: str) -> KeyPath:
    return tuple(_name(key) for key in re.findall(_KEY, dotted))


def _name(key: str) -> str:
    """Return the name of a bare or quoted key."""
    return next(iter(tomllib.loads(f"{key} = 0"))) if key[0] in "\"'" else key


def _line_feeds(found: re.Match[str]) -> str:
    """Replace a multi-line string by its line feeds; leave any other text unchanged."""
    return "\n" * found[0].count("\n") if found["long"] else found[0]
