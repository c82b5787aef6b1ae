"""Loading of trained agents."""

from __future__ import annotations

import dataclasses
import logging
import os
import random
from pathlib import Path
from typing import Any, Literal

import pyspiel
import torch

from athenan_spiel.arguments import require_kind, require_whole
from athenan_spiel.config import DescentConfig, EngineConfig, ExitConfig, ProverConfig, SearchConfig, TrainingConfig
from athenan_spiel.errors import AgentError, BudgetError, CheckpointError, ConfigError, shown
from athenan_spiel.games import load_game
from athenan_spiel.games.rows import rows_of
from athenan_spiel.outcomes import Given, Outcome, allowed_kind, not_allowed, outcome_to_play_by
from athenan_spiel.outcomes.classic import ScaledGain
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.game_clock import require_times
from athenan_spiel.search import Budget, make_search
from athenan_spiel.search.algorithms import DEFAULT, parse_search
from athenan_spiel.search.choice import suited
from athenan_spiel.training.agent_file import AgentHeader, read_agent_file, read_agent_header
from athenan_spiel.training.best import BEST
from athenan_spiel.training.checkpoints import STATE, Header, read_header, read_weights
from athenan_spiel.training.model import Weights, make_model
from athenan_spiel.training.new_folder import given_folder
from athenan_spiel.training.run_folder import RunFolder

SECONDS = 1.0
"""Default search time per move, in seconds."""
Which = int | Literal["best"] | None
"""Checkpoint of a run: its number of games, or the best network; None: the newest."""
_log = logging.getLogger(__name__)


def load_agent(
    folder: str | os.PathLike[str],
    *,
    checkpoint: Which = None,
    seconds: float | None = None,
    budget: Budget | None = None,
    match_seconds: float | None = None,
    match_increment: float = 0.0,
    seed: int | None = None,
    engine: EngineConfig | None = None,
    search: str | None = None,
    outcome: Given = None,
    ponder: bool = False,
    proofs: bool = True,
) -> Agent:
    """Load an agent from a checkpoint of a run, by default the newest, or from an agent file (`export_agent`).

    By default the agent searches by UBFM over several lines (`ubfm_k`). If the search of the run needs a policy, the
    agent uses that one, with its settings and without noise. An agent file contains its default search.

    The run may continue training meanwhile; the agent keeps its weights.

    Args:
        folder: folder of a run or of a checkpoint, or an agent file.
        checkpoint: number of games of a checkpoint, or "best" for the run's best network; by default the newest
            checkpoint. Not for an agent file.
        seconds: search time per move; one second if no other limit is given.
        budget: replaces `seconds`.
        match_seconds, match_increment: game clock: search time of all moves of a game, and time added after each own
            move, in seconds; see `Agent`.
        seed: random seed for ties; None: a new one each time.
        engine: replaces the run's engine, for example on a machine without its device.
        search: search of the agent: `ubfm_k`, `ubfm_s`, `ubfm`, `descent`, `alphabeta` or `mcts`, most with an optional
            number in parentheses, or `puct`, `gumbel` or `exit` for a network with a policy; see
            `athenan_spiel.search.algorithms`.
        outcome: custom outcome of the run: its name "module:name", a tuple of allowed names, or the function or class
            itself. A name in a file is never imported by itself. Without this argument the gain times the stored scale
            replaces the custom outcome, and a warning is logged.
        ponder: whether to think during the opponent's turn; see `Agent`.
        proofs: whether a part of each move's time goes to compiled proof search; see `Agent`.

    Returns:
        An agent for the run's game, for either side.

    Raises:
        AgentError: there is no such search, or it needs a policy and the network has none; `seed` is not an integer, or
            `ponder` is not a bool.
        CheckpointError: `folder` is none of these, or the checkpoint is missing, damaged, of another program or of a
            newer version.
        UnsupportedGameError: the game cannot be loaded.
        BudgetError: `seconds` or `match_seconds` is not positive, `match_increment` is negative or given alone, or
            `budget` is not a `Budget`.
        ConfigError: the engine does not suit this machine, the network does not fit its memory, or `engine` is not an
            `EngineConfig`; `outcome` is not the outcome of the run, cannot be imported, or is required and missing, as
            in a game for one player.
    """
    require_kind("budget", budget, Budget, BudgetError, or_none=True)
    require_kind("engine", engine, EngineConfig, ConfigError, or_none=True)
    if seed is not None:
        require_whole("seed", seed, AgentError)
    if budget is None and (seconds is not None or match_seconds is None):
        budget = Budget(seconds=SECONDS if seconds is None else seconds)
    require_times(match_seconds, match_increment)
    require_kind("ponder", ponder, bool, AgentError)
    require_kind("proofs", proofs, bool, AgentError)
    if search is not None:
        parse_search(search)  # before the checkpoint is read
    _, header, weights = read_agent(folder, checkpoint)
    return make_agent(
        load_game(header.game),
        header,
        weights,
        source=shown(str(folder)),
        engine=engine,
        search=search,
        outcome=outcome,
        budget=budget,
        match_seconds=match_seconds,
        match_increment=match_increment,
        rng=random.Random(None if seed is None else int(seed)),
        ponder=ponder,
        proofs=proofs,
    )


