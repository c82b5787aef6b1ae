"""Results folder of a tournament: a `ResultsFolder` whose tournament.json also contains the openings.

A saved game counts only if it replays without an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from athenan_spiel.arena.opening_sets import OpeningSet
from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.arena.results_folder import ResultsFolder
from athenan_spiel.arena.tournament_settings import Tournament
from athenan_spiel.errors import ArenaError, shown
from athenan_spiel.games.playout import is_cut
from athenan_spiel.system.differences import plain

MatchKey = tuple[str, str, str, int, int]
"""The game, contender and opponent, the opening's number and the contender's player id."""


def key_of(match: SavedMatch) -> MatchKey:
    """Returns the key of a tournament's game."""
    contender, opponent = match.agents
    return match.game, contender, opponent, match.number, match.colour


class TournamentFolder(ResultsFolder):
    """The results folder of one tournament.

    Args:
        path: the folder, which need not exist yet.
        tournament: the tournament.
        checkpoints: checkpoints of agents that are runs, by name.
    """

    def __init__(self, path: str | os.PathLike[str], tournament: Tournament, checkpoints: Mapping[str, str]) -> None:
        super().__init__(path, "tournament", {**tournament.to_json(), "checkpoints": dict(checkpoints)})
        self._tournament = tournament
        self._pairs = set(tournament.pairs())

    def openings(self) -> dict[str, OpeningSet] | None:
        """Returns the openings of each game that were chosen at the start; None in a new folder.

        Raises:
            ArenaError: the folder belongs to another tournament, contains other files, or cannot be read.
        """
        table = self.begun()
        if table is None:
            return None
        try:
            return {game: _opening_set(table["openings"][game], self._tournament) for game in self._tournament.games}
        except (ValueError, KeyError, TypeError) as error:
            raise self.not_understood(error) from None

    def begin(self, openings: Mapping[str, OpeningSet]) -> None:
        """Write the tournament's settings and openings."""
        self.write_settings(openings={game: vars(one) for game, one in openings.items()})

    def matches(self, openings: Mapping[str, OpeningSet]) -> Iterator[SavedMatch]:
        """Yields the saved games.

        Raises:
            ArenaError: a line is not a game of the tournament, does not replay, or repeats a game; or the file is
                missing or cannot be read.
        """
        cut = False

        def own(match: SavedMatch) -> MatchKey:
            nonlocal cut
            self._require_own(match, openings)
            cut = is_cut(match.require_true())
            return key_of(match)

        for _, match in self.games(own):
            yield match.as_cut(cut)

    def _require_own(self, match: SavedMatch, openings: Mapping[str, OpeningSet]) -> None:
        """Raise `ArenaError` unless the game belongs to the tournament."""
        if match.game not in openings:
            raise ArenaError(f"the tournament has no game {shown(match.game)}")
        if match.agents not in self._pairs:
            raise ArenaError(f"{shown(list(match.agents))} do not meet in the tournament")
        chosen = openings[match.game].openings
        if match.number >= len(chosen) or match.result.opening != tuple(chosen[match.number]):
            raise ArenaError(f"opening {match.number} differs from the tournament's")
        if match.seed != self._tournament.seed:
            raise ArenaError(f"expected the seed {self._tournament.seed}, got {match.seed}")


def _opening_set(table: Any, tournament: Tournament) -> OpeningSet:
    """Returns the openings of a saved table.

    Raises:
        ValueError, KeyError, TypeError: they are damaged.
    """
    openings = tuple(tuple(opening) for opening in table["openings"])
    if len(openings) != tournament.matches // 2 or any(type(x) is not int for opening in openings for x in opening):
        raise ValueError(f"expected {tournament.matches // 2} openings of whole numbers, got {shown(openings)}")
    return OpeningSet(openings, plain(table["told"]))
