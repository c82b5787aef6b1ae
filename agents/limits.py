"""Limits after the `@` of an agent spec.

| limit | bounds |
|---|---|
| `@0.5s` | seconds per move |
| `@200i` | search iterations per move |
| `@5000e` | evaluations per move |
| `@60s/match`, `@5m/match` | game clock: seconds or minutes for all own moves of a game |
| `@5m+2s`, `@90s+0.5s` | game clock with an increment: seconds added after each own move |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from athenan_spiel.errors import AgentError, shown
from athenan_spiel.play.game_clock import require_times
from athenan_spiel.search.drive import Budget

LIMITS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "seconds": ("seconds per move", "@0.5s"),
        "iterations": ("iterations per move", "@200i"),
        "evaluations": ("evaluations per move", "@5000e"),
        "match_seconds": ("a game clock", "@60s/match"),
        "match_increment": ("a game clock with increment", "@5m+2s"),
    }
)
"""Limits by the bot's parameter: name in messages, and an example."""

_TIME = r"(?P<{name}>[0-9]{{1,18}}(?:\.[0-9]{{0,18}})?|\.[0-9]{{1,18}})"
_LIMIT = re.compile(
    rf"{_TIME.format(name='seconds')}s|(?P<iterations>[0-9]{{1,18}})i|(?P<evaluations>[0-9]{{1,18}})e"
    rf"|{_TIME.format(name='match_seconds')}(?P<unit>[sm])(?:/match|\+{_TIME.format(name='increment')}(?P<more>[sm]))"
)
_UNITS = {"s": 1.0, "m": 60.0}


@dataclass(frozen=True)
class Limit:
    """Limit of an agent spec: at most one of these, and an increment with match_seconds.

    Attributes:
        spec: the agent spec, for messages.
        seconds, iterations, evaluations: limit per move.
        match_seconds: time for all own moves of a game.
        match_increment: seconds that each own move adds.
    """

    spec: str
    seconds: float | None = None
    iterations: int | None = None
    evaluations: int | None = None
    match_seconds: float | None = None
    match_increment: float | None = None

    @property
    def params(self) -> dict[str, object]:
        """The given limits by the bot's parameter; empty without one."""
        return {
            field.name: value
            for field in fields(self)
            if field.name != "spec" and (value := getattr(self, field.name)) is not None
        }


def read_limit(spec: str, text: str) -> Limit | None:
    """Parses the limit after the `@` of `spec`; returns None if it isn't one.

    Raises:
        BudgetError: it is zero, or too large.
    """
    match = _LIMIT.fullmatch(text)
    if match is None:
        return None
    if match["iterations"]:
        return Limit(spec, iterations=Budget(iterations=int(match["iterations"])).iterations)
    if match["evaluations"]:
        return Limit(spec, evaluations=Budget(evaluations=int(match["evaluations"])).evaluations)
    if match["match_seconds"]:
        seconds = float(match["match_seconds"]) * _UNITS[match["unit"]]
        increment = float(match["increment"]) * _UNITS[match["more"]] if match["increment"] else None
        require_times(seconds, increment or 0.0)
        return Limit(spec, match_seconds=seconds, match_increment=increment)
    return Limit(spec, seconds=Budget(seconds=float(match["seconds"])).seconds)


def names_limit(text: str) -> bool:
    """Returns whether `text`, without an `@`, has the form of a limit."""
    return _LIMIT.fullmatch(text) is not None


def split_limit(spec: str, text: str, *, command: bool = False) -> tuple[str, Limit]:
    """Splits `text` at its last `@` into the rest and the limit.

    Args:
        command: `text` is a program's command; an `@` without a limit belongs to it.

    Raises:
        AgentError: the text after the `@` is not a limit.
        BudgetError: the limit is zero, or too large.
    """
    before, at, after = text.rpartition("@")
    limit = read_limit(spec, after) if at else None
    if limit is not None:
        return before, limit
    if at and not command:
        raise AgentError(
            "expected a limit after @: 0.5s, 200i (iterations) or 5000e (evaluations) per move, 60s/match or 5m+2s; "
            f"got {shown(spec)}"
        )
    return text, Limit(spec)


def require_limit(kind: str, limit: Limit, taken: tuple[str, ...]) -> None:
    """Raises `AgentError` unless `kind` supports the limit."""
    for name in limit.params:
        if name not in taken:
            known = " or ".join(f"{LIMITS[x][0]} ({kind}{LIMITS[x][1]})" for x in taken)
            takes = f"takes {known} and no other limit" if taken else "takes no limit"
            raise AgentError(f"{kind} {takes}; got {shown(limit.spec)}")
