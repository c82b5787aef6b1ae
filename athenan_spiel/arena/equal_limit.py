"""The same limit of thinking for all agents that can take one: the words that say so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agents import parse_word
from agents.limits import names_limit
from athenan_spiel.errors import AgentError, ConfigError, shown

_OWN = re.compile(r"(?P<kind>\w+):[0-9]+")
"""An agent whose number is its limit, such as mcts:1000."""


@dataclass(frozen=True)
class Limited:
    """Agents under one limit.

    Attributes:
        words: of all, by their names.
        without: the names of those that take no such limit, and think as their own words say.
    """

    words: Mapping[str, str]
    without: tuple[str, ...]


def limited(words: Mapping[str, str], limit: str) -> Limited:
    """The agents `words` with `limit` in place of their own: `0.1s`, `200i` or `5000e` a move, `60s/match` or `5m+2s`.

    Raises:
        ConfigError: it is no limit, or no agent takes it.
        AgentError: a word is none.
    """
    if not names_limit(limit):
        raise ConfigError.at("limit", f"must be as 0.1s, 200i, 5000e, 60s/match or 5m+2s, got {shown(limit)}")
    found = {name: with_limit(word, limit) for name, word in words.items()}
    without = tuple(name for name, word in found.items() if word is None)
    if len(without) == len(words):
        raise ConfigError.at("limit", f"must be one that an agent takes, got {shown(limit)}: leave it out")
    return Limited({name: word or words[name] for name, word in found.items()}, without)


def with_limit(word: str, limit: str) -> str | None:
    """`word` with this limit in place of its own; None where such an agent takes none of its kind.

    Raises:
        AgentError: the word is none.
    """
    parse_word(word)
    before, at, own = word.rpartition("@")
    name = before if at and names_limit(own) else word
    number = _OWN.fullmatch(name)
    candidate = f"{number['kind'] if number else name}@{limit}"
    try:
        parse_word(candidate)
    except AgentError:
        return None
    return candidate
