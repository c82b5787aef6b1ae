"""Series of games: two players play each random opening with both colours; one player plays a single-player game.

The random choices in a game depend only on the seed of the series, the seeds of its players and the game's index. They
don't depend on the process that plays it or on the number of concurrent games. With budgets in iterations or
evaluations the same holds for the results, except for the last bits of a network's values (guarantee 1 of `driver`).
This needs players that are all `PerGamePlayer`s. With other players the games are played one after another.
"""

from __future__ import annotations

import bisect
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import pyspiel

from athenan_spiel.arguments import require_callable
from athenan_spiel.errors import AgentError, ConfigError
from athenan_spiel.games import given_game
from athenan_spiel.games.chance import has_chance
from athenan_spiel.play.driver import Driver, without_garbage_collection
from athenan_spiel.play.intervals import Interval, elo_difference, share_interval
from athenan_spiel.play.match import MatchResult, OngoingGame
from athenan_spiel.play.openings import games_per_opening, series_openings, single_player_openings
from athenan_spiel.play.player import AskingPlayer, PerGamePlayer, Player, player_for, ponders, thinks_by_time

MIN_CONCURRENT_GAMES, MAX_CONCURRENT_GAMES = 8, 32
"""Number of concurrent games in a short and in a long series. A network evaluates the requests of a few games nearly as
fast as those of many."""
MIN_PARTS = 8
"""Minimum number of parts of a long series, each with its concurrent games."""
MAX_CONCURRENT_BUDGET = 20_000
"""Maximum iterations or evaluations per move, summed over the concurrent games, since all their trees are in memory."""


@dataclass(frozen=True)
class Tally:
    """Wins, draws and losses of one player."""

    wins: int = 0
    draws: int = 0
    losses: int = 0

    @classmethod
    def of(cls, points: Iterable[float]) -> Tally:
        """Returns the tally of games with these points: 1, 1/2 or 0 each."""
        values = list(points)
        return cls(values.count(1.0), values.count(0.5), values.count(0.0))

    @property
    def matches(self) -> int:
        """Number of games."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """Share of the points, in [0, 1]: (wins + draws / 2) / matches.

        Raises:
            ZeroDivisionError: there are no games.
        """
        return (self.wins + 0.5 * self.draws) / self.matches

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.wins + other.wins, self.draws + other.draws, self.losses + other.losses)


@dataclass(frozen=True)
class Series:
    """Games of a contender against an opponent, in the order of their openings, from the contender's view.

    Attributes:
        results: results of the finished games.
        colours: colour of the contender in each of these games (`Fixture.colour`). In games for two it is its player
            id, and alternates, since two games share an opening.
        failures: reasons of games without a result, such as the end of the process that played it, in order. No other
            attribute counts these games.
        dice: seed of the outcomes of chance in each of the finished games; empty if all are 0.
    """

    results: tuple[MatchResult, ...] = field(default=())
    colours: tuple[int, ...] = field(default=())
    failures: tuple[str, ...] = field(default=())
    dice: tuple[int, ...] = field(default=())

    def as_player(self, player_id: int) -> Tally:
        """Returns the contender's tally of the games of the colour `player_id`."""
        return Tally.of(points_of(r, c) for r, c in zip(self.results, self.colours, strict=True) if c == player_id)

    @property
    def tally(self) -> Tally:
        """Tally of the contender in all games."""
        return Tally.of(points_of(r, c) for r, c in zip(self.results, self.colours, strict=True))

    @property
    def wins(self) -> int:
        """Number of games that the contender won."""
        return self.tally.wins

    @property
    def draws(self) -> int:
        """Number of drawn games."""
        return self.tally.draws

    @property
    def losses(self) -> int:
        """Number of games that the contender lost."""
        return self.tally.losses

    @property
    def points(self) -> float:
        """Share of the points of the contender, in [0, 1]."""
        return self.tally.points

    @property
    def cut(self) -> int:
        """Number of games that the game's length limit ended."""
        return sum(result.cut for result in self.results)

    @property
    def points_by_opening(self) -> dict[tuple[int, ...], list[float]]:
        """Points of the contender in each game of each opening; with chance, of each opening followed by its dice."""
        groups: dict[tuple[int, ...], list[float]] = {}
        dice: list[tuple[int, ...]] = [(seed,) for seed in self.dice] or [()] * len(self.results)
        for result, colour, seed in zip(self.results, self.colours, dice, strict=True):
            groups.setdefault((*result.opening, *seed), []).append(points_of(result, colour))
        return groups

    def interval(self, confidence: float = 0.95) -> Interval:
        """Returns the contender's share of the points with its interval (`intervals.share_interval`).

        Args:
            confidence: probability that the interval contains the true share, between 0 and 1.

        Raises:
            ConfigError: the series is empty, or `confidence` is not between 0 and 1.
        """
        return share_interval(self.points_by_opening.values(), confidence)

    def elo(self, confidence: float = 0.95) -> Interval:
        """Returns the Elo difference between the contender and the opponent with its interval.

        It is infinite if one of them won all games.

        Raises:
            ConfigError: as `interval`.
        """
        return self.interval(confidence).mapped(elo_difference)

    def forfeits(self) -> tuple[list[str], list[str]]:
        """Returns the reasons of the contender's forfeits and those of the opponent's. Resignations are left out."""
        found: tuple[list[str], list[str]] = [], []
        for result, colour in zip(self.results, self.colours, strict=True):
            if result.forfeit is not None and not result.forfeit.resigned:
                is_ours = result.forfeit.player_id in seats_of(colour, len(result.returns))
                found[not is_ours].append(result.forfeit.reason)
        return found

    @property
    def seconds(self) -> tuple[float, float]:
        """Time of the contender and time of the opponent for all their moves, in seconds."""
        games = zip(self.results, self.colours, strict=True)
        contender = sum(r.seconds[seat] for r, c in games for seat in seats_of(c, len(r.seconds)))
        return contender, sum(sum(r.seconds) for r in self.results) - contender


