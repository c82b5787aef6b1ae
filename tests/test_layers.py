"""Imports run one way: each module of `athenan_spiel` knows only those before it in this list."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import athenan_spiel

ROOT = Path(__file__).resolve().parent.parent
LAYERS = [
    "errors",
    "files",
    "arguments",
    "machine",
    "config",
    "processes",
    "games",
    "outcomes",
    "encoding",
    "transpositions",
    "resolved",
    "tree",
    "search",
    "decisions",
    "networks",
    "evaluators",
    "solving",
    "learning",
    "thinkers",
    "agent",
    "matches",
    "opponents",
    "selfplay",
    "training",
    "arena",
    "cli",
    "__main__",
]
FETCHED = {
    f"athenan_spiel.{name}": f"athenan_spiel.{module}.{name}"
    for module, names in athenan_spiel._FETCHED.items()
    for name in names
}
"""The true home of what `athenan_spiel` offers."""
LUDII_DOORS = {
    f"athenan_spiel.{name}" for name in ("games.spec", "cli.ludii", "cli.ludii_games", "cli.ludii_sweep", "cli.java")
}
"""Who may import ludii_bridge: what reads the name of one of its games, its command, the list, and Java's options."""
HEAVY = {"torch", "openvino", "pyspiel", "open_spiel", "safetensors", "tensorboard", "scipy", "rich", "tyro"}


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def name_of(path: Path) -> str:
    """`athenan_spiel.search.base` for its file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(node: ast.AST) -> Iterator[str]:
    """The absolute names of all modules that code imports, wherever in it."""
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute here"
            assert child.module is not None
            # `from athenan_spiel import games` names a module in its second half, `from athenan_spiel import train`
            # something that the package fetches from one.
            names = (f"{child.module}.{alias.name}" for alias in child.names)
            yield from (FETCHED.get(name, name) for name in names)


def layer(module: str) -> str | None:
    """The layer of a module of athenan_spiel; None for the package itself and for other packages."""
    package, _, rest = module.partition(".")
    name = rest.split(".")[0]
    return name if package == "athenan_spiel" and name in LAYERS else None


def upward(path: Path) -> list[str]:
    """What the module imports from layers after its own."""
    own = layer(name_of(path))
    if own is None:  # the package itself, which gathers them all
        return []
    names = set(imports(ast.parse(path.read_text(encoding="utf-8"))))
    return sorted(x for x in names if (other := layer(x)) and LAYERS.index(other) > LAYERS.index(own))


def imports_on_load(path: Path) -> set[str]:
    """Top-level packages that are imported as soon as the module is: not in functions, not for types alone."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    statements = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    return {name.split(".")[0] for node in statements for name in imports(node)}


@pytest.mark.parametrize("path", modules("athenan_spiel"), ids=name_of)
def test_imports_only_layers_before_its_own(path: Path) -> None:
    assert upward(path) == []


def test_every_module_has_a_layer() -> None:
    top = {name_of(path).split(".")[1] for path in modules("athenan_spiel") if "." in name_of(path)}
    assert top - set(LAYERS) == set()


def test_contributing_lists_the_layers_in_order() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [line.split("|")[2] for line in text.splitlines() if line.count("|") == 4]
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row)] == LAYERS[:-1]


@pytest.mark.parametrize("path", modules("athenan_spiel"), ids=name_of)
def test_only_the_command_line_knows_the_bots(path: Path) -> None:
    packages = {name.split(".")[0] for name in imports(ast.parse(path.read_text(encoding="utf-8")))}
    assert "ludii_bridge" not in packages or name_of(path) in LUDII_DOORS
    assert layer(name_of(path)) == "cli" or "agents" not in packages


@pytest.mark.parametrize("path", modules("agents"), ids=name_of)
def test_bots_stand_on_the_library_and_not_on_its_face(path: Path) -> None:
    names = set(imports(ast.parse(path.read_text(encoding="utf-8"))))
    assert not {name for name in names if layer(name) == "cli"}


@pytest.mark.parametrize("path", modules("ludii_bridge"), ids=name_of)
def test_the_bridge_knows_nothing_of_this_project(path: Path) -> None:
    packages = {name.split(".")[0] for name in imports(ast.parse(path.read_text(encoding="utf-8")))}
    assert not packages & {"athenan_spiel", "agents"}


LIGHT = {
    "athenan_spiel",
    "athenan_spiel.errors",
    "athenan_spiel.cli",
    "athenan_spiel.cli.main",
    "athenan_spiel.cli.durations",
}
SETTINGS = {name_of(path) for path in modules("athenan_spiel/config")}


@pytest.mark.parametrize("name", sorted(LIGHT | SETTINGS))
def test_the_light_modules_load_nothing_heavy(name: str) -> None:
    (path,) = (path for path in modules("athenan_spiel") if name_of(path) == name)
    assert imports_on_load(path) & HEAVY == set()


def test_the_check_sees_an_upward_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    module = tmp_path / "athenan_spiel" / "search" / "base.py"
    module.parent.mkdir(parents=True)
    module.write_text(
        "def f():\n"
        "    from athenan_spiel import training\n"
        "    import athenan_spiel.tree\n"
        "    from athenan_spiel import load_game, play_match\n"
    )
    assert upward(module) == ["athenan_spiel.matches.play_match", "athenan_spiel.training"]
