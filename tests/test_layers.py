"""Imports run one way: each room of `athenan_spiel` knows only those before it, and no files go in a circle."""

from __future__ import annotations

import ast
import graphlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import athenan_spiel

ROOT = Path(__file__).resolve().parent.parent
ROOMS = [
    "errors",
    "arguments",
    "config",
    "system",
    "games",
    "drawing",
    "outcomes",
    "encoding",
    "networks",
    "engines",
    "evaluators",
    "search",
    "solving",
    "play",
    "protocols",
    "learning",
    "training",
    "measuring",
    "agents",
    "arena",
    "experiments",
    "ggp",
    "web",
    "cli",
    "__main__",
]
FETCHED = {
    f"athenan_spiel.{name}": f"athenan_spiel.{module}.{name}"
    for module, names in athenan_spiel._LAZY_NAMES.items()
    for name in names
}
"""The true home of what `athenan_spiel` offers."""
LUDII_DOORS = {
    f"athenan_spiel.{name}"
    for name in (
        "games.spec",
        "games.java",
        "cli.doctor",
        "cli.ludii",
        "cli.ludii_games",
        "cli.ludii_sweep",
        "cli.options",
        "ggp.draw",
    )
}
"""Who may import ludii_bridge: what reads the name of one of its games, its command, the list, Java's options, and who
says what is found."""
HEAVY = {"torch", "openvino", "pyspiel", "open_spiel", "safetensors", "tensorboard", "scipy", "rich", "tyro"}


@cache
def modules(package: str) -> dict[str, ast.Module]:
    """Every file of a package by the name of its module, such as `athenan_spiel.search.base`."""
    found = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    assert found
    return found


@cache
def imports(node: ast.AST) -> tuple[str, ...]:
    """The absolute names of all modules that code imports, wherever in it, for types alone too."""
    return tuple(_imports(node))


def _imports(node: ast.AST) -> Iterator[str]:
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


def packages(node: ast.AST) -> set[str]:
    """The top-level packages among them."""
    return {name.split(".")[0] for name in imports(node)}


def room(module: str) -> str | None:
    """The room of a module of athenan_spiel, and of the bots; None for the package itself and for other packages."""
    package, _, rest = module.partition(".")
    if package == "agents":
        return package
    name = rest.split(".")[0]
    return name if package == "athenan_spiel" and name in ROOMS else None


def upward(name: str, tree: ast.Module) -> list[str]:
    """What the module imports from rooms after its own."""
    own = room(name)
    if own is None:  # the package itself, which gathers them all
        return []
    return sorted({x for x in imports(tree) if (other := room(x)) and ROOMS.index(other) > ROOMS.index(own)})


def file_of(name: str, files: dict[str, ast.Module]) -> str | None:
    """The module among `files` that an imported name is or lies in."""
    while name and name not in files:
        name = name.rpartition(".")[0]
    return name or None


def imports_on_load(tree: ast.Module) -> set[str]:
    """Top-level packages that are imported as soon as the module is: not in functions, not for types alone."""
    statements = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return {name.split(".")[0] for node in statements for name in imports(node)}


def test_imports_lead_only_to_rooms_before_ones_own() -> None:
    files = modules("athenan_spiel") | modules("agents")
    assert {name: above for name, tree in files.items() if (above := upward(name, tree))} == {}


def test_no_files_import_each_other_in_a_circle() -> None:
    for package in ("athenan_spiel", "agents", "ludii_bridge"):
        files = {**modules(package)}
        del files[package]  # it gathers what it offers, and fetches most of it when it is asked for
        graph = {
            name: {file for x in imports(tree) if (file := file_of(x, files)) not in (None, name)}
            for name, tree in files.items()
        }
        order = [*graphlib.TopologicalSorter(graph).static_order()]  # CycleError names a circle
        assert set(order) == set(files)


def test_every_module_has_a_room() -> None:
    top = {name.split(".")[1] for name in modules("athenan_spiel") if "." in name}
    assert top == set(ROOMS) - {"agents"}


def test_contributing_lists_the_rooms_in_order() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `") and line.count("|") == 3]
    assert [name for row in rows for name in re.findall(r"`(\w+)`", row)] == ROOMS[:-1]


def test_no_library_module_runs_the_command_line() -> None:
    """Imports of `cli` lead upward, so they are forbidden above; nor is it run by its name."""
    for name, tree in (modules("athenan_spiel") | modules("agents") | modules("ludii_bridge")).items():
        if room(name) in ("cli", "__main__"):
            continue
        assert "runpy" not in packages(tree), name
        texts = {x.value for x in ast.walk(tree) if isinstance(x, ast.Constant) and isinstance(x.value, str)}
        assert "-m" not in texts, name
        assert not [text for text in texts if text.startswith(("athenan_spiel.cli", "athenan_spiel.__main__"))], name


def test_few_know_the_bridge() -> None:
    for name, tree in modules("athenan_spiel").items():
        assert "ludii_bridge" not in packages(tree) or name in LUDII_DOORS


def test_the_bridge_knows_nothing_of_this_project() -> None:
    for tree in modules("ludii_bridge").values():
        assert not packages(tree) & {"athenan_spiel", "agents"}


def test_the_light_modules_load_nothing_heavy() -> None:
    files = modules("athenan_spiel")
    light = ("athenan_spiel", *(f"athenan_spiel.{x}" for x in ("errors", "cli", "cli.main")))
    for name in (*light, *(name for name in files if room(name) == "config")):
        assert imports_on_load(files[name]) & HEAVY == set()


def test_nobody_imports_ray_before_a_cluster_is_asked_for() -> None:
    """`system.cluster` does so by its name, when it is asked to."""
    for name, tree in (modules("athenan_spiel") | modules("agents")).items():
        assert "ray" not in packages(tree), name


def test_the_check_sees_an_upward_import() -> None:
    tree = ast.parse(
        "def f():\n"
        "    from athenan_spiel import training\n"
        "    import athenan_spiel.search.tree\n"
        "    from athenan_spiel import load_game, play_match\n"
    )
    assert upward("athenan_spiel.search.base", tree) == ["athenan_spiel.play.play_match", "athenan_spiel.training"]


def test_no_two_files_of_tests_have_one_name() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("*.py") if path.name not in ("conftest.py", "__main__.py")]
    assert sorted(names) == sorted(set(names)), "pytest imports them by their names alone"
