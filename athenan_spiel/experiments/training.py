"""One training of an experiment: a run whose network is saved at each stage.

    trainings/GAME/NAME/1/      a run folder (docs/run_folder.md)
    trainings/GAME/NAME/1/stages/1, 2, ...   weights.safetensors and state.json of the checkpoint at that stage

A training is finished when its last stage is saved. Then files that are only needed to resume are removed from its
checkpoints; `load_agent` still accepts the folder. Until then it resumes from its newest checkpoint. The folder must
match the experiment's training, and no link in it is followed.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from athenan_spiel.config import MemoryConfig, TrainingConfig
from athenan_spiel.errors import AthenanError, CheckpointError, ConfigError, shown
from athenan_spiel.games import load_game
from athenan_spiel.games.spec import read_spec
from athenan_spiel.system.files import (
    UNFINISHED,
    is_folder,
    read_file,
    remove,
    require_folder,
    write_durably,
)
from athenan_spiel.system.portable import sync_folder
from athenan_spiel.training import resume, train
from athenan_spiel.training.checkpoints import (
    MOST_STATE,
    MOST_WEIGHTS,
    OPTIMIZER,
    REPLAY,
    RESOLVED,
    STATE,
    WEIGHTS,
    read_header,
    read_weights,
)
from athenan_spiel.training.events import (
    CheckpointWritten,
    Event,
    RoundProgress,
    RunFinished,
    RunStarted,
    WarmUpProgress,
)
from athenan_spiel.training.presets import FITTED
from athenan_spiel.training.run_folder import CONFIG, RunFolder

STAGES = "stages"
ROUNDING = 1e-9
PATIENCE_SECONDS = 15.0
"""Maximum time to wait until the process of a killed experiment has saved and ended."""


@dataclass(frozen=True)
class TrainingTask:
    """A task that trains a network, or resumes its training.

    Attributes:
        folder: run folder.
        stages: share of the training at each stage, increasing; the last is 1.
        programs: commands of engines that evaluations may start.
        fits: whether the settings in `presets.FITTED` are fitted to the game.
    """

    keeps_results: ClassVar[bool] = True
    processes_option: ClassVar[str] = "--processes"
    folder: Path
    game: str
    config: TrainingConfig
    stages: tuple[float, ...]
    programs: tuple[str, ...] = ()
    fits: bool = False

    def run(self, report: Callable[[float], None], stop: Callable[[], bool]) -> bool:
        """Train to the end and report the finished share; returns False if `stop` ended it, with all work saved.

        Raises:
            AthenanError: the training failed, or its folder holds another one, is in use, damaged or cannot be written.
                The message names the folder.
            OSError: a stage's network could not be written.
        """
        try:
            return self._run(report, stop)
        except AthenanError as error:
            if _names_its_file(error):
                raise
            raise type(error)(f"{error} (in {self.folder})") from None

    def _run(self, report: Callable[[float], None], stop: Callable[[], bool]) -> bool:
        callback = _StageSaver(self, report)
        game = load_game(self.game)
        _wait_until_free(self.folder)
        options: dict[str, Any] = {
            "allow_programs": self.programs,
            "callbacks": [callback],
            "stop": stop,
            "milestones": self.stages[:-1],
            "max_rollbacks": 0,  # a rollback would change the variant's learning rate
        }
        if (self.folder / CONFIG).exists():
            require_same_training(
                self.folder, RunFolder(self.folder).settings(), (str(game), self.config), fits=self.fits
            )
            if (newest := RunFolder(self.folder).newest()) is not None:
                callback.keep_passed(newest)  # a kill may have prevented the copy of a checkpoint
            # The outcome is the one in the experiment's file, which was allowed.
            run = resume(self.folder, outcome=(self.config.outcome,), **options)
        else:
            run = train(game, self.config, self.folder, fit=FITTED if self.fits else (), **options)
        if run.reason == "stopped":
            return False
        callback.keep(run.checkpoint, len(self.stages))
        for checkpoint in RunFolder(self.folder).checkpoints():
            for name in (OPTIMIZER, REPLAY, RESOLVED):
                remove(checkpoint / name)
        return True


def stage_path(folder: Path, stage: int) -> Path:
    """Returns the path of a stage's network, for `read_header` and `read_weights`."""
    return folder / STAGES / str(stage)


def is_finished(folder: Path, stages: int) -> bool:
    """Whether the training in `folder` is finished."""
    return is_folder(folder / STAGES) and is_folder(stage_path(folder, stages))


