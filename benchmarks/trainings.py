"""Trainings in temporary folders, for the scripts that measure a learner or its workers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from athenan_spiel.cli.bench import BenchArguments
from athenan_spiel.cli.parsing import parse
from athenan_spiel.cli.settings import settings_to_start_from
from athenan_spiel.config import TrainingConfig
from athenan_spiel.system.stopping import StopRequests
from athenan_spiel.training.actor import Actor
from athenan_spiel.training.events import Event
from athenan_spiel.training.learner_side import LearnerSide
from athenan_spiel.training.run_folder import RunFolder
from athenan_spiel.training.session import Session


def settings_of(script: str, game: str, options: Sequence[str]) -> TrainingConfig:
    """Returns the settings that `athenan bench GAME` makes of these options."""
    start = settings_to_start_from(options)
    return parse(BenchArguments, [game, *options], script, BenchArguments(settings=start)).settings


def run_session(
    learner: LearnerSide, callback: Callable[[Event], None], stop: Callable[[], bool], session: type[Session] = Session
) -> None:
    """Runs a session of a training in a temporary folder until `stop` is true."""
    actor = Actor(learner.game, learner.config, learner.outcome)
    with tempfile.TemporaryDirectory(prefix="athenan-") as place, StopRequests() as stops:
        folder = RunFolder(Path(place) / "run")
        with folder.locked():
            folder.write_settings(str(learner.game), learner.config)
            session(folder, learner, actor, None, [callback], stop).run()
    if stops.requested:
        raise KeyboardInterrupt
