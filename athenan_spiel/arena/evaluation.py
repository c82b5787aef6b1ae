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

from agents import AgentWord, parse_word, require_programs
from agents.words import game_for
from athenan_spiel.arena.comparison import Comparison
from athenan_spiel.arena.contestant import Contestant, limited
from athenan_spiel.arena.opening_sets import OpeningSet, opening_set
from athenan_spiel.arena.processes import Encounter, play_all, play_everywhere
from athenan_spiel.arena.record import MatchWriter
from athenan_spiel.arena.scores import Scores
from athenan_spiel.arena.sprt import SequentialTest, Sprt
from athenan_spiel.arena.tournament_settings import openings_from
from athenan_spiel.config.evaluation import EvaluationRequest
from athenan_spiel.errors import ConfigError, shown
from athenan_spiel.games.given import mover_of
from athenan_spiel.play.match import MatchResult
from athenan_spiel.play.openings import lone_openings, series_openings
from athenan_spiel.play.series import Fixture, Played, Series, fixtures_of, lone_fixtures, sides_of
from athenan_spiel.system.cluster import Site
from athenan_spiel.training.cluster.placing import on_cluster

MAX_MATCHES = 100_000
MAX_MATCHES_AT_ONCE = 256

Status = Callable[[str], AbstractContextManager[object]]
OnGame = Callable[[int, Series], None]
"""Called after each finished game with the number of its opponent (or agent) and the games finished so far."""


@dataclass
class EvaluationReport:
    """Results of the finished games.

    Attributes:
        results: a `Comparison` for each opponent; in a game for one player `Scores` for each agent.
        unplayed: names of series without a finished game, with the reasons why their games failed.
        failure: the exception that ended the evaluation early; None: it is complete.
    """

    results: list[Comparison | Scores] = field(default_factory=list)
    unplayed: list[tuple[str, Sequence[str]]] = field(default_factory=list)
    failure: BaseException | None = None

    def failed(self) -> list[tuple[str, int, Sequence[str]]]:
        """Returns the series with failed games: name, number of all their games, and the reasons."""
        found = [(name, len(reasons), reasons) for name, reasons in self.unplayed]
        for one in self.results:
            if isinstance(one, Scores):
                name, finished, reasons = one.agent, len(one.results), one.failures
            else:
                name = f"{one.contender} against {one.opponent}"
                finished, reasons = one.series.tally.matches, one.series.failures
            found.append((name, finished + len(reasons), reasons))
        return [row for row in found if row[2]]

    def problems(self) -> tuple[list[str], bool]:
        """Returns one line for each series with failed or forfeited games, and whether every series measures play."""
        lines = [
            f"{name}: {len(reasons)} of {count} matches failed, the first as {reasons[0]}"
            for name, count, reasons in self.failed()
        ]
        measured = not self.unplayed
        for one in self.results:
            if isinstance(one, Scores):
                continue
            count = one.series.tally.matches
            for name, forfeited, reason in one.forfeited():
                measured &= forfeited < count
                versus = f"{one.contender} against {one.opponent}"
                lines.append(f"{versus}: {name} forfeited {forfeited} of {count} matches, the first as {reason}")
        return lines, measured


