"""Conversion between Ludii's moves of Arimaa and Arimaa's notation, one turn at a time.

A turn is the setup of sixteen pieces, or up to four steps. In Ludii, an action is a step, `A2-A3`, or the placement of
a piece from the hand, `64-A1`; `Pass` ends a turn of fewer than four steps. A push is two actions in Ludii: the pusher
steps onto the pushed piece's square, then the pushed piece is placed from the hand. The notation writes the pushed
piece first, `rd5n Hd4n`. A pull is the puller's step, then the pulled piece's, in both. The notation writes a capture
with `x`, after the step that caused it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence

import pyspiel

from athenan_spiel.errors import ProgramError, shown

KINDS = {"Rabbit": "R", "Cat": "C", "Dog": "D", "Horse": "H", "Camel": "M", "Elephant": "E"}
"""Letters of the notation by Ludii's piece names; gold's are upper case, silver's lower case."""
_LEGEND = re.compile(r"(\S) (Rabbit|Cat|Dog|Horse|Camel|Elephant)([12])\b")
_STEP = re.compile(r"([A-H][1-8])-([A-H][1-8])(?:,.*)?")
_HAND = re.compile(r"([0-9]+)-([A-H][1-8])(?:,.*)?")
_TOKEN = re.compile(r"([RCDHMErcdhme])([a-h])([1-8])([nsewx]?)")
_DIRECTIONS = {(0, 1): "n", (0, -1): "s", (1, 0): "e", (-1, 0): "w"}

Board = dict[str, str]
"""Pieces by square, in the notation's letters: `{"A1": "R"}`."""


def is_arimaa(game: pyspiel.Game) -> bool:
    """Returns whether `game` is Ludii's Arimaa."""
    return game.get_type().short_name == "ludii" and str(game.get_parameters().get("game", "")).casefold() == "arimaa"


def board_of(state: pyspiel.State) -> Board:
    """Returns the board, parsed from the string of a Ludii state and its legend."""
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
    """Returns the notation of a complete turn from `state`, the start of a turn."""
    state, words, pushed = state.clone(), [], None
    before = board_of(state)
    for action in turn:
        name = state.action_to_string(state.current_player(), action)
        state.apply_action(action)
        after = board_of(state)
        if step := _STEP.fullmatch(name):
            if step[2] in before:  # first half of a push
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
    """Returns the two steps of a push, with captures; `before` is the board before it."""
    own, other = before[step[1]], before[step[2]]
    gone = _missing({**before, goal: other, step[2]: own}, after, step[1])
    return [
        _step(other, step[2], goal),
        *(word for word in gone if word[0].isupper() == other.isupper()),
        _step(own, step[1], step[2]),
        *(word for word in gone if word[0].isupper() == own.isupper()),
    ]


def _captures(before: Board, after: Board, start: str, goal: str) -> list[str]:
    return _missing({**before, goal: before[start]}, after, start)


def _missing(expected: Board, after: Board, left: str) -> list[str]:
    """Returns the captures: pieces of `expected` that are missing in `after`, except at `left`."""
    return [f"{piece}{square.lower()}x" for square, piece in expected.items() if square not in after and square != left]


def _step(piece: str, start: str, goal: str) -> str:
    way = (ord(goal[0]) - ord(start[0]), int(goal[1]) - int(start[1]))
    return f"{piece}{start.lower()}{_DIRECTIONS[way]}"


def read_turn(state: pyspiel.State, text: str) -> tuple[int, ...]:
    """Returns the actions of a turn in Arimaa's notation from `state`, the start of a turn.

    Raises:
        ProgramError: it is not a legal turn.
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
    """Turn under construction, action by action; an illegal action raises LookupError or ValueError."""

    def __init__(self, state: pyspiel.State) -> None:
        self._state = state.clone()
        self._actions: list[int] = []
        self._hand: dict[str, str] = {}
        self.mover = int(state.current_player())

    def has(self, name: str) -> bool:
        """Returns whether the mover has a legal action of that name."""
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
        if board_of(self._state)[start] != piece:
            raise LookupError(start)
        self._play(self._names()[f"{start}-{goal}"])

    def drop(self, goal: str) -> None:
        """Places a pushed piece from the hand."""
        (action,) = (x for name, x in self._names().items() if (drop := _HAND.fullmatch(name)) and drop[2] == goal)
        self._play(action)

    def set_up(self, piece: str, square: str) -> None:
        """Places a piece in the setup phase."""
        names = self._names()
        sites = {drop[1]: action for name, action in names.items() if (drop := _HAND.fullmatch(name))}
        for site, action in sites.items():
            if site not in self._hand:
                (new,) = board_of(self._state.child(action)).items() - board_of(self._state).items()
                self._hand[site] = new[1]
        (site,) = (site for site in sites if self._hand[site] == piece)
        self._play(names[f"{site}-{square}"])

    def ended(self) -> tuple[int, ...]:
        """Returns all actions, including the pass that ends a turn of fewer than four steps."""
        if not self._state.is_terminal() and self._state.current_player() == self.mover:
            self._play(self._names()["Pass"])
        return tuple(self._actions)
