"""Results folder of an experiment: a `ResultsFolder` with trainings.

experiment.toml   a copy of the file
experiment.json   the experiment with every setting, the overrides, and the version that started it
trainings/        the runs with their saved networks (see `training`)
matches.jsonl, report.md, *.csv, *.png
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from typing import Any, ClassVar

from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.arena.results_folder import ResultsFolder
from athenan_spiel.config.converter import SettingError, read_settings, to_plain
from athenan_spiel.errors import ArenaError, ExperimentError, shown
from athenan_spiel.experiments.file import ExperimentFile
from athenan_spiel.experiments.plan import GameResult, Pairing, Plan
from athenan_spiel.experiments.settings import PlayConfig, ProtocolConfig
from athenan_spiel.training.settings_file import config_from_dict, config_to_dict

COPY = "experiment.toml"

GameKey = tuple[Pairing, int, int]
"""The pairing, the number of the opening, and the player id of the pairing's first player."""


class ExperimentFolder(ResultsFolder):
    """The results folder of one experiment.

    Args:
        path: the folder, which need not exist yet.
        file: the experiment's file.
    """

    may_be_link: ClassVar[bool] = True

    def __init__(self, path: str | os.PathLike[str], file: ExperimentFile) -> None:
        settings = file.experiment.to_json()
        super().__init__(path, "experiment", settings, ExperimentError, _with_new_settings, known=[COPY])
        self._experiment_file = file
        self._plan = Plan(file.experiment)
        self._pairings: dict[tuple[str, tuple[str, ...]], Pairing] = {}

    def begin(self) -> None:
        """Write the experiment's settings, unless they are already there.

        Raises:
            ExperimentError: as `begun`.
        """
        if self.begun() is None:
            self.write(COPY, self._experiment_file.text)
            self.write_settings(overrides=self._experiment_file.overrides.given())

    def results(self) -> Iterator[GameResult]:
        """Yields the results of the saved games.

        Raises:
            ExperimentError: a line is not a game of the experiment, or the file cannot be read.
        """
        for (pairing, number, colour), match in self.games(self.key_of):
            forfeit = match.result.forfeit
            failed = forfeit is not None and not forfeit.resigned
            yield GameResult(pairing, number, colour, match.result.points(colour), failed)

    def key_of(self, match: SavedMatch) -> GameKey:
        """Returns the key of a saved game.

        Raises:
            ArenaError: the experiment has no such game.
        """
        if not self._pairings:
            every = itertools.chain(self._plan.pairings(), self._plan.fixed_pairings())
            self._pairings = {(pairing.game, pairing.agents): pairing for pairing in every}
        pairing = self._pairings.get((match.game, match.agents))
        if pairing is None:
            raise ArenaError(f"{shown(list(match.agents))} do not meet at {shown(match.game)} in the experiment")
        if match.number >= (most := self._plan.meeting(pairing).matches // 2):
            raise ArenaError(f"number must be less than {most}, got {match.number}")
        return pairing, match.number, match.colour


def _with_new_settings(stored: Any) -> Any:
    """Returns the content of experiment.json with the defaults of settings that newer versions have added."""
    with contextlib.suppress(
        KeyError, TypeError, AttributeError, ValueError, OverflowError, SettingError
    ):  # a damaged table is compared as it is
        for variant in stored["variants"]:
            variant["training"] = config_to_dict(config_from_dict(variant["training"]))
            variant["play"] = to_plain(read_settings(PlayConfig, variant["play"]))
        stored["protocol"] = to_plain(read_settings(ProtocolConfig, stored["protocol"]))
        if "fixed" in stored and stored["fixed"]["play"] is not None:
            stored["fixed"]["play"] = to_plain(read_settings(PlayConfig, stored["fixed"]["play"]))
    return stored