@dataclass(frozen=True)
class Fixture:
    """A game of a series that is to be played.

    Attributes:
        index: index among all games of the series.
        number: index among the games with the same colours, for `PerGamePlayer.for_game`.
        colour: the contender's player id. With n > 2 players, numbers below n are the player id of the contender
            against n - 1 copies of the opponent; n more than that is the player id of the opponent against n - 1
            copies of the contender.
        opening: first actions.
        dice: random seed of the outcomes of chance; 0 in a game without chance. Both games of an opening have the same.
    """

    index: int
    number: int
    colour: int
    opening: tuple[int, ...]
    dice: int = 0


class SeriesRecord:
    """Collects the results of a series' games, which may end in any order."""

    def __init__(self) -> None:
        self._games: list[tuple[Fixture, MatchResult]] = []
        self._failures: list[tuple[int, str]] = []

    def add(self, fixture: Fixture, result: MatchResult) -> None:
        """Adds the result of a game."""
        bisect.insort(self._games, (fixture, result), key=lambda game: game[0].index)

    def fail(self, fixture: Fixture, reason: str) -> None:
        """Adds a game without a result."""
        bisect.insort(self._failures, (fixture.index, reason))

    def series(self) -> Series:
        """Returns the series so far, in the order of the openings."""
        dice = tuple(fixture.dice for fixture, _ in self._games)
        return Series(
            tuple(result for _, result in self._games),
            tuple(fixture.colour for fixture, _ in self._games),
            tuple(reason for _, reason in self._failures),
            dice if any(dice) else (),
        )


Sides = Sequence[Sequence[Player]]
"""Players of a game, for each colour (`Fixture`): 2 x 2 players, 2n x n for n > 2, `[[player]]` for one player."""


