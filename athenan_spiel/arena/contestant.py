"""Agents of an evaluation or a tournament, loaded before the first game, with an optional common limit."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import pyspiel

import agents
from agents import AgentSpec, parse_spec, require_programs
from agents.limits import names_limit
from athenan_spiel.errors import AgentError, AthenanError, ConfigError, shown
from athenan_spiel.play.player import RestrictedPlayer, require_own_time

_NUMERIC_LIMIT = re.compile(r"(?P<kind>\w+):[0-9]+")
"""Matches agents whose number is their limit, such as mcts:1000."""


def parse_agents(
    specs: Mapping[str, str], limit: str | None, allow_code: Sequence[str], allow_programs: Collection[str] | None
) -> tuple[dict[str, AgentSpec], tuple[str, ...]]:
    """Parses the specs of agents by name. Humans are not accepted.

    Args:
        limit: limit that replaces those of the specs; None: they keep their own.
        allow_code: custom outcomes "module:name" that runs may name.
        allow_programs: commands of engines that may be started; None: all.

    Returns:
        The parsed specs, and the names of the agents that accept no such limit and keep their own.

    Raises:
        ConfigError: an agent is a human, or as `limited`.
        AgentError: a spec is invalid, or names a program that is not allowed.
    """
    without: tuple[str, ...] = ()
    for name, spec in specs.items():
        with naming(name, spec):
            if parse_spec(spec).is_human:
                raise ConfigError(f"expected agents that play by themselves, got {shown(spec)}: use `athenan play`")
    if limit is not None:
        specs, without = limited(specs, limit)
    parsed = {name: parse_spec(spec) for name, spec in specs.items()}
    require_programs(parsed.values(), allow_programs)
    return {name: spec.allowing(allow_code) for name, spec in parsed.items()}, without


@contextlib.contextmanager
def naming(name: str, spec: str = "") -> Iterator[None]:
    """Context that adds the agent's name to errors, unless the name is the spec."""
    try:
        yield
    except AthenanError as error:
        if name == spec:
            raise
        raise type(error)(f"agent {shown(name)}: {error}") from None


def limited(specs: Mapping[str, str], limit: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Replaces the limits of agents by `limit`: `0.1s`, `200i` or `5000e` per move, `60s/match` or `5m+2s`.

    Returns:
        The specs by name, and the names of the agents that accept no such limit and keep their own.

    Raises:
        ConfigError: the limit is invalid, or no agent accepts it.
        AgentError: a spec is invalid.
    """
    if not names_limit(limit):
        raise ConfigError.at("limit", f"must be like 0.1s, 200i, 5000e, 60s/match or 5m+2s, got {shown(limit)}")
    found = {name: with_limit(spec, limit) for name, spec in specs.items()}
    without = tuple(name for name, spec in found.items() if spec is None)
    if len(without) == len(specs):
        raise ConfigError.at("limit", f"must be one that an agent accepts, got {shown(limit)}: leave it out")
    return {name: spec or specs[name] for name, spec in found.items()}, without


def with_limit(spec: str, limit: str) -> str | None:
    """Returns the spec with `limit` instead of its own limit; None if the agent does not accept it.

    Raises:
        AgentError: the spec is invalid.
    """
    parse_spec(spec)
    before, at, own = spec.rpartition("@")
    name = before if at and names_limit(own) else spec
    number = _NUMERIC_LIMIT.fullmatch(name)
    candidate = f"{number['kind'] if number else name}@{limit}"
    try:
        parse_spec(candidate)
    except AgentError:
        return None
    return candidate


class Contestant:
    """Creates the bots of one agent.

    The checkpoint of a run is read once, on construction, so the same network plays all games.

    Args:
        spec: the agent's spec.
        seed: seed of each bot.

    Raises:
        AthenanError, LudiiError: the agent cannot be loaded, or does not play `game`.
    """

    def __init__(self, spec: AgentSpec, game: pyspiel.Game, seed: int) -> None:
        self.spec = spec
        self._game = game
        self._seed = seed
        self._first = agents.make_bot(spec, game, 0, seed)

    def bot(self, player_id: int) -> pyspiel.Bot:
        """Returns a new bot."""
        if isinstance(self._first, agents.AthenanBot):  # plays both colours, and its clones share its network
            return self._first.clone()
        return agents.make_bot(self.spec, self._game, player_id, self._seed)

    @functools.cached_property
    def players(self) -> Sequence[pyspiel.Bot]:
        """One bot for each player id."""
        return [self.bot(player_id) for player_id in range(self._game.num_players())]

    def require_openings(self, openings: Iterable[Sequence[int]]) -> None:
        """Check that the agent can start a game after each of these legal openings.

        Raises:
            AgentError: it cannot.
        """
        if not isinstance(self._first, RestrictedPlayer):
            return
        for opening in openings:
            state = self._game.new_initial_state()
            for action in opening:
                state.apply_action(action)
            self._first.require_start(state)

    def require_opponent(self, other: Contestant) -> None:
        """Check that this agent can meet another one.

        Raises:
            AgentError: one of them ponders, which would slow the other one down.
        """
        require_own_time([self._first, other._first], [str(self), str(other)])

    def __str__(self) -> str:
        return self.spec.text
