"""The README's and the docs' commands and snippets do what they say, with small counts in place of long ones.

Commands are those in blocks of `sh`. What needs Ludii, Ray, other programs or a browser stands in blocks of `console`;
`test_console_blocks.py` says who tries it. The tutorial, whose pages go on from each other, is `test_tutorial.py`'s.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from experiment_runs import TINY
from pages import PAGES, ROOT, TUTORIAL, blocks, commands, name_of

from athenan_spiel.cli.main import main
from athenan_spiel.outcomes import registry

ALONE = [page for page in PAGES if page not in TUTORIAL]
"""The pages that are read by themselves."""
SMALL = {
    "seconds=180": "matches=2",
    '"seconds": 0.1': '"iterations": 2',
    '"simulations": 100': '"simulations": 2',
    "rows=4,columns=4": "rows=3,columns=4",
}
"""What is long in a snippet, and what stands in for it here."""


def in_few(snippet: str) -> str:
    """The snippet with small counts."""
    for long, short in SMALL.items():
        snippet = snippet.replace(long, short)
    return snippet


def in_short(words: list[str]) -> list[str]:
    """The `athenan` command with counts of 2, moves of two search iterations, and 0.2 s of training where no matches
    are counted, however many that lets end; the checkpoint after 2 matches is else the only one."""
    if words[0] == "experiment":
        assert (ROOT / words[1]).is_file()
        Path("tiny.toml").write_text(TINY, encoding="utf-8")
        words = ["experiment", "tiny.toml", *words[2:]]
    if words[0] in ("train", "bench") and not {"--time", "--matches"} & {*words}:
        words = [*words, "--time", "0.2s"]
    if words[0] == "bench" and "--workers" not in words:
        words = [*words, "--workers", "0"]
    for option, value in {
        "--time": "0.2s",
        "--processes": "1",
        "--matches": "6" if any("players=3" in word for word in words) else "2",
        "--search.iterations": "2",
        "--network.filters": "4",
        "--warm-up.states": "20",
    }.items():
        words = [value if before == option else word for before, word in zip(["", *words], words, strict=False)]
    for long, short in ((r"@[\d.]+s$", "@2i"), (r"^mcts:\d+$", "mcts:2"), (r"(?<=\w)#\d+", "#2")):
        words = [re.sub(long, short, word) for word in words]
    return words


@pytest.mark.parametrize("page", ALONE, ids=name_of)
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_REGISTERED", {})
    names: dict[str, object] = {}
    for snippet in blocks(page, "python"):
        exec(compile(in_few(snippet), str(page), "exec"), names)


def test_the_stand_ins_stand_for_something() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [long for long in SMALL if long not in text] == []


def test_the_proof_in_the_readme_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (snippet,) = [snippet for snippet in blocks(ROOT / "README.md", "python") if "ath.think" in snippet]
    names: dict[str, object] = {}
    exec('import athenan_spiel as ath\ngame = ath.load_game("connect_four")\n' + snippet, names)
    assert capsys.readouterr().out.splitlines()[0] == "1 True"


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize("page", ALONE, ids=name_of)
def test_commands_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO())  # nobody is there to play
    for program, *words in commands(page):
        if program == "athenan":
            assert main(in_short(words)) == 0, words


def test_what_a_page_says_of_make_and_pip_is_what_the_makefile_does() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    said = [words for page in PAGES for words in commands(page) if words[0] != "athenan"]
    assert ["make", "train"] in said
    assert ["make", "test"] in said
    for program, *words in said:
        if program == "make":
            assert re.search(rf"^{words[0]}:", makefile, re.MULTILINE), words
        else:
            assert (program, words[0]) == ("pip", "install")
            assert all(word in makefile for word in words), words


def test_links_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_files_that_the_page_of_algorithms_names_exist() -> None:
    text = (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"`([\w/]+\.py)`", text)):
        assert (ROOT / "athenan_spiel" / name).is_file(), name
