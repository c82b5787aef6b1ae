"""The trained agent of a run, ready to play."""

from __future__ import annotations

import dataclasses
import logging
import os
import random
from pathlib import Path
from typing import Literal

import pyspiel
import torch

from athenan_spiel.arguments import require_kind, require_whole
from athenan_spiel.config import EngineConfig, SearchConfig, TrainingConfig
from athenan_spiel.config.search import OWN_SETTINGS, POLICY_ASKERS, ROOT_NOISE
from athenan_spiel.errors import AgentError, BudgetError, CheckpointError, ConfigError, shown
from athenan_spiel.games import load_game
from athenan_spiel.outcomes import Given, Outcome, allowed_kind, not_allowed, outcome_to_play_by
from athenan_spiel.outcomes.classic import ScaledGain
from athenan_spiel.play.agent import Agent
from athenan_spiel.play.match_clock import require_times
from athenan_spiel.search import Budget, make_search
from athenan_spiel.search.algorithms import DEFAULT, parse_search
from athenan_spiel.training.agent_file import AgentHeader, read_agent_file, read_agent_header
from athenan_spiel.training.best import BEST
from athenan_spiel.training.checkpoints import STATE, Header, read_header, read_weights
from athenan_spiel.training.limits import fraction_done
from athenan_spiel.training.model import make_model
from athenan_spiel.training.new_folder import given_folder
from athenan_spiel.training.run_folder import RunFolder

SECONDS = 1.0
"""Search time per move where nothing is said of it."""
Which = int | Literal["best"] | None
"""A checkpoint of a run: after how many matches, or the best network by rating; None is the newest."""
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
) -> Agent:
    """A search over a checkpoint of a run, by default the newest, or over an agent's file (`export_agent`).

    By default it is UBFM over several lines (`ubfm_k`), and where the run's own search needs a policy that one, with
    its settings and without noise; a file says itself which of them.

    A run may go on training meanwhile; the agent keeps the weights it was loaded with.

    Args:
        folder: of the run, or of one checkpoint, or the file of an agent.
        checkpoint: after how many matches it was written, or "best", the run's best network; none: the newest. A file
            has one alone.
        seconds: search time per move; one second where neither this nor what follows is given.
        budget: in place of `seconds`.
        match_seconds, match_increment: a match clock, the search time in seconds of all moves of a match, and what
            each own move adds once it is made; see `Agent`.
        seed: of the choices among equals; none: another one each time.
        engine: in place of the run's own, say on a machine without its device.
        search: how it thinks, whatever the run was trained with: `ubfm_k`, `ubfm_s`, `ubfm`, `descent`, `alphabeta` or
            `mcts`, most with a number in brackets if need be, or `puct`, `gumbel` or `exit` where the network has a
            policy; see `athenan_spiel.search.algorithms`. None: as above.
        outcome: where the run was trained with one of your own, "module:name", that name again (or a tuple of names
            that are allowed), or the function or class itself. A name that stands in a file imports nothing: without
            this the gain times the stored scale takes its place, and a warning of the log says so.
        ponder: think on while the opponent does; see `Agent`.

    Returns:
        An agent of the run's game, for either colour.

    Raises:
        AgentError: there is no such search, or it needs a policy that the network does not have; the seed is no
            whole number, or `ponder` neither True nor False.
        CheckpointError: the folder is none of these, or the checkpoint is missing, damaged, foreign or newer.
        BudgetError: `seconds` or `match_seconds` is not more than zero, `match_increment` is less than zero or alone,
            or `budget` is none.
        ConfigError: the engine does not suit this machine, or the network its memory; `engine` is none; `outcome` is
            not the run's, cannot be imported, or is needed and not given, as in a game for one player.
    """
    require_kind("budget", budget, Budget, BudgetError, or_none=True)
    require_kind("engine", engine, EngineConfig, ConfigError, or_none=True)
    if seed is not None:
        require_whole("seed", seed, AgentError)
    if budget is None and (seconds is not None or match_seconds is None):
        budget = Budget(seconds=SECONDS if seconds is None else seconds)
    require_times(match_seconds, match_increment)
    require_kind("ponder", ponder, bool, AgentError)
    if search is not None:
        parse_search(search)  # before the checkpoint is read
    _, header, weights = read_agent(folder, checkpoint)
    word = parse_search(said_search(header) if search is None else search)
    game = load_game(header.game)
    worth = _outcome(header, game, outcome)
    made = make_search(game, suited_search(word.config, header), worth)
    if made.needs_priors and header.config.network.policy == "none":
        raise AgentError(
            f"the search {word.text!r} needs a network with a policy, and that of {shown(str(folder))} has values "
            f"alone: take {DEFAULT!r}"
        )
    model = make_model(game, header.config, worth, weights, engine=engine)
    model.evaluator.priors = made.needs_priors
    return Agent(
        game,
        made,
        model.evaluator,
        decision=word.algorithm.decision,
        budget=budget,
        match_seconds=match_seconds,
        match_increment=match_increment,
        rng=random.Random(None if seed is None else int(seed)),
        ponder=ponder,
        network=model.network,
        encoder=model.encoder,
    )


