"""What can be shown in a notebook: HTML there, text elsewhere.

The HTML needs nothing around it, and no script. It takes colours and fonts of the page it stands in, so that it suits a
light one and a dark one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
.athenan-shown .side-by-side { display: flex; flex-wrap: wrap; gap: 1.5em; align-items: flex-start }
.athenan-shown svg.athenan-board { max-width: min(100%, 30em); height: auto }
.athenan-shown pre { line-height: 1.2; margin: 0 0 .5em }
.athenan-shown p { margin: 0 0 .4em; max-width: 60em }
.athenan-shown table { border-collapse: collapse; margin: 0 0 .6em; font-size: .9em }
.athenan-shown th, .athenan-shown td { text-align: left; padding: .1em .7em .1em 0; background: none; border: 0 }
.athenan-shown caption { caption-side: bottom; text-align: left; opacity: .7 }
""".strip()


class Picture(ABC):
    """Something that is seen: a notebook shows its HTML, `print` its text."""

    @abstractmethod
    def html(self) -> str:
        """The parts of it, as HTML."""

    @abstractmethod
    def text(self) -> str:
        """The same as lines of text."""

    def _repr_html_(self) -> str:
        return f'<div class="athenan-shown"><style>{STYLE}</style>{self.html()}</div>'

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()


class Pictured(ABC):
    """Something that has a picture, which a notebook shows in its place."""

    @abstractmethod
    def picture(self) -> Picture:
        """What is to be seen of it, as it is now."""

    def _is_drawn(self) -> bool:
        """Whether it knows all that its picture needs."""
        return True

    def _repr_html_(self) -> str | None:
        return self.picture()._repr_html_() if self._is_drawn() else None

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """The text beside the HTML, which IPython asks for in this way."""
        return {"text/plain": self.picture().text()} if self._is_drawn() else {}


def table_html(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table; its cells are HTML.

    Args:
        head: of the columns, as text; empty: the first cell of each row is its head.
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
    """A table of names and what is said of each, both text."""
    return table_html((), [(escape(name), escape(said)) for name, said in facts])


def facts_text(facts: Iterable[tuple[str, str]]) -> str:
    """The same as lines."""
    return "\n".join(f"{name}: {said}" for name, said in facts)
