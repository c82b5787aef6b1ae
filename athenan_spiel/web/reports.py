"""Reports of experiments and tournaments as HTML: their Markdown, and the pictures beside it.

The folder is untrusted. HTML in the text is escaped, links run no scripts, and pictures are files of that folder only.
Size and nesting are bounded; a report that exceeds the bounds is shown as plain text.
"""

from __future__ import annotations

import base64
import itertools
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from athenan_spiel.system.files import is_folder, read_file

REPORT = "report.md"
MAX_REPORT_BYTES = 2**21
MAX_PICTURE_BYTES = 2**22
"""Maximum sizes of a report and of a picture, in bytes."""
MAX_MARKDOWN = 2**17
"""Maximum number of characters rendered as Markdown, which takes at most four seconds."""
MAX_NESTING = 20
"""Maximum depth of quotes and lists in Markdown; deeper ones are left out."""
MAX_PICTURES = 50
"""Maximum number of pictures in a report."""
MAX_REPORTS = 200
"""Maximum number of reports listed."""
_PICTURE_NAME = re.compile(r"[\w-]+\.png", re.ASCII)
_PNG = b"\x89PNG\r\n\x1a\n"


def list_reports(folder: Path) -> list[Path]:
    """Returns the folder, if it has a report, and the subfolders with a report, sorted by name."""
    if not folder.is_dir():
        return []
    folders = [folder.absolute(), *sorted(folder.iterdir())]
    return list(itertools.islice(filter(has_report, folders), MAX_REPORTS))


def has_report(folder: Path) -> bool:
    """Returns whether a folder contains the report of an experiment or a tournament."""
    try:
        return is_folder(folder) and (folder / REPORT).is_file()
    except OSError:  # such as a folder of another user
        return False


class ReportReader:
    """Reads the report in `folder` again whenever it has changed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stamp: tuple[int, int, int] | None = None

    def read_new(self) -> str | None:
        """Returns the report as HTML; None if it is the one that was read last.

        Raises:
            OSError: the report cannot be read.
        """
        status = (self._folder / REPORT).lstat()
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp == self._stamp:
            return None
        html = report_html(self._folder)
        self._stamp = stamp
        return html


def report_html(folder: Path) -> str:
    """Returns the report in `folder` as HTML, with its pictures.

    Raises:
        OSError: the report cannot be read.
    """
    return _markdown_html(read_file(folder / REPORT, MAX_REPORT_BYTES).decode("utf-8", errors="replace"), folder)


def _markdown_html(text: str, folder: Path) -> str:
    """Returns Markdown as HTML. HTML in it is escaped; images that are not pictures in `folder` stay text."""
    if len(text) <= MAX_MARKDOWN:
        try:
            parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING}).enable("table")
            pictures = itertools.count()

            def image(tokens: Sequence[Token], index: int, options: object, env: object) -> str:
                alt, source = tokens[index].content, str(tokens[index].attrGet("src"))
                is_name = _PICTURE_NAME.fullmatch(source) is not None and next(pictures) < MAX_PICTURES
                if is_name and (picture := _picture(folder / source)):
                    return f'<img class="picture" alt="{escape(alt)}" src="{escape(picture)}">'
                return escape(f"![{alt}]({source})")

            parser.add_render_rule("image", lambda renderer, *given: image(*given))
            return str(parser.render(text))
        except RecursionError:
            pass
    return f"<p>This report is too long or too deeply nested for Markdown.</p><pre>{escape(text)}</pre>"


def _picture(path: Path) -> str:
    try:
        content = read_file(path, MAX_PICTURE_BYTES)
    except OSError:
        return ""
    if not content.startswith(_PNG):
        return ""
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"
