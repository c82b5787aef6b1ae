"""Parameters of a bot, from the mapping that a caller of `load_bot` passes to the bot's own dataclass."""

from __future__ import annotations

import dataclasses
import numbers
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from athenan_spiel.config.settings import Hint, hints_of
from athenan_spiel.errors import AgentError, nearest, shown
from athenan_spiel.search.drive import Budget

P = TypeVar("P")

DEFAULT_SECONDS = 1.0
"""Thinking time a move where no budget is given."""

_KINDS: dict[type, tuple[str, type]] = {
    bool: ("True or False", bool),
    int: ("a whole number", numbers.Integral),
    float: ("a number", numbers.Real),
    str: ("a text", str),
}


@dataclass(frozen=True, kw_only=True)
class ThinkingParameters:
    """What bots that search take; without any limit a move takes `DEFAULT_SECONDS`."""

    seconds: float | None = None
    """Search time per move."""
    iterations: int | None = None
    """Search iterations per move."""
    evaluations: int | None = None
    """States valued per move."""
    match_seconds: float | None = None
    """A match clock: search time of all moves of a match."""
    match_increment: float = 0.0
    """Search time that each own move adds to the match clock once it is made."""
    temperature: float | None = None
    """Of a softmax over the root's values, from which the action is drawn; none: the search's own decision."""
    ponder: bool = False
    """Think on in a thread beside while the opponent does, which is a person or an engine; see `play.pondering`."""
    seed: int = 0
    """Of the choices among equals, and of what else is random."""

    @property
    def budget(self) -> Budget | None:
        """The thinking a move gets; None where the match clock alone limits it.

        Raises:
            BudgetError: a limit is not above zero.
        """
        if self.seconds is self.iterations is self.evaluations is None:
            return Budget(seconds=DEFAULT_SECONDS) if self.match_seconds is None else None
        return Budget(seconds=self.seconds, iterations=self.iterations, evaluations=self.evaluations)


def read_parameters(cls: type[P], bot: str, given: Mapping[str, object]) -> P:
    """The parameters of the bot called `bot`, as the dataclass `cls`, whose fields are bool, int, float, str or None.

    Raises:
        AgentError: one of `given` is unknown or of a wrong type, or one without a default is missing.
    """
    fields = {field.name: field for field in dataclasses.fields(typing.cast(Any, cls))}
    for name in given:
        if name not in fields:
            known = ", ".join(fields) or "none"
            raise AgentError(f"bot {bot!r} has the parameters {known}; got {shown(name)}{nearest(name, fields)}")
    for name, field in fields.items():
        if field.default is dataclasses.MISSING and name not in given:
            raise AgentError(f"bot {bot!r} needs the parameter {name!r}, got {shown(sorted(map(str, given)))}")
    hints = hints_of(cls)
    return cls(**{name: _converted(hints[name], bot, name, value) for name, value in given.items()})


def _converted(hint: Hint, bot: str, name: str, value: object) -> Any:
    if value is None and hint.or_none:
        return None
    description, accepted = _KINDS[hint.kind]
    # A bool is an int in Python, but not a number here.
    if not isinstance(value, accepted) or (isinstance(value, bool) and hint.kind is not bool):
        raise AgentError(f"parameter {name!r} of bot {bot!r} must be {description}, got {shown(value)}")
    return hint.kind(value)
