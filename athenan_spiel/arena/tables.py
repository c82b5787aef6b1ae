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
    """The rows as CSV, below the keys of the first one; nothing where there are none."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return text.getvalue()