def require_same_training(
    path: Path, found: tuple[str, TrainingConfig], wanted: tuple[str, TrainingConfig], *, fits: bool = False
) -> None:
    """Check that `path` was trained with the wanted game and settings.

    Threads and processes may differ, because they depend on the number of concurrent trainings.

    Args:
        fits: whether settings were fitted to the game and the machine; these may differ, too.

    Raises:
        CheckpointError: it was not.
    """
    same_game = found[0] == wanted[0] or (fits and _without_length(found[0]) == _without_length(wanted[0]))
    if not same_game:
        raise CheckpointError(
            f"{path} belongs to the game {shown(found[0])}, the experiment expects {wanted[0]!r}: "
            "remove it to train again",
            path=path,
        )
    one, other = _without_threads(found[1]), _without_threads(wanted[1])
    if one != other and not (fits and _without_fitted(one) == _without_fitted(other)):
        raise CheckpointError(
            f"{path} has other training settings than the experiment: remove it to train again", path=path
        )


def _without_threads(config: TrainingConfig) -> TrainingConfig:
    return dataclasses.replace(
        config,
        learner=dataclasses.replace(config.learner, threads=None),
        engine=dataclasses.replace(config.engine, threads=None),
        warm_up=dataclasses.replace(config.warm_up, processes=None),
    )


def _without_fitted(config: TrainingConfig) -> TrainingConfig:
    """Returns `config` with defaults in place of the settings in `presets.FITTED` and the shares of the memory."""
    usual = TrainingConfig()
    return dataclasses.replace(
        config,
        matches_at_once=usual.matches_at_once,
        search=usual.search,
        targets=usual.targets,
        exploration=usual.exploration,
        outcome=usual.outcome,
        replay=dataclasses.replace(
            config.replay, matches=usual.replay.matches, learning_share=usual.replay.learning_share
        ),
        encoding=dataclasses.replace(config.encoding, symmetries=usual.encoding.symmetries),
        network=dataclasses.replace(config.network, filters=usual.network.filters),
        warm_up=dataclasses.replace(config.warm_up, method=usual.warm_up.method, seconds=usual.warm_up.seconds),
        memory=MemoryConfig(bytes=config.memory.bytes),
    )


def _without_length(spec: str) -> tuple[str, dict[str, object]]:
    parsed = read_spec(spec)
    return parsed.name, {name: value for name, value in parsed.parameters.items() if name != "max_length"}


def _names_its_file(error: AthenanError) -> bool:
    """Returns whether the message contains the file or folder."""
    if isinstance(error, CheckpointError):
        return error.path is not None
    return isinstance(error, ConfigError) and bool(error.source)


def _wait_until_free(folder: Path) -> None:
    """Waits until no other process uses `folder`, at most `PATIENCE_SECONDS`; after that, the training raises."""
    until = time.monotonic() + PATIENCE_SECONDS
    while folder.exists() and time.monotonic() < until:
        try:
            with RunFolder(folder).locked():
                return
        except CheckpointError:
            time.sleep(0.1)


class _StageSaver:
    """A callback that saves the network of the first checkpoint of each stage."""

    def __init__(self, task: TrainingTask, report: Callable[[float], None]) -> None:
        self._task = task
        self._report = report

    def __call__(self, event: Event) -> None:
        if isinstance(event, CheckpointWritten):
            self.keep_passed(event.checkpoint)
        if isinstance(event, RunStarted | WarmUpProgress | RoundProgress | RunFinished):
            self._report(self._task.config.fraction_done(event.matches, event.seconds))

    def keep_passed(self, checkpoint: Path) -> None:
        """Save `checkpoint` as all stages that it has passed, except the last one."""
        counters = read_header(checkpoint).counters
        done = self._task.config.fraction_done(counters.matches, counters.seconds)
        self.keep(checkpoint, sum(share <= done + ROUNDING for share in self._task.stages[:-1]))

    def keep(self, checkpoint: Path, last: int) -> None:
        """Save `checkpoint` as all stages up to `last` that are not saved yet."""
        for stage in range(1, last + 1):
            final = stage_path(self._task.folder, stage)
            require_folder(final.parent)
            require_folder(final)
            if not final.exists():
                read_weights(checkpoint)  # raises if they are damaged
                unfinished = final.with_name(f"{UNFINISHED}{stage}")
                remove(unfinished)
                unfinished.mkdir(parents=True)
                for name, most in ((WEIGHTS, MOST_WEIGHTS), (STATE, MOST_STATE)):
                    content = read_file(checkpoint / name, most)
                    write_durably(unfinished / name, lambda file, content=content: file.write(content))  # type: ignore[misc]
                unfinished.rename(final)
                sync_folder(final.parent)