def sides_of(contender: Callable[[int], Player], opponent: Callable[[int], Player], players: int = 2) -> Sides:
    """Returns the sides of a series; `contender` and `opponent` make the player for a player id."""
    return sides_by_agent([list(map(one, range(players))) for one in (contender, opponent)])


def sides_by_agent(agents: Sequence[Sequence[Player]]) -> Sides:
    """Returns the sides of a series, from the players of each agent by player id."""
    if len(agents) == 1:
        return [agents[0]]
    contender, opponent = agents
    sides = _each_seat(contender, opponent)
    return sides if len(contender) == 2 else sides + _each_seat(opponent, contender)


def _each_seat(one: Sequence[Player], others: Sequence[Player]) -> list[list[Player]]:
    """Returns the players of games in which an agent plays against copies of another one, for each of its seats."""
    seats = range(len(one))
    return [[one[j] if j == i else others[j] for j in seats] for i in seats]


def agents_of(sides: Sides) -> list[Sequence[Player]]:
    """Returns the players of each agent by player id; the inverse of `sides_by_agent`."""
    if len(sides) == 1:
        return [sides[0]]
    seats = range(len(sides[0]))
    return [[sides[i][i] for i in seats], [sides[(i - 1) % len(seats)][i] for i in seats]]


def seats_of(colour: int, players: int) -> tuple[int, ...]:
    """Returns the contender's player ids in a game of this colour."""
    if colour < players:
        return (colour,)
    return tuple(seat for seat in range(players) if seat != colour - players)


def points_of(result: MatchResult, colour: int) -> float:
    """Returns the contender's points in a game of this colour: those of all its seats (`MatchResult.points`)."""
    return result.points(*seats_of(colour, len(result.returns)))


def fixtures(game: pyspiel.Game, matches: int, opening_plies: int, seed: int) -> list[Fixture]:
    """Returns the games of a series; see `play_series`.

    Raises:
        ConfigError: as `play_series`.
    """
    return fixtures_of(game, series_openings(game, matches, opening_plies, seed), seed)


def fixtures_of(game: pyspiel.Game, openings: Sequence[Sequence[int]], seed: int) -> list[Fixture]:
    """Returns the games of a series with these openings, each with both colours and with the same dice.

    Args:
        seed: random seed of the dice.
    """
    dice, each = _dice_seeds(game, seed, len(openings)), games_per_opening(game)
    return [
        Fixture(each * i + colour, i, colour, tuple(opening), dice[i])
        for i, opening in enumerate(openings)
        for colour in range(each)
    ]


def _dice_seeds(game: pyspiel.Game, seed: int, count: int) -> list[int]:
    if not has_chance(game):
        return [0] * count
    rng = random.Random(f"dice of {int(seed)}")
    return [1 + rng.getrandbits(62) for _ in range(count)]


def single_player_fixtures(game: pyspiel.Game, matches: int, opening_plies: int, seed: int) -> list[Fixture]:
    """Returns the games of a single player; see `play_single_player`.

    Raises:
        ConfigError: as `play_single_player`.
    """
    openings = single_player_openings(game, matches, opening_plies, seed)
    dice = _dice_seeds(game, seed, len(openings))
    return [Fixture(i, i, 0, opening, dice[i]) for i, opening in enumerate(openings)]


def is_timed(sides: Sides) -> bool:
    """Returns whether any player's thinking is limited in time."""
    return any(thinks_by_time(player) for side in sides for player in side)


def parts(sides: Sides, matches: Sequence[Fixture], most: int | None = None) -> list[Sequence[Fixture]]:
    """Returns the games in parts. The games of a part are played concurrently.

    The parts depend only on the series, so the batches of a network are the same in every process.

    Args:
        sides: players of the series.
        matches: games of the series.
        most: maximum number of games in a part; None for no other limit.
    """
    count = _concurrent_games(sides, len(matches))
    if most is not None:
        count = min(count, most)
    return [matches[start : start + count] for start in range(0, len(matches), count)]


