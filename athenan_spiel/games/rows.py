"""Number of values of a state: one, for player 0, or a row with one value for each player.

In a zero-sum game for two players, and in a game for one, the value for player 0 says everything. In all other games,
with more players or a sum that varies, a value is a row of n numbers, and the player to move prefers the row that is
best for itself. `rows_of` alone decides which.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pyspiel

from athenan_spiel.errors import SearchError
from athenan_spiel.games.chance import has_chance
from athenan_spiel.games.facts import facts_of

ZERO_SUM = pyspiel.GameType.Utility.ZERO_SUM


@dataclass(frozen=True)
class Rows:
    """Range of the rows of a game.

    Attributes:
        players: number of players n, the length of a row.
        lowest, highest: smallest and largest return of a player.
    """

    players: int
    lowest: float
    highest: float

    @property
    def bound(self) -> float:
        """Largest absolute return, above zero."""
        return max(abs(self.lowest), abs(self.highest)) or 1.0

    def gains(self, state: pyspiel.State) -> tuple[float, ...]:
        """Return the gain of each player in a terminal state: its return divided by `bound`, in [-1, 1]."""
        bound = self.bound
        return tuple(returned / bound for returned in state.returns())

    def completion(self, gain: float) -> float:
        """Return the position of a player's gain between its worst (-1) and its best possible one (1)."""
        returned, span = gain * self.bound, self.highest - self.lowest
        if returned >= self.highest:
            return 1.0
        if returned <= self.lowest:
            return -1.0
        return (2 * returned - self.lowest - self.highest) / span


def rows_of(game: pyspiel.Game) -> Rows | None:
    """Return the range of the rows of `game`; None if its values are single numbers.

    A hand-made game without a type has rows if it has more than two players.
    """
    players = game.num_players() if hasattr(game, "num_players") else 2
    zero_sum = not hasattr(game, "get_type") or game.get_type().utility == ZERO_SUM
    if players == 1 or (players == 2 and zero_sum):
        return None
    name = getattr(game.get_type(), "short_name", "") if hasattr(game, "get_type") else ""  # a hand-made game has none
    bounds = facts_of(name).return_bounds
    return Rows(players, *((game.min_utility(), game.max_utility()) if bounds is None else bounds(game)))


def values_of(game: pyspiel.Game) -> int:
    """Return the number of values of a state of `game`: 1, or the length of its rows."""
    rows = rows_of(game)
    return 1 if rows is None else rows.players


def require_single_values(game: pyspiel.Game, what: str) -> None:
    """Raise `SearchError` if the values of `game` are rows, which `what` does not support."""
    if rows_of(game) is not None:
        raise SearchError(
            f"{what} is for games whose values are single numbers: one player, or two and a zero sum; got "
            f"{str(game)!r}: use descent, ubfm or a Monte-Carlo search"
        )


def winners_of(returns: Sequence[float]) -> tuple[int, ...]:
    """Return the players with the best return; none in a draw, in which all returns are equal."""
    best = max(returns)
    return () if min(returns) == best else tuple(player for player, gain in enumerate(returns) if gain == best)


def is_proven_draw(state: pyspiel.State, gains: Sequence[float]) -> bool:
    """Return whether gains that are proven in `state`, of player 0 or of all players, are a draw.

    In a game with chance they may be an expectation, so the answer is False. A hand-made state has no chance.
    """
    by_chance = hasattr(state, "get_game") and has_chance(state.get_game())
    return not by_chance and (gains[0] == 0 if len(gains) == 1 else min(gains) == max(gains))


def has_bounds(game: pyspiel.Game) -> bool:
    """Return whether the returns of a game with rows are bounded, or the game has no rows."""
    rows = rows_of(game)
    return rows is None or math.isfinite(rows.bound)
