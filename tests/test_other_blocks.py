"""No fenced block of a page is left untried: what is not run by `test_readme.py` or `test_tutorial.py` is held here.

Blocks of `console` need Ludii, Ray, another program or a browser. Their commands are read as the command line reads
them, up to where the work would begin. tests/ludii and tests/cli run those of the tutorial where they can be run.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pages import PAGES, ROOT, all_blocks, blocks, commands, name_of

from agents import parse_spec
from athenan_spiel.arena.tournament_settings import tournament_of
from athenan_spiel.cli import ludii_sweep
from athenan_spiel.cli.main import COMMANDS, main
from athenan_spiel.errors import AthenanError
from athenan_spiel.experiments.file import read_experiment
from athenan_spiel.games import load_game
from athenan_spiel.ggp import read_ggp

TRIED_BY = {
    "python": "test_readme.py and test_tutorial.py",
    "sh": "test_readme.py and test_tutorial.py",
    "console": "test_other_blocks.py",
    "toml": "test_other_blocks.py",
    "py": "ludii/test_ludii_pages.py, as it needs Ludii",
    "text": "nobody runs them: messages, which test_faq.py knows, and what lies in a folder",
    "{eval-rst}": "test_site.py: the reference",
    "{toctree}": "test_site.py: the order of the pages",
}
"""Each language of a block, and who tries it."""
OTHER_PROGRAMS = {
    "ray": "Ray's own command; tests/cli/test_cli_cluster.py runs what the page has of ours",
    "gogui-twogtp": "GoGui's",
}
"""Programs in blocks of `console` that are not this project's: their words are not looked at."""
CONSOLE = [(page, words) for page in PAGES for words in commands(page, "console")]


def test_every_language_is_tried_somewhere() -> None:
    for page in PAGES:
        for block in all_blocks(page):
            assert block.language in TRIED_BY, f"{name_of(page)}: who tries a block of {block.language!r}?"


def test_every_fence_is_closed() -> None:
    for page in PAGES:
        fences = re.findall(r"^\s*```", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert len(fences) == 2 * len(all_blocks(page)), name_of(page)


class UnderstoodError(Exception):
    """The words of a command were read, and its work would begin."""


@pytest.fixture
def reading_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands end when they have understood their words."""

    def replaced(module: Any) -> None:
        parse = module.parse

        def parsing(*arguments: Any, **options: Any) -> Any:
            read = parse(*arguments, **options)
            for word in [*getattr(read, "against", ()), *filter(None, [getattr(read, "agent", None)])]:
                (load_game if getattr(read, "learn", False) else parse_spec)(str(word))
            raise UnderstoodError

        monkeypatch.setattr(module, "parse", parsing)

    for module in [*(importlib.import_module(f"athenan_spiel.cli.{name}") for name in COMMANDS), ludii_sweep]:
        if hasattr(module, "parse"):
            replaced(module)


@pytest.mark.usefixtures("reading_alone")
@pytest.mark.parametrize(
    ("page", "words"),
    [pytest.param(page, words, id=f"{name_of(page)}: {' '.join(words)}") for page, words in CONSOLE],
)
def test_a_command_is_understood(page: Path, words: list[str]) -> None:
    program, *rest = words
    if program == "athenan":
        with pytest.raises(UnderstoodError):
            assert main(rest) == 0, "its words were refused"
    elif program == "python":
        assert (ROOT / rest[0]).exists()
    elif program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "optional-dependencies"
        ]
        package, named = re.fullmatch(r"(\.|athenan-spiel)(?:\[([\w,]+)\])?", rest[-1]).groups()
        assert rest[0] == "install"
        assert set(named.split(",") if named else ()) <= set(extras), f"{package} has no such extra"
    else:
        assert program in OTHER_PROGRAMS


@pytest.mark.usefixtures("reading_alone")
def test_a_command_with_a_misspelt_option_would_be_seen() -> None:
    assert main(["train", "connect_four", "--clustre", "auto"]) == 2
    with pytest.raises(AthenanError):
        parse_spec("ludi:UCT@1s")


def test_every_exception_is_met() -> None:
    assert {words[0] for _, words in CONSOLE} >= set(OTHER_PROGRAMS)
    assert {block.language for page in PAGES for block in all_blocks(page)} == set(TRIED_BY)


def test_the_files_of_settings_are_read(tmp_path: Path) -> None:
    (tournament,) = blocks(ROOT / "docs" / "arena.md", "toml")
    assert tournament_of(tournament, "arena.md").name == "connect_four"
    parts = blocks(ROOT / "docs" / "experiments.md", "toml")
    whole = "\n".join(parts).replace('games = ["hex', 'games = ["go(board_size=9)", "hex', 1)
    (tmp_path / "experiment.toml").write_text(whole, encoding="utf-8")
    assert read_experiment(tmp_path / "experiment.toml").experiment.name == "my_experiment"
    (series,) = blocks(ROOT / "docs" / "ggp.md", "toml")
    (tmp_path / "ggp.toml").write_text(series.replace(', "ludii(game=Surakarta)"', ""), encoding="utf-8")
    assert len(read_ggp(tmp_path / "ggp.toml").games) == 22
    with_files = {name_of(page) for page in PAGES if blocks(page, "toml")}
    assert with_files == {"docs/arena.md", "docs/experiments.md", "docs/ggp.md"}
