"""Agent kind: the syntax of its specs and the factory of its bots. Each bot's module defines one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyspiel

from agents.limits import LIMITS, Limit
from athenan_spiel.arguments import require_callable, require_kind
from athenan_spiel.errors import AgentError, shown

BotFactory = Callable[[pyspiel.Game, int, Mapping[str, object]], pyspiel.Bot]
"""Creates a bot from a game, a player id and parameters; raises `AgentError` for unknown parameters."""
SpecParser = Callable[[str, Limit], Mapping[str, object]]
"""Returns the parameters of the bot from a spec's text and limit. The text follows the colon, or includes the brackets;
it is empty if there is none."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""Valid names of kinds."""


@dataclass(frozen=True, kw_only=True)
class AgentKind:
    """Agent kind, such as OpenSpiel's MCTS, with specs `NAME`, `NAME:TEXT` or `NAME(TEXT)`, and optionally `@LIMIT`.

    Attributes:
        name: first part of its specs, and the name of its bots for `load_bot`.
        example: example of a spec, for messages.
        about: short description.
        load: creates its bots.
        parse: parses its specs; `limits` is checked elsewhere.
        limits: supported limits, by the bot's parameter; keys of `agents.limits.LIMITS`.
        seeded: whether its bots have a parameter `seed`.
        command: whether the text is another program's command, in the bot's parameter `command`. An `@` without a limit
            belongs to it. Programs named in files start only with permission (`specs.require_programs`).
        brackets: whether the text is in brackets, as in `alphabeta(3)`, instead of after a colon.

    Raises:
        AgentError: an attribute has a wrong type or an invalid value.
    """

    name: str
    example: str
    about: str
    load: BotFactory
    parse: SpecParser
    limits: tuple[str, ...] = ()
    seeded: bool = True
    command: bool = False
    brackets: bool = False

    def __post_init__(self) -> None:
        for text in ("name", "example", "about"):
            require_kind(f"{text} of an agent kind", getattr(self, text), str, AgentError)
        if not NAME.fullmatch(self.name):
            raise AgentError(
                "name of an agent kind must begin with a letter, and contain only letters, digits, - and _; "
                f"got {shown(self.name)}"
            )
        for function in ("load", "parse"):
            require_callable(f"{function} of an agent kind", getattr(self, function), AgentError)
        for limit in self.limits:
            if limit not in LIMITS:
                raise AgentError(f"limits of an agent kind must be among {', '.join(LIMITS)}; got {shown(limit)}")


def limit_only(name: str) -> SpecParser:
    """Returns the parser of a kind whose specs have only a limit after the name."""

    def parse(text: str, limit: Limit) -> Mapping[str, object]:
        if text:
            raise AgentError(f"expected only a limit after {name}; got {shown(limit.spec)}")
        return limit.params

    return parse
