"""Results folder of a tournament: a `ResultsFolder` whose tournament.json also contains the openings.

A saved game counts only if it replays without an error.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from athenan_spiel.arena.opening_sets import OpeningSet
from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.arena.results_folder import ResultsFolder
from athenan_spiel.arena.tournament_settings import Tournament
from athenan_spiel.errors import ArenaError, shown
from athenan_spiel.games.playout import is_cut
from athenan_spiel.system.differences import plain

MatchKey = tuple[str, str, str, int, int]
"""The game, contender and opponent, the opening's number and the colour (`Fixture`)."""


def key_of(match: SavedMatch, pairs: Collection[tuple[str, str]] | None = None) -> MatchKey:
    """Returns the key of a game of the tournament with these pairs (`SavedMatch.pairing`).

    Raises:
        ArenaError: the players do not meet in the tournament.
    """
    if (pairing := match.pairing(pairs)) is None:
        raise ArenaError(f"{shown(list(match.agents))} do not meet in the tournament")
    contender, opponent, colour = pairing
    return match.game, contender, opponent, match.number, colour


class TournamentFolder(ResultsFolder):
    """The results folder of one tournament.

    Args:
        path: the folder, which need not exist yet.
        tournament: the tournament.
        checkpoints: checkpoints of agents that are runs, by name.
        counts: number of openings of each game.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        tournament: Tournament,
        checkpoints: Mapping[str, str],
        counts: Mapping[str, int],
    ) -> None:
        super().__init__(path, "tournament", {**tournament.to_json(), "checkpoints": dict(checkpoints)})
        self._tournament = tournament
        self._pairs = set(tournament.pairs())
        self._counts = counts

    def openings(self) -> dict[str, OpeningSet] | None:
        """Returns the openings of each game that were chosen at the start; None in a new folder.

        Raises:
            ArenaError: the folder belongs to another tournament, contains other files, or cannot be read.
        """
        table = self.begun()
        if table is None:
            return None
        try:
            return {game: _opening_set(table["openings"][game], count) for game, count in self._counts.items()}
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
            key = self._own_key(match, openings)
            cut = is_cut(match.require_true())
            return key

        for _, match in self.games(own):
            yield match.as_cut(cut)

    def _own_key(self, match: SavedMatch, openings: Mapping[str, OpeningSet]) -> MatchKey:
        """Returns the key of a game; raises `ArenaError` unless it belongs to the tournament."""
        if match.game not in openings:
            raise ArenaError(f"the tournament has no game {shown(match.game)}")
        key = key_of(match, self._pairs)
        chosen = openings[match.game].openings
        if match.number >= len(chosen) or match.result.opening != tuple(chosen[match.number]):
            raise ArenaError(f"opening {match.number} differs from the tournament's")
        if match.seed != self._tournament.seed:
            raise ArenaError(f"expected the seed {self._tournament.seed}, got {match.seed}")
        return key


def _opening_set(table: Any, count: int) -> OpeningSet:
    """Returns the `count` openings of a saved table.

    Raises:
        ValueError, KeyError, TypeError: they are damaged.
    """
    openings = tuple(tuple(opening) for opening in table["openings"])
    if len(openings) != count or any(type(x) is not int for opening in openings for x in opening):
        raise ValueError(f"expected {count} openings of whole numbers, got {shown(openings)}")
    return OpeningSet(openings, plain(table["told"]))
