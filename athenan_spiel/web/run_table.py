"""Table of the runs of a folder, which the browser sorts, filters and selects (`run_table.js`)."""

from __future__ import annotations

from nicegui.element import Element

MAX_COMPARED_RUNS = 8
"""Maximum number of runs on one page."""


class RunTable(Element, component="run_table.js"):
    """Table of runs.

    Args:
        rows: rows as JSON (`RunReader.table`). A text is shared by all visitors and isn't observed for changes.
    """

    def __init__(self, rows: str) -> None:
        super().__init__()
        self._props["content"] = rows
        self._props["most"] = MAX_COMPARED_RUNS

    def set_rows(self, rows: str) -> None:
        """Replaces the rows. Selection, order and filter stay."""
        if rows != self._props["content"]:
            self._props["content"] = rows
            self.update()
