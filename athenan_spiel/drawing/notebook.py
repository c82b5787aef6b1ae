"""Display of states, search results and runs: as pictures in a notebook, as text elsewhere.

After `%load_ext athenan_spiel` a notebook also shows a plain `pyspiel.State` as its board.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import pyspiel

from athenan_spiel.drawing.picture import Picture, Pictured
from athenan_spiel.drawing.state_picture import StatePicture
from athenan_spiel.errors import DrawingError, shown

HTML = "text/html"


def show(thing: pyspiel.State | Pictured | Picture) -> None:
    """Shows a state as its board, a search result as board, values and tree, and a run as its curves.

    A notebook shows a picture. Elsewhere, text is written to standard output.

    Args:
        thing: a state, a `SearchResult`, a `Run`, or a `Picture`.

    Raises:
        DrawingError: `thing` is something else.
        SearchError: the result does not contain its state; show `result.picture(state)` instead.
    """
    picture = _picture_of(thing)
    ipython = sys.modules.get("IPython")
    if ipython is None or ipython.get_ipython() is None:
        sys.stdout.write(f"{picture}\n")
    else:
        importlib.import_module("IPython.display").display(picture)


def open_display(picture: Picture) -> Callable[[Picture], object] | None:
    """Shows a picture in the current cell of a notebook.

    Returns:
        A function that replaces the picture; None outside of a notebook.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if not hasattr(shell, "kernel"):  # IPython in a terminal has none
        return None
    handle = importlib.import_module("IPython.display").display(picture, display_id=True)
    update: Callable[[Picture], object] = handle.update
    return update


def load_ipython_extension(shell: Any) -> None:
    """Makes the shell show states as boards; called by `%load_ext athenan_spiel`."""
    shell.display_formatter.formatters[HTML].for_type(pyspiel.State, _board)


def unload_ipython_extension(shell: Any) -> None:
    """Makes the shell show states as text again; called by `%unload_ext athenan_spiel`."""
    shell.display_formatter.formatters[HTML].pop(pyspiel.State, None)


def _board(state: pyspiel.State) -> str:
    return StatePicture(state)._repr_html_()


def _picture_of(thing: object) -> Picture:
    if isinstance(thing, Picture):
        return thing
    if isinstance(thing, Pictured):
        return thing.picture()
    if isinstance(thing, pyspiel.State):
        return StatePicture(thing)
    raise DrawingError(f"expected a state, a search's result or a run, got {shown(thing)}")
