"""Workers in this process run when they are polled, until they wait for a message."""

from __future__ import annotations

import os
from typing import Any

import pytest

from athenan_spiel.system.inline_transport import InlineTransport
from athenan_spiel.system.transport import Mailbox, Ready


def echo(mailbox: Mailbox, name: str) -> None:
    """Sends back what it is sent."""
    while True:
        mailbox.send((name, mailbox.get(None)))


def test_messages_come_back_in_order() -> None:
    inline = InlineTransport()
    a, b = (inline.start(echo, name) for name in "ab")
    inline.send("first", a, b)
    inline.send("second", a)
    found: list[Any] = []
    inline.poll(1.0, lambda *received: found.append(received))
    ready = Ready("", "", os.getpid())
    assert found == [(a, ready), (a, ("a", "first")), (a, ("a", "second")), (b, ready), (b, ("b", "first"))]
    inline.poll(1.0, lambda *received: found.append(received))
    assert len(found) == 5, "nothing waits for a message that nobody sends"


def test_without_time_nothing_runs() -> None:
    inline = InlineTransport()
    inline.start(echo, "a")
    inline.poll(0.0, lambda *received: pytest.fail("it ran"))


def test_a_message_is_received_while_it_is_sent() -> None:
    inline, known = InlineTransport(), []

    def send(mailbox: Mailbox) -> None:
        mailbox.send("now")
        assert known[-1] == "now"
        assert mailbox.get() == "the answer"

    worker = inline.start(send)

    def receive(sender: Any, message: Any) -> None:
        known.append(message)
        if message == "now":
            inline.send("the answer", sender)

    inline.poll(1.0, receive)
    assert known[-1] == "now"
    inline.end(worker)
    inline.poll(1.0, lambda *received: pytest.fail("it has ended"))


def test_what_is_raised_leaves_it() -> None:
    inline = InlineTransport()
    inline.start(lambda mailbox: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        inline.poll(1.0, lambda *received: None)
