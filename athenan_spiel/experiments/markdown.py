"""What the parts of a report share: tables in Markdown, and intervals beside their estimates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from athenan_spiel.arena.intervals import Interval


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown, all but the first column to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def ends(interval: Interval | None) -> dict[str, float | None]:
    """The interval beside its estimate, as JSON values; all None where there is none."""
    if interval is None:
        return {"low": None, "high": None, "confidence": None}
    return {"low": round(interval.low, 6), "high": round(interval.high, 6), "confidence": interval.confidence}
