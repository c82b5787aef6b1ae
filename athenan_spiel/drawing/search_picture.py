"""Picture of a search result: the board with values and the expected line, the actions, and the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import pyspiel

from athenan_spiel.drawing.board import Overlay
from athenan_spiel.drawing.evaluations import (
    ActionEvaluation,
    NodeEvaluation,
    candidate_marks,
    line_text,
    score_title,
    variation_stones,
)
from athenan_spiel.drawing.picture import Picture, table_html
from athenan_spiel.drawing.state_picture import board_html, last_sites, state_text, turn_text
from athenan_spiel.drawing.tree import Branch, score_bar, tree_html
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
        reader: player whose expected scores are shown.
        raw: show values in units of the outcome instead.
    """

    state: pyspiel.State
    whole: NodeEvaluation
    actions: Sequence[ActionEvaluation]
    line: Sequence[int]
    effort: str
    root: Branch
    reader: int = 0
    raw: bool = False

    def html(self) -> str:
        """Return the board, actions and tree, with expected scores of one side."""
        tree = tree_html(self.root, reader=self.reader, raw=self.raw, is_still=True)
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
        texts = [self._text(x.evaluation) for x in shown]
        width = max(map(len, texts))
        rows = [
            f"{x.name:<{wide}}  {text:>{width}}  {x.evaluation.visits:>9,} visits"
            for x, text in zip(shown, texts, strict=True)
        ]
        more = [self._more()] if self._more() else []
        return "\n".join([state_text(self.state), *self._lines(), *rows, *more])

    def _lines(self, *, is_drawn: bool = False) -> list[str]:
        line = line_text(self.line, self.state)
        return [
            turn_text(self.state, is_drawn=is_drawn),
            f"{self._column()}{self._restriction()}: {self._text(self.whole)}; expected line: {line}",
            self.effort,
        ]

    def _overlay(self) -> Overlay:
        state, view = self.state, view_of(self.state.get_game())
        if view is None:
            return Overlay()
        sites = {action.action: view.action_sites(state, action.action) for action in self.actions[:MAX_LABELS]}
        marks = candidate_marks(self.actions, sites, reader=self.reader, raw=self.raw, is_path=view.is_path)
        return Overlay(
            last=last_sites(state),
            variation=variation_stones(self.line, state, view, first=2),
            labels=marks.labels,
            arrows=marks.arrows,
        )

    def _table(self) -> str:
        rows = [
            (
                escape(action.name),
                score_bar(action.evaluation.expected_score(self.reader)),
                f"<b>{self._text(action.evaluation)}</b>"
                if action.evaluation.is_proven
                else self._text(action.evaluation),
                f"{action.evaluation.visits:,}",
            )
            for action in self.actions[:MAX_ACTIONS]
        ]
        return table_html(["action", "", self._column(), "visits"], rows, self._more())

    def _text(self, evaluation: NodeEvaluation) -> str:
        return evaluation.text(self.reader, raw=self.raw)

    def _column(self) -> str:
        """Returns the meaning of the numbers."""
        return score_title(self.state.get_game(), self.reader, raw=self.raw)

    def _restriction(self) -> str:
        """Returns how many moves were searched, if not all; the score is that of the best among them."""
        searched, legal = len(self.actions), len(self.state.legal_actions())
        return f", {searched} of {legal} moves searched" if searched < legal else ""

    def _more(self) -> str:
        more = len(self.actions) - MAX_ACTIONS
        return f"and {more:,} more" if more > 0 else ""
