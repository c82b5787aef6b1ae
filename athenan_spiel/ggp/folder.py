"""Results folder of a general game playing series.

series.json                 every setting, and the version that started it
games/GAME/                 the games (`task`)
report.md, results.csv, results.json
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

from athenan_spiel.arena.results_folder import ResultsFolder
from athenan_spiel.errors import ExperimentError
from athenan_spiel.experiments.plan import slug
from athenan_spiel.ggp.rows import FAILURE, MATCHES, RESULT, RUN, read_row
from athenan_spiel.ggp.settings import GgpSettings

GAMES = "games"


class GgpFolder(ResultsFolder):
    """The results folder of one series.

    Args:
        path: the folder, which need not exist yet.
        settings: settings of the series.
    """

    may_be_link: ClassVar[bool] = True
    has_matches: ClassVar[bool] = False  # each game has a tournament folder

    def __init__(self, path: str | os.PathLike[str], settings: GgpSettings) -> None:
        super().__init__(path, "series", settings.to_json(), ExperimentError)
        self._games = settings.games

    def begin(self) -> None:
        """Write the settings, unless they are already there.

        Raises:
            ExperimentError: as `begun`.
        """
        if self.begun() is None:
            self.write_settings()

    def folder_of(self, game: str) -> Path:
        """Returns the folder of a game, which need not exist yet.

        Raises:
            ExperimentError: a part of the path is a link, or not a folder.
        """
        folder = Path(GAMES, slug(game))
        for name in (RUN, MATCHES):
            self.inside(folder / name)
        return self.inside(folder)

    def rows(self) -> dict[str, dict[str, Any]]:
        """Returns the result or failure of each finished game."""
        found = {game: read_row(self.folder_of(game), game) for game in self._games}
        return {game: row for game, row in found.items() if row is not None}

    def forget_failures(self) -> None:
        """Remove failures, and results without some games against opponents if the training still exists.

        Raises:
            OSError: one cannot be removed.
        """
        for game in self._games:
            folder = self.folder_of(game)
            (folder / FAILURE).unlink(missing_ok=True)
            row = read_row(folder, game)
            if row is not None and row["failed_games"] and (folder / RUN).exists():
                (folder / RESULT).unlink()
