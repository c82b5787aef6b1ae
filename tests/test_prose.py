"""Markdown pages, docstrings, comments and help texts are written in plain words, without the patterns below."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ("athenan_spiel", "agents", "ludii_bridge", "examples", "benchmarks")
PAGES = ("*.md", "docs/**/*.md", "zoo/**/*.md", "examples/**/*.md", "benchmarks/**/*.md")
UNCHECKED = {"CHANGELOG.md"}
"""History: entries keep the words of their time."""

BANNED = {
    r"(?<![^.;:] )(?<!\w)(?:Who|What)(?:ever)? [a-z][^.?]*\.": "a clause as a subject: name the subject",
    r"\b(?:is|are|was|were|be) (?:said|told)\b|\bsays? of\b": "hides who reports: prints, reports, is documented",
    r"^(?:Of|By what|In what|To which) ": "an opening without a noun: start with the noun or the verb",
    r"\b[Ss]o (?:many|much)\b(?! (?:as|that)\b)|\bthe like\b|\blikewise\b|\balike\b": "vague: use a number or a name",
    r"\bthat very\b|\bone's own\b|\bsuch as these\b": "vague: the same, custom, these",
    r"\bgo(?:es|ne)? on\b|\bgoing on\b|\bwent on\b": "vague: continues, resumes",
    r"\bc[ao]mes? to its end\b|\blies? (?:in|beside|beneath) (?!\[)": "an image: ends, is stored in",
    r"\bno one\b|\bwhere nothing else\b": "roundabout: nobody, by default",
    r"\b(?:it|they) be\b|\bwere it\b|\bshall\b|\blooked upon\b|\bwhereupon\b": "archaic: use the plain present tense",
    r"\b(?:desk|fleet|crew|doer|stranded|begun)s?\b": "a coined noun: slot, actor pool, workers, server lost, started",
    r"\bset back\b|\blet go\b|\btaken? in\b(?! by)": "a coined verb: roll back, prune, back up",
    r"\bword of an agent\b|\bagents?(?:'s?)? words?\b": "a coined noun: agent spec",
    r"\bstates valued\b|\bmirror images?\b|\blearned states\b": "not the field's: evaluations, symmetry, sample",
}
"""Each pattern, with the reason for its ban and what to write instead. Code in backticks is not searched."""


def texts(path: Path) -> Iterator[str]:
    """The texts of a file that people read, in one line each, without code."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        found = re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.) ?)", re.sub(r"```.*?```", "", source, flags=re.DOTALL))
    else:
        found = [*_strings(ast.parse(source)), *_comments(source)]
    for text in found:
        yield " ".join(re.sub(r"`[^`]*`", "`code`", text).replace("|", " ").strip("-*#> ").split())


def _strings(tree: ast.Module) -> Iterator[str]:
    """Docstrings, of attributes too, and the texts of arguments called `help`."""
    for node in ast.walk(tree):
        held = node.value if isinstance(node, ast.Expr) else None
        if isinstance(node, ast.keyword) and node.arg == "help":
            held = node.value
        if isinstance(held, ast.Constant) and isinstance(held.value, str):
            yield from re.split(r"\n\s*\n", held.value)


def _comments(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string.lstrip("# ")


def findings(text: str) -> Iterator[tuple[str, str]]:
    """What is banned in a text, with the reason."""
    for pattern, reason in BANNED.items():
        for match in re.finditer(pattern, text):
            yield match[0], reason


def files() -> list[Path]:
    """All files that are checked."""
    pages = {path for pattern in PAGES for path in ROOT.glob(pattern)}
    sources = {path for package in SOURCES for path in (ROOT / package).rglob("*.py")}
    skipped = {ROOT / name for name in UNCHECKED}
    return sorted(path for path in pages | sources if path not in skipped and "_build" not in path.parts)


def test_no_text_has_a_banned_pattern() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {words[:60]!r}: {reason}"
        for path in files()
        for text in texts(path)
        for words, reason in findings(text)
    ]
    assert not found, "\n".join(found)


def test_no_file_has_conflict_markers() -> None:
    marker = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
    assert [str(path) for path in files() if marker.search(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Who wants in needs the token.", 1),
        ("What proves.", 1),
        ("What is a state? Here is why.", 0),
        ("Returns what proves the state.", 0),
        ("Of a call, at least.", 1),
        ("The network of a run goes on; it is said to be good.", 2),
        ("So that much is left, as many as so many.", 1),
        ("The run is resumed. It lies in [0, 1].", 0),
        ("A fleet of workers begun by mirror images.", 3),
    ],
)
def test_the_patterns(text: str, count: int) -> None:
    assert len(list(findings(text))) == count
