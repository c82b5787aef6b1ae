"""The site: it is made without a warning, its reference has every public name, and a new page joins it by itself."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any

import pytest
from clocks import HANG_SECONDS
from installed import needs_sphinx
from pages import DOCS, PAGES, ROOT, blocks

import agents
import athenan_spiel as ath
import ludii_bridge
from athenan_spiel.config import Settings

pytestmark = pytest.mark.slow(reason="builds the documentation site")

DIRECTIVE = re.compile(r"^\.\. (?:auto\w+|py:data):: ([\w.]+)", re.MULTILINE)
NEVER_RAISE = {"load_ipython_extension", "unload_ipython_extension", "supported_games", "registered_bots"}
MADE_BY_THEIR_GAME = {"LudiiState"}
"""Nobody else calls their constructors."""
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def conf() -> ModuleType:
    """`docs/conf.py`, which needs no Sphinx to be read."""
    found = importlib.util.spec_from_file_location("conf", DOCS / "conf.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@needs_sphinx
def test_the_site_is_made_without_a_warning(tmp_path: Path) -> None:
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    # No Java, no jar and no home of anybody's: what is documented needs neither.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "HOME": str(tmp_path)}
    environment["LUDII_JAR"] = environment["LUDII_JAVA"] = str(tmp_path / "nowhere")
    words = ["-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", str(DOCS), str(tmp_path / "site")]
    done = subprocess.run(
        [sys.executable, *words], env=environment, capture_output=True, text=True, timeout=HANG_SECONDS
    )
    assert (done.returncode, done.stderr) == (0, "")
    pages = {page.relative_to(tmp_path / "site").with_suffix("").as_posix() for page in tmp_path.glob("site/**/*.html")}
    assert pages >= {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES if page.is_relative_to(DOCS)}
    assert 'id="athenan_spiel.think"' in (tmp_path / "site" / "reference" / "search.html").read_text(encoding="utf-8")
    settings = (tmp_path / "site" / "reference" / "settings.html").read_text(encoding="utf-8")
    assert "Weight of the L2 regularisation. The article: 0.001." in settings, "the words before a colon are no type"
    html = "".join(page.read_text(encoding="utf-8") for page in tmp_path.glob("site/**/*.html"))
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=\"https?:", html), "a page fetches something"


def documented() -> list[str]:
    return [name for page in PAGES for block in blocks(page, "{eval-rst}") for name in DIRECTIVE.findall(block)]


@pytest.mark.parametrize("package", [ath, agents, ludii_bridge], ids=lambda package: package.__name__)
def test_every_public_name_is_in_the_reference_once(package: ModuleType) -> None:
    names = documented()
    missing = [name for name in package.__all__ if names.count(f"{package.__name__}.{name}") != 1]
    assert missing == (["MatchAbandonedError"] if package is agents else [])


def offered() -> list[tuple[str, Any]]:
    """The public names, but for settings, which say what they are field by field, unions of them, and errors."""
    found = [(name, getattr(package, name)) for package in (ath, agents, ludii_bridge) for name in package.__all__]
    found = [(name, x) for name, x in found if not isinstance(x, UnionType)]
    return [(name, x) for name, x in found if not (inspect.isclass(x) and issubclass(x, (Settings, Exception)))]


@pytest.mark.parametrize(("name", "thing"), offered(), ids=[name for name, _ in offered()])
def test_a_docstring_names_every_argument_and_says_what_is_raised(name: str, thing: Any) -> None:
    text = inspect.getdoc(thing) or ""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError:  # a class of OpenSpiel's, made by its own
        return
    named = [x.name for x in parameters if x.kind not in (x.VAR_POSITIONAL, x.VAR_KEYWORD)]
    if name not in MADE_BY_THEIR_GAME:
        assert [x for x in named if not re.search(rf"(?<!\w){x}(?!\w)", text)] == []
    if inspect.isfunction(thing) and name not in NEVER_RAISE:
        assert "Raises:" in text


def test_what_the_reference_has_is_there() -> None:
    for name in documented():
        found: object = sys.modules[name.partition(".")[0]]
        for part in name.split(".")[1:]:
            if not hasattr(found, part):
                importlib.import_module(f"{found.__name__}.{part}")  # type: ignore[attr-defined]
            found = getattr(found, part)
        assert found.__doc__, name


def test_a_page_that_no_list_names_joins_the_site(conf: ModuleType) -> None:
    found = [page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES if page.is_relative_to(DOCS)]
    named = conf.other_pages(INDEX, [*found, "zoo_of_tomorrow", "tutorial/zoo_of_tomorrow"])
    assert "zoo_of_tomorrow" in named
    assert not {"index", "using", "ludii", "faq", "tutorial/zoo_of_tomorrow"} & {*named}


def test_links_to_what_the_site_lacks_are_words(conf: ModuleType) -> None:
    text = "[a](using.md#x) [b](../examples/ludii) [c](../README.md) [d](https://x.y/) [e](#z) ![f](../docs)"
    plain = "[a](using.md#x) b c [d](https://x.y/) [e](#z) ![f](../docs)"
    assert conf.without_links_to_folders(text, DOCS) == plain


def test_the_extra_is_what_make_installs() -> None:
    extra = re.search(r"^docs = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert extra is not None
    for requirement in re.findall(r'"(.*?)"', extra[1]):
        assert requirement in makefile.partition("$(VENV)/.docs:")[2]
