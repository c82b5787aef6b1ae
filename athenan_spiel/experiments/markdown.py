"""What the parts of a report share: intervals beside their estimates."""

from __future__ import annotations

from athenan_spiel.arena.intervals import Interval


def ends(interval: Interval | None) -> dict[str, float | None]:
    """The interval beside its estimate, as JSON values; all None where there is none."""
    if interval is None:
        return {"low": None, "high": None, "confidence": None}
    return {"low": round(interval.low, 6), "high": round(interval.high, 6), "confidence": interval.confidence}
