"""What the words after UCI's `go` ask for, and how a search's result is told in UCI's `info`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from athenan_spiel.config.settings import LONGEST, MOST
from athenan_spiel.search.drive import Budget

USUAL_MOVES = 30
"""The moves that the rest of a clock is dealt out to where the other side does not say."""
MARGIN = 0.05
"""Seconds of a clock that are not used: what it takes to tell a move."""
SHORTEST = 0.005
"""Seconds that are thought at least."""
CERTAIN = 0.9999
"""The largest expected result of what is not proven, either way."""
_NUMBERS = ("movetime", "nodes", "wtime", "btime", "winc", "binc", "movestogo", "depth", "mate")
_NUMBER = re.compile(r"-?[0-9]{1,15}")


@dataclass(frozen=True)
class Go:
    """The words after `go`.

    Attributes:
        numbers: those that are given, by their words.
        infinite: think until `stop`; so `ponder` is understood, too.
        only: the moves to which the search is restricted, in the order given; any where there are none.
    """

    numbers: dict[str, int]
    infinite: bool
    only: tuple[str, ...]

    @classmethod
    def read(cls, words: Sequence[str]) -> Self:
        """What the words say; those that are none are passed over, as UCI asks."""
        numbers = {
            word: int(value)
            for word, value in itertools.pairwise(words)
            if word in _NUMBERS and _NUMBER.fullmatch(value)
        }
        only = words[words.index("searchmoves") + 1 :] if "searchmoves" in words else []
        ends = [i for i, word in enumerate(only) if word in (*_NUMBERS, "infinite", "ponder")]
        moves = dict.fromkeys(only[: ends[0]] if ends else only)
        return cls(numbers, "infinite" in words or "ponder" in words, tuple(moves))

    @property
    def depth(self) -> int | None:
        """Greatest depth in moves: `depth N`, or the 2N - 1 moves of `mate N`, whichever is less; None without both."""
        depths = [self.numbers["depth"]] if "depth" in self.numbers else []
        if "mate" in self.numbers:
            depths.append(2 * self.numbers["mate"] - 1)
        return max(1, min(depths)) if depths else None

    @property
    def limited(self) -> bool:
        """Whether a limit in time or nodes is given, or `infinite`."""
        return self.infinite or any(word in self.numbers for word in ("movetime", "nodes", "wtime", "btime"))

    def budget(self, usual: Budget, *, white: bool, parts: int = 1) -> Budget:
        """How long to think about each of the actions of a turn. It has a limit in seconds, so it can be stopped.

        Args:
            usual: where nothing is said.
            white: the side to move is UCI's White, the side that begins.
            parts: the actions that are still to be chosen.
        """
        numbers = self.numbers
        if self.infinite:
            return Budget(seconds=LONGEST)
        if "movetime" in numbers:
            return Budget(seconds=max(SHORTEST, (numbers["movetime"] / 1000 - MARGIN / 2) / parts))
        if "nodes" in numbers:
            return Budget(seconds=LONGEST, evaluations=min(MOST, max(1, numbers["nodes"] // parts)))
        if (left := numbers.get("wtime" if white else "btime")) is not None:
            more = numbers.get("winc" if white else "binc", 0)
            moves = max(1, numbers.get("movestogo", USUAL_MOVES))
            share = min(left / moves + 0.8 * more, left - 1000 * MARGIN) / 1000
            return Budget(seconds=max(SHORTEST, share / parts))
        return replace(usual, seconds=LONGEST if usual.seconds is None else usual.seconds)


def end_words(gain: float) -> str:
    """The `score` of a finished match, by the gain of the side to move: `mate 0` is a loss and `cp 0` a draw.

    UCI has no word for a side to move that has won, as in Antichess. That is `mate 1`: a win, and no move is left.
    """
    return "score cp 0" if gain == 0 else f"score mate {int(gain > 0)}"


def score_words(value: float, completion: int, turns: int, *, resolved: bool, scale: float = 1.0) -> str:
    """A value as UCI's `score`: `cp` for an expected result, `mate` for a proven one.

    With an expected result v from -1 to 1, `cp` is 400 log10((1 + v) / (1 - v)): the Elo difference at which the mover
    would be expected to come to it. A proven draw is `cp 0`.

    Args:
        value: of the state, seen from the mover, on the scale of the outcome.
        completion: its proven gain, seen from the mover, where it is resolved.
        turns: of the principal variation, which ends the match where that is proven to be won.
        scale: what a value is divided by to be an expected result.
    """
    if resolved and completion:
        return f"score mate {completion * max(1, math.ceil(turns / 2))}"
    if resolved:
        return "score cp 0"
    expected = max(-CERTAIN, min(CERTAIN, value / scale))
    return f"score cp {round(400 * math.log10((1 + expected) / (1 - expected)))}"
