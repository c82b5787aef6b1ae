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
"""Pages of the tutorial, in reading order."""
PAGES = [ROOT / "README.md", *(page for page in sorted(DOCS.glob("**/*.md")) if "_build" not in page.parts)]

FENCE = re.compile(r"^(?P<fence>```+)(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=fence)$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w+\.py)\n")


class Block(NamedTuple):
    """Fenced block, with the language after the three quotes."""

    language: str
    text: str

    @property
    def file(self) -> str | None:
        """File name in the first line of the block, to save it as; None without one."""
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
    """Returns the commands of a block, split into words."""
    text = re.sub(r"\\\n", " ", text)
    # Unlike for shlex, a shell's comment starts only at the start of a word: `runs/ttt#48` has none.
    return [words for line in text.splitlines() if (words := shlex.split(re.sub(r"(^|\s)#.*", "", line)))]


def commands(page: Path, language: str = "sh") -> list[list[str]]:
    return [words for text in blocks(page, language) for words in lines_of(text)]
