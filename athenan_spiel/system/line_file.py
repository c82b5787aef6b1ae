"""An append-only file of JSON lines, such as the games of an experiment.

If the process is killed, the last line may be incomplete, and is then ignored. The file is untrusted: links are not
followed, and the sizes of the file and of its lines are bounded.
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
    """The file at `path`, which need not exist.

    Attributes:
        most_bytes: maximum size of the file; a larger one is refused.
        most_line: maximum size of a line, in bytes; a longer one is returned in parts, which are not JSON.
    """

    path: Path
    most_bytes: int
    most_line: int

    def lines(self, *, follow: bool = False) -> Iterator[tuple[int, bytes, bool]]:
        """Yield each line with its number, from 1, and whether it is complete.

        Args:
            follow: allow `path` to be a link, if the user has named it.

        Raises:
            OSError: as `opened`.
        """
        with opened(self.path, self.most_bytes, follow=follow) as file:
            for number, line in enumerate(iter(lambda: file.readline(self.most_line), b""), 1):
                yield number, line, line.endswith(b"\n") or len(line) >= self.most_line

    def append(self, values: Iterable[Any]) -> None:
        """Append a line for each value.

        Raises:
            OSError: the file could not be written.
        """
        with open_to_append(self.path) as file:
            file.seek(0, io.SEEK_END)
            file.write("".join(json.dumps(value) + "\n" for value in values).encode())

    def drop_cut_line(self) -> None:
        """Remove an incomplete last line.

        Raises:
            OSError: the file cannot be changed.
        """
        with open_to_append(self.path) as file:
            end = file.seek(0, io.SEEK_END)
            start = max(0, end - self.most_line)
            file.seek(start)
            tail = file.read()
            if tail and not tail.endswith(b"\n"):
                file.truncate(start + tail.rfind(b"\n") + 1)
                os.fsync(file.fileno())
