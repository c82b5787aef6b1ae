"""Picture of a search result: the board with values and the expected line, the actions, and the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import pyspiel

from athenan_spiel.drawing.board import Overlay
from athenan_spiel.drawing.evaluations import ActionEvaluation, NodeEvaluation, line_text, site_labels, variation_stones
from athenan_spiel.drawing.picture import Picture, table_html
from athenan_spiel.drawing.state_picture import board_html, last_sites, state_text, turn_text
from athenan_spiel.drawing.tree import Branch, tree_html, value_bar
from athenan_spiel.drawing.views import view_of

MAX_ACTIONS = 12
"""Maximum number of rows of the table of actions."""
MAX_LABELS = 150
"""Maximum number of values on the board; the best actions have one."""


@dataclass(frozen=True, repr=False)
class SearchPicture(Picture):
    """Picture of a search result.

    Attributes:
        state: the searched state, which must not change.
        whole: evaluation of the state.
        actions: evaluations of its actions: the action to play, then the others from the mover's best to its worst.
        line: principal variation.
        effort: resources used by the search, as text.
        root: the search tree.
        scale: size of large values.
    """

    state: pyspiel.State
    whole: NodeEvaluation
    actions: Sequence[ActionEvaluation]
    line: Sequence[int]
    effort: str
    root: Branch
    scale: float

    def html(self) -> str:
        """Return the board, actions and tree, with values for player 0, or in a game with rows for the mover."""
        tree = tree_html(self.root, scale=self.scale, players=self.whole.players, is_still=True)
        lines = "".join(f"<p>{escape(line)}</p>" for line in self._lines(is_drawn=True))
        return (
            f'<div class="side-by-side"><div>{board_html(self.state, self._overlay())}</div>'
            f"<div>{lines}{self._table()}</div></div>"
            f"<details open><summary>Search tree</summary>{tree}</details>"
        )

    def text(self) -> str:
        """Return the state as OpenSpiel prints it, and a line for each action."""
        shown = self.actions[:MAX_ACTIONS]
        wide = max(len(x.name) for x in shown)
        rows = [f"{x.name:<{wide}}  {x.evaluation.text():>6}  {x.evaluation.visits:>9,} visits" for x in shown]
        more = [self._more()] if self._more() else []
        return "\n".join([state_text(self.state), *self._lines(), *rows, *more])

    def _lines(self, *, is_drawn: bool = False) -> list[str]:
        kind = f"{'proven' if self.whole.is_proven else 'value'} for player {self.whole.owner or 0}"
        return [
            turn_text(self.state, is_drawn=is_drawn),
            f"{kind}: {self.whole.text()}; expected: {line_text(self.line, self.state)}",
            self.effort,
        ]

    def _overlay(self) -> Overlay:
        state, view = self.state, view_of(self.state.get_game())
        if view is None:
            return Overlay()
        ends = {action.action: view.action_sites(state, action.action)[-1:] for action in self.actions[:MAX_LABELS]}
        return Overlay(
            last=last_sites(state),
            variation=variation_stones(self.line, state, view),
            labels=site_labels(self.actions, ends, self.scale, state.current_player(), reader=0),
        )

    def _table(self) -> str:
        rows = [
            (
                escape(action.name),
                value_bar(action.evaluation.value, self.scale),
                f"<b>{action.evaluation.text()}</b>" if action.evaluation.is_proven else action.evaluation.text(),
                f"{action.evaluation.visits:,}",
            )
            for action in self.actions[:MAX_ACTIONS]
        ]
        return table_html(["action", "", f"for player {self.whole.owner or 0}", "visits"], rows, self._more())

    def _more(self) -> str:
        more = len(self.actions) - MAX_ACTIONS
        return f"and {more:,} more" if more > 0 else ""
