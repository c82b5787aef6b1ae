"""The readers under atheris, which looks at the branches that input takes: `make fuzz` runs it where it is installed.

    python tests/fuzz/atheris_readers.py -max_total_time=60

A crash's input is left in the current folder; the script tries it again when it is given as an argument.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import atheris

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parents[1])]

with atheris.instrument_imports(include=["athenan_spiel", "agents"]):
    from readers import BYTES, TEXTS, Reader


def test_one_input(data: bytes) -> None:
    """Give the input to the reader that its first byte chooses."""
    readers: list[Reader] = [*TEXTS.values(), *BYTES.values()]
    chosen = data[0] % len(readers) if data else 0
    reader, rest = readers[chosen], data[1:]
    raises = reader.raises if isinstance(reader.raises, tuple) else (reader.raises,)
    with contextlib.suppress(*raises):
        reader.read(rest.decode("utf-8", "surrogateescape") if chosen < len(TEXTS) else rest)


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
