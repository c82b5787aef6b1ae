"""Objects that a notebook shows as HTML, and other places as text.

The HTML is self-contained and without scripts. It inherits colours and fonts, so it fits light and dark pages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
.athenan-shown .side-by-side { display: flex; flex-wrap: wrap; gap: 1.5em; align-items: flex-start }
.athenan-shown svg.athenan-board { max-width: min(100%, 30em); height: auto }
.athenan-chart { max-width: 100%; height: auto }
.athenan-shown pre { line-height: 1.2; margin: 0 0 .5em }
.athenan-shown p { margin: 0 0 .4em; max-width: 60em }
.athenan-shown table { border-collapse: collapse; margin: 0 0 .6em; font-size: .9em }
.athenan-shown th, .athenan-shown td { text-align: left; padding: .1em .7em .1em 0; background: none; border: 0 }
.athenan-shown caption { caption-side: bottom; text-align: left; opacity: .7 }
""".strip()


class Picture(ABC):
    """Base class of pictures: a notebook shows the HTML, `print` the text."""

    @abstractmethod
    def html(self) -> str:
        """Return the picture as HTML."""

    @abstractmethod
    def text(self) -> str:
        """Return the picture as lines of text."""

    def _repr_html_(self) -> str:
        return f'<div class="athenan-shown"><style>{STYLE}</style>{self.html()}</div>'

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()


class Pictured(ABC):
    """Base class of objects that a notebook shows as a picture."""

    @abstractmethod
    def picture(self) -> Picture:
        """Return the picture of the current state of the object."""

    def _is_drawn(self) -> bool:
        """Return whether the picture is available."""
        return True

    def _repr_html_(self) -> str | None:
        return self.picture()._repr_html_() if self._is_drawn() else None

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Return the text, which IPython requests besides the HTML."""
        return {"text/plain": self.picture().text()} if self._is_drawn() else {}


def table_html(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table whose cells are HTML.

    Args:
        head: headers of the columns, as text; empty: the first cell of each row is its header.
    """
    if head:
        top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
        cells = ["".join(f"<td>{cell}</td>" for cell in row) for row in rows]
    else:
        top = ""
        cells = [f'<th scope="row">{row[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in row[1:]) for row in rows]
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    first = f"<thead><tr>{top}</tr></thead>" if top else ""
    return f"<table>{said}{first}<tbody>{''.join(f'<tr>{row}</tr>' for row in cells)}</tbody></table>"


def facts_html(facts: Iterable[tuple[str, str]]) -> str:
    """Return a table of names and descriptions, given as text."""
    return table_html((), [(escape(name), escape(said)) for name, said in facts])


def facts_text(facts: Iterable[tuple[str, str]]) -> str:
    """Return lines of names and descriptions."""
    return "\n".join(f"{name}: {said}" for name, said in facts)
