"""Markdown as two libraries render it: that of the web pages, and one that follows CommonMark."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

RENDERERS = ("markdown2", "markdown_it")
ELEMENTS = {"h1", "h2", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "em", "strong", "img"}
"""Elements that a report consists of."""
NAMES = (
    "a`b", "`a", "``", "a`` <img src=x onerror=alert(1)> ``b", "a|b", "a\\|b", "a\\\\|b", "a\\", "|", "| --- |",
    "```py", "<b>v</b>", "a*b*c", "__a__", "[x](javascript:alert(1))", "![x](y.svg)", "# h", "a &amp; &lt;b",
    "http://x.example", "=HYPERLINK(1)", "~~a~~", "a  b",
)  # fmt: skip
"""Names with special characters of Markdown, HTML or CSV."""


class Page(HTMLParser):
    """Parsed HTML page.

    Attributes:
        elements: names of its elements.
        pictures: sources of its pictures.
        texts: texts of cells, headings and paragraphs, with spaces as a browser shows them.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.pictures: list[str] = []
        self.texts: list[str] = []
        self._text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.pictures += [value or "" for name, value in attrs if tag == "img" and name == "src"]
        assert {name for name, _ in attrs} <= {"src", "alt", "style"}
        if tag in ("p", "th", "td", "h1", "h2", "h3"):
            self._text = ""

    def handle_data(self, data: str) -> None:
        self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("p", "th", "td", "h1", "h2", "h3"):
            self.texts.append(shown(self._text))


def rendered(text: str, renderer: str) -> Page:
    """Returns the page of a Markdown text; skips the test if the library is not installed."""
    library: Any = pytest.importorskip(renderer)
    if renderer == "markdown2":
        return Page(library.markdown(text, extras=["fenced-code-blocks", "tables"]))
    return Page(library.MarkdownIt("commonmark").enable("table").render(text))


def shown(text: str) -> str:
    """Returns a text with its spaces as a browser shows them."""
    return " ".join(text.split())
