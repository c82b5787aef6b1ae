"""The one error of the bridge."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Self

_CLOSE = 0.6
"""The likeness, from 0 to 1, from which on a name may have been meant."""
_CLOSE_WORD = 0.88
"""And that of a word of it."""
_MOST_WITH_THE_WORD = 12
_LONGEST_NAME = 200
"""Maximum length of a name for which similar names are searched, in characters. Ludii's longest has 65."""


class LudiiError(RuntimeError):
    """Java, Ludii or a game of it is missing, broken, or unfit; the message is one line and says what to do.

    Where Java threw, the Java exception is its `__cause__`.

    Attributes:
        game: the game whose name the message begins with; empty where it does not.
        problem: the message without that name.
        reasons: why the game cannot be played here, each by itself (`reasons`); empty where that is not the error.
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
        """The error whose message is the name of a game and what is wrong with it."""
        return cls(f"{game} {problem}", game=game, problem=problem, reasons=reasons)


def nearest(got: str, known: Iterable[str]) -> str:
    """The words ": did you mean 'x'?" if one of the `known` names is near to what came, else nothing."""
    if len(got) > _LONGEST_NAME:
        return ""
    names = {name.lower(): name for name in known}
    near = difflib.get_close_matches(got.lower(), list(names), n=1)
    return f": did you mean {names[near[0]]!r}?" if near else ""


def alike(got: str, known: Iterable[str]) -> str:
    """The words ": did you mean 'x', 'y' or 'z'?" for names of several words, of which one may be all that came.

    Names with what came among their words come first (Draughts: English Draughts, ...), else the three nearest.
    """
    if len(got) > _LONGEST_NAME:
        return ""
    wanted = got.casefold()
    with_word, near = [], []
    for name in known:
        words = re.findall(r"\w+", name.casefold())
        if any(_likeness(wanted, word) >= _CLOSE_WORD for word in words):
            with_word.append(name)
        near.append((-_likeness(wanted, name.casefold()), name))
    nearest_ones = [name for likeness, name in sorted(near)[:3] if -likeness >= _CLOSE]
    if len(nearest_ones) and -min(near)[0] >= _CLOSE_WORD:
        with_word = []
    found = sorted(with_word)[:_MOST_WITH_THE_WORD] or nearest_ones
    if not found:
        return ""
    *others, last = map(repr, found)
    rest = f" ({len(with_word) - len(found)} more have it in their names)" if len(with_word) > len(found) else ""
    return f": did you mean {', '.join(others)} or {last}?{rest}" if others else f": did you mean {last}?"


def _likeness(one: str, other: str) -> float:
    matcher = difflib.SequenceMatcher(None, other, one)
    quick = matcher.real_quick_ratio()
    return matcher.ratio() if quick >= _CLOSE and matcher.quick_ratio() >= _CLOSE else 0.0