def _concurrent_games(sides: Sides, matches: int) -> int:
    """Returns the number of concurrent games: 1 unless a driver can batch requests and no player depends on time."""
    players = [player for side in sides for player in side]
    searching = [player for player in players if isinstance(player, AskingPlayer)]
    if (
        not searching
        or is_timed(sides)
        or any(map(ponders, players))
        or not all(isinstance(player, PerGamePlayer) for player in players)
    ):
        return 1
    largest = max(max(player.budget.iterations or 0, player.budget.evaluations or 0) for player in searching)
    by_matches = min(MAX_CONCURRENT_GAMES, max(MIN_CONCURRENT_GAMES, -(-matches // MIN_PARTS)))
    return max(1, min(by_matches, MAX_CONCURRENT_BUDGET // largest))


def play_together(
    game: pyspiel.Game,
    sides: Sides,
    matches: Sequence[Fixture],
    on_result: Callable[[Fixture, MatchResult], None],
    *,
    forfeits: bool,
    on_step: Callable[[], None] = lambda: None,
) -> None:
    """Plays games of a series concurrently.

    Args:
        game: game to play.
        sides: players of the series.
        matches: games to play.
        on_result: called with each game and its result when it ends.
        forfeits: as for `play_series`.
        on_step: called after each step of the driver: a batch of evaluations, or moves that need none.

    Raises:
        AgentError: as `play_series`.
    """
    with without_garbage_collection():
        driver = Driver([_new_game(game, sides, fixture, forfeits=forfeits) for fixture in matches])
        try:
            while driver.advance():
                on_step()
                _report(driver, matches, on_result)
        finally:
            _report(driver, matches, on_result)


def _new_game(game: pyspiel.Game, sides: Sides, fixture: Fixture, *, forfeits: bool) -> OngoingGame:
    players = [player_for(player, fixture.number) for player in sides[fixture.colour]]
    return OngoingGame(game, players, fixture.opening, forfeits=forfeits, seed=fixture.dice)


def _report(
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
    """Plays `matches` games, half with each colour: every random opening is played twice, with the colours swapped.

    Games between agents with budgets in iterations or evaluations run concurrently.

    Args:
        game: game or game string.
        contender, opponent: functions that make the player for a player id; called once per colour.
        matches: number of games: even for two players, a multiple of 2n for n.
        opening_plies: length of an opening in actions of players, also if a turn consists of several actions.
        seed: random seed of the openings and of the outcomes of chance. The players have their own seeds.
        forfeits: whether an illegal action or any other error of a player makes it lose the game. False raises the
            error and ends the series.
        on_match: called after each game with the series so far.

    Returns:
        The games, from the contender's view.

    Raises:
        UnsupportedGameError: the game is invalid, or violates an assumption of the algorithms.
        ConfigError: the game is for one player; `matches` is no multiple of the games of an opening, or too large;
            there is no opening of that length; or an argument has the wrong type.
        AgentError: without `forfeits`, a player chose an illegal action or lost on time; or `contender` or `opponent`
            is not callable.
    """
    game = given_game(game)
    require_callable("contender", contender, AgentError)
    require_callable("opponent", opponent, AgentError)
    require_callable("on_match", on_match, ConfigError, or_none=True)
    planned = fixtures(game, matches, opening_plies, seed)
    sides = sides_of(contender, opponent, game.num_players())
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
    """Plays `matches` games of a game for one player. The score of a game is its return.

    Args:
        game: game to play.
        player: player of all games. They differ only by its random choices and by their openings.
        matches: number of games.
        opening_plies: number of random actions at the start of each game.
        seed: random seed of the openings and of the outcomes of chance.
        on_match: called with the result of each game.

    Returns:
        Results of the games, in order.

    Raises:
        ConfigError: the game is not for one player, `matches` is less than 1, or there is no opening of that length.
        AgentError: the player chose an illegal action or lost on time.
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
