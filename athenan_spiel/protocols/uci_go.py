"""Parser of UCI's `go`, and search results in UCI's `info` notation."""

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
"""Number of moves among which the remaining clock is divided if `movestogo` is missing."""
MARGIN = 0.05
"""Seconds of the clock reserved for sending a move."""
SHORTEST = 0.005
"""Minimum search time, in seconds."""
_NUMBERS = ("movetime", "nodes", "wtime", "btime", "winc", "binc", "movestogo", "depth", "mate")
_NUMBER = re.compile(r"-?[0-9]{1,15}")


@dataclass(frozen=True)
class Go:
    """Arguments of `go`.

    Attributes:
        numbers: numeric arguments by name.
        infinite: search until `stop`; `ponder` is treated in the same way.
        only: moves to which the search is restricted, in order; empty for all.
    """

    numbers: dict[str, int]
    infinite: bool
    only: tuple[str, ...]

    @classmethod
    def read(cls, words: Sequence[str]) -> Self:
        """Parses the arguments; unknown words are ignored, as UCI asks."""
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
        """Maximum depth in moves: the smaller of `depth N` and the 2N - 1 moves of `mate N`; None without both."""
        depths = [self.numbers["depth"]] if "depth" in self.numbers else []
        if "mate" in self.numbers:
            depths.append(2 * self.numbers["mate"] - 1)
        return max(1, min(depths)) if depths else None

    @property
    def limited(self) -> bool:
        """Whether a time or node limit, or `infinite`, is given."""
        return self.infinite or any(word in self.numbers for word in ("movetime", "nodes", "wtime", "btime"))

    def budget(self, usual: Budget, *, white: bool, parts: int = 1) -> Budget:
        """Returns the budget of each action of a turn. It has a time limit, so the search can be stopped.

        Args:
            usual: budget if `go` gives no limit.
            white: whether the player to move is UCI's White, the side that begins.
            parts: number of actions still to be chosen.
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
    """Returns the `score` of a finished game by the gain of the player to move: `mate 0` for a loss, `cp 0` for a draw.

    UCI has no score for a finished game won by the player to move, as in Antichess. It is reported as `mate 1`.
    """
    return "score cp 0" if gain == 0 else f"score mate {int(gain > 0)}"


def score_words(expected: float, completion: int, turns: int, *, resolved: bool) -> str:
    """Returns an expected score as UCI's `score`: `cp` for an estimate, `mate` for a proven win or loss.

    `cp` is 400 log10(e / (1 - e)), the Elo difference with the expected score e. A proven draw is `cp 0`.

    Args:
        expected: expected score e of the mover, in (0, 1) if the result is not proven.
        completion: proven gain of the mover, if resolved.
        turns: length of the principal variation, which ends the game if a win is proven.
    """
    if resolved:
        return f"score mate {completion * max(1, math.ceil(turns / 2))}" if completion else "score cp 0"
    return f"score cp {round(400 * math.log10(expected / (1 - expected)))}"


def wdl_words(expected: float, draws: float = 0.0) -> str:
    """Returns an expected score as UCI's `wdl`: the shares of wins, draws and losses, which add up to 1000.

    Args:
        expected: expected score of the mover, in [0, 1].
        draws: share of draws, in [0, 1]. It is reduced to the largest share that the expected score allows.
    """
    drawn = round(1000 * min(draws, 2 * expected, 2 * (1 - expected)))
    won = min(1000 - drawn, max(0, round(1000 * expected - drawn / 2)))
    return f"wdl {won} {drawn} {1000 - drawn - won}"
