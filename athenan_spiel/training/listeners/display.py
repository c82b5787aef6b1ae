"""What shows a run to a person, who may leave: once nothing can be shown any more, the run goes on without it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import IO

from athenan_spiel.arguments import is_number
from athenan_spiel.config.settings import LONGEST
from athenan_spiel.errors import ConfigError, shown


class Audience:
    """Whether anybody still sees what is written to `stream`: a terminal may be closed, a pipe's reader may end.

    Raises:
        ConfigError: nothing can be written to it.
    """

    def __init__(self, stream: IO[str]) -> None:
        if not callable(getattr(stream, "write", None)):
            raise ConfigError(f"expected a stream to write to, such as sys.stderr, got {shown(stream)}")
        self.gone = False
        self._stream = stream

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """While something is shown; an error in writing it is the last one."""
        try:
            yield
        except OSError:
            self.gone = True
        except ValueError:
            if not self._stream.closed:
                raise
            self.gone = True


def checked_interval(seconds: float) -> float:
    """The time between two lines, if it is a time.

    Raises:
        ConfigError: it is not a number, or negative or infinite.
    """
    if not (is_number(seconds) and 0 <= seconds <= LONGEST):
        raise ConfigError(f"every_seconds must be a number from 0 to {LONGEST:,}, got {shown(seconds)}")
    return seconds
