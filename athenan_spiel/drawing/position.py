"""A state as a picture: its board where the game has a view, else the text that OpenSpiel prints."""

from __future__ import annotations

from html import escape

import pyspiel

from athenan_spiel.drawing.board import Overlay, board_svg
from athenan_spiel.drawing.picture import Picture
from athenan_spiel.drawing.views import view_of
from athenan_spiel.games.facts import mark_of

SITES = 600
"""A board of more sites is shown as text."""
CHARACTERS = 20_000
"""Of the text of a state."""


class Position(Picture):
    """A state, as it is now.

    Args:
        state: it may change afterwards.
        overlay: what is drawn on the board besides; by default the last move.
    """

    def __init__(self, state: pyspiel.State, overlay: Overlay | None = None) -> None:
        self._text = state_text(state)
        self._turn = turn_text(state)
        overlay = Overlay(last=last_sites(state)) if overlay is None else overlay
        self._html = f"{board_html(state, overlay)}<p>{escape(turn_text(state, is_drawn=True))}</p>"

    def html(self) -> str:
        """The board, and who is to move."""
        return self._html

    def text(self) -> str:
        """What OpenSpiel prints, and who is to move."""
        return f"{self._text}\n{self._turn}"


def board_html(state: pyspiel.State, overlay: Overlay | None = None) -> str:
    """The board, and what is to be seen besides it; the text of the state where it is not known how the game looks."""
    view = view_of(state.get_game())
    if view is None or len(view.layout.sites) > SITES:
        return f"<pre>{escape(state_text(state))}</pre>"
    note = view.note(state)
    return f"<div>{board_svg(view, state, overlay, is_still=True)}</div>" + (f"<p>{escape(note)}</p>" if note else "")


def state_text(state: pyspiel.State) -> str:
    """What OpenSpiel prints, cut off where it is very long."""
    text = str(state)
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]} ..."


def turn_text(state: pyspiel.State, *, is_drawn: bool = False) -> str:
    """Who is to move, or how it has ended.

    Args:
        is_drawn: beside the board, so that pieces are called by their colour, and not as the text writes them.
    """
    plies = len(state.history())
    after = f"after {plies:,} move{'' if plies == 1 else 's'}"
    if state.is_terminal():
        return f"The end {after}: {returns_text(state.returns())}."
    mover = state.current_player()
    if mover < 0:
        return f"Nobody's turn, {after}."
    view = view_of(state.get_game()) if is_drawn else None
    mark = mark_of(state.get_game(), mover) if view is None else view.colours[mover]
    return f"Player {mover}{f' ({mark})' if mark else ''} is to move, {after}."


def returns_text(returns: list[float]) -> str:
    """Who has won, or a single player's score."""
    if len(returns) == 1:
        return f"a score of {returns[0]:g}"
    best = max(returns)
    winners = [player for player, worth in enumerate(returns) if worth == best]
    return f"player {winners[0]} has won" if len(winners) == 1 else "a draw"


def last_sites(state: pyspiel.State, start: pyspiel.State | None = None) -> tuple[int, ...]:
    """The sites of the move that led to a state; none where there is none, or where it is not known.

    Args:
        start: a state before it from which its history goes on; by default the first one of the game.
    """
    game = state.get_game()
    view = view_of(game)
    if view is None:
        return ()
    before = game.new_initial_state() if start is None else start.clone()
    line = state.history()[len(before.history()) :]
    if not line:
        return ()
    for action in line[:-1]:
        if action not in before.legal_actions():
            return ()
        before.apply_action(action)
    if line[-1] not in before.legal_actions() or str(before.child(line[-1])) != str(state):
        return ()  # it began elsewhere, as a state of Chess may
    return view.action_sites(before, line[-1])
