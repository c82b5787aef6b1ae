"""Counts how the games of a session ended, and notices that none of them was won.

Where each game is a draw, the targets hardly tell positions apart, and little is learned. Often the limit on the length
of a game is the reason.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import pyspiel

from athenan_spiel.games.facts import longest_match
from athenan_spiel.training.events import Event, MatchFinished, NothingDecided, RolledBack

ENOUGH_GAMES = 8
"""Number of games without a winner after which a session warns."""
ENOUGH_AT_END = 2
"""The same at the end of a session."""
LONGER = 5
"""Suggested limit on the length of a game, divided by the present one."""
OWN_OUTCOME = "write an --outcome that tells draws apart (docs/heuristics.md)"


def is_decisive(event: MatchFinished) -> bool:
    """Whether the game was won, or has a score because it has a single player."""
    return len(event.returns) == 1 or len(set(event.returns)) > 1


def decisive_share(games: Sequence[MatchFinished]) -> float:
    """Share of the games that were won; there must be a game."""
    return sum(map(is_decisive, games)) / len(games)


def cut_off_share(games: Sequence[MatchFinished]) -> float:
    """Share of the games that the limit on their length cut off; there must be a game."""
    return sum(game.cut_off for game in games) / len(games)


class DecisiveGames:
    """A callback that counts the games of a session.

    Args:
        game: the run's game.
    """

    def __init__(self, game: pyspiel.Game) -> None:
        self._game = game
        self._games = self._decisive = self._cut_off = 0
        self._matches = 0
        self._told = False

    def __call__(self, event: Event) -> None:
        """Take note of `event`."""
        if isinstance(event, RolledBack):
            self._games = self._decisive = self._cut_off = 0
        if isinstance(event, MatchFinished):
            self._matches = event.matches
            self._games += 1
            self._decisive += is_decisive(event)
            self._cut_off += event.cut_off

    def warning(self, *, at_end: bool = False) -> NothingDecided | None:
        """The warning, once, if there are enough games and none of them was won."""
        enough = ENOUGH_AT_END if at_end else ENOUGH_GAMES
        if self._told or self._decisive or self._games < enough:
            return None
        self._told = True
        share = self._cut_off / self._games
        return NothingDecided(
            matches=self._matches,
            games=self._games,
            cut_off_share=share,
            length_limit=longest_match(self._game) if share else None,
            advice=self._advice(share),
        )

    def _advice(self, cut_off_share: float) -> str:
        """What to change: all built-in outcomes give each draw the value 0."""
        if cut_off_share < 0.5 or "max_length" not in self._game.get_type().parameter_specification:
            return f"give more --time, or {OWN_OUTCOME}"
        longer = _with_limit(str(self._game), LONGER * longest_match(self._game))
        return f"raise the limit with athenan train {shlex.quote(longer)}, or {OWN_OUTCOME}"


def _with_limit(game: str, limit: int) -> str:
    """The string of a game with another `max_length`."""
    text, count = re.subn(r"\bmax_length=\d+", f"max_length={limit}", game)
    if count:
        return text
    return f"{game[:-1]},max_length={limit})" if game.endswith(")") else f"{game}(max_length={limit})"
