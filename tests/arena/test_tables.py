"""Tables: names are rendered unchanged from Markdown, and as text from CSV."""

from __future__ import annotations

import csv
import io
import itertools

import pytest
from rendered import ELEMENTS, NAMES, RENDERERS, rendered, shown

from athenan_spiel.arena.tables import code, csv_text, markdown_table

PIECES = ("`", "``", "|", "\\", "*", "<i>", "a b")


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("name", NAMES)
def test_code_spans_render_names_unchanged(name: str, renderer: str) -> None:
    table = markdown_table([code(name), "x"], [[code(name), f"{code(name)} – {code('b')}"]])
    page = rendered(f"# {code(name)}\n\nAgent {code(name)} has lost.\n\n{table}\n", renderer)
    assert page.elements <= ELEMENTS - {"em", "strong", "img"}
    name = shown(name)
    assert page.texts == [name, f"Agent {name} has lost.", name, "x", name, f"{name} – b"]


@pytest.mark.parametrize("renderer", RENDERERS)
def test_any_name_is_one_cell(renderer: str) -> None:
    names = ["".join(pieces) for pieces in itertools.product(PIECES, repeat=4)]
    page = rendered(markdown_table(["name", "x"], [[code(name), "1"] for name in names]), renderer)
    assert page.texts[2::2] == [shown(name) for name in names]


def test_unprintable_characters_are_escaped() -> None:
    assert code("a\n\n# b\x1b") == "`a\\n\\n# b\\x1b`"
    assert code("") == ""


@pytest.mark.parametrize("renderer", RENDERERS)
def test_a_pipe_in_a_cell_is_escaped_once(renderer: str) -> None:
    page = rendered(markdown_table(["a|b", "c"], [["a\\|b", "*x*|"]]), renderer)
    assert page.texts == ["a|b", "c", "a|b", "x|"]


@pytest.mark.parametrize("renderer", RENDERERS)
def test_a_cell_stays_in_its_row(renderer: str) -> None:
    page = rendered(markdown_table(["a\nb", "c"], [["d\r\n|e", "f\u2028g"], ["h", "i\n"]]), renderer)
    assert page.texts == ["a b", "c", "d |e", "f g", "h", "i"]


@pytest.mark.parametrize("name", ["=HYPERLINK(1)", "+a", "-a", "@a", "\tx", "-", "\uff1d1", "=1"])
def test_csv_escapes_formulas(name: str) -> None:
    text = csv_text([{"agent": name, "other": f"a{name}", "points": -1.5}])
    assert next(csv.DictReader(io.StringIO(text))) == {"agent": f"'{name}", "other": f"a{name}", "points": "-1.5"}


@pytest.mark.parametrize("number", [-1.5, "-1.5", "+3", "-1e-5", "-inf", 0, None, True, "", "1=2"])
def test_csv_keeps_numbers_and_other_texts(number: object) -> None:
    expected = "" if number is None else str(number)
    assert csv_text([{"a": number, "b": 1}]) == f"a,b\n{expected},1\n"
