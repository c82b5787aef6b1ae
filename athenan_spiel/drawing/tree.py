"""Search tree as HTML that unfolds: expected score, visits and proof of each action.

It consists of nested `details`, which need no script and work with keyboard and mouse. `data-path` of a row contains
the names that lead to it, so a page that redraws a growing tree can keep rows unfolded.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from html import escape

from athenan_spiel.drawing.evaluations import NodeEvaluation

DEPTH = 12
"""Maximum number of levels below the root that are drawn."""
WIDTH = 8
"""Maximum number of drawn children of a branch."""
CHARACTERS = 60
"""Maximum length of a drawn name, in characters."""

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
.athenan-tree .proof { font-weight: 600 }
""".strip()
"""Style of the tree and its bars, part of the result of `tree_html`."""


@dataclass(frozen=True)
class Branch:
    """Action of a search tree, with the state after it; the root is the searched state.

    Attributes:
        name: name of the action.
        evaluation: evaluation of the state after it.
        children: actions of the state, in the order of display.
        more: number of further actions of the state.
    """

    name: str
    evaluation: NodeEvaluation
    children: tuple[Branch, ...] = ()
    more: int = 0


def tree_html(
    root: Branch,
    *,
    depth: int = DEPTH,
    width: int = WIDTH,
    unfolded: Collection[str] | None = None,
    reader: int = 0,
    raw: bool = False,
    is_still: bool = False,
) -> str:
    """Returns the tree as nested `details`; the root is unfolded.

    Args:
        depth: maximum number of levels below the root.
        width: maximum number of children of a branch; the number of further ones is shown.
        unfolded: `data-path` of each row to unfold besides the root; by default the first child.
        reader: player whose expected scores are shown.
        raw: show values in units of the outcome.
        is_still: the tree is not redrawn; rows have no `data-path`, which makes it smaller.
    """
    if unfolded is None:
        unfolded = {root.children[0].name} if root.children else set()
    rows = _Rows(width, unfolded, reader, raw, is_still)
    return (
        f'<div class="athenan-tree"><style>{TREE_STYLE}</style>'
        f"<ul>{rows.item(root, '', depth, is_open=True)}</ul></div>"
    )


def score_bar(score: float) -> str:
    """Returns an expected score as a bar from the middle to the right, or to the left if it is below 1/2."""
    size = f"{100 * abs(score - 0.5):.1f}"
    place = f"left:50%;width:{size}%" if score >= 0.5 else f"right:50%;width:{size}%"
    side = "minus" if score < 0.5 else "plus"
    return f'<span class="athenan-bar" aria-hidden="true"><i class="{side}" style="{place}"></i></span>'


@dataclass(frozen=True)
class _Rows:
    """Options of `tree_html`, and the rows made with them."""

    width: int
    unfolded: Collection[str]
    reader: int
    raw: bool
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
        found = branch.evaluation
        visits = f"{found.visits:,} visit{'' if found.visits == 1 else 's'}"
        name = branch.name if len(branch.name) <= CHARACTERS else f"{branch.name[: CHARACTERS - 1]}…"
        kind = "value proof" if found.is_proven else "value"
        return " ".join(
            (
                f'<span class="name">{escape(name)}</span>',
                score_bar(found.expected_score(self.reader)),
                f'<span class="{kind}">{found.text(self.reader, raw=self.raw)}</span>',
                f'<span class="visits">{visits}</span>',
            )
        )


def joined(path: str, name: str) -> str:
    """Returns the `data-path` of the child called `name` of the branch at `path`."""
    return f"{path}/{name}" if path else name
