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
def fake() -> Iterator[FakeTransport]:
    """The fake transport is the process's while a test runs."""
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
