"""No text from elsewhere is pasted into another language's literal, such as props, classes and scripts of NiceGUI."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

WEB = Path(__file__).resolve().parents[2] / "athenan_spiel" / "web"
PARSED = frozenset(
    {"props", "classes", "style", "run_javascript", "add_head_html", "add_body_html", "add_css", "add_slot", "markdown"}
)
"""Methods whose text NiceGUI or a browser parses; properties are set by value, as in `element.props[name] = value`."""


def problems(source: str) -> list[str]:
    """The calls in a file whose text is made from anything but constants."""
    tree = ast.parse(source)
    found = []
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in PARSED:
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            handlers = [each for each in given if not _is_constant(each)]
            found += [f"line {call.lineno}: {call.func.attr}({ast.unparse(each)})" for each in handlers]
    return found


def _is_constant(given: ast.expr) -> bool:
    """Whether it is a text, a constant of the module by its name, or put together from these alone."""
    match given:
        case ast.Constant():
            return True
        case ast.Name(id=name):
            return name.isupper()
        case ast.JoinedStr(values=values):
            return all(
                _is_constant(value.value if isinstance(value, ast.FormattedValue) else value) for value in values
            )
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_constant(left) and _is_constant(right)
    return False


@pytest.mark.parametrize("file", sorted(WEB.glob("*.py")), ids=lambda file: file.name)
def test_what_is_parsed_is_constant(file: Path) -> None:
    assert problems(file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("box.props(f'aria-label=\"{name}\"')", 1),
        ("box.props('max=' + str(count))", 1),
        ("box.classes(kind)", 1),
        ("ui.run_javascript(f'go({x!r})')", 1),
        ("ui.markdown(text)", 1),
        ("box.props('dense').classes('a' + B)", 0),
        ("ui.add_body_html(f'<script>{BOARD_SCRIPT}</script>')", 0),
        ("box.props['aria-label'] = name", 0),
    ],
)
def test_the_scan_tells_them_apart(source: str, count: int) -> None:
    assert len(problems(source)) == count
