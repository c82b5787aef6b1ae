"""A board as text for any game, with the layout of the tensor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Stack:
    """Content of a site.

    Attributes:
        pieces: numbers of the components, from 1, from the bottom up.
        count: number of pieces, if pieces are only counted (seeds).
        state: local state of the site, mostly 0.
    """

    pieces: tuple[int, ...]
    count: int = 1
    state: int = 0


def printable(text: str) -> str:
    """Returns `text` with control characters escaped, as names in a description are untrusted."""
    return text if text.isprintable() else "".join(x if x.isprintable() else repr(x)[1:-1] for x in text)


def draw(
    stacks: Mapping[int, Stack],
    places: Mapping[int, tuple[int, int]],
    width: int,
    height: int,
    components: Sequence[tuple[str, int]],
    between: Collection[int] = (),
) -> str:
    """Returns the board, the top row first, followed by the meanings of the letters.

    Args:
        stacks: content of the occupied sites.
        places: column and row of each site, counted from the lower left.
        width, height: number of columns and rows.
        components: name and owner of each component, from number 1; see `letters_of`.
        between: sites with a fainter mark if empty, such as the edges of cells.
    """
    letters = letters_of(components)
    texts = {places[site]: _text(stack, letters) for site, stack in stacks.items()}
    empty = {places[site]: "\N{MIDDLE DOT}" for site in between}
    empty.update((place, ".") for site, place in places.items() if site not in between)
    wide = max((len(text) for text in texts.values()), default=1)
    rows = []
    for y in reversed(range(height)):
        cells = [texts.get((x, y), empty.get((x, y), "")).rjust(wide) for x in range(width)]
        rows.append(" ".join(cells).rstrip())
    used = {piece for stack in stacks.values() for piece in stack.pieces}
    legend = ", ".join(f"{letters[piece]} {components[piece - 1][0]}" for piece in sorted(used))
    return "\n".join([*rows, legend] if legend else rows)


def _text(stack: Stack, letters: Mapping[int, str]) -> str:
    pieces = "".join(letters[piece] for piece in stack.pieces)
    count = str(stack.count) if stack.count > 1 else ""
    return pieces + count + (f"'{stack.state}" if stack.state else "")


def letters_of(components: Sequence[tuple[str, int]]) -> dict[int, str]:
    """Returns a unique letter for each component, preferably of its name; lower case for the second player, and for
    every other one after that."""
    letters: dict[int, str] = {}
    taken: set[str] = set()
    for number, (name, owner) in enumerate(components, start=1):
        known = _LETTERS.lower() if owner and owner % 2 == 0 else _LETTERS
        wanted = [letter for letter in (name.lower() if known.islower() else name.upper()) if letter in known]
        letters[number] = next((letter for letter in [*wanted, *known] if letter not in taken), f"[{number}]")
        taken.add(letters[number])
    return letters


def numbered(names: Sequence[str]) -> list[str]:
    """Returns the names in order, with a number after each duplicate."""
    often, seen = Counter(names), Counter[str]()
    result = []
    for name in names:
        seen[name] += 1
        result.append(f"{name} #{seen[name]}" if often[name] > 1 else name)
    return result
