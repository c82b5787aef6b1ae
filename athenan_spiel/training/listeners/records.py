"""An event as a JSON object: a line of `metrics.jsonl` and of `athenan train --json`.

docs/metrics.md explains each name; a test compares it with the events.
"""

from __future__ import annotations

import dataclasses
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from athenan_spiel.training.events import Event

LEFT_OUT = frozenset({"config", "folder"})
"""Fields that `config.toml` holds, or that change when the folder is moved."""


def as_record(event: Event, at: datetime, left_out: frozenset[str] = LEFT_OUT) -> dict[str, Any]:
    """`event`, told at the moment `at`, as JSON values: its name, the time, then its fields.

    What was not measured is left out, as are the fields `left_out`. Of a checkpoint there is its name alone.
    """
    record: dict[str, Any] = {"event": event_name(type(event)), "time": time_text(at)}
    for field in dataclasses.fields(event):
        value = getattr(event, field.name)
        if value is not None and field.name not in left_out:
            record[field.name] = _json_value(field.name, value)
    return record


def event_name(kind: type[Event]) -> str:
    """The name of a class of events in snake case, such as `match_finished`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def time_text(at: datetime) -> str:
    """A moment as ISO 8601 has it, in UTC, to a thousandth of a second."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> datetime:
    """This moment."""
    return datetime.now(UTC)


def _json_value(name: str, value: object) -> object:
    if isinstance(value, Path):
        return value.name if name == "checkpoint" else str(value)
    return value
