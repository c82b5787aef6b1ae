"""A board in letters, for any game; sites are drawn where the tensor has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Stack:
    """What stands on a site.

    Attributes:
        pieces: numbers of the components from the bottom up, from 1; one where the game does not stack.
        count: how many of them, where pieces are counted and not distinguished (seeds).
        state: the local state of the site, mostly 0.
    """

    pieces: tuple[int, ...]
    count: int = 1
    state: int = 0


def printable(text: str) -> str:
    """Returns `text` with each character that could steer a terminal as Python writes it.

    A game's description may come from elsewhere and name its pieces and sites as it likes.
    """
    return text if text.isprintable() else "".join(x if x.isprintable() else repr(x)[1:-1] for x in text)


def draw(
    stacks: Mapping[int, Stack],
    places: Mapping[int, tuple[int, int]],
    width: int,
    height: int,
    components: Sequence[tuple[str, int]],
    between: Collection[int] = (),
) -> str:
    """The board, the top row first, and below it what the letters mean.

    Args:
        stacks: what stands on each site that is not empty.
        places: of each site its column and its row, counted from the lower left.
        width: columns.
        height: rows.
        components: the name and the owner of each component, from number 1; owner 1 has capital letters.
        between: sites that are marked more faintly where they are empty, as the edges of a board's cells.
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
    """A letter for each component: the first of its name that is free, else any; small ones for the second player."""
    given: dict[int, str] = {}
    taken: set[str] = set()
    for number, (name, owner) in enumerate(components, start=1):
        wanted = [letter.lower() if owner == 2 else letter for letter in name.upper() if letter in _LETTERS]
        free = [x.lower() if owner == 2 else x for x in _LETTERS]
        given[number] = next((letter for letter in [*wanted, *free] if letter not in taken), f"[{number}]")
        taken.add(given[number])
    return given
