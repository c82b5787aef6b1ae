"""Workers in processes: neither end of their pipes waits for the other."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import struct
import time
from typing import Any

import numpy as np
from clocks import HANG_SECONDS

from athenan_spiel.system.process_transport import ProcessTransport, Receiver, Sender, taken
from athenan_spiel.system.transport import Lost, Mailbox, Ready


def echo(mailbox: Mailbox, name: str) -> None:
    """Sends back what it is sent."""
    while True:
        mailbox.send((name, mailbox.get(None)))


def test_messages_come_back_and_the_end_of_a_worker_is_reported() -> None:
    processes = ProcessTransport()
    workers = [processes.start(echo, name) for name in "ab"]
    processes.send("first", *workers)
    processes.send("second", workers[0])
    found: dict[Any, list[Any]] = {worker: [] for worker in workers}
    until = time.monotonic() + HANG_SECONDS
    while sum(map(len, found.values())) < 5 and time.monotonic() < until:
        processes.poll(1.0, lambda worker, message: found[worker].append(message))
    assert found[workers[0]][1:] == [("a", "first"), ("a", "second")]
    assert found[workers[1]] == [Ready("", "", workers[1].process.pid or 0), ("b", "first")]
    workers[0].process.kill()
    last: list[Any] = []
    processes.poll(HANG_SECONDS, lambda *received: last.append(received))
    assert last == [(workers[0], Lost("ended by signal 9 (SIGKILL)"))]
    for worker in workers:
        processes.end(worker)
    assert workers[1].process.exitcode == 0, "its mailbox was closed"


def test_a_sender_does_not_wait_for_a_receiver() -> None:
    """An actor plays while the learner learns or writes a checkpoint, and a pipe holds 64 kB."""
    listened, sent = multiprocessing.get_context("spawn").Pipe(duplex=False)
    sender, row = Sender(sent), np.zeros(10**6)
    start = time.monotonic()
    for i in range(3):
        sender.send(pickle.dumps(row + i))
    assert time.monotonic() - start < HANG_SECONDS, "nobody has received anything yet"
    assert [listened.recv()[0] for _ in range(3)] == [0, 1, 2]
    sender.close()


def test_a_receiver_does_not_wait_for_a_process_that_stops_in_the_middle_of_a_message() -> None:
    listened, sent = multiprocessing.get_context("spawn").Pipe(duplex=False)
    received: queue.SimpleQueue[Any] = queue.SimpleQueue()
    Receiver(listened, received.put)
    sent.send("first")
    os.write(sent.fileno(), struct.pack("!i", 1000) + b"the beginning of the second")
    assert received.get(timeout=HANG_SECONDS) == "first"
    assert taken(received, 0.2) == []
    sent.close()
    assert [type(error) for error in taken(received, HANG_SECONDS)] == [OSError]


def test_a_message_that_cannot_be_read_is_an_error() -> None:
    listened, sent = multiprocessing.get_context("spawn").Pipe(duplex=False)
    received: queue.SimpleQueue[Any] = queue.SimpleQueue()
    Receiver(listened, received.put)
    sent.send_bytes(b"no pickle")
    assert [type(error) for error in taken(received, HANG_SECONDS)] == [pickle.UnpicklingError]
