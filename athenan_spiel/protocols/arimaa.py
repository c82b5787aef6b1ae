"""Arimaa's notation, and Ludii's moves in it: a turn of up to four steps, or of sixteen pieces that are set up.

In Ludii each action is a step, `A2-A3`, or the setting up of a piece from the hand, `64-A1`; a turn of fewer than four
steps ends with `Pass`. A push is two actions, the pusher's step onto the other's square, and where the other goes, from
the hand; the notation has the one who is pushed first, `rd5n Hd4n`. A pull is the puller's step, then the other's, in
both. A capture is said by `x` after the step that made it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

import pyspiel

from athenan_spiel.errors import ProgramError, shown

KINDS = {"Rabbit": "R", "Cat": "C", "Dog": "D", "Horse": "H", "Camel": "M", "Elephant": "E"}
"""The letters of the notation, by Ludii's names of the pieces; gold's are capitals."""
_LEGEND = re.compile(r"(\S) (Rabbit|Cat|Dog|Horse|Camel|Elephant)([12])\b")
_STEP = re.compile(r"([A-H][1-8])-([A-H][1-8])(?:,.*)?")
_HAND = re.compile(r"([0-9]+)-([A-H][1-8])(?:,.*)?")
_TOKEN = re.compile(r"([RCDHMErcdhme])([a-h])([1-8])([nsewx]?)")
_DIRECTIONS = {(0, 1): "n", (0, -1): "s", (1, 0): "e", (-1, 0): "w"}

Board = dict[str, str]
"""The pieces by their squares, `{"A1": "R"}`, in the notation's letters."""


def is_arimaa(game: pyspiel.Game) -> bool:
    """Whether it is Ludii's Arimaa."""
    return game.get_type().short_name == "ludii" and str(game.get_parameters().get("game", "")).casefold() == "arimaa"


def board_of(state: pyspiel.State) -> Board:
    """What stands on the board, read from how Ludii's state is printed, with its legend."""
    lines = str(state).splitlines()
    letters = {
        drawn: KINDS[kind] if owner == "1" else KINDS[kind].lower() for drawn, kind, owner in _LEGEND.findall(lines[8])
    }
    rows = [line.split()[:8] for line in lines[:8]]
    return {
        f"{'ABCDEFGH'[column]}{8 - i}": letters[drawn]
        for i, row in enumerate(rows)
        for column, drawn in enumerate(row)
        if drawn != "."
    }


def write_turn(state: pyspiel.State, turn: Sequence[int]) -> str:
    """The move for a whole turn of actions from `state`, in which a turn begins."""
    state, words, pushed = state.clone(), [], None
    before = board_of(state)
    for action in turn:
        name = state.action_to_string(state.current_player(), action)
        state.apply_action(action)
        after = board_of(state)
        if step := _STEP.fullmatch(name):
            if step[2] in before:  # a push, of which the second half is to come
                pushed = step, before
                before = after
                continue
            words += [_step(before[step[1]], step[1], step[2]), *_captures(before, after, step[1], step[2])]
        elif (drop := _HAND.fullmatch(name)) and pushed is not None:
            words += _push(pushed[0], pushed[1], drop[2], after)
            pushed = None
        elif drop:
            words.append(f"{after[drop[2]]}{drop[2].lower()}")
        before = after
    return " ".join(words)


def _push(step: re.Match[str], before: Board, goal: str, after: Board) -> list[str]:
    """The two steps of a push from the board before it, with what was captured."""
    own, other = before[step[1]], before[step[2]]
    gone = _gone({**before, goal: other, step[2]: own}, after, step[1])
    return [
        _step(other, step[2], goal),
        *(word for word in gone if word[0].isupper() == other.isupper()),
        _step(own, step[1], step[2]),
        *(word for word in gone if word[0].isupper() == own.isupper()),
    ]


def _captures(before: Board, after: Board, start: str, goal: str) -> list[str]:
    return _gone({**before, goal: before[start]}, after, start)


