"""What shows a run to a person, who may leave: once nothing can be shown any more, the run goes on without it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import IO


class Audience:
    """Whether anybody still sees what is written to `stream`: a terminal may be closed, a pipe's reader may end."""

    def __init__(self, stream: IO[str]) -> None:
        self.gone = False
        self._stream = stream

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """While something is shown; an error in writing it is the last one."""
        try:
            yield
        except (OSError, SystemExit):  # rich means to end the program where a pipe's reader has gone
            self.gone = True
        except ValueError:
            if not self._stream.closed:
                raise
            self.gone = True
