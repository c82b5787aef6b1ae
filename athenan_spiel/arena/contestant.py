"""Agents of an evaluation, loaded before the first game, with an optional common limit."""

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
"""Matches agents whose number is their limit, such as mcts:1000."""


@dataclass(frozen=True)
class Limited:
    """Agents under a common limit.

    Attributes:
        words: the agents' specs, by their names.
        without: names of the agents that accept no such limit and keep their own.
    """

    words: Mapping[str, str]
    without: tuple[str, ...]


def limited(words: Mapping[str, str], limit: str) -> Limited:
    """Replace the limits of agents with `limit`: `0.1s`, `200i` or `5000e` per move, `60s/match` or `5m+2s`.

    Args:
        words: the agents' specs, by their names.

    Raises:
        ConfigError: the limit is invalid, or no agent accepts it.
        AgentError: a spec is invalid.
    """
    if not names_limit(limit):
        raise ConfigError.at("limit", f"must be as 0.1s, 200i, 5000e, 60s/match or 5m+2s, got {shown(limit)}")
    found = {name: with_limit(word, limit) for name, word in words.items()}
    without = tuple(name for name, word in found.items() if word is None)
    if len(without) == len(words):
        raise ConfigError.at("limit", f"must be one that an agent accepts, got {shown(limit)}: leave it out")
    return Limited({name: word or words[name] for name, word in found.items()}, without)


def with_limit(word: str, limit: str) -> str | None:
    """Returns the spec `word` with this limit in place of its own; None if the agent accepts no such limit.

    Raises:
        AgentError: the spec is invalid.
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
    """Makes the bots of one agent.

    The checkpoint of a run is read once, here, so all games are played by the same network.

    Args:
        word: the agent's spec.
        seed: seed of each bot.

    Raises:
        AthenanError, LudiiError: the agent cannot be loaded, or does not play `game`.
    """

    def __init__(self, word: agents.AgentWord, game: pyspiel.Game, seed: int) -> None:
        self.word = word
        self._game = game
        self._seed = seed
        self._first = agents.make_bot(word, game, 0, seed)

    def bot(self, player_id: int) -> pyspiel.Bot:
        """Returns a new bot."""
        if isinstance(self._first, agents.AthenanBot):  # plays either colour, and may have a network to share
            return self._first.clone()
        return agents.make_bot(self.word, self._game, player_id, self._seed)

    @functools.cached_property
    def players(self) -> Sequence[pyspiel.Bot]:
        """One bot for each player id."""
        return [self.bot(player_id) for player_id in range(self._game.num_players())]

    def require_openings(self, openings: Iterable[Sequence[int]]) -> None:
        """Check that the agent can start a game after each of these legal openings.

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
        """Check that this agent can meet another one.

        Raises:
            AgentError: one of them ponders, which would use the other one's time.
        """
        require_own_time([self._first, other._first], [str(self), str(other)])

    def __str__(self) -> str:
        return self.word.text
