"""Training from start to end: `train` begins a run in a new folder, `resume` goes on with one.

Their promises:

1. A checkpoint is the state between two rounds. A kill at any moment loses at most what came after the last one.
2. A stop request (Ctrl-C, SIGTERM, SIGHUP, or `stop`) breaks the round in progress off, and the state before it is
   saved at once. Where all its matches have ended, learning is finished first, if it takes no more than
   `LEARNING_SECONDS`; else the round is dropped, learned or not. At the end of the time limit what was learned of it
   stays: its matches in play are dropped, those that have ended are learned, as far as `LEARNING_SECONDS` allow, and a
   run that goes on from there plays others.
3. A run that was stopped or killed and resumed, however often, ends with the same weights as one that was not,
   where search is limited by iterations or evaluations and the run by matches.
4. What goes wrong, such as a full disk, ends the run with the last checkpoint as it was. An error that a listener
   raises is passed on as it is, after the state before the round was saved.
5. A run whose folder is moved or deleted ends with the round, and makes no part of the folder anew.
6. Where learning diverges (a loss, weights or values that are not finite) the run goes on from its last good checkpoint
   with half the learning rate (`set_backs`). In one process it diverges at the same match each time; which checkpoint
   is the last then depends on when they were written, and with it all that follows, promise 3 included.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import operator
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal

import pyspiel

from athenan_spiel.arguments import is_number, require_callable, require_kind, require_whole
from athenan_spiel.config import MemoryConfig, TrainingConfig
from athenan_spiel.config.settings import MOST, Count, Seconds, require_argument
from athenan_spiel.errors import CheckpointError, ConfigError, DivergedError, LearningError, shown
from athenan_spiel.games import given_game, load_game
from athenan_spiel.outcomes import Given, allowed_kind, is_code, not_allowed, suited_kind
from athenan_spiel.system.cluster import require_address
from athenan_spiel.system.files import remove
from athenan_spiel.training import clock
from athenan_spiel.training.actor import Actor
from athenan_spiel.training.actors.placement import placed
from athenan_spiel.training.actors.pool import WorkersLostError
from athenan_spiel.training.checkpoints import Checkpoint, Counters
from athenan_spiel.training.evaluation import require_opponents
from athenan_spiel.training.events import Listener
from athenan_spiel.training.fitting import fit_names
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.means import (
    require_other_player,
    usual_workers,
    with_limits,
    with_workers,
    worker_count,
)
from athenan_spiel.training.new_folder import given_folder, new_folder
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.presets import ALL, preset
from athenan_spiel.training.run_folder import RunFolder
from athenan_spiel.training.saving import SET_BACKS
from athenan_spiel.training.session import Beginning, Run, Session
from athenan_spiel.training.settings_file import config_to_dict

FIXED = ("outcome", "seed", "network", "encoding", "replay.method")
"""Settings that a run keeps from its beginning on: the weights and what was learned rest on them."""


def train(
    game: pyspiel.Game | str,
    config: TrainingConfig | str | None = None,
    folder: str | os.PathLike[str] | None = None,
    *,
    seconds: float | None = None,
    matches: int | None = None,
    workers: int | Literal["auto"] | None = None,
    fit: Collection[str] | None = None,
    allow_programs: Collection[str] | None = None,
    listeners: Sequence[Listener] = (),
    stop: Callable[[], bool] | None = None,
    milestones: Sequence[float] = (),
    set_backs: int = SET_BACKS,
    cluster: str | None = None,
) -> Run:
    """Train from the beginning, in a new folder, until a limit or a request to stop.

    `ath.train(GAME, seconds=180)` is the same training as `athenan train GAME --time 3m`.

    Args:
        game: any game that `load_game` gives, or its string.
        config: settings, or the name of a preset; by default the preset `quick`.
        folder: of the run; made if it does not exist, and must be empty if it does. By default runs/NAME here, with
            the game's short name, or the first of runs/NAME-2, runs/NAME-3, ... that does not exist.
        seconds: training time; replaces both limits of `config`.
        matches: number of games; replaces both limits of `config`, with `seconds` too.
        workers: number of processes that play, or "auto": one for each core. By default `config.workers.count`; with
            the presets quick, hour and day as `means.usual_workers` says.
        fit: names among `presets.FITTED`: settings that are fitted to the length and speed of the game, which some
            random games show. By default all with the presets quick, hour and day, else none.
        allow_programs: commands of engines that may be begun to be met in evaluations (`gtp:COMMAND` and the like);
            None: all that `config` names. Give () where it comes from a file that you have not read.
        listeners: called with each event, besides those that write `metrics.jsonl` and TensorBoard's files there.
        stop: looked at for each batch of states; True saves and ends the run, as Ctrl-C, SIGTERM and SIGHUP do in the
            main thread.
        milestones: shares of the run, in (0, 1); a checkpoint is written after the first round that reaches each.
        set_backs: how often at most, where learning has diverged, the run goes back to its last good checkpoint with
            half the learning rate, which `config.toml` says then.
        cluster: the Ray cluster on which matches are played: "local", which is started and ends with this, "auto", that
            which runs here, or "HOST:PORT" (docs/scaling.md). `workers.count` of them are played there by as many
            actors; 0: by as many as it has processors for. None: all is done on this machine, without Ray.

    Returns:
        What became of the run, also where it was stopped; `load_agent(run.folder)` plays with what it has learned.

    Raises:
        UnsupportedGameError: the game is outside what the algorithms assume.
        ConfigError: the game has no such outcome, a setting does not suit this machine, an opponent of evaluations
            cannot be met, an argument is not of its kind, Ray is missing, or the cluster cannot be joined.
        CheckpointError: the folder is in use, holds something already, cannot be written, or is gone.
        DivergedError: learning has diverged, also after all set-backs; the last checkpoint stays.
        EvaluatorError: values are not finite before anything was learned.
        LearningError: processes that play cannot be started, or end again and again; the last checkpoint stays.
        KeyboardInterrupt: Ctrl-C came twice; the last checkpoint stays.
        Exception: what a listener has raised, once the run is saved.
    """
    said, game = game, given_game(game)
    config, fits = _settings_of(config)
    _require_hooks(listeners, stop, milestones, set_backs)
    if cluster is not None:
        require_address(cluster)
    names = fit_names(fit, said, fits=fits)
    config = with_limits(config, seconds, matches)
    if workers is None and fits:
        workers = usual_workers(config, game)
    if workers is not None:
        config = with_workers(config, workers, str(game), on_cluster=cluster is not None)
    run_folder = RunFolder(new_folder(game.get_type().short_name) if folder is None else given_folder(folder))
    run_folder.require_new()
    if "outcome" not in names:
        suited_kind(config.outcome, game)
    if config.evaluation.asked:
        require_other_player(config, game)
        require_opponents(str(game), config, allow_programs)
    with placed(config, cluster, str(game)) as (config, site):
        start = clock.now()
        plan = plan_run(game, config, fit=names, elapsed=lambda: clock.now() - start)
        learner = LearnerSide(plan)  # refuses bad settings before the folder is created
        actor = Actor(plan.game, plan.config, plan.outcome, encoder=plan.encoder)
        made = _missing_folders(run_folder.path)
        with run_folder.locked():
            run_folder.require_new()
            with _removed_if_refused(run_folder.path, made, lambda: _has_learned_nothing(learner)):
                run_folder.write_settings(str(plan.game), plan.config)
                hooks = listeners, stop, milestones, allow_programs, set_backs, site
                return Session(run_folder, learner, actor, Beginning(start), *hooks).run()


def resume(
    folder: str | os.PathLike[str],
    *,
    more_matches: int | None = None,
    more_seconds: float | None = None,
    workers: int | Literal["auto"] | None = None,
    memory: int | None = None,
    checkpoint: int | None = None,
    outcome: Given = None,
    allow_programs: Collection[str] = (),
    listeners: Sequence[Listener] = (),
    stop: Callable[[], bool] | None = None,
    milestones: Sequence[float] = (),
    set_backs: int = SET_BACKS,
    cluster: str | None = None,
) -> Run:
    """Go on with the run in `folder` exactly where its newest checkpoint was written, or another one.

    The settings are those of `config.toml`, where all may have been edited but those in `FIXED`.

    Args:
        more_matches, more_seconds: end so much later than the checkpoint. Either takes the place of both limits.
        workers: in place of `workers.count`, from now on; `auto`: as many as this machine, or the cluster, has
            cores for.
        memory: bytes, in place of `memory.bytes`, from now on. What of that each part of the run has is computed anew
            then, and where the number of workers changes.
        checkpoint: that after so many matches, in place of the newest. Those after it are put aside in the folder, and
            what `metrics.jsonl` tells of later matches is cut off.
        outcome: where the run's is one of your own, "module:name", that name again (or a tuple of names that are
            allowed), or the function or class itself: a name that stands in a file imports nothing.
        allow_programs: commands of engines that `config.toml` may name as opponents of evaluations: none of them is
            begun for standing in a file.
        listeners, stop, milestones, set_backs, cluster: as for `train`. A run may go from one machine to a cluster and
            back.

    Returns:
        What became of the run, earlier sessions included.

    Raises:
        CheckpointError: the folder is no run or is in use, or its newest checkpoint is damaged, foreign or newer.
        ConfigError: `config.toml` cannot be understood, or does not fit the checkpoint; an opponent of evaluations
            cannot be met; an argument is not of its kind; `outcome` is not the run's, cannot be imported, or is needed
            and not given.
        DivergedError, EvaluatorError, LearningError, KeyboardInterrupt: as `train`.
    """
    _require_hooks(listeners, stop, milestones, set_backs)
    if cluster is not None:
        require_address(cluster)
    require_argument("more_matches", more_matches, Count, ConfigError, or_none=True)
    require_argument("more_seconds", more_seconds, Seconds, ConfigError, or_none=True)
    if checkpoint is not None:
        require_whole("checkpoint", checkpoint, ConfigError)
    run_folder = RunFolder(given_folder(folder)).require_run()
    with run_folder.locked():
        spec, config = run_folder.settings()
        begun = run_folder.load(checkpoint)
        if begun is not None:
            _require_same(run_folder, spec, config, begun)
        kind = allowed_kind(config.outcome, outcome)
        if kind is None and is_code(config.outcome):
            raise not_allowed(config.outcome)
        extended = _extended(config, begun, more_matches, more_seconds)
        bound = extended.memory if memory is None else MemoryConfig(bytes=memory)
        if workers is not None:
            count = worker_count(workers, spec, bound.bytes, on_cluster=cluster is not None)
            extended = dataclasses.replace(extended, workers=dataclasses.replace(extended.workers, count=count))
            if bound.bytes is not None and count != config.workers.count:
                bound = MemoryConfig(bytes=bound.bytes)
        extended = dataclasses.replace(extended, memory=bound)
        if config.evaluation.asked:
            require_opponents(spec, config, allow_programs)
        game = load_game(spec)
        with placed(extended, cluster, spec) as (extended, site):
            plan = plan_run(game, extended, header=None if begun is None else begun.header, kind=kind)
            learner = LearnerSide(plan, begun)
            actor = Actor(game, plan.config, plan.outcome, encoder=plan.encoder)
            hooks = listeners, stop, milestones, allow_programs, set_backs, site
            origin = None if begun is None else run_folder.checkpoint(checkpoint)
            session = Session(run_folder, learner, actor, origin, *hooks)  # all that may be refused is refused by now
            if plan.config != config:
                run_folder.write_settings(spec, plan.config)
            if checkpoint is not None:
                run_folder.put_aside(checkpoint)
            return session.run()


def _settings_of(config: TrainingConfig | str | None) -> tuple[TrainingConfig, bool]:
    """Returns the settings, and whether they are those of a preset that is fitted to the game."""
    if config is None or isinstance(config, str):
        name = "quick" if config is None else config
        return preset(name), ALL[name].fits
    require_kind("config", config, TrainingConfig, ConfigError)
    return config, False


def _missing_folders(path: Path) -> list[Path]:
    """`path` and its parents, as far as they do not exist, the innermost first."""
    return [folder for folder in (path, *path.parents) if not folder.exists()]


@contextlib.contextmanager
def _removed_if_refused(path: Path, made: list[Path], is_worthless: Callable[[], bool]) -> Iterator[None]:
    """Remove a new run's folder if its training is refused before it holds anything worth keeping.

    The disk or the shared memory may be full, or processes cannot be started. Nothing else was in the folder before.

    Args:
        made: the folders that were made for the run (`_missing_folders`). If `path` is none of them, only what is in
            it is removed.
        is_worthless: asked when the training has ended with such an error.
    """
    try:
        yield
    except (CheckpointError, LearningError, OSError) as error:
        if not isinstance(error, DivergedError | WorkersLostError | BrokenPipeError) and is_worthless():
            with contextlib.suppress(OSError):
                for item in [path] if path in made else path.iterdir():
                    remove(item)
                for parent in made[1:]:
                    parent.rmdir()
        raise


def _has_learned_nothing(learner: LearnerSide) -> bool:
    """Whether neither a match nor a warm-up has changed the weights."""
    return learner.counters.matches == 0 and learner.config.warm_up.states is None


def _require_hooks(
    listeners: Sequence[Listener], stop: Callable[[], bool] | None, milestones: Sequence[float], set_backs: int
) -> None:
    """Raise `ConfigError` for listeners, a stop, milestones or set-backs that a run would stumble over much later."""
    require_whole("set_backs", set_backs, ConfigError)
    if not 0 <= set_backs <= MOST:
        raise ConfigError(f"set_backs must be from 0 to {MOST:,}, got {shown(set_backs)}")
    require_kind("listeners", listeners, Sequence, ConfigError)
    for listener in listeners:
        require_callable("a listener", listener, ConfigError)
    require_callable("stop", stop, ConfigError, or_none=True)
    require_kind("milestones", milestones, Sequence, ConfigError)
    for share in milestones:
        if not (is_number(share) and 0 < share < 1):
            raise ConfigError(f"a milestone must be a share of the run, in (0, 1), got {shown(share)}")


def _require_same(folder: RunFolder, spec: str, config: TrainingConfig, checkpoint: Checkpoint) -> None:
    """Refuse settings edited in a way that the checkpoint cannot follow."""
    header = checkpoint.header
    new, old = config_to_dict(config) | {"game": spec}, config_to_dict(header.config) | {"game": header.game}
    for name in ("game", *FIXED):
        now, then = (functools.reduce(operator.getitem, name.split("."), settings) for settings in (new, old))
        if now != then:
            raise ConfigError(
                f"{folder.path / 'config.toml'}: {name} must stay {shown(then)}, with which the run began, "
                f"got {shown(now)}: change it back, or begin a new run"
            )


def _extended(
    config: TrainingConfig, checkpoint: Checkpoint | None, more_matches: int | None, more_seconds: float | None
) -> TrainingConfig:
    """`config` with limits that lie so much further than the checkpoint, if any is given."""
    if more_matches is None and more_seconds is None:
        return config
    done = Counters() if checkpoint is None else checkpoint.header.counters
    return dataclasses.replace(
        config,
        matches=None if more_matches is None else done.matches + more_matches,
        seconds=None if more_seconds is None else done.seconds + more_seconds,
    )
