"""Results of a tournament: for each agent, each pair, and over all games.

1. An agent's points at a game are its share of the points in all its games, with Wilson's interval and the clusters
   (opponent, opening).
2. Its rating is that of `ratings`, with the same clusters.
3. For each pair: wins, draws, losses, the interval over openings, the sign test and Wilcoxon's test (`statistics`), and
   the sequential test, if the tournament has one.
4. The gain of using A rather than B (Cohen-Solal and Cazenave, *Minimax Strikes Back*, Definition 1) is half of
   (w_A - l_A) - (w_B - l_B), where w and l are the shares of games won and lost against the same opponents. It equals
   the difference of their points. Here it is the mean over games of the mean over common opponents, with the stratified
   bootstrap: openings are drawn within each (game, opponent), the same for both agents.
5. In a game for n > 2 players, agents are ranked by their mean return: each alone, in every seat, against n - 1 copies
   of each opponent. The games of an opening against an opponent are one observation of Student's interval. For 1 to 4
   a game is won by the agent whose seats have the higher mean return.
6. The mean over games of an agent's points has the stratified bootstrap over (game, opponent), too.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from athenan_spiel.arena.comparison import Effort, PairResult, SeatPairResult, SeatResult
from athenan_spiel.arena.ratings import Meeting, Rating, ratings
from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.arena.sprt import SequentialTest
from athenan_spiel.arena.statistics import stratified_mean
from athenan_spiel.arena.tournament_settings import Tournament
from athenan_spiel.games.chance import FirstMover
from athenan_spiel.play.intervals import Interval, share_interval
from athenan_spiel.play.openings import games_for_seats
from athenan_spiel.play.series import Tally, points_of

MOST_GAINS = 400
"""Maximum number of pairs whose gains are reported; larger tournaments report those of the best agent only."""


@dataclass(frozen=True)
class FailedMatch:
    """A game without a result because its process died or hung.

    Attributes:
        number: number of its opening.
        reason: what happened to the process.
    """

    game: str
    contender: str
    opponent: str
    number: int
    reason: str

    def __str__(self) -> str:
        return f"{self.contender} against {self.opponent} at {self.game}, opening {self.number}: {self.reason}"


@dataclass(frozen=True)
class AgentResult:
    """The results of an agent at a game; `returns` only with more than two players."""

    game: str
    agent: str
    tally: Tally
    points: Interval
    rating: Rating
    effort: Effort
    forfeits: int
    resignations: int
    returns: SeatResult | None = None


@dataclass(frozen=True)
class MeanPoints:
    """An agent's share of the points, mean over games; no interval if the resamples show no spread."""

    agent: str
    games: int
    estimate: float
    interval: Interval | None


@dataclass(frozen=True)
class GainResult:
    """The gain of using one agent rather than another (Definition 1).

    Attributes:
        estimate: the gain, in [-1, 1].
        opponents: number of common opponents over all games.
    """

    agent: str
    other: str
    estimate: float
    interval: Interval | None
    opponents: int


