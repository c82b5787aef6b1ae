"""The error of the bridge, and the reasons why a game is not supported.

A reason begins with "it" or "its". The constants are kinds of games that the bridge does not support.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Self

_SIMILAR_NAME = 0.6
"""Minimum similarity of a suggested name, in [0, 1]."""
_SIMILAR_WORD = 0.88
"""Minimum similarity of a word of a suggested name."""
_MAX_SUGGESTIONS = 12
_MAX_NAME_LENGTH = 200
"""Maximum length of a name for which similar names are searched, in characters. Ludii's longest has 65."""
CHANCE = "it has chance of an unsupported kind"
OUTCOMES = "its dice have too many outcomes"
HIDDEN = "it hides information"
SIMULTANEOUS = "its players move at the same time"
SIMULATION = "it is a simulation"
DEDUCTION = "it is a puzzle of deduction"
SEVERAL = "it is a match of several games"
_KINDS = frozenset({CHANCE, OUTCOMES, HIDDEN, SIMULTANEOUS, SIMULATION, DEDUCTION, SEVERAL})
_BETWEEN = "; "


class LudiiError(RuntimeError):
    """Java, Ludii or a game is missing, damaged, or not supported.

    A Java exception is the `__cause__` of the error.

    Attributes:
        game: name of the game at the beginning of the message, or empty.
        problem: the message without that name.
        reasons: the reasons why the game is not supported, or empty.
    """

    def __init__(
        self, message: str, *, game: str = "", problem: str | None = None, reasons: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.game = game
        self.problem = message if problem is None else problem
        self.reasons = tuple(reasons)

    @classmethod
    def of(cls, game: str, problem: str, reasons: Sequence[str] = ()) -> Self:
        """Returns the error with the message "GAME PROBLEM"."""
        return cls(f"{game} {problem}", game=game, problem=problem, reasons=reasons)


def nearest(got: str, known: Iterable[str]) -> str:
    """Returns ": did you mean 'x'?" if a `known` name is similar to `got`, otherwise an empty string."""
    if len(got) > _MAX_NAME_LENGTH:
        return ""
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(got.lower(), list(names), n=1)
    return f": did you mean {names[near[0]]!r}?" if near else ""


def alike(got: str, known: Iterable[str]) -> str:
    """Returns ": did you mean 'x', 'y' or 'z'?" for names of several words, of which `got` may be one.

    The suggestions are names that contain the word (Draughts: English Draughts, ...), otherwise the three nearest.
    """
    if len(got) > _MAX_NAME_LENGTH:
        return ""
    wanted = got.casefold()
    with_word, near = [], []
    for name in known:
        words = re.findall(r"\w+", name.casefold())
        if any(_similarity(wanted, word) >= _SIMILAR_WORD for word in words):
            with_word.append(name)
        near.append((-_similarity(wanted, name.casefold()), name))
    nearest_ones = [name for similarity, name in sorted(near)[:3] if -similarity >= _SIMILAR_NAME]
    if len(nearest_ones) and -min(near)[0] >= _SIMILAR_WORD:
        with_word = []
    found = sorted(with_word)[:_MAX_SUGGESTIONS] or nearest_ones
    if not found:
        return ""
    *others, last = map(repr, found)
    rest = f" ({len(with_word) - len(found)} more have it in their names)" if len(with_word) > len(found) else ""
    return f": did you mean {', '.join(others)} or {last}?{rest}" if others else f": did you mean {last}?"


def _similarity(one: str, other: str) -> float:
    matcher = difflib.SequenceMatcher(None, other, one)
    quick = matcher.real_quick_ratio()
    return matcher.ratio() if quick >= _SIMILAR_NAME and matcher.quick_ratio() >= _SIMILAR_NAME else 0.0


def is_of_a_kind(reason: str) -> bool:
    """Returns whether the bridge does not support this kind of game; otherwise something failed."""
    return reason in _KINDS


def joined(reasons: Iterable[str]) -> str:
    """Returns several reasons as one text."""
    return _BETWEEN.join(reasons)


def separated(text: str) -> list[str]:
    """Splits a text of `joined`. Any other text, such as an error message, is one reason."""
    parts = text.split(_BETWEEN)
    return parts if is_of_a_kind(parts[0]) else [text]
