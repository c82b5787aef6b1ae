"""Counts the results of a session's games, and warns if all were draws.

If every game is a draw, the targets of all states are nearly equal, so little is learned. A common cause is the limit
on the length of a game.
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
"""Number of games without a winner after which the end of a session warns."""
LENGTH_FACTOR = 5
"""Suggested limit on the length of a game, divided by the current limit."""
OWN_OUTCOME = "write an --outcome that tells draws apart (docs/heuristics.md)"
"""Advice to use a custom outcome, as all built-in ones give each draw the value 0."""


def is_decisive(event: MatchFinished) -> bool:
    """Whether the game was won. A game for one player counts as won."""
    return len(event.returns) == 1 or len(set(event.returns)) > 1


def decisive_share(games: Sequence[MatchFinished]) -> float:
    """Returns the fraction of games that were won. `games` must not be empty."""
    return sum(map(is_decisive, games)) / len(games)


def cut_off_share(games: Sequence[MatchFinished]) -> float:
    """Returns the fraction of games that the limit on their length ended. `games` must not be empty."""
    return sum(game.cut_off for game in games) / len(games)


class DecisiveGames:
    """A callback that counts the results of a session's games.

    Args:
        game: the run's game.
    """

    def __init__(self, game: pyspiel.Game) -> None:
        self._game = game
        self._games = self._decisive = self._cut_off = 0
        self._matches = 0
        self._has_warned = False

    def __call__(self, event: Event) -> None:
        """Count `event` if it is the end of a game; start again at 0 after a rollback."""
        if isinstance(event, RolledBack):
            self._games = self._decisive = self._cut_off = 0
        if isinstance(event, MatchFinished):
            self._matches = event.matches
            self._games += 1
            self._decisive += is_decisive(event)
            self._cut_off += event.cut_off

    def warning(self, *, at_end: bool = False) -> NothingDecided | None:
        """Returns the warning if enough games were played and none was won; None if not, or after the first warning.

        Args:
            at_end: whether the session ends, so that `ENOUGH_AT_END` games suffice.
        """
        enough = ENOUGH_AT_END if at_end else ENOUGH_GAMES
        if self._has_warned or self._decisive or self._games < enough:
            return None
        self._has_warned = True
        share = self._cut_off / self._games
        return NothingDecided(
            matches=self._matches,
            games=self._games,
            cut_off_share=share,
            length_limit=longest_match(self._game) if share else None,
            advice=self._advice(share),
        )

    def _advice(self, cut_off_share: float) -> str:
        """Returns a suggestion of what to change."""
        if cut_off_share < 0.5 or "max_length" not in self._game.get_type().parameter_specification:
            return f"give more --time, or {OWN_OUTCOME}"
        longer = _with_limit(str(self._game), LENGTH_FACTOR * longest_match(self._game))
        return f"raise the limit with athenan train {shlex.quote(longer)}, or {OWN_OUTCOME}"


def _with_limit(game: str, limit: int) -> str:
    """Returns the game string with another `max_length`."""
    text, count = re.subn(r"\bmax_length=\d+", f"max_length={limit}", game)
    if count:
        return text
    return f"{game[:-1]},max_length={limit})" if game.endswith(")") else f"{game}(max_length={limit})"