class Standings:
    """All results of a tournament.

    Args:
        matches: the saved games, in any order.
        openings: origin of the openings of each game, as text.
        without_limit: names of agents that don't accept the tournament's limit.
        specs: specs of agents that the tournament's limit has changed.
        failures: games whose process died or hung. Sequential tests leave out their openings; they count nowhere else.
        first_movers: finds the player id that moved first, for each game string; by default it is 0.
        players: number of players of each game; by default 2.

    Attributes:
        agents, means, gains: results of agents that have played.
        pairs: the game and the result of each pair that has played; a `PairResult` for two players.
        reasons: maps agents to the number of their forfeited games and the first reason.
        lengths: plies of the games, by game string.
        draws, cut: number of drawn games and of games that the length limit ended, by game string.
    """

    def __init__(
        self,
        tournament: Tournament,
        matches: Iterable[SavedMatch],
        openings: Mapping[str, str],
        without_limit: Sequence[str] = (),
        specs: Mapping[str, str] | None = None,
        failures: Sequence[FailedMatch] = (),
        first_movers: Mapping[str, FirstMover] | None = None,
        players: Mapping[str, int] | None = None,
    ) -> None:
        self.tournament = tournament
        self.openings = dict(openings)
        self.without_limit = tuple(without_limit)
        self.specs = {**tournament.specs, **(specs or {})}
        self.failures = tuple(failures)
        self._first_movers = dict(first_movers or {})
        self.players = {game: (players or {}).get(game, 2) for game in tournament.games}
        self.played = 0
        self.draws: Counter[str] = Counter()
        self.cut: Counter[str] = Counter()
        self._cut_of: Counter[tuple[str, str, str]] = Counter()
        self.lengths: dict[str, list[int]] = defaultdict(list)
        self.reasons: dict[str, tuple[int, str]] = {}
        self._points: dict[tuple[str, str, str], dict[tuple[int, int], float]] = defaultdict(dict)
        self._moving_first: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        self._alone: dict[tuple[str, str, str], list[tuple[int, int, float]]] = defaultdict(list)
        self._effort: dict[tuple[str, str], Effort] = defaultdict(Effort)
        self._forfeits: dict[tuple[str, str, bool], int] = defaultdict(int)
        self._keys: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
        pairs = set(tournament.pairs())
        for match in matches:
            self._add(match, pairs)
        for key in self._points:
            for agent in key[1:]:
                self._keys.setdefault((key[0], agent), []).append(key)
        at = itertools.product(tournament.games, tournament.pairs())
        self.pairs = [self._pair(game, *pair) for game, pair in at if (game, *pair) in self._points]
        self.agents = [result for game in tournament.games for result in self._agents(game)]
        self.means = self._means() if len(tournament.games) > 1 else []
        self.gains = self._gains()

    @property
    def complete(self) -> bool:
        """Whether each pair has played all games or its sequential test has decided."""
        played = {(game, pair.contender, pair.opponent): pair for game, pair in self.pairs}
        for key in ((game, *pair) for game in self.tournament.games for pair in self.tournament.pairs()):
            pair = played.get(key)
            if pair is None:
                return False
            # A left-out opening is played again, because the stored games alone don't decide the test.
            decided = pair.test is not None and pair.test.verdict is not None and not pair.test.left_out
            if pair.tally.matches < self.tournament.matches and not decided:
                return False
        return True

    def _add(self, match: SavedMatch, pairs: Collection[tuple[str, str]]) -> None:
        pairing = match.pairing(pairs)
        assert pairing is not None, "the folder has checked it"
        contender, opponent, colour = pairing
        result = match.result
        self.played += 1
        self.lengths[match.game].append(len(result.history))
        key = (match.game, contender, opponent)
        self.cut[match.game] += result.cut
        self._cut_of[key] += result.cut
        points = self._points[key][match.number, colour] = points_of(result, colour)
        if (players := len(result.returns)) > 2:
            self.draws[match.game] += points == 0.5
            one, other = (contender, opponent) if colour < players else (opponent, contender)
            seat = colour % players
            self._alone[match.game, one, other].append((seat, match.number, result.returns[seat]))
        else:
            self.draws[match.game] += result.points(0) == 0.5
            first = self._first_movers.get(match.game)
            if colour == (0 if first is None else first(result.history)):
                self._moving_first[key].append(points)
        for player_id, name in enumerate(match.players):
            self._effort[match.game, name].add(result, player_id)
        if (forfeit := result.forfeit) is not None:
            name = match.players[forfeit.player_id]
            self._forfeits[match.game, name, forfeit.resigned] += 1
            if not forfeit.resigned:
                count, reason = self.reasons.get(name, (0, forfeit.reason))
                self.reasons[name] = (count + 1, reason)

    def _by_opening(self, key: tuple[str, str, str]) -> dict[int, list[float]]:
        """Returns the contender's points in the games of each opening."""
        found: dict[int, list[float]] = {}
        for (number, _), points in sorted(self._points[key].items()):
            found.setdefault(number, []).append(points)
        return found

    def _pair(self, game: str, contender: str, opponent: str) -> tuple[str, PairResult | SeatPairResult]:
        key = (game, contender, opponent)
        openings = self._by_opening(key)
        if self.players[game] > 2:
            return game, SeatPairResult(
                contender=contender,
                opponent=opponent,
                points_by_opening=openings,
                cut=self._cut_of[key],
                confidence=self.tournament.confidence,
                contender_alone=self._returns(game, contender, [opponent]),
                opponent_alone=self._returns(game, opponent, [contender]),
            )
        tallies = [Tally.of(p for (_, colour), p in self._points[key].items() if colour == c) for c in (0, 1)]
        sprt = self.tournament.sequential
        test = None if sprt is None else SequentialTest(sprt)
        if test is not None:
            for failed in self.failures:
                if (failed.game, failed.contender, failed.opponent) == key:
                    test.drop(failed.number)
            for number, points in openings.items():
                for one in points:
                    test.add(number, one)
        return game, PairResult(
            contender=contender,
            opponent=opponent,
            as_first=tallies[0],
            as_second=tallies[1],
            points_by_opening=openings,
            cut=self._cut_of[key],
            confidence=self.tournament.confidence,
            test=test,
            moving_first=Tally.of(self._moving_first[key]),
        )

    def _returns(self, game: str, agent: str, opponents: Sequence[str]) -> SeatResult:
        """Returns the result of an agent alone against copies of each of the opponents."""
        games = [
            (seat, (other, number), returned)
            for other in opponents
            for seat, number, returned in sorted(self._alone[game, agent, other])
        ]
        return SeatResult.of(agent, games, self.players[game], self.tournament.confidence)

    def _clusters(self, game: str, agent: str) -> dict[str, dict[int, list[float]]]:
        """An agent's points in the games of each opening, by opponent and number."""
        found: dict[str, dict[int, list[float]]] = {}
        for key in self._keys.get((game, agent), []):
            other = key[2] if key[1] == agent else key[1]
            openings = self._by_opening(key)
            mine = key[1] == agent
            found[other] = {n: [p if mine else 1 - p for p in points] for n, points in openings.items()}
        return found

    def _agents(self, game: str) -> list[AgentResult]:
        """Returns the results of the agents at a game, the best first."""
        meetings = [
            Meeting(key[1], key[2], tuple(points))
            for key in self._points
            if key[0] == game
            for points in self._by_opening(key).values()
        ]
        names = [name for name in self.tournament.specs if (game, name) in self._keys]
        if not names:
            return []
        anchor = self.tournament.anchor if self.tournament.anchor in names else None
        found = []
        for rating in ratings(names, meetings, confidence=self.tournament.confidence, anchor=anchor):
            by_opponent = self._clusters(game, rating.name)
            clusters = [p for openings in by_opponent.values() for p in openings.values()]
            found.append(
                AgentResult(
                    game=game,
                    agent=rating.name,
                    tally=Tally.of(itertools.chain.from_iterable(clusters)),
                    points=share_interval(clusters, self.tournament.confidence),
                    rating=rating,
                    effort=self._effort[game, rating.name],
                    forfeits=self._forfeits[game, rating.name, False],
                    resignations=self._forfeits[game, rating.name, True],
                    returns=self._returns(game, rating.name, list(by_opponent)) if self.players[game] > 2 else None,
                )
            )
        return sorted(found, key=_rank)

    def _means(self) -> list[MeanPoints]:
        found = []
        for name in self.tournament.specs:
            at = {game: self._clusters(game, name) for game in self.tournament.games}
            games = [strata for strata in at.values() if strata]
            if games:
                units = [[[float(np.mean(p)) for p in s.values()] for s in strata.values()] for strata in games]
                estimate, interval = self._bootstrap(units)
                found.append(MeanPoints(name, len(games), estimate, interval))
        return sorted(found, key=lambda mean: -mean.estimate)

    def _gains(self) -> list[GainResult]:
        """Returns the gains of all pairs with common opponents; in a large tournament, those of the best agent."""
        order = [r.agent for r in self.means] or list(dict.fromkeys(r.agent for r in self.agents))
        pairs = list(itertools.combinations(order, 2))
        if len(pairs) > MOST_GAINS:
            pairs = [pair for pair in pairs if pair[0] == order[0]]
        at = {(game, name): self._clusters(game, name) for game in self.tournament.games for name in order}
        found = []
        for agent, other in pairs:
            games = []
            for game in self.tournament.games:
                mine, theirs = at[game, agent], at[game, other]
                each = games_for_seats(self.players[game])
                strata = [_differences(mine[o], theirs[o], each) for o in mine if o in theirs]
                games.append([units for units in strata if units])
            games = [strata for strata in games if strata]
            if games:
                estimate, interval = self._bootstrap(games)
                found.append(GainResult(agent, other, estimate, interval, sum(map(len, games))))
        return found

    def _bootstrap(self, games: Sequence[Sequence[Sequence[float]]]) -> tuple[float, Interval | None]:
        """Returns the mean over games of the mean over their strata."""
        weights = [1 / (len(games) * len(strata)) for strata in games for _ in strata]
        units = [stratum for strata in games for stratum in strata]
        return stratified_mean(units, self.tournament.confidence, self.tournament.seed, weights=weights)


def _rank(result: AgentResult) -> float:
    """Returns the sort key of an agent: minus its mean return, last without one; 0 for two players."""
    if result.returns is None:
        return 0.0
    mean = result.returns.mean.estimate
    return math.inf if math.isnan(mean) else -mean


def _differences(mine: Mapping[int, Sequence[float]], theirs: Mapping[int, Sequence[float]], each: int) -> list[float]:
    """Returns the differences of the mean points for the openings of which both agents have finished `each` games."""
    return [
        float(np.mean(points) - np.mean(theirs[number]))
        for number, points in mine.items()
        if len(points) == len(theirs.get(number, ())) == each
    ]
