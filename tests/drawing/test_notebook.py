"""examples/notebook.ipynb in Jupyter and as plain Python; the IPython extension; `ath.show`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyspiel
import pytest

import athenan_spiel as ath
from athenan_spiel.drawing.state_picture import StatePicture
from athenan_spiel.evaluators import ZeroEvaluator

ROOT = Path(__file__).resolve().parent.parent.parent
NOTEBOOK = ROOT / "examples" / "notebook.ipynb"
SMALL = {
    "seconds=30, ": "matches=2, matches_at_once=2, ",
    "every_seconds=8, matches=10, seconds=0.01, final": "every_matches=1, matches=2, seconds=None, iterations=1, final",
    "seconds=1)": "iterations=20)",
}
"""Slow parts of the notebook, and their replacements here."""


def in_short(code: str) -> str:
    for long, short in SMALL.items():
        code = code.replace(long, short)
    return code


def cells() -> list[str]:
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in book["cells"] if cell["cell_type"] == "code"]


def result_of(game: str) -> tuple[pyspiel.State, ath.SearchResult]:
    state = ath.load_game(game).new_initial_state()
    return state, ath.think(ath.UBFM(game), state, ath.Budget(iterations=5), ZeroEvaluator())


class FakeFormatter:
    """Fake of IPython's formatter: a printer per type, by default that of the nearest ancestor."""

    def __init__(self) -> None:
        self.printers: dict[type, Any] = {}

    def for_type(self, kind: type, printer: Any) -> None:
        self.printers[kind] = printer

    def pop(self, kind: type, default: object = None) -> Any:
        return self.printers.pop(kind, default)


class FakeShell:
    """Fake of a shell with this formatter."""

    def __init__(self) -> None:
        self.html = FakeFormatter()
        self.display_formatter = self
        self.formatters = {"text/html": self.html}


def test_the_replaced_parts_exist() -> None:
    code = "\n".join(cells())
    assert [long for long in SMALL if long not in code] == []


def test_the_notebook_is_stored_without_outputs() -> None:
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in book["cells"])
    assert len({cell["id"] for cell in book["cells"]}) == len(book["cells"])


def test_the_notebook_runs_as_plain_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in cells():
        code = re.sub(r"^%.*$", "", in_short(cell), flags=re.MULTILINE)
        exec(compile(code, str(NOTEBOOK), "exec"), names)
    assert names["match"].is_terminal()
    assert "is to move" in capsys.readouterr().out
    for shown in (names["result"], names["run"]):
        assert "<svg" in shown._repr_html_()


def test_the_notebook_runs_in_jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    why = "needs nbclient and ipykernel, which run notebooks"
    pytest.importorskip("ipykernel", reason=why)
    nbclient = pytest.importorskip("nbclient", reason=why)
    nbformat = pytest.importorskip("nbformat", reason=why)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    book = nbformat.read(NOTEBOOK, as_version=4)
    for cell in book.cells:
        cell.source = in_short(cell.source)
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    seen = {
        cell.id: [output.data for output in cell.outputs if "data" in output]
        for cell in book.cells
        if cell.cell_type == "code"
    }
    drawn = {name: len([data for data in shown if "<svg" in data.get("text/html", "")]) for name, shown in seen.items()}
    assert drawn == {"extension": 0, "state": 1, "think": 1, "in-between-code": 2, "train": 2, "agent": 1, "match": 1}
    assert all("text/plain" in data for shown in seen.values() for data in shown)
    assert "is to move" in seen["think"][0]["text/plain"]


def test_the_extension_is_loaded_and_unloaded_by_ipython_itself() -> None:
    pytest.importorskip("IPython", reason="needs IPython, which loads extensions")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    state, _ = result_of("tic_tac_toe")
    assert "text/html" not in shell.display_formatter.format(state)[0]
    shell.run_line_magic("load_ext", "athenan_spiel")
    assert "<svg" in shell.display_formatter.format(state)[0]["text/html"]
    assert shell.display_formatter.format(state)[0]["text/plain"] == str(state)
    shell.run_line_magic("unload_ext", "athenan_spiel")
    assert "text/html" not in shell.display_formatter.format(state)[0]


def test_the_extension_shows_a_state_as_its_board() -> None:
    shell = FakeShell()
    ath.load_ipython_extension(shell)
    (printer,) = shell.html.printers.values()
    assert list(shell.html.printers) == [pyspiel.State]
    assert "<svg" in printer(ath.load_game("hex(board_size=3)").new_initial_state())
    assert "<pre>" in printer(pyspiel.load_game("kuhn_poker").new_initial_state())
    ath.unload_ipython_extension(shell)
    ath.unload_ipython_extension(shell)
    assert shell.html.printers == {}


def test_show_prints_outside_a_notebook(capsys: pytest.CaptureFixture[str], tiny_run: Path) -> None:
    state, result = result_of("tic_tac_toe")
    for thing in (state, result, result.picture(), StatePicture(state)):
        ath.show(thing)
        assert capsys.readouterr().out.startswith(f"{state}\nx is to move, after 0 moves.\n")


def test_show_displays_in_ipython(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("IPython", reason="needs IPython, which displays")
    import IPython
    import IPython.display

    seen: list[Any] = []
    monkeypatch.setattr(IPython, "get_ipython", lambda: object())
    monkeypatch.setattr(IPython.display, "display", seen.append)
    state, result = result_of("tic_tac_toe")
    ath.show(state)
    ath.show(result)
    assert capsys.readouterr().out == ""
    assert ["<svg" in picture._repr_html_() for picture in seen] == [True, True]


def test_show_refuses_objects_without_a_picture() -> None:
    with pytest.raises(ath.DrawingError, match=r"^expected a state, a search's result or a run, got 3$"):
        ath.show(3)  # type: ignore[arg-type]
