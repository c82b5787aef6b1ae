"""Dialog that copies the link, position and game of a page, and loads others."""

from __future__ import annotations

import asyncio

from nicegui import ui

from athenan_spiel.errors import AthenanError
from athenan_spiel.web.live_game import LiveGame
from athenan_spiel.web.positions import (
    ANALYSIS_PATH,
    MAX_TEXT_CHARACTERS,
    formats,
    game_text,
    link_query,
    position_text,
    read_text,
)


class PositionDialog:
    """Dialog of a page, closed at first.

    Args:
        match: game to copy from and load into.
    """

    def __init__(self, match: LiveGame) -> None:
        self._match = match
        with ui.dialog() as self._dialog, ui.card().classes("position-dialog"):
            self._link = _field("Link to this position")
            self._open = ui.link("Open as an analysis board", ANALYSIS_PATH, new_tab=True)
            self._position = _field("Position")
            self._game = _field("Game", is_long=True)
            self._text = ui.textarea("Load a game or position").props("outlined rows=4").classes("wide")
            self._text.props["hint"] = f"Expected: {formats(match.game)}"
            self._text.props["maxlength"] = MAX_TEXT_CHARACTERS
            with ui.row():
                self._load = ui.button("Load", icon="publish", on_click=self._load_text).props("dense no-caps")
                ui.button("Close", on_click=self._dialog.close).props("flat dense no-caps")

    def show(self) -> None:
        """Opens the dialog with the current position.

        Raises:
            AthenanError: the game cannot be written in its notation.
        """
        board = self._match.board
        query = link_query(board)
        address = f"{ANALYSIS_PATH}?{query}"
        origin = str(ui.context.client.request.base_url).rstrip("/")
        self._link.value = "The game is too long for a link." if query is None else origin + address
        self._open.visible = query is not None
        self._open.props["href"] = address
        self._open.update()
        for field, (notation, text) in ((self._position, position_text(board)), (self._game, game_text(board))):
            field.value = text
            field.props["label"] = f"{'Position' if field is self._position else 'Game'} ({notation})"
            field.update()
        self._text.value = ""
        self._dialog.open()

    async def _load_text(self) -> None:
        """Loads the text, or shows why it cannot be loaded."""
        match, text = self._match, self._text.value or ""
        self._load.disable()
        try:
            board = await asyncio.to_thread(lambda: read_text(match.game, text).board(match.game))
        except AthenanError as error:
            ui.notify(str(error).split("\n")[0], type="warning")
        else:
            match.load(board)
            self._dialog.close()
        self._load.enable()


def _field(label: str, *, is_long: bool = False) -> ui.input | ui.textarea:
    """Adds a text to copy, with a button that copies it (`board.js`)."""
    with ui.row().classes("copy-row"):
        field = ui.textarea(label).props("rows=4") if is_long else ui.input(label)
        field.props("readonly outlined dense").classes("copied")
        button = ui.button(icon="content_copy", on_click=lambda: ui.notify("Copied")).props("flat dense")
        button.props["aria-label"] = f"Copy {label.lower()}"
        button.props["data-copy"] = ""
        button.tooltip("Copy")
    return field
