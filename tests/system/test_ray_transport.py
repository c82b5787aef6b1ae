"""Workers on a Ray cluster. Ray is a stand-in here."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from clocks import HANG_SECONDS
from fake_ray import FakeRay, installed

from athenan_spiel.system.cluster import Cluster
from athenan_spiel.system.ray_transport import RayTransport
from athenan_spiel.system.transport import Lost, Mailbox, Ready

fake = pytest.fixture(installed)


def messages_of(target: Callable[[Mailbox], None]) -> list[Any]:
    """Messages of a worker until it is lost."""
    workers = RayTransport(Cluster(is_own=True))
    worker = workers.start(target)
    found: list[Any] = []
    until = time.monotonic() + HANG_SECONDS
    while not any(isinstance(message, Lost) for message in found) and time.monotonic() < until:
        workers.poll(1.0, lambda worker, message: found.append(message))
    workers.kill(worker)
    assert isinstance(found[0], Ready)
    return found[1:]


def send_one(mailbox: Mailbox) -> None:
    mailbox.send("the only one")


def send_and_change(mailbox: Mailbox) -> None:
    message = ["sent"]
    mailbox.send(message)
    message.append("changed")


def send_a_function(mailbox: Mailbox) -> None:
    mailbox.send(lambda: None)


def test_the_end_of_a_worker_is_reported(fake: FakeRay) -> None:
    assert messages_of(send_one) == ["the only one", Lost("ended")]


def test_a_message_is_pickled_when_it_is_sent(fake: FakeRay) -> None:
    assert messages_of(send_and_change) == [["sent"], Lost("ended")]


def test_a_message_that_cannot_be_pickled_is_an_error_of_the_worker(fake: FakeRay) -> None:
    (lost,) = messages_of(send_a_function)
    assert lost.reason.startswith("failed: ")
    assert "pickle" in lost.reason
