"""The tutorial does what it says, from its first page to its last, in one folder, as a reader goes through it.

A block that begins with the name of a file is saved as that; Python beside such files runs in a process of its own, as
a game that is registered with OpenSpiel stays so. What a snippet says that it prints, it prints.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from clocks import HANG_SECONDS
from pages import ROOT, TUTORIAL, all_blocks, lines_of
from test_readme import in_few, in_short

from athenan_spiel.cli.main import main
from athenan_spiel.outcomes import registry

pytestmark = pytest.mark.usefixtures("forked_workers")

PRINTED = re.compile(r"^print\(.*\)  # ((?:-?[\d.]+|True|False)(?: (?:-?[\d.]+|True|False))*)$", re.MULTILINE)
"""What a comment says that its line prints."""


class Reader:
    """Goes through the tutorial in a folder, a page at a time.

    Attributes:
        printed: what the Python of the last page has printed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: list[Path] = []
        self.printed = ""

    def read(self, page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        """Do what the page says, and what those before it do, if that was not done yet."""
        monkeypatch.chdir(self._folder)
        monkeypatch.setattr(registry, "_REGISTERED", {})
        monkeypatch.setattr(sys, "path", [*sys.path])
        monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
        for step in TUTORIAL[: TUTORIAL.index(page) + 1]:
            if step not in self._read:
                self._do(step, capsys)
                self._read.append(step)

    def _do(self, page: Path, capsys: pytest.CaptureFixture[str]) -> None:
        blocks = all_blocks(page)
        files = {block.file: block.text for block in blocks if block.file}
        names: dict[str, object] = {}
        snippets: list[str] = []
        capsys.readouterr()
        self.printed = ""
        for name, text in files.items():
            Path(name).write_text(text, encoding="utf-8")
        for block in blocks:
            if block.language == "sh":
                for program, *words in lines_of(block.text):
                    assert program == "athenan", program
                    assert main(in_short(words)) == 0, words
                capsys.readouterr()
            elif block.language == "python" and not block.file:
                snippets.append(in_few(block.text))
                if not files:
                    exec(compile(snippets[-1], str(page), "exec"), names)
                    self.printed += capsys.readouterr().out
        if files:
            self.printed = self._in_a_process("\n".join(snippets))
            for name in files:
                sys.modules.pop(Path(name).stem, None)

    def _in_a_process(self, script: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=HANG_SECONDS
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    return Reader(tmp_path_factory.mktemp("tutorial"))


@pytest.mark.parametrize("page", TUTORIAL, ids=lambda page: page.stem)
def test_the_page_does_what_it_says(
    page: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader.read(page, monkeypatch, capsys)
    said = [line for block in all_blocks(page) if block.language == "python" for line in PRINTED.findall(block.text)]
    for line in said:
        assert line in reader.printed.splitlines()


def test_some_pages_say_what_is_printed() -> None:
    pages = [page.stem for page in TUTORIAL if PRINTED.search(page.read_text(encoding="utf-8"))]
    assert pages == ["understand", "own_game"]


def test_all_pages_of_the_tutorial_are_steps() -> None:
    assert sorted(TUTORIAL) == sorted((ROOT / "docs" / "tutorial").glob("*.md"))
    assert [re.match(r"# (\d)\. ", page.read_text(encoding="utf-8"))[1] for page in TUTORIAL] == [*"12345678"]
