"""The `alphabeta` bot: alpha-beta without a network, or expectiminimax in games with chance, as a baseline."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

import pyspiel

from agents.athenan import AthenanBot
from agents.kind import AgentKind
from agents.limits import Limit
from agents.parameters import ThinkingParameters, read_parameters
from athenan_spiel.config import AlphaBetaConfig
from athenan_spiel.config.search import AlphaBetaDepth
from athenan_spiel.config.settings import require_argument
from athenan_spiel.errors import AgentError
from athenan_spiel.evaluators.simple import RolloutEvaluator
from athenan_spiel.games.rows import require_single_values
from athenan_spiel.outcomes import Gain, Score
from athenan_spiel.play.agent import Agent
from athenan_spiel.search.algorithms import depth_first_search, parse_search
from athenan_spiel.search.choice import best


@dataclass(frozen=True, kw_only=True)
class AlphaBetaParameters(ThinkingParameters):
    """Parameters of `load_bot("alphabeta", ...)`."""

    depth: int | None = None
    """Maximum search depth; None: limited by the budget only."""


def load_alphabeta(game: pyspiel.Game, player_id: int, params: Mapping[str, object]) -> AthenanBot:
    """Returns iterative-deepening alpha-beta with completion; each leaf is evaluated by one random playout.

    It plays either colour. In a single-player game it maximises the score. In a game with chance it is expectiminimax.

    Raises:
        AgentError: a parameter is unknown, of a wrong type or out of range.
        BudgetError: a limit is not positive.
    """
    parameters = read_parameters(AlphaBetaParameters, "alphabeta", params)
    require_argument("the depth of bot 'alphabeta'", parameters.depth, AlphaBetaDepth, AgentError, or_none=True)
    require_single_values(game, "alpha-beta")
    outcome = Score() if game.num_players() == 1 else Gain()
    agent = Agent(
        game,
        depth_first_search(game, outcome=outcome, depth=parameters.depth),
        RolloutEvaluator(outcome, parameters.seed % 2**64),
        decision=best,
        budget=parameters.budget,
        match_seconds=parameters.match_seconds,
        match_increment=parameters.match_increment,
        ponder=parameters.ponder,
        rng=random.Random(parameters.seed),
    )
    return AthenanBot(agent, parameters.temperature)


def _parse(text: str, limit: Limit) -> Mapping[str, object]:
    config = parse_search(f"alphabeta{text}").config
    depth = config.depth if isinstance(config, AlphaBetaConfig) else None
    return {**({} if depth is None else {"depth": depth}), **limit.params}


ALPHABETA = AgentKind(
    name="alphabeta",
    example="alphabeta@1s",
    about="alpha-beta with random playouts in place of a network, expectiminimax in games with chance; "
    "alphabeta(3): to a depth of 3",
    load=load_alphabeta,
    parse=_parse,
    limits=("seconds", "iterations", "evaluations", "match_seconds", "match_increment"),
    brackets=True,
)
