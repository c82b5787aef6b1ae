"""Series of matches: two players meet, each random opening being played with both colours, and what came of it.
A game for one player is played by itself.

All that is random in a match comes from the series' seed, its players' and its number, wherever and however many at
once matches are played; so do the results where budgets are in iterations or evaluations (but for the last bits of a
network's values: promise 1 of `driver`). Players that have none of their own for each match play them in turn.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyspiel

from athenan_spiel.arguments import require_callable
from athenan_spiel.errors import AgentError, ConfigError
from athenan_spiel.games import given_game
from athenan_spiel.play.driver import Driver, without_garbage_collection
from athenan_spiel.play.match import MatchResult, OngoingGame
from athenan_spiel.play.openings import series_openings, single_player_openings
from athenan_spiel.play.player import AskingPlayer, PerGamePlayer, Player, player_for, ponders, thinks_by_time

FEWEST_TOGETHER, MOST_TOGETHER = 8, 32
"""Matches that are played side by side in a short and in a long series. A network values the questions of a few matches
together nearly as fast as those of many."""
PARTS = 8
"""Parts, of matches that are played side by side, that a series has at least if it is long enough."""
LARGEST_TREES = 20_000
"""Iterations of a move, or evaluations, over all matches that are played side by side: their trees are in memory."""


@dataclass(frozen=True)
class Tally:
    """Wins, draws and losses of one player."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @property
    def matches(self) -> int:
        """How many matches were counted."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """Share of the points, in [0, 1]: (wins + draws / 2) / matches.

        Raises:
            ZeroDivisionError: no match was counted.
        """
        return (self.wins + 0.5 * self.draws) / self.matches

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)


@dataclass(frozen=True)
class Series:
    """Matches of a contender against an opponent, in the order of their openings, seen from the contender.

    Attributes:
        results: the finished matches.
        colours: in each, the contender's player id; it alternates, as two matches share an opening.
        failures: why matches have no result, such as the death of the process that played it, in their order. They
            count nowhere else.
    """

    results: tuple[MatchResult, ...] = field(default=())
    colours: tuple[int, ...] = field(default=())
    failures: tuple[str, ...] = field(default=())

    def as_player(self, player_id: int) -> Tally:
        """The contender's tally where it was `player_id`."""
        points = [r.points(c) for r, c in zip(self.results, self.colours, strict=True) if c == player_id]
        return Tally(points.count(1.0), points.count(0.5), points.count(0.0))

    @property
    def tally(self) -> Tally:
        """The contender's tally over both colours."""
        return self.as_player(0) + self.as_player(1)

    @property
    def wins(self) -> int:
        """Matches that the contender won."""
        return self.tally.wins

    @property
    def draws(self) -> int:
        """Drawn matches."""
        return self.tally.draws

    @property
    def losses(self) -> int:
        """Matches that the contender lost."""
        return self.tally.losses

    @property
    def points(self) -> float:
        """The contender's share of the points, in [0, 1]."""
        return self.tally.points

    @property
    def cut(self) -> int:
        """Number of matches that the game's length limit ended."""
        return sum(result.cut for result in self.results)

    @property
    def points_by_opening(self) -> dict[tuple[int, ...], list[float]]:
        """The contender's points, match by match, for each opening that was played."""
        groups: dict[tuple[int, ...], list[float]] = {}
        for result, colour in zip(self.results, self.colours, strict=True):
            groups.setdefault(result.opening, []).append(result.points(colour))
        return groups

    def forfeits(self) -> tuple[list[str], list[str]]:
        """The reasons of the matches that the contender forfeited, and of those that the opponent did.

        Matches that were given up are none of them: they are lost as others are.
        """
        found: tuple[list[str], list[str]] = [], []
        for result, colour in zip(self.results, self.colours, strict=True):
            if result.forfeit is not None and not result.forfeit.resigned:
                found[result.forfeit.player_id != colour].append(result.forfeit.reason)
        return found

    @property
    def seconds(self) -> tuple[float, float]:
        """What the contender and the opponent took for all their moves."""
        contender = sum(r.seconds[c] for r, c in zip(self.results, self.colours, strict=True))
        return contender, sum(sum(r.seconds) for r in self.results) - contender


