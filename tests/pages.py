"""The pages of the project: README and `docs`, and the fenced blocks in them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
TUTORIAL = [
    DOCS / "tutorial" / f"{name}.md"
    for name in re.findall(r"^tutorial/(\w+)$", (DOCS / "index.md").read_text("utf-8"), re.M)
]
"""In the order in which it is read."""
PAGES = [ROOT / "README.md", *(page for page in sorted(DOCS.glob("**/*.md")) if "_build" not in page.parts)]

FENCE = re.compile(r"^(?P<fence>```+)(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.py)\n")


class Block(NamedTuple):
    """A fenced block, with what stands behind the three quotes."""

    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The name of the file that it is to be saved as, which its first line says; None where it says none."""
        named = FILE.match(self.text)
        return named[1] if named and self.language == "python" else None


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def all_blocks(page: Path) -> list[Block]:
    return [
        Block(found["language"].strip(), found["text"]) for found in FENCE.finditer(page.read_text(encoding="utf-8"))
    ]


def blocks(page: Path, language: str) -> list[str]:
    return [block.text for block in all_blocks(page) if block.language == language]


def lines_of(text: str) -> list[list[str]]:
    """The commands of a block, as words."""
    text = re.sub(r"\\\n", " ", text)
    # To a shell, but not to shlex, a comment begins where a word may: `runs/ttt#48` has none.
    return [words for line in text.splitlines() if (words := shlex.split(re.sub(r"(^|\s)#.*", "", line)))]


def commands(page: Path, language: str = "sh") -> list[list[str]]:
    return [words for text in blocks(page, language) for words in lines_of(text)]
