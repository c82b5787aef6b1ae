"""Reports of experiments and tournaments as a page shows them: their Markdown, and the pictures beside it.

Such a folder may come from elsewhere: HTML in the text is shown as text, links run no scripts, and a picture is a file
of that folder alone. Nesting and size are bounded; what exceeds the bounds is shown as plain text.
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
MOST_TEXT = 2**21
MOST_PICTURE = 2**22
"""Bytes of a report, and of a picture."""
MAX_MARKDOWN = 2**17
"""Maximum number of characters that are rendered as Markdown, in four seconds at worst; a longer report stays plain."""
MAX_NESTING = 20
"""Maximum depth of quotes and lists in Markdown; deeper ones are left out."""
MOST_PICTURES = 50
"""Of a report."""
MOST_REPORTS = 200
"""Of a folder, that are listed."""
_PICTURE_NAME = re.compile(r"[\w-]+\.png", re.ASCII)
_PNG = b"\x89PNG\r\n\x1a\n"


def list_reports(folder: Path) -> list[Path]:
    """The folders in a folder that hold a report, by their names."""
    if not folder.is_dir():
        return []
    return list(itertools.islice(filter(_has_report, sorted(folder.iterdir())), MOST_REPORTS))


def report_html(folder: Path) -> str:
    """The report in `folder` as HTML, with its pictures.

    Raises:
        OSError: the report cannot be read.
    """
    return _markdown_html(read_file(folder / REPORT, MOST_TEXT).decode("utf-8", errors="replace"), folder)


def _has_report(folder: Path) -> bool:
    try:
        return is_folder(folder) and (folder / REPORT).is_file()
    except OSError:  # such as a folder of another user
        return False


def _markdown_html(text: str, folder: Path) -> str:
    """Markdown as HTML. What HTML it holds is escaped, and images that are no pictures of `folder` stay text."""
    if len(text) <= MAX_MARKDOWN:
        try:
            parser = MarkdownIt("commonmark", {"html": False, "maxNesting": MAX_NESTING}).enable("table")
            pictures = itertools.count()

            def image(tokens: Sequence[Token], index: int, options: object, env: object) -> str:
                alt, source = tokens[index].content, str(tokens[index].attrGet("src"))
                is_name = _PICTURE_NAME.fullmatch(source) is not None and next(pictures) < MOST_PICTURES
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
        content = read_file(path, MOST_PICTURE)
    except OSError:
        return ""
    if not content.startswith(_PNG):
        return ""
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"
