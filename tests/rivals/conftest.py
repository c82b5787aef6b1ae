"""The scripts of `benchmarks/rivals` import one another by their names."""

from __future__ import annotations

from pathlib import Path

import pytest

RIVALS = Path(__file__).resolve().parents[2] / "benchmarks" / "rivals"


@pytest.fixture
def rivals(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the scripts, which can be imported in this test."""
    monkeypatch.syspath_prepend(str(RIVALS))
    return RIVALS
