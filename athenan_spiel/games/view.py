"""How a game looks: its board, the pieces of a state on it, and the sites that an action touches.

A game's file in `facts` says where its sites are and how pieces are read off a state; what an action touches is mostly
seen by what it changes. A game without a view is shown as the text that OpenSpiel prints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyspiel

from athenan_spiel.games.layout import Layout, Line, Piece

Pieces = Callable[[pyspiel.State], Sequence[Piece]]
Lines = Callable[[pyspiel.State], Sequence[Line]]
Sites = Callable[[pyspiel.State, int], tuple[int, ...]]
"""(state, legal action) -> the indices of the sites that are named, in the order of the hand; none: it has no place."""


@dataclass(frozen=True, kw_only=True)
class View:
    """How the states of one game look.

    Attributes:
        layout: the board.
        pieces: what stands on it.
        lines: what is drawn between sites.
        sites: what an action touches; by default `touched`.
        note: what is to be seen besides, such as pieces in hand.
        colours: of player 0 and of player 1: dark, light, red, yellow, blue.
    """

    layout: Layout
    pieces: Pieces
    lines: Lines = lambda state: ()
    sites: Sites | None = None
    note: Callable[[pyspiel.State], str] = lambda state: ""
    colours: tuple[str, str] = ("dark", "light")

    def action_sites(self, state: pyspiel.State, action: int) -> tuple[int, ...]:
        """The sites that a legal action names, such as that of a stone, or from where to where a piece goes."""
        if self.sites is not None:
            return self.sites(state, action)
        return self.touched(state, action)

    def touched(self, state: pyspiel.State, action: int) -> tuple[int, ...]:
        """What the action changes: where a piece of the mover's leaves, then where one comes; else where one goes away.

        A piece that comes to an empty site counts before those that change sides, as discs do that are turned.
        """
        mover = state.current_player()
        before = {piece.site: piece for piece in self.pieces(state)}
        after = {piece.site: piece for piece in self.pieces(state.child(action))}

        def own(pieces: dict[int, Piece]) -> set[int]:
            return {site for site, piece in pieces.items() if piece.side == mover}

        left = sorted(own(before) - own(after))
        came = sorted(own(after) - own(before))
        came = [site for site in came if site not in before] or came
        if not left and not came:
            came = sorted(after.keys() - before.keys()) or sorted(before.keys() - after.keys())
        return (*left[:1], *came[:1])
