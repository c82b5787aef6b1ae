"""A file of JSON lines that only grows, such as the matches of an experiment, and outlives a kill.

A kill may cut the last line, which then counts for nothing. The file may come from elsewhere: no link is followed, and
neither it nor a line of it is read beyond a bound.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from athenan_spiel.system.files import open_to_append, opened


@dataclass(frozen=True)
class LineFile:
    """The file at `path`, which need not be there.

    Attributes:
        most_bytes: it has at most; what is larger is refused.
        most_line: bytes that a line has at most; a longer one comes in parts, which are no JSON.
    """

    path: Path
    most_bytes: int
    most_line: int

    def lines(self, *, follow: bool = False) -> Iterator[tuple[int, bytes, bool]]:
        """Each line with its number, from 1, and whether it is whole: the last one may have been cut.

        Args:
            follow: whether `path` may be a link, as where the user has named it.

        Raises:
            OSError: as `opened`.
        """
        with opened(self.path, self.most_bytes, follow=follow) as file:
            for number, line in enumerate(iter(lambda: file.readline(self.most_line), b""), 1):
                yield number, line, line.endswith(b"\n") or len(line) >= self.most_line

    def append(self, values: Iterable[Any]) -> None:
        """Add a line for each value.

        Raises:
            OSError: it could not be written.
        """
        with open_to_append(self.path) as file:
            file.seek(0, io.SEEK_END)
            file.write("".join(json.dumps(value) + "\n" for value in values).encode())

    def drop_cut_line(self) -> None:
        """Remove what a kill has left of a line at the end.

        Raises:
            OSError: it could not be done.
        """
        with open_to_append(self.path) as file:
            end = file.seek(0, io.SEEK_END)
            start = max(0, end - self.most_line)
            file.seek(start)
            tail = file.read()
            if tail and not tail.endswith(b"\n"):
                file.truncate(start + tail.rfind(b"\n") + 1)
                os.fsync(file.fileno())
