"""The tutorial's page on Ludii's games does what it says: its commands by the fake, and all of it by Ludii itself."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from ludii_fake import FakeTransport
from pages import DOCS, blocks, commands
from test_readme import in_short

from athenan_spiel.cli.main import main

PAGE = DOCS / "tutorial" / "ludii.md"
ELSEWHERE = {
    ("pip", "install"): "test_other_blocks.py looks whether there is such an extra",
    ("athenan", "ludii"): "test_ludii_installation.py: what is found, and a jar that is installed",
}
"""Commands of the page that are not run here."""
SMALL = ["--workers", "0"]


def those_that_run() -> Iterator[list[str]]:
    for words in commands(PAGE, "console"):
        if tuple(words[:2]) not in ELSEWHERE:
            assert words[0] == "athenan"
            more = SMALL if words[1] == "train" else []
            yield [*in_short(words[1:]), *more]


def test_the_page_has_the_commands_of_a_first_match() -> None:
    assert [words[0] for words in those_that_run()] == ["games", "train", "play", "eval"]


def test_its_commands_run_on_the_fake(
    fake: FakeTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    for words in those_that_run():
        if words[0] != "games":  # which reads the list of Ludii's games; the fake has no AI either
            words = [
                "random" if word.startswith("ludii:") else word.replace("Surakarta", "Tic-Tac-Toe") for word in words
            ]
        assert main(words) == 0, words
    assert "Surakarta" in capsys.readouterr().out


@pytest.mark.usefixtures("ludii")
def test_its_commands_run_on_ludii_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("quit\n"))
    for words in those_that_run():
        assert main(words) == 0, words


@pytest.mark.usefixtures("ludii")
@pytest.mark.parametrize("page", [PAGE, DOCS / "ludii.md"], ids=lambda page: page.parent.name)
def test_its_snippets_run_on_ludii_itself(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snippets = blocks(page, "py")
    assert snippets
    for snippet in snippets:
        exec(compile(snippet, str(page), "exec"), {})


def test_nothing_in_py_is_elsewhere() -> None:
    with_py = {page for page in DOCS.glob("**/*.md") if blocks(page, "py")}
    assert with_py == {PAGE, DOCS / "ludii.md"}