@dataclass(frozen=True)
class Fixture:
    """A match of a series that is to be played.

    Attributes:
        index: among all matches of the series.
        number: among those of its players.
        colour: the contender's player id.
        opening: the actions that it begins with.
    """

    index: int
    number: int
    colour: int
    opening: tuple[int, ...]


class SeriesRecord:
    """Matches of a series that have been played, in whatever order they have ended."""

    def __init__(self) -> None:
        self._matches: list[tuple[int, int, MatchResult]] = []
        self._failures: list[tuple[int, str]] = []

    def add(self, fixture: Fixture, result: MatchResult) -> None:
        """One more."""
        bisect.insort(self._matches, (fixture.index, fixture.colour, result), key=lambda match: match[0])

    def fail(self, fixture: Fixture, reason: str) -> None:
        """One that has no result."""
        bisect.insort(self._failures, (fixture.index, reason))

    def series(self) -> Series:
        """All so far, in the order of their openings."""
        return Series(
            tuple(result for _, _, result in self._matches),
            tuple(colour for _, colour, _ in self._matches),
            tuple(reason for _, reason in self._failures),
        )


Sides = Sequence[Sequence[Player]]
"""For each colour of the contender the two players; of a game for one, the player alone."""


def sides_of(contender: Callable[[int], Player], opponent: Callable[[int], Player]) -> Sides:
    """The players of a series."""
    return [[contender(0), opponent(1)], [opponent(0), contender(1)]]


def sides_by_agent(agents: Sequence[Sequence[Player]]) -> Sides:
    """The sides of a series between two agents, of each its players by their ids; of a game for one, the player."""
    if len(agents) == 1:
        return [agents[0]]
    contender, opponent = agents
    return [[contender[0], opponent[1]], [opponent[0], contender[1]]]


def agents_of(sides: Sides) -> list[Sequence[Player]]:
    """The inverse of `sides_by_agent`."""
    if len(sides) == 1:
        return [sides[0]]
    return [[sides[0][0], sides[1][1]], [sides[1][0], sides[0][1]]]


def fixtures(game: pyspiel.Game, matches: int, opening_plies: int, seed: int) -> list[Fixture]:
    """The matches of a series; see `play_series`.

    Raises:
        ConfigError: as `play_series`.
    """
    return fixtures_of(series_openings(game, matches, opening_plies, seed))


def fixtures_of(openings: Sequence[Sequence[int]]) -> list[Fixture]:
    """The matches of a series that begin with these openings, each with both colours."""
    return [Fixture(2 * i + c, i, c, tuple(opening)) for i, opening in enumerate(openings) for c in (0, 1)]


def single_player_fixtures(game: pyspiel.Game, matches: int, opening_plies: int, seed: int) -> list[Fixture]:
    """The matches of a single player; see `play_single_player`.

    Raises:
        ConfigError: as `play_single_player`.
    """
    openings = single_player_openings(game, matches, opening_plies, seed)
    return [Fixture(i, i, 0, opening) for i, opening in enumerate(openings)]


def is_timed(sides: Sides) -> bool:
    """Whether a player's thinking is limited by seconds, which are longer where several think at once."""
    return any(thinks_by_time(player) for side in sides for player in side)


def parts(sides: Sides, matches: Sequence[Fixture], most: int | None = None) -> list[Sequence[Fixture]]:
    """The matches in parts, each of such as are to be played side by side.

    They depend on nothing but the series, so the batches of a network are the same wherever a part is played.

    Args:
        most: matches in a part, if it is not to have as many as gain by it.
    """
    count = _together(sides, len(matches))
    if most is not None:
        count = min(count, most)
    return [matches[start : start + count] for start in range(0, len(matches), count)]


