"""Training: `train` starts a run in a new folder, `resume` continues one.

Guarantees:

1. A checkpoint is the state between two rounds. A kill loses only the games after the last checkpoint.
2. A stop request (Ctrl-C, SIGTERM, SIGHUP, or `stop`) interrupts the round, and the state before it is saved at once.
   If all games of the round have ended, they are learned first, unless that takes more than `LEARNING_SECONDS`; then
   the round is dropped. With workers, games already learned in the round are kept. At the time limit, games in play are
   dropped, and finished games are learned for at most `LEARNING_SECONDS`. A run resumed after its time limit plays
   other games than one with a later limit.
3. A run stopped or killed and resumed any number of times ends with the same weights as an uninterrupted one, if search
   is limited by iterations or evaluations, the run is limited by games, and there are no workers.
4. An error such as a full disk ends the run and leaves the last checkpoint unchanged. An error raised by a callback is
   raised again after the state before the round was saved, an `OSError` as a `CheckpointError`.
5. If the folder of a run is moved or deleted, the run ends after the round and does not create the folder again.
6. If learning diverges (the loss, weights or values are not finite), the run is rolled back to its last good checkpoint
   and continues with half the learning rate. Without workers, learning diverges at the same game each time. Which
   checkpoint is the last one depends on the time of writing, so guarantee 3 doesn't hold after a rollback.
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
from athenan_spiel.outcomes.rows import gain_of
from athenan_spiel.search import make_search
from athenan_spiel.system.cluster import require_address
from athenan_spiel.system.files import remove
from athenan_spiel.training import clock
from athenan_spiel.training.actor import Actor
from athenan_spiel.training.actors.placement import join_for_run
from athenan_spiel.training.actors.pool import WorkersLostError
from athenan_spiel.training.checkpoints import Checkpoint, Counters
from athenan_spiel.training.evaluation import require_opponents
from athenan_spiel.training.events import Callback
from athenan_spiel.training.fitting import fit_names
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.new_folder import given_folder, new_folder
from athenan_spiel.training.plan import plan_run
from athenan_spiel.training.preflight import (
    require_other_player,
    usual_workers,
    with_limits,
    with_workers,
    worker_count,
)
from athenan_spiel.training.presets import ALL, preset
from athenan_spiel.training.run_folder import RunFolder
from athenan_spiel.training.saving import MAX_ROLLBACKS
from athenan_spiel.training.session import Beginning, Run, Session
from athenan_spiel.training.settings_file import config_to_dict

FIXED = ("outcome", "seed", "network", "encoding", "replay.method")
"""Settings that can't be changed after the start of a run, as its weights or its replay depend on them."""


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
    callbacks: Sequence[Callback] = (),
    stop: Callable[[], bool] | None = None,
    milestones: Sequence[float] = (),
    max_rollbacks: int = MAX_ROLLBACKS,
    cluster: str | None = None,
) -> Run:
    """Train from the beginning, in a new folder, until a limit or a request to stop.

    `ath.train(GAME, seconds=180)` is equivalent to `athenan train GAME --time 3m`.

    Args:
        game: the game, or its OpenSpiel string.
        config: settings, or the name of a preset; by default the preset `quick`.
        folder: run folder, which must be empty if it exists. By default runs/NAME in the current folder, with the
            game's short name, or the first of runs/NAME-2, runs/NAME-3, ... that does not exist.
        seconds, matches: training time in seconds, and number of games. Either replaces both limits of `config`.
        workers: number of worker processes, or "auto": one for each core, as far as memory allows. By default
            `config.workers.count`; with the presets quick, hour, day and td_lambda "auto" for a run limited only by
            time, to a minute or more, on several cores without a GPU.
        fit: names among `presets.FITTED` of the settings to fit to the game, which is measured on random games. By
            default all with the presets quick, hour, day and td_lambda, else none.
        allow_programs: commands of engines that may be started as opponents of evaluations (such as `gtp:COMMAND`);
            None: all that `config` names. Use () for a `config` from an untrusted file.
        callbacks: callbacks for events, in addition to `metrics.jsonl` and TensorBoard's files.
        stop: polled throughout the run; True saves and ends the run, as Ctrl-C, SIGTERM and SIGHUP do in the
            main thread.
        milestones: fractions of the run, in (0, 1); a checkpoint is written after the first round that reaches each.
        max_rollbacks: maximum number of rollbacks to the last good checkpoint when learning diverges. Each halves the
            learning rate, also in `config.toml`.
        cluster: Ray cluster that plays the games: "local", started for this call, "auto", the one running on this
            machine, or "HOST:PORT" (docs/scaling.md). It gets `workers.count` actors; 0: as many as it has processors
            for. None: this machine, without Ray.

    Returns:
        Result of the run, also of a stopped one; `load_agent(run.folder)` loads the trained agent.

    Raises:
        UnsupportedGameError: the game does not meet the algorithms' assumptions.
        ConfigError: the game has no such outcome, a setting does not suit this machine, an opponent of evaluations
            cannot be loaded, an argument has a wrong type, Ray is missing, or the cluster cannot be joined.
        CheckpointError: the folder is in use, is not empty, cannot be written, or is gone.
        DivergedError: learning diverged, and no rollback is left; the last checkpoint is kept.
        EvaluatorError: values are not finite before anything was learned.
        LearningError: workers cannot be started, or end repeatedly; the last checkpoint is kept.
        KeyboardInterrupt: Ctrl-C was pressed twice; the last checkpoint is kept.
        Exception: raised by a callback; the run is saved first.
    """
    given, game = game, given_game(game)
    config, fits = _settings_of(config)
    _require_hooks(callbacks, stop, milestones, max_rollbacks)
    if cluster is not None:
        require_address(cluster)
    names = fit_names(fit, given, fits=fits)
    config = with_limits(config, seconds, matches)
    if workers is None and fits:
        workers = usual_workers(config, game)
    if workers is not None:
        config = with_workers(config, workers, str(game), on_cluster=cluster is not None)
    run_folder = RunFolder(new_folder(game.get_type().short_name) if folder is None else given_folder(folder))
    run_folder.require_new()
    if "outcome" not in names:
        suited_kind(config.outcome, game)
    make_search(game, config.search, gain_of(game))  # raises for a search that the game does not have
    if config.evaluation.asked:
        require_other_player(config, game)
        require_opponents(str(game), config, allow_programs)
    with join_for_run(config, cluster, str(game)) as (config, joined_cluster):
        start = clock.now()
        plan = plan_run(game, config, fit=names, elapsed=lambda: clock.now() - start)
        learner = LearnerSide(plan)  # raises for invalid settings before the folder is created
        actor = Actor(plan.game, plan.config, plan.outcome, encoder=plan.encoder)
        missing = _missing_folders(run_folder.path)
        with run_folder.locked():
            run_folder.require_new()
            with _removed_if_refused(run_folder.path, missing, lambda: _has_learned_nothing(learner)):
                run_folder.write_settings(str(plan.game), plan.config)
                hooks = callbacks, stop, milestones, allow_programs, max_rollbacks, joined_cluster
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
    callbacks: Sequence[Callback] = (),
    stop: Callable[[], bool] | None = None,
    milestones: Sequence[float] = (),
    max_rollbacks: int = MAX_ROLLBACKS,
    cluster: str | None = None,
) -> Run:
    """Resume the run in `folder` exactly from its newest checkpoint, or from another one.

    The settings are those of `config.toml`, in which all but those in `FIXED` may have been edited.

    Args:
        more_matches, more_seconds: games or seconds after the checkpoint. Either replaces both limits.
        workers: replaces `workers.count` from now on; "auto": one for each core of this machine or the cluster.
        memory: replaces `memory.bytes` from now on. The memory budget is then computed again, as it is when the number
            of workers changes.
        checkpoint: number of games of the checkpoint to resume from, by default the newest one. Later checkpoints are
            renamed to "aside-NUMBER", and lines about later games are removed from `metrics.jsonl`.
        outcome: custom outcome of the run: its name "module:name", a tuple of allowed names, or the function or class
            itself. A name in a file is never imported by itself.
        allow_programs: commands of engines that `config.toml` may name as opponents of evaluations. No other one is
            started.
        callbacks, stop, milestones, max_rollbacks, cluster: as for `train`. A run may move between one machine and a
            cluster.

    Returns:
        Result of the run, over all sessions.

    Raises:
        CheckpointError: the folder contains no run or is in use, or the checkpoint is damaged, missing, of another
            program or of a newer version.
        ConfigError: `config.toml` is invalid or does not fit the checkpoint; an opponent of evaluations cannot be
            loaded; an argument has a wrong type; `outcome` is not the outcome of the run, cannot be imported, or is
            required and missing.
        DivergedError, EvaluatorError, LearningError, KeyboardInterrupt: as `train`.
    """
    _require_hooks(callbacks, stop, milestones, max_rollbacks)
    if cluster is not None:
        require_address(cluster)
    require_argument("more_matches", more_matches, Count, ConfigError, or_none=True)
    require_argument("more_seconds", more_seconds, Seconds, ConfigError, or_none=True)
    if checkpoint is not None:
        require_whole("checkpoint", checkpoint, ConfigError)
    run_folder = RunFolder(given_folder(folder)).require_run()
    with run_folder.locked():
        spec, config = run_folder.settings()
        loaded = run_folder.load(checkpoint)
        if loaded is not None:
            _require_same(run_folder, spec, config, loaded)
        kind = allowed_kind(config.outcome, outcome)
        if kind is None and is_code(config.outcome):
            raise not_allowed(config.outcome)
        extended = _extended(config, loaded, more_matches, more_seconds)
        limit = extended.memory if memory is None else MemoryConfig(bytes=memory)
        if workers is not None:
            count = worker_count(workers, spec, limit.bytes, on_cluster=cluster is not None)
            extended = dataclasses.replace(extended, workers=dataclasses.replace(extended.workers, count=count))
            if limit.bytes is not None and count != config.workers.count:
                limit = MemoryConfig(bytes=limit.bytes)
        extended = dataclasses.replace(extended, memory=limit)
        if config.evaluation.asked:
            require_opponents(spec, config, allow_programs)
        game = load_game(spec)
        with join_for_run(extended, cluster, spec) as (extended, joined_cluster):
            plan = plan_run(game, extended, header=None if loaded is None else loaded.header, kind=kind)
            learner = LearnerSide(plan, loaded)
            actor = Actor(game, plan.config, plan.outcome, encoder=plan.encoder)
            hooks = callbacks, stop, milestones, allow_programs, max_rollbacks, joined_cluster
            origin = None if loaded is None else run_folder.checkpoint(checkpoint)
            session = Session(run_folder, learner, actor, origin, *hooks)  # last check of the input
            if plan.config != config:
                run_folder.write_settings(spec, plan.config)
            if checkpoint is not None:
                run_folder.archive_newer(checkpoint)
            return session.run()


