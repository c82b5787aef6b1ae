"""Callbacks that break: which of their errors end a run, and who hears of its end."""

from __future__ import annotations

import errno
import os

import pytest
from run_events import (
    finished,
    match,
)

from athenan_spiel.errors import CheckpointError
from athenan_spiel.training.broadcast import Broadcast
from athenan_spiel.training.events import (
    Event,
)


class Broken:
    """A callback that cannot write."""

    def __init__(self, error: OSError) -> None:
        self.error = error

    def __call__(self, event: Event) -> None:
        raise self.error


def test_a_callback_that_cannot_write_ends_the_run_in_one_line() -> None:
    full = Broken(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    with pytest.raises(CheckpointError) as error:
        Broadcast([full])(match(1))
    assert str(error.value) == (
        "Broken could not write: No space left on device; the last checkpoint is kept: make room and resume"
    )


def test_everyone_hears_of_the_end_whatever_breaks() -> None:
    heard: list[Event] = []
    Broadcast([Broken(OSError(errno.ENOSPC, "full")), heard.append]).last(finished(1))
    assert heard == [finished(1)]


def test_a_reader_who_went_away_is_no_full_disk() -> None:
    with pytest.raises(BrokenPipeError):
        Broadcast([Broken(BrokenPipeError(errno.EPIPE, "Broken pipe"))])(match(1))