def _gone(expected: Board, after: Board, left: str) -> list[str]:
    """What should stand somewhere and does not."""
    return [f"{piece}{square.lower()}x" for square, piece in expected.items() if square not in after and square != left]


def _step(piece: str, start: str, goal: str) -> str:
    way = (ord(goal[0]) - ord(start[0]), int(goal[1]) - int(start[1]))
    return f"{piece}{start.lower()}{_DIRECTIONS[way]}"


def read_turn(state: pyspiel.State, text: str) -> tuple[int, ...]:
    """The actions of a move from `state`, in which a turn begins.

    Raises:
        ProgramError: it is no legal move.
    """
    tokens = [_TOKEN.fullmatch(word) for word in text.split()]
    words = deque(token for token in tokens if token is not None and token[4] != "x")
    if not words or None in tokens:
        raise ProgramError(f"expected a move in Arimaa's notation, such as Ed2n Ed3n; got {shown(text)}")
    walk = _Walk(state)
    try:
        while words:
            token = words.popleft()
            start = f"{token[2].upper()}{token[3]}"
            if not token[4]:
                walk.set_up(token[1], start)
                continue
            goal = _next(start, token[4])
            own = token[1].isupper() == (walk.mover == 0)
            if own or walk.has(f"{start}-{goal}"):
                walk.step(start, goal, token[1])
                continue
            pusher = words.popleft()
            walk.step(f"{pusher[2].upper()}{pusher[3]}", start, pusher[1])
            walk.drop(goal)
        return walk.ended()
    except (LookupError, ValueError):
        raise ProgramError(f"expected a legal move, got {shown(text)}") from None


def _next(square: str, direction: str) -> str:
    way = next(way for way, letter in _DIRECTIONS.items() if letter == direction)
    return f"{chr(ord(square[0]) + way[0])}{int(square[1]) + way[1]}"


class _Walk:
    """A turn as it is played, action by action; what is not legal is a LookupError or a ValueError."""

    def __init__(self, state: pyspiel.State) -> None:
        self._state = state.clone()
        self._actions: list[int] = []
        self._hand: dict[str, str] = {}
        self.mover = int(state.current_player())

    def has(self, name: str) -> bool:
        """Whether an action of that name is legal, for the one whose turn it is."""
        return name in self._names()

    def _names(self) -> dict[str, int]:
        state = self._state
        if state.is_terminal() or state.current_player() != self.mover:
            return {}
        names = {state.action_to_string(self.mover, action): action for action in state.legal_actions()}
        return {name.partition(",")[0]: action for name, action in reversed(names.items())}

    def _play(self, action: int) -> None:
        self._state.apply_action(action)
        self._actions.append(action)

    def step(self, start: str, goal: str, piece: str) -> None:
        """A piece goes from a square to the next."""
        if board_of(self._state)[start] != piece:
            raise LookupError(start)
        self._play(self._names()[f"{start}-{goal}"])

    def drop(self, goal: str) -> None:
        """A piece that is pushed goes there from the hand."""
        (action,) = (x for name, x in self._names().items() if (drop := _HAND.fullmatch(name)) and drop[2] == goal)
        self._play(action)

    def set_up(self, piece: str, square: str) -> None:
        """A piece comes onto the board."""
        names = self._names()
        sites = {drop[1]: action for name, action in names.items() if (drop := _HAND.fullmatch(name))}
        for site, action in sites.items():
            if site not in self._hand:
                (new,) = board_of(self._state.child(action)).items() - board_of(self._state).items()
                self._hand[site] = new[1]
        (site,) = (site for site in sites if self._hand[site] == piece)
        self._play(names[f"{site}-{square}"])

    def ended(self) -> tuple[int, ...]:
        """All actions, with the pass that ends a turn of fewer than four steps."""
        if not self._state.is_terminal() and self._state.current_player() == self.mover:
            self._play(self._names()["Pass"])
        return tuple(self._actions)
