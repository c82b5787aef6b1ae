"""Analysis beside the board: summary, expected score of each action, search tree, and expected scores over the game."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from nicegui import events, ui

from athenan_spiel.drawing.evaluations import line_text, named_text, score_title
from athenan_spiel.drawing.tree import tree_html
from athenan_spiel.search.branches import branch_of
from athenan_spiel.search.result import action_evaluations, state_evaluation
from athenan_spiel.web.analysis import Analysis, why_not
from athenan_spiel.web.charts import add_chart, redraw, values_options
from athenan_spiel.web.live import Live
from athenan_spiel.web.live_game import LiveGame

MAX_TABLE_ROWS = 12
"""Maximum number of rows in the table of actions."""
ORDERS = {"value": "value", "visits": "visits", "proof": "proof"}
"""Orders of the actions in the tree, and their names."""
_SELECTED = """(event) => {
    const row = event.target.closest('[data-action]');
    if (row) emit(Number(row.dataset.action));
}"""


class AnalysisPanel:
    """Part of a page that shows the analysis.

    Args:
        match: game that is analysed.
        run_action: runs an action and shows its error.
        is_raw: whether values are shown in units of the outcome.
    """

    def __init__(
        self, match: LiveGame, run_action: Callable[[Callable[[], object]], None], is_raw: Callable[[], bool]
    ) -> None:
        self._match = match
        self._is_raw = is_raw
        self._run_action = run_action
        self._selected_action: int | None = None
        self._summary = ui.label().classes("summary").props('aria-live="off"')
        self._actions = Live().classes("actions")
        self._actions.on("click", self._select_action, js_handler=_SELECTED)
        self._reason = ui.label().classes("reason").props('role="status" aria-live="polite"')
        self._caption = ui.label().classes("small")
        self._values = add_chart(values_options(match.game, [None], 0, 0)).classes("values").props("tabindex=0")
        self._values.on_point_click(lambda event: run_action(lambda: self._show(event.data_index)))
        with ui.expansion("Search tree").classes("tree") as self._expansion:
            self._order = ui.select(ORDERS, value="value", label="Order by", on_change=self._draw_tree)
            self._order.props("dense outlined options-dense").classes("order")
            self._tree = Live()
        self._expansion.on_value_change(self._draw_tree)

    def draw(self) -> None:
        """Shows the current analysis."""
        analysis = self._match.analysis
        self._summary.text = "No analysis yet."
        if analysis is not None:
            self._summary.text = _summary(analysis, self._match.viewer, raw=self._is_raw())
        self._actions.set_content("" if analysis is None else _table(analysis, self._match.viewer, raw=self._is_raw()))
        if analysis is None or self._selected_action not in analysis.result.actions:
            self._selected_action = None
        self._reason.text = ""
        if analysis is not None and self._selected_action is not None:
            self._reason.text = why_not(
                analysis.result, analysis.state, self._selected_action, self._match.viewer, raw=self._is_raw()
            )
        self._draw_values()
        self._draw_tree()

    def _draw_values(self) -> None:
        """Draws the expected scores of the game's positions; proven results are at the edges."""
        known, viewer, game = self._match.values(), self._match.viewer, self._match.game
        title = score_title(game, viewer)
        self._caption.text = f"{title[0].upper()}{title[1:]}; click a position, or use the arrow keys"
        self._caption.visible = self._values.visible = len(known) - known.count(None) > 1
        redraw(self._values, values_options(game, known, len(self._match.board.moves), viewer, raw=self._is_raw()))

    def _draw_tree(self) -> None:
        analysis = self._match.analysis
        if self._expansion.value:
            self._tree.set_content("<p>No tree yet.</p>" if analysis is None else self._tree_html(analysis))

    def _tree_html(self, analysis: Analysis) -> str:
        result, viewer, raw = analysis.result, self._match.viewer, self._is_raw()
        root = branch_of(result.node, analysis.state, result.calibration, player=viewer, by=self._order.value)
        title = escape(score_title(self._match.game, viewer, raw=raw))
        return f"<p>{title}</p>{tree_html(root, reader=viewer, raw=raw, unfolded=())}"

    def _show(self, ply: object) -> None:
        """Shows a position of the chart; the browser may send anything."""
        if type(ply) is int:
            self._match.show(ply)

    def _select_action(self, event: events.GenericEventArguments) -> None:
        analysis = self._match.analysis
        if analysis is not None and type(event.args) is int and event.args in analysis.result.actions:
            self._selected_action = event.args
            self.draw()


def _summary(analysis: Analysis, reader: int, *, raw: bool) -> str:
    result, state = analysis.result, analysis.state
    found = named_text(state.get_game(), state_evaluation(result, state, reader), reader, raw=raw)
    line = line_text(result.principal_variation, state)
    visits = int(result.visits.sum())
    return (
        f"{analysis.by} on move {len(analysis.line) + 1}: {found}; expected line {line} "
        f"({visits:,} visit{'' if visits == 1 else 's'}, {result.seconds:.1f} s)"
    )


def _table(analysis: Analysis, reader: int, *, raw: bool) -> str:
    """Returns the table of actions, best first; each row is a button that asks for the reason."""
    rows = action_evaluations(analysis.result, analysis.state, reader)
    most = max((row.evaluation.visits for row in rows), default=0) or 1
    cells = "".join(
        f'<tr data-action="{row.action}"><td><button title="Compare with the best">{escape(row.name)}</button></td>'
        f'<td class="{"proven" if row.evaluation.is_proven else "estimate"}">'
        f"{escape(row.evaluation.text(reader, raw=raw))}</td><td>{row.evaluation.visits:,}</td>"
        f'<td class="visits"><i style="width:{100 * row.evaluation.visits / most:.0f}%"></i></td></tr>'
        for row in rows[:MAX_TABLE_ROWS]
    )
    more = f"<caption>and {len(rows) - MAX_TABLE_ROWS} more</caption>" if len(rows) > MAX_TABLE_ROWS else ""
    title = escape(score_title(analysis.state.get_game(), reader, raw=raw))
    head = f'<tr><th>move</th><th>{title}</th><th>visits</th><td class="visits"></td></tr>'
    return f"<table>{more}<thead>{head}</thead><tbody>{cells}</tbody></table>"