def make_agent(
    game: pyspiel.Game,
    header: Header,
    weights: Weights,
    *,
    source: str = "the run",
    engine: EngineConfig | None = None,
    search: str | None = None,
    outcome: Given = None,
    **playing: Any,
) -> Agent:
    """Returns the agent for `game` with this header and these weights.

    Args:
        game: the run's game, or one that differs from it only in its maximum length.
        source: name of the run in messages.
        engine, search, outcome: as for `load_agent`.
        playing: other arguments of `Agent`.

    Raises:
        AgentError, CheckpointError, ConfigError: as `load_agent`.
    """
    spec = parse_search(default_search(header) if search is None else search)
    terminal_values = _outcome(header, game, outcome)
    built = make_search(game, suited_search(spec.config, header), terminal_values)
    if built.needs_priors and header.config.network.policy == "none":
        raise AgentError(
            f"the search {spec.text!r} needs a network with a policy, and that of {source} has values only: "
            f"use {DEFAULT!r}"
        )
    model = make_model(game, header.config, terminal_values, weights, engine=engine)
    model.evaluator.priors = built.needs_priors
    built.calibration = header.calibration.fit(game, terminal_values)
    return Agent(
        game,
        built,
        model.evaluator,
        decision=suited(spec.algorithm.decision, game),
        network=model.network,
        encoder=model.encoder,
        **playing,
    )


def suited_search(search: SearchConfig, header: Header) -> SearchConfig:
    """Returns the settings of a search that uses the network of a run.

    If the search needs a policy and the run uses the same search, unset options have the values of the run's settings,
    except noise. Descent and UBFM are paranoid, and evaluate the outcomes of chance, if the run's search does. ExIt's
    search doesn't use values before they are learned.
    """
    config, counters = header.config, header.counters
    if search.needs_priors and search.algorithm == config.search.algorithm:
        options = [name for name in search.own_options() if name not in search.for_training]
        unset = [name for name in options if getattr(search, name) in (None, False)]
        search = dataclasses.replace(search, **{name: getattr(config.search, name) for name in unset})
    if isinstance(search, ProverConfig):
        learned = config.search if isinstance(config.search, ProverConfig) else DescentConfig()
        by_outcomes = search.evaluate_outcomes or learned.evaluate_outcomes
        search = dataclasses.replace(search, paranoid=learned.paranoid, evaluate_outcomes=by_outcomes)
    if isinstance(search, ExitConfig) and not config.self_play.has_values(
        config.fraction_done(counters.matches, counters.seconds)
    ):
        search = dataclasses.replace(search, value_weight=0.0)
    return search


def default_search(header: Header) -> str:
    """Returns the default search of an agent with this header."""
    return header.search if isinstance(header, AgentHeader) else usual_search(header.config)


def usual_search(config: TrainingConfig) -> str:
    """Returns the default search of an agent of a run with these settings."""
    return config.search.algorithm if config.search.needs_priors else DEFAULT


def _outcome(header: Header, game: pyspiel.Game, given: Given) -> Outcome:
    """Returns the terminal values that the search uses."""
    name = header.config.outcome
    kind = allowed_kind(name, given)
    outcome = outcome_to_play_by(name, header.outcome, kind)
    if outcome is None or (isinstance(outcome, ScaledGain) and (game.num_players() == 1 or rows_of(game) is not None)):
        raise not_allowed(name)
    if isinstance(outcome, ScaledGain):
        _log.warning("outcome %s is code that was not allowed: the search uses wins and losses only", shown(name))
    return outcome


def read_agent(
    folder: str | os.PathLike[str], checkpoint: Which = None
) -> tuple[Path, Header, dict[str, torch.Tensor]]:
    """Returns the path that `load_agent` reads, its header and its weights.

    Raises:
        CheckpointError: as `load_agent`.
    """
    path = agent_path(folder, checkpoint)
    if path.is_file():
        return path, *read_agent_file(path)
    while True:
        try:
            return path, read_header(path), read_weights(path)
        except CheckpointError:
            before, path = path, agent_path(folder, checkpoint)
            if path == before:  # otherwise the run removed the old checkpoint meanwhile
                raise


def header_of(folder: str | os.PathLike[str], checkpoint: Which = None) -> Header:
    """Returns the header of the checkpoint or agent file that `load_agent` reads.

    Raises:
        CheckpointError: as `agent_path`, or the file is damaged, of another program or of a newer version.
    """
    path = agent_path(folder, checkpoint)
    return read_agent_header(path) if path.is_file() else read_header(path)


def agent_path(folder: str | os.PathLike[str], checkpoint: Which = None) -> Path:
    """Returns the path of the checkpoint or agent file that `load_agent` reads.

    Raises:
        CheckpointError: `folder` is neither a run nor a checkpoint nor an agent file, or has no such checkpoint.
    """
    path = given_folder(folder)
    if checkpoint is not None and not (isinstance(checkpoint, str) and checkpoint == BEST):
        require_whole("checkpoint", checkpoint, CheckpointError)
    if path.is_file():
        if checkpoint is not None:
            raise CheckpointError(
                f"{str(path)!r} is an agent file and has no checkpoints, got {shown(checkpoint)}: leave it out",
                path=path,
            )
        return path
    if checkpoint is None and (path / STATE).is_file():
        return path
    if not os.path.lexists(path):
        raise CheckpointError(
            f"expected the folder of a run or an agent file, got {str(path)!r}, which does not exist", path=path
        )
    return RunFolder(path).require_run().checkpoint(checkpoint)


def game_of(folder: str | os.PathLike[str], checkpoint: Which = None) -> str:
    """Returns the game string of a run, a checkpoint or an agent file.

    Raises:
        CheckpointError: as `header_of`.
    """
    return header_of(folder, checkpoint).game
