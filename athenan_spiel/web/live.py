"""HTML that is updated in place, so clicks, focus and unfolded parts survive an update (`live.js`)."""

from __future__ import annotations

from html import escape

from nicegui.element import Element


class Live(Element, component="live.js"):
    """Element whose HTML is replaced repeatedly by similar HTML.

    Args:
        content: HTML without text from visitors, or with that text escaped.
    """

    def __init__(self, content: str = "") -> None:
        super().__init__()
        self._props["content"] = content

    def set_content(self, content: str) -> None:
        """Replaces the HTML."""
        if content != self._props["content"]:
            self._props["content"] = content
            self.update()


def bar_html(what: str, share: float | None, text: str = "") -> str:
    """Returns a progress bar.

    Args:
        what: label for screen readers.
        share: fraction in [0, 1]; None if unknown.
        text: text on the bar.
    """
    name = f'role="progressbar" aria-label="{escape(what)}"'
    if share is None:
        return f'<div class="wait unknown" {name}><i></i><span>{escape(text)}</span></div>'
    percent = round(100 * share)
    return (
        f'<div class="wait" {name} aria-valuenow="{percent}" aria-valuemin="0" aria-valuemax="100">'
        f'<i style="width:{percent}%"></i><span>{escape(text)}</span></div>'
    )
