"""A kind of agents: what its words look like, and what makes its bots. Each module of a bot offers its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyspiel

from agents.limits import LIMITS, Limit
from athenan_spiel.arguments import require_callable, require_kind
from athenan_spiel.errors import AgentError, shown

BotFactory = Callable[[pyspiel.Game, int, Mapping[str, object]], pyspiel.Bot]
"""Makes a bot from the game, its player id and its parameters; raises `AgentError` for parameters it does not know."""
SpecParser = Callable[[str, Limit], Mapping[str, object]]
"""The parameters of the bot that a word says, from what follows its name and from its limit. What follows is the text
after the colon, or the brackets with what is in them; it is empty where there is nothing."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""The name of a kind, which its words begin with."""


@dataclass(frozen=True, kw_only=True)
class AgentKind:
    """A kind of agents, such as OpenSpiel's MCTS. Its words are `NAME`, `NAME:TEXT` or `NAME(TEXT)`, with `@LIMIT`.

    Attributes:
        name: with which its words begin, and by which `load_bot` knows its bots.
        example: a word, for messages.
        about: what plays, in a few words.
        load: makes its bots.
        parse: reads its words; it need not look whether the limit is one of `limits`.
        limits: the parameters of the bot by which a word's limit may come, of `agents.limits.LIMITS`.
        seeded: its bots have a parameter `seed`.
        command: the text after the colon is another program's command, and the bot's parameter `command`: an `@` that
            no limit follows belongs to it. What a file names is begun only where the user allows it
            (`words.require_programs`).
        brackets: what follows the name stands in brackets, as in `alphabeta(3)`, and not after a colon.

    Raises:
        AgentError: one of them is not of its kind.
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
            require_kind(f"the {text} of a kind of agents", getattr(self, text), str, AgentError)
        if not NAME.fullmatch(self.name):
            raise AgentError(
                "the name of a kind of agents has letters, digits, - and _, and begins with a letter; "
                f"got {shown(self.name)}"
            )
        for function in ("load", "parse"):
            require_callable(f"{function} of a kind of agents", getattr(self, function), AgentError)
        for limit in self.limits:
            if limit not in LIMITS:
                raise AgentError(f"the limits of a kind of agents are among {', '.join(LIMITS)}; got {shown(limit)}")


def nothing_but_a_limit(name: str) -> SpecParser:
    """The parser of a kind whose words say nothing but their limit."""

    def parse(text: str, limit: Limit) -> Mapping[str, object]:
        if text:
            raise AgentError(f"after {name} comes nothing but a limit; got {shown(limit.word)}")
        return limit.params

    return parse
