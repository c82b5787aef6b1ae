"""Finished games of a session: view, export and import."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from nicegui import events, ui

from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.drawing.state_picture import numbers_text
from athenan_spiel.errors import AthenanError, printable
from athenan_spiel.web.opponents import short_name
from athenan_spiel.web.sessions import MAX_UPLOAD_BYTES, GameSession


class SavedPanel:
    """Part of a page that lists finished games.

    Args:
        session: session with the games.
        run_action: runs an action and shows its error.
    """

    def __init__(self, session: GameSession, run_action: Callable[[Callable[[], object]], None]) -> None:
        self._session = session
        self._run_action = run_action
        self._drawn: list[str] | None = None
        self._upload: ui.upload | None = None
        with ui.expansion("Finished games", on_value_change=self._unfold).classes("saved"):
            self._list = ui.column().classes("list")
            with ui.row() as self._buttons:
                ui.button("Export", icon="download", on_click=self._export).props("flat dense no-caps")

    def _unfold(self) -> None:
        """Adds the upload, whose route outlives the page in a cache of FastAPI, for those who want it."""
        if self._upload is not None:
            return
        panel = weakref.ref(self)  # the cache must not keep the session and its trees
        with self._buttons:
            self._upload = ui.upload(
                label="Import",
                on_upload=lambda event: _import_file(panel, event),
                max_file_size=MAX_UPLOAD_BYTES,
                auto_upload=True,
            )
            self._upload.props('flat accept=".jsonl,.json,.txt" aria-label="Import games"').classes("import")

    def draw(self) -> None:
        """Updates the list."""
        titles = [_title(number, saved) for number, saved in enumerate(self._session.saved)]
        if self._drawn == titles:
            return
        self._drawn = titles
        self._list.clear()
        with self._list:
            if not self._drawn:
                ui.label("None yet.")
            for number, title in enumerate(titles):
                act = partial(self._run_action, partial(self._session.show, number))
                ui.button(title, on_click=act).props("flat dense no-caps align=left")

    def _export(self) -> None:
        lines = "".join(json.dumps(saved.to_json()) + "\n" for saved in self._session.saved)
        if not lines:
            ui.notify("no finished game to export: finish a game or resign", type="warning")
            return
        ui.download.content(lines, "matches.jsonl", "application/jsonl")

    async def bring(self, event: events.UploadEventArguments) -> None:
        """Imports the games of a file, or shows the error."""
        content = await event.file.read()
        try:
            brought = await asyncio.to_thread(self._session.read, content)
        except AthenanError as error:
            ui.notify(str(error).split("\n")[0], type="warning")
        else:
            count = self._session.add(brought)
            ui.notify(f"{count} game{'' if count == 1 else 's'} imported", type="positive")
        event.sender.reset()  # type: ignore[attr-defined]


def _import_file(
    panel: weakref.ref[SavedPanel], event: events.UploadEventArguments
) -> Coroutine[Any, Any, None] | None:
    found = panel()
    return None if found is None else found.bring(event)


def _title(number: int, saved: SavedMatch) -> str:
    result = saved.result
    if len(result.returns) == 1:
        ending = f"{result.returns[0]:g}"
    else:
        ending = "draw" if not result.winners else "1-0" if result.winners == (0,) else "0-1"
    if len(result.returns) > 2 and result.winners:
        ending = f"returns {numbers_text(result.returns)}"
    players = printable(
        " - ".join(map(short_name, saved.players))
    )  # a file may hold any text, such as half of a surrogate pair
    return f"{number + 1}. {players}  {ending}, {len(result.history)} moves"
