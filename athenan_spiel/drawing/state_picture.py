"""Picture of a state: its board if the game has a view, otherwise the text that OpenSpiel prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import pyspiel

from athenan_spiel.drawing.board import Overlay, board_svg
from athenan_spiel.drawing.picture import Picture
from athenan_spiel.drawing.views import view_of
from athenan_spiel.games.chance import CHANCE
from athenan_spiel.games.facts import mark_of, side_name
from athenan_spiel.games.rows import winners_of

SITES = 600
"""Maximum number of sites of a drawn board; a larger one is shown as text."""
CHARACTERS = 20_000
"""Maximum length of the text of a state, in characters."""


class StatePicture(Picture):
    """Picture of a state.

    Args:
        state: the state, which may change afterwards.
        overlay: marks on the board; None: the last move and the winning line.
    """

    def __init__(self, state: pyspiel.State, overlay: Overlay | None = None) -> None:
        self._text = state_text(state)
        self._turn = turn_text(state)
        if overlay is None:
            view = view_of(state.get_game())
            overlay = Overlay(last=last_sites(state), win=() if view is None else view.winning_sites(state))
        self._html = f"{board_html(state, overlay)}<p>{escape(turn_text(state, is_drawn=True))}</p>"

    def html(self) -> str:
        """Return the board and the player to move."""
        return self._html

    def text(self) -> str:
        """Return the text of OpenSpiel and the player to move."""
        return f"{self._text}\n{self._turn}"


def board_html(state: pyspiel.State, overlay: Overlay | None = None) -> str:
    """Return the board and its note, or without a view the text of the state."""
    view = view_of(state.get_game())
    if view is None or len(view.layout.sites) > SITES:
        return f"<pre>{escape(state_text(state))}</pre>"
    note = view.note(state)
    return f"<div>{board_svg(view, state, overlay, is_still=True)}</div>" + (f"<p>{escape(note)}</p>" if note else "")


def state_text(state: pyspiel.State) -> str:
    """Return the text of OpenSpiel, shortened if it is very long."""
    text = str(state)
    return text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]} ..."


def turn_text(state: pyspiel.State, *, is_drawn: bool = False) -> str:
    """Return the player to move, or the result, as text.

    Args:
        is_drawn: name pieces by their colour on the board, rather than by their character in the text.
    """
    plies = len(state.history())
    after = f"after {plies:,} move{'' if plies == 1 else 's'}"
    if state.is_terminal():
        return f"The end {after}: {returns_text(state.get_game(), state.returns())}."
    mover = state.current_player()
    if mover < 0:
        return f"{'Chance' if mover == CHANCE else 'Nobody'} is to move, {after}."
    return sentence(f"{side_text(state.get_game(), mover, is_drawn=is_drawn)} is to move, {after}.")


def sentence(text: str) -> str:
    """Return `text` with a capital first letter, except that of a one-character name such as x."""
    return text if len(text.split(maxsplit=1)[0]) == 1 else text[:1].upper() + text[1:]


def side_text(game: pyspiel.Game, player: int, *, is_drawn: bool = False) -> str:
    """Return the name of a side, with the mark or the colour of its pieces if the name does not say it.

    Examples: `White`, `Order (white)`, `Black (x)`, `Black (in small letters)`.
    """
    name, mark = side_name(game, player), mark_of(game, player) or ""
    view = view_of(game) if is_drawn and mark else None
    if view is not None and name != mark:
        mark = view.colour_name(player)
    mark = mark.removeprefix(f"{name}, ")
    return name if mark.lower() in ("", name.lower()) else f"{name} ({mark})"


def returns_text(game: pyspiel.Game, returns: Sequence[float]) -> str:
    """Return the winner, with more than two players also the returns, or the score of a single player, as text."""
    if len(returns) == 1:
        return f"a score of {returns[0]:g}"
    winners = winners_of(returns)
    if not winners:
        return "a draw"
    if len(returns) == 2:
        return f"{side_name(game, winners[0])} has won"
    sides = listed(side_name(game, winner) for winner in winners)
    first = f"{sides} has won" if len(winners) == 1 else f"{sides} share the first place"
    return f"{first} (returns {numbers_text(returns)})"


def numbers_text(numbers: Iterable[float]) -> str:
    """Return numbers as text, such as "-0.5, -0.5, 1"."""
    return ", ".join(f"{number:.3g}" for number in numbers)


def listed(items: Iterable[object]) -> str:
    """Return items as text, such as "0, 1 and 2"."""
    *most, last = map(str, items)
    return f"{', '.join(most)} and {last}" if most else last


def last_sites(state: pyspiel.State, start: pyspiel.State | None = None, *, checked: bool = True) -> tuple[int, ...]:
    """Return the sites of the last move; empty without a move or without a view.

    Args:
        start: an earlier state of the same game; None: the initial state.
        checked: check that the moves lead from `start` to `state`, else return no sites.
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
        if checked and action not in before.legal_actions():
            return ()
        before.apply_action(action)
    if checked and (line[-1] not in before.legal_actions() or str(before.child(line[-1])) != str(state)):
        return ()  # the game started from another position, which Chess allows
    return view.action_sites(before, line[-1])