def _together(sides: Sides, matches: int) -> int:
    """How many matches gain by being played side by side: those that ask questions, and have all the time they need."""
    players = [player for side in sides for player in side]
    asking = [player for player in players if isinstance(player, AskingPlayer)]
    if (
        not asking
        or is_timed(sides)
        or any(map(ponders, players))
        or not all(isinstance(player, PerGamePlayer) for player in players)
    ):
        return 1
    largest = max(max(player.budget.iterations or 0, player.budget.evaluations or 0) for player in asking)
    by_matches = min(MOST_TOGETHER, max(FEWEST_TOGETHER, -(-matches // PARTS)))
    return max(1, min(by_matches, LARGEST_TREES // largest))


def play_together(
    game: pyspiel.Game,
    sides: Sides,
    matches: Sequence[Fixture],
    on_result: Callable[[Fixture, MatchResult], None],
    *,
    forfeits: bool,
    on_step: Callable[[], None] = lambda: None,
) -> None:
    """Play these matches side by side.

    Args:
        forfeits: as for `play_series`.
        on_result: called with each match that has ended, as it ends.
        on_step: called after each batch of evaluations, and each move that needs none.

    Raises:
        AgentError: as `play_series`.
    """
    with without_garbage_collection():
        driver = Driver([_match(game, sides, fixture, forfeits=forfeits) for fixture in matches])
        try:
            while driver.advance():
                on_step()
                _tell(driver, matches, on_result)
        finally:
            _tell(driver, matches, on_result)


def _match(game: pyspiel.Game, sides: Sides, fixture: Fixture, *, forfeits: bool) -> OngoingGame:
    players = [player_for(player, fixture.number) for player in sides[fixture.colour]]
    return OngoingGame(game, players, fixture.opening, forfeits=forfeits)


def _tell(
    driver: Driver[MatchResult], matches: Sequence[Fixture], on_result: Callable[[Fixture, MatchResult], None]
) -> None:
    for index, result in driver.take_all():
        on_result(matches[index], result)


def play_series(
    game: pyspiel.Game | str,
    contender: Callable[[int], Player],
    opponent: Callable[[int], Player],
    matches: int,
    *,
    opening_plies: int = 2,
    seed: int = 0,
    forfeits: bool = False,
    on_match: Callable[[Series], None] | None = None,
) -> Series:
    """Play `matches` matches, half with each colour: every random opening is played twice, colours exchanged.

    Matches between agents with budgets in iterations or evaluations are played side by side.

    Args:
        game: the game, or its string.
        contender, opponent: given a player id, make the player of that colour; each is asked once for each colour.
        matches: how many, an even number.
        opening_plies: length of an opening in pyspiel actions (where a turn is several actions, in these).
        seed: of the openings; the players have their own.
        forfeits: a player that chooses no legal action, or raises any other error, loses that match, and the series
            goes on; else the error ends it.
        on_match: called after each match with the series so far.

    Returns:
        The matches, seen from the contender.

    Raises:
        UnsupportedGameError: the game is none, or outside what the algorithms assume.
        ConfigError: the game is for one player, `matches` is not even and at least 2, there are too many, or
            there is no opening of that length; another number is none.
        AgentError: a player chose an action that is not legal, and this costs it more than the match; or what makes
            players is no function.
    """
    game = given_game(game)
    require_callable("contender", contender, AgentError)
    require_callable("opponent", opponent, AgentError)
    require_callable("on_match", on_match, ConfigError, or_none=True)
    planned = fixtures(game, matches, opening_plies, seed)
    sides = sides_of(contender, opponent)
    played = SeriesRecord()

    def on_result(fixture: Fixture, result: MatchResult) -> None:
        played.add(fixture, result)
        if on_match is not None:
            on_match(played.series())

    for part in parts(sides, planned):
        play_together(game, sides, part, on_result, forfeits=forfeits)
    return played.series()


def play_single_player(
    game: pyspiel.Game,
    player: Player,
    matches: int,
    *,
    opening_plies: int = 0,
    seed: int = 0,
    on_match: Callable[[MatchResult], None] | None = None,
) -> tuple[MatchResult, ...]:
    """Play `matches` matches of a game for one player, whose score is the match's return.

    Args:
        player: the same in all matches, so matches differ only by what is random in it, or by their openings.
        opening_plies, seed: each match begins with this many random actions.
        on_match: called with each finished match.

    Raises:
        ConfigError: the game is for two, `matches` is not at least 1, or there is no opening of that length.
        AgentError: the player chose an action that is not legal.
    """
    planned = single_player_fixtures(game, matches, opening_plies, seed)
    sides = [[player]]
    played = SeriesRecord()

    def on_result(fixture: Fixture, result: MatchResult) -> None:
        played.add(fixture, result)
        if on_match is not None:
            on_match(result)

    for part in parts(sides, planned):
        play_together(game, sides, part, on_result, forfeits=False)
    return played.series().results
