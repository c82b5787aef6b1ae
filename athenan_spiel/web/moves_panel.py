"""List of moves beside the board: main line, variations, and the buttons that edit them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from typing import Any

from nicegui import events, ui

from athenan_spiel.play.move_tree import MAX_COMMENT_CHARACTERS, MoveNode, MoveTree
from athenan_spiel.web.analysis import Judgement
from athenan_spiel.web.live import Live
from athenan_spiel.web.live_game import LiveGame

MAX_LISTED_MOVES = 400
"""Maximum number of moves in the list; those around the current position are shown."""
MAX_LISTED_CHARACTERS = 300
"""Maximum number of characters of a comment in the list."""
MAX_DEPTH = 5
"""Depth of variations from which the indentation stays the same."""
SELECTED_NODE = """(event) => {
    const move = event.target.closest('[data-node]');
    if (move) emit(Number(move.dataset.node));
}"""
"""Handler of clicks on a move."""


def add_button(
    run_action: Callable[[Callable[[], object]], None],
    icon: str,
    name: str,
    act: Callable[[], object],
    *,
    key: str | None = None,
) -> ui.button:
    """Adds a button with an icon, whose name is its tooltip.

    Args:
        run_action: runs an action and shows its error.
        key: key of the browser that presses the button (`board.js`).
    """
    button = ui.button(icon=icon, on_click=lambda: run_action(act)).props("flat dense")
    button.props["aria-label"] = name
    if key is not None:
        button.props["data-key"] = key
    button.tooltip(name if key is None else f"{name} ({key.removeprefix('Arrow')} key)")
    return button


class MovesPanel:
    """Part of a page that lists the moves.

    Args:
        match: game with the moves.
        run_action: runs an action and shows its error.
    """

    def __init__(self, match: LiveGame, run_action: Callable[[Callable[[], object]], None]) -> None:
        self._match = match
        self._run_action = run_action
        self._moves = Live().classes("moves").props('role="group" aria-label="Moves"')
        self._moves.on("click", self._select, js_handler=SELECTED_NODE)
        with ui.row().classes("controls"):
            self._earlier = add_button(
                run_action, "arrow_upward", "Previous variation", lambda: match.switch_variation(-1), key="ArrowUp"
            )
            self._later = add_button(
                run_action, "arrow_downward", "Next variation", lambda: match.switch_variation(1), key="ArrowDown"
            )
            self._promote = add_button(run_action, "vertical_align_top", "Promote variation", match.promote)
            self._delete = add_button(run_action, "delete_outline", "Delete from here", match.delete)
        self._node = match.board.node.number
        self._comment = ui.textarea("Comment").props("outlined dense autogrow debounce=400 rows=1").classes("comment")
        self._comment.props["maxlength"] = MAX_COMMENT_CHARACTERS
        self._comment.on_value_change(self._set_comment)

    def draw(self) -> None:
        """Shows the moves and the current one."""
        node = self._match.board.node
        index, count = node.siblings.index(node), len(node.siblings)
        self._moves.set_content(moves_html(self._match.board.tree, node, self._match.judgement))
        self._earlier.set_enabled(index > 0)
        self._later.set_enabled(index < count - 1)
        self._promote.set_enabled(any(each is not each.siblings[0] for each in node.path()))
        self._delete.set_enabled(node.parent is not None)
        self._node = node.number
        self._comment.value = node.comment

    def _set_comment(self, event: events.ValueChangeEventArguments[Any]) -> None:
        """Stores the comment of the position for which the field was drawn."""
        text = str(event.value or "")
        self._run_action(lambda: self._match.comment(self._node, text if text.strip() else ""))

    def _select(self, event: events.GenericEventArguments) -> None:
        if type(event.args) is int:
            self._run_action(lambda: self._match.go_to(event.args))


def moves_html(
    tree: MoveTree, current: MoveNode, judgement: Callable[[MoveNode], Judgement | None] = lambda node: None
) -> str:
    """Returns the moves around the current position, each a button that shows the position after it.

    A line is interrupted by its variations, which are indented.

    Args:
        judgement: returns the judgement of the move to a node by a review, if there is one.
    """
    moves = list(tree.listed())
    now = next((i for i, (_, node) in enumerate(moves) if node is current), 0)
    first = max(0, min(now - MAX_LISTED_MOVES // 2, len(moves) - MAX_LISTED_MOVES))
    last = first + MAX_LISTED_MOVES
    lines: list[list[str]] = []
    depths: list[int] = []
    before: MoveNode | None = None
    for depth, node in moves[first:last]:
        if before is None or node.parent is not before or depth != depths[-1]:
            lines.append([])
            depths.append(depth)
        lines[-1].append(_move(node, judgement(node), is_current=node is current))
        before = node
    blocks = (_line(depth, line) for depth, line in zip(depths, lines, strict=True))
    start = "<div>…</div>" if first else _comment(tree.root)
    return start + "".join(blocks) + ("<div>…</div>" if last < len(moves) else "")


def _line(depth: int, moves: Iterable[str]) -> str:
    kind = "line" if depth == 0 else "line variation"
    return f'<div class="{kind}" style="--depth:{min(depth, MAX_DEPTH)}">{" ".join(moves)}</div>'


def _move(node: MoveNode, judgement: Judgement | None, *, is_current: bool) -> str:
    kind = ("now" if is_current else "") + (" roll" if node.is_roll else "")
    current = ' aria-current="true"' if is_current else ""
    mark, title = "", "Show the position after it"
    if judgement is not None and judgement.grade is not None:
        mark, kind = judgement.mark, f"{kind} {judgement.grade}"
        title = f"{judgement.grade}: lost {judgement.lost:.1f} %; best was {judgement.best}"
    return (
        f'<button data-node="{node.number}" class="{kind.strip()}"{current} title="{escape(title)}">'
        f"{escape(f'{node.ply}. {node.name}{mark}')}</button>{_comment(node)}"
    )


def _comment(node: MoveNode) -> str:
    text = node.comment[:MAX_LISTED_CHARACTERS] + ("…" if len(node.comment) > MAX_LISTED_CHARACTERS else "")
    return f' <span class="note">{escape(text)}</span>' if text else ""
