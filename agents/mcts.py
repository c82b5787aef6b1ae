"""The `mcts` and `uct` bots: OpenSpiel's MCTS, with its solver and plain; see `athenan_spiel.play.openspiel_mcts`.

`uct` is the papers' opponent: the "base MCTS", whose leaves are evaluated by random playouts (the article, Section
8.2), with 2 s per move (8.5); "the basic MCTS based on UCT", with 160 rollouts per move and no knowledge (*Minimax
Strikes Back*, AAMAS 2023, 3.1.1 and 3.3). The papers leave these choices open:

- c = 0.4 over means in [-1, 1], the article's constant for its own UCT (Section 3.3).
- One rollout for each new leaf, so 160 rollouts are 160 simulations.
- The most visited action is played.
- The tree lives for one move.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyspiel

from agents.kind import AgentKind, SpecParser
from agents.limits import Limit
from agents.parameters import read_parameters
from athenan_spiel.config.settings import MOST
from athenan_spiel.errors import AgentError, shown
from athenan_spiel.play.openspiel_mcts import MEMORY_MB, MCTSSettings, make_mcts_bot
from athenan_spiel.search.uct import EXPLORATION_CONSTANT

MCTS_SIMULATIONS = 1000
"""Default simulations per move, as in OpenSpiel's example."""
UCT_SIMULATIONS = 160
"""Default simulations per move (*Minimax Strikes Back*, 3.1.1)."""
_NUMBER = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, kw_only=True)
class MCTSParameters:
    """Parameters of `load_bot("mcts", ...)`: simulations or a time; the default is 1000 simulations."""

    simulations: int | None = None
    """Simulations per move."""
    seconds: float | None = None
    """Time per move."""
    match_seconds: float | None = None
    """Time for all moves of a game."""
    match_increment: float = 0.0
    """Seconds that each own move adds to it."""
    memory_mb: int = MEMORY_MB
    """Maximum size of the tree, in MB; the least visited parts of a larger one are removed."""
    seed: int = 0
    """Random seed of the rollouts and the choice between equal actions."""

    def settings(self, simulations: int) -> MCTSSettings:
        """Returns the settings of the bot; `simulations` is the default limit."""
        unlimited = self.simulations is self.seconds is self.match_seconds is None
        return MCTSSettings(
            simulations=simulations if unlimited else self.simulations,
            seconds=self.seconds,
            match_seconds=self.match_seconds,
            match_increment=self.match_increment,
            memory_mb=self.memory_mb,
        )


@dataclass(frozen=True, kw_only=True)
class UCTParameters(MCTSParameters):
    """Parameters of `load_bot("uct", ...)`; the default limit is 160 simulations."""

    exploration_constant: float = EXPLORATION_CONSTANT
    """c of UCT, at least 0."""


def load_mcts(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> pyspiel.Bot:
    """Returns OpenSpiel's MCTS; see `MCTSParameters`. It plays either colour.

    Raises:
        AgentError: a parameter is unknown or of a wrong type.
        ConfigError: it is out of range, or OpenSpiel's MCTS doesn't play this game.
        BudgetError: a time limit is not positive.
    """
    given = read_parameters(MCTSParameters, "mcts", params)
    return make_mcts_bot(game, given.settings(MCTS_SIMULATIONS), given.seed)


def load_uct(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> pyspiel.Bot:
    """Returns plain UCT; see `UCTParameters`. It plays either colour, and raises as `load_mcts`."""
    given = read_parameters(UCTParameters, "uct", params)
    settings = given.settings(UCT_SIMULATIONS)
    return make_mcts_bot(
        game, replace(settings, name="uct", uct_constant=given.exploration_constant, solve=False), given.seed
    )


def _parser(name: str) -> SpecParser:
    def parse(text: str, limit: Limit) -> Mapping[str, object]:
        if not text and limit.params:
            return limit.params
        if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= MOST:
            raise AgentError(
                f"{name} takes simulations per move, from 1 to {MOST:,}, such as {name}:1000, or a time, such as "
                f"{name}@0.5s; got {shown(limit.spec)}"
            )
        if limit.params:
            raise AgentError(f"{name} takes simulations ({name}:{text}) or a time, not both; got {shown(limit.spec)}")
        return {"simulations": int(text)}

    return parse


MCTS = AgentKind(
    name="mcts",
    example="mcts:1000",
    about="OpenSpiel's MCTS: simulations per move, one random rollout each, UCT constant 2, with solver",
    load=load_mcts,
    parse=_parser("mcts"),
    limits=("seconds", "match_seconds", "match_increment"),
)
UCT = AgentKind(
    name="uct",
    example="uct:160",
    about="the papers' plain UCT: simulations per move, one random rollout each, constant 0.4, no solver",
    load=load_uct,
    parse=_parser("uct"),
    limits=MCTS.limits,
)
