"""The `uct` bot: the papers' opponent, plain MCTS by UCT, which knows nothing but the rules and proves nothing.

What the papers say of it: it is the "base MCTS", whose leaves are valued by random matches (the article, Section 8.2),
and it thinks 2 s a move (8.5); "the basic MCTS based on UCT", with 160 rollouts a move and no knowledge (*Minimax
Strikes Back*, AAMAS 2023, 3.1.1 and 3.3). What they leave open is chosen here:

- c = 0.4, which the article takes for its own UCT (Section 3.3), over means in [-1, 1]; the bot's parameter
  `exploration_constant` changes it.
- One rollout for each new leaf, so that 160 rollouts are 160 simulations.
- The action played is the most visited one.
- The tree lives for one move.

It is OpenSpiel's `pyspiel.MCTSBot` without its solver, so its speed is C++'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import pyspiel

from agents.kind import AgentKind
from agents.mcts import MCTSParameters, simulations_or_time
from agents.parameters import read_parameters
from athenan_spiel.play.openspiel_mcts import make_mcts_bot
from athenan_spiel.search.uct import EXPLORATION_CONSTANT

SIMULATIONS = 160
"""Of each move where nothing limits it (*Minimax Strikes Back*, 3.1.1)."""


@dataclass(frozen=True, kw_only=True)
class UCTParameters(MCTSParameters):
    """What `load_bot("uct", ...)` takes; without any limit a move takes 160 simulations."""

    exploration_constant: float = EXPLORATION_CONSTANT
    """c of UCT, zero or more."""


def load_uct(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> pyspiel.Bot:
    """Plain UCT; see `UCTParameters`. It plays either colour.

    Raises:
        AgentError: a parameter is unknown or of a wrong type.
        ConfigError: it is out of range, or OpenSpiel's MCTS does not play this game.
        BudgetError: a limit in time is not above zero.
    """
    given = read_parameters(UCTParameters, "uct", params)
    unlimited = given.simulations is given.seconds is given.match_seconds is None
    settings = replace(
        given.settings(),
        name="uct",
        uct_constant=given.exploration_constant,
        solve=False,
        simulations=SIMULATIONS if unlimited else given.simulations,
    )
    return make_mcts_bot(game, settings, given.seed)


UCT = AgentKind(
    name="uct",
    example="uct:160",
    about="the papers' plain UCT: simulations a move, one random rollout each, constant 0.4, no solver",
    load=load_uct,
    parse=simulations_or_time("uct"),
    limits=("seconds", "match_seconds", "match_increment"),
)
