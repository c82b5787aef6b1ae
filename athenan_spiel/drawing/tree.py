"""Search tree as HTML that unfolds: value, visits and proof of each action.

It consists of nested `details`, which need no script and work with keyboard and mouse. `data-path` of a row contains
the names that lead to it, so a page that redraws a growing tree can keep rows unfolded.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from html import escape

DEPTH = 12
"""Maximum number of levels below the root that are drawn."""
WIDTH = 8
"""Maximum number of drawn children of a branch."""
CHARACTERS = 60
"""Maximum length of a drawn name, in characters."""
PROVEN = {1: "player 0 wins", 0: "a draw", -1: "player 1 wins"}
"""Text of a proven result, by the gain of player 0."""

TREE_STYLE = """
.athenan-tree { font-size: .9em; line-height: 1.5; overflow-x: auto }
.athenan-tree ul { list-style: none; margin: 0; padding: 0 0 0 1.1em }
.athenan-tree > ul { padding: 0 0 0 .3em }
.athenan-tree li { margin: 0 }
.athenan-tree summary { cursor: pointer; white-space: nowrap; list-style: disclosure-closed outside;
margin-left: 1.1em }
.athenan-tree details[open] > summary { list-style-type: disclosure-open }
.athenan-tree .leaf, .athenan-tree .more { white-space: nowrap; margin-left: 1.1em }
.athenan-tree .name { display: inline-block; min-width: 4.5em; font-weight: 600 }
.athenan-bar { display: inline-block; position: relative; width: 5em; height: .7em; margin: 0 .5em;
background: linear-gradient(currentColor, currentColor) center / 1px 100% no-repeat; vertical-align: -.05em }
.athenan-bar::before { content: ""; position: absolute; inset: 0; background: currentColor; opacity: .13 }
.athenan-bar i { position: absolute; top: 0; bottom: 0; background: #2e86d1 }
.athenan-bar i.minus { background: #d5762b }
.athenan-tree .value { display: inline-block; min-width: 5em; font-variant-numeric: tabular-nums }
.athenan-tree .visits, .athenan-tree .more { opacity: .7; font-variant-numeric: tabular-nums }
.athenan-tree .proof { margin-left: .6em; padding: 0 .4em; border: 1px solid currentColor; border-radius: .6em;
font-size: .85em }
""".strip()
"""Style of the tree and its bars, part of the result of `tree_html`."""


@dataclass(frozen=True)
class Branch:
    """Action of a search tree, with the state after it; the root is the searched state.

    Attributes:
        name: name of the action.
        value: value of the state for player 0, or for `owner`.
        visits: number of times the search has selected the action.
        completion: proven gain of that player (1, 0 or -1, or between them); None without a proof.
        children: actions of the state, in the order of display.
        more: number of further actions of the state.
        owner: player whose value and gain these are, in a game with rows; None: player 0.
    """

    name: str
    value: float
    visits: int
    completion: float | None = None
    children: tuple[Branch, ...] = ()
    more: int = 0
    owner: int | None = None


def tree_html(
    root: Branch,
    *,
    depth: int = DEPTH,
    width: int = WIDTH,
    unfolded: Collection[str] | None = None,
    scale: float | None = None,
    players: int = 2,
    is_still: bool = False,
) -> str:
    """Returns the tree as nested `details`; the root is unfolded.

    Args:
        depth: maximum number of levels below the root.
        width: maximum number of children of a branch; the number of further ones is shown.
        unfolded: `data-path` of each row to unfold besides the root; by default the first child.
        scale: value with a full bar; by default the largest drawn value, and at least 1.
        players: number of players of the game. With one player, a proof concerns the value.
        is_still: the tree is not redrawn; rows have no `data-path`, which makes it smaller.
    """
    if unfolded is None:
        unfolded = {root.children[0].name} if root.children else set()
    if scale is None:
        sizes = (abs(branch.value) for branch in _drawn(root, depth, width))
        scale = max(1.0, *(size for size in sizes if math.isfinite(size)), 1.0)
    rows = _Rows(width, unfolded, scale, players, is_still)
    return (
        f'<div class="athenan-tree"><style>{TREE_STYLE}</style>'
        f"<ul>{rows.item(root, '', depth, is_open=True)}</ul></div>"
    )


def value_bar(value: float, scale: float) -> str:
    """Returns a value as a bar from the middle to the right, or to the left if it is negative."""
    share = 0.0 if math.isnan(value) else min(1.0, max(-1.0, value / scale))
    size = f"{50 * abs(share):.1f}"
    place = f"left:50%;width:{size}%" if share >= 0 else f"right:50%;width:{size}%"
    side = "minus" if share < 0 else "plus"
    return f'<span class="athenan-bar" aria-hidden="true"><i class="{side}" style="{place}"></i></span>'


def value_text(value: float) -> str:
    """Returns a value with its sign and at most three digits, such as +0.25."""
    return "0" if value == 0 else f"{value:+.3g}"


def proof_text(completion: float, players: int = 2) -> str:
    """Returns a proven gain as text."""
    if players != 2:
        return "proven"
    return PROVEN[int(completion)] if completion in PROVEN else value_text(completion)


@dataclass(frozen=True)
class _Rows:
    """Options of `tree_html`, and the rows made with them."""

    width: int
    unfolded: Collection[str]
    scale: float
    players: int
    is_still: bool

    def item(self, branch: Branch, path: str, depth: int, *, is_open: bool = False) -> str:
        """Returns a branch with its descendants."""
        row, marked = self._row(branch), "" if self.is_still else f' data-path="{escape(path)}"'
        children = branch.children[: self.width]
        if depth <= 0 or not children:
            deeper = " …" if children else ""
            return f'<li><div class="leaf"{marked}>{row}{deeper}</div></li>'
        below = "".join(self.item(child, joined(path, child.name), depth - 1) for child in children)
        if more := len(branch.children) - len(children) + branch.more:
            below += f'<li><div class="more">and {more:,} more</div></li>'
        is_open = is_open or path in self.unfolded
        return (
            f"<li><details{marked}{' open' if is_open else ''}><summary>{row}</summary><ul>{below}</ul></details></li>"
        )

    def _row(self, branch: Branch) -> str:
        visits = f"{branch.visits:,} visit{'' if branch.visits == 1 else 's'}"
        name = branch.name if len(branch.name) <= CHARACTERS else f"{branch.name[: CHARACTERS - 1]}…"
        parts = [
            f'<span class="name">{escape(name)}</span>',
            value_bar(branch.value, self.scale),
            f'<span class="value">{value_text(branch.value)}{_owner_text(branch)}</span>',
            f'<span class="visits">{visits}</span>',
        ]
        if branch.completion is not None:
            gain = branch.completion
            proof = proof_text(gain, self.players) if branch.owner is None else f"proven: {value_text(gain)}"
            parts.append(f'<span class="proof">{proof}</span>')
        return " ".join(parts)


def _owner_text(branch: Branch) -> str:
    """Returns the player of a value in a game with rows."""
    return "" if branch.owner is None else f" for player {branch.owner}"


def joined(path: str, name: str) -> str:
    """Returns the `data-path` of the child called `name` of the branch at `path`."""
    return f"{path}/{name}" if path else name


def _drawn(branch: Branch, depth: int, width: int) -> Iterator[Branch]:
    yield branch
    if depth > 0:
        for child in branch.children[:width]:
            yield from _drawn(child, depth - 1, width)