def _settings_of(config: TrainingConfig | str | None) -> tuple[TrainingConfig, bool]:
    """Returns the settings, and whether they are those of a preset that is fitted to the game."""
    if config is None or isinstance(config, str):
        name = "quick" if config is None else config
        return preset(name), ALL[name].fits
    require_kind("config", config, TrainingConfig, ConfigError)
    return config, False


def _missing_folders(path: Path) -> list[Path]:
    """Returns those of `path` and its parents that do not exist, innermost first."""
    return [folder for folder in (path, *path.parents) if not folder.exists()]


@contextlib.contextmanager
def _removed_if_refused(path: Path, missing: list[Path], is_untrained: Callable[[], bool]) -> Iterator[None]:
    """Context that removes a new run's folder if training fails before anything is learned, such as on a full disk.

    Args:
        missing: folders that did not exist before the run (`_missing_folders`). If `path` is not among them, only its
            content is removed.
        is_untrained: returns whether nothing was learned.
    """
    try:
        yield
    except (CheckpointError, LearningError, OSError) as error:
        if not isinstance(error, DivergedError | WorkersLostError | BrokenPipeError) and is_untrained():
            with contextlib.suppress(OSError):
                for item in [path] if path in missing else path.iterdir():
                    remove(item)
                for parent in missing[1:]:
                    parent.rmdir()
        raise


