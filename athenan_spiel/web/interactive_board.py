"""Board of a game that is played by pressing sites: state, legal moves, tree of moves. No browser code.

A move is a sequence of pressed sites: the stone's site, or origin and destination. Pressed sites narrow the legal
actions; the last one left is played when all its sites are pressed. Actions with equal sites, such as promotions, and
actions without a site, such as a pass, are chosen by name. The outcomes of chance have no sites.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass

import pyspiel

from athenan_spiel.drawing.state_picture import last_sites
from athenan_spiel.drawing.view import View
from athenan_spiel.drawing.views import view_of
from athenan_spiel.errors import shown
from athenan_spiel.games import given_game
from athenan_spiel.games.chance import CHANCE, is_chance, outcome_name, possible_actions
from athenan_spiel.play.move_tree import MoveError, MoveNode, MoveNotes, MoveTree


@dataclass(frozen=True)
class MoveOption:
    """Legal action.

    Attributes:
        action: number of the action.
        name: OpenSpiel's name.
        sites: sites to press, in order; empty if the action has no site.
    """

    action: int
    name: str
    sites: tuple[int, ...]


class InteractiveBoard:
    """Position in the tree of moves of one game.

    Args:
        start: first position; earlier moves cannot be taken back.
        fen: first position in FEN if it is not reached from the initial one by the history of `start`; else empty.

    Attributes:
        fen: as the argument.
        state: current position.
        node: its node in the tree.
        tree: moves since the start.
        view: drawing of the game; None if it is shown as text.
        chosen: pressed sites of an incomplete move.
    """

    def __init__(self, start: pyspiel.State, fen: str = "") -> None:
        self.fen = fen
        self._start = start.clone()
        self.game = given_game(start.get_game())  # states of OpenSpiel's own Morpion Solitaire do not last
        self.view: View | None = view_of(self.game)
        self.state: pyspiel.State = start.clone()
        self.tree = MoveTree()
        self.node: MoveNode = self.tree.root
        self.chosen: tuple[int, ...] = ()
        self._options: tuple[MoveOption, ...] | None = None

    @property
    def is_over(self) -> bool:
        """Whether the game has ended."""
        return bool(self.state.is_terminal())

    @property
    def mover(self) -> int | None:
        """Player to move; None at the end and in a chance state."""
        return None if self.is_over or self.is_chance else int(self.state.current_player())

    @property
    def is_chance(self) -> bool:
        """Whether chance chooses in this position."""
        return is_chance(self.state)

    @property
    def moves(self) -> tuple[int, ...]:
        """Actions since the start."""
        return tuple(self.state.history()[len(self._start.history()) :])

    @property
    def ahead(self) -> tuple[int, ...]:
        """Actions after the current position on its line."""
        return tuple(node.action for node in self.node.continuation() if node.action is not None)

    def start(self) -> pyspiel.State:
        """Returns a copy of the first position."""
        return self._start.clone()

    def options(self) -> tuple[MoveOption, ...]:
        """Returns the legal actions; in a chance state the outcomes."""
        if self._options is None:
            self._options = tuple(map(self.option, [] if self.is_over else possible_actions(self.state)))
        return self._options

    def option(self, action: int) -> MoveOption:
        """Returns a legal action with its name and sites."""
        if self.is_chance:
            return MoveOption(int(action), outcome_name(self.state, action), ())
        sites = () if self.view is None else self.view.action_sites(self.state, action)
        return MoveOption(int(action), self.state.action_to_string(self.state.current_player(), action), sites)

    def copy(self) -> InteractiveBoard:
        """Returns a board with the same position, for another thread."""
        other = copy.copy(self)
        other.state = self.state.clone()
        return other

    def take_options(self, other: InteractiveBoard) -> None:
        """Takes the legal actions that a copy has listed, if the position is still the same."""
        if self._options is None and self.state.history() == other.state.history():
            self._options = other._options

    def left(self) -> list[MoveOption]:
        """Returns the legal actions that begin with the pressed sites."""
        count = len(self.chosen)
        return [option for option in self.options() if option.sites[:count] == self.chosen]

    def targets(self) -> set[int]:
        """Returns the sites that may be pressed next."""
        count = len(self.chosen)
        return {option.sites[count] for option in self.left() if len(option.sites) > count}

    def drags(self) -> set[int]:
        """Returns the sites of pieces that may be dragged to another site."""
        if self.view is None or not self.view.is_path:
            return set()
        return {option.sites[0] for option in self.options() if len(option.sites) > 1}

    def dots(self) -> set[int]:
        """Returns the sites to mark as legal: destinations of the pressed piece, or sites that complete a move."""
        count = len(self.chosen)
        return {
            option.sites[count]
            for option in self.left()
            if len(option.sites) > count and (count or not option.sites[1:])
        }

    def named(self) -> list[MoveOption]:
        """Returns the actions to choose by name: their sites are all pressed, or they have none."""
        return [option for option in self.left() if option.sites == self.chosen]

    def last_sites(self) -> tuple[int, ...]:
        """Returns the sites of the last move of a player; empty before the first."""
        state, line = self.state, self._players_line()
        if len(line) < len(self.moves):
            state = self._start.clone()
            for action in line:
                state.apply_action(action)
        return last_sites(state, self._start, checked=False)

    def _players_line(self) -> tuple[int, ...]:
        """Returns the actions since the start up to the last one of a player."""
        line = self.node.path()
        while line and line[-1].is_roll:
            line.pop()
        return self.moves[: len(line)]

    def last_rolls(self) -> list[str]:
        """Returns the names of the outcomes since the last action of a player."""
        return [node.name for node in self.node.path()[len(self._players_line()) :]]

    def names(self) -> list[tuple[str, bool]]:
        """Returns the name of each action on the current line since the start, and whether it is a roll."""
        return [(node.name, node.is_roll) for node in (*self.node.path(), *self.node.continuation())]

    def press(self, site: int) -> MoveOption | None:
        """Presses a site. Returns the move that this completed and played, else None.

        A site that fits no legal action starts a new move if it can, else clears the pressed sites.
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
        """Plays a legal action; a new one becomes a variation if the position has others.

        Raises:
            MoveError: the action is illegal, the game is over, or the tree of moves is full.
        """
        if self.is_over:
            raise MoveError("the game is over: take a move back or start a new one")
        if action not in possible_actions(self.state):
            raise MoveError(f"expected {'an outcome' if self.is_chance else 'a legal move'}, got {shown(action)}")
        rolled, mover = self.is_chance, int(self.state.current_player())
        name = outcome_name(self.state, action) if rolled else self.state.action_to_string(mover, action)
        self.node = self.tree.add(self.node, action, str(name), CHANCE if rolled else mover)
        self.state.apply_action(action)
        self._changed()

    def take_back(self, people: Iterable[int] = (0, 1)) -> int:
        """Takes back the last move of one of these players and all later ones. Returns the number of moves taken back.

        Raises:
            MoveError: there is no such move.
        """
        people, ply = set(people), self.node.ply
        last = next((node for node in reversed(self.node.path()) if node.mover in people), None)
        if last is None or last.parent is None:
            raise MoveError("there is no move to take back")
        self.go_to(last.parent)
        return ply - self.node.ply

    def show(self, ply: int) -> None:
        """Shows the position `ply` moves after the start on the current line.

        Raises:
            MoveError: the line has fewer moves.
        """
        line = [self.tree.root, *self.node.path(), *self.node.continuation()]
        if not 0 <= ply < len(line):
            raise MoveError(f"expected a number of moves from 0 to {len(line) - 1}, got {ply}")
        self.go_to(line[ply])

    def go_to(self, node: MoveNode) -> None:
        """Shows the position of a node of the tree."""
        if node.has_ancestor(self.node):
            state, played = self.state, node.path()[self.node.ply :]
        else:
            state, played = self._start.clone(), node.path()
        for each in played:
            state.apply_action(each.action)
        self.state, self.node = state, node
        self._changed()

    def delete(self, node: MoveNode) -> None:
        """Deletes a move and all later ones; if the current position is among them, shows the one before the move.

        Raises:
            MoveError: it is the start.
        """
        parent = self.tree.delete(node)
        if self.node.has_ancestor(node):
            self.go_to(parent)

    def add_notes(self, notes: MoveNotes) -> None:
        """Adds the variations and comments of the game whose line is shown to its end, and shows the end of that line.

        Raises:
            MoveError: an action is illegal, or a number is that of no earlier position.
        """
        end = self.node
        nodes = [self.tree.root, *end.path()]

        def find(number: int) -> MoveNode:
            if not 0 <= number < len(nodes):
                raise MoveError(f"expected a position from 0 to {len(nodes) - 1} in the notes, got {shown(number)}")
            return nodes[number]

        for number, action in notes.variations:
            self.go_to(find(number))
            self.play(action)
            nodes.append(self.node)
        for number, comment in notes.comments:
            self.tree.set_comment(find(number), comment)
        self.go_to(end)

    def restart(self) -> None:
        """Returns to the start and drops all moves."""
        self.tree = MoveTree()
        self.go_to(self.tree.root)

    def _changed(self) -> None:
        self.chosen = ()
        self._options = None
