"""What follows the `@` of an agent's word: how long the agent thinks.

| limit | bounds |
|---|---|
| `@0.5s` | seconds a move |
| `@200i` | iterations of the search a move |
| `@5000e` | evaluations a move, which are states valued |
| `@60s/match`, `@5m/match` | a match clock: seconds or minutes for all moves of the agent's own in a match |
| `@5m+2s`, `@90s+0.5s` | a match clock with an increment: each own move brings so much more once it is made |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from athenan_spiel.errors import AgentError, shown
from athenan_spiel.play.match_clock import require_times
from athenan_spiel.search.drive import Budget

LIMITS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "seconds": ("seconds a move", "@0.5s"),
        "iterations": ("iterations a move", "@200i"),
        "evaluations": ("evaluations a move", "@5000e"),
        "match_seconds": ("a match clock", "@60s/match"),
        "match_increment": ("one with an increment", "@5m+2s"),
    }
)
"""What may limit an agent's thinking, by the parameter of its bot: its name in messages, and an example."""

_TIME = r"(?P<{name}>[0-9]{{1,18}}(?:\.[0-9]{{0,18}})?|\.[0-9]{{1,18}})"
_LIMIT = re.compile(
    rf"{_TIME.format(name='seconds')}s|(?P<iterations>[0-9]{{1,18}})i|(?P<evaluations>[0-9]{{1,18}})e"
    rf"|{_TIME.format(name='match_seconds')}(?P<unit>[sm])(?:/match|\+{_TIME.format(name='increment')}(?P<more>[sm]))"
)
_UNITS = {"s": 1.0, "m": 60.0}


@dataclass(frozen=True)
class Limit:
    """How long an agent thinks, as its word says; at most one of these is given, and an increment beside match_seconds.

    Attributes:
        word: that it stands in, for messages.
        seconds, iterations, evaluations: of a move.
        match_seconds: of all moves of its own in a match.
        match_increment: seconds that each of them brings once it is made.
    """

    word: str
    seconds: float | None = None
    iterations: int | None = None
    evaluations: int | None = None
    match_seconds: float | None = None
    match_increment: float | None = None

    @property
    def params(self) -> dict[str, object]:
        """What is given, by the name of the bot's parameter; empty where nothing is."""
        return {
            field.name: value
            for field in fields(self)
            if field.name != "word" and (value := getattr(self, field.name)) is not None
        }


def read_limit(word: str, text: str) -> Limit | None:
    """The limit that `text`, the end of `word` after its `@`, says; None where it reads as none.

    Raises:
        BudgetError: it is zero, or larger than any use of it.
    """
    match = _LIMIT.fullmatch(text)
    if match is None:
        return None
    if match["iterations"]:
        return Limit(word, iterations=Budget(iterations=int(match["iterations"])).iterations)
    if match["evaluations"]:
        return Limit(word, evaluations=Budget(evaluations=int(match["evaluations"])).evaluations)
    if match["match_seconds"]:
        seconds = float(match["match_seconds"]) * _UNITS[match["unit"]]
        increment = float(match["increment"]) * _UNITS[match["more"]] if match["increment"] else None
        require_times(seconds, increment or 0.0)
        return Limit(word, match_seconds=seconds, match_increment=increment)
    return Limit(word, seconds=Budget(seconds=float(match["seconds"])).seconds)


def names_limit(text: str) -> bool:
    """Whether `text`, without an `@`, is written as a limit is."""
    return _LIMIT.fullmatch(text) is not None


def split_limit(word: str, text: str, *, command: bool = False) -> tuple[str, Limit]:
    """What stands before the last `@` of `text`, the word or its end, and the limit after it.

    Args:
        command: `text` is another program's command, to which an `@` belongs that no limit follows.

    Raises:
        AgentError: what follows is no limit.
        BudgetError: it is zero, or larger than any use of it.
    """
    before, at, after = text.rpartition("@")
    limit = read_limit(word, after) if at else None
    if limit is not None:
        return before, limit
    if at and not command:
        raise AgentError(
            "after @ comes a limit: 0.5s, 200i (iterations) or 5000e (evaluations) a move, 60s/match or 5m+2s; "
            f"got {shown(word)}"
        )
    return text, Limit(word)


def require_limit(kind: str, limit: Limit, taken: tuple[str, ...]) -> None:
    """Raise `AgentError` unless a limit of `kind` is one of those that it has taken, or there is none."""
    for name in limit.params:
        if name not in taken:
            known = " or ".join(f"{LIMITS[x][0]} ({kind}{LIMITS[x][1]})" for x in taken)
            takes = f"takes {known} and no other limit" if taken else "takes no limit"
            raise AgentError(f"{kind} {takes}; got {shown(limit.word)}")
