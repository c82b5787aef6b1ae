"""Reports of experiments and tournaments as a page shows them: their Markdown, and the pictures beside it.

Such a folder may come from elsewhere: the text is shown as text and never as a page's own elements, and a picture is a
file of that folder alone.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from athenan_spiel.system.files import is_folder, read_file

REPORT = "report.md"
MOST_TEXT = 2**21
MOST_PICTURE = 2**22
"""Bytes of a report, and of a picture."""
MOST_PICTURES = 50
"""Of a report."""
MOST_REPORTS = 200
"""Of a folder, that are listed."""
_PICTURE = re.compile(r"!\[[^\]]*\]\(([\w-]+\.png)\)")
_PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class Part:
    """A part of a report: Markdown, or a picture as the address of its data."""

    text: str = ""
    picture: str = ""


def list_reports(folder: Path) -> list[Path]:
    """The folders in a folder that hold a report, by their names."""
    if not folder.is_dir():
        return []
    found = [path for path in sorted(folder.iterdir()) if is_folder(path) and (path / REPORT).is_file()]
    return found[:MOST_REPORTS]


def read_report(folder: Path) -> Iterator[Part]:
    """The parts of the report in `folder`, in order; a picture that is none is left out.

    Raises:
        OSError: the report cannot be read.
    """
    text = read_file(folder / REPORT, MOST_TEXT).decode("utf-8", errors="replace")
    end = 0
    for found in list(_PICTURE.finditer(text))[:MOST_PICTURES]:
        yield Part(text=text[end : found.start()])
        end = found.end()
        if picture := _picture(folder / found[1]):
            yield Part(picture=picture)
    yield Part(text=text[end:])


def _picture(path: Path) -> str:
    try:
        content = read_file(path, MOST_PICTURE)
    except OSError:
        return ""
    if not content.startswith(_PNG):
        return ""
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"
