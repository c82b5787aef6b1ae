"""Tables as text: Markdown for people, CSV for programs."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from athenan_spiel.errors import printable
from athenan_spiel.play.intervals import Interval

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""First characters of spreadsheet formulas, as listed by OWASP for CSV injection."""
_UNESCAPED_PIPE = re.compile(r"(?<!\\)((?:\\\\)*)\|")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a Markdown table. Its first column is aligned to the left, the others to the right.

    Args:
        header: cells in Markdown. A pipe in a cell is escaped unless it already is, and a line break becomes a space.
        rows: cells in Markdown.
    """
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)


def _cell(text: str) -> str:
    return _UNESCAPED_PIPE.sub(r"\1\\|", " ".join(text.splitlines()))


def code(text: str) -> str:
    """Returns `text` as a code span of Markdown, which shows every character as it is.

    A pipe after a backslash is written as an entity between two spans: a code span in a table cannot hold both.
    """
    parts = re.split(r"(?<=\\)\|", printable(text))
    return "&#124;".join(_code_span(part) for part in parts)


def _code_span(text: str) -> str:
    longest_run = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest_run + 1)
    padding = " " if text.strip() and (text[0] in "` " or text[-1] in "` ") else ""
    return f"{fence}{padding}{text}{padding}{fence}" if text else ""


def cross_table(names: Sequence[str], values: Mapping[tuple[str, str], float], form: str = ".1%") -> str:
    """Returns a table of the result of each row against each column.

    Args:
        values: maps (row, column) to the row's result; cells without one are empty.
        form: format of a result; by default a share in percent.
    """
    rows = [
        [code(row), *(format(values[row, column], form) if (row, column) in values else "" for column in names)]
        for row in names
    ]
    return markdown_table(["", *map(code, names)], rows)


def return_cell(interval: Interval) -> str:
    """Returns a mean return with its interval in parentheses; empty without games."""
    if math.isnan(interval.estimate):
        return ""
    if not math.isfinite(interval.low):
        return f"{interval.estimate:+.2f}"
    return f"{interval.estimate:+.2f} ({interval.low:+.2f} to {interval.high:+.2f})"


def share_cell(estimate: float, interval: Interval | None, *, best: bool = False, decimals: int = 1) -> str:
    """Returns a share in percent with its interval in parentheses, in bold if it is the best."""
    text = f"**{estimate:.1%}**" if best else f"{estimate:.1%}"
    if interval is None:
        return text
    return f"{text} ({100 * interval.low:.{decimals}f}–{100 * interval.high:.{decimals}f})"


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the rows as CSV with a header of all keys, or an empty text without rows.

    Missing values are empty. A text that a spreadsheet would evaluate as a formula gets an apostrophe in front.
    """
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _without_formula(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def _without_formula(value: Any) -> Any:
    """Returns the value with an apostrophe in front if it is a text that starts like a formula and is not a number."""
    if not isinstance(value, str) or not value.startswith(_FORMULA_STARTS):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
