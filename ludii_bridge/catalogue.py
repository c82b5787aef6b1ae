"""The names of Ludii's games, options and rulesets.

Inside Ludii a name matches by its end ("ex.lud" loads Hex), and an unknown option or ruleset silently becomes the
default. Here an unknown name is an error that suggests the nearest.

OpenSpiel's game strings reserve round brackets, commas and equals signs: write square brackets in a name or an option,
and omit commas and equals signs: `ludii(game=Kharebga [5x5])`. Case is ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ludii_bridge.errors import LudiiError, alike, nearest
from ludii_bridge.picture import printable

_LEFT_OUT = (
    "lud/bad/",
    "lud/bad_playout/",
    "lud/wishlist/",
    "lud/WishlistDLP/",
    "lud/test/",
    "lud/wip/",
    "lud/subgame/",
    "lud/reconstruction/pending/",
    "lud/reconstruction/validation/",
)
"""Folders of unfinished games, tests and parts of games, which Ludii's own lists omit."""
_BRACKETS = str.maketrans("[]", "()")
_WRITTEN = str.maketrans("()", "[]", ",=")


@dataclass(frozen=True)
class Source:
    """Location of a game's description: a path inside the jar, or a file."""

    name: str
    path: str
    is_file: bool = False


@dataclass(frozen=True)
class Menu:
    """Options and rulesets of a game, with Ludii's names.

    Attributes:
        options: choices ("9x9") of each category ("Board Size"), in Ludii's order.
        rulesets: options ("Board Size/9x9") of each ruleset.
        defaults: default choice of each category.
    """

    options: Mapping[str, Sequence[str]] = field(default_factory=dict)
    rulesets: Mapping[str, Sequence[str]] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)


class Catalogue:
    """Ludii's games by name.

    Args:
        paths: paths of the .lud files in the jar.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths: dict[str, str] = {}
        for path in sorted(path.removeprefix("/") for path in paths):
            if not path.startswith(_LEFT_OUT):
                self._paths.setdefault(PurePosixPath(path).stem, path)
        self._names = {plain(name): name for name in self._paths}

    def __len__(self) -> int:
        return len(self._paths)

    def names(self, folder: str = "") -> list[str]:
        """Returns the sorted names, all or those below a folder of the jar, such as "lud/board/"."""
        return sorted(name for name, path in self._paths.items() if path.startswith(folder))

    def folder(self, name: str) -> str:
        """Returns the folder of a game in the jar, such as "board/space/line", by Ludii's name."""
        return str(PurePosixPath(self._paths[name]).parent.relative_to("lud"))

    def find(self, name: str) -> Source:
        """Returns the game called `name`.

        Raises:
            LudiiError: the name is unknown; the message suggests the nearest.
        """
        wanted = name.strip().translate(_BRACKETS)
        known = self._names.get(plain(wanted))
        if known is None:
            hint = (
                alike(wanted.translate(_WRITTEN), map(written, self._paths)) or "; `athenan games --ludii` lists them"
            )
            raise LudiiError(f"Ludii has no game called {wanted!r}{hint}")
        return Source(known, f"/{self._paths[known]}")


def find_file(path: str) -> Source:
    """Returns the game of a .lud file.

    Raises:
        LudiiError: there is no such file, or its name does not end in `.lud`.
    """
    file = Path(path).expanduser()
    if file.suffix != ".lud" or not file.is_file():
        raise LudiiError(f"expected the path of a .lud file, got {path!r}")
    return Source(file.stem, str(file), is_file=True)


def written(name: str) -> str:
    """Returns a name or an option as written in a game string."""
    return name.translate(_WRITTEN)


def choose(name: str, menu: Menu, ruleset: str, options: str) -> tuple[str, ...]:
    """Returns the options of a ruleset and a list of options, as Ludii writes them.

    Args:
        name: name of the game, for messages.
        menu: options and rulesets of the game.
        ruleset: name of a ruleset, with or without "Ruleset/"; empty for the default.
        options: "Category/Choice", separated by semicolons; they override those of the ruleset.

    Raises:
        LudiiError: no such ruleset, category or choice, or two choices of one category.
    """
    chosen = dict(option.split("/", 1) for option in _ruleset(name, menu, ruleset))
    given: set[str] = set()
    for text in filter(None, map(str.strip, options.split(";"))):
        category, choice = _option(name, menu, text.translate(_BRACKETS))
        if category in given:
            raise LudiiError(f"{category!r} of {name} is chosen twice in {options!r}: keep one")
        given.add(category)
        chosen[category] = choice
    return tuple(f"{category}/{choice}" for category, choice in chosen.items())


def _ruleset(name: str, menu: Menu, wanted: str) -> Sequence[str]:
    wanted = wanted.strip().translate(_BRACKETS)
    if not wanted:
        return ()
    short = {heading.removeprefix("Ruleset/"): heading for heading in menu.rulesets}
    folded = {plain(key): heading for key, heading in short.items()}
    heading = folded.get(plain(wanted).removeprefix("ruleset/"))
    if heading is None:
        raise LudiiError(f"{name} has no ruleset {wanted!r}{nearest(wanted, short) or _known(short)}")
    return menu.rulesets[heading]


def _option(name: str, menu: Menu, wanted: str) -> tuple[str, str]:
    category, slash, choice = wanted.partition("/")
    if not slash:
        raise LudiiError(f"expected Category/Choice as an option of {name}, got {wanted!r}{_known(menu.options)}")
    categories = {plain(key): key for key in menu.options}
    known = categories.get(plain(category))
    if known is None:
        raise LudiiError(f"{name} has no option {category!r}{nearest(category, menu.options) or _known(menu.options)}")
    choices = {plain(key): key for key in menu.options[known]}
    found = choices.get(plain(choice))
    if found is None:
        hint = nearest(choice, menu.options[known]) or _known(menu.options[known])
        raise LudiiError(f"{known!r} of {name} has no choice {choice!r}{hint}")
    return known, found


def plain(text: str) -> str:
    """Returns a name as compared: in lower case, without commas and equals signs."""
    return " ".join(text.translate(_BRACKETS).replace(",", " ").replace("=", " ").split()).casefold()


def _known(names: Iterable[str]) -> str:
    shown = ", ".join(map(printable, names))
    return f"; it has {shown}" if shown else "; it has none"
