"""The run as JSON lines for another program: every event, progress included."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import IO

from athenan_spiel.training.events import Event
from athenan_spiel.training.listeners.records import as_record, now

LEFT_OUT = frozenset({"config"})
"""What is in the run's folder, which the first line names."""


class JsonLines:
    """A listener that writes each event as a line as soon as it is told; the last one is `run_finished`.

    Args:
        stream: where the lines go.
        clock: what time it is.
    """

    def __init__(self, stream: IO[str], clock: Callable[[], datetime] = now) -> None:
        self._stream = stream
        self._clock = clock

    def __call__(self, event: Event) -> None:
        """Write the line of `event`."""
        self._stream.write(json.dumps(as_record(event, self._clock(), LEFT_OUT)) + "\n")
        self._stream.flush()
