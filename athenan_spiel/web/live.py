"""HTML of a page that changes while somebody looks at it, presses it or has unfolded parts of it (`live.js`)."""

from __future__ import annotations

from html import escape

from nicegui.element import Element


class Live(Element, component="live.js"):
    """A part of a page whose HTML is replaced, again and again, by HTML that is mostly the same.

    Args:
        content: that no visitor has written, or that is escaped.
    """

    def __init__(self, content: str = "") -> None:
        super().__init__()
        self._props["content"] = content

    def set_content(self, content: str) -> None:
        """Show this from now on."""
        if content != self._props["content"]:
            self._props["content"] = content
            self.update()


def bar_html(what: str, share: float | None, text: str = "") -> str:
    """How far something is, as a bar that fills.

    Args:
        what: in words, for who does not see it.
        share: from 0 to 1; None: nobody knows.
        text: is written on it.
    """
    name = f'role="progressbar" aria-label="{escape(what)}"'
    if share is None:
        return f'<div class="wait unknown" {name}><i></i><span>{escape(text)}</span></div>'
    percent = round(100 * share)
    return (
        f'<div class="wait" {name} aria-valuenow="{percent}" aria-valuemin="0" aria-valuemax="100">'
        f'<i style="width:{percent}%"></i><span>{escape(text)}</span></div>'
    )
