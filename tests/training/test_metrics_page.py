"""docs/metrics.md explains each event and each name in it, and nothing else."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from pathlib import Path
from typing import get_args

from athenan_spiel.training.callbacks import metrics
from athenan_spiel.training.callbacks.metrics import event_name
from athenan_spiel.training.events import Event

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
FIELDS = {
    event_name(kind): {field.name for field in dataclasses.fields(kind)} - metrics.LEFT_OUT_OF_LINES
    for kind in get_args(Event)
}
"""What each event has in a line, `event` and `time` apart."""


def rows(heading: str) -> list[list[str]]:
    section = PAGE.read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def names(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


def test_the_page_has_each_event_once() -> None:
    assert Counter(name for row in rows("Events") for name in names(row[0])) == Counter(FIELDS.keys())


def test_the_page_has_each_name_once_with_all_events_that_have_it() -> None:
    found: dict[str, set[str]] = {}
    for name_cell, in_cell, meaning in rows("Names"):
        assert meaning
        for name in names(name_cell):
            assert name not in found, f"{name} is explained twice"
            found[name] = set(FIELDS) if in_cell == "all" else set(names(in_cell))
    assert found.pop("event") == found.pop("time") == set(FIELDS)
    assert found == {
        name: {event for event in FIELDS if name in FIELDS[event]} for name in set().union(*FIELDS.values())
    }
