"""The bridge on a transport without Java, or on Ludii itself where it is installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ludii_bridge
from ludii_bridge import LudiiError, connection

sys.path.insert(0, str(Path(__file__).parent))

from ludii_fake import FakeTransport


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeTransport]:
    """Replaces Ludii by the fake transport while a test runs; processes that it starts find no Ludii at all."""
    monkeypatch.setenv("LUDII_JAR", str(tmp_path / "no_jar" / "Ludii.jar"))
    transport = FakeTransport()
    before = connection.use(transport)
    yield transport
    connection.use(before)


@pytest.fixture(scope="session")
def ludii() -> None:
    """Ludii itself; without it the test is skipped, saying what is missing and how to get it."""
    try:
        ludii_bridge.connect()
    except LudiiError as error:
        pytest.skip(f"needs Java and Ludii: {error}")
