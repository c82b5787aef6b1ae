"""Tables as text: Markdown for people, CSV for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, all but the first column to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as CSV, below the keys of all of them, empty where a row has none; nothing where there are no rows."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()
