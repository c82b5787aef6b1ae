"""Showing things where they are looked at: pictures in a notebook, text in a terminal.

`%load_ext athenan_spiel` lets a notebook show a plain `pyspiel.State` as its board, too.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pyspiel

from athenan_spiel.drawing.picture import Picture, Pictured
from athenan_spiel.drawing.position import Position
from athenan_spiel.errors import DrawingError, shown

HTML = "text/html"


def show(thing: pyspiel.State | Pictured | Picture) -> None:
    """Show a state as its board, a search's result as board, values and tree, a run as its curves.

    In a notebook that is a picture, elsewhere text on standard output.

    Args:
        thing: a state, a `SearchResult`, a `Run`, or what their `picture` gives.

    Raises:
        DrawingError: it is something else.
        SearchError: it is a result that does not know its state: show `result.picture(state)`.
    """
    picture = _picture_of(thing)
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        sys.stdout.write(f"{picture}\n")
    else:
        importlib.import_module("IPython.display").display(picture)


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext athenan_spiel` does: from now on the shell shows states as boards."""
    shell.display_formatter.formatters[HTML].for_type(pyspiel.State, _board)


def unload_ipython_extension(shell: Any) -> None:
    """What `%unload_ext athenan_spiel` does: to the shell, states are text again."""
    shell.display_formatter.formatters[HTML].pop(pyspiel.State, None)


def _board(state: pyspiel.State) -> str:
    return Position(state)._repr_html_()


def _picture_of(thing: object) -> Picture:
    if isinstance(thing, Picture):
        return thing
    if isinstance(thing, Pictured):
        return thing.picture()
    if isinstance(thing, pyspiel.State):
        return Position(thing)
    raise DrawingError(f"expected a state, a search's result or a run, got {shown(thing)}")
