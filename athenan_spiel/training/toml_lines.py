"""In which line of a TOML text a key is set, which `tomllib` does not tell.

The text is valid TOML, whose lines end with a line feed. A key inside an inline table has the line of the table.
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
"""A string that is not closed reaches to the end of the line: to look for its end from each of its quotes took a minute
for a line of 30,000 escaped ones."""

_LONG_STRING = r'"""(?:\\.|"{1,2}(?!")|[^"\\])*+(?:"{3,5})?' + r"|'''(?:'{1,2}(?!')|[^'])*+(?:'{3,5})?"
_LONG_STRING_OR_OTHER = re.compile(rf"(?P<long>{_LONG_STRING})|{_STRING}|#[^\n]*", re.DOTALL)


def key_lines(text: str) -> Iterator[tuple[int, KeyPath]]:
    """The number of each line, from 1, that sets a key or opens a table, with the whole path of that."""
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
    """The line that sets `path`; where none does, the first one that sets something below it."""
    lines = list(key_lines(text))
    exact = (number for number, found in lines if found == path)
    below = (number for number, found in lines if found[: len(path)] == path)
    return next(exact, None) or next(below, None)


def _split(dotted: str) -> KeyPath:
    return tuple(_name(key) for key in re.findall(_KEY, dotted))


def _name(key: str) -> str:
    """The name that a bare or quoted key stands for."""
    return next(iter(tomllib.loads(f"{key} = 0"))) if key[0] in "\"'" else key


def _line_feeds(found: re.Match[str]) -> str:
    """The line feeds of a multi-line string; any other text unchanged."""
    return "\n" * found[0].count("\n") if found["long"] else found[0]
