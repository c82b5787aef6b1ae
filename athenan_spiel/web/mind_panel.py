"""What an agent thinks, beside the board: its words, the worth of each action, the tree, and the match's values."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from nicegui import events, ui

from athenan_spiel.drawing.graph import values_svg
from athenan_spiel.drawing.tree import tree_html
from athenan_spiel.search.branches import branch_of
from athenan_spiel.web import mind
from athenan_spiel.web.live import Live
from athenan_spiel.web.live_match import LiveMatch
from athenan_spiel.web.notes import Mind

SHOWN_ACTIONS = 12
"""Rows of the table of actions."""
GRAPH = (430, 160)
"""Width and height of the graph, so that its words can be read on a phone."""
ORDERS = {"value": "value", "visits": "visits", "proof": "proof"}
"""By what the tree is unfolded, and what that is called."""
_ASKED = """(event) => {
    const row = event.target.closest('[data-action]');
    if (row) emit(Number(row.dataset.action));
}"""
_PLY = """(event) => {
    const point = event.target.closest('[data-ply]');
    if (point) emit(Number(point.dataset.ply));
}"""


class MindPanel:
    """The part of a page that shows what was thought.

    Args:
        match: by whom.
        tried: does something that may be refused, and tells why.
    """

    def __init__(self, match: LiveMatch, tried: Callable[[Callable[[], object]], None]) -> None:
        self._match = match
        self._tried = tried
        self._asked: int | None = None
        self._summary = ui.label().classes("summary").props('aria-live="off"')
        self._actions = Live().classes("actions")
        self._actions.on("click", self._ask, js_handler=_ASKED)
        self._reason = ui.label().classes("reason").props('role="status" aria-live="polite"')
        self._values = Live().classes("values")
        self._values.on("click", self._go, js_handler=_PLY)
        with ui.expansion("Search tree").classes("tree") as self._expansion:
            self._order = ui.select(ORDERS, value="value", label="Unfold by", on_change=self._draw_tree)
            self._order.props("dense outlined options-dense").classes("order")
            self._tree = Live()
        self._expansion.on_value_change(self._draw_tree)

    def draw(self) -> None:
        """Show what is known now."""
        seen = self._match.mind
        self._summary.text = "No agent that shows its thoughts has thought yet." if seen is None else _summary(seen)
        self._actions.set_content("" if seen is None else _table(seen))
        if seen is None or self._asked not in seen.result.actions:
            self._asked = None
        self._reason.text = ""
        if seen is not None and self._asked is not None:
            self._reason.text = mind.why_not(seen.result, seen.state, self._asked)
        self._draw_values(1.0 if seen is None else seen.scale)
        self._draw_tree()

    def _draw_values(self, scale: float) -> None:
        """The values of the match's positions; what is proven is at an edge."""
        known = self._match.values()
        values = [None if judged is None else 2 * judged.share(scale) - 1 for judged in known]
        proven = {i: x.completion for i, x in enumerate(known) if x is not None and x.completion is not None}
        if len(known) - values.count(None) > 1:
            ply = len(self._match.table.moves)
            graph = values_svg(
                values, proven=proven, current=ply, scale=1.0, pressable=True, width=GRAPH[0], height=GRAPH[1]
            )
            self._values.set_content(f"<p>Value for player 0 over the match; press a point to go there</p>{graph}")
        else:
            self._values.set_content("")

    def _draw_tree(self) -> None:
        seen = self._match.mind
        if self._expansion.value:
            players, by = len(self._match.seats), self._order.value
            root = None if seen is None else branch_of(seen.result.node, seen.state, by=by)
            self._tree.set_content(
                "<p>There is none yet.</p>" if root is None else tree_html(root, players=players, unfolded=())
            )

    def _ask(self, event: events.GenericEventArguments) -> None:
        seen = self._match.mind
        if seen is not None and type(event.args) is int and event.args in seen.result.actions:
            self._asked = event.args
            self.draw()

    def _go(self, event: events.GenericEventArguments) -> None:
        if type(event.args) is int:
            self._tried(lambda: self._match.show(int(event.args)))


def _summary(seen: Mind) -> str:
    result = seen.result
    mover = seen.state.current_player()
    worth = mind.of_state(result, seen.state.num_players())
    proven = "proven: " if worth.completion is not None else "value "
    line = mind.line_text(result.principal_variation, seen.state)
    visits = int(result.visits.sum())
    return (
        f"{seen.by} on move {len(seen.line) + 1}: {proven}{worth.text(mover)} for player {mover}, who is to move; "
        f"it expects {line} ({visits:,} visit{'' if visits == 1 else 's'}, {result.seconds:.1f} s)"
    )


def _table(seen: Mind) -> str:
    """The actions, the best first, each row a button that asks why."""
    mover = seen.state.current_player()
    rows = mind.of_actions(seen.result, seen.state)
    most = max((row.judgement.visits for row in rows), default=0) or 1
    cells = "".join(
        f'<tr data-action="{row.action}"><td><button title="Why, or why not?">{escape(row.name)}</button></td>'
        f'<td class="{"proven" if row.judgement.completion is not None else "estimate"}">'
        f"{escape(row.judgement.text(mover))}</td><td>{row.judgement.visits:,}</td>"
        f'<td class="visits"><i style="width:{100 * row.judgement.visits / most:.0f}%"></i></td></tr>'
        for row in rows[:SHOWN_ACTIONS]
    )
    more = f"<caption>and {len(rows) - SHOWN_ACTIONS} more</caption>" if len(rows) > SHOWN_ACTIONS else ""
    head = f'<tr><th>move</th><th>for player {mover}</th><th>visits</th><th class="visits"></th></tr>'
    return f"<table>{more}<thead>{head}</thead><tbody>{cells}</tbody></table>"
