"""Moves of a game as a tree: main line, variations and comments. It knows neither rules nor the browser.

1. A node is the position after its action, and the root is the start. A roll is an action too.
2. The first child of a node continues its line; the other children are variations. Siblings have different actions.
3. Numbers of nodes are never used twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from athenan_spiel.errors import AthenanError, shown
from athenan_spiel.games.chance import CHANCE

MAX_TREE_MOVES = 20_000
"""Maximum number of moves in a tree."""
MAX_COMMENT_CHARACTERS = 2_000
"""Maximum length of a comment."""
MAX_ALL_COMMENTS_CHARACTERS = 200_000
"""Maximum length of all comments of a tree together."""


class MoveError(AthenanError, ValueError):
    """Move or position that the game doesn't have now."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class MoveNode:
    """Position in a tree of moves.

    Attributes:
        number: identifies the node in its tree.
        action: action that led to the position; None at the root.
        name: name of the action.
        mover: player of the action; `CHANCE` for a roll.
        parent: position before the action; None at the root.
        ply: number of actions since the root.
        comment: text about the position; empty if there is none.
        children: positions after the actions tried here, the main continuation first.
    """

    number: int
    action: int | None = None
    name: str = ""
    mover: int = 0
    parent: MoveNode | None = field(default=None, repr=False)
    ply: int = 0
    comment: str = ""
    children: list[MoveNode] = field(default_factory=list, repr=False)

    @property
    def is_roll(self) -> bool:
        """Whether chance chose the action."""
        return self.mover == CHANCE

    @property
    def siblings(self) -> list[MoveNode]:
        """Nodes with the same parent, this one included; at the root, only itself."""
        return [self] if self.parent is None else self.parent.children

    def path(self) -> list[MoveNode]:
        """Returns the nodes from the root to this one, without the root."""
        found = []
        node = self
        while node.parent is not None:
            found.append(node)
            node = node.parent
        return found[::-1]

    def continuation(self) -> list[MoveNode]:
        """Returns the nodes after this one on its line."""
        found = []
        node = self
        while node.children:
            node = node.children[0]
            found.append(node)
        return found

    def has_ancestor(self, node: MoveNode) -> bool:
        """Returns whether `node` is this node or lies between it and the root."""
        here: MoveNode | None = self
        while here is not None and here.ply > node.ply:
            here = here.parent
        return here is node


@dataclass(frozen=True)
class MoveNotes:
    """Variations and comments of a game whose actions are known. Positions are numbered.

    Position 0 is the start of the game, and position i follows its i-th action. The positions after the actions of
    variations have the next numbers.

    Attributes:
        variations: number of the position before each action of a variation, and the action.
        comments: number of a position, and the comment.
    """

    variations: tuple[tuple[int, int], ...] = ()
    comments: tuple[tuple[int, str], ...] = ()


NO_NOTES = MoveNotes()
"""Notes of a game without variations and comments."""


class MoveTree:
    """Tree of moves, at first without any.

    Attributes:
        root: the start.
        version: changes with the tree.
    """

    def __init__(self) -> None:
        self.root = MoveNode(0)
        self.version = 0
        self._nodes = {0: self.root}
        self._next = 1
        self._comment_characters = 0

    def __len__(self) -> int:
        """Returns the number of moves."""
        return len(self._nodes) - 1

    @property
    def is_full(self) -> bool:
        """Whether no move can be added."""
        return len(self) >= MAX_TREE_MOVES

    def node(self, number: int) -> MoveNode:
        """Returns the node with a number.

        Raises:
            MoveError: there is none.
        """
        found = self._nodes.get(number)
        if found is None:
            raise MoveError(f"the list of moves has no position {shown(number)}: it was deleted")
        return found

    def add(self, parent: MoveNode, action: int, name: str, mover: int) -> MoveNode:
        """Returns the child of `parent` with an action, which is added as the last variation if it is new.

        Raises:
            MoveError: the tree is full.
        """
        for child in parent.children:
            if child.action == action:
                return child
        if self.is_full:
            raise MoveError(f"a game has at most {MAX_TREE_MOVES:,} moves with its variations: delete some")
        node = MoveNode(self._next, int(action), name, mover, parent, parent.ply + 1)
        self._next += 1
        self._nodes[node.number] = node
        parent.children.append(node)
        self.version += 1
        return node

    def promote(self, node: MoveNode) -> None:
        """Makes the innermost variation with `node` the main continuation of the position that it branches from.

        Raises:
            MoveError: the node is on the main line.
        """
        for branch in reversed(node.path()):
            siblings = branch.siblings
            if siblings[0] is not branch:
                siblings.remove(branch)
                siblings.insert(0, branch)
                self.version += 1
                return
        raise MoveError("this move is on the main line already")

    def delete(self, node: MoveNode) -> MoveNode:
        """Deletes a node and all moves after it. Returns its parent.

        Raises:
            MoveError: the node is the root.
        """
        parent = node.parent
        if parent is None:
            raise MoveError("the start cannot be deleted: choose a move")
        parent.children.remove(node)
        left = [node]
        while left:
            gone = left.pop()
            self._comment_characters -= len(gone.comment)
            del self._nodes[gone.number]
            left += gone.children
        self.version += 1
        return parent

    def set_comment(self, node: MoveNode, text: str) -> None:
        """Sets the comment of a node.

        Raises:
            MoveError: the comment, or all comments together, would be too long.
        """
        text = text.encode(errors="replace").decode()  # a page cannot be sent half of a surrogate pair
        if len(text) > MAX_COMMENT_CHARACTERS:
            raise MoveError(f"a comment has at most {MAX_COMMENT_CHARACTERS:,} characters, got {len(text):,}")
        count = self._comment_characters + len(text) - len(node.comment)
        if count > MAX_ALL_COMMENTS_CHARACTERS:
            raise MoveError(f"the comments of a game have at most {MAX_ALL_COMMENTS_CHARACTERS:,} characters together")
        if text != node.comment:
            node.comment, self._comment_characters = text, count
            self.version += 1

    def __contains__(self, node: MoveNode) -> bool:
        """Returns whether a node is part of the tree."""
        return self._nodes.get(node.number) is node

    def notes(self, end: MoveNode, opening: int = 0) -> MoveNotes:
        """Returns the variations and comments of the game that ends at a node.

        Args:
            opening: number of actions of the game before the root.
        """
        line = end.path()
        numbers = {self.root.number: opening}
        numbers.update((node.number, opening + ply) for ply, node in enumerate(line, 1))
        variations: list[tuple[int, int]] = []
        for _, node in self.listed():
            if node.number not in numbers:
                assert node.parent is not None
                assert node.action is not None
                numbers[node.number] = opening + len(line) + len(variations) + 1
                variations.append((numbers[node.parent.number], node.action))
        comments = ((number, self._nodes[own].comment) for own, number in numbers.items() if self._nodes[own].comment)
        return MoveNotes(tuple(variations), tuple(comments))

    def listed(self) -> Iterator[tuple[int, MoveNode]]:
        """Yields the depth and the node of each move as they are read: a move, its variations, its continuation.

        The main line has depth 0, its variations depth 1, theirs depth 2.
        """
        left = [(0, self.root.children[0])] if self.root.children else []
        while left:
            depth, node = left.pop()
            yield depth, node
            if node.children:
                left.append((depth, node.children[0]))
            if node is node.siblings[0]:
                left += [(depth + 1, other) for other in reversed(node.siblings[1:])]