def _has_learned_nothing(learner: LearnerSide) -> bool:
    return learner.counters.matches == learner.counters.warm_up_states == 0


def _require_hooks(
    callbacks: Sequence[Callback], stop: Callable[[], bool] | None, milestones: Sequence[float], max_rollbacks: int
) -> None:
    """Raise `ConfigError` for invalid arguments that the run would use only later."""
    require_whole("max_rollbacks", max_rollbacks, ConfigError)
    if not 0 <= max_rollbacks <= MOST:
        raise ConfigError(f"max_rollbacks must be from 0 to {MOST:,}, got {shown(max_rollbacks)}")
    require_kind("callbacks", callbacks, Sequence, ConfigError)
    for callback in callbacks:
        require_callable("a callback", callback, ConfigError)
    require_callable("stop", stop, ConfigError, or_none=True)
    require_kind("milestones", milestones, Sequence, ConfigError)
    for fraction in milestones:
        if not (is_number(fraction) and 0 < fraction < 1):
            raise ConfigError(f"a milestone must be a fraction of the run, in (0, 1), got {shown(fraction)}")


def _require_same(folder: RunFolder, spec: str, config: TrainingConfig, checkpoint: Checkpoint) -> None:
    """Raise `ConfigError` if settings that must not change were edited."""
    header = checkpoint.header
    new, old = config_to_dict(config) | {"game": spec}, config_to_dict(header.config) | {"game": header.game}
    for name in ("game", *FIXED):
        now, then = (functools.reduce(operator.getitem, name.split("."), settings) for settings in (new, old))
        if now != then:
            raise ConfigError(
                f"{folder.path / 'config.toml'}: {name} must stay {shown(then)}, with which the run started, "
                f"got {shown(now)}: change it back, or start a new run"
            )


def _extended(
    config: TrainingConfig, checkpoint: Checkpoint | None, more_matches: int | None, more_seconds: float | None
) -> TrainingConfig:
    """Returns `config` with limits relative to the checkpoint, if any is given."""
    if more_matches is None and more_seconds is None:
        return config
    done = Counters() if checkpoint is None else checkpoint.header.counters
    return dataclasses.replace(
        config,
        matches=None if more_matches is None else done.matches + more_matches,
        seconds=None if more_seconds is None else done.seconds + more_seconds,
    )
