"""Evaluation of an agent: a series of games against each opponent, or the scores of a single player.

`athenan eval` and the evaluations of a training run call the same functions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import pyspiel

from agents.specs import game_for
from athenan_spiel.arena.comparison import Comparison, Scores, SeatComparison
from athenan_spiel.arena.contestant import Contestant, parse_agents
from athenan_spiel.arena.opening_sets import OpeningSet, opening_set
from athenan_spiel.arena.processes import Encounter, play_all
from athenan_spiel.arena.record import SavedMatch
from athenan_spiel.arena.sprt import SequentialTest, Sprt
from athenan_spiel.arena.tournament_settings import openings_from
from athenan_spiel.config.evaluation import EvaluationRequest
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.games.chance import FirstMover, first_mover_of
from athenan_spiel.play.match import MatchResult
from athenan_spiel.play.openings import games_per_opening, series_openings, single_player_openings
from athenan_spiel.play.series import (
    Fixture,
    Series,
    SeriesRecord,
    Sides,
    fixtures_of,
    sides_by_agent,
    single_player_fixtures,
)
from athenan_spiel.system.line_file import LineFile
from athenan_spiel.training.actors.placement import join_for_games

MAX_MATCHES = 100_000
MAX_MATCHES_AT_ONCE = 256

Status = Callable[[str], AbstractContextManager[object]]
OnGame = Callable[[int, Series], None]
"""Called after each finished game with the number of its opponent (or agent) and the games finished so far."""


@dataclass
class EvaluationReport:
    """Results of the finished games.

    Attributes:
        results: a `Comparison` for each opponent; in a game for one player `Scores` for each agent, and with more than
            two players a `SeatComparison` for each opponent.
        unplayed: names of series without a finished game, with the reasons why their games failed.
        failure: the exception that ended the evaluation early; None: it is complete.
    """

    results: list[Comparison | SeatComparison | Scores] = field(default_factory=list)
    unplayed: list[tuple[str, Sequence[str]]] = field(default_factory=list)
    failure: BaseException | None = None

    def failed(self) -> list[tuple[str, int, Sequence[str]]]:
        """Returns the series with failed games: name, number of all their games, and the reasons."""
        found = [(name, len(reasons), reasons) for name, reasons in self.unplayed]
        found += [(one.name, one.finished + len(one.failures), one.failures) for one in self.results]
        return [row for row in found if row[2]]

    def problems(self) -> tuple[list[str], bool]:
        """Returns one line for each series with failed or forfeited games, and whether every series measures play."""
        lines = [
            f"{name}: {len(reasons)} of {count} games failed, the first as {reasons[0]}"
            for name, count, reasons in self.failed()
        ]
        measured = not self.unplayed
        for one in self.results:
            for name, forfeited, reason in () if isinstance(one, Scores) else one.forfeited():
                measured &= forfeited < one.finished
                lines.append(f"{one.name}: {name} forfeited {forfeited} of {one.finished} games, the first as {reason}")
        return lines, measured

    def add(self, team: Sequence[Contestant], series: Series, test: SequentialTest | None, first: FirstMover) -> None:
        """Add the games of an agent against an opponent, or of an agent alone."""
        name = " against ".join(map(str, team))
        if not series.results:
            self.unplayed += [(name, series.failures)] if series.failures else []
        elif len(team) == 1:
            self.results.append(Scores(name, series.results, series.failures))
        else:
            contender, opponent = map(str, team)
            if len(series.results[0].returns) > 2:
                self.results.append(SeatComparison.of(contender, opponent, series))
                return
            self.results.append(Comparison.of(contender, opponent, series, test=test, first_mover=first))


class AgentEvaluation:
    """An evaluation whose agents are loaded and whose openings are drawn.

    Args:
        status: returns a context that shows the name of a long step.

    Raises:
        AthenanError: the request is inconsistent, or an agent cannot be loaded or does not play the game.

    Attributes:
        game: the game.
        matches: number of games of a series.
        opening_plies: number of random plies at the start of a game.
        contestants: the evaluated agent, then its opponents.
        openings: the openings; None in a game for one player.
        unlimited: specs of the agents that do not accept the limit of the request.
    """

    def __init__(self, request: EvaluationRequest, status: Status = contextlib.nullcontext) -> None:
        self.request = request
        given = (request.agent, *request.opponents)
        parsed, self.unlimited = parse_agents(
            dict(zip(given, given, strict=True)), request.limit, request.allow_code, request.allow_programs
        )
        specs = [parsed[spec] for spec in given]
        self.game = game_for(request.game, specs)
        self.is_single_player = self.game.num_players() == 1
        if not self.is_single_player and not request.opponents:
            raise ConfigError("expected at least one agent after --against, got none")
        self.matches = _planned_matches(self.game, request.matches)
        self.opening_plies = _checked_opening_plies(self.game, request, self.matches)
        self._sprt = Sprt.of(request.sprt)
        if self.game.num_players() != 2 and (request.sprt or request.openings):
            raise ConfigError("--sprt and --openings are for games for two players: leave them out")
        with status("loading the agents"):
            self.contestants = [
                Contestant(spec, self.game, request.seed + (i > 0 and not self.is_single_player))
                for i, spec in enumerate(specs)
            ]
        for opponent in self.contestants[1:] if not self.is_single_player else []:
            self.contestants[0].require_opponent(opponent)
        with status("choosing openings"):
            self.openings = None if self.is_single_player else self._choose_openings()

    def play(self, report: EvaluationReport, on_game: OnGame | None = None, save: LineFile | None = None) -> None:
        """Plays all games, and adds finished ones to `report`, also if an exception ends the evaluation.

        Args:
            save: file to which each game is added as it ends.
        """
        request = self.request
        contender, *opponents = self.contestants
        alone = self.openings is None
        if self.openings is None:
            teams = [[agent] for agent in self.contestants]
            planned = single_player_fixtures(self.game, request.matches, self.opening_plies, request.seed)
        else:
            teams = [[contender, opponent] for opponent in opponents]
            planned = fixtures_of(self.game, self.openings.openings, request.seed)
        played = [SeriesRecord() for _ in teams]
        tests = {} if self._sprt is None else {index: SequentialTest(self._sprt) for index in range(len(teams))}

        def on_result(index: int, fixture: Fixture, result: MatchResult) -> None:
            if save is not None:
                names = [agent.spec.text for agent in teams[index]]
                match = SavedMatch.of_series(str(self.game), names, names, fixture, request.seed, result)
                save.append([match.to_json()])
            played[index].add(fixture, result)
            if index in tests:
                tests[index].add(fixture.number, result.points(fixture.colour))
            if on_game is not None:
                on_game(index, played[index].series())

        def on_failure(index: int, fixture: Fixture, reason: str) -> None:
            played[index].fail(fixture, reason)
            if index in tests:
                tests[index].drop(fixture.number)

        try:
            with join_for_games(request.cluster, [str(self.game)]) as cluster:
                play_all(
                    [Encounter(self.game, _sides(team), planned) for team in teams],
                    on_result,
                    forfeits=not alone,
                    at_once=request.matches_at_once,
                    wanted=lambda index: index not in tests or tests[index].verdict is None,
                    cluster=cluster,
                    on_failure=on_failure,
                    silent_seconds=request.stall_seconds,
                )
        finally:
            first = first_mover_of(self.game)
            for index, team in enumerate(teams):
                report.add(team, played[index].series(), tests.get(index), first)

    def to_json(self, report: EvaluationReport) -> dict[str, Any]:
        """Returns the report as JSON values."""
        failure = report.failure
        reason = "stopped" if isinstance(failure, KeyboardInterrupt) else str(failure) or type(failure).__name__
        return {
            "game": str(self.game),
            "opening_plies": self.opening_plies if self.request.openings in (None, "balanced") else None,
            "seed": self.request.seed,
            "finished": failure is None,
            "reason": None if failure is None else reason,
            "scores" if self.is_single_player else "comparisons": [one.to_json() for one in report.results],
            "without_result": [{"series": name, "failed": list(why)} for name, why in report.unplayed],
            "openings": None if self.openings is None else self.openings.told,
            "limit": self.request.limit,
            "without_limit": list(self.unlimited),
        }

    def _choose_openings(self) -> OpeningSet:
        """Returns the openings of the request. Checks that every contestant can start after them."""
        request = self.request
        config = openings_from(request.openings, request.judge, self.opening_plies)
        found = opening_set(self.game, config, self.matches // games_per_opening(self.game), request.seed)
        for contestant in self.contestants:
            contestant.require_openings(found.openings)
        return found


def evaluate(request: EvaluationRequest) -> list[dict[str, Any]]:
    """Play the games of a request and return one row of JSON values for each opponent, as `athenan eval --json` does.

    Raises:
        AthenanError, LudiiError: as `AgentEvaluation`, or a series has only failed or forfeited games.
    """
    evaluation, report = AgentEvaluation(request), EvaluationReport()
    evaluation.play(report)
    lines, measured = report.problems()
    if not measured:
        raise ConfigError("; ".join(lines))
    return [one.to_json() for one in report.results]


def check(request: EvaluationRequest) -> None:
    """Load the agents of a request and draw its openings, without playing.

    Raises:
        AthenanError, LudiiError: as `AgentEvaluation`.
    """
    AgentEvaluation(request)


def _sides(team: Sequence[Contestant]) -> Sides:
    return sides_by_agent([agent.players for agent in team])


def _planned_matches(game: pyspiel.Game, matches: int) -> int:
    """Returns the number of games: with more than two players rounded up to whole openings."""
    each = games_per_opening(game)
    return -(-matches // each) * each if game.num_players() > 2 else matches


def _checked_opening_plies(game: pyspiel.Game, request: EvaluationRequest, matches: int) -> int:
    """Returns the number of plies of the openings. Checks that the game has enough different openings."""
    if request.matches > MAX_MATCHES:
        raise ConfigError(f"matches must be at most {MAX_MATCHES}, got {shown(request.matches)}")
    at_once = request.matches_at_once
    if at_once is not None and not 1 <= at_once <= MAX_MATCHES_AT_ONCE:
        raise ConfigError(f"--matches-at-once must be from 1 to {MAX_MATCHES_AT_ONCE}, got {shown(at_once)}")
    alone = game.num_players() == 1
    plies = request.opening_plies if request.opening_plies is not None else 0 if alone else 2
    if alone:
        single_player_openings(game, request.matches, plies, request.seed)
    else:
        series_openings(game, matches, plies if request.openings is None else 0, request.seed)
    return plies
