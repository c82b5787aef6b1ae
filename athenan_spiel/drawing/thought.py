"""Picture of a search result: the board with values and the expected line, the actions, and the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import pyspiel

from athenan_spiel.drawing.board import Overlay
from athenan_spiel.drawing.mind import ActionMind, Judgement, ghosts, line_text, worths
from athenan_spiel.drawing.picture import Picture, table_html
from athenan_spiel.drawing.position import board_html, last_sites, state_text, turn_text
from athenan_spiel.drawing.tree import Branch, tree_html, value_bar
from athenan_spiel.drawing.views import view_of

SHOWN_ACTIONS = 12
"""Maximum number of rows of the table of actions."""
SHOWN_WORTHS = 150
"""Maximum number of values on the board, those of the best actions."""


@dataclass(frozen=True, repr=False)
class Thought(Picture):
    """Picture of a search result.

    Attributes:
        state: the searched state, which must not change.
        whole: evaluation of the state.
        minds: evaluations of its actions: the action to play, then the others from the mover's best to its worst.
        line: principal variation.
        effort: resources used by the search, as text.
        root: the search tree.
        scale: size of large values.
    """

    state: pyspiel.State
    whole: Judgement
    minds: Sequence[ActionMind]
    line: Sequence[int]
    effort: str
    root: Branch
    scale: float

    def html(self) -> str:
        """Return the board, actions and tree, with values for player 0."""
        tree = tree_html(self.root, scale=self.scale, players=self.whole.players, is_still=True)
        said = "".join(f"<p>{escape(line)}</p>" for line in self._said(is_drawn=True))
        return (
            f'<div class="side-by-side"><div>{board_html(self.state, self._overlay())}</div>'
            f"<div>{said}{self._table()}</div></div>"
            f"<details open><summary>Search tree</summary>{tree}</details>"
        )

    def text(self) -> str:
        """Return the state as OpenSpiel prints it, and a line for each action."""
        shown = [(mind.name, mind.judgement.text(), mind.judgement.visits) for mind in self.minds[:SHOWN_ACTIONS]]
        wide = max(len(name) for name, _, _ in shown)
        rows = [f"{name:<{wide}}  {text:>6}  {visits:>9,} visits" for name, text, visits in shown]
        more = [self._more()] if self._more() else []
        return "\n".join([state_text(self.state), *self._said(), *rows, *more])

    def _said(self, *, is_drawn: bool = False) -> list[str]:
        judged = "proven for player 0" if self.whole.is_proven else "value for player 0"
        return [
            turn_text(self.state, is_drawn=is_drawn),
            f"{judged}: {self.whole.text()}; expected: {line_text(self.line, self.state)}",
            self.effort,
        ]

    def _overlay(self) -> Overlay:
        state, view = self.state, view_of(self.state.get_game())
        if view is None:
            return Overlay()
        ends = {mind.action: view.action_sites(state, mind.action)[-1:] for mind in self.minds[:SHOWN_WORTHS]}
        return Overlay(
            last=last_sites(state),
            ghosts=ghosts(self.line, state, view),
            worths=worths(self.minds, ends, self.scale, state.current_player(), reader=0),
        )

    def _table(self) -> str:
        rows = [
            (
                escape(mind.name),
                value_bar(mind.judgement.value, self.scale),
                f"<b>{mind.judgement.text()}</b>" if mind.judgement.is_proven else mind.judgement.text(),
                f"{mind.judgement.visits:,}",
            )
            for mind in self.minds[:SHOWN_ACTIONS]
        ]
        return table_html(["action", "", "for player 0", "visits"], rows, self._more())

    def _more(self) -> str:
        more = len(self.minds) - SHOWN_ACTIONS
        return f"and {more:,} more" if more > 0 else ""