def suited_search(search: SearchConfig, header: Header) -> SearchConfig:
    """The settings of a search over the network of a run.

    What one that needs a policy does not say is as in the run's training, if that had the same, but for its noise.
    Values that are not learned yet do not count in ExIt's.
    """
    config, counters = header.config, header.counters
    if search.algorithm == config.search.algorithm and search.algorithm in POLICY_ASKERS:
        unsaid = [
            name
            for name in OWN_SETTINGS[search.algorithm]
            if name not in ROOT_NOISE and getattr(search, name) in (None, False)
        ]
        search = dataclasses.replace(search, **{name: getattr(config.search, name) for name in unsaid})
    if search.algorithm == "exit" and not config.self_play.has_values(
        fraction_done(config, counters.matches, counters.seconds)
    ):
        search = dataclasses.replace(search, value_weight=0.0)
    return search


def said_search(header: Header) -> str:
    """What an agent with this header thinks with where nothing is said of it; a file says so itself."""
    return header.search if isinstance(header, AgentHeader) else usual_search(header.config)


def usual_search(config: TrainingConfig) -> str:
    """What an agent of a run with these settings thinks with where nothing is said of it."""
    return config.search.algorithm if config.search.algorithm in POLICY_ASKERS else DEFAULT


def _outcome(header: Header, game: pyspiel.Game, given: Given) -> Outcome:
    """What the ends of matches are worth to the search."""
    name = header.config.outcome
    kind = allowed_kind(name, given)
    outcome = outcome_to_play_by(name, header.outcome, kind)
    if outcome is None or (isinstance(outcome, ScaledGain) and game.num_players() == 1):
        raise not_allowed(name)
    if isinstance(outcome, ScaledGain):
        _log.warning("outcome %s is code that was not named here: play values matches by who wins alone", shown(name))
    return outcome


def read_agent(
    folder: str | os.PathLike[str], checkpoint: Which = None
) -> tuple[Path, Header, dict[str, torch.Tensor]]:
    """The checkpoint or the file that `load_agent` takes, its header and its weights.

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
            if path == before:  # else the run went on meanwhile, and removed what it keeps no longer
                raise


def header_of(folder: str | os.PathLike[str], checkpoint: Which = None) -> Header:
    """What the checkpoint or the file that `load_agent` takes says of itself.

    Raises:
        CheckpointError: as `agent_path`, or it is damaged, foreign or newer.
    """
    path = agent_path(folder, checkpoint)
    return read_agent_header(path) if path.is_file() else read_header(path)


def agent_path(folder: str | os.PathLike[str], checkpoint: Which = None) -> Path:
    """The checkpoint or the file that `load_agent` takes.

    Raises:
        CheckpointError: the folder is neither a run nor a checkpoint nor an agent's file, or has no such checkpoint.
    """
    path = given_folder(folder)
    if checkpoint is not None and not (isinstance(checkpoint, str) and checkpoint == BEST):
        require_whole("checkpoint", checkpoint, CheckpointError)
    if path.is_file():
        if checkpoint is not None:
            raise CheckpointError(
                f"{str(path)!r} is the file of one agent and has no checkpoints, got {shown(checkpoint)}: leave it out",
                path=path,
            )
        return path
    if checkpoint is None and (path / STATE).is_file():
        return path
    if not os.path.lexists(path):
        raise CheckpointError(
            f"expected the folder of a run, got {str(path)!r}, which is no folder, nor the file of an agent", path=path
        )
    return RunFolder(path).require_run().checkpoint(checkpoint)


def game_of(folder: str | os.PathLike[str], checkpoint: Which = None) -> str:
    """The string of the game that a run, a checkpoint of one, or the agent of a file has learned.

    Raises:
        CheckpointError: as `header_of`.
    """
    return header_of(folder, checkpoint).game
