"""The trained agent of a run, ready to play."""

from __future__ import annotations

import os
import random

from athenan_spiel.agent import Agent
from athenan_spiel.config import EngineConfig
from athenan_spiel.encoding.encoder import Encoder
from athenan_spiel.errors import CheckpointError
from athenan_spiel.evaluators import NetworkEvaluator, make_engine
from athenan_spiel.games import load_game
from athenan_spiel.outcomes import outcome_from_parameters
from athenan_spiel.search import Budget
from athenan_spiel.thinkers import DEFAULT, make_thinker, parse_thinker
from athenan_spiel.training.checkpoints import read_header, read_weights
from athenan_spiel.training.run_folder import RunFolder
from athenan_spiel.training.trainer import load_weights, value_network


def load_agent(
    folder: str | os.PathLike[str],
    *,
    seconds: float = 1.0,
    budget: Budget | None = None,
    seed: int | None = None,
    engine: EngineConfig | None = None,
    search: str = DEFAULT,
) -> Agent:
    """A search over the newest checkpoint of a run; UBFM_s by default (Algorithms 12, 13).

    A run may go on training meanwhile; the agent keeps the weights it was loaded with.

    Args:
        folder: of the run.
        seconds: search time per move.
        budget: in place of `seconds`.
        seed: of the choices among equals; none: another one each time.
        engine: in place of the run's own, say on a machine without its device.
        search: how it thinks, whatever the run was trained with: `ubfm_s`, `ubfm`, `descent`, `alphabeta` or `mcts`,
            the last two with a number in brackets if need be; see `athenan_spiel.thinkers`.

    Raises:
        AgentError: there is no such search.
        CheckpointError: the folder is no run, or its newest checkpoint is missing, damaged, foreign or newer.
        BudgetError: `seconds` is not more than zero.
        ConfigError: the engine does not suit this machine.
    """
    budget = budget or Budget(seconds=seconds)
    parse_thinker(search)  # before the checkpoint is read
    run_folder = RunFolder(folder).require_run()
    path = run_folder.newest()
    if path is None:
        raise CheckpointError(f"the run in {str(run_folder.path)!r} has no checkpoint yet: resume it, then try again")
    header, weights = read_header(path), read_weights(path)
    game = load_game(header.game)
    outcome = outcome_from_parameters(header.config.outcome, header.outcome)
    encoder = Encoder(game, edges=header.config.encoding.edges)
    network = value_network(encoder, header.config, outcome)
    load_weights(network, weights)
    evaluator = NetworkEvaluator(encoder, make_engine(engine or header.config.engine, encoder.shape))
    evaluator.load(network)
    thinker = make_thinker(search, game, outcome)
    return Agent(
        game,
        thinker.search,
        evaluator,
        decision=thinker.decision,
        budget=budget,
        rng=random.Random(seed),
        network=network,
        encoder=encoder,
    )
