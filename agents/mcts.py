"""The `mcts` bot: OpenSpiel's own MCTS, in the one setting of `athenan_spiel.play.openspiel_mcts`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pyspiel

from agents.kind import AgentKind, SpecParser
from agents.limits import Limit
from agents.parameters import read_parameters
from athenan_spiel.config.settings import MOST
from athenan_spiel.errors import AgentError, shown
from athenan_spiel.play.openspiel_mcts import MEMORY_MB, MCTSSettings, make_mcts_bot

SIMULATIONS = 1000
"""Of each move where nothing limits it; OpenSpiel's example has as many."""
_NUMBER = re.compile(r"[0-9]{1,18}")
"""A number that counts something; more digits would be no number of anything here."""


@dataclass(frozen=True, kw_only=True)
class MCTSParameters:
    """What `load_bot("mcts", ...)` takes; all else is set as `athenan_spiel.play.openspiel_mcts` says."""

    simulations: int | None = None
    """Of each move; 1000 where neither this nor a time is given, as in OpenSpiel's example."""
    seconds: float | None = None
    """Thinking time a move, in place of `simulations`: as many as it allows."""
    match_seconds: float | None = None
    """A match clock, in place of `simulations`: thinking time of all moves of a match."""
    match_increment: float = 0.0
    """Thinking time that each own move adds to the match clock once it is made."""
    memory_mb: int = MEMORY_MB
    """Maximum size of its tree, in MB; a larger one loses its least visited parts."""
    seed: int = 0
    """Of the choices among equals and of the rollouts."""

    def settings(self) -> MCTSSettings:
        """The settings of the bot."""
        unlimited = self.simulations is self.seconds is self.match_seconds is None
        return MCTSSettings(
            simulations=SIMULATIONS if unlimited else self.simulations,
            seconds=self.seconds,
            match_seconds=self.match_seconds,
            match_increment=self.match_increment,
            memory_mb=self.memory_mb,
        )


def load_mcts(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> pyspiel.Bot:
    """OpenSpiel's MCTS; see `MCTSParameters`. It plays either colour.

    Raises:
        AgentError: a parameter is unknown or of a wrong type.
        ConfigError: it is out of range, or OpenSpiel's MCTS does not play this game.
        BudgetError: a limit in time is not above zero.
    """
    parameters = read_parameters(MCTSParameters, "mcts", params)
    return make_mcts_bot(game, parameters.settings(), parameters.seed)


def simulations_or_time(name: str) -> SpecParser:
    """The parser of a kind whose words say simulations a move, or how long it thinks.

    Raises:
        AgentError: from the parser: a word says neither, both, or a number out of range.
    """

    def parse(text: str, limit: Limit) -> Mapping[str, object]:
        if not text and limit.params:
            return limit.params
        if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= MOST:
            raise AgentError(
                f"{name} takes its simulations a move, from 1 to {MOST:,}, such as {name}:1000, or a time, such as "
                f"{name}@0.5s; got {shown(limit.word)}"
            )
        if limit.params:
            raise AgentError(f"{name} takes simulations ({name}:{text}) or a time, not both; got {shown(limit.word)}")
        return {"simulations": int(text)}

    return parse


MCTS = AgentKind(
    name="mcts",
    example="mcts:1000",
    about="OpenSpiel's MCTS: simulations a move, one random rollout each, UCT constant 2, solver on",
    load=load_mcts,
    parse=simulations_or_time("mcts"),
    limits=("seconds", "match_seconds", "match_increment"),
)