class AgentEvaluation:
    """An evaluation whose agents are loaded and whose openings are drawn.

    Args:
        status: shows what is being done while it takes long.

    Raises:
        AthenanError: the request is inconsistent, or an agent cannot be loaded or does not play the game.

    Attributes:
        game: the game.
        opening_plies: random plies at the start of a game.
        contestants: the agent, then its opponents.
        openings: the openings; None in a game for one player.
        unlimited: specs of the agents that take no limit of the request's kind.
    """

    def __init__(self, request: EvaluationRequest, status: Status = contextlib.nullcontext) -> None:
        self.request = request
        specs = _agents_of(request)
        self.unlimited: tuple[str, ...] = ()
        if request.limit is not None:
            under = limited({spec.text: spec.text for spec in specs}, request.limit)
            specs = [parse_word(under.words[spec.text]) for spec in specs]
            self.unlimited = under.without
        specs = [spec.allowing(request.allow_code) for spec in specs]
        self.game = game_for(request.game, specs)
        self.is_single_player = self.game.num_players() == 1
        if not self.is_single_player and not request.opponents:
            raise ConfigError("expected at least one agent after --against, got none")
        self.opening_plies = _checked_opening_plies(self.game, request)
        self._sprt = None if request.sprt is None else Sprt(elo0=request.sprt[0], elo1=request.sprt[1])
        if self.is_single_player and (request.sprt or request.openings):
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

    def play(self, report: EvaluationReport, on_game: OnGame | None = None, save: MatchWriter | None = None) -> None:
        """Play all games, and add what is finished to `report`, also when an exception ends the evaluation.

        Args:
            save: writes each game as it ends.
        """
        with on_cluster(self.request.cluster, [str(self.game)]) as site:
            if self.openings is None:
                self._play_alone(report, on_game, save, site)
            else:
                self._play_series(self.openings, report, on_game, save, site)

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
        """The openings of the request, after which every contestant can begin."""
        request = self.request
        config = openings_from(request.openings, request.judge, self.opening_plies)
        found = opening_set(self.game, config, request.matches // 2, request.seed)
        for contestant in self.contestants:
            contestant.require_openings(found.openings)
        return found

    def _play_series(
        self,
        openings: OpeningSet,
        report: EvaluationReport,
        on_game: OnGame | None,
        save: MatchWriter | None,
        site: Site | None,
    ) -> None:
        contender, *opponents = self.contestants
        planned = fixtures_of(openings.openings)
        played = [Played() for _ in opponents]
        tests = [None if self._sprt is None else SequentialTest(self._sprt) for _ in opponents]
        encounters = [Encounter(self.game, sides_of(contender.bot, opponent.bot), planned) for opponent in opponents]

        def on_result(index: int, fixture: Fixture, result: MatchResult) -> None:
            if save is not None:
                save.add([contender.word.text, opponents[index].word.text], fixture, result)
            played[index].add(fixture, result)
            if (test := tests[index]) is not None:
                test.add(fixture.number, result.points(fixture.colour))
            if on_game is not None:
                on_game(index, played[index].series())

        def on_failure(index: int, fixture: Fixture, reason: str) -> None:
            played[index].fail(fixture, reason)
            if (test := tests[index]) is not None:
                test.drop(fixture.number)

        def wanted(index: int) -> bool:
            test = tests[index]
            return test is None or test.verdict is None

        try:
            play_all(
                encounters,
                on_result,
                forfeits=True,
                at_once=self.request.matches_at_once,
                wanted=wanted,
                site=site,
                on_failure=on_failure,
                silent_seconds=self.request.stall_seconds,
            )
        finally:
            first = mover_of(self.game.new_initial_state())
            for opponent, one, test in zip(opponents, played, tests, strict=True):
                if (series := one.series()).results:
                    report.results.append(
                        Comparison(str(contender), str(opponent), series, test=test, first_mover=first)
                    )
                elif series.failures:
                    report.unplayed.append((f"{contender} against {opponent}", series.failures))

    def _play_alone(
        self, report: EvaluationReport, on_game: OnGame | None, save: MatchWriter | None, site: Site | None
    ) -> None:
        request = self.request
        planned = lone_fixtures(self.game, request.matches, self.opening_plies, request.seed)
        for index, agent in enumerate(self.contestants):
            self._play_one_alone(index, agent, planned, report, on_game, save, site)

    def _play_one_alone(
        self,
        index: int,
        agent: Contestant,
        planned: Sequence[Fixture],
        report: EvaluationReport,
        on_game: OnGame | None,
        save: MatchWriter | None,
        site: Site | None,
    ) -> None:
        played = Played()

        def on_result(fixture: Fixture, result: MatchResult) -> None:
            if save is not None:
                save.add([agent.word.text], fixture, result)
            played.add(fixture, result)
            if on_game is not None:
                on_game(index, played.series())

        try:
            play_everywhere(
                self.game,
                [[agent.bot(0)]],
                planned,
                on_result,
                forfeits=False,
                at_once=self.request.matches_at_once,
                site=site,
                on_failure=played.fail,
                silent_seconds=self.request.stall_seconds,
            )
        finally:
            series = played.series()
            if series.results:
                report.results.append(Scores(str(agent), series.results, series.failures))
            elif series.failures:
                report.unplayed.append((str(agent), series.failures))


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


def _agents_of(request: EvaluationRequest) -> list[AgentWord]:
    """The agents of a request, all of which play by themselves."""
    found = [parse_word(spec) for spec in (request.agent, *request.opponents)]
    require_programs(found, request.allow_programs)
    for spec in found:
        if spec.is_human:
            raise ConfigError(f"expected agents that play by themselves, got {spec.text!r}: use `athenan play`")
    return found


def _checked_opening_plies(game: pyspiel.Game, request: EvaluationRequest) -> int:
    """How many plies the openings have, in a game that has enough different ones."""
    if request.matches > MAX_MATCHES:
        raise ConfigError(f"matches must be at most {MAX_MATCHES}, got {shown(request.matches)}")
    at_once = request.matches_at_once
    if at_once is not None and not 1 <= at_once <= MAX_MATCHES_AT_ONCE:
        raise ConfigError(f"--matches-at-once must be from 1 to {MAX_MATCHES_AT_ONCE}, got {shown(at_once)}")
    alone = game.num_players() == 1
    plies = request.opening_plies if request.opening_plies is not None else 0 if alone else 2
    if alone:
        lone_openings(game, request.matches, plies, request.seed)
    else:
        series_openings(game, request.matches, plies if request.openings is None else 0, request.seed)
    return plies
