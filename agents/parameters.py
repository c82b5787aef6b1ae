"""Parameters of bots: dataclasses, read from the mapping passed to `load_bot`."""

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
"""Default time per move, in seconds."""

_KINDS: dict[type, tuple[str, type]] = {
    bool: ("True or False", bool),
    int: ("a whole number", numbers.Integral),
    float: ("a number", numbers.Real),
    str: ("a text", str),
}


@dataclass(frozen=True, kw_only=True)
class ThinkingParameters:
    """Parameters of bots that search; the default limit is `DEFAULT_SECONDS` per move."""

    seconds: float | None = None
    """Time per move."""
    iterations: int | None = None
    """Search iterations per move."""
    evaluations: int | None = None
    """Evaluations per move."""
    match_seconds: float | None = None
    """Time for all moves of a game."""
    match_increment: float = 0.0
    """Seconds that each own move adds to it."""
    temperature: float | None = None
    """Temperature of a softmax over the root's values, from which the action is drawn; None: the search's decision."""
    ponder: bool = False
    """Search in a background thread during the turn of a person or an engine; see `play.pondering`."""
    seed: int = 0
    """Random seed, for example of the choice between equal moves."""

    @property
    def budget(self) -> Budget | None:
        """Budget per move; None if only the game clock limits it.

        Raises:
            BudgetError: a limit is not positive.
        """
        if self.seconds is self.iterations is self.evaluations is None:
            return Budget(seconds=DEFAULT_SECONDS) if self.match_seconds is None else None
        return Budget(seconds=self.seconds, iterations=self.iterations, evaluations=self.evaluations)


def read_parameters(cls: type[P], bot: str, given: Mapping[str, object]) -> P:
    """Returns `given` as the dataclass `cls`, whose fields are bool, int, float, str or None.

    Args:
        bot: name of the bot, for messages.

    Raises:
        AgentError: a parameter is unknown or of a wrong type, or one without a default is missing.
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
