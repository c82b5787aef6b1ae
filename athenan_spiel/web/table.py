"""A match as a page sees it: the state, what may be pressed in it, and what can be taken back. It knows no browser.

A move is made by pressing sites one after the other, as the hand does: the stone's, or from where and then to where.
Sites that are pressed narrow the legal actions; where one is left that names no more sites, it is played. Actions that
touch the same sites, such as promotions, and those without a place, such as a pass, are chosen by their names.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass

import pyspiel

from athenan_spiel.drawing.view import View
from athenan_spiel.drawing.views import view_of
from athenan_spiel.errors import AthenanError, shown
from athenan_spiel.games import given_game


class TableError(AthenanError, ValueError):
    """Something that this match does not allow now."""


@dataclass(frozen=True)
class Option:
    """A legal action.

    Attributes:
        action: its number.
        name: as OpenSpiel writes it.
        sites: that it names, in the order of the hand; none: it has no place.
    """

    action: int
    name: str
    sites: tuple[int, ...]


class Table:
    """One match, from a position on, with all that was played.

    Args:
        start: the position that it begins from; moves before it cannot be taken back.

    Attributes:
        state: what stands on the board now.
        view: how it looks; None where the game is shown as text.
        chosen: the sites that were pressed of a move not yet complete.
        ahead: moves that were taken back and may be played again, the next one first.
    """

    def __init__(self, start: pyspiel.State) -> None:
        self._start = start.clone()
        self.game = given_game(start.get_game())  # states of OpenSpiel's own Morpion Solitaire do not last
        self.view: View | None = view_of(self.game)
        self.state: pyspiel.State = start.clone()
        self.chosen: tuple[int, ...] = ()
        self.ahead: tuple[int, ...] = ()
        self._options: tuple[Option, ...] | None = None

    @property
    def is_over(self) -> bool:
        """Whether the match has ended."""
        return bool(self.state.is_terminal())

    @property
    def mover(self) -> int | None:
        """Who is to move; None at the end."""
        return None if self.is_over else int(self.state.current_player())

    @property
    def moves(self) -> tuple[int, ...]:
        """The actions since the start."""
        return tuple(self.state.history()[len(self._start.history()) :])

    def options(self) -> tuple[Option, ...]:
        """The legal actions."""
        if self._options is None:
            self._options = tuple(map(self.option, [] if self.is_over else self.state.legal_actions()))
        return self._options

    def option(self, action: int) -> Option:
        """A legal action with its name and sites."""
        sites = () if self.view is None else self.view.action_sites(self.state, action)
        return Option(int(action), self.state.action_to_string(self.state.current_player(), action), sites)

    def copy(self) -> Table:
        """Returns a table with the same position, which another thread may use."""
        other = copy.copy(self)
        other.state = self.state.clone()
        return other

    def take_options(self, other: Table) -> None:
        """Take the legal actions that a copy has listed, if its position is still on the board."""
        if self._options is None and self.state.history() == other.state.history():
            self._options = other._options

    def left(self) -> list[Option]:
        """The options that go on as was pressed so far."""
        count = len(self.chosen)
        return [option for option in self.options() if option.sites[:count] == self.chosen]

    def targets(self) -> set[int]:
        """The sites that may be pressed next."""
        count = len(self.chosen)
        return {option.sites[count] for option in self.left() if len(option.sites) > count}

    def named(self) -> list[Option]:
        """The options that are to be chosen by name now: those of which all sites are pressed, or which have none."""
        return [option for option in self.left() if option.sites == self.chosen]

    def last_sites(self) -> tuple[int, ...]:
        """The sites of the last move; none before the first."""
        moves = self.moves
        if not moves or self.view is None:
            return ()
        before = self._start.clone()
        for action in moves[:-1]:
            before.apply_action(action)
        return self.view.action_sites(before, moves[-1])

    def press(self, site: int) -> Option | None:
        """Press a site; the move that this completed, which is played, else None.

        A site that leads nowhere begins anew, if it can begin a move, else lets go of what was pressed.
        """
        if site not in self.targets():
            self.chosen = ()
            if site not in self.targets():
                return None
        self.chosen = (*self.chosen, site)
        complete = self.named()
        if len(complete) == 1 and not self.targets():
            self.play(complete[0].action)
            return complete[0]
        return None

    def play(self, action: int) -> None:
        """Play a legal action; moves that lay ahead are forgotten, as who plays goes on from there.

        Raises:
            TableError: it is none, or the match is over.
        """
        if self.is_over:
            raise TableError("the match is over: take a move back, or begin another one")
        if action not in self.state.legal_actions():
            raise TableError(f"expected a legal move, got {shown(action)}")
        self.state.apply_action(action)
        self._changed()
        self.ahead = ()

    def take_back(self, people: Iterable[int] = (0, 1)) -> int:
        """Take back the last move of one of these players and all that followed; the number of moves taken back.

        Raises:
            TableError: there is none.
        """
        moves, people = self.moves, set(people)
        before = self._start.clone()
        last = None
        for ply, action in enumerate(moves):
            if before.current_player() in people:
                last = ply
            before.apply_action(action)
        if last is None:
            raise TableError("there is no move to take back")
        self.show(last)
        return len(moves) - last

    def show(self, ply: int) -> None:
        """Show the position after so many moves since the start; those after it stay ahead.

        Raises:
            TableError: there are not so many.
        """
        line = self.moves + self.ahead
        if not 0 <= ply <= len(line):
            raise TableError(f"expected a number of moves from 0 to {len(line)}, got {ply}")
        self.state = self._start.clone()
        for action in line[:ply]:
            self.state.apply_action(action)
        self._changed()
        self.ahead = line[ply:]

    def restart(self) -> None:
        """Begin again."""
        self.show(0)
        self.ahead = ()

    def _changed(self) -> None:
        """Another state stands on the board."""
        self.chosen = ()
        self._options = None
