"""Agents that are measured: made before the first match, and the same limit of thinking for all that can take one."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyspiel

import agents
from agents import parse_word
from agents.limits import names_limit
from athenan_spiel.errors import AgentError, ConfigError, shown
from athenan_spiel.play.player import ParticularPlayer, require_own_time

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


class Contestant:
    """Makes the bots of one agent, all alike but for the player that they are.

    A run's checkpoint is read once, here: all matches are played by it, whatever becomes of the run meanwhile.

    Args:
        seed: of each bot.

    Raises:
        AthenanError, LudiiError: the agent cannot be made, or does not play `game`.
    """

    def __init__(self, word: agents.AgentWord, game: pyspiel.Game, seed: int) -> None:
        self.word = word
        self._game = game
        self._seed = seed
        self._first = agents.make_bot(word, game, 0, seed)

    def bot(self, player_id: int) -> pyspiel.Bot:
        """A bot that has played no match yet."""
        if isinstance(self._first, agents.AthenanBot):  # plays either colour, and may have a network to share
            return self._first.clone()
        return agents.make_bot(self.word, self._game, player_id, self._seed)

    @functools.cached_property
    def players(self) -> Sequence[pyspiel.Bot]:
        """A bot for each player id, the same ones each time."""
        return [self.bot(player_id) for player_id in range(self._game.num_players())]

    def require_openings(self, openings: Iterable[Sequence[int]]) -> None:
        """Check that the agent can begin a match after each of these openings, which are legal.

        Raises:
            AgentError: it cannot.
        """
        if not isinstance(self._first, ParticularPlayer):
            return
        for opening in openings:
            state = self._game.new_initial_state()
            for action in opening:
                state.apply_action(action)
            self._first.require_start(state)

    def require_opponent(self, other: Contestant) -> None:
        """Check that this agent can meet another one in a match.

        Raises:
            AgentError: one of them ponders, which would take the time of the other one.
        """
        require_own_time([self._first, other._first], [str(self), str(other)])

    def __str__(self) -> str:
        return self.word.text
