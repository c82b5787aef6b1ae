"""The trained agent of a run, ready to play."""

from __future__ import annotations

import dataclasses
import logging
import os
import random
from pathlib import Path
from typing import Literal

import pyspiel

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
from athenan_spiel.training.best import BEST
from athenan_spiel.training.checkpoints import STATE, Header, read_header, read_weights
from athenan_spiel.training.limits import fraction_done
from athenan_spiel.training.model import make_model
from athenan_spiel.training.new_folder import given_folder
from athenan_spiel.training.run_folder import RunFolder

SECONDS = 1.0
"""Search time per move where nothing is said of it."""
_log = logging.getLogger(__name__)


def load_agent(
    folder: str | os.PathLike[str],
    *,
    checkpoint: int | Literal["best"] | None = None,
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
    """A search over a checkpoint of a run, by default the newest; by default UBFM over several lines (`ubfm_k`), and
    where the run's own search needs a policy that one, with its settings and without noise.

    A run may go on training meanwhile; the agent keeps the weights it was loaded with.

    Args:
        folder: of the run, or of one checkpoint.
        checkpoint: after how many matches it was written, or "best", the run's best network; none: the newest.
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
        CheckpointError: the folder is neither, or the checkpoint is missing, damaged, foreign or newer.
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
    path = checkpoint_path(folder, checkpoint)
    header, weights = read_header(path), read_weights(path)
    word = parse_search(usual_search(header.config) if search is None else search)
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


def checkpoint_path(folder: str | os.PathLike[str], checkpoint: int | Literal["best"] | None = None) -> Path:
    """The checkpoint that `load_agent` takes.

    Raises:
        CheckpointError: the folder is neither a run nor a checkpoint, or has no such checkpoint.
    """
    path = given_folder(folder)
    if checkpoint is not None and not (isinstance(checkpoint, str) and checkpoint == BEST):
        require_whole("checkpoint", checkpoint, CheckpointError)
    if checkpoint is None and (path / STATE).is_file():
        return path
    return RunFolder(path).require_run().checkpoint(checkpoint)


def game_of(folder: str | os.PathLike[str], checkpoint: int | Literal["best"] | None = None) -> str:
    """The string of the game that a run, or a checkpoint of one, has learned.

    Raises:
        CheckpointError: as `checkpoint_path`, or the checkpoint is damaged, foreign or newer.
    """
    return read_header(checkpoint_path(folder, checkpoint)).game
